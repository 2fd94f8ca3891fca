from __future__ import annotations

import pytest

from ifthen.systems.registry import SYSTEMS
from tests.golden.regenerate import EPOCHS, WAYS, curve, optima, read


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_learning_curves_do_not_move(system: str, way: str) -> None:
    expected = read("curves")[system][way]
    assert len(expected) == EPOCHS + 1
    assert curve(system, way) == pytest.approx(expected, rel=1e-9)


def test_the_golden_curves_differ_from_each_other() -> None:
    curves = [tuple(values) for ways in read("curves").values() for values in ways.values()]
    assert len(set(curves)) == len(SYSTEMS) * len(WAYS)


def test_the_luck_of_the_papers_tasks_does_not_move() -> None:
    found, expected = optima(), read("optima")
    assert set(found) == set(expected)
    for task, ways in expected.items():
        assert found[task] == pytest.approx(ways, rel=1e-9)
