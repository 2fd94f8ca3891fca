"""How a task gets environments of its own: by an id, by a function, or as copies of one that is given."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium

from ifthen.checks import whole_number
from ifthen.errors import TaskError
from ifthen.tasks.changed import refuse_changed
from ifthen.tasks.env_task import T_MAX_LIMIT, Option, cannot_make
from ifthen.tasks.known import SHOWING

DEFAULT_T_MAX = 1000
UNCHECKED = {"disable_env_checker": True}
"""Answers are checked here, where Gymnasium's checker only warns or raises errors of its own."""


def made_from(
    env: Any, given: Mapping[str, Option]
) -> tuple[Any, str, dict[str, Option], Callable[..., Any] | None]:
    """Return an environment of its own, its id and options, and what makes it where an id cannot."""
    if isinstance(env, str):
        keywords: dict[str, Any] = {**given, **UNCHECKED}
        try:
            made = gymnasium.make(env, **keywords)
        except Exception as problem:
            raise TaskError(cannot_make(env, problem)) from problem
        spec: Any = made.spec
        return made, spec.id, dict(given), _factory(spec)
    if given:
        raise TaskError(f"options are for environments that are given by their id, not {env!r}.")
    if isinstance(env, gymnasium.Env):
        return _copied(env)
    if callable(env):
        try:
            made = env()
        except Exception as problem:
            raise TaskError(f"the function that makes the environment failed: {problem!r}.") from problem
        if not isinstance(made, gymnasium.Env):
            raise TaskError(f"the function must make a Gymnasium environment, not {made!r}.")
        return made, "", {}, env
    raise TaskError(
        f"a task needs a Gymnasium environment, its id such as 'CartPole-v1', or a function that makes one, "
        f"not {env!r}."
    )


def _copied(env: Any) -> tuple[Any, str, dict[str, Option], Callable[..., Any] | None]:
    """Return the same of an environment that somebody made; the original is not played, nor is it shown."""
    if env.spec is None:
        raise TaskError(
            f"{type(env.unwrapped).__name__} is not registered with Gymnasium, or has a wrapper that hides "
            "how it was made, so copies of it cannot be made. Register it (gymnasium.register), or give a "
            "function that makes it: ifthen.env_task(lambda: MyEnv())."
        )
    options = {key: value for key, value in env.spec.kwargs.items() if key != "render_mode"}
    spec = copy.deepcopy(env.spec)
    spec.kwargs = dict(options)
    spec.additional_wrappers = tuple(w for w in spec.additional_wrappers if not _only_shows(w))
    registered = gymnasium.registry.get(spec.id)
    if registered is None or registered.max_episode_steps != spec.max_episode_steps:
        options["max_episode_steps"] = -1 if spec.max_episode_steps is None else spec.max_episode_steps
    plain = all(isinstance(value, bool | int | float | str) for value in options.values())
    wrapped = bool(spec.additional_wrappers)
    try:
        made = gymnasium.make(spec, **UNCHECKED)
    except Exception as problem:
        hint = " Give a function that makes it: ifthen.env_task(lambda: …)." if wrapped else ""
        raise TaskError(cannot_make(spec.id, problem) + hint) from problem
    try:
        refuse_changed(env, made, functools.partial(gymnasium.make, spec, **UNCHECKED))
    except TaskError:
        made.close()
        raise
    if wrapped or not plain:
        return made, "", {}, functools.partial(gymnasium.make, spec)
    return made, spec.id, options, _factory(spec)


def _only_shows(wrapper: Any) -> bool:
    """Return whether a wrapper, by its specification, records or shows episodes and changes nothing."""
    return wrapper.name in SHOWING and wrapper.entry_point.startswith("gymnasium.wrappers.")


def limit_of(given: int | None, spec: Any) -> int:
    """Return the number of steps after which episodes are truncated."""
    own = spec.max_episode_steps if spec else None
    own = own if own and own > 0 else None  # −1 stands for none
    if given is None:
        return own or DEFAULT_T_MAX
    limit = whole_number("t_max", given, 1, T_MAX_LIMIT, TaskError)
    if own is not None and limit > own:
        raise TaskError(
            f"the environment truncates episodes after {own} steps, so t_max cannot be {limit}: give "
            f'options={{"max_episode_steps": {limit}}} instead, or t_max={own}.'
        )
    return limit


def _factory(spec: Any) -> Callable[..., Any] | None:
    """Return what makes an environment that other processes have not registered; None for Gymnasium's own."""
    ours = isinstance(spec.entry_point, str) and spec.entry_point.startswith("gymnasium.")
    return None if ours else functools.partial(gymnasium.make, spec)
