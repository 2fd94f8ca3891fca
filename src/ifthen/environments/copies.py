"""How a task gets environments of its own: by an id, by a function, or as copies of one that is given."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import cloudpickle  # type: ignore[import-untyped]  # it has no types
import gymnasium
import numpy as np

from ifthen.environments.known_environments import RECORDERS
from ifthen.environments.repeatable import episode, same_episodes
from ifthen.errors import TaskError
from ifthen.tasks.env_like import AnyEnv, EnvLike
from ifthen.tasks.flatten import FlatSpace, check_actions
from ifthen.tasks.gym_task import Option
from ifthen.tasks.imports import cannot_make
from ifthen.tasks.probe import random_steps
from ifthen.tasks.wrapper_statistics import restore_statistics, wrappers_with_statistics

UNCHECKED = {"disable_env_checker": True}
"""What environments return is checked here. Gymnasium's checker only warns, or raises errors of its own."""
PLAIN = (bool, int, float, str, np.generic)
OF_RENDERING = {"render_mode", "isopen"}
EPISODES, STEPS = 3, 300


class Source(NamedTuple):
    """An environment that a task may play, and how to make more of it."""

    env: Any
    environment: str
    """The id; "" if only `factory` can make it."""
    options: dict[str, Option]
    factory: Callable[..., Any] | None
    """Makes it where the id alone cannot, here or in other processes."""
    note: str = ""
    """What a user should know about it."""

    def make_another(self) -> Any:
        """Return another environment of the same kind."""
        keywords: dict[str, Any] = {**self.options, **UNCHECKED}
        try:
            return gymnasium.make(self.environment, **keywords) if self.factory is None else self.factory()
        except (Exception, SystemExit) as problem:
            raise TaskError(cannot_make(self.environment or "given", problem)) from problem


class OneEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The one object that was given: whoever is done with it does not close it for the others."""

    def close(self) -> None:
        """Leave it open."""


def source_of(env: EnvLike, options: Mapping[str, Option]) -> Source:
    """Return an environment for a task: of a name and keyword arguments, an environment, or a function.

    A name is an id of Gymnasium's, `package:Id-v0`, or `module:attribute` of a class or function.
    """
    if isinstance(env, str):
        keywords: dict[str, Any] = {**options, **UNCHECKED}
        try:
            maker = _attribute(env)
            new_env = gymnasium.make(env, **keywords) if maker is None else maker(**options)
        except (Exception, SystemExit) as problem:  # whatever somebody's module raises
            raise TaskError(cannot_make(env, problem)) from problem
        if maker is not None:
            return Source(
                _checked(new_env, env), "", dict(options), partial(maker, **options) if options else maker
            )
        spec: Any = copy.copy(new_env.spec)
        spec.additional_wrappers = ()  # those of the entry point itself, which makes them again
        return Source(new_env, spec.id, dict(options), _factory(spec))
    if options:
        raise TaskError(f"options are for environments that are given by their id, not {env!r}.")
    if isinstance(env, gymnasium.Env):
        return _remade(env) or _copied(env)
    if callable(env):
        try:
            new_env = env()
        except (Exception, SystemExit) as problem:
            raise TaskError(f"the function that makes the environment failed: {problem!r}.") from problem
        return Source(_checked(new_env, "the function"), "", {}, env)
    raise TaskError(
        f"a task needs a Gymnasium environment, its id such as 'CartPole-v1', or a function that makes one, "
        f"not {env!r}."
    )


def _attribute(name: str) -> Any:
    """Return the class or function that `module:attribute` names; None for an id of Gymnasium's."""
    module, colon, attribute = name.partition(":")
    if not colon or not attribute.isidentifier():
        return None
    attribute_value = getattr(importlib.import_module(module), attribute, None)
    return attribute_value if callable(attribute_value) else None


def _checked(env: object, maker: str) -> Any:
    """Return what was made, or raise if it is no environment."""
    if not isinstance(env, gymnasium.Env):
        raise TaskError(f"{maker} must make a Gymnasium environment, not {env!r}.")
    return env


def _remade(env: AnyEnv) -> Source | None:
    """Make an environment anew from its specification; None if that would give another environment."""
    if env.spec is None or wrappers_with_statistics(env):  # what they have learnt is not in the specification
        return None
    options = {key: value for key, value in env.spec.kwargs.items() if key != "render_mode"}
    spec = copy.deepcopy(env.spec)
    spec.kwargs = dict(options)
    spec.additional_wrappers = tuple(
        wrapper
        for wrapper in spec.additional_wrappers
        if wrapper.name not in RECORDERS or not wrapper.entry_point.startswith("gymnasium.wrappers.")
    )
    registered = gymnasium.registry.get(spec.id)
    if registered is None or registered.max_episode_steps != spec.max_episode_steps:
        options["max_episode_steps"] = -1 if spec.max_episode_steps is None else spec.max_episode_steps
    make = partial(gymnasium.make, spec, **UNCHECKED)
    try:
        remade = make()
    except Exception:  # of a wrapper that does not tell its arguments, for example
        return None
    if _was_changed(env, remade, make):
        remade.close()
        return None
    options_are_plain = all(isinstance(value, bool | int | float | str) for value in options.values())
    if spec.additional_wrappers or not options_are_plain:
        return Source(remade, "", {}, partial(gymnasium.make, spec))
    return Source(remade, spec.id, options, _factory(spec))


def _copied(env: AnyEnv) -> Source:
    """Copy an environment as it is now; take the one object if it cannot be copied.

    Changes to the original do not reach copies later.
    """
    while isinstance(env, gymnasium.Wrapper) and type(env).__name__ in RECORDERS:
        env = env.env
    reason = "its copies behave differently"
    for copy_of in (copy.deepcopy, _pickled):
        try:
            snapshot = copy_of(env)
            copied = copy_of(snapshot)
        except Exception as problem:  # whatever an object raises that cannot be copied
            reason = f"{type(problem).__name__}: {problem}"
            continue
        if _behaves_alike(env, copied):
            return Source(copied, "", {}, partial(copy_of, snapshot))
    kind = type(env.unwrapped).__name__
    note = (
        f"this {kind} cannot be copied ({reason}). It is played itself, one episode at a time, which is "
        f"slow. A function that makes it is faster: env_task(lambda: {kind}(…))."
    )
    return Source(OneEnvironment(env), "", {}, partial(OneEnvironment, env), note)


def _pickled(env: AnyEnv) -> AnyEnv:
    copied: AnyEnv = cloudpickle.loads(cloudpickle.dumps(env))
    return copied


def _behaves_alike(env: AnyEnv, copied: AnyEnv) -> bool:
    """Return whether a copy plays an episode as the original does, or the original is random anyway."""
    try:
        flat = FlatSpace.of(env.observation_space)
        check_actions(env.action_space)
    except TaskError:
        return True  # which is refused elsewhere
    learning = [wrapper for wrapper in wrappers_with_statistics(env) if wrapper.update_running_mean]
    for environment in (env, copied):
        restore_statistics(environment)
    try:
        original = episode(env, flat, 0)
        return same_episodes(original, episode(copied, flat, 0)) or not same_episodes(
            original, episode(env, flat, 0)
        )
    finally:
        for wrapper in learning:
            wrapper.update_running_mean = True


def _factory(spec: Any) -> Callable[..., Any] | None:
    """Return what makes an environment that other processes have not registered; None for Gymnasium's own."""
    is_gymnasiums = isinstance(spec.entry_point, str) and spec.entry_point.startswith("gymnasium.")
    return None if is_gymnasiums else partial(gymnasium.make, spec)


def _was_changed(env: AnyEnv, remade: AnyEnv, make: Callable[[], Any]) -> bool:
    """Return whether a setting of an environment was changed after it was made.

    A setting is a number or text that a few random episodes leave as it is. The environment itself is not
    played, but a fresh one.
    """
    names = _unequal(env.unwrapped, remade.unwrapped)
    return bool(names) and bool(names - _moved_by_playing(make))


def _unequal(left: Any, right: Any) -> set[str]:
    """Return the attributes, apart from those of rendering, that are plain in both and not the same."""
    names = set()
    for name in (vars(left).keys() | vars(right).keys()) - OF_RENDERING:
        a, b = getattr(left, name, None), getattr(right, name, None)
        if isinstance(a, PLAIN) and isinstance(b, PLAIN) and a != b and not (a != a and b != b):
            names.add(name)
    return names


def _moved_by_playing(make: Callable[[], Any]) -> set[str]:
    """Return the attributes of an environment that change in a few random episodes."""
    env, unplayed, moved = make(), make(), set()
    try:
        flat = FlatSpace.of(env.observation_space)
        for episode_number in range(EPISODES):
            for _ in islice(random_steps(env, flat, episode_number), STEPS):
                moved |= _unequal(env.unwrapped, unplayed.unwrapped)
    except TaskError:  # of an environment that does not work: the trial that follows says so
        return moved
    finally:
        env.close()
        unplayed.close()
    return moved
