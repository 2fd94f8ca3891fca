"""What the comparison with peers measures and prints, without the peers themselves."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def module(path: Path) -> Any:
    """Return a benchmark's module; dataclasses look themselves up by its name."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = found
    spec.loader.exec_module(found)
    return found


def balance(rows: Any) -> Any:
    """Push the cart to where the pole falls."""
    return (rows[:, 2] + 0.5 * rows[:, 3] + 0.02 * rows[:, 0] + 0.1 * rows[:, 1] > 0).astype(int)


def test_scores_are_those_of_episodes_played_one_by_one_and_end_without_an_action() -> None:
    trial = module(BENCHMARKS / "peers" / "cartpole_trial.py")
    assert trial.scores(balance, range(3, 5)) == [500.0, 500.0]
    assert trial.scores(lambda rows: 0 * rows[:, 0].astype(int), range(3)) == [
        trial.scores(lambda rows: 0 * rows[:, 0].astype(int), range(i, i + 1))[0] for i in range(3)
    ]
    assert trial.scores(lambda rows: 0 * rows[:, 0].astype(int) - 1, range(3)) == [0.0, 0.0, 0.0]


def test_the_table_says_how_many_reached_the_target_and_how_long_they_took() -> None:
    peers = module(BENCHMARKS / "peers.py")
    common = {"peer": "A", "version": "1", "steps_per_second": 10.0, "start_seconds": 1.0, "size": "3 rules"}
    reached = {**common, "steps_to_target": 1500, "seconds_to_target": 2.5, "final_score": 500.0}
    missed = {**common, "steps_to_target": None, "seconds_to_target": None, "final_score": 100.0}
    row = peers.table([reached, missed]).splitlines()[-1]
    assert (
        row
        == "| A (1) | 1 of 2 | 1,500 (1,500 – 1,500) | 2.5 (2.5 – 2.5) | 300.0 ± 282.8 | 10 | 1.0 | 3 rules |"
    )
    assert "| – | – |" in peers.table([missed])


@pytest.mark.parametrize("script", sorted((BENCHMARKS / "peers").glob("*.py")), ids=lambda path: path.name)
def test_only_our_own_script_imports_ifthen(script: Path) -> None:
    assert ("import ifthen" in script.read_text()) == (script.name == "ifthen_cartpole.py")
