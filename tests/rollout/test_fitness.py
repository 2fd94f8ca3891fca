from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

from ifthen.rollout import fitness
from ifthen.rollout.fitness import Fitness
from ifthen.rollout.tabular import play
from ifthen.tasks.solve import exact_performances
from tests.worlds import random_policies, small_lake


def counted(task: Any, tables: Any) -> tuple[Fitness, list[int]]:
    """Return a Fitness and the list to which it adds how many tables it plays at a time."""
    played: list[int] = []

    def count(task: Any, tables: Any, noise: Any, threads: int) -> Any:
        played.append(len(tables))
        return play(task, tables, noise, threads)

    measure = Fitness(task, "sampled", "aligned", 1)
    with mock.patch.object(fitness, "play", count):
        measure.measure(tables)
        measure.measure(tables)
    return measure, played


def test_each_distinct_policy_is_played_once() -> None:
    task = small_lake()
    tables = random_policies(task, 5, 0)
    _, played = counted(task, np.concatenate([tables, tables[:3]]))
    assert played == [5]


def test_forgetting_changes_no_result() -> None:
    task = small_lake()
    tables = random_policies(task, 6, 0, null_share=0.02)
    expected = play(task, tables)
    measure = Fitness(task, "sampled", "aligned", 1)
    with mock.patch.object(fitness, "REMEMBERED", 4):
        for part in (tables[:3], tables[2:5], tables, tables[::-1]):
            found = measure.measure(part)
    assert found.performance.tolist() == expected.performance[::-1].tolist()
    assert found.steps.tolist() == expected.steps[::-1].tolist()
    assert found.truncated.tolist() == expected.truncated[::-1].tolist()
    assert found.failed.tolist() == expected.failed[::-1].tolist()


@pytest.mark.parametrize("noise", ["aligned", "stream"])
def test_sampled_fitness_is_performance_on_z(noise: Any) -> None:
    task = small_lake()
    tables = random_policies(task, 8, 0, null_share=0.02)
    found = Fitness(task, "sampled", noise, 2).measure(tables)
    assert found.performance.tolist() == play(task, tables, noise).performance.tolist()


def test_exact_fitness_is_the_exact_performance_or_the_floor() -> None:
    task = small_lake()
    tables = random_policies(task, 30, 0, null_share=0.05)
    found = Fitness(task, "exact", "aligned", 1).measure(tables)
    exact = exact_performances(task, tables)
    assert found.failed.tolist() == np.isnan(exact).tolist()
    assert 0 < found.failed.sum() < 30
    assert found.performance.tolist() == np.nan_to_num(exact, nan=task.floor).tolist()


def test_exact_measurement_takes_no_episodes() -> None:
    task = small_lake()
    assert Fitness(task, "exact", "aligned", 1).episodes == 0
    assert Fitness(task, "sampled", "aligned", 1).episodes == 22
