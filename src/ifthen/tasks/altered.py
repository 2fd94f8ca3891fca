"""Environments with numbers of their own changed: attributes such as gravity, and the limit of steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ifthen.errors import TaskError, nearest

if TYPE_CHECKING:
    from ifthen.tasks.env_like import AnyEnv

OPTIONS = "options."
"""The names of options of `gymnasium.make` begin with this."""
ATTRIBUTES = "unwrapped."
"""The names of attributes of the environment begin with this."""


class Altered:
    """Makes environments in which one attribute has another value.

    Args:
        make: makes the environment.
        path: the attribute, such as "unwrapped.gravity".
        value: its value.
    """

    def __init__(self, make: Callable[[], Any], path: str, value: float) -> None:
        self.make, self.path, self.value = make, path, value

    def __call__(self) -> Any:
        """Return a fresh environment with the attribute set."""
        env = self.make()
        try:
            owner, name, current = attribute_of(env, self.path)
        except TaskError:
            env.close()
            raise
        as_integer = isinstance(current, int) and float(self.value).is_integer()
        setattr(owner, name, int(self.value) if as_integer else self.value)
        return env


class Lengthened:
    """Makes environments whose `TimeLimit` allows another number of steps.

    Args:
        make: makes the environment.
        steps: the number of steps.
    """

    def __init__(self, make: Callable[[], Any], steps: int) -> None:
        self.make, self.steps = make, steps

    def __call__(self) -> Any:
        """Return a fresh environment."""
        env = inner = self.make()
        while hasattr(inner, "env"):
            if type(inner).__name__ == "TimeLimit":
                inner._max_episode_steps = self.steps  # Gymnasium offers no other way
            inner = inner.env
        return env


def attribute_of(env: AnyEnv, path: str) -> tuple[Any, str, float]:
    """Return the owner, the name and the value of a number of an environment, such as "unwrapped.gravity".

    Raises:
        TaskError: where there is no such attribute, or it is not a number.
    """
    *steps, name = path.split(".")
    owner = env
    for step in steps:
        owner = _attribute(owner, step, path)
    value = _attribute(owner, name, path)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TaskError(f"{path} must be a number to be varied, but it is {value!r}.")
    return owner, name, float(value) if isinstance(value, float) else value


def _attribute(owner: Any, name: str, path: str) -> Any:
    """Return an attribute, or raise and name those that are numbers."""
    if not hasattr(owner, name):
        attributes = getattr(owner, "__dict__", {})
        numbers = [attribute for attribute, value in attributes.items() if type(value) in (int, float)]
        raise TaskError(f"{path}: the environment has no {name!r}.{nearest(name, numbers)}")
    return getattr(owner, name)
