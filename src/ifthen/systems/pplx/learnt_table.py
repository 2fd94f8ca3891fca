"""A table of transitions learnt from episodes: counts of what followed which action in which state.

Episodes are played in rounds. In the first, the least-tried action is taken. Later ones follow the policy
that is optimal by the counts so far, but take the least-tried action first and then now and then, so that no
state is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.randomness import below, fold, uniform
from ifthen.rules.arrays import Floats, Ints
from ifthen.tasks.tabular_task import TabularTask

TOLERANCE = 1e-12
"""Value iteration stops once values change by less than this share."""
SWEEPS = 20_000
"""Value iteration stops after this many sweeps."""
LONGEST_HORIZON = 1 - 1e-4
"""The largest γ that values are worked out with: with γ = 1, a list that goes round in circles has none."""
ELSEWHERE = 1e-3
"""States in which no episode starts share this part of the weight. Among lists that are equally good from the
starts, the search then prefers the one that also acts well in states that it never meets."""


class LearntTable(NamedTuple):
    """Transitions over the decision states as they were counted."""

    next_state: NDArray[np.int32]
    """`(D, A, K)`: the state that follows; −1 where the episode ends."""
    reward: Floats
    """`(D, A, K)`."""
    probability: Floats
    """`(D, A, K)`: the share of each outcome. An action that was never tried has one outcome: the floor."""
    mean_reward: Floats
    """`(D, A)`."""
    starts: Floats
    """`(D,)`: how much each state counts: how likely an episode starts in it, and a little everywhere."""
    points: Ints
    """`(D, features)`."""
    lows: Ints
    """`(features,)`: the features' smallest values."""
    highs: Ints
    """`(features,)`: the features' largest values."""
    gamma: float


def learnt_table(task: TabularTask, counts: Ints) -> LearntTable:
    """Return the table that counts `(D, A, K)` of outcomes say."""
    model = task.dynamics
    tried = counts.sum(axis=2, keepdims=True)
    first = np.arange(counts.shape[2]) == 0
    return _table(
        task,
        np.where(tried > 0, model.next_state, np.int32(-1)),
        np.where(tried > 0, model.reward, task.floor),
        np.where(tried > 0, counts / np.maximum(tried, 1), np.where(first, 1.0, 0.0)),
    )


def given_table(task: TabularTask) -> LearntTable:
    """Return the task's own table."""
    model = task.dynamics
    shares = np.broadcast_to(model.probability, model.next_state.shape).copy()
    return _table(task, model.next_state, model.reward, shares)


def _table(task: TabularTask, next_state: NDArray[np.int32], reward: Floats, shares: Floats) -> LearntTable:
    model = task.dynamics
    return LearntTable(
        np.ascontiguousarray(next_state),
        np.ascontiguousarray(reward),
        shares,
        (shares * reward).sum(axis=2),
        state_weights(model.starts, len(model.states)),
        np.ascontiguousarray(model.states.astype(np.int64)),
        np.array([feature.low for feature in task.features], dtype=np.int64),
        np.array([feature.high for feature in task.features], dtype=np.int64),
        min(task.gamma, LONGEST_HORIZON),
    )


def state_weights(starts: NDArray[np.int32], n_states: int) -> Floats:
    """Return how much each state counts, `(D,)`: how often episodes start there, or ELSEWHERE."""
    weights = np.bincount(starts, minlength=n_states) / len(starts)
    others = weights == 0
    if others.any():
        weights = np.where(others, ELSEWHERE / others.sum(), (1 - ELSEWHERE) * weights)
    return weights


@kernel
def action_value(table: LearntTable, values: Floats, s: int, a: int) -> float:
    """Return what action a is worth in state s, if what follows is worth `values`, `(D,)`."""
    total = 0.0
    for k in range(table.probability.shape[2]):
        successor = table.next_state[s, a, k]
        outcome_value = table.reward[s, a, k] + (table.gamma * values[successor] if successor >= 0 else 0.0)
        total += table.probability[s, a, k] * outcome_value
    return total


@kernel
def solve(table: LearntTable, values: Floats, q: Floats) -> None:
    """Write the optimal values `(D,)` and action values `(D, A)` of a table; `values` is where to begin."""
    n_states, n_actions, _ = table.next_state.shape
    for _ in range(SWEEPS):
        largest_change, largest_value = 0.0, 0.0
        for s in range(n_states):
            best_q = -np.inf
            for a in range(n_actions):
                q[s, a] = action_value(table, values, s, a)
                best_q = max(best_q, q[s, a])
            largest_change = max(largest_change, abs(best_q - values[s]))
            largest_value = max(largest_value, abs(best_q))
            values[s] = best_q
        if largest_change <= TOLERANCE * largest_value:
            break


@kernel
def collect(
    key: np.uint64,
    episodes: int,
    next_state: NDArray[np.int32],
    probability: Floats,
    starts: NDArray[np.int32],
    t_max: int,
    explore: float,
    q: Floats,
    counts: Ints,
) -> int:
    """Play episodes in a task and count the outcomes `(D, A, K)`; return the steps that it took.

    The first action of an episode, and later ones with probability `explore`, is the one tried least; the
    others are greedy by `q`, `(D, A)`.
    """
    steps = 0
    for e in range(episodes):
        episode_key = fold(key, e)
        s = starts[below(episode_key, 0, len(starts))]
        t = 0
        while s >= 0 and t < t_max:
            explores = t == 0 or uniform(episode_key, 2 * t + 1) < explore
            a = least_tried(counts, s) if explores else greedy(q, s)
            k, remaining = 0, uniform(episode_key, 2 * t + 2) - probability[0]
            while remaining >= 0.0 and k + 1 < len(probability):
                k += 1
                remaining -= probability[k]
            counts[s, a, k] += 1
            s = next_state[s, a, k]
            t += 1
        steps += t
    return steps


@kernel
def greedy(q: Floats, s: int) -> int:
    """Return the action with the largest value in a state; the first of several."""
    best = 0
    for a in range(1, q.shape[1]):
        if q[s, a] > q[s, best]:
            best = a
    return best


@kernel
def least_tried(counts: Ints, s: int) -> int:
    """Return the action that was tried least in a state; the first of several."""
    fewest_times, best_action = 0, -1
    for a in range(counts.shape[1]):
        times = 0
        for k in range(counts.shape[2]):
            times += counts[s, a, k]
        if best_action < 0 or times < fewest_times:
            fewest_times, best_action = times, a
    return best_action
