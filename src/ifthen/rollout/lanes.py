"""Playing rules and policies through Gymnasium's vector API: scores, and what happens step by step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.inference.rulebook import Rulebook
from ifthen.rollout.episodes import Choose, Episodes, checked_actions
from ifthen.rollout.game import Actions, play
from ifthen.rollout.trajectories import Log, Trajectory
from ifthen.rollout.workers import actions_of, play_jobs
from ifthen.tasks.env_task import EnvTask


def play_lanes(task: EnvTask, rules: Rulebook, seeds: NDArray[np.int64], threads: int = 1) -> Episodes:
    """Play every individual from every reset seed.

    Args:
        task: the task.
        rules: the rules of n individuals.
        seeds: k reset seeds.
        threads: worker processes, where the environment is stepped in Python and there is enough to do.
    """
    n, k = len(rules.actions), len(seeds)
    jobs = np.repeat(np.arange(n), k), np.tile(np.asarray(seeds, dtype=np.int64), n)
    returns, steps, endings = play_jobs(task, rules, *jobs, threads)
    return Episodes(returns.reshape(n, k), steps.reshape(n, k), endings.reshape(n, k))


def play_policy_lanes(task: EnvTask, choose: Choose, seeds: NDArray[np.int64]) -> Episodes:
    """Play any policy from every reset seed; the arrays are `(1, k)`."""
    jobs = np.zeros(len(seeds), dtype=np.int64), np.asarray(seeds, dtype=np.int64)
    returns, steps, endings = play(task, *jobs, _checked(task, choose))
    return Episodes(returns[None], steps[None], endings[None])


def record_episodes(task: EnvTask, choose: Choose, seeds: NDArray[np.int64]) -> list[Trajectory]:
    """Play any policy from every reset seed, and return what happened, step by step, per seed."""
    jobs = np.zeros(len(seeds), dtype=np.int64), np.asarray(seeds, dtype=np.int64)
    return _recorded(task, *jobs, _checked(task, choose))


def collect(
    task: EnvTask, rules: Rulebook, individuals: NDArray[np.int64], seeds: NDArray[np.int64]
) -> list[Trajectory]:
    """Play one episode per pair of an individual and a reset seed, and return what happened in each.

    Args:
        task: the task.
        rules: the rules of all individuals.
        individuals: `(m,)`, who plays.
        seeds: `(m,)`, from which reset seed.
    """
    jobs = np.asarray(individuals, dtype=np.int64), np.asarray(seeds, dtype=np.int64)
    return _recorded(task, *jobs, actions_of(rules))


def _checked(task: EnvTask, choose: Choose) -> Actions:
    """Return how a policy chooses; raises where what it returns are not actions."""

    def write(_: NDArray[np.int64], points: NDArray[np.float64], out: NDArray[np.int64]) -> None:
        out[:] = checked_actions(choose(points), len(out), task.n_actions)

    return write


def _recorded(
    task: EnvTask, individuals: NDArray[np.int64], seeds: NDArray[np.int64], choose: Actions
) -> list[Trajectory]:
    """Play jobs and return what happened in each."""
    if not len(seeds):
        return []
    log = Log(len(seeds), len(task.features))
    return log.trajectories(play(task, individuals, seeds, choose, log))
