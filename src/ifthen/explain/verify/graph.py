"""Where a policy leads: its transitions as a graph, with the questions that are asked of it.

Nodes are the D decision states. An edge is a transition of positive probability that goes on; transitions
that end the episode are kept apart as good and bad endings. A state without a rule has no edges: the episode
stops there.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.verify.absorption import ending_chances
from ifthen.tasks.tabular import TabularTask

Mask = NDArray[np.bool_]
MOST_ELIMINATED = 1500  # states; more are solved as a sparse system, which is faster and rounds more


@dataclass(frozen=True, eq=False)
class Reach:
    """What can be reached from some states.

    Args:
        distance: the fewest steps to each state, `(D,)`, −1 where it cannot be reached.
        before: the state before each on a shortest path, `(D,)`, −1 at its beginning.
    """

    distance: NDArray[np.int64]
    before: NDArray[np.int64]

    @property
    def reached(self) -> Mask:
        """Which states can be reached, `(D,)`."""
        return self.distance >= 0

    def path(self, to: int) -> list[int]:
        """Return a shortest path of states that ends in `to`."""
        states = [to]
        while self.before[states[-1]] >= 0:
            states.append(int(self.before[states[-1]]))
        return states[::-1]

    def nearest(self, wanted: Mask) -> int:
        """Return the wanted state that is reached in the fewest steps, −1 where none can be."""
        steps = np.where(wanted & self.reached, self.distance, np.iinfo(np.int64).max)
        return int(steps.argmin()) if (wanted & self.reached).any() else -1


class PolicyGraph:
    """The transitions of a policy.

    Args:
        task: the task.
        table: the action in every decision state, `(D,)`, −1 for none.
        goal: the reward of the task's best ending, None where episodes never end.
        costly: the reward of a costly step, None where there are none.
    """

    def __init__(
        self, task: TabularTask, table: NDArray[np.integer], goal: float | None, costly: float | None = None
    ) -> None:
        model = task.dynamics
        self.size, self.starts, self.probability = len(table), np.unique(model.starts), model.probability
        self.acts = np.asarray(table) >= 0
        states = np.flatnonzero(self.acts)
        self.next_state = np.full((self.size, len(model.probability)), -2, dtype=np.int64)
        self.next_state[states] = model.next_state[states, table[states]]
        reward = np.zeros(self.next_state.shape)
        reward[states] = model.reward[states, table[states]]
        ends = self.next_state == -1
        best = reward == goal if goal is not None else np.zeros_like(ends)
        self.goal_outcomes, self.bad_outcomes = ends & best, ends & ~best
        self.costly_outcomes = (
            np.zeros_like(ends) if costly is None else (reward == costly) & ~self.bad_outcomes
        )
        self.goal_ending, self.bad_ending = self.goal_outcomes.any(axis=1), self.bad_outcomes.any(axis=1)

    @cached_property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """From and to of every edge, each once."""
        source, outcome = np.nonzero(self.next_state >= 0)
        pairs = np.unique(source * self.size + self.next_state[source, outcome])
        return pairs // self.size, pairs % self.size

    def forward(self, states: NDArray[np.integer]) -> Reach:
        """Return what can be reached from states given by number."""
        source, target = self.edges
        return _search(self.size, source, target, states)

    def backward(self, wanted: Mask) -> Mask:
        """Return the states from which a wanted one can be reached, the wanted ones included."""
        source, target = self.edges
        order = np.argsort(target, kind="stable")
        return _search(self.size, target[order], source[order], np.flatnonzero(wanted)).reached

    def chances(self, outcomes: Mask, possible: Mask) -> NDArray[np.float64]:
        """Return the probability of ever taking one of `outcomes` `(D, K)`, by state.

        Args:
            outcomes: outcomes of the states' actions.
            possible: the states from which that can happen, `(D,)`; elsewhere the probability is 0.
        """
        chance = np.zeros(self.size)
        inside = np.flatnonzero(possible)
        if not len(inside):
            return chance
        number = np.full(self.size + 2, -1)  # the last two are what −1 and −2 point to
        number[inside] = np.arange(len(inside))
        after = np.where(outcomes[inside], -1, number[self.next_state[inside]])
        row, outcome = np.nonzero(after >= 0)
        wanted = outcomes[inside] @ self.probability
        other = (~outcomes[inside] & (after < 0)) @ self.probability
        shape = (len(inside), len(inside))
        entries = (self.probability[outcome], (row, after[row, outcome]))
        solved = _solved(entries, shape, wanted) if len(inside) > MOST_ELIMINATED else None
        if solved is None or not np.isfinite(solved).all():
            steps = np.zeros(shape)
            np.add.at(steps, entries[1], entries[0])
            solved = ending_chances(steps, wanted, other)
        chance[inside] = np.clip(solved, 0.0, 1.0)
        return chance

    def closed_classes(self) -> list[NDArray[np.int64]]:
        """Return the sets of states that are never left again: no ending, no state without a rule."""
        from scipy.sparse import coo_array  # type: ignore[import-untyped]  # SciPy ships no types
        from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]  # no types

        source, target = self.edges
        matrix = coo_array((np.ones(len(source)), (source, target)), shape=(self.size, self.size))
        number, label = connected_components(matrix, directed=True, connection="strong")
        closed = np.ones(number, dtype=np.bool_)
        closed[label[source[label[source] != label[target]]]] = False
        closed[label[~self.acts | self.goal_ending | self.bad_ending]] = False
        return [np.flatnonzero(label == c) for c in np.flatnonzero(closed)]

    def cycle(self, state: int) -> list[int]:
        """Return a shortest way from a state in a cycle back to itself: it begins and ends with it."""
        source, target = self.edges
        reach = self.forward(target[source == state])
        return [state, *reach.path(state)]


def _solved(entries: Any, shape: tuple[int, int], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the solution of x = P x + wanted; not finite where rounding makes P seem closed."""
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import spsolve  # type: ignore[import-untyped]  # SciPy ships no types

    with warnings.catch_warnings(action="ignore"):
        return np.atleast_1d(
            spsolve(eye_array(*shape, format="csc") - csc_array(entries, shape=shape), wanted)
        )


def _search(
    size: int, source: NDArray[np.int64], target: NDArray[np.int64], states: NDArray[np.integer]
) -> Reach:
    """Return breadth-first what edges, ordered by source, lead to from some states."""
    first = np.searchsorted(source, np.arange(size + 1))
    distance, before = np.full(size, -1), np.full(size, -1)
    frontier = np.unique(states)
    distance[frontier] = 0
    steps = 0
    while len(frontier):
        steps += 1
        degree = first[frontier + 1] - first[frontier]
        offset = np.repeat(first[frontier] - np.concatenate([[0], np.cumsum(degree)[:-1]]), degree)
        edge = np.arange(degree.sum()) + offset
        new = edge[distance[target[edge]] < 0]
        frontier, at = np.unique(target[new], return_index=True)
        distance[frontier], before[frontier] = steps, source[new[at]]
    return Reach(distance, before)


def sure_states(task: TabularTask, goal: float | None, costly: float | None = None) -> Mask:
    """Return the decision states from which some policy is sure to reach the goal, without a costly step.

    The largest set of states that can all reach the goal by actions that neither end badly, cost that much,
    nor leave the set.
    """
    after, reward = task.dynamics.next_state, task.dynamics.reward
    if goal is None:
        return np.zeros(len(after), dtype=np.bool_)
    reaches_goal = (after < 0) & (reward == goal)
    allowed = np.ones_like(reaches_goal) if costly is None else reward != costly
    sure = np.ones(len(after), dtype=np.bool_)
    while True:
        stays = np.all(np.where(after < 0, reaches_goal, sure[after]) & allowed, axis=2)
        found = np.zeros_like(sure)
        more = np.any(stays & np.any(reaches_goal, axis=2), axis=1)
        while (found != more).any():
            found = more
            leads = np.any(np.where(after < 0, reaches_goal, found[after]), axis=2)
            more = np.any(stays & leads, axis=1)
        if (found == sure).all():
            return found
        sure = found


def harmless_states(task: TabularTask, goal: float | None, costly: float | None) -> Mask:
    """Return the decision states from which some policy never meets a bad ending or a costly step.

    The largest set of states that each have an action which does neither and does not leave the set.
    """
    after, reward = task.dynamics.next_state, task.dynamics.reward
    allowed = (reward != costly) & ((after >= 0) | (reward == goal))
    kept, found = np.zeros(len(after), dtype=np.bool_), np.ones(len(after), dtype=np.bool_)
    while (kept != found).any():
        kept = found
        found = np.any(np.all(allowed & ((after < 0) | kept[after]), axis=2), axis=1)
    return found
