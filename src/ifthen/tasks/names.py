"""Tasks by name, as they stand on the command line and in configuration files."""

from __future__ import annotations

import re
from typing import Any

import gymnasium

from ifthen.errors import TaskError, nearest
from ifthen.tasks.env_task import EnvTask, cannot_make
from ifthen.tasks.from_env import task_from_env
from ifthen.tasks.from_gymnasium import env_task
from ifthen.tasks.frozen_lake import PAPER_SLIPS, frozen_lake
from ifthen.tasks.maps import PAPER_MAPS
from ifthen.tasks.tabular import TabularTask

PAPER_TASKS = tuple(f"FrozenLake-{size}-{slip:g}" for size in PAPER_MAPS for slip in PAPER_SLIPS)
ENVIRONMENTS = ("CartPole-v1", "MountainCar-v0", "Acrobot-v1", "LunarLander-v3", "Blackjack-v1")
TABULAR_ENVIRONMENTS = ("FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v4")
_MODULE = re.compile(r"[A-Za-z_][\w.]*:[\w./-]+")
FROZEN_LAKE = re.compile(r"FrozenLake-(\d{1,4})-(\d+(?:\.\d+)?)(?:-map(\d{1,18}))?")


def as_task(given: Any) -> TabularTask | EnvTask:
    """Return a task as it is, by its name, or that of a Gymnasium environment.

    Environments with a transition table `P` become tabular tasks, all others environment tasks.
    """
    if isinstance(given, TabularTask | EnvTask):
        return given
    if isinstance(given, str):
        return task_by_name(given)
    if has_table(given):
        return task_from_env(given)
    return env_task(given)


def has_table(env: Any) -> bool:
    """Return whether an environment publishes its transition table."""
    table = getattr(getattr(env, "unwrapped", env), "P", None)
    return isinstance(table, dict) and bool(table)


def task_by_name(name: str) -> TabularTask | EnvTask:
    """Return the task called `name`.

    Args:
        name: `FrozenLake-SIZE-SLIP` for the paper's maps, `FrozenLake-SIZE-SLIP-mapSEED` for random
            ones, or the id of a Gymnasium environment, such as `Taxi-v4` or `CartPole-v1`;
            `package:Id-v0` imports the package that registers it first, as `gymnasium.make` does.
    """
    found = FROZEN_LAKE.fullmatch(name)
    if found:
        size, slip, seed = found.groups()
        return frozen_lake(int(size), float(slip), map_seed=None if seed is None else int(seed))
    if name in gymnasium.registry or _MODULE.fullmatch(name):
        try:
            env = gymnasium.make(name)
        except Exception as problem:
            raise TaskError(cannot_make(name, problem)) from problem
        if has_table(env):
            return task_from_env(env)
        env.close()
        return env_task(name)
    known = PAPER_TASKS + TABULAR_ENVIRONMENTS + ENVIRONMENTS
    raise TaskError(
        f"unknown task {name!r}.{nearest(name, known)} "
        "See 'ifthen tasks'; FrozenLake-16-0.1-map7 is a random 16x16 map with seed 7."
    )
