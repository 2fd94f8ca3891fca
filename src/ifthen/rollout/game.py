"""The play of many episodes side by side: lanes take jobs until there are none left.

Every pair of an individual and a reset seed is a job. Lanes take jobs in their order; a lane whose episode
has ended takes the next one, and when there are none left, the lanes that still run go on alone. One compiled
call chooses the actions of all lanes. An episode depends on its individual and its seed alone, so neither the
number of lanes nor the order of jobs can be seen in the results (of environments that begin the same way from
the same seed).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.jit import kernel
from ifthen.rollout.episodes import NULL, TERMINATED, TRUNCATED, Episodes
from ifthen.rollout.native import NativeLanes, is_native
from ifthen.rollout.trajectories import Log
from ifthen.rollout.vector_envs import SyncLanes, VectorLanes
from ifthen.tasks.env_task import EnvTask

GOES_ON = -1
Actions = Callable[[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]], None]
"""Writes actions `(m,)`, by individuals `(m,)` and points `(m, features)`."""


class Running(NamedTuple):
    """The episodes that run at present, one per lane."""

    jobs: NDArray[np.int64]
    """`(m,)`: -1 in lanes that rest."""
    totals: NDArray[np.float64]
    """`(m,)`: the discounted returns so far."""
    weights: NDArray[np.float64]
    """`(m,)`: what the next reward counts, γ^t."""
    steps: NDArray[np.int64]
    """`(m,)`."""

    def take(self, lanes: NDArray[np.int64]) -> Running:
        """Return these lanes alone."""
        return Running(self.jobs[lanes], self.totals[lanes], self.weights[lanes], self.steps[lanes])


_lanes: weakref.WeakKeyDictionary[EnvTask, SyncLanes | NativeLanes] = weakref.WeakKeyDictionary()


def lanes_of(task: EnvTask) -> SyncLanes | NativeLanes:
    """Return a task's lanes: those of earlier plays, as environments take time to make."""
    if task not in _lanes:
        native = task.player == "native" or (task.player != "sync" and is_native(task))
        lanes = NativeLanes(task) if native else SyncLanes(task)
        weakref.finalize(task, lanes.close)
        _lanes[task] = lanes
    return _lanes[task]


def drop_lanes(task: EnvTask) -> None:
    """Forget a task's lanes, whose environments may be in any state after an error."""
    lanes = _lanes.pop(task, None)
    if lanes is not None:
        lanes.close()


def play(
    task: EnvTask,
    individuals: NDArray[np.int64],
    seeds: NDArray[np.int64],
    choose: Actions,
    log: Log | None = None,
) -> Episodes:
    """Play one episode per pair of an individual and a reset seed, in this process; all arrays are `(m,)`.

    Args:
        task: the task.
        individuals: `(m,)`.
        seeds: `(m,)`.
        choose: writes the actions of all lanes.
        log: gets every step, where it is given.
    """
    m = len(seeds)
    found = Episodes(np.zeros(m), np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int8))
    if m:
        try:
            game = Game(task, lanes_of(task), individuals, seeds, log)
            while game.has_lanes:
                game.step(choose, found)
        except BaseException:
            drop_lanes(task)  # which may be in the middle of anything
            raise
    return found


class Game:
    """Lanes with the jobs that run in them.

    Args:
        task: the task.
        lanes: its lanes.
        individuals: `(m,)`.
        seeds: `(m,)`.
        log: gets every step, where it is given.
    """

    def __init__(
        self,
        task: EnvTask,
        lanes: VectorLanes,
        individuals: NDArray[np.int64],
        seeds: NDArray[np.int64],
        log: Log | None,
    ) -> None:
        self._task, self._lanes, self._log = task, lanes, log
        self._individuals, self._seeds = individuals, seeds
        n = self._given = min(lanes.limit, len(seeds))
        lanes.open(n, seeds)
        self._running = Running(np.arange(n), np.zeros(n), np.ones(n), np.zeros(n, dtype=np.int64))
        self._points = np.empty((n, len(task.features)))
        self._begin(np.arange(n))

    @property
    def has_lanes(self) -> bool:
        """Whether any episode still runs."""
        return len(self._running.jobs) > 0

    def step(self, choose: Actions, found: Episodes) -> None:
        """Take a step in all lanes, write down the episodes that end, and begin others in their place."""
        running, before = self._running, self._points
        actions = np.empty(len(before), dtype=np.int64)
        choose(self._individuals[running.jobs], before, actions)
        actions[running.jobs < 0] = -1
        self._points, rewards, terminated, truncated = self._lanes.step(actions)
        endings = np.empty(len(before), dtype=np.int8)
        task = self._task
        bad = settle(
            self._points, rewards, terminated, truncated, actions, task.gamma, task.t_max, running, endings
        )
        if bad >= 0:
            self._refuse(bad, rewards[bad])
        if self._log is not None:
            self._log.add(running.jobs, before, actions, rewards)
        ended = np.flatnonzero(endings != GOES_ON)
        if len(ended):
            stuck = ended[endings[ended] == NULL]
            self._points[stuck] = before[stuck]  # lanes that rest may show anything
            self._finish(ended, endings[ended], found)

    def _finish(self, ended: NDArray[np.int64], endings: NDArray[np.int8], found: Episodes) -> None:
        """Write down episodes, begin others in their lanes, and leave lanes behind when jobs run out."""
        running = self._running
        done = running.jobs[ended]
        found.returns[done], found.steps[done] = running.totals[ended], running.steps[ended]
        found.endings[done] = endings
        if self._log is not None:
            self._log.end(done, self._points[ended])
        more = min(len(ended), len(self._seeds) - self._given)
        begun, free = ended[:more], ended[more:]
        running.jobs[begun] = np.arange(self._given, self._given + more)
        running.jobs[free] = -1
        self._given += more
        if len(begun):
            self._begin(begun)
        if len(free):
            self._lanes.rest(free)
            busy = np.flatnonzero(running.jobs >= 0)
            if 2 * len(busy) <= len(running.jobs):
                self._keep(busy)

    def _begin(self, lanes: NDArray[np.int64]) -> None:
        """Begin the episodes of the jobs that lanes have been given."""
        running = self._running
        running.totals[lanes], running.weights[lanes], running.steps[lanes] = 0.0, 1.0, 0
        self._points[lanes] = self._lanes.start(lanes, self._seeds[running.jobs[lanes]])
        for lane in lanes[~np.isfinite(self._points[lanes]).all(axis=1)]:
            self._refuse(lane, 0.0)

    def _keep(self, busy: NDArray[np.int64]) -> None:
        """Go on with some lanes alone."""
        if len(busy):
            self._lanes.keep(busy)
        self._running, self._points = self._running.take(busy), self._points[busy]

    def _refuse(self, lane: int, reward: float) -> None:
        """Raise for a number that is not finite."""
        step, seed = self._running.steps[lane], self._seeds[self._running.jobs[lane]]
        where = f" at step {step} of the episode with reset seed {seed}"
        self._task.check_points(self._points[lane : lane + 1], where)
        raise TaskError(
            f"{self._task.name} gave the reward {reward}{where}; returns need finite numbers. "
            "Mend the environment, or wrap it so that it gives some."
        )


@kernel
def settle(
    points: NDArray[np.float64],
    rewards: NDArray[np.float64],
    terminated: NDArray[np.bool_],
    truncated: NDArray[np.bool_],
    actions: NDArray[np.int64],
    gamma: float,
    t_max: int,
    running: Running,
    endings: NDArray[np.int8],
) -> int:
    """Add up a step of all lanes, write which end, and how; returns the first with a bad number, or -1."""
    for lane in range(len(actions)):
        endings[lane] = GOES_ON
        if running.jobs[lane] < 0:
            continue
        if actions[lane] < 0:
            endings[lane] = NULL
            continue
        running.totals[lane] += running.weights[lane] * rewards[lane]
        running.weights[lane] *= gamma
        running.steps[lane] += 1
        if not np.isfinite(rewards[lane]):
            return lane
        for d in range(points.shape[1]):
            if not np.isfinite(points[lane, d]):
                return lane
        if terminated[lane]:
            endings[lane] = TERMINATED
        elif truncated[lane] or running.steps[lane] >= t_max:
            endings[lane] = TRUNCATED
    return -1
