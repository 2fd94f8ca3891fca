"""Trial episodes: they show whether an environment works, and give ranges to features that have none.

Velocities and the like are often unbounded, and conditions need a range to be drawn from. A probe plays up to
20 episodes, at most 5,000 steps in all. Half of them repeat one action throughout, a quarter holds random
actions for up to 64 steps, and a quarter draws an action at each step: independent random actions alone
stay close to where episodes begin.

The range goes from the 1 % quantile of the visited values to the 99 % quantile, a quarter wider on either
side, rounded outwards to two digits. A feature that mostly changes and always in the same direction, such as
time or fuel, also gets the values that it would reach in an episode of full length. Reset seeds and actions
are fixed, so that the same environment always gets the same ranges. Rules see values beyond a range as its
edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ifthen.errors import TaskError
from ifthen.randomness import below, stream
from ifthen.rules.arrays import Floats
from ifthen.rules.feature import INTEGER_LIMIT, REAL_LIMIT
from ifthen.tasks.env_like import AnyEnv
from ifthen.tasks.flatten import FlatSpace, Leaf, check_actions, check_finite, unusable_reward

EPISODES = 20
"""A probe plays at most this many episodes."""
STEPS = 5000
"""A probe takes at most this many steps in all."""
LONG_EPISODES = 8
"""A probe always has the steps for this many episodes; longer ones are broken off."""
CONSTANTS = 10
"""This many episodes of a probe repeat one action."""
HOLDS = 7
"""Held actions last for 1, 2, 4, … steps, one of this many lengths."""
CLOCK = 0.5
"""A feature counts as a clock if it changes in at least this share of the steps."""
LONGER = 4
"""Where all trial episodes terminated, a full one counts as this many times as long as the longest."""
FIRST_SEED = 4_000_000
"""The first reset seed of a probe."""
TRIAL_STEPS = 5
"""An environment is tried for this many steps before it becomes a task."""
QUANTILES = (0.01, 0.99)
"""A probed range begins with these quantiles of the values seen."""
WIDER = 0.25
"""A probed range is widened by this share to both sides."""
MOST_DIGITS = 300
UNBOUNDED = 1e6
"""A declared range that reaches farther than this is of no use."""


def is_open(leaf: Leaf) -> bool:
    """Return whether a number's declared range is of no use to draw conditions from."""
    return not max(abs(leaf.low), abs(leaf.high)) <= UNBOUNDED


def probed_ranges(env: AnyEnv, flat: FlatSpace, t_max: int) -> list[tuple[float, float]]:
    """Play an environment; return a range for every number it observes. A declared end is kept.

    Args:
        env: the environment.
        flat: how its observations become numbers.
        t_max: the steps after which episodes are truncated.
    """
    n_actions, steps_left = int(check_actions(env.action_space).n), STEPS
    episodes = list[list[RandomStep]]()
    while len(episodes) < EPISODES and steps_left > 0:
        share = max(STEPS // LONG_EPISODES, steps_left // (EPISODES - len(episodes)))
        steps = random_steps(env, flat, len(episodes), trial_actions(len(episodes), n_actions))
        episodes.append(list(islice(steps, min(t_max, share, steps_left) + 1)))
        steps_left -= len(episodes[-1]) - 1
    rows = [np.array([step.row for step in episode]) for episode in episodes]
    clocks = clock_ends(rows, full_length(episodes, t_max))
    columns = zip(flat.leaves, np.vstack(rows).T, clocks, strict=True)
    return [_range(leaf, values, ends) for leaf, values, ends in columns]


def trial_actions(episode: int, n_actions: int) -> Callable[[int], int]:
    """Return what gives the action of each step of a probe's episode: constant, held, or independent ones."""
    if episode % 2 == 0:
        turn = episode // 2
        action = turn % n_actions if n_actions <= CONSTANTS else turn * n_actions // CONSTANTS % n_actions
        return lambda step: action
    return held_actions(episode, n_actions) if episode % 4 == 1 else independent_actions(episode, n_actions)


def independent_actions(episode: int, n_actions: int) -> Callable[[int], int]:
    """Return what draws an action at each step, numbered from 1."""
    key = stream(0, "probe", episode)
    return lambda step: below(key, step - 1, n_actions)


def held_actions(episode: int, n_actions: int) -> Callable[[int], int]:
    """Return what draws an action and how long it is held, whenever the one before is over."""
    key, held = stream(0, "probe held", episode), [0, 0]

    def action_at(step: int) -> int:
        if held[1] == 0:
            held[:] = below(key, 2 * step, n_actions), 1 << below(key, 2 * step + 1, HOLDS)
        held[1] -= 1
        return held[0]

    return action_at


def full_length(episodes: list[list[RandomStep]], t_max: int) -> int:
    """Return about how many steps a long episode takes.

    Args:
        episodes: trial episodes.
        t_max: the steps after which episodes are truncated.
    """
    lengths = [len(episode) - 1 for episode in episodes]
    if any(episode[-1].truncated for episode in episodes):
        return max(lengths)
    if not all(episode[-1].terminated for episode in episodes):  # some were broken off
        return t_max
    return max(lengths) if min(lengths) == max(lengths) else min(t_max, LONGER * max(lengths))


def clock_ends(episodes: list[Floats], full_length: int) -> Floats:
    """Return the least and the largest value that clocks reach in full episodes, `(features, 2)`.

    A clock is a feature that changes in most steps, and in the same direction in all episodes. Episodes of
    trial actions may end long before those of a good policy. Other features get NaN.

    Args:
        episodes: `(steps + 1, features)` each.
        full_length: the steps of a full episode.
    """
    ends = np.full((episodes[0].shape[1], 2), np.nan)
    changes = np.vstack([np.diff(rows, axis=0) for rows in episodes])
    if not len(changes):
        return ends
    one_way = (changes >= 0).all(axis=0) | (changes <= 0).all(axis=0)
    is_clock = one_way & ((changes != 0).mean(axis=0) >= CLOCK)
    median_length = np.median([len(rows) for rows in episodes])
    long_episodes = [rows for rows in episodes if len(rows) >= max(2, median_length)]
    slopes = np.array([(rows[-1] - rows[0]) / (len(rows) - 1) for rows in long_episodes])
    fastest = np.take_along_axis(slopes, np.abs(slopes).argmax(axis=0)[None], axis=0)[0]
    starts = np.array([rows[0] for rows in episodes])
    full = np.vstack([starts, starts + full_length * fastest])
    ends[is_clock] = np.stack([full.min(axis=0), full.max(axis=0)], axis=1)[is_clock]
    return ends


def try_out(env: AnyEnv, flat: FlatSpace) -> None:
    """Play a few random steps; raise TaskError if an environment does not keep to its own spaces."""
    for _ in islice(random_steps(env, flat, 0), TRIAL_STEPS + 1):
        pass


class RandomStep(NamedTuple):
    """What a step of a random episode led to; the first one is the reset."""

    row: Floats
    reward: float
    terminated: bool
    truncated: bool


def random_steps(
    env: AnyEnv, flat: FlatSpace, episode: int, action_at: Callable[[int], int] | None = None
) -> Iterator[RandomStep]:
    """Play one episode with random actions, the same for the same number, and yield its steps.

    Args:
        env: the environment.
        flat: how its observations become numbers.
        episode: the episode's number.
        action_at: gives the action of each step, from 0; independent random ones where None.

    Raises:
        TaskError: where the environment fails or does not keep to its own spaces.
    """
    actions, seed = check_actions(env.action_space), FIRST_SEED + episode
    action_at = action_at or independent_actions(episode, int(actions.n))
    ended, step = False, 0
    while not ended:
        location = f"at step {step} after reset(seed={seed})"
        action = int(actions.start) + (action_at(step) if step else 0)
        try:
            returned: tuple[Any, ...] = env.step(action) if step else env.reset(seed=seed)
        except (Exception, SystemExit) as problem:
            advice = _on_reset(problem) if step == 0 else _on_step(env, seed, action) if step == 1 else ""
            raise TaskError(f"the environment raised {problem!r} {location}.{advice}") from problem
        try:
            if step == 0:
                observation, reward, terminated, truncated = checked_reset(returned), 0.0, False, False
            else:
                observation, reward, terminated, truncated = checked_step(returned)
            row = flat.row(observation)
        except TaskError as problem:
            raise TaskError(f"{str(problem).rstrip('.')} ({location}).") from None
        if not math.isfinite(reward):
            raise unusable_reward("the environment", reward, f" {location}")
        check_finite("the environment", [leaf.name for leaf in flat.leaves], row, f" {location}")
        yield RandomStep(row, reward, terminated, truncated)
        ended, step = terminated or truncated, step + 1


def _on_reset(problem: BaseException) -> str:
    """Return what to do about a reset that does not take a seed; "" for other problems."""
    if not isinstance(problem, TypeError) or "'seed'" not in str(problem):
        return ""
    return (
        " Gymnasium's reset takes a seed, reset(self, *, seed=None, options=None), and returns an "
        "observation and a dictionary."
    )


def _on_step(env: AnyEnv, seed: int, action: int) -> str:
    """Return what to do where a first step fails with a plain int, but not with a number of NumPy's."""
    try:
        env.reset(seed=seed)
        env.step(np.int64(action))
    except (Exception, SystemExit):
        return ""
    return (
        " It takes actions as numbers of NumPy's, but rules give plain ints. Let it take both, or wrap it: "
        "gymnasium.wrappers.TransformAction(env, numpy.int64, env.action_space)."
    )


def checked_reset(returned: Any) -> Any:
    """Return the observation that `reset` returned; raise TaskError if it returned something else."""
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        raise TaskError(f"reset must return an observation and a dictionary of infos, not {returned!r}.")
    return returned[0]


def checked_step(returned: Any) -> tuple[Any, float, bool, bool]:
    """Return observation, reward, terminated and truncated as `step` returned them, or raise TaskError."""
    if not isinstance(returned, (tuple, list)) or len(returned) != 5:
        raise TaskError(
            f"step must return an observation, a reward, terminated, truncated and infos, not {returned!r}."
        )
    observation, reward, terminated, truncated, _ = returned
    if not isinstance(reward, float):
        try:
            if isinstance(reward, (str, bytes)) or np.size(reward) != 1:
                raise TypeError
            reward = float(np.asarray(reward).item())  # also one number in an array or a list
        except (TypeError, ValueError):
            raise TaskError(
                f"rewards must be single numbers, not {reward!r}. Wrap the environment so that it adds up "
                "several with a weight for each, as gymnasium.wrappers.TransformReward can."
            ) from None
    return observation, reward, bool(terminated), bool(truncated)


def _range(leaf: Leaf, values: Floats, clock: Floats) -> tuple[float, float]:
    """Return the range of one number: its declared ends, else quantiles of the visited values.

    Args:
        leaf: what is declared of the number.
        values: the visited ones.
        clock: `(2,)`: what it reaches as a clock; NaN where it is none.
    """
    low, high = (float(end) for end in np.quantile(values, QUANTILES))
    margin = WIDER * (high - low) or max(1.0, abs(low))
    low, high = np.fmin(low - margin, clock[0]), np.fmax(high + margin, clock[1])
    low, high = _rounded(low, math.floor), _rounded(high, math.ceil)
    if abs(leaf.low) <= UNBOUNDED:
        low, high = leaf.low, max(high, leaf.low + 1)
    if abs(leaf.high) <= UNBOUNDED:
        low, high = min(low, leaf.high - 1), leaf.high
    low, high = max(low, leaf.low), min(high, leaf.high)
    if low >= high:  # the environment does not keep to the range that it declares
        low, high = max(leaf.low, -REAL_LIMIT), min(leaf.high, REAL_LIMIT)
    if leaf.kind == "integer":
        low, high = max(math.floor(low), -INTEGER_LIMIT), min(math.ceil(high), INTEGER_LIMIT)
    return low, high


def _rounded(value: float, direction: Callable[[float], int]) -> float:
    """Return a number rounded to two digits, up or down."""
    if value == 0:
        return 0.0
    value = min(max(value, -REAL_LIMIT), REAL_LIMIT)
    digits = min(1 - math.floor(math.log10(abs(value))), MOST_DIGITS)
    scale = 10.0**digits
    return float(direction(round(value * scale, 9)) / scale) + 0.0
