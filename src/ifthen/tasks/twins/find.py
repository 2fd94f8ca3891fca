"""Which twin plays a task: one that is registered for its environment, where that is the stock one.

A twin is right for one environment with one set of options. Whatever could make the dynamics others (another
class, other wrappers, other values of the attributes that the twin assumes) rules it out silently, and the
task is played through Gymnasium. What passes is compared with the real environment once per process: sines
and powers may be rounded otherwise on another machine or by another version of NumPy.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any
from weakref import WeakKeyDictionary

import gymnasium
import numpy as np

from ifthen.errors import TaskError
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.twins.equal import compare
from ifthen.tasks.twins.twin import Twin

BUILT_IN = {
    "CartPole-v0": ("cart_pole", "CART_POLE"),
    "CartPole-v1": ("cart_pole", "CART_POLE"),
    "MountainCar-v0": ("mountain_car", "MOUNTAIN_CAR"),
    "Acrobot-v1": ("acrobot", "ACROBOT"),
    "ifthen/LunarLander-v0": ("lunar_lander", "LUNAR_LANDER"),
}
"""Module and name of our own twins, by the environment's id."""
SELF_CHECK_STEPS = 500
USUAL_WRAPPERS = ("PassiveEnvChecker", "OrderEnforcing", "TimeLimit")
_registered: dict[str, Twin] = {}
_chosen: WeakKeyDictionary[EnvTask, Twin | None] = WeakKeyDictionary()
_compared: dict[tuple[Any, ...], str] = {}
"""How a twin differs from an environment with some options; nothing where it does not."""


def register_twin(environment: str, twin: Twin) -> None:
    """Let tasks of an environment be played by a twin, from now on and in this process.

    Args:
        environment: the environment's id in Gymnasium's registry.
        twin: its twin; prove it with `check_twin`.
    """
    if not isinstance(twin, Twin):
        raise TaskError(f"a twin must be a Twin (ifthen.tasks.twins), not {twin!r}.")
    if not isinstance(environment, str) or not environment:
        raise TaskError(
            f"a twin is registered for an environment's id, such as 'CartPole-v1', not {environment!r}."
        )
    _registered[environment] = twin
    _chosen.clear()


def registered_twin(environment: str) -> Twin | None:
    """Return the twin registered for an environment's id, if there is one."""
    if environment not in _registered and environment in BUILT_IN:
        module, name = BUILT_IN[environment]
        _registered[environment] = getattr(importlib.import_module(f"ifthen.tasks.twins.{module}"), name)
    return _registered.get(environment)


def twin_of(task: EnvTask) -> Twin | None:
    """Return the twin that plays a task, or None where it is to be played through Gymnasium.

    Raises:
        TaskError: where the task's `player` is "twin" and there is none that fits.
    """
    if task.player not in ("auto", "twin"):
        return None
    if task not in _chosen:
        _chosen[task] = _choose(task)
    return _chosen[task]


def _choose(task: EnvTask) -> Twin | None:
    """Find the twin of a task."""
    twin = registered_twin(task.environment)
    reason = f"there is none for {task.environment or 'it'}" if twin is None else _reason_against(task, twin)
    if not reason:
        return twin
    if task.player == "twin":
        raise TaskError(
            f"{task.name} is to be played by a twin, but {reason}. Set player to 'auto', or register a "
            "twin that fits (docs/twins.md)."
        )
    return None


def _reason_against(task: EnvTask, twin: Twin) -> str:
    """Return why a twin cannot play a task; nothing where it can."""
    env = task.make()
    try:
        reason = unlike(env, twin)
        if not reason:
            key = (task.environment, *sorted(task.options.items()), len(task.features))
            reason = _differs(env, twin, key)
    finally:
        env.close()
    return reason


def unlike(env: Any, twin: Twin) -> str:
    """Return what makes an environment another than the one a twin copies; nothing where it is the one."""
    core = env.unwrapped
    if twin.of_class:
        own = f"{type(core).__module__}:{type(core).__qualname__}"
        if own != twin.of_class:
            return f"its environment is {own}, not {twin.of_class}"
        layer = env
        while layer is not core:
            kind = type(layer)
            if (
                getattr(gymnasium.wrappers, kind.__name__, None) is not kind
                or kind.__name__ not in USUAL_WRAPPERS
            ):
                return f"its environment is wrapped with {kind.__name__}"
            layer = layer.env
    for name, value in twin.assumes.items():
        present: Any = getattr(core, name, None)
        if not np.array_equal(present, value):  # of arrays too
            return f"{name} of its environment is {present!r}, where the twin assumes {value!r}"
    return ""


def _differs(env: Any, twin: Twin, key: tuple[Any, ...]) -> str:
    """Return how a twin differs from its environment, compared once per process; warn where it does."""
    key = (*key, twin)
    if key not in _compared:
        checked = compare(env, twin, SELF_CHECK_STEPS)
        _compared[key] = f"it differs: {checked}" if isinstance(checked, str) else ""
        if _compared[key]:
            warnings.warn(
                f"the compiled twin of {twin.name} is not equal to its environment here: {checked}. "
                "Episodes are played through Gymnasium instead: results are right, but come more slowly.",
                RuntimeWarning,
                stacklevel=2,
            )
    return _compared[key]
