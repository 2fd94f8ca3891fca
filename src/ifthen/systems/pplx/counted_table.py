"""A table counted from remembered steps, where an environment shows few distinct observations.

A network blurs what counts give nearly exactly. Each distinct observation is a state. Steps are counted by
state, action and what followed, with the mean reward. What a list is worth on these counts takes no episode
and has no noise. That holds as long as an observation tells all that matters: `CountModel.promise` is
compared with played returns.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.term import with_terms
from ifthen.systems.pplx.drafts import Draft, actions_at
from ifthen.systems.pplx.learnt_table import LONGEST_HORIZON, LearntTable
from ifthen.systems.pplx.memory import TERMINAL, Memory, longest_cut
from ifthen.systems.pplx.table_lists import Rules
from ifthen.systems.pplx.table_search import SolvedTable, solved_table
from ifthen.tasks.gym_task import EnvTask

MOST_OBSERVATIONS = 1000
"""With more distinct observations than this, nothing is counted."""
MOST_OUTCOMES = 4_000_000
"""Nothing is counted if states, actions and outcomes multiply to more than this."""
NEGLIGIBLE = 1e-12
"""Episodes that go on with less than this probability are left out of an expected return."""


class Lookup(NamedTuple):
    """Action values of observations, by their bytes. It can be sent to other processes."""

    rows: dict[bytes, int]
    q: NDArray[np.float32]
    """`(D, A)`."""

    def at(self, points: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return the values at points `(m, features)`; zeros where an observation is new: `(m, A)`."""
        points = points.astype(np.float32) + np.float32(0)
        rows = np.array([self.rows.get(point.tobytes(), -1) for point in points], np.int64)
        values: NDArray[np.float32] = np.where(rows[:, None] >= 0, self.q[rows], np.float32(0))
        return values


class Outcomes(NamedTuple):
    """What followed each action in each state."""

    points: NDArray[np.float32]
    """`(D, features)`: the distinct observations."""
    next_state: NDArray[np.int32]
    """`(D, A, K)`: the state that follows; −1 where the episode ends."""
    reward: Floats
    """`(D, A, K)`: the mean reward."""
    times: Ints
    """`(D, A, K)`: how often each outcome was counted."""
    starts: Floats
    """`(D,)`: the share of the episodes that started in each state."""


class CountModel:
    """What was counted in an environment.

    Args:
        task: the environment.
        outcomes: the counts.
        given_terms: `(given, features)`: terms that rules may compare, besides features.
        longest_episode: the steps of the longest episode that was cut, infinity if none was. An environment
            may cut episodes long before the task's `t_max`.
    """

    def __init__(
        self, task: EnvTask, outcomes: Outcomes, given_terms: Floats, longest_episode: float
    ) -> None:
        self.task, self.outcomes, self.terms = task, outcomes, given_terms
        self.t_max = int(min(task.t_max, longest_episode))
        self.points = np.clip(outcomes.points.astype(np.float64), *task.ranges)
        self.columns = with_terms(given_terms, self.points)
        self.column_values = [np.unique(column) for column in self.columns.T]
        self.tries = outcomes.times.sum(axis=2)

    @cached_property
    def solved(self) -> SolvedTable:
        """The table that lists are searched on: an action that was never tried gets the lowest return."""
        rewards = self.outcomes.reward[self.outcomes.times > 0]
        return solved_table(self._table(min(0.0, float(rewards.min())) * self.horizon))

    @cached_property
    def optimistic(self) -> SolvedTable:
        """The same table, on which an action that was never tried is worth more than any other."""
        rewards = self.outcomes.reward[self.outcomes.times > 0]
        return solved_table(self._table((float(np.abs(rewards).max()) or 1.0) * self.horizon))

    @property
    def gamma(self) -> float:
        """The discount factor of the table: values look as far ahead as an episode can last."""
        return min(self.task.gamma, LONGEST_HORIZON, max(0.9, 1 - 1 / self.t_max))

    @property
    def horizon(self) -> float:
        """The number of steps that values look ahead."""
        return 1 / (1 - self.gamma)

    def _table(self, untried_value: float) -> LearntTable:
        """Return the counts as a table, given what an action is worth that was never tried."""
        _, next_state, reward, times, starts = self.outcomes
        tries = self.tries[..., None]
        shares = np.where(tries > 0, times / np.maximum(tries, 1), np.arange(times.shape[2]) == 0)
        rewards = np.where(tries > 0, reward, untried_value)
        codes = [
            np.searchsorted(values, column)
            for values, column in zip(self.column_values, self.columns.T, strict=True)
        ]
        lows = np.zeros(len(codes), np.int64)
        highs = np.array([len(values) - 1 for values in self.column_values])
        points = np.ascontiguousarray(np.stack(codes, axis=1))
        mean_reward = (shares * rewards).sum(axis=2)
        return LearntTable(next_state, rewards, shares, mean_reward, starts, points, lows, highs, self.gamma)

    def lookup(self, solved: SolvedTable) -> Lookup:
        """Return the action values of a table of these counts, for playing."""
        points = self.outcomes.points
        return Lookup({point.tobytes(): i for i, point in enumerate(points)}, solved.q.astype(np.float32))

    def promise(self, policy: Ints) -> float:
        """Return the expected return of a policy `(D,)` on the counts."""
        return float(expected_return(self.solved.table, policy, self.t_max, self.task.gamma))

    def worth(self, drafts: list[Draft]) -> Floats:
        """Return the expected return of each list on the counts."""
        return np.array([self.promise(actions_at(draft, self.points).astype(np.int64)) for draft in drafts])

    def draft(self, rules: Rules) -> Draft:
        """Return a list over states as a draft, whose thresholds lie between the numbers seen."""
        lows = np.full(rules.lows.shape, -np.inf)
        highs = -lows
        for c, values in enumerate(self.column_values):
            thresholds = np.concatenate([[-np.inf], (values[1:] + values[:-1]) / 2, [np.inf]])
            lows[:, c], highs[:, c] = thresholds[rules.lows[:, c]], thresholds[rules.highs[:, c] + 1]
        return Draft(lows, highs, rules.actions.astype(np.int32), self.terms)


def count_model(
    task: EnvTask, memory: Memory, given_terms: Floats, max_observations: float
) -> CountModel | None:
    """Return what remembered steps count up to; None where the observations are too many, or not whole.

    Args:
        task: the environment.
        memory: the steps.
        given_terms: `(given, features)`.
        max_observations: the most observations that there may be.
    """
    is_state = memory.moves != TERMINAL
    numbers = distinct(memory.points[is_state], int(min(max_observations, MOST_OBSERVATIONS)))
    if numbers is None:
        return None
    states = np.full(len(is_state), -1)
    states[is_state] = numbers
    outcomes = outcomes_of(memory, states, task.n_actions)
    if outcomes is None:
        return None
    return CountModel(task, outcomes, given_terms, longest_cut(memory.moves))


def distinct(points: NDArray[np.float32], max_distinct: int) -> Ints | None:
    """Return a number for each of points `(n, features)`, equal ones for equal points; None for too many.

    Too many are more than `max_distinct`, and points that are not whole numbers.
    """
    if not len(points) or not (points == np.rint(points)).all():
        return None
    numbers = np.zeros(len(points), np.int64)
    for column in points.T:
        if (column != column[0]).any():
            codes = np.unique(column, return_inverse=True)[1]
            unique, numbers = np.unique(numbers * (codes.max() + 1) + codes, return_inverse=True)
            if len(unique) > max_distinct:
                return None
    return numbers


def outcomes_of(memory: Memory, states: Ints, n_actions: int) -> Outcomes | None:
    """Return how often each outcome followed each action; None where they are too many.

    Args:
        memory: N remembered steps.
        states: `(N,)`: the state of each step; −1 behind an episode that terminated.
        n_actions: how many there are.
    """
    n_states, steps = int(states.max()) + 1, np.flatnonzero(memory.moves >= 0)
    pairs = states[steps] * n_actions + memory.moves[steps]  # a state and an action, as one number
    outcomes, outcome_of_step, times = np.unique(
        pairs * (n_states + 1) + states[steps + 1] + 1, return_inverse=True, return_counts=True
    )
    rewards = np.bincount(outcome_of_step, memory.rewards[steps].astype(np.float64)) / times
    pair, successor = np.divmod(outcomes, n_states + 1)
    _, first, n_outcomes = np.unique(pair, return_index=True, return_counts=True)
    shape = n_states * n_actions, int(n_outcomes.max())
    if shape[0] * shape[1] > MOST_OUTCOMES:
        return None
    slot = np.arange(len(outcomes)) - np.repeat(first, n_outcomes)
    next_state, reward, counts = np.full(shape, -1, np.int32), np.zeros(shape), np.zeros(shape, np.int64)
    next_state[pair, slot], reward[pair, slot], counts[pair, slot] = successor - 1, rewards, times
    _, first_row = np.unique(states, return_index=True)
    starts = states[np.append(0, np.flatnonzero(memory.moves < 0)[:-1] + 1)]
    return Outcomes(
        memory.points[first_row[-n_states:]] + np.float32(0),
        next_state.reshape(n_states, n_actions, -1),
        reward.reshape(n_states, n_actions, -1),
        counts.reshape(n_states, n_actions, -1),
        np.bincount(starts, minlength=n_states) / len(starts),
    )


@kernel
def expected_return(table: LearntTable, policy: Ints, t_max: int, gamma: float) -> float:
    """Return the mean return of a policy `(D,)` in episodes of at most t_max steps, discounted by gamma."""
    mass, next_mass = table.starts.copy(), np.zeros(len(policy))
    total, factor = 0.0, 1.0
    for _ in range(t_max):
        next_mass[:] = 0.0
        remaining = 0.0
        for s in range(len(policy)):
            if mass[s] > 0.0:
                total += factor * mass[s] * table.mean_reward[s, policy[s]]
                for k in range(table.probability.shape[2]):
                    successor = table.next_state[s, policy[s], k]
                    if successor >= 0:
                        moved = mass[s] * table.probability[s, policy[s], k]
                        next_mass[successor] += moved
                        remaining += moved
        mass[:] = next_mass
        factor *= gamma
        if remaining < NEGLIGIBLE:
            break
    return total
