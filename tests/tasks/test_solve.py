from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import frozen_lake
from ifthen.errors import TaskError
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.tables import policy_values, value_iteration
from ifthen.tasks.solve import evaluate_policies, exact_performances
from tests import naive
from tests.worlds import chain, over_all_states, random_policies, random_task, small_lake


@pytest.mark.oracle
def test_the_chain_is_worth_what_it_is_by_hand() -> None:
    values = policy_values(chain(), np.array([0, 0, 0]))
    np.testing.assert_allclose(values[:2], [2 / 9, 2 / 3], rtol=1e-12)
    assert np.isnan(values[2])  # never asked for an action there


def test_waiting_for_ever_is_worth_nothing() -> None:
    assert policy_values(chain(), np.array([1, 0, 0]))[0] == 0


def test_value_iteration_solves_the_chain() -> None:
    solution = value_iteration(chain())
    np.testing.assert_allclose(solution.values, [2 / 9, 2 / 3, 0], rtol=1e-12)
    np.testing.assert_allclose(solution.action_values[:2], [[2 / 9, 1 / 9], [2 / 3, 1 / 3]], rtol=1e-12)
    assert solution.policy[:2].tolist() == [0, 0]
    assert solution.optimal_actions[:2].tolist() == [[True, False], [True, False]]


@pytest.mark.oracle
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_policy_values_solve_the_linear_system(seed: int, outcomes: int) -> None:
    task = random_task(seed, outcomes)
    table = random_policies(task, 1, seed, null_share=0.1)[0]
    policy = over_all_states(task, table)
    found = policy_values(task, np.array(policy))[task.decision_states]
    expected = np.array(naive.policy_values(task, policy))[task.decision_states]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


@given(st.integers(0, 10**6))
def test_value_iteration_finds_the_oracles_values(seed: int) -> None:
    task = random_task(seed)
    solution = value_iteration(task)
    values, action_values = naive.value_iteration(task)
    np.testing.assert_allclose(solution.values, values, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(solution.action_values, action_values, rtol=1e-9, atol=1e-10)


@given(st.integers(0, 10**6))
def test_the_optimal_policy_evaluated_exactly_gives_the_optimal_values(seed: int) -> None:
    task = random_task(seed)
    solution = value_iteration(task)
    states = task.decision_states
    np.testing.assert_allclose(
        policy_values(task, solution.policy)[states], solution.values[states], rtol=1e-9, atol=1e-10
    )


@pytest.mark.parametrize("p_slip", [0.0, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("size", [4, 8, 12])
def test_the_optimal_policy_of_every_lake_evaluated_exactly_gives_the_optimum(
    size: int, p_slip: float
) -> None:
    task = frozen_lake(size, p_slip)
    table = value_iteration(task).policy[task.decision_states].astype(np.int16)
    value = float(exact_performances(task, table[None])[0])
    assert value == pytest.approx(optimal_performance(task, "exact"), abs=1e-11)


def test_all_optimal_actions_are_told_ties_included() -> None:
    task = frozen_lake(desc=["SF", "FG"])
    solution = value_iteration(task)
    # From the corner both Down and Right lead to the goal in two steps; the lowest index is chosen.
    assert solution.optimal_actions[0].tolist() == [False, True, True, False]
    assert solution.policy[0] == 1


@pytest.mark.parametrize("p_slip", [0.1, 0.2, 0.3, 0.5])
@pytest.mark.parametrize("size", [3, 4])
def test_ties_that_only_rounding_tells_apart_are_ties(size: int, p_slip: float) -> None:
    rows = ["S" + "F" * (size - 1), *["F" * size] * (size - 2), "F" * (size - 1) + "G"]
    optimal = value_iteration(frozen_lake(desc=rows, p_slip=p_slip)).optimal_actions
    # The map is symmetric: on the diagonal Down is as good as Right.
    for cell in range(0, size * size - 1, size + 1):
        assert optimal[cell].tolist() == [False, True, True, False]


def test_no_other_action_than_the_optimal_ones_is_as_good() -> None:
    task = small_lake(0.1)
    solution = value_iteration(task)
    _, action_values = naive.value_iteration(task)
    for s in task.decision_states:
        best = max(action_values[s])
        expected = [value > best - 1e-8 for value in action_values[s]]
        assert solution.optimal_actions[s].tolist() == expected


@given(st.integers(0, 10**6))
def test_without_discount_values_are_returns_of_t_max_steps(seed: int) -> None:
    task = random_task(seed, gamma=1.0)
    policy = over_all_states(task, random_policies(task, 1, seed)[0])
    everywhere = [max(action, 0) for action in policy]
    expected = np.array(naive.finite_values(task, everywhere, task.t_max))[task.decision_states]
    found = policy_values(task, np.array(policy))[task.decision_states]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_without_discount_the_optimal_policy_does_not_wait_for_ever() -> None:
    task = frozen_lake(4, gamma=1.0)
    assert optimal_performance(task, "exact") == 1.0
    assert optimal_performance(task, "sampled") == 1.0
    assert policy_values(task, value_iteration(task).policy)[0] == 1.0


@pytest.mark.oracle
def test_a_policy_that_can_meet_a_null_action_has_no_value_and_others_keep_theirs() -> None:
    task = chain()
    tables = np.array([[0, 0], [0, -1], [-1, 0], [1, -1]], dtype=np.int16)
    values = np.empty((4, 2))
    model = task.dynamics
    evaluate_policies(
        0, 4, tables, model.next_state, model.reward, model.probability, 0.5, 10_000, 1e-13, values
    )
    np.testing.assert_allclose(values, [[2 / 9, 2 / 3], [np.nan, np.nan], [np.nan, 2 / 3], [0, np.nan]])
    performances = exact_performances(task, tables)
    assert np.isnan(performances).tolist() == [False, True, True, True]


def test_exact_performance_does_not_depend_on_threads() -> None:
    task = small_lake()
    tables = random_policies(task, 50, 1, null_share=0.01)
    with mock.patch("ifthen.tasks.tabular_task.STATES_PER_SLICE", 1):  # else nothing here is worth a thread
        one, two = (exact_performances(task, tables, threads) for threads in (1, 2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize(
    "policy", [np.zeros(2, dtype=int), np.zeros(3), np.array([0, 0, 2]), np.array([0, -2, 0]), None]
)
def test_arrays_that_are_no_policy_are_refused(policy: Any) -> None:
    with pytest.raises(TaskError, match="or one action for each of the"):
        policy_values(chain(), policy)


def test_ties_are_told_apart_where_all_values_are_tiny() -> None:
    task = frozen_lake(24, 0.1, map_seed=0, gamma=0.5)
    solution = value_iteration(task)
    values = solution.values[task.decision_states]
    assert values[values > 0].min() < 1e-9
    choices = solution.optimal_actions[task.decision_states].sum(axis=1)
    assert np.mean(choices[values > 0] == task.n_actions) < 0.05


def test_the_exact_performance_of_a_policy_does_not_depend_on_the_others_measured_with_it() -> None:
    task = frozen_lake(8, 0.3)
    policies = random_policies(task, 20, 5)
    together = exact_performances(task, policies)
    alone = [exact_performances(task, policies[i : i + 1])[0] for i in range(len(policies))]
    assert together.tolist() == alone
