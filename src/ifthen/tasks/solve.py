"""Exact solutions of tabular tasks: value iteration and policy evaluation.

V^π is the infinite-horizon discounted value. With γ = 1, where that need not exist, it is the
expected return over t_max steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.parallel import for_slices
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.tasks.tabular_task import TabularTask

TOLERANCE = 1e-13
TIE = 1e-9
ALMOST_ONE = 0.99  # with γ = 1, waiting can be worth as much as acting; this discount tells them apart
SETTLED = 1e-30  # γ**sweeps at which no value can still move by anything that a float shows


@dataclass(frozen=True, eq=False)
class Solution:
    """What value iteration found.

    Args:
        values: V* of every state, `(S,)`; 0 where the episode is over.
        action_values: Q* of every state and action, `(S, A)`.
        policy: an optimal action for every state, `(S,)`, the lowest index among equals (with γ = 1,
            the one that is rewarded soonest).
        optimal_actions: every action that is optimal, `(S, A)`.
    """

    values: Floats
    action_values: Floats
    policy: Ints
    optimal_actions: Mask


@lru_cache(maxsize=64)
def value_iteration(task: TabularTask) -> Solution:
    """Return the optimal values and actions of a task."""
    values = np.zeros(task.n_states)
    for _ in range(sweeps_for(task)):
        action_values = _action_values(task, values)
        previous, values = values, action_values.max(axis=1)
        # Relative, because far from the goal all values are small.
        if (np.abs(values - previous) <= TOLERANCE * np.abs(values)).all():
            break
    optimal = action_values >= values[:, None] - TIE * np.abs(action_values).max(axis=1, keepdims=True)
    policy = optimal.argmax(axis=1)
    if task.gamma == 1:
        sooner = value_iteration(replace(task, gamma=ALMOST_ONE)).action_values
        policy = np.where(optimal, sooner, -np.inf).argmax(axis=1)
    return Solution(values, action_values, policy, optimal)


def sweeps_for(task: TabularTask) -> int:
    """Return the number of sweeps after which values have settled, or the horizon where γ = 1."""
    return task.t_max if task.gamma == 1 else math.ceil(math.log(SETTLED) / math.log(task.gamma))


def _action_values(task: TabularTask, values: Floats) -> Floats:
    """Return Q `(S, A)` for the values V `(S,)` of the states that follow."""
    follow = np.where(task.done, 0.0, values[task.next_state])
    result: Floats = (task.reward + task.gamma * follow) @ task.probability
    return result


def table_values(task: TabularTask, table: NDArray[np.integer]) -> Floats:
    """Return V^π of every decision state, `(D,)`: NaN where a state with no rule can be met."""
    values = np.empty((1, len(table)))
    sweep_policies(task, table[None].astype(np.int16), values, threads=1)
    return values.ravel()


def exact_performances(task: TabularTask, tables: NDArray[np.int16], threads: int = 1) -> Floats:
    """Return the mean of V^π over S_I for policy tables `(n, D)`; NaN where a null action can be met."""
    values = np.empty((len(tables), len(task.decision_states)))
    sweep_policies(task, tables, values, threads)
    return mean_over_starts(task, values)


def mean_over_starts(task: TabularTask, values: Floats) -> Floats:
    """Return the mean of values `(n, D)` over S_I, `(n,)`."""
    # Contiguous, so that a row's mean is summed in the same order however many rows there are.
    result: Floats = np.ascontiguousarray(values[:, task.dynamics.starts]).mean(axis=1)
    return result


def sweep_policies(task: TabularTask, tables: NDArray[np.int16], out: Floats, threads: int) -> None:
    """Write V^π over decision states `(n, D)` for policy tables `(n, D)`."""
    model = task.dynamics
    arguments = (
        model.next_state,
        model.reward,
        model.probability,
        task.gamma,
        sweeps_for(task),
        TOLERANCE,
        out,
    )

    def work(first: int, last: int) -> None:
        evaluate_policies(first, last, tables, *arguments)

    for_slices(work, len(tables), threads, task.grain)


@kernel
def evaluate_policies(
    first: int,
    last: int,
    tables: NDArray[np.int16],
    next_state: NDArray[np.int32],
    reward: Floats,
    probability: Floats,
    gamma: float,
    sweeps: int,
    tolerance: float,
    out: Floats,
) -> None:
    """Write V^π of policies `first` to `last − 1` by sweeping until no value moves by `tolerance`."""
    previous = np.empty(tables.shape[1])
    for i in range(first, last):
        evaluate_policy(
            tables[i], next_state, reward, probability, gamma, sweeps, tolerance, previous, out[i]
        )


@kernel
def evaluate_policy(
    actions: NDArray[np.int16],
    next_state: NDArray[np.int32],
    reward: Floats,
    probability: Floats,
    gamma: float,
    sweeps: int,
    tolerance: float,
    previous: Floats,
    out: Floats,
) -> None:
    """Write V^π of one policy, `(D,)`; `previous` is scratch, for values of the sweep before where γ is 1."""
    n_states = len(actions)
    outcomes = len(probability)
    for s in range(n_states):
        out[s] = 0.0
    for _ in range(sweeps):
        largest_change = 0.0
        if gamma == 1.0:
            for s in range(n_states):
                previous[s] = out[s]
        for s in range(n_states):
            a = actions[s]
            value = np.nan
            if a >= 0:
                value = 0.0
                for k in range(outcomes):
                    successor = next_state[s, a, k]
                    next_value = 0.0
                    if successor >= 0:
                        next_value = previous[successor] if gamma == 1.0 else out[successor]
                    value += probability[k] * (reward[s, a, k] + gamma * next_value)
            difference = abs(value - out[s])
            if difference > largest_change:
                largest_change = difference
            if np.isnan(value) != np.isnan(out[s]):
                largest_change = np.inf
            out[s] = value
        if largest_change <= tolerance:
            break
