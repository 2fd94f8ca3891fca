"""Whether an environment that is given was changed after it was made.

Episodes are played in copies, made anew by the environment's id. Whoever has set an attribute since, such as
`env.unwrapped.gravity`, would be surprised by what the copies do: that is refused. Attributes that playing
itself changes say nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from ifthen.errors import TaskError

PLAIN = (bool, int, float, str, np.generic)
OF_SHOWING = {"render_mode", "isopen"}
"""Attributes of Gymnasium's own environments that are about showing them, or closing what shows them."""
EPISODES, STEPS, SEED = 3, 300, 4_000_000


def refuse_changed(given: Any, made: Any, make: Callable[[], Any]) -> None:
    """Raise TaskError where an environment differs from a fresh copy in a plain attribute.

    Args:
        given: the environment; it is not played.
        made: a fresh copy of it.
        make: makes another, to be played where they differ.
    """
    core, fresh = given.unwrapped, made.unwrapped
    differ = _unequal(core, fresh, set(_names(core)) | set(_names(fresh)))
    if differ:
        differ -= _changed_by_playing(make)
    if differ:
        differ = _unequal_after_reset(core, make, differ)
    for name in sorted(differ):
        raise TaskError(
            f"{name} of the {type(core).__name__} given is {getattr(core, name)!r}, but "
            f"{getattr(fresh, name)!r} in copies of it, which episodes are played in: it was changed after "
            "it was made. Give a function that makes it: ifthen.env_task(lambda: …)."
        )


def _names(core: Any) -> list[str]:
    return [name for name in getattr(core, "__dict__", {}) if name not in OF_SHOWING]


def _unequal(one: Any, other: Any, names: set[str]) -> set[str]:
    """Return which attributes are plain in both environments, and not the same."""
    found = set()
    for name in names:
        values = getattr(one, name, None), getattr(other, name, None)
        if all(isinstance(value, PLAIN) for value in values) and not _same(*values):
            found.add(name)
    return found


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) or (one != one and other != other)


def _changed_by_playing(make: Callable[[], Any]) -> set[str]:
    """Return which plain attributes of an environment change in a few random episodes."""
    env, found = make(), set()
    try:
        core = env.unwrapped
        before = dict(core.__dict__)
        env.action_space.seed(SEED)
        for episode in range(EPISODES):
            env.reset(seed=SEED + episode)
            for _ in range(STEPS):
                ended = any(env.step(env.action_space.sample())[2:4])
                found |= {name for name, value in core.__dict__.items() if _moves(before, name, value)}
                if ended:
                    break
    except Exception:  # of an environment that does not work: the trial that follows says so
        return found
    finally:
        env.close()
    return found


def _moves(before: dict[str, Any], name: str, value: Any) -> bool:
    return isinstance(value, PLAIN) and not (
        isinstance(before.get(name), PLAIN) and _same(before[name], value)
    )


def _unequal_after_reset(core: Any, make: Callable[[], Any], names: set[str]) -> set[str]:
    """Return which attributes still differ when both environments begin from one seed."""
    env = make()
    try:
        twin = copy.deepcopy(core)
        twin.reset(seed=SEED)
        env.reset(seed=SEED)
        return _unequal(twin, env.unwrapped, names)
    except Exception:  # whatever an object raises that does not want to be copied
        return names
    finally:
        env.close()
