"""Whole episodes of rules in a compiled twin.

Episodes are played one after another; an item is one episode of one ruleset, number i · k + e for start e of
k. They start in the states and observations that the real environment has after `reset(seed=…)`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ifthen.jit import inlined_kernel, kernel, lean_kernel
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.batch import Intervals, put_terms
from ifthen.rules.blocks import Blocks, chosen_by_blocks, fill_blocks, new_blocks
from ifthen.simulate.trajectories import NO_RULE, TERMINATED, TRUNCATED, Episodes
from ifthen.tasks.twin import call_step

NOT_FINITE = 3
"""The ending of an episode with an observation that is not finite; it is never handed out."""

GOES_ON = -1
"""An episode that has not ended."""


class Starts(NamedTuple):
    """Where k episodes start."""

    states: Floats
    """`(k, state_size)`."""
    points: Floats
    """`(k, features)`: what is observed there, not clipped."""
    t_max: int
    """The task's limit of steps, or the environment's where that is less."""


@lean_kernel
def step_lanes(
    address: int, states: Floats, actions: Ints, points: Floats, rewards: Floats, ends: Mask
) -> None:
    """Take a step in every row `(m, …)` whose action is not −1, and write which episodes terminated."""
    for lane in range(len(actions)):
        if actions[lane] >= 0:
            ends[lane] = call_step(address, states, lane, actions[lane], points, rewards)


@inlined_kernel
def is_finite(points: Floats, lane: int) -> bool:
    """Return whether all numbers of a row are finite."""
    # Zero times infinity, and times NaN, is NaN, and stays so: one comparison for all.
    total = 0.0
    for d in range(points.shape[1]):
        total += 0.0 * points[lane, d]
    return total == 0.0


@lean_kernel
def play_on(
    address: int,
    rules: Intervals,
    i: int,
    blocks: Blocks,
    first: int,
    last: int,
    gained: float,
    factor: float,
    gamma: float,
    states: Floats,
    points: Floats,
    rewards: Floats,
) -> tuple[float, float, int, int]:
    """Play steps `first` to `last − 1` of an episode of ruleset i, from row 0 of states and points.

    Behind the features, the row of points has room for the values of terms.

    Returns gain and factor, which were given so far, steps, and the ending: `GOES_ON` where there is none.
    """
    has_terms = rules.terms.shape[1] > 0
    for t in range(first, last):
        if has_terms:
            put_terms(rules, i, points, 0)
        action = chosen_by_blocks(rules, i, blocks, points, 0)
        if action < 0:
            return gained, factor, t, NO_RULE
        end = call_step(address, states, 0, action, points, rewards)
        gained += factor * rewards[0]
        factor *= gamma
        if not is_finite(points, 0):
            return gained, factor, t + 1, NOT_FINITE
        if end:
            return gained, factor, t + 1, TERMINATED
    return gained, factor, last, GOES_ON


@lean_kernel
def play_episode(
    address: int,
    rules: Intervals,
    i: int,
    blocks: Blocks,
    t_max: int,
    gamma: float,
    states: Floats,
    points: Floats,
    rewards: Floats,
) -> tuple[float, int, int]:
    """Play ruleset i from row 0 of states and points; return its gain, steps and ending."""
    gained, _, steps, ending = play_on(
        address, rules, i, blocks, 0, t_max, 0.0, 1.0, gamma, states, points, rewards
    )
    return gained, steps, TRUNCATED if ending == GOES_ON else ending


@kernel
def play_items(
    first: int,
    last: int,
    address: int,
    rules: Intervals,
    starts: Starts,
    gamma: float,
    out: Episodes,
) -> None:
    """Play the items `first` to `last − 1` and write what they got; `out` is `(n · k,)`."""
    k, features = starts.points.shape
    states, points, rewards = (
        np.empty_like(starts.states[:1]),
        np.zeros((1, rules.lows.shape[2])),
        np.empty(1),
    )
    blocks, current = new_blocks(rules), -1
    for item in range(first, last):
        i, e = item // k, item % k
        if i != current:
            fill_blocks(rules, i, blocks)
            current = i
        for d in range(states.shape[1]):
            states[0, d] = starts.states[e, d]
        for d in range(features):
            points[0, d] = starts.points[e, d]
        gained, steps, ending = play_episode(
            address, rules, i, blocks, starts.t_max, gamma, states, points, rewards
        )
        out.returns[item], out.steps[item], out.endings[item] = gained, steps, ending
