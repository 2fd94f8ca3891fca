from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ifthen import PPLDL, PPLX, DecisionList, evaluate, frozen_lake, load, task_by_name
from ifthen.errors import ModelFileError, ParameterError
from ifthen.systems.pplx import pplx_on_table as on_table
from ifthen.systems.pplx.env_plan import MOST_NETWORKS
from ifthen.systems.pplx.q_network import weights_of
from tests.systems.contract import make, meadow
from tests.systems.pplx.lists import haystack


def small(**parameters: Any) -> Any:
    """Return a small PPL-X on a meadow."""
    return make("PPL-X", **parameters)


@pytest.mark.parametrize(("slip", "rules"), [(0, 4), (0.1, 5), (0.3, 5), (0.5, 6)])
def test_small_lakes_are_solved_exactly_with_the_fewest_rules_known(slip: float, rules: int) -> None:
    task = frozen_lake(4, slip)
    system = PPLX(task, seed=0, model="given").learn()
    assert evaluate(system, task, "exact").fraction == pytest.approx(1, abs=1e-9)
    assert len(system.ruleset) == rules
    assert system.num_timesteps == 0


def test_the_front_is_monotone_and_has_what_the_lists_are_worth_by_the_model() -> None:
    system = small(model="given").learn()
    for point in system.front.points:
        assert point.score == pytest.approx(evaluate(point.ruleset, system.task, "exact").performance)
    scores = [point.score for point in system.front.points]
    assert scores == sorted(scores)


def test_values_by_the_model_never_fall_after_collecting() -> None:
    history = small().learn().history
    searched = history.filter(history["phase"] > on_table.COLLECTING)
    assert searched["best_value"].is_sorted()
    assert (searched["best_value"] <= searched["model_optimum"] + 1e-9).all()
    assert searched["episodes"].n_unique() == 1


def test_the_plan_goes_from_the_longest_list_to_one_rule_and_then_begins_again() -> None:
    system = small(most_rules=3).learn(epochs=15)
    assert system.default_epochs == 13
    assert system.history["length"].to_list() == [3] * 11 + [3, 2, 1, 3, 2]
    assert system.history["phase"].to_list() == [0] + [1] * 10 + [2] * 5
    assert small(most_rules=1).learn(epochs=13).history["length"].to_list() == [1] * 14


def test_rules_tests_and_the_knee_choose_from_the_front() -> None:
    front = small().learn().front
    assert len(small(rules=2).learn().ruleset) <= 2
    assert len(small(knee=1.0).learn().ruleset) == 1
    system = small(tests=1).learn()
    assert system.ruleset == front.at(tests=1).ruleset


@pytest.mark.parametrize("unit", ["steps", "episodes"])
def test_a_goal_beyond_the_plan_ends_with_it(unit: str) -> None:
    system = small().learn(**{unit: 10**9})
    assert system.epoch == system.default_epochs
    assert system.learn(**{unit: 10}).epoch == system.default_epochs


def test_learning_stops_early_with_rules_from_what_is_known() -> None:
    system = small().learn(episodes=2_500)
    assert system.history["episodes"].to_list() == [0, 2_000, 4_000]
    assert system.front.points[0].rules == 1
    assert evaluate(system, system.task, "exact").performance > 0.5


def test_a_list_to_start_from_is_never_lost() -> None:
    task = meadow()
    start = PPLX(task, seed=1, model="given").learn().ruleset
    system = PPLX(task, seed=2, model="given", most_rules=8, candidates=1, start=start).learn(epochs=0)
    assert system.front.best.score == pytest.approx(evaluate(start, task, "exact").performance)
    with pytest.raises(ParameterError, match=r"most_rules is 2\. Give most_rules="):
        PPLX(task, most_rules=2, start=start)


def test_a_list_without_a_last_resort_gets_one() -> None:
    start = DecisionList([[[0, 1], [0, 2]]], [1], meadow().features, meadow().action_names)
    system = small(start=start).learn(epochs=1)
    assert (system.ruleset.predict(meadow().state_features) >= 0).all()


def test_discounts_of_one_and_negative_rewards_are_learnt() -> None:
    cliff = task_by_name("CliffWalking-v1")
    for task in (cliff, cliff.replaced(gamma=1.0)):
        system = PPLX(task, seed=0, collect=3_000, most_rules=5, candidates=3_000).learn()
        found = evaluate(system, task, "exact")
        assert found.performance == pytest.approx(found.optimum, rel=1e-6)


def test_tables_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_table, "MOST_STATES", 5)
    with pytest.raises(ParameterError, match="at most 5 are supported"):
        PPLX(meadow())


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("counts", lambda a: a * 0 - 1, "counts must be from 0"),
        ("counts", lambda a: a[:1], "counts must be int64 of shape"),
        ("fitness", lambda a: a * np.nan, "holds NaN"),
        ("fitness", lambda a: a[None], "fitness must be float64"),
        ("bounds", lambda a: a * 0, "must hold everywhere"),
        ("bounds", lambda a: a + 100, "leave the ranges"),
        ("actions", lambda a: a + 100, "some actions do not exist"),
    ],
)
def test_damaged_populations_are_refused(name: str, change: Any, message: str, tmp_path: Path) -> None:
    system = small().learn(epochs=1)
    arrays = system._saved_arrays(system.now.population)
    system._now = system.now._replace(
        population=system.now.population._replace(**{name: change(arrays[name])})
    )
    system.save(tmp_path / "m.zip")
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m.zip")


def test_other_systems_have_no_front() -> None:
    assert PPLDL(meadow()).front is None


@pytest.mark.slow
def test_it_learns_with_the_constants_that_are_shipped(
    few_changes: dict[tuple[ModuleType, str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other tests learn with fewer changes, updates and networks."""
    for (module, name), shipped in few_changes.items():
        assert shipped > getattr(module, name)
        monkeypatch.setattr(module, name, shipped)
    system = PPLX(haystack(), seed=1, threads=1, steps=3_000).learn()
    n_weights = system.now.population.nets.shape[1]
    assert n_weights == MOST_NETWORKS * weights_of(len(haystack().features), haystack().n_actions)
    assert system.epoch == system.default_epochs
    assert evaluate(system, haystack(), seeds=haystack().test_seeds(), threads=1).performance > 1.8
