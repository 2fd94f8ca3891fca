"""What a policy is worth on a learnt table, by linear algebra: a changed policy costs little to value.

V = (I − γP)⁻¹ r. A policy that acts otherwise in k states changes k rows of P and r. By the Woodbury identity
its value takes a k × k system, given the inverse for the present policy. A policy's mean value weighs states
by `LearntTable.starts`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.box import ONE, WORD, ZERO, lowest_bit
from ifthen.systems.pplx.learnt_table import LearntTable, action_value
from ifthen.systems.pplx.table_lists import Rules, decide

PRECISION = 1e-11
"""Sweeps stop once values change by less than this share."""


class PolicyValue(NamedTuple):
    """A policy with its value."""

    chosen: NDArray[np.uint64]
    """`(A, words)`: the states in which each action is taken, a bit each."""
    policy: Ints
    """`(D,)`: the same as one action a state."""
    inverse: Floats
    """`(D, D)`: (I − γP)⁻¹."""
    values: Floats
    """`(D,)`."""
    occupancy: Floats
    """`(D,)`: how often each state is visited from the starts, discounted."""


class PolicyChange(NamedTuple):
    """Another policy beside the present one, and what its value takes."""

    chosen: NDArray[np.uint64]
    """`(A, words)`."""
    states: Ints
    """`(D,)`: the states in which it acts otherwise stand first."""
    actions: Ints
    """`(D,)`: what it does there."""
    policy: Ints
    """`(D,)`: what it does everywhere, where that was worked out."""
    values: Floats
    """`(D,)`: the present values, with the rewards that changed."""
    matrix: Floats
    """`(D, D)`: the k × k system."""
    solution: Floats
    """`(D, 1)`: its solution."""
    rows: Floats
    """`(D, D)`: the changed rows of I − γP, times the inverse."""


@kernel
def new_policy_value(table: LearntTable, n_words: int) -> PolicyValue:
    """Return memory for a policy."""
    n_states, n_actions, _ = table.next_state.shape
    return PolicyValue(
        np.zeros((n_actions, n_words), np.uint64),
        np.zeros(n_states, np.int64),
        np.zeros((n_states, n_states)),
        np.zeros(n_states),
        np.zeros(n_states),
    )


@kernel
def new_policy_change(table: LearntTable, n_words: int) -> PolicyChange:
    """Return memory for a change."""
    n_states, n_actions, _ = table.next_state.shape
    return PolicyChange(
        np.zeros((n_actions, n_words), np.uint64),
        np.zeros(n_states, np.int64),
        np.zeros(n_states, np.int64),
        np.zeros(n_states, np.int64),
        np.zeros(n_states),
        np.zeros((n_states, n_states)),
        np.zeros((n_states, 1)),
        np.zeros((n_states, n_states)),
    )


@kernel
def read_policy(rules: Rules, current: PolicyValue) -> None:
    """Write what a list does in every state."""
    decide(rules, current.chosen)
    for s in range(len(current.policy)):
        for a in range(len(current.chosen)):
            if (current.chosen[a, s // WORD] >> np.uint64(s % WORD)) & ONE:
                current.policy[s] = a


@kernel
def transitions(table: LearntTable, policy: Ints) -> Floats:
    """Return I − γP, `(D, D)`."""
    rows = np.zeros((len(policy), len(policy)))
    for s in range(len(policy)):
        rows[s, s] += 1.0
        for k in range(table.probability.shape[2]):
            successor = table.next_state[s, policy[s], k]
            if successor >= 0:
                rows[s, successor] -= table.gamma * table.probability[s, policy[s], k]
    return rows


@kernel
def value(table: LearntTable, rules: Rules, current: PolicyValue) -> float:
    """Work out policy, inverse, values and occupancy of a list; return the weighted mean value."""
    n_states = len(current.policy)
    read_policy(rules, current)
    current.inverse[:] = 0.0
    for s in range(n_states):
        current.inverse[s, s] = 1.0
    eliminate(transitions(table, current.policy), current.inverse, n_states, n_states)
    current.occupancy[:], current.values[:] = 0.0, 0.0
    total = 0.0
    for s in range(n_states):
        for j in range(n_states):
            current.values[s] += current.inverse[s, j] * table.mean_reward[j, current.policy[j]]
            current.occupancy[j] += table.starts[s] * current.inverse[s, j]
        total += table.starts[s] * current.values[s]
    return total


@kernel
def list_value(table: LearntTable, rules: Rules) -> float:
    """Return the weighted mean value of the states under a list."""
    current = new_policy_value(table, rules.masks.shape[1])
    read_policy(rules, current)
    values = np.zeros((len(current.policy), 1))
    for s in range(len(current.policy)):
        values[s, 0] = table.mean_reward[s, current.policy[s]]
    eliminate(transitions(table, current.policy), values, len(current.policy), 1)
    total = 0.0
    for s in range(len(current.policy)):
        total += table.starts[s] * values[s, 0]
    return total


@kernel
def eliminate(matrix: Floats, right: Floats, size: int, columns: int) -> None:
    """Solve matrix · x = right in place, for the first rows and columns; the matrix is used up."""
    for c in range(size):
        pivot = c
        for r in range(c + 1, size):
            if abs(matrix[r, c]) > abs(matrix[pivot, c]):
                pivot = r
        if pivot != c:
            for j in range(size):
                matrix[c, j], matrix[pivot, j] = matrix[pivot, j], matrix[c, j]
            for j in range(columns):
                right[c, j], right[pivot, j] = right[pivot, j], right[c, j]
        for r in range(c + 1, size):
            factor = matrix[r, c] / matrix[c, c]
            if factor != 0.0:
                for j in range(c, size):
                    matrix[r, j] -= factor * matrix[c, j]
                for j in range(columns):
                    right[r, j] -= factor * right[c, j]
    for c in range(size - 1, -1, -1):
        for r in range(c + 1, size):
            factor = matrix[c, r]
            if factor != 0.0:
                for j in range(columns):
                    right[c, j] -= factor * right[r, j]
        for j in range(columns):
            right[c, j] /= matrix[c, c]


@kernel
def row_change(
    table: LearntTable, s: int, old_action: int, new_action: int, vectors: Floats, column: int
) -> float:
    """Return the change of row s of I − γP, from one action to another, times a column of `(D, …)`."""
    total = 0.0
    for k in range(table.probability.shape[2]):
        successor = table.next_state[s, new_action, k]
        if successor >= 0:
            total -= table.probability[s, new_action, k] * vectors[successor, column]
        successor = table.next_state[s, old_action, k]
        if successor >= 0:
            total += table.probability[s, old_action, k] * vectors[successor, column]
    return table.gamma * total


@kernel
def changed_states(current: PolicyValue, change: PolicyChange) -> int:
    """Write the states in which `change` acts otherwise, and its actions there; return their number k."""
    k = 0
    for a in range(len(current.chosen)):
        for w in range(current.chosen.shape[1]):
            gained = change.chosen[a, w] & ~current.chosen[a, w]
            while gained != ZERO:
                change.states[k], change.actions[k] = WORD * w + lowest_bit(gained), a
                gained &= gained - ONE
                k += 1
    return k


@kernel
def value_of_change(table: LearntTable, current: PolicyValue, change: PolicyChange, k: int) -> float:
    """Return the weighted mean value under `change`, which acts otherwise in k states."""
    for s in range(len(current.policy)):
        change.values[s] = current.values[s]
    total = 0.0
    for i in range(k):
        s = change.states[i]
        reward_gain = table.mean_reward[s, change.actions[i]] - table.mean_reward[s, current.policy[s]]
        if reward_gain != 0.0:
            for j in range(len(current.policy)):
                change.values[j] += current.inverse[j, s] * reward_gain
    for s in range(len(current.policy)):
        total += table.starts[s] * change.values[s]
    values = change.values.reshape((-1, 1))
    for i in range(k):
        s = change.states[i]
        old_action, new_action = current.policy[s], change.actions[i]
        change.solution[i, 0] = row_change(table, s, old_action, new_action, values, 0)
        for j in range(k):
            change.matrix[i, j] = row_change(
                table, s, old_action, new_action, current.inverse, change.states[j]
            )
        change.matrix[i, i] += 1.0
    eliminate(change.matrix, change.solution, k, 1)
    for i in range(k):
        total -= current.occupancy[change.states[i]] * change.solution[i, 0]
    return total


@kernel
def take_change(table: LearntTable, current: PolicyValue, change: PolicyChange, k: int) -> None:
    """Make `change`, just valued by `value_of_change`, the present policy."""
    n_states = len(current.policy)
    for i in range(k):
        s = change.states[i]
        for j in range(n_states):
            change.rows[i, j] = row_change(table, s, current.policy[s], change.actions[i], current.inverse, j)
        for j in range(k):
            change.matrix[i, j] = change.rows[i, change.states[j]]
        change.matrix[i, i] += 1.0
    eliminate(change.matrix, change.rows, k, n_states)
    for s in range(n_states):
        current.values[s] = change.values[s]
        for i in range(k):
            current.values[s] -= current.inverse[s, change.states[i]] * change.solution[i, 0]
    for i in range(k):
        change.solution[i, 0] = current.occupancy[change.states[i]]
    for i in range(k):
        for j in range(n_states):
            current.occupancy[j] -= change.solution[i, 0] * change.rows[i, j]
    for s in range(n_states):
        for i in range(k):
            change.values[i] = current.inverse[s, change.states[i]]
        for i in range(k):
            if change.values[i] != 0.0:
                for j in range(n_states):
                    current.inverse[s, j] -= change.values[i] * change.rows[i, j]
    for a in range(len(current.chosen)):
        for w in range(current.chosen.shape[1]):
            current.chosen[a, w] = change.chosen[a, w]
    for i in range(k):
        current.policy[change.states[i]] = change.actions[i]


@kernel
def sweeps_for(table: LearntTable) -> int:
    """Return how many sweeps bring values as near as can be told."""
    return int(math.log(PRECISION) / math.log(table.gamma)) + 1


@kernel
def pays_to_sweep(table: LearntTable, k: int) -> bool:
    """Return whether sweeps over all states take less than a system of k equations."""
    n_states, _, n_outcomes = table.next_state.shape
    return bool(k * k * k / 3.0 > float(sweeps_for(table)) * n_states * n_outcomes)


@kernel
def swept_value(table: LearntTable, current: PolicyValue, change: PolicyChange, k: int) -> float:
    """Return what `value_of_change` does, by sweeps that begin with the present values."""
    largest = 0.0
    for s in range(len(current.policy)):
        change.values[s], change.policy[s] = current.values[s], current.policy[s]
        largest = max(largest, abs(current.values[s]))
    for i in range(k):
        change.policy[change.states[i]] = change.actions[i]
    tolerance = PRECISION * (1.0 - table.gamma) * largest
    for _ in range(sweeps_for(table)):
        largest_change = 0.0
        for s in range(len(current.policy)):
            new_value = action_value(table, change.values, s, change.policy[s])
            largest_change = max(largest_change, abs(new_value - change.values[s]))
            change.values[s] = new_value
        if largest_change <= tolerance:
            break
    total = 0.0
    for s in range(len(current.policy)):
        total += table.starts[s] * change.values[s]
    return total


@kernel
def changed_value(table: LearntTable, current: PolicyValue, change: PolicyChange, k: int) -> float:
    """Return the weighted mean value under `change`, by the way that takes less."""
    if pays_to_sweep(table, k):
        return swept_value(table, current, change, k)
    return value_of_change(table, current, change, k)


@kernel
def taken_value(
    table: LearntTable, rules: Rules, current: PolicyValue, change: PolicyChange, k: int, precision: float
) -> float:
    """Make `change`, which is what a list does and was just valued, the present policy; return its value.

    All is worked out anew where that takes less, and where rounding has added up to more than `precision`.
    """
    if not pays_to_sweep(table, k):
        take_change(table, current, change, k)
        if error(table, current) <= precision:
            total = 0.0
            for s in range(len(current.policy)):
                total += table.starts[s] * current.values[s]
            return total
    return value(table, rules, current)


@kernel
def error(table: LearntTable, current: PolicyValue) -> float:
    """Return by how much the values fail Bellman's equation, at most: what rounding has added up to."""
    worst_error = 0.0
    for s in range(len(current.policy)):
        backed_up = action_value(table, current.values, s, current.policy[s])
        worst_error = max(worst_error, abs(backed_up - current.values[s]))
    return worst_error
