"""Visits, costs and use of rules against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import DecisionList, evaluate
from ifthen.errors import TaskError
from ifthen.explanation.measures import advantages, usage, visits
from ifthen.simulate.table_simulator import policy_table
from tests import naive, naive_explain
from tests.tables import table_named
from tests.worlds import chain, over_all_states, random_policies, random_task, small_lake

SEEDS = st.integers(0, 10_000)
SHARES = st.sampled_from([0.0, 0.2, 1.0])


@given(SEEDS, SHARES)
def test_discounted_visits_are_the_sum_over_all_steps(seed: int, nulls: float) -> None:
    task = random_task(seed, gamma=0.8)
    table = random_policies(task, 1, seed, nulls)[0]
    expected = naive_explain.expected_visits(task, over_all_states(task, table), 200, 0.8)
    np.testing.assert_allclose(
        visits(task, table), np.array(expected)[task.decision_states], rtol=1e-12, atol=1e-14
    )


@given(SEEDS, SHARES, st.sampled_from([0.9, 1.0]))
def test_undiscounted_visits_are_those_of_t_max_steps(seed: int, nulls: float, gamma: float) -> None:
    task = random_task(seed, gamma=gamma)
    table = random_policies(task, 1, seed, nulls)[0]
    expected = naive_explain.expected_visits(task, over_all_states(task, table), task.t_max, 1.0)
    found = visits(task, table, discounted=False)
    np.testing.assert_allclose(found, np.array(expected)[task.decision_states], rtol=1e-12, atol=1e-14)
    if gamma == 1.0:
        np.testing.assert_array_equal(visits(task, table), found)


@given(SEEDS)
def test_rewards_weighted_by_discounted_visits_add_up_to_the_exact_performance(seed: int) -> None:
    task = random_task(seed)
    table = random_policies(task, 1, seed)[0]
    model = task.dynamics
    rewards = (model.reward[np.arange(len(table)), table] * model.probability).sum(axis=1)
    performance = evaluate(np.array(over_all_states(task, table)), task, "exact").performance
    assert float(visits(task, table) @ rewards) == pytest.approx(performance, rel=1e-9, abs=1e-9)


def test_an_episode_that_meets_a_null_action_stops_there() -> None:
    task = chain()  # starts in 0 and in 1 alike; with γ = ½, staying half of the time, 0 counts ½ / (1 − ¼)
    np.testing.assert_allclose(visits(task, np.array([0, 0])), [2 / 3, 8 / 9])
    np.testing.assert_allclose(visits(task, np.array([-1, 0])), [1 / 2, 2 / 3])
    np.testing.assert_allclose(visits(task, np.array([-1, -1])), [1 / 2, 1 / 2])


@given(SEEDS, SHARES)
def test_advantages_are_what_the_action_is_worth_less_than_the_best(seed: int, nulls: float) -> None:
    task = random_task(seed)
    table = random_policies(task, 1, seed, nulls)[0]
    best, worth = naive.value_iteration(task)
    for found, state, action in zip(advantages(task, table), task.decision_states, table, strict=True):
        if action < 0:
            assert math.isnan(found)
        else:
            assert found <= 0
            assert found == pytest.approx(worth[state][action] - best[state], abs=1e-9)


def test_optimal_actions_cost_nothing_at_all() -> None:
    from ifthen.tables import value_iteration

    task = small_lake()
    optimal = value_iteration(task).optimal_actions[task.decision_states]
    for action in range(task.n_actions):
        cost = advantages(task, np.full(len(optimal), action))
        np.testing.assert_array_equal(cost == 0, optimal[:, action])


@given(SEEDS)
def test_usage_counts_states_and_steps_by_the_rule_that_decides(seed: int) -> None:
    task = small_lake()
    rng = np.random.default_rng(seed)
    rules = DecisionList(
        rng.integers(0, 4, (4, 2, 2)), rng.integers(0, 4, 4), task.features, task.action_names
    )
    table = policy_table(rules, task)
    weights = naive_explain.expected_visits(task, over_all_states(task, table), task.t_max, 1.0)
    states, steps = [0.0] * 4, [0.0] * 4
    for state in task.decision_states.tolist():
        for r, box in enumerate(rules.bounds.tolist()):
            if naive.matches(box, task.state_features[state].tolist()):
                states[r] += 1 / len(task.decision_states)
                steps[r] += weights[state] / sum(weights)
                break
    found = usage(rules, task)
    np.testing.assert_allclose(found.states, states)
    np.testing.assert_allclose(found.steps, steps, atol=1e-12)


def test_rules_that_are_not_of_the_task_are_refused() -> None:
    task = chain()
    rules = DecisionList([[[0, 0]]], [0], task.features, task.action_names)
    with pytest.raises(TaskError, match="speaks of"):
        usage(rules, table_named("Taxi-v4"))
