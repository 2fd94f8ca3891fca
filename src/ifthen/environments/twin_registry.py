"""Which twin plays a task, and the check that a twin is equal to its environment.

A twin is right for one environment with one set of options. Another class, other wrappers or other values of
the attributes that the twin assumes rule it out, and the task is played through Gymnasium. A twin that fits
is compared with the real environment once per process: sines and powers may be rounded differently on another
machine or by another version of NumPy. Both take the same actions, and every bit of every number is compared.
Actions are random and repeat for a while: each episode has its own mean number of steps between two draws, so
that some episodes stay near their start and others go far, even to the end of a task.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import gymnasium
import numpy as np

from ifthen.checks import whole_number
from ifthen.environments.known_environments import USUAL, changing_wrapper, class_path, known_by_id
from ifthen.errors import TaskError, warn
from ifthen.randomness import below, check_seed, stream
from ifthen.tasks.env_like import AnyEnv
from ifthen.tasks.flatten import FlatSpace, check_actions
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.imports import cannot_make
from ifthen.tasks.twin import Twin, call_step

SELF_CHECK_STEPS = 500
LONGEST_EPISODE = 10_000
"""An episode is broken off after this many steps if the environment has no limit of its own."""
HOLDS = 7
"""The mean number of steps between two draws of an action is one of 1, 2, 4, … 64."""
_registered: dict[str, Twin] = {}
_chosen: WeakKeyDictionary[EnvTask, Twin | None] = WeakKeyDictionary()
_differences: dict[tuple[Any, ...], str] = {}
"""The difference between a twin and an environment with some options, in words; "" if there is none."""


def register_twin(environment: str, twin: Twin) -> None:
    """Let tasks of an environment be played by a twin, from now on and in this process.

    Args:
        environment: the environment's id in Gymnasium's registry.
        twin: its twin; prove it with `check_twin`.
    """
    if not isinstance(twin, Twin):
        raise TaskError(f"a twin must be a Twin (ifthen.twins.Twin), not {twin!r}.")
    if not isinstance(environment, str) or not environment:
        raise TaskError(
            f"a twin is registered for an environment's id, such as 'CartPole-v1', not {environment!r}."
        )
    _registered[environment] = twin
    _chosen.clear()


def registered_twin(environment: str) -> Twin | None:
    """Return the twin for an environment's id, if there is one."""
    return _registered.get(environment) or known_by_id(environment).twin


def twin_of(task: EnvTask) -> Twin | None:
    """Return the twin that plays a task, or None if it is played through Gymnasium.

    Raises:
        TaskError: if the task's `player` is "twin" and no twin fits.
    """
    if task.player == "sync":
        return None
    if task not in _chosen:
        twin = registered_twin(task.environment)
        reason = _objection(task, twin) if twin else f"there is none for {task.environment or 'it'}"
        if reason and task.player == "twin":
            raise TaskError(
                f"{task.name} is to be played by a twin, but {reason}. Set player to 'auto', or register a "
                "twin that fits (docs/twins.md)."
            )
        _chosen[task] = None if reason else twin
    return _chosen[task]


def _objection(task: EnvTask, twin: Twin) -> str:
    """Return why a twin cannot play a task; "" if it can. A comparison that fails gives a warning."""
    env = task.make()
    try:
        reason = unlike(env, twin)
        key = (task.environment, *sorted(task.options.items()), len(task.features), twin)
        if not reason and key not in _differences:
            comparison = compare(env, twin, SELF_CHECK_STEPS)
            _differences[key] = f"it differs: {comparison}" if isinstance(comparison, str) else ""
            if isinstance(comparison, str):
                warn(
                    f"the compiled twin of {twin.name} is not equal to its environment here: {comparison}. "
                    "Episodes are played through Gymnasium instead: results are right, but come more slowly."
                )
    finally:
        env.close()
    return reason or _differences[key]


def unlike(env: AnyEnv, twin: Twin) -> str:
    """Return how an environment is another than the one a twin copies; "" if it is the same."""
    core = env.unwrapped
    if twin.of_class:
        env_class, wrapper = class_path(type(core)), changing_wrapper(env, USUAL)
        if env_class != twin.of_class:
            return f"its environment is {env_class}, not {twin.of_class}"
        if wrapper:
            return f"its environment is wrapped with {wrapper}"
    for name, value in twin.assumes.items():
        present: Any = getattr(core, name, None)
        if not np.array_equal(present, value):  # of arrays too
            return f"{name} of its environment is {present!r}, where the twin assumes {value!r}"
    return ""


def check_twin(
    environment: str, steps: int = 1_000_000, seed: int = 0, twin: Twin | None = None, **options: Any
) -> Checked:
    """Compare a twin with its environment step by step; raise TaskError at the first number that differs.

    Args:
        environment: the environment's id.
        steps: how many steps to compare.
        seed: the first episode's reset seed; each episode takes the next one.
        twin: the twin; the one registered for the environment if not given.
        options: keyword arguments for making the environment.

    Returns:
        How many steps and episodes were compared, and how many of them terminated: see that some did.
    """
    whole_number("steps", steps, 1, 10**12)
    check_seed(seed)
    checked_twin = registered_twin(environment) if twin is None else twin
    if checked_twin is None:
        raise TaskError(f"{environment} has no twin to check: register one (docs/twins.md).")
    try:
        env: Any = gymnasium.make(environment, **options)
    except Exception as problem:  # TypeError for an option that it does not have
        raise TaskError(cannot_make(environment, problem)) from problem
    try:
        checked = compare(env, checked_twin, steps, seed)
    finally:
        env.close()
    if isinstance(checked, str):
        raise TaskError(f"the twin of {checked_twin.name} is not equal to {environment}: {checked}.")
    return checked


class Checked(NamedTuple):
    """How much of a twin was compared with its environment."""

    steps: int
    episodes: int
    terminated: int
    """Episodes that terminated."""


def compare(env: AnyEnv, twin: Twin, steps: int, seed: int = 0) -> Checked | str:
    """Play environment and twin side by side; return how much was compared, or the first difference."""
    check_actions(env.action_space)
    flat, limit = FlatSpace.of(env.observation_space), env.spec.max_episode_steps if env.spec else None
    n_steps = episodes = terminated = 0
    while n_steps < steps:
        max_steps = min(steps - n_steps, limit or LONGEST_EPISODE)
        with np.errstate(over="ignore"):  # draws wrap around, which NumPy mentions where nothing is compiled
            difference, length, has_terminated, truncated = _compare_episode(
                env, twin, flat, seed + episodes, max_steps
            )
        if truncated and length != limit:
            difference = f"the environment truncated the episode at step {length}; only its time limit may"
        if difference:
            return f"with reset seed {seed + episodes}, {difference}"
        n_steps, episodes, terminated = n_steps + length, episodes + 1, terminated + int(has_terminated)
    return Checked(n_steps, episodes, terminated)


def _compare_episode(
    env: AnyEnv, twin: Twin, flat: FlatSpace, seed: int, max_steps: int
) -> tuple[str, int, bool, bool]:
    """Play one episode in both; return the first difference, the length, and whether it ended how."""
    actions = check_actions(env.action_space)
    action_start, n_actions = int(actions.start), int(actions.n)
    key, action, t = stream(seed, "twin"), 0, 0
    env.reset(seed=seed)
    states, points, rewards = twin.state_of(env)[None], np.empty((1, len(flat.leaves))), np.empty(1)
    terminated = truncated = False
    while t < max_steps and not terminated and not truncated:
        action = _next_action(key, t, n_actions, action)
        observation, reward, terminated, truncated, _ = env.step(action_start + action)
        ended = call_step(twin.step, states, 0, action, points, rewards)
        env_numbers = np.array([*twin.state_of(env), *flat.row(observation), float(reward), bool(terminated)])
        twin_numbers = np.array([*states[0], *points[0], rewards[0], ended])
        t += 1
        # Bits, not values: −0.0 is not 0.0, and NaN is itself.
        unequal = np.flatnonzero(env_numbers.view(np.int64) != twin_numbers.view(np.int64))
        if len(unequal):
            return (
                _difference(twin.state_size, t, int(unequal[0]), env_numbers, twin_numbers),
                t,
                terminated,
                truncated,
            )
    return "", t, bool(terminated), bool(truncated)


def _next_action(key: np.uint64, t: int, n_actions: int, previous: int) -> int:
    """Return the action at step t of an episode: the one before it, or one of n drawn anew."""
    hold = 1 << below(key, 0, HOLDS)
    return below(key, 2 * t + 1, n_actions) if t == 0 or below(key, 2 * t + 2, hold) == 0 else previous


def _difference(state_size: int, t: int, index: int, env_numbers: Any, twin_numbers: Any) -> str:
    """Return in words where the numbers of a step differ."""
    values = [env_numbers[index].item(), twin_numbers[index].item()]
    if index < state_size:
        label = f"state[{index}]"
    elif index < len(env_numbers) - 2:
        label = f"observation[{index - state_size}]"
    else:
        label = "the reward" if index == len(env_numbers) - 2 else "terminated"
    if label == "terminated":
        values = [bool(value) for value in values]
    return f"{label} after step {t} is {values[0]!r}, but the twin's is {values[1]!r}"
