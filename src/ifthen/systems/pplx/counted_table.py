"""A table counted from remembered steps, where an environment shows few distinct observations.

A network blurs what counts give nearly exactly. Each distinct observation is a state. Steps are counted by
state, action and what followed, with the mean reward. What a list is worth on these counts takes no episode
and has no noise. That holds as long as an observation tells all that matters: `Counted.promise` is compared
with played returns.
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
from ifthen.systems.pplx.q_network import TERMINAL, Memory
from ifthen.systems.pplx.table_lists import Rules
from ifthen.systems.pplx.table_search import Known, known_of
from ifthen.tasks.gym_task import EnvTask

MOST_OBSERVATIONS = 1000
"""With more distinct observations than this, nothing is counted."""
MOST_OUTCOMES = 4_000_000
"""Nothing is counted if states, actions and outcomes multiply to more than this."""
NEGLIGIBLE = 1e-12
"""Episodes that go on with less than this probability are left out of an expected return."""


class Lookup(NamedTuple):
    """Action values of observations, by their bytes. It can be sent to other processes."""

    places: dict[bytes, int]
    q: NDArray[np.float32]
    """`(D, A)`."""

    def at(self, points: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return the values at points `(m, features)`; zeros where an observation is new: `(m, A)`."""
        rows = [self.places.get(row.tobytes(), -1) for row in points.astype(np.float32) + np.float32(0)]
        found = np.array(rows, np.int64)
        values: NDArray[np.float32] = np.where(found[:, None] >= 0, self.q[found], np.float32(0))
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


class Counted:
    """What was counted in an environment.

    Args:
        task: the environment.
        outcomes: the counts.
        given_terms: `(given, features)`: terms that rules may compare, besides features.
    """

    def __init__(self, task: EnvTask, outcomes: Outcomes, given_terms: Floats) -> None:
        self.task, self.outcomes, self.terms = task, outcomes, given_terms
        self.points = np.clip(outcomes.points.astype(np.float64), *task.ranges)
        self.columns = with_terms(given_terms, self.points)
        self.numbers = [np.unique(column) for column in self.columns.T]
        self.tried = outcomes.times.sum(axis=2)

    @cached_property
    def known(self) -> Known:
        """The table that lists are searched on: an action that was never tried gets the lowest return."""
        rewards = self.outcomes.reward[self.outcomes.times > 0]
        return known_of(self._table(min(0.0, float(rewards.min())) * self.horizon))

    @cached_property
    def optimistic(self) -> Known:
        """The same table, on which an action that was never tried is worth more than any other."""
        rewards = self.outcomes.reward[self.outcomes.times > 0]
        return known_of(self._table((float(np.abs(rewards).max()) or 1.0) * self.horizon))

    @property
    def gamma(self) -> float:
        """The discount factor of the table: values look as far ahead as an episode can last."""
        return min(self.task.gamma, LONGEST_HORIZON, max(0.9, 1 - 1 / self.task.t_max))

    @property
    def horizon(self) -> float:
        """The number of steps that values look ahead."""
        return 1 / (1 - self.gamma)

    def _table(self, untried: float) -> LearntTable:
        """Return the counts as a table, given what an action is worth that was never tried."""
        _, next_state, reward, times, starts = self.outcomes
        tried = self.tried[..., None]
        shares = np.where(tried > 0, times / np.maximum(tried, 1), np.arange(times.shape[2]) == 0)
        rewards = np.where(tried > 0, reward, untried)
        codes = [
            np.searchsorted(own, column) for own, column in zip(self.numbers, self.columns.T, strict=True)
        ]
        lows = np.zeros(len(codes), np.int64)
        highs = np.array([len(own) - 1 for own in self.numbers])
        points = np.ascontiguousarray(np.stack(codes, axis=1))
        mean = (shares * rewards).sum(axis=2)
        return LearntTable(next_state, rewards, shares, mean, starts, points, lows, highs, self.gamma)

    def lookup(self, known: Known) -> Lookup:
        """Return the action values of a table of these counts, for playing."""
        rows = self.outcomes.points
        return Lookup({row.tobytes(): i for i, row in enumerate(rows)}, known.q.astype(np.float32))

    def promise(self, policy: Ints) -> float:
        """Return the expected return of a policy `(D,)` on the counts."""
        table, task = self.known.table, self.task
        return float(expected_return(table, policy, task.t_max, task.gamma))

    def worth(self, drafts: list[Draft]) -> Floats:
        """Return the expected return of each list on the counts."""
        return np.array([self.promise(actions_at(draft, self.points).astype(np.int64)) for draft in drafts])

    def draft(self, rules: Rules) -> Draft:
        """Return a list over states as a draft, whose thresholds lie between the numbers seen."""
        lows = np.full(rules.lows.shape, -np.inf)
        highs = -lows
        for c, own in enumerate(self.numbers):
            between = np.concatenate([[-np.inf], (own[1:] + own[:-1]) / 2, [np.inf]])
            lows[:, c], highs[:, c] = between[rules.lows[:, c]], between[rules.highs[:, c] + 1]
        return Draft(lows, highs, rules.actions.astype(np.int32), self.terms)


def counted(task: EnvTask, memory: Memory, given_terms: Floats, most: float) -> Counted | None:
    """Return what remembered steps count up to; None where the observations are too many, or not whole.

    Args:
        task: the environment.
        memory: the steps.
        given_terms: `(given, features)`.
        most: the most observations that there may be.
    """
    here = memory.moves != TERMINAL
    states = distinct(memory.points[here], int(min(most, MOST_OBSERVATIONS)))
    if states is None:
        return None
    numbers = np.full(len(here), -1)
    numbers[here] = states
    outcomes = outcomes_of(memory, numbers, task.n_actions)
    return None if outcomes is None else Counted(task, outcomes, given_terms)


def distinct(points: NDArray[np.float32], most: int) -> Ints | None:
    """Return a number for each of points `(n, features)`, equal ones for equal points; None for too many.

    Too many are more than `most`, and points that are not whole numbers.
    """
    if not len(points) or not (points == np.rint(points)).all():
        return None
    numbers = np.zeros(len(points), np.int64)
    for column in points.T:
        if (column != column[0]).any():
            own = np.unique(column, return_inverse=True)[1]
            found, numbers = np.unique(numbers * (own.max() + 1) + own, return_inverse=True)
            if len(found) > most:
                return None
    return numbers


def outcomes_of(memory: Memory, numbers: Ints, actions: int) -> Outcomes | None:
    """Return how often each outcome followed each action; None where they are too many.

    Args:
        memory: N remembered steps.
        numbers: `(N,)`: the state of each step; −1 behind an episode that terminated.
        actions: how many there are.
    """
    states, taken = int(numbers.max()) + 1, np.flatnonzero(memory.moves >= 0)
    pairs = numbers[taken] * actions + memory.moves[taken]
    found, which, times = np.unique(
        pairs * (states + 1) + numbers[taken + 1] + 1, return_inverse=True, return_counts=True
    )
    rewards = np.bincount(which, memory.rewards[taken].astype(np.float64)) / times
    pair, after = np.divmod(found, states + 1)
    _, first, width = np.unique(pair, return_index=True, return_counts=True)
    shape = states * actions, int(width.max())
    if shape[0] * shape[1] > MOST_OUTCOMES:
        return None
    slot = np.arange(len(found)) - np.repeat(first, width)
    following, reward, counts = np.full(shape, -1, np.int32), np.zeros(shape), np.zeros(shape, np.int64)
    following[pair, slot], reward[pair, slot], counts[pair, slot] = after - 1, rewards, times
    _, place = np.unique(numbers, return_index=True)
    begins = numbers[np.append(0, np.flatnonzero(memory.moves < 0)[:-1] + 1)]
    return Outcomes(
        memory.points[place[-states:]] + np.float32(0),
        following.reshape(states, actions, -1),
        reward.reshape(states, actions, -1),
        counts.reshape(states, actions, -1),
        np.bincount(begins, minlength=states) / len(begins),
    )


@kernel
def expected_return(table: LearntTable, policy: Ints, t_max: int, gamma: float) -> float:
    """Return the mean return of a policy `(D,)` in episodes of at most t_max steps, discounted by gamma."""
    here, after = table.starts.copy(), np.zeros(len(policy))
    total, factor = 0.0, 1.0
    for _ in range(t_max):
        after[:] = 0.0
        left = 0.0
        for s in range(len(policy)):
            if here[s] > 0.0:
                total += factor * here[s] * table.mean_reward[s, policy[s]]
                for k in range(table.probability.shape[2]):
                    following = table.next_state[s, policy[s], k]
                    if following >= 0:
                        share = here[s] * table.probability[s, policy[s], k]
                        after[following] += share
                        left += share
        here[:] = after
        factor *= gamma
        if left < NEGLIGIBLE:
            break
    return total
