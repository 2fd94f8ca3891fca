"""SAMUEL as a whole: it learns on tables and in environments, and its files are checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ifthen import SAMUEL, DecisionList, evaluate, frozen_lake, load
from ifthen.errors import ModelFileError, ParameterError
from ifthen.systems.samuel.samuel_parameters import OPERATORS
from tests.archives import with_array
from tests.systems.contract import SMALL, meadow

FEW: dict[str, Any] = {"pop_size": 20, "retest_every": 2}


@pytest.mark.parametrize("version", [1, 2])
def test_it_learns_in_a_lake(version: Any) -> None:
    task = frozen_lake(4, 0.1)
    system = SAMUEL(task, seed=1, version=version, payoff="return", threads=1, **FEW).learn(epochs=25)
    walk, best = system.history["mean_fitness"][0], evaluate(system, task, "exact")
    assert walk < 0.3
    assert best.fraction is not None
    assert best.fraction > 0.7
    assert system.history["mean_length"][-1] > 4


def test_the_history_tells_of_plans() -> None:
    history = SAMUEL(meadow(), seed=1, threads=1, **SMALL["SAMUEL"]).learn(epochs=3).history
    row = history.row(-1, named=True)
    assert {"best_fitness", "mean_fitness", "median_fitness", "baseline", "plan_length", "rules"} <= set(row)
    assert row["baseline"] < row["best_fitness"]
    assert all(0 <= row[f"by_{name}"] <= 10 * 2 for name in OPERATORS)  # 10 plans, two draws each
    assert row["by_mutation"] > 0
    assert row["by_cover"] == 0  # a rule that matches everything is there
    assert row["mean_length"] >= 1
    per_plan = 3 * 4 + 8
    tests = (2 + 3 * 3) * 10  # the best two, and from then on the one handed out before
    assert row["episodes"] == 4 * 10 * per_plan + tests


def test_all_episodes_can_be_left_out_but_those_that_measure() -> None:
    none = dict.fromkeys(("pre_episodes", "post_episodes", "cluster_episodes"), 0)
    system = SAMUEL(meadow(), seed=1, threads=1, **{**SMALL["SAMUEL"], **none}).learn(epochs=2)
    assert system.history["episodes"][-1] == 3 * 10 * 8 + (2 + 3 * 2) * 10


def test_a_list_to_start_from_is_played_first_by_all_plans() -> None:
    task = meadow()
    start = DecisionList([[[0, 1], [0, 2]], [[0, 2], [0, 2]]], [2, 1], task.features, task.action_names)
    still = {"new_rules": 0, "pre_episodes": 0, "post_episodes": 0}
    system = SAMUEL(task, seed=1, threads=1, start=start, **{**SMALL["SAMUEL"], **still}).learn(epochs=0)
    states = task.state_features
    assert system.ruleset.predict(states).tolist() == start.predict(states).tolist()
    long = DecisionList(np.tile(start.bounds, (11, 1, 1)), [1] * 22, task.features, task.action_names)
    with pytest.raises(ParameterError, match="start has 22 rules, but most_rules is 20"):
        SAMUEL(task, start=long, **SMALL["SAMUEL"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"pop_size": 7}, "even"), ({"most_rules": 3}, "at least 4"), ({"pop_size": 100_000}, "GiB")],
)
def test_parameters_that_do_not_fit_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        SAMUEL(meadow(), **{**parameters, **({"most_rules": 10_000} if "GiB" in message else {})})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("lengths", 0, "lengths must be"),
        ("learnt", -1.0, "variances"),
        ("bounds", 99, "leave the ranges"),
        ("actions", 4, "do not exist"),
    ],
)
def test_damaged_populations_are_refused(name: str, value: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.zip"
    SAMUEL(meadow(), seed=1, threads=1, **SMALL["SAMUEL"]).learn(epochs=1).save(path)
    damaged = with_array(path, tmp_path, f"population/{name}", lambda array: np.full_like(array, value))
    with pytest.raises(ModelFileError, match=message):
        load(damaged)
