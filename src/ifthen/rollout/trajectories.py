"""What happens in episodes, step by step, written down while they are played side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.rollout.episodes import Episodes


class Trajectory(NamedTuple):
    """An episode of T steps."""

    points: NDArray[np.float64]
    """`(T, features)`: what was observed before each step, as the environment gives it, not clipped."""
    actions: NDArray[np.int64]
    """`(T,)`."""
    rewards: NDArray[np.float64]
    """`(T,)`."""
    ending: int
    """TERMINATED, TRUNCATED, or NULL where no rule matched the last point."""
    last: NDArray[np.float64]
    """`(features,)`: what was observed at the end."""


class Log:
    """What happened in episodes, step by step.

    Args:
        episodes: how many there are.
        features: how many numbers are observed.
    """

    def __init__(self, episodes: int, features: int) -> None:
        self._lasts = np.zeros((episodes, features))
        self._steps: list[
            tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]
        ] = []

    def add(
        self,
        jobs: NDArray[np.int64],
        points: NDArray[np.float64],
        actions: NDArray[np.int64],
        rewards: NDArray[np.float64],
    ) -> None:
        """Write down a step of all lanes, each with its job, but for those that rest."""
        taken = actions >= 0
        self._steps.append((jobs[taken], points[taken], actions[taken], rewards[taken]))

    def end(self, jobs: NDArray[np.int64], points: NDArray[np.float64]) -> None:
        """Write down what was observed last."""
        self._lasts[jobs] = points

    def trajectories(self, found: Episodes) -> list[Trajectory]:
        """Return the episodes one by one."""
        jobs, points, actions, rewards = (np.concatenate(parts) for parts in zip(*self._steps, strict=True))
        order = np.argsort(jobs, kind="stable")
        edges = np.cumsum(found.steps)[:-1]
        parts = (np.split(array[order], edges) for array in (points, actions, rewards))
        return [
            Trajectory(seen, taken, paid, int(ending), last)
            for seen, taken, paid, ending, last in zip(*parts, found.endings, self._lasts, strict=True)
        ]
