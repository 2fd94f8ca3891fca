"""Random episodes: they show whether an environment works, and give ranges to features that have none.

Velocities and the like are often unbounded, and conditions need a range to be drawn from. A probe plays
20 episodes (at most 5,000 steps) with random actions. The range goes from the 1 % quantile of the visited
values to the 99 % quantile, a quarter wider on either side, rounded outwards to two digits. Reset seeds and
actions are fixed, so that the same environment always gets the same ranges. Rules see
values beyond a range as its edge.
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
"""A probe plays this many episodes."""
STEPS = 5000
"""A probe takes at most this many steps in all."""
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


def probed_ranges(env: AnyEnv, flat: FlatSpace) -> list[tuple[float, float]]:
    """Play an environment; return a range for every number it observes. A declared end is kept."""
    visited = np.array([row for e in range(EPISODES) for row in _episode(env, flat, e, STEPS // EPISODES)])
    return [_range(leaf, column) for leaf, column in zip(flat.leaves, visited.T, strict=True)]


def try_out(env: AnyEnv, flat: FlatSpace) -> None:
    """Play a few random steps; raise TaskError if an environment does not keep to its own spaces."""
    _episode(env, flat, 0, TRIAL_STEPS)


def _episode(env: AnyEnv, flat: FlatSpace, episode: int, max_steps: int) -> list[Floats]:
    """Return the observations of one random episode, at most `max_steps` steps long, as rows of numbers."""
    return [step.row for step in islice(random_steps(env, flat, episode), max_steps + 1)]


class RandomStep(NamedTuple):
    """What a step of a random episode led to; the first one is the reset."""

    row: Floats
    reward: float
    terminated: bool
    truncated: bool


def random_steps(env: AnyEnv, flat: FlatSpace, episode: int) -> Iterator[RandomStep]:
    """Play one episode with random actions, the same for the same number, and yield its steps.

    Raises:
        TaskError: where the environment fails or does not keep to its own spaces.
    """
    key, seed = stream(0, "probe", episode), FIRST_SEED + episode
    actions = check_actions(env.action_space)
    ended, step = False, 0
    while not ended:
        location = f"at step {step} after reset(seed={seed})"
        action = int(actions.start) + (below(key, step - 1, int(actions.n)) if step else 0)
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


def _range(leaf: Leaf, values: Floats) -> tuple[float, float]:
    """Return the range of one number: its declared ends, else quantiles of the visited values."""
    low, high = (float(end) for end in np.quantile(values, QUANTILES))
    margin = WIDER * (high - low) or max(1.0, abs(low))
    low, high = _rounded(low - margin, math.floor), _rounded(high + margin, math.ceil)
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
