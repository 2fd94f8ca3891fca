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
from ifthen.tasks.known import is_plain
from ifthen.tasks.maps import PAPER_MAPS
from ifthen.tasks.tabular import TabularTask

PAPER_TASKS = tuple(f"FrozenLake-{size}-{slip:g}" for size in PAPER_MAPS for slip in PAPER_SLIPS)
ENVIRONMENTS = ("CartPole-v1", "MountainCar-v0", "Acrobot-v1", "LunarLander-v3", "Blackjack-v1")
TABULAR_ENVIRONMENTS = ("FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v4")
_ID = re.compile(r"[\w./-]+-v\d+")
_MODULE = re.compile(r"[A-Za-z_][\w.]*:[\w./-]+")
FROZEN_LAKE = re.compile(r"FrozenLake-(\d{1,4})-(\d+(?:\.\d+)?)(?:-map(\d{1,18}))?")


def as_task(given: Any) -> TabularTask | EnvTask:
    """Return a task as it is, by its name, or that of a Gymnasium environment.

    Environments with a transition table `P` become tabular tasks, unless they do something else than it says
    (see `has_table`); all others become environment tasks.
    """
    if isinstance(given, TabularTask | EnvTask):
        return given
    if isinstance(given, str):
        return task_by_name(given)
    if has_table(given):
        return task_from_env(given)
    return env_task(given)


def has_table(env: Any) -> bool:
    """Return whether an environment publishes its transition table, and does what it says.

    Those in wrappers that may change observations, actions or rewards do not, nor does Taxi with a fickle
    passenger.
    """
    core = getattr(env, "unwrapped", env)
    if not is_plain(env) or getattr(core, "fickle_passenger", False):
        return False
    return _is_table(getattr(core, "P", None))


def _is_table(given: Any) -> bool:
    """Return whether something has the form {state: {action: [(probability, state, reward, end), …]}}."""
    if not isinstance(given, dict) or not _counts(given) or not _counts(given[0]):
        return False
    n_actions = len(given[0])
    return all(
        _counts(actions)
        and len(actions) == n_actions
        and all(
            isinstance(found, (list, tuple)) and all(map(_is_outcome, found)) for found in actions.values()
        )
        for actions in given.values()
    )


def _counts(given: Any) -> bool:
    """Return whether the keys of a dictionary are 0, 1, 2 and so on."""
    return isinstance(given, dict) and bool(given) and all(number in given for number in range(len(given)))


def _is_outcome(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and len(given) == 4


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
        try:
            if has_table(env):
                return task_from_env(env)
        finally:
            env.close()
        return env_task(name)
    raise TaskError(_unknown(name))


def _unknown(name: str) -> str:
    """Return what to say of a name that makes no task."""
    known = PAPER_TASKS + TABULAR_ENVIRONMENTS + ENVIRONMENTS
    if not _ID.fullmatch(name):
        return (
            f"unknown task {name!r}.{nearest(name, known)} "
            "See 'ifthen tasks'; FrozenLake-16-0.1-map7 is a random 16x16 map with seed 7."
        )
    hint = nearest(name, [*TABULAR_ENVIRONMENTS, *ENVIRONMENTS], others=False)
    return (
        f"unknown task {name!r}: Gymnasium has no such environment here.{hint} The package that registers it "
        f"may be missing; 'package:{name}' imports one. See 'ifthen tasks'."
    )
