"""Random actions: what they get, what they see, and how fast a task is played."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ifthen.environments.twin_registry import twin_of
from ifthen.rules.arrays import Floats
from ifthen.rules.decision_list import DecisionList
from ifthen.simulate.evaluate import environment_simulator
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.probe import EPISODES, RandomStep, random_steps
from ifthen.tasks.task import Task

TWIN_EPISODES = 2_000


class RandomPlay(NamedTuple):
    """What random episodes showed."""

    seen: Floats
    """`(features, 2)`: the least and the largest value of each feature."""
    episodes: int
    mean_steps: float
    most_steps: int
    """The number of steps of the longest episode."""
    mean_return: float
    """The mean return; of an episode that was broken off, what it had got."""
    steps_per_second: float
    """How fast training plays in one process, resets included."""


def random_play(task: Task, seconds: float) -> RandomPlay | None:
    """Play a task with random actions; None for a table.

    Args:
        task: the task.
        seconds: how long to play at most; at least one episode is begun.
    """
    if not isinstance(task, EnvTask):
        return None
    env, played = task.make(), list[list[RandomStep]]()
    start = time.perf_counter()
    try:
        while len(played) < EPISODES and time.perf_counter() - start < seconds:
            played.append([])
            for step in random_steps(env, task.flat, len(played)):
                played[-1].append(step)
                if len(played[-1]) > task.t_max or time.perf_counter() - start > seconds:
                    break
    finally:
        env.close()
    seconds_played = time.perf_counter() - start
    rows = np.array([step.row for episode in played for step in episode])
    steps = [len(episode) - 1 for episode in played]
    returns = [
        sum(step.reward * task.gamma**t for t, step in enumerate(episode_steps[1:]))
        for episode_steps in played
    ]
    speed = sum(steps) / seconds_played if twin_of(task) is None else _twin_speed(task)
    value_ranges = np.stack([rows.min(axis=0), rows.max(axis=0)], axis=1)
    return RandomPlay(
        value_ranges, len(played), float(np.mean(steps)), max(steps), float(np.mean(returns)), speed
    )


def _twin_speed(task: EnvTask) -> float:
    """Return how many steps a second the compiled twin takes with one rule that always does the same."""
    everywhere = [[(feature.low, feature.high) for feature in task.features]]
    rule = DecisionList(everywhere, [0], task.features, task.action_names)
    simulator, seeds = environment_simulator(task), np.arange(TWIN_EPISODES)
    simulator.evaluate(rule, seeds)  # compiles, and resets the environment, which training does once
    start = time.perf_counter()
    steps = simulator.evaluate(rule, seeds).steps
    return steps / (time.perf_counter() - start)
