"""Proving a twin equal to its environment: the same actions in both, and every number compared.

Actions are random, and held for a while: each episode has its own mean time between two draws, from 1 step to
64, so that some episodes tremble about their start and others go far, even to the end of a task.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ifthen.checks import whole_number
from ifthen.errors import TaskError
from ifthen.randomness import below, check_seed, stream
from ifthen.tasks.env_task import cannot_make
from ifthen.tasks.spaces import FlatSpace, check_actions
from ifthen.tasks.twins.twin import Twin, replay

LONGEST_EPISODE = 10_000
"""Steps after which an episode is broken off where the environment has no limit of its own."""
HOLDS = 7
"""Mean times between two draws: 1, 2, 4, … 64 steps."""


class Checked(NamedTuple):
    """How much of a twin was compared with its environment."""

    steps: int
    episodes: int
    terminated: int
    """Episodes that terminated."""


class Played(NamedTuple):
    """What an environment did in one episode of T steps."""

    start: NDArray[np.float64]
    """`(state_size,)`."""
    actions: NDArray[np.int64]
    """`(T,)`."""
    states: NDArray[np.float64]
    """`(T, state_size)`, after each step, as all that follows."""
    points: NDArray[np.float64]
    """`(T, features)`."""
    rewards: NDArray[np.float64]
    """`(T,)`."""
    ends: NDArray[np.bool_]
    """`(T,)`: whether it terminated."""


def compare(env: Any, twin: Twin, steps: int, seed: int = 0) -> Checked | str:
    """Play environment and twin side by side; return how much was compared, or the first difference in words.

    Args:
        env: the environment.
        twin: its twin.
        steps: how many steps to compare.
        seed: the first episode's reset seed; each episode takes the next one.
    """
    check_actions(env.action_space)
    flat, limit = FlatSpace.of(env.observation_space), env.spec.max_episode_steps if env.spec else None
    done = episodes = terminated = 0
    while done < steps:
        longest = min(steps - done, limit or LONGEST_EPISODE)
        with np.errstate(over="ignore"):  # draws wrap around, which NumPy mentions where nothing is compiled
            played, truncated = play_real(env, twin, flat, seed + episodes, longest)
        length = len(played.actions)
        if truncated and length != limit:
            return (
                f"with reset seed {seed + episodes} the environment truncated the episode at step {length}, "
                "which is for its time limit alone to do"
            )
        different = difference(twin, played)
        if different:
            return f"with reset seed {seed + episodes}, {different}"
        done, episodes, terminated = done + length, episodes + 1, terminated + int(played.ends[-1])
    return Checked(done, episodes, terminated)


def play_real(env: Any, twin: Twin, flat: FlatSpace, seed: int, longest: int) -> tuple[Played, bool]:
    """Play one episode in the environment; return what it did, and whether it was truncated."""
    first, n = int(env.action_space.start), int(env.action_space.n)
    key, action, truncated = stream(seed, "twin"), 0, False
    env.reset(seed=seed)
    start = twin.state_of(env)
    actions: list[int] = []
    states, points, rewards, ends = [], [], [], [False]
    while len(actions) < longest and not truncated and not ends[-1]:
        action = next_action(key, len(actions), n, action)
        observation, reward, terminated, truncated, _ = env.step(first + action)
        actions.append(action)
        states.append(twin.state_of(env))
        points.append(flat.row(observation))
        rewards.append(float(reward))
        ends.append(bool(terminated))
    arrays = (np.array(each) for each in (actions, states, points, rewards, ends[1:]))
    return Played(start, *arrays), bool(truncated)


def next_action(key: np.uint64, t: int, n: int, before: int) -> int:
    """Return the action at step t of an episode: that before it, or one of n drawn anew."""
    hold = 1 << below(key, 0, HOLDS)
    return below(key, 2 * t + 1, n) if t == 0 or below(key, 2 * t + 2, hold) == 0 else before


def difference(twin: Twin, played: Played) -> str:
    """Return the first difference between an episode and the twin's own, in words; nothing if none."""
    own = played._replace(
        states=np.empty_like(played.states),
        points=np.empty_like(played.points),
        rewards=np.empty_like(played.rewards),
        ends=np.empty_like(played.ends),
    )
    replay(twin.step, played.start, played.actions, own.states, own.points, own.rewards, own.ends)
    names = ("states", "points", "rewards", "ends")
    unlike = {
        name: np.argwhere(bits_of(getattr(played, name)) != bits_of(getattr(own, name))) for name in names
    }
    found = {name: tuple(places[0]) for name, places in unlike.items() if len(places)}
    if not found:
        return ""
    name = min(found, key=lambda each: found[each][0])
    place = found[name]
    what = {"states": "state[{}]", "points": "observation[{}]", "rewards": "the reward", "ends": "terminated"}
    real, twins = (getattr(each, name)[place].item() for each in (played, own))
    return (
        f"{what[name].format(*place[1:])} after step {place[0] + 1} is {real!r}, but the twin's is {twins!r}"
    )


def bits_of(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return numbers so that only the same bits are equal: −0.0 is not 0.0, and NaN is itself."""
    return numbers.view(np.int64) if numbers.dtype == np.float64 else numbers


def check_twin(
    environment: str, steps: int = 1_000_000, seed: int = 0, twin: Twin | None = None, **options: Any
) -> Checked:
    """Compare a twin with its environment step by step; raise TaskError at the first number that differs.

    Args:
        environment: the environment's id.
        steps: how many steps to compare.
        seed: the first episode's reset seed; each episode takes the next one.
        twin: the twin; the one registered for the environment where none is given.
        options: keyword arguments for making the environment.

    Returns:
        How many steps and episodes were compared, and how many of them terminated: see that some did.
    """
    from ifthen.tasks.twins.find import registered_twin

    whole_number("steps", steps, 1, 10**12)
    check_seed(seed)
    own = registered_twin(environment) if twin is None else twin
    if own is None:
        raise TaskError(f"{environment} has no twin to check: register one (docs/twins.md).")
    try:
        env: Any = gymnasium.make(environment, **options)
    except Exception as problem:  # TypeError for an option that it does not have
        raise TaskError(cannot_make(environment, problem)) from problem
    try:
        checked = compare(env, own, steps, seed)
    finally:
        env.close()
    if isinstance(checked, str):
        raise TaskError(f"the twin of {own.name} is not equal to {environment}: {checked}.")
    return checked
