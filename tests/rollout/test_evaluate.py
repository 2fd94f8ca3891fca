from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
import pytest

from ifthen import (
    PPLDL,
    DecisionList,
    Feature,
    ParameterError,
    TabularTask,
    TaskError,
    evaluate,
    frozen_lake,
    value_iteration,
)
from tests import naive
from tests.worlds import chain, small_lake

# A policy for the 4x4 map that a person would write: down the left side, along the third row, down.
BY_HAND = [
    {"if": {"x": [0, 0], "y": [0, 1]}, "then": "Down"},
    {"if": {"x": [2, 2], "y": [0, 2]}, "then": "Down"},
    {"if": {"x": [1, 1], "y": [2, 2]}, "then": "Down"},
    {"if": {"x": [3, 3], "y": [0, 0]}, "then": "Left"},
    {"if": {}, "then": "Right"},
]


def by_hand(task: TabularTask) -> DecisionList:
    found = DecisionList.from_dict(
        {
            "format": "ifthen-ruleset",
            "version": 1,
            "kind": "decision-list",
            "features": [f.to_dict() for f in task.features],
            "actions": list(task.action_names),
            "rules": BY_HAND,
        }
    )
    assert isinstance(found, DecisionList)
    return found


def test_the_policy_by_hand_is_optimal_on_the_4x4_map_without_slipping() -> None:
    task = frozen_lake(4)
    measured = evaluate(by_hand(task), task)
    assert measured.fraction == pytest.approx(1.0, abs=1e-12)
    assert measured.performance == pytest.approx(0.8760954261363636, abs=1e-12)
    assert (measured.failed, measured.uncovered, measured.truncated_share) == (False, (), 0.0)
    assert measured.episodes == 11


@pytest.mark.parametrize("noise", ["aligned", "stream"])
def test_a_ruleset_is_measured_as_the_oracle_plays_it(noise: Any) -> None:
    task = small_lake()
    ruleset = by_hand(task)
    policy = [ruleset.predict(s) for s in task.state_features]
    expected = naive.play(task, policy, noise)
    measured = evaluate(ruleset, task, noise=noise)
    assert expected is not None
    assert measured.performance == pytest.approx(expected.performance, rel=1e-12)
    assert (measured.steps, measured.noise) == (expected.steps, noise)
    assert measured.truncated_share == expected.truncated / len(task.z)
    optimal = naive.play(task, value_iteration(task).policy.tolist(), noise)
    assert optimal is not None
    assert measured.optimum == pytest.approx(optimal.performance, rel=1e-12)
    assert measured.fraction == measured.performance / measured.optimum


def test_exact_measurement_solves_the_model_and_plays_nothing() -> None:
    task = small_lake()
    ruleset = by_hand(task)
    values = naive.policy_values(task, [ruleset.predict(s) for s in task.state_features])
    measured = evaluate(ruleset, task, "exact")
    expected = sum(values[s] for s in task.initial_states) / len(task.initial_states)
    assert measured.performance == pytest.approx(expected, abs=1e-11)
    assert (measured.noise, measured.episodes, measured.steps) == (None, 0, 0)


@pytest.mark.parametrize("method", ["sampled", "exact"])
def test_a_policy_with_a_gap_gets_the_floor_and_the_gap_is_named(method: Any) -> None:
    task = small_lake()
    ruleset = DecisionList([[[0, 3], [0, 2]]], [2], task.features, task.action_names)
    measured = evaluate(ruleset, task, method)
    assert (measured.failed, measured.performance) == (True, 0.0)
    assert measured.uncovered == ((1, 3), (2, 3))


def test_the_floor_of_a_task_with_costs_is_below_all_returns() -> None:
    task = TabularTask.from_env(gymnasium.make("CliffWalking-v1"), t_max=10)
    nothing = np.full(task.n_states, -1)
    measured = evaluate(nothing, task)
    assert measured.performance == pytest.approx(-100 / 0.05)
    for policy in range(task.n_actions):
        always = evaluate(np.full(task.n_states, policy), task, "exact")
        assert measured.performance <= always.performance
    assert np.isnan(measured.fraction)  # of an optimum below 0


def test_a_ruleset_a_system_and_a_table_of_the_same_policy_measure_the_same() -> None:
    task = small_lake()
    system = PPLDL(task, idv_size=7, pop_size=40, threads=1).learn(3)
    policy = np.array([system.predict(s)[0] for s in task.state_features])
    assert evaluate(system, task) == evaluate(system.ruleset, task) == evaluate(policy, task)
    assert evaluate(system, task).performance == system.history["best_fitness"][-1]


def test_the_fraction_is_undefined_where_the_optimum_is_0() -> None:
    assert math.isnan(evaluate(np.zeros(3, dtype=int), chain(reward=np.zeros((3, 2, 2)))).fraction)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"method": "sample"}, "method must be 'sampled' or 'exact'"), ({"noise": "white"}, "noise must be")],
)
def test_unknown_ways_to_measure_are_refused(options: dict[str, Any], message: str) -> None:
    task = chain()
    with pytest.raises(ParameterError, match=message):
        evaluate(np.zeros(3, dtype=int), task, **options)
    with pytest.raises(ParameterError, match=message):
        task.optimal_performance(**{"method": "sampled", **options})


@pytest.mark.parametrize("policy", [None, "Left", np.zeros(3), np.zeros(2, dtype=int), [[0, 0, 0]]])
def test_things_that_are_no_policy_are_refused(policy: Any) -> None:
    with pytest.raises(TaskError, match="a policy must be a RuleSet"):
        evaluate(policy, chain())


@pytest.mark.parametrize("policy", [[0, 0, 2], [0, -2, 0]])
def test_actions_the_task_does_not_have_are_refused(policy: Any) -> None:
    with pytest.raises(TaskError, match="must be -1"):
        evaluate(policy, chain())


def test_a_ruleset_of_another_task_is_refused_with_both_named() -> None:
    other = DecisionList([[[0, 1]]], [0], (Feature("place", 0, 1),), ("Go", "Wait"))
    with pytest.raises(TaskError, match=r"place in \[0, 1\].*chain has place in \[0, 2\]"):
        evaluate(other, chain())
