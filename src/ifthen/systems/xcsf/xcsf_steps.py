"""XCSF step by step: act, credit the action set before with what follows, let the GA search in it.

Random numbers come from `key` by position: episode e uses the stream fold(fold(key, 0), e) and step t the
stream fold(fold(key, 1), t), with sub-streams 0 for covering, 1 and 2 for the GA in the set before and in
an episode's last set, 3 for covering where a truncated episode is bootstrapped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import inlined_kernel, lean_kernel
from ifthen.randomness import below, fold, uniform
from ifthen.rules.arrays import Floats
from ifthen.rules.box import ONE, WORD, ZERO, lowest_bit
from ifthen.rules.strength import prediction
from ifthen.simulate.table_noise import outcome
from ifthen.systems.xcsf.ga import is_due, run_ga, specify
from ifthen.systems.xcsf.index import ACTING, HELD, Learning, list_members
from ifthen.systems.xcsf.turnover import cover, subsume_set
from ifthen.systems.xcsf.update import update_set


@lean_kernel
def prediction_array(s: int, own: Learning) -> int:
    """Write the fitness-weighted prediction of every action in state s; return how many have no rule."""
    masks, rules, weights = own.space.masks, own.classifiers.rules, own.classifiers.weights
    points, axes, x0, out = own.model.points, own.model.axes, own.settings[0].x0, own.space.array
    missing = 0
    for a in range(masks.shape[1]):
        weighted, total, anyone = 0.0, 0.0, ZERO
        for word in range(masks.shape[2]):
            mask = masks[s, a, word]
            anyone |= mask
            while mask != ZERO:
                r = word * WORD + lowest_bit(mask)
                mask &= mask - ONE
                weighted += rules[r].fitness * prediction(weights, r, x0, points, s, axes)
                total += rules[r].fitness
        out[a] = weighted / total if anyone != ZERO else np.nan
        missing += anyone == ZERO
    return missing


@lean_kernel
def best_action(key: np.uint64, s: int, own: Learning) -> int:
    """Cover what is missing in state s, write its prediction array into the space, return the best action."""
    space, tries, missing = own.space, 0, 1
    while missing > 0:
        missing = prediction_array(s, own)
        if missing > 0:
            cover(fold(key, tries), s, missing, own)
            tries += 1
    best = 0
    for a in range(1, len(space.array)):
        if space.array[a] > space.array[best]:
            best = a
    return best


@lean_kernel
def credit(key: np.uint64, which: np.int64, s: int, payoff: float, own: Learning) -> None:
    """Update the set HELD or ACTING, met in state s, towards its payoff; run the GA where that is due."""
    classifiers, space, settings = own.classifiers, own.space, own.settings[0]
    clock, members = classifiers.clock[0], space.members
    n = list_members(space.sets, which, members)
    if n == 0:
        return
    update_set(n, s, payoff, own)
    if settings.set_subsumption:
        n = subsume_set(n, own)
    if clock.explore and settings.specify:
        specify(fold(key, 8), n, s, own)
        n = list_members(space.sets, which, members)  # one of them may have been deleted
    if clock.explore and n > 0 and is_due(members, n, classifiers.rules, clock.steps, settings.theta_ga):
        run_ga(key, n, s, own)


@lean_kernel
def begin_episode(key: np.uint64, starts: int, own: Learning) -> int:
    """Begin an episode, which explores or exploits; return the number of its start."""
    clock = own.classifiers.clock[0]
    episode = fold(fold(key, 0), clock.episodes)
    clock.explore = uniform(episode, 0) < own.settings[0].p_explore
    clock.before = -1
    clock.time = 0
    clock.episodes += 1
    return below(episode, 1, starts)


@inlined_kernel
def act(key: np.uint64, own: Learning) -> int:
    """Begin a step: choose an action in the present state, credit the set before with what is promised."""
    clock, space, settings = own.classifiers.clock[0], own.space, own.settings[0]
    step, s = fold(key, clock.steps), clock.state
    clock.steps += 1
    clock.time += 1
    a = best_action(fold(step, 0), s, own)
    top = space.array[a]
    if clock.explore and uniform(step, 0) < settings.epsilon:
        a = below(step, 1, len(space.array))
    for word in range(len(space.used)):
        space.sets[ACTING, word] = space.masks[s, a, word]
    if clock.before >= 0:
        credit(fold(step, 1), HELD, clock.before, clock.pending + settings.gamma * top, own)
    return a


@inlined_kernel
def follow(key: np.uint64, follows: int, truncated: bool, reward: float, own: Learning) -> None:
    """End a step: go on in the state that follows, or end the episode where there is none (−1) or no time."""
    clock, space, settings = own.classifiers.clock[0], own.space, own.settings[0]
    step, s = fold(key, clock.steps - 1), clock.state
    if follows >= 0 and not truncated:
        for word in range(len(space.used)):
            space.sets[HELD, word] = space.sets[ACTING, word]
        clock.before, clock.state, clock.pending = s, follows, reward
        return
    if follows >= 0 and settings.bootstrap:
        clock.state = follows
        best = best_action(fold(step, 3), clock.state, own)
        reward += settings.gamma * space.array[best]
    credit(fold(step, 2), ACTING, s, reward, own)
    for word in range(len(space.used)):
        space.sets[HELD, word] = ZERO
    clock.before = clock.state = -1
    clock.pending = 0.0


@lean_kernel
def run_steps(
    key: np.uint64,
    invocations: int,
    steps: int,
    episodes: int,
    starts: NDArray[np.int32],
    cuts: Floats,
    own: Learning,
) -> None:
    """Learn on a table up to a total of GA invocations, steps or finished episodes."""
    clock, model, t_max, by_step = own.classifiers.clock[0], own.model, own.settings[0].t_max, fold(key, 1)
    while clock.ga_invocations < invocations and clock.steps < steps:
        if clock.state < 0:
            if clock.episodes >= episodes:
                break
            clock.state = starts[begin_episode(key, len(starts), own)]
        s, k = clock.state, outcome(fold(by_step, clock.steps), cuts, 2)
        a = act(by_step, own)
        follow(by_step, model.next_state[s, a, k], clock.time >= t_max, model.reward[s, a, k], own)


@lean_kernel
def predict_all(own: Learning, out: Floats) -> None:
    """Write what is predicted for every state and action of a table, `(D, A)`, NaN where there is no rule."""
    for s in range(out.shape[0]):
        prediction_array(s, own)
        for a in range(out.shape[1]):
            out[s, a] = own.space.array[a]
