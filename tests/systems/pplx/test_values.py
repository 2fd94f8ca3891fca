"""The learnt table and the value of lists, beside their oracles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.systems.pplx.learnt_table import (
    action_value,
    collect,
    given_table,
    learnt_table,
    least_tried,
    solve,
)
from ifthen.systems.pplx.list_value import (
    changed_states,
    changed_value,
    eliminate,
    error,
    list_value,
    new_policy_change,
    new_policy_value,
    pays_to_sweep,
    read_policy,
    row_change,
    swept_value,
    take_change,
    taken_value,
    transitions,
    value,
    value_of_change,
)
from ifthen.systems.pplx.table_lists import decide
from ifthen.tasks.solve import value_iteration
from tests import naive_pplx
from tests.systems.contract import meadow
from tests.systems.pplx.tables import ACTIONS, KEY, as_rules, plain, some_rules, table

numbers = st.integers(0, 10_000)


@pytest.mark.oracle
def test_optimal_values_are_those_of_value_iteration() -> None:
    own = table()
    values, q = np.zeros(len(own.points)), np.zeros(own.mean_reward.shape)
    solve(own, values, q)
    expected = naive_pplx.optimal_values(own)
    assert values == pytest.approx(expected)
    assert action_value(own, values, 2, 1) == pytest.approx(naive_pplx.action_value(own, expected, 2, 1))
    assert q.max(axis=1) == pytest.approx(expected)


@pytest.mark.oracle
def test_episodes_are_played_and_counted_as_by_the_oracle() -> None:
    task = meadow()
    model, q = task.dynamics, np.random.default_rng(1).random(task.dynamics.reward.shape[:2])
    counts, expected = np.zeros((2, *model.reward.shape), np.int64)
    shared = model.next_state, model.probability, model.starts, task.t_max
    steps = collect(KEY, 12, *shared, 0.3, q, counts)
    assert steps == naive_pplx.collect(int(KEY), 12, model, task.t_max, 0.3, q, expected)
    assert counts.tolist() == expected.tolist()
    assert steps == counts.sum()
    assert least_tried(counts, 0) == naive_pplx.least_tried(expected, 0)


def test_many_episodes_give_the_tasks_own_table() -> None:
    task: Any = meadow()
    model, own = task.dynamics, given_table(task)
    counts = np.zeros(model.reward.shape, np.int64)
    shared = model.next_state, model.probability, model.starts, task.t_max
    collect(KEY, 50_000, *shared, 1.0, own.mean_reward, counts)
    learnt = learnt_table(task, counts)
    assert learnt.next_state.tolist() == own.next_state.tolist()
    assert learnt.probability == pytest.approx(own.probability, abs=0.02)
    values, q = np.zeros(len(own.points)), np.zeros(own.mean_reward.shape)
    solve(own, values, q)
    assert values == pytest.approx(value_iteration(task).values[task.decision_states])


def test_an_action_that_was_never_tried_is_worth_the_floor() -> None:
    task: Any = meadow()
    learnt = learnt_table(task, np.zeros(task.dynamics.reward.shape, np.int64))
    assert (learnt.mean_reward == task.floor).all()
    assert (learnt.next_state == -1).all()


@pytest.mark.oracle
@given(numbers, numbers, numbers)
def test_a_change_is_worth_what_the_changed_list_is_worth_from_scratch(
    seed: int, first: int, second: int
) -> None:
    own, before, after = table(seed % 7), some_rules(first), some_rules(second)
    rules, words = as_rules(before), 1
    valued, change = new_policy_value(own, words), new_policy_change(own, words)
    expected = naive_pplx.start_value(own, naive_pplx.policy_of(before, own.points))
    assert value(own, rules, valued) == pytest.approx(expected, abs=1e-9)
    assert list_value(own, rules) == pytest.approx(expected, abs=1e-9)
    policy = naive_pplx.policy_of(after, own.points)
    decide(as_rules(after), change.chosen)
    k = changed_states(valued, change)
    differs = [s for s in range(len(policy)) if policy[s] != valued.policy[s]]
    assert sorted(change.states[:k].tolist()) == differs
    assert [policy[s] for s in change.states[:k]] == change.actions[:k].tolist()
    new = value_of_change(own, valued, change, k)
    assert new == pytest.approx(naive_pplx.start_value(own, policy), abs=1e-9)
    assert swept_value(own, valued, change, k) == pytest.approx(new, abs=1e-9)
    assert value_of_change(own, valued, change, k) == new == changed_value(own, valued, change, k)
    take_change(own, valued, change, k)
    assert valued.policy.tolist() == policy
    assert valued.values == pytest.approx(naive_pplx.policy_values(own, policy), abs=1e-9)
    assert valued.occupancy == pytest.approx(naive_pplx.occupancy(own, policy), abs=1e-9)
    assert error(own, valued) < 1e-12


@pytest.mark.oracle
@pytest.mark.parametrize("gamma", [0.05, 0.9])
def test_large_changes_are_swept_and_taken_anew(gamma: float) -> None:
    own, rules = table(gamma=gamma), as_rules(some_rules(1))
    valued, change = new_policy_value(own, 1), new_policy_change(own, 1)
    value(own, rules, valued)
    after = as_rules([(low, high, 1 - action % 2) for low, high, action in some_rules(1)])
    decide(after, change.chosen)
    k = changed_states(valued, change)
    assert k > 8
    assert pays_to_sweep(own, k) == (gamma == 0.05)
    expected = naive_pplx.start_value(own, naive_pplx.policy_of(plain(after), own.points))
    assert changed_value(own, valued, change, k) == pytest.approx(expected)
    assert taken_value(own, after, valued, change, k, 1e-9) == pytest.approx(expected)
    assert error(own, valued) < 1e-12
    read_policy(after, valued)
    assert valued.policy.tolist() == naive_pplx.policy_of(plain(after), own.points)
    assert transitions(own, valued.policy) @ valued.values == pytest.approx(
        [own.mean_reward[s, a] for s, a in enumerate(valued.policy)]
    )


@pytest.mark.oracle
def test_the_change_of_a_row_times_the_values_is_the_loss_of_action_value() -> None:
    own, values = table(), np.random.default_rng(0).random(12)
    for a in range(ACTIONS):
        more = [naive_pplx.action_value(own, values.tolist(), 3, b) - own.mean_reward[3, b] for b in (0, a)]
        assert row_change(own, 3, 0, a, values[:, None], 0) == pytest.approx(more[0] - more[1])


@pytest.mark.oracle
@given(numbers, st.integers(1, 6))
def test_elimination_solves_systems_of_equations(seed: int, size: int) -> None:
    own = table(seed % 5)
    rng = np.random.default_rng(seed)
    matrix, right = rng.random((size, size)) + size * np.eye(size), rng.random((size, 2))
    matrix[[0, -1]] = matrix[[-1, 0]]  # so that rows must change places
    solution, used = right.copy(), matrix.copy()
    eliminate(used, solution, size, 2)
    assert matrix @ solution == pytest.approx(right)
    policy = [0] * len(own.points)  # values solve (I − γP) v = r
    chances = np.zeros((len(policy), len(policy)))
    for s in range(len(policy)):
        for k in range(own.probability.shape[2]):
            if own.next_state[s, 0, k] >= 0:
                chances[s, own.next_state[s, 0, k]] += own.probability[s, 0, k]
    values = own.mean_reward[:, :1].copy()
    eliminate(np.eye(len(policy)) - own.gamma * chances, values, len(policy), 1)
    assert values[:, 0] == pytest.approx(naive_pplx.policy_values(own, policy))
