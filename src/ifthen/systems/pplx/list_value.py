"""What a policy is worth on a learnt table, by linear algebra: a changed policy costs little to value.

V = (I − γP)⁻¹ r. A policy that acts otherwise in k states changes k rows of P and r. By the Woodbury identity
its value takes a k × k system, given the inverse for the present policy.
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


class Valued(NamedTuple):
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


class Change(NamedTuple):
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
def new_valued(table: LearntTable, words: int) -> Valued:
    """Return memory for a policy."""
    states, actions, _ = table.next_state.shape
    return Valued(
        np.zeros((actions, words), np.uint64),
        np.zeros(states, np.int64),
        np.zeros((states, states)),
        np.zeros(states),
        np.zeros(states),
    )


@kernel
def new_change(table: LearntTable, words: int) -> Change:
    """Return memory for a change."""
    states, actions, _ = table.next_state.shape
    return Change(
        np.zeros((actions, words), np.uint64),
        np.zeros(states, np.int64),
        np.zeros(states, np.int64),
        np.zeros(states, np.int64),
        np.zeros(states),
        np.zeros((states, states)),
        np.zeros((states, 1)),
        np.zeros((states, states)),
    )


@kernel
def read_policy(rules: Rules, own: Valued) -> None:
    """Write what a list does in every state."""
    decide(rules, own.chosen)
    for s in range(len(own.policy)):
        for a in range(len(own.chosen)):
            if (own.chosen[a, s // WORD] >> np.uint64(s % WORD)) & ONE:
                own.policy[s] = a


@kernel
def transitions(table: LearntTable, policy: Ints) -> Floats:
    """Return I − γP, `(D, D)`."""
    rows = np.zeros((len(policy), len(policy)))
    for s in range(len(policy)):
        rows[s, s] += 1.0
        for k in range(table.probability.shape[2]):
            after = table.next_state[s, policy[s], k]
            if after >= 0:
                rows[s, after] -= table.gamma * table.probability[s, policy[s], k]
    return rows


@kernel
def value(table: LearntTable, rules: Rules, own: Valued) -> float:
    """Work out policy, inverse, values and occupancy of a list; return the mean value of the starts."""
    states = len(own.policy)
    read_policy(rules, own)
    own.inverse[:] = 0.0
    for s in range(states):
        own.inverse[s, s] = 1.0
    eliminate(transitions(table, own.policy), own.inverse, states, states)
    own.occupancy[:], own.values[:] = 0.0, 0.0
    total = 0.0
    for s in range(states):
        for j in range(states):
            own.values[s] += own.inverse[s, j] * table.mean_reward[j, own.policy[j]]
            own.occupancy[j] += table.starts[s] * own.inverse[s, j]
        total += table.starts[s] * own.values[s]
    return total


@kernel
def list_value(table: LearntTable, rules: Rules) -> float:
    """Return the mean value of the starts under a list."""
    own = new_valued(table, rules.masks.shape[1])
    read_policy(rules, own)
    values = np.zeros((len(own.policy), 1))
    for s in range(len(own.policy)):
        values[s, 0] = table.mean_reward[s, own.policy[s]]
    eliminate(transitions(table, own.policy), values, len(own.policy), 1)
    total = 0.0
    for s in range(len(own.policy)):
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
def row_change(table: LearntTable, s: int, before: int, after: int, vectors: Floats, column: int) -> float:
    """Return the change of row s of I − γP, from one action to another, times a column of `(D, …)`."""
    total = 0.0
    for k in range(table.probability.shape[2]):
        j = table.next_state[s, after, k]
        if j >= 0:
            total -= table.probability[s, after, k] * vectors[j, column]
        j = table.next_state[s, before, k]
        if j >= 0:
            total += table.probability[s, before, k] * vectors[j, column]
    return table.gamma * total


@kernel
def changed_states(own: Valued, other: Change) -> int:
    """Write the states in which `other` acts otherwise, and its actions there; return their number k."""
    k = 0
    for a in range(len(own.chosen)):
        for w in range(own.chosen.shape[1]):
            left = other.chosen[a, w] & ~own.chosen[a, w]
            while left != ZERO:
                other.states[k], other.actions[k] = WORD * w + lowest_bit(left), a
                left &= left - ONE
                k += 1
    return k


@kernel
def value_of_change(table: LearntTable, own: Valued, other: Change, k: int) -> float:
    """Return the mean value of the starts under `other`, which acts otherwise in k states."""
    other.values[:] = own.values
    total = 0.0
    for i in range(k):
        s = other.states[i]
        more = table.mean_reward[s, other.actions[i]] - table.mean_reward[s, own.policy[s]]
        if more != 0.0:
            for j in range(len(own.policy)):
                other.values[j] += own.inverse[j, s] * more
    for s in range(len(own.policy)):
        total += table.starts[s] * other.values[s]
    values = other.values.reshape((-1, 1))
    for i in range(k):
        s = other.states[i]
        before, after = own.policy[s], other.actions[i]
        other.solution[i, 0] = row_change(table, s, before, after, values, 0)
        for j in range(k):
            other.matrix[i, j] = row_change(table, s, before, after, own.inverse, other.states[j])
        other.matrix[i, i] += 1.0
    eliminate(other.matrix, other.solution, k, 1)
    for i in range(k):
        total -= own.occupancy[other.states[i]] * other.solution[i, 0]
    return total


@kernel
def take_change(table: LearntTable, own: Valued, other: Change, k: int) -> None:
    """Make `other`, just valued by `value_of_change`, the present policy."""
    states = len(own.policy)
    for i in range(k):
        s = other.states[i]
        for j in range(states):
            other.rows[i, j] = row_change(table, s, own.policy[s], other.actions[i], own.inverse, j)
        for j in range(k):
            other.matrix[i, j] = other.rows[i, other.states[j]]
        other.matrix[i, i] += 1.0
    eliminate(other.matrix, other.rows, k, states)
    for s in range(states):
        own.values[s] = other.values[s]
        for i in range(k):
            own.values[s] -= own.inverse[s, other.states[i]] * other.solution[i, 0]
    for i in range(k):
        other.solution[i, 0] = own.occupancy[other.states[i]]
    for i in range(k):
        for j in range(states):
            own.occupancy[j] -= other.solution[i, 0] * other.rows[i, j]
    for s in range(states):
        for i in range(k):
            other.values[i] = own.inverse[s, other.states[i]]
        for i in range(k):
            if other.values[i] != 0.0:
                for j in range(states):
                    own.inverse[s, j] -= other.values[i] * other.rows[i, j]
    own.chosen[:] = other.chosen
    for i in range(k):
        own.policy[other.states[i]] = other.actions[i]


@kernel
def sweeps_for(table: LearntTable) -> int:
    """Return how many sweeps bring values as near as can be told."""
    return int(math.log(PRECISION) / math.log(table.gamma)) + 1


@kernel
def pays_to_sweep(table: LearntTable, k: int) -> bool:
    """Return whether sweeps over all states take less than a system of k equations."""
    states, _, outcomes = table.next_state.shape
    return bool(k * k * k / 3.0 > float(sweeps_for(table)) * states * outcomes)


@kernel
def swept_value(table: LearntTable, own: Valued, other: Change, k: int) -> float:
    """Return what `value_of_change` does, by sweeps that begin with the present values."""
    other.values[:], other.policy[:] = own.values, own.policy
    for i in range(k):
        other.policy[other.states[i]] = other.actions[i]
    enough = PRECISION * (1.0 - table.gamma) * np.abs(own.values).max()
    for _ in range(sweeps_for(table)):
        change = 0.0
        for s in range(len(own.policy)):
            new = action_value(table, other.values, s, other.policy[s])
            change = max(change, abs(new - other.values[s]))
            other.values[s] = new
        if change <= enough:
            break
    total = 0.0
    for s in range(len(own.policy)):
        total += table.starts[s] * other.values[s]
    return total


@kernel
def changed_value(table: LearntTable, own: Valued, other: Change, k: int) -> float:
    """Return the mean value of the starts under `other`, by the way that takes less."""
    if pays_to_sweep(table, k):
        return swept_value(table, own, other, k)
    return value_of_change(table, own, other, k)


@kernel
def taken_value(
    table: LearntTable, rules: Rules, own: Valued, other: Change, k: int, precision: float
) -> float:
    """Make `other`, which is what a list does and was just valued, the present policy; return its value.

    All is worked out anew where that takes less, and where rounding has added up to more than `precision`.
    """
    if not pays_to_sweep(table, k):
        take_change(table, own, other, k)
        if error(table, own) <= precision:
            total = 0.0
            for s in range(len(own.policy)):
                total += table.starts[s] * own.values[s]
            return total
    return value(table, rules, own)


@kernel
def error(table: LearntTable, own: Valued) -> float:
    """Return by how much the values fail Bellman's equation, at most: what rounding has added up to."""
    worst = 0.0
    for s in range(len(own.policy)):
        worst = max(worst, abs(action_value(table, own.values, s, own.policy[s]) - own.values[s]))
    return worst
