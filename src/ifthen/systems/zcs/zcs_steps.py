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
def clip(learning: Learning) -> None:
    """Move what is seen into the features' ranges."""
    for d in range(learning.observation.shape[1]):
        learning.observation[0, d] = min(max(learning.observation[0, d], learning.lows[d]), learning.highs[d])


@lean_kernel
def match_set(learning: Learning) -> int:
    """Write the rules that match what is seen into `members`; return how many there are."""
    n = 0
    for r in range(learning.settings.rules):
        matches = True
        for d in range(learning.bounds.shape[1]):
            if (
                learning.observation[0, d] < learning.bounds[r, d, 0]
                or learning.observation[0, d] > learning.bounds[r, d, 1]
            ):
                matches = False
                break
        if matches:
            learning.members[n] = r
            n += 1
    return n


@lean_kernel
def act(key: np.uint64, learning: Learning) -> int:
    """Begin a step: choose an action for what is seen, and let its set pay the set before."""
    settings, strength, members = learning.settings, learning.strength, learning.members
    step_key = fold(fold(key, 1), learning.clock[STEPS])
    n_matching, matching_strength, total_strength = match_set(learning), 0.0, 0.0
    for i in range(n_matching):
        matching_strength += strength[members[i]]
    for r in range(settings.rules):
        total_strength += strength[r]
    mean_strength = total_strength / settings.rules
    if n_matching == 0 or matching_strength < settings.phi * mean_strength:
        cover(fold(step_key, 0), mean_strength, learning)
        n_matching = match_set(learning)
    for i in range(n_matching):
        learning.wheel[i] = strength[members[i]]
    action = learning.action[members[spin(uniform(step_key, 0), n_matching, learning.wheel)]]
    bucket, size_before = 0.0, 0
    for i in range(n_matching):
        r = members[i]
        share = settings.beta if learning.action[r] == action else settings.tau
        if learning.action[r] == action:
            bucket += share * strength[r]
        strength[r] = max((1.0 - share) * strength[r], LEAST)
    for r in range(settings.rules):
        size_before += learning.action_set[r]
    for r in range(settings.rules):
        if learning.action_set[r]:
            strength[r] += settings.gamma * bucket / size_before
            learning.action_set[r] = False
    for i in range(n_matching):
        learning.action_set[members[i]] = learning.action[members[i]] == action
    learning.clock[STEPS] += 1
    learning.clock[TIME] += 1
    return int(action)


@lean_kernel
def is_too_low(reward: float, learning: Learning) -> bool:
    """Return whether a reward stays negative when it is raised; a floor gives the least one with an error."""
    return reward + learning.settings.raised < -ROUNDING * max(1.0, learning.settings.raised)


@lean_kernel
def settle(key: np.uint64, reward: float, terminated: bool, done: bool, learning: Learning) -> None:
    """End a step: reward the action set, forget it where the problem is over, and let the GA search."""
    settings, size = learning.settings, 0
    payoff = reward + settings.raised
    if terminated:
        payoff += settings.gamma * settings.raised / (1.0 - settings.gamma)
    for r in range(settings.rules):
        size += learning.action_set[r]
    for r in range(settings.rules):
        if learning.action_set[r]:
            learning.strength[r] += settings.beta * max(settings.scale * payoff, 0.0) / size
            learning.action_set[r] = not done
    step_key = fold(fold(key, 1), learning.clock[STEPS] - 1)
    if uniform(step_key, 1) < settings.ga_rate:
        breed(fold(step_key, 1), learning)
    if done:
        learning.recent[learning.clock[EPISODES] % len(learning.recent)] = learning.clock[TIME]
        learning.clock[EPISODES] += 1
        learning.clock[TIME] = 0


@lean_kernel
def run_table(
    key: np.uint64, steps: int, episodes: int, model: Dynamics, cuts: Floats, learning: Learning
) -> None:
    """Learn on a table up to a total of steps or problems; the last problem is finished."""
    clock, s = learning.clock, 0
    while clock[TIME] > 0 or (clock[EPISODES] < episodes and clock[STEPS] < steps):
        if clock[TIME] == 0:
            s = model.starts[below(fold(key, 0), clock[EPISODES], len(model.starts))]
        k = outcome(fold(fold(key, 1), clock[STEPS]), cuts, 2)
        for d in range(learning.observation.shape[1]):
            learning.observation[0, d] = model.points[s, d]
        a = act(key, learning)
        next_state = model.next_state[s, a, k]
        done = next_state < 0 or clock[TIME] >= learning.settings.t_max
        settle(key, model.reward[s, a, k], next_state < 0, done, learning)
        s = next_state


@lean_kernel
def run_twin(
    key: np.uint64,
    steps: int,
    episodes: int,
    address: int,
    starts: Starts,
    state: Floats,
    reward: Floats,
    learning: Learning,
) -> int:
    """Learn in a twin up to a total of steps or problems; the last problem is finished.

    `state` is memory for the twin's state, `(1, state size)`, and `reward` for the reward, `(1,)`.
    Returns −1, or the number of the start that led to an observation or a reward that is not finite, or to a
    reward that is too low.
    """
    clock, observation = learning.clock, learning.observation
    while clock[EPISODES] < episodes and clock[STEPS] < steps:
        start, done = below(fold(key, 0), clock[EPISODES], len(starts.states)), False
        for i in range(state.shape[1]):
            state[0, i] = starts.states[start, i]
        for d in range(observation.shape[1]):
            observation[0, d] = starts.points[start, d]
        while not done:
            clip(learning)
            a = act(key, learning)
            terminated = call_step(address, state, 0, a, observation, reward)
            if not (is_finite(observation, 0) and math.isfinite(reward[0])):
                return start
            if is_too_low(reward[0], learning):
                return start
            done = terminated or clock[TIME] >= starts.t_max
            settle(key, reward[0], terminated, done, learning)
    return -1
