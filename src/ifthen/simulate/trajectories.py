"""Episodes after they were played: what many of them got, and single ones step by step.

An episode is a pure function of its rules and its start (a reset seed, or an initial state and its noise), so
every ruleset of a population can be compared on the same starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.rules.arrays import Floats, Ints

TERMINATED, TRUNCATED, NO_RULE = 0, 1, 2
"""The endings of an episode."""
Actions = Callable[[Ints, Floats, Ints], None]
"""Writes actions `(m,)`, given rulesets or episodes `(m,)` and points `(m, features)`."""


class Episodes(NamedTuple):
    """What n rulesets got from k reset seeds, each `(n, k)`."""

    returns: Floats
    """Σ γ^t r_t, up to where the episode ended."""
    steps: Ints
    """Steps taken."""
    endings: NDArray[np.int8]
    """TERMINATED, TRUNCATED, or NO_RULE where no rule matched."""

    def put(self, rulesets: Ints, seeds: Ints, episodes: Episodes) -> None:
        """Write what some rulesets got from some seeds."""
        for name, column in episodes._asdict().items():
            getattr(self, name)[np.ix_(rulesets, seeds)] = column

    def reshaped(self, *shape: int) -> Episodes:
        """Return the same episodes in arrays of another shape."""
        return Episodes._make(column.reshape(shape) for column in self)

    def of_seeds(self, seeds: slice) -> Episodes:
        """Return what was got from some of the seeds."""
        return Episodes._make(column[:, seeds] for column in self)


def joined(batches: list[Episodes]) -> Episodes:
    """Return episodes `(m,)` that were played in parts as one."""
    return Episodes(*(np.concatenate(arrays) for arrays in zip(*batches, strict=True)))


class Trajectory(NamedTuple):
    """An episode of T steps."""

    points: Floats
    """`(T, features)`: the feature vector that is read before each step, not clipped."""
    actions: Ints
    """`(T,)`."""
    rewards: Floats
    """`(T,)`."""
    ending: int
    """TERMINATED, TRUNCATED, or NO_RULE where no rule matched the last point."""
    last: Floats
    """`(features,)`: the feature vector that is read at the end."""
    states: Ints | None = None
    """`(T + 1,)`: the numbers of the states, on tables."""
    outcomes: Ints | None = None
    """`(T,)`: the outcome drawn at each step, on tables."""
    undisturbed: Floats | None = None
    """`(T + 1, features)`: what the environment shows; None without disturbances."""

    def discounted(self, gamma: float) -> float:
        """Return the sum of the rewards, each discounted by its step."""
        return float(self.rewards @ gamma ** np.arange(len(self.rewards)))

    @property
    def asked(self) -> Floats:
        """The points at which an action was asked for, `(n, features)`."""
        return np.vstack([self.points, self.last]) if self.ending == NO_RULE else self.points

    @property
    def true_points(self) -> Floats:
        """What the environment shows before each step and at the end, `(T + 1, features)`.

        Where disturbances stand between environment and policy, the policy reads something else: `points`.
        """
        return np.vstack([self.points, self.last]) if self.undisturbed is None else self.undisturbed


class Log:
    """Writes down episodes that are played side by side.

    Args:
        episodes: how many there are.
        features: how many numbers are observed.
    """

    def __init__(self, episodes: int, features: int) -> None:
        self._lasts, self._true_lasts = np.zeros((2, episodes, features))
        self._steps: list[tuple[NDArray[Any], ...]] = []

    def add(
        self, jobs: Ints, points: Floats, actions: Ints, rewards: Floats, true_points: Floats | None = None
    ) -> None:
        """Write down a step of all lanes that took one, each with its episode's number.

        Args:
            jobs: `(m,)`.
            points: `(m, features)`, read before the step.
            actions: `(m,)`; −1 in lanes that rest.
            rewards: `(m,)`.
            true_points: `(m, features)`: what the environment shows before the step; None where that is read.
        """
        stepped, columns = actions >= 0, [jobs, points, actions, rewards]
        self._steps.append(
            tuple(column[stepped] for column in [*columns, *([] if true_points is None else [true_points])])
        )

    def end(self, jobs: Ints, points: Floats, true_points: Floats | None = None) -> None:
        """Write down the last observation of episodes: what is read, and what the environment shows."""
        self._lasts[jobs] = points
        self._true_lasts[jobs] = points if true_points is None else true_points

    def trajectories(self, episodes: Episodes) -> list[Trajectory]:
        """Return the episodes one by one."""
        jobs, *columns = (np.concatenate(arrays) for arrays in zip(*self._steps, strict=True))
        order = np.argsort(jobs, kind="stable")
        edges = np.cumsum(episodes.steps)[:-1]
        points, actions, rewards, *true_points = (np.split(array[order], edges) for array in columns)
        rows = zip(points, actions, rewards, episodes.endings.tolist(), self._lasts, strict=True)
        played = [Trajectory(*row) for row in rows]
        if not true_points:
            return played
        shown = [np.vstack(pair) for pair in zip(true_points[0], self._true_lasts, strict=True)]
        return [
            trajectory._replace(undisturbed=points) for trajectory, points in zip(played, shown, strict=True)
        ]


def checked_actions(answer: Any, n: int, n_actions: int) -> Ints:
    """Return the actions of a policy at n points, or raise TaskError where they are not actions."""
    actions = np.asarray(answer)
    are_integers = actions.shape == (n,) and actions.dtype.kind in "iu"
    if not are_integers or (n and (actions.min() < -1 or actions.max() >= n_actions)):
        raise TaskError(
            f"a policy must return {n} whole numbers from -1 (no action) to {n_actions - 1}, one per point, "
            f"not {actions!r}."
        )
    return actions.astype(np.int64)
