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

    def put(self, rulesets: Ints, seeds: Ints, got: Episodes) -> None:
        """Write what some rulesets got from some seeds."""
        for name, column in got._asdict().items():
            getattr(self, name)[np.ix_(rulesets, seeds)] = column

    def reshaped(self, *shape: int) -> Episodes:
        """Return the same episodes in arrays of another shape."""
        return Episodes._make(column.reshape(shape) for column in self)

    def some(self, seeds: slice) -> Episodes:
        """Return what was got from some of the seeds."""
        return Episodes._make(column[:, seeds] for column in self)


def joined(parts: list[Episodes]) -> Episodes:
    """Return episodes `(m,)` that were played in parts as one."""
    return Episodes(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


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
        self, jobs: Ints, points: Floats, actions: Ints, rewards: Floats, true: Floats | None = None
    ) -> None:
        """Write down a step of all lanes that took one, each with its episode's number.

        Args:
            jobs: `(m,)`.
            points: `(m, features)`, read before the step.
            actions: `(m,)`; −1 in lanes that rest.
            rewards: `(m,)`.
            true: `(m, features)`: what the environment shows before the step; None where that is read.
        """
        taken, columns = actions >= 0, [jobs, points, actions, rewards]
        self._steps.append(tuple(own[taken] for own in [*columns, *([] if true is None else [true])]))

    def end(self, jobs: Ints, points: Floats, true: Floats | None = None) -> None:
        """Write down the last observation of episodes: what is read, and what the environment shows."""
        self._lasts[jobs] = points
        self._true_lasts[jobs] = points if true is None else true

    def trajectories(self, found: Episodes) -> list[Trajectory]:
        """Return the episodes one by one."""
        jobs, *columns = (np.concatenate(parts) for parts in zip(*self._steps, strict=True))
        order = np.argsort(jobs, kind="stable")
        edges = np.cumsum(found.steps)[:-1]
        points, actions, rewards, *true = (np.split(array[order], edges) for array in columns)
        parts = zip(points, actions, rewards, found.endings.tolist(), self._lasts, strict=True)
        played = [Trajectory(*each) for each in parts]
        if not true:
            return played
        shown = [np.vstack(both) for both in zip(true[0], self._true_lasts, strict=True)]
        return [own._replace(undisturbed=each) for own, each in zip(played, shown, strict=True)]


def checked_actions(given: Any, n: int, n_actions: int) -> Ints:
    """Return the actions of a policy at n points, or raise TaskError where they are not actions."""
    actions = np.asarray(given)
    whole = actions.shape == (n,) and actions.dtype.kind in "iu"
    if not whole or (n and (actions.min() < -1 or actions.max() >= n_actions)):
        raise TaskError(
            f"a policy must return {n} whole numbers from -1 (no action) to {n_actions - 1}, one per point, "
            f"not {actions!r}."
        )
    return actions.astype(np.int64)
