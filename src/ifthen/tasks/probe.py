"""Working ranges for features that have none: what a random policy meets.

Velocities and the like are often unbounded, and conditions need a range to be drawn from. A probe plays
20 episodes (at most 5,000 steps) with random actions; the range is that between the 1 % and 99 % quantiles of
the values met, a quarter wider on either side, rounded outwards to two digits. Reset seeds and actions are
fixed, so that the same environment always gets the same ranges. Rules see what lies beyond as the edge.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.randomness import below, stream
from ifthen.rules.features import INTEGER_LIMIT, REAL_LIMIT
from ifthen.tasks.answers import reset_answer, step_answer
from ifthen.tasks.spaces import FlatSpace, Leaf

EPISODES, STEPS, FIRST_SEED = 20, 5000, 4_000_000
TRIAL_STEPS = 5
QUANTILES, WIDER = (0.01, 0.99), 0.25
MOST_DIGITS = 300
UNBOUNDED = 1e6
"""An end of a declared range beyond this says no more than none."""


def is_open(leaf: Leaf) -> bool:
    """Return whether a number's declared range is of no use to draw conditions from."""
    return not max(abs(leaf.low), abs(leaf.high)) <= UNBOUNDED


def probed_ranges(env: Any, flat: FlatSpace) -> list[tuple[float, float]]:
    """Return a range for every number that an environment observes; a declared end is kept.

    Args:
        env: the environment; it is played.
        flat: how its observations become rows of numbers.
    """
    met = met_by_chance(env, flat)
    return [_range(leaf, column) for leaf, column in zip(flat.leaves, met.T, strict=True)]


def met_by_chance(env: Any, flat: FlatSpace) -> NDArray[np.float64]:
    """Return the rows of numbers that a random policy meets, `(n, features)`."""
    rows: list[NDArray[np.float64]] = []
    for episode in range(EPISODES):
        rows += _episode(env, flat, episode, STEPS // EPISODES)
    return np.array(rows)


def try_out(env: Any, flat: FlatSpace) -> None:
    """Play a few random steps, and raise TaskError where an environment does not keep to its own spaces."""
    _episode(env, flat, 0, TRIAL_STEPS)


def _episode(env: Any, flat: FlatSpace, episode: int, most: int) -> list[NDArray[np.float64]]:
    """Return the rows of numbers that at most so many random steps meet."""
    key, seed = stream(0, "probe", episode), FIRST_SEED + episode
    rows: list[NDArray[np.float64]] = []
    step, ended, reward = 0, False, 0.0
    while step <= most and not ended:
        place = f"at step {step} after reset(seed={seed})"
        try:
            if step == 0:
                answer = env.reset(seed=seed)
            else:
                answer = env.step(int(env.action_space.start) + below(key, step - 1, int(env.action_space.n)))
        except Exception as problem:
            raise TaskError(f"the environment raised {problem!r} {place}.") from problem
        try:
            if step == 0:
                observation = reset_answer(answer)
            else:
                observation, reward, terminated, truncated = step_answer(answer)
                ended = terminated or truncated
            row = flat.row(observation)
        except TaskError as problem:
            raise TaskError(f"{str(problem).rstrip('.')} ({place}).") from None
        _check_finite(row, reward, flat, place)
        rows.append(row)
        step += 1
    return rows


def _check_finite(row: NDArray[np.float64], reward: float, flat: FlatSpace, place: str) -> None:
    """Raise where a number observed, or the reward, is not finite."""
    if not math.isfinite(reward):
        raise TaskError(
            f"the environment gave the reward {reward} {place}; returns need finite numbers. Mend it, or "
            "wrap it so that it gives some."
        )
    for leaf, number in zip(flat.leaves, row.tolist(), strict=True):
        if not math.isfinite(number):
            raise TaskError(
                f"the environment observed {number} for {leaf.name} {place}; rules need finite numbers. "
                "Mend it, or wrap it so that it gives some."
            )


def _range(leaf: Leaf, values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the range of one number: its declared ends, and quantiles of what was met for the others."""
    low, high = (float(end) for end in np.quantile(values, QUANTILES))
    wider = WIDER * (high - low) or max(1.0, abs(low))
    low, high = _outwards(low - wider, math.floor), _outwards(high + wider, math.ceil)
    if abs(leaf.low) <= UNBOUNDED:
        low, high = leaf.low, max(high, leaf.low + 1)
    if abs(leaf.high) <= UNBOUNDED:
        low, high = min(low, leaf.high - 1), leaf.high
    low, high = max(low, leaf.low), min(high, leaf.high)
    if low >= high:  # what was met is not what was declared
        low, high = max(leaf.low, -REAL_LIMIT), min(leaf.high, REAL_LIMIT)
    if leaf.kind == "integer":
        low, high = max(math.floor(low), -INTEGER_LIMIT), min(math.ceil(high), INTEGER_LIMIT)
    return low, high


def _outwards(value: float, direction: Any) -> float:
    """Return a number rounded to two digits, up or down."""
    if value == 0:
        return 0.0
    value = min(max(value, -REAL_LIMIT), REAL_LIMIT)
    digits = min(1 - math.floor(math.log10(abs(value))), MOST_DIGITS)
    scale = 10.0**digits
    return float(direction(round(value * scale, 9)) / scale) + 0.0
