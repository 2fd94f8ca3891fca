"""ZCS step by step: match, choose, let the bucket brigade pay, reward, and let the GA search."""

from __future__ import annotations

import math

import numpy as np

from ifthen.jit import lean_kernel
from ifthen.randomness import below, fold, uniform
from ifthen.rules.arrays import Floats
from ifthen.simulate.table_noise import outcome
from ifthen.simulate.twin_play import Starts, is_finite
from ifthen.systems.zcs.breed import breed, cover, spin
from ifthen.systems.zcs.zcs_population import EPISODES, LEAST, STEPS, TIME, Learning
from ifthen.tasks.tabular_task import Dynamics
from ifthen.tasks.twin import call_step

ROUNDING = 1e-9
"""A reward may be this share below the least known reward, because floats are rounded."""


@lean_kernel
def clip(own: Learning) -> None:
    """Move what is seen into the features' ranges."""
    for d in range(own.seen.shape[1]):
        own.seen[0, d] = min(max(own.seen[0, d], own.lows[d]), own.highs[d])


@lean_kernel
def match_set(own: Learning) -> int:
    """Write the rules that match what is seen into `members`; return how many there are."""
    n = 0
    for r in range(own.settings.rules):
        inside = True
        for d in range(own.bounds.shape[1]):
            if own.seen[0, d] < own.bounds[r, d, 0] or own.seen[0, d] > own.bounds[r, d, 1]:
                inside = False
                break
        if inside:
            own.members[n] = r
            n += 1
    return n


@lean_kernel
def act(key: np.uint64, own: Learning) -> int:
    """Begin a step: choose an action for what is seen, and let its set pay the set before."""
    settings, strength, members = own.settings, own.strength, own.members
    step = fold(fold(key, 1), own.clock[STEPS])
    n, matching, every = match_set(own), 0.0, 0.0
    for i in range(n):
        matching += strength[members[i]]
    for r in range(settings.rules):
        every += strength[r]
    mean = every / settings.rules
    if n == 0 or matching < settings.phi * mean:
        cover(fold(step, 0), mean, own)
        n = match_set(own)
    for i in range(n):
        own.wheel[i] = strength[members[i]]
    a = own.action[members[spin(uniform(step, 0), n, own.wheel)]]
    bucket, before = 0.0, 0
    for i in range(n):
        r = members[i]
        share = settings.beta if own.action[r] == a else settings.tau
        if own.action[r] == a:
            bucket += share * strength[r]
        strength[r] = max((1.0 - share) * strength[r], LEAST)
    for r in range(settings.rules):
        before += own.held[r]
    for r in range(settings.rules):
        if own.held[r]:
            strength[r] += settings.gamma * bucket / before
            own.held[r] = False
    for i in range(n):
        own.held[members[i]] = own.action[members[i]] == a
    own.clock[STEPS] += 1
    own.clock[TIME] += 1
    return int(a)


@lean_kernel
def is_too_low(reward: float, own: Learning) -> bool:
    """Return whether a reward stays negative when it is raised; a floor gives the least one with an error."""
    return reward + own.settings.raised < -ROUNDING * max(1.0, own.settings.raised)


@lean_kernel
def settle(key: np.uint64, reward: float, terminated: bool, over: bool, own: Learning) -> None:
    """End a step: reward the action set, forget it where the problem is over, and let the GA search."""
    settings, size = own.settings, 0
    payoff = reward + settings.raised
    if terminated:
        payoff += settings.gamma * settings.raised / (1.0 - settings.gamma)
    for r in range(settings.rules):
        size += own.held[r]
    for r in range(settings.rules):
        if own.held[r]:
            own.strength[r] += settings.beta * max(settings.scale * payoff, 0.0) / size
            own.held[r] = not over
    step = fold(fold(key, 1), own.clock[STEPS] - 1)
    if uniform(step, 1) < settings.ga_rate:
        breed(fold(step, 1), own)
    if over:
        own.recent[own.clock[EPISODES] % len(own.recent)] = own.clock[TIME]
        own.clock[EPISODES] += 1
        own.clock[TIME] = 0


@lean_kernel
def run_table(
    key: np.uint64, steps: int, episodes: int, model: Dynamics, cuts: Floats, own: Learning
) -> None:
    """Learn on a table up to a total of steps or problems; the last problem is finished."""
    clock, s = own.clock, 0
    while clock[TIME] > 0 or (clock[EPISODES] < episodes and clock[STEPS] < steps):
        if clock[TIME] == 0:
            s = model.starts[below(fold(key, 0), clock[EPISODES], len(model.starts))]
        k = outcome(fold(fold(key, 1), clock[STEPS]), cuts, 2)
        for d in range(own.seen.shape[1]):
            own.seen[0, d] = model.points[s, d]
        a = act(key, own)
        follows = model.next_state[s, a, k]
        over = follows < 0 or clock[TIME] >= own.settings.t_max
        settle(key, model.reward[s, a, k], follows < 0, over, own)
        s = follows


@lean_kernel
def run_twin(
    key: np.uint64,
    steps: int,
    episodes: int,
    address: int,
    begin: Starts,
    state: Floats,
    reward: Floats,
    own: Learning,
) -> int:
    """Learn in a twin up to a total of steps or problems; the last problem is finished.

    `state` is memory for the twin's state, `(1, state size)`, and `reward` for the reward, `(1,)`.
    Returns −1, or the number of the start that led to an observation or a reward that is not finite, or to a
    reward that is too low.
    """
    clock, seen = own.clock, own.seen
    while clock[EPISODES] < episodes and clock[STEPS] < steps:
        e, over = below(fold(key, 0), clock[EPISODES], len(begin.states)), False
        for i in range(state.shape[1]):
            state[0, i] = begin.states[e, i]
        for d in range(seen.shape[1]):
            seen[0, d] = begin.points[e, d]
        while not over:
            clip(own)
            a = act(key, own)
            terminated = call_step(address, state, 0, a, seen, reward)
            if not (is_finite(seen, 0) and math.isfinite(reward[0])):
                return e
            if is_too_low(reward[0], own):
                return e
            over = terminated or clock[TIME] >= begin.t_max
            settle(key, reward[0], terminated, over, own)
    return -1
