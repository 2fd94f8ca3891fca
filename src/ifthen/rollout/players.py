"""Playing rules in environments: one entry point to twins and to vector environments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.inference.rulebook import Rulebook
from ifthen.rollout.episodes import Choose, Episodes
from ifthen.rollout.lanes import play_lanes, play_policy_lanes
from ifthen.rollout.twin import play_twin, play_twin_policy
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.twins import twin_of


def play_rules(task: EnvTask, rules: Rulebook, seeds: NDArray[np.int64], threads: int = 1) -> Episodes:
    """Play every individual from every reset seed.

    Args:
        task: the task.
        rules: the rules of n individuals.
        seeds: k reset seeds.
        threads: threads, or worker processes where the environment is written in Python; results do not
            depend on it.
    """
    twin = twin_of(task)
    if twin is not None:
        return play_twin(task, twin, rules, seeds, threads)
    return play_lanes(task, rules, seeds, threads)


def play_policy(task: EnvTask, choose: Choose, seeds: NDArray[np.int64]) -> Episodes:
    """Play any policy from every reset seed, all of them side by side; the arrays are `(1, k)`."""
    twin = twin_of(task)
    if twin is not None:
        return play_twin_policy(task, twin, choose, seeds)
    return play_policy_lanes(task, choose, seeds)
