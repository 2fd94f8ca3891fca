"""XCSF on an environment, one step at a time: what was observed goes in, an action comes out.

The state before and the present one stand in two live rows, in turns. When a new one arrives, all rules are
asked once whether they match it; from then on its masks follow rules that come and go, as a table's do.
Python environments and compiled twins share `live_step`, so that both give the same bytes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import lean_kernel
from ifthen.randomness import fold
from ifthen.rollout.twin import is_finite, step_twin
from ifthen.rollout.twin_starts import Beginnings
from ifthen.rules.box import ONE, WORD, ZERO, lowest_bit
from ifthen.systems.xcsf.index import Space
from ifthen.systems.xcsf.places import Live, matches_live
from ifthen.systems.xcsf.population import Classifiers
from ifthen.systems.xcsf.run import act, begin_episode, follow
from ifthen.systems.xcsf.settings import Reach, Settings


@lean_kernel
def arrive(
    row: int,
    seen: NDArray[np.float64],
    model: Live,
    classifiers: Classifiers,
    space: Space,
    reach: Reach,
) -> None:
    """Put what was observed, the first row of `seen`, into a live row, and find the rules that match it."""
    rules, bounds = classifiers.rules, classifiers.bounds
    for d in range(seen.shape[1]):
        value = min(max(seen[0, d], reach.lows[d]), reach.highs[d])
        space.live[row, d] = value
        model.points[row, d] = space.inputs[row, d + 1] = (value - model.centres[d]) / model.halves[d]
    for word in range(len(space.used)):
        for a in range(space.masks.shape[1]):
            space.masks[row, a, word] = ZERO
        bits = space.used[word]
        while bits != ZERO:
            r = word * WORD + lowest_bit(bits)
            if matches_live(r, row, bounds, space.live):
                space.masks[row, rules[r].action, word] |= bits & (~bits + ONE)
            bits &= bits - ONE


@lean_kernel
def live_step(
    key: np.uint64,
    seen: NDArray[np.float64],
    reward: float,
    terminated: bool,
    truncated: bool,
    model: Live,
    classifiers: Classifiers,
    space: Space,
    settings: Settings,
    reach: Reach,
) -> int:
    """Learn from what followed the last action; return the next one, −1 where the episode is over.

    In the first call of an episode `seen` is what it begins with, and there is no reward yet.
    """
    clock = classifiers.clock[0]
    if clock.state < 0:
        clock.state = 0
        arrive(0, seen, model, classifiers, space, reach)
    else:
        follows = -1 if terminated else 1 - clock.state
        if follows >= 0:
            arrive(follows, seen, model, classifiers, space, reach)
        over = truncated or clock.time >= settings.t_max
        follow(key, follows, over, reward, model, classifiers, space, settings, reach)
    return act(key, model, classifiers, space, settings, reach) if clock.state >= 0 else -1


@lean_kernel
def next_start(key: np.uint64, starts: int, classifiers: Classifiers, settings_of_one: Settings) -> int:
    """Begin an episode; return which of so many reset seeds it has."""
    return begin_episode(fold(key, 0), starts, classifiers.clock[0], settings_of_one[0].p_explore)


@lean_kernel
def next_action(
    key: np.uint64,
    seen: NDArray[np.float64],
    reward: float,
    terminated: bool,
    truncated: bool,
    model: Live,
    classifiers: Classifiers,
    space: Space,
    settings_of_one: Settings,
    reach: Reach,
) -> int:
    """Do what `live_step` does, for Python."""
    settings = settings_of_one[0]
    return live_step(
        fold(key, 1), seen, reward, terminated, truncated, model, classifiers, space, settings, reach
    )


@lean_kernel
def run_twin(
    key: np.uint64,
    invocations: int,
    steps: int,
    episodes: int,
    address: int,
    begin: Beginnings,
    lane: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    model: Live,
    classifiers: Classifiers,
    space: Space,
    settings_of_one: Settings,
    reach: Reach,
) -> int:
    """Play whole episodes in a twin until there were so many GA invocations, steps or episodes in all.

    `lane` is memory for the twin's state `(1, state size)`, what is seen `(1, features)` and the reward.
    Returns −1 or, where what is seen or the reward is not finite, which of the beginnings led there; nothing
    is learnt from that step.
    """
    settings, clock = settings_of_one[0], classifiers.clock[0]
    by_episode, by_step = fold(key, 0), fold(key, 1)
    state, seen, reward = lane
    while clock.ga_invocations < invocations and clock.steps < steps and clock.episodes < episodes:
        e = begin_episode(by_episode, len(begin.states), clock, settings.p_explore)
        for i in range(state.shape[1]):
            state[0, i] = begin.states[e, i]
        for d in range(seen.shape[1]):
            seen[0, d] = begin.points[e, d]
        a = live_step(by_step, seen, 0.0, False, False, model, classifiers, space, settings, reach)
        while a >= 0:
            terminated, truncated = step_twin(address, state, 0, a, seen, reward), clock.time >= begin.t_max
            if not (is_finite(seen, 0) and math.isfinite(reward[0])):
                return e
            a = live_step(
                by_step, seen, reward[0], terminated, truncated, model, classifiers, space, settings, reach
            )
    return -1
