"""Tasks by name, as they stand on the command line and in configuration files."""

from __future__ import annotations

import re

import gymnasium

from ifthen.errors import TaskError, nearest
from ifthen.tasks.from_env import task_from_env
from ifthen.tasks.frozen_lake import PAPER_SLIPS, frozen_lake
from ifthen.tasks.maps import PAPER_MAPS
from ifthen.tasks.tabular import TabularTask

PAPER_TASKS = tuple(f"FrozenLake-{size}-{slip:g}" for size in PAPER_MAPS for slip in PAPER_SLIPS)
TABULAR_ENVIRONMENTS = ("FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v4")
_FROZEN_LAKE = re.compile(r"FrozenLake-(\d{1,4})-(\d+(?:\.\d+)?)(?:-map(\d{1,18}))?")


def task_by_name(name: str) -> TabularTask:
    """Return the task called `name`.

    Args:
        name: `FrozenLake-SIZE-SLIP` for the paper's maps, `FrozenLake-SIZE-SLIP-mapSEED` for random
            ones, or the id of a Gymnasium environment with a transition table, such as `Taxi-v4`.
    """
    found = _FROZEN_LAKE.fullmatch(name)
    if found:
        size, slip, seed = found.groups()
        return frozen_lake(int(size), float(slip), map_seed=None if seed is None else int(seed))
    if name in gymnasium.registry:
        try:
            env = gymnasium.make(name)
        except Exception as problem:
            raise TaskError(f"the environment {name!r} cannot be made: {problem}") from problem
        return task_from_env(env)
    known = PAPER_TASKS + TABULAR_ENVIRONMENTS
    raise TaskError(
        f"unknown task {name!r}.{nearest(name, known)} "
        "See 'ifthen tasks'; FrozenLake-16-0.1-map7 is a random 16x16 map with seed 7."
    )
