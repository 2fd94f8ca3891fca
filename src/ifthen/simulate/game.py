"""The play of many episodes side by side: lanes take jobs until there are none left.

Every pair of a ruleset and a reset seed is a job. Lanes take jobs in their order; a lane whose episode
has ended takes the next one, and when there are none left, the lanes that still run go on alone. One compiled
call chooses the actions of all lanes. An episode depends on its ruleset and its seed alone, so neither the
number of lanes nor the order of jobs can be seen in the results (of environments that begin the same way from
the same seed).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.simulate.env_simulator import EnvSimulator
from ifthen.simulate.lanes import Lanes
from ifthen.simulate.trajectories import NO_RULE, TERMINATED, TRUNCATED, Actions, Episodes, Log

GOES_ON = -1


class Running(NamedTuple):
    """The running episodes, one per lane."""

    jobs: Ints
    """`(m,)`: -1 in lanes that rest."""
    totals: Floats
    """`(m,)`: the discounted returns so far."""
    weights: Floats
    """`(m,)`: what the next reward counts, γ^t."""
    steps: Ints
    """`(m,)`."""

    def take(self, lanes: Ints) -> Running:
        """Return these lanes alone."""
        return Running._make(column[lanes] for column in self)


class Game:
    """Lanes with the jobs that run in them.

    Args:
        simulator: whose episodes are played.
        lanes: its lanes.
        rulesets: `(m,)`.
        seeds: `(m,)`.
        log: gets every step, where it is given.
    """

    def __init__(
        self, simulator: EnvSimulator, lanes: Lanes, rulesets: Ints, seeds: Ints, log: Log | None
    ) -> None:
        self._simulator, self._lanes, self._log = simulator, lanes, log
        self._rulesets, self._seeds = rulesets, seeds
        n = self._n_started = min(lanes.limit, len(seeds))
        lanes.open(n)
        self._running = Running(np.arange(n), np.zeros(n), np.ones(n), np.zeros(n, dtype=np.int64))
        self._points = np.empty((n, len(simulator.task.features)))
        self._begin(np.arange(n))

    @property
    def has_lanes(self) -> bool:
        """Whether any episode still runs."""
        return len(self._running.jobs) > 0

    def step(self, choose: Actions, out: Episodes) -> None:
        """Take a step in all lanes, write down the episodes that end, and begin others in their place."""
        running, previous = self._running, self._points
        actions = np.empty(len(previous), dtype=np.int64)
        choose(self._rulesets[running.jobs], previous, actions)
        actions[running.jobs < 0] = -1
        true_points = None if self._log is None else self._lanes.true_points()
        self._points, rewards, terminated, truncated = self._lanes.step(actions)
        endings = np.empty(len(previous), dtype=np.int8)
        task = self._simulator.task
        bad_lane = settle(
            self._points, rewards, terminated, truncated, actions, task.gamma, task.t_max, running, endings
        )
        if bad_lane >= 0:
            self._refuse(bad_lane, rewards[bad_lane])
        if self._log is not None:
            self._log.add(running.jobs, previous, actions, rewards, true_points)
        ended = np.flatnonzero(endings != GOES_ON)
        if len(ended):
            stuck = ended[endings[ended] == NO_RULE]
            self._points[stuck] = previous[stuck]  # lanes that rest may show anything
            self._finish(ended, endings[ended], out)

    def _finish(self, ended: Ints, endings: NDArray[np.int8], out: Episodes) -> None:
        """Write down episodes, begin others in their lanes, and leave lanes behind when jobs run out."""
        running = self._running
        finished_jobs = running.jobs[ended]
        out.returns[finished_jobs], out.steps[finished_jobs] = running.totals[ended], running.steps[ended]
        out.endings[finished_jobs] = endings
        if self._log is not None:
            true_points = self._lanes.true_points()
            self._log.end(
                finished_jobs, self._points[ended], None if true_points is None else true_points[ended]
            )
        n_new = min(len(ended), len(self._seeds) - self._n_started)
        restarted, idle = ended[:n_new], ended[n_new:]
        running.jobs[restarted] = np.arange(self._n_started, self._n_started + n_new)
        running.jobs[idle] = -1
        self._n_started += n_new
        if len(restarted):
            self._begin(restarted)
        if len(idle):
            self._lanes.rest(idle)
            busy = np.flatnonzero(running.jobs >= 0)
            if 2 * len(busy) <= len(running.jobs):
                if len(busy):
                    self._lanes.keep(busy)
                self._running, self._points = running.take(busy), self._points[busy]

    def _begin(self, lanes: Ints) -> None:
        """Begin the episodes of the jobs that lanes have been given."""
        running = self._running
        running.totals[lanes], running.weights[lanes], running.steps[lanes] = 0.0, 1.0, 0
        self._points[lanes] = self._lanes.start(lanes, self._seeds[running.jobs[lanes]])
        for lane in lanes[~np.isfinite(self._points[lanes]).all(axis=1)]:
            self._refuse(lane, 0.0)

    def _refuse(self, lane: int, reward: float) -> None:
        """Raise for a number that is not finite."""
        step, seed = int(self._running.steps[lane]), int(self._seeds[self._running.jobs[lane]])
        self._simulator.refuse_number(self._points[lane : lane + 1], reward, step, seed)


@kernel
def settle(
    points: Floats,
    rewards: Floats,
    terminated: Mask,
    truncated: Mask,
    actions: Ints,
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
            endings[lane] = NO_RULE
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
