"""XCSF step by step: act, credit the action set before with what follows, let the GA search in it.

Random numbers come from `key` by position: episode e uses the stream fold(fold(key, 0), e) and step t the
stream fold(fold(key, 1), t), with sub-streams 0 for covering, 1 and 2 for the GA in the set before and in
an episode's last set, 3 for covering where a truncated episode is bootstrapped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.inference.strength import prediction
from ifthen.jit import inlined_kernel, lean_kernel
from ifthen.randomness import below, fold, uniform
from ifthen.rollout.tabular import outcome
from ifthen.rules.box import ONE, WORD, ZERO, lowest_bit
from ifthen.systems.xcsf.ga import is_due, run_ga
from ifthen.systems.xcsf.index import ACTING, HELD, Space, list_members
from ifthen.systems.xcsf.places import Places
from ifthen.systems.xcsf.population import Classifiers, Records
from ifthen.systems.xcsf.settings import Reach, Settings
from ifthen.systems.xcsf.turnover import cover, subsume_set
from ifthen.systems.xcsf.update import update_set
from ifthen.tasks.tabular import Dynamics


@lean_kernel
def prediction_array(
    s: int,
    masks: NDArray[np.uint64],
    rules: Records,
    weights: NDArray[np.float64],
    x0: float,
    points: NDArray[np.float64],
    axes: tuple[int, ...],
    out: NDArray[np.float64],
) -> int:
    """Write the fitness-weighted prediction of every action in state s; return how many have no rule."""
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
def best_action(
    key: np.uint64,
    s: int,
    model: Places,
    classifiers: Classifiers,
    space: Space,
    settings: Settings,
    reach: Reach,
) -> int:
    """Cover what is missing in state s, write its prediction array into the space, return the best action."""
    rules, weights, x0 = classifiers.rules, classifiers.weights, settings.x0
    tries, missing = 0, 1
    while missing > 0:
        missing = prediction_array(s, space.masks, rules, weights, x0, model.points, model.axes, space.array)
        if missing > 0:
            cover(fold(key, tries), s, missing, model.states, classifiers, space, settings, reach)
            tries += 1
    best = 0
    for a in range(1, len(space.array)):
        if space.array[a] > space.array[best]:
            best = a
    return best


@lean_kernel
def credit(
    key: np.uint64,
    which: np.int64,
    s: int,
    payoff: float,
    model: Places,
    classifiers: Classifiers,
    space: Space,
    settings: Settings,
    reach: Reach,
) -> None:
    """Update the set HELD or ACTING, met in state s, towards its payoff; run the GA where that is due."""
    clock, members = classifiers.clock[0], space.members
    n = list_members(space.sets, which, members)
    if n == 0:
        return
    update_set(n, s, payoff, model, classifiers, space, settings)
    if settings.set_subsumption:
        n = subsume_set(n, classifiers, space, settings, reach.lows)
    if clock.explore and is_due(members, n, classifiers.rules, clock.steps, settings.theta_ga):
        run_ga(key, n, classifiers, space, settings, reach)


@lean_kernel
def begin_episode(key: np.uint64, starts: int, clock: Records, p_explore: float) -> int:
    """Begin an episode, which explores or exploits; return which of so many starts it has."""
    own = fold(key, clock.episodes)
    clock.explore = uniform(own, 0) < p_explore
    clock.before = -1
    clock.time = 0
    clock.episodes += 1
    return below(own, 1, starts)


@inlined_kernel
def act(
    key: np.uint64, model: Places, classifiers: Classifiers, space: Space, settings: Settings, reach: Reach
) -> int:
    """Begin a step: choose an action in the present state, credit the set before with what is promised."""
    clock = classifiers.clock[0]
    own, s = fold(key, clock.steps), clock.state
    clock.steps += 1
    clock.time += 1
    a = best_action(fold(own, 0), s, model, classifiers, space, settings, reach)
    top = space.array[a]
    if clock.explore and uniform(own, 0) < settings.epsilon:
        a = below(own, 1, len(space.array))
    for word in range(len(space.used)):
        space.sets[ACTING, word] = space.masks[s, a, word]
    if clock.before >= 0:
        payoff = clock.pending + settings.gamma * top
        credit(fold(own, 1), HELD, clock.before, payoff, model, classifiers, space, settings, reach)
    return a


@inlined_kernel
def follow(
    key: np.uint64,
    follows: int,
    truncated: bool,
    reward: float,
    model: Places,
    classifiers: Classifiers,
    space: Space,
    settings: Settings,
    reach: Reach,
) -> None:
    """End a step: go on in the state that follows, or end the episode where there is none (−1) or no time."""
    clock = classifiers.clock[0]
    own, s = fold(key, clock.steps - 1), clock.state
    if follows >= 0 and not truncated:
        for word in range(len(space.used)):
            space.sets[HELD, word] = space.sets[ACTING, word]
        clock.before, clock.state, clock.pending = s, follows, reward
        return
    if follows >= 0 and settings.bootstrap:
        clock.state = follows
        best = best_action(fold(own, 3), clock.state, model, classifiers, space, settings, reach)
        reward += settings.gamma * space.array[best]
    credit(fold(own, 2), ACTING, s, reward, model, classifiers, space, settings, reach)
    for word in range(len(space.used)):
        space.sets[HELD, word] = ZERO
    clock.before = clock.state = -1
    clock.pending = 0.0


@lean_kernel
def take_step(
    key: np.uint64,
    cuts: NDArray[np.float64],
    model: Dynamics,
    classifiers: Classifiers,
    space: Space,
    settings: Settings,
    reach: Reach,
) -> None:
    """Take one step of the present episode of a tabular task, and learn from it."""
    clock = classifiers.clock[0]
    s, k = clock.state, outcome(fold(key, clock.steps), cuts, 2)
    a = act(key, model, classifiers, space, settings, reach)
    follows, reward, truncated = (
        model.next_state[s, a, k],
        model.reward[s, a, k],
        clock.time >= settings.t_max,
    )
    follow(key, follows, truncated, reward, model, classifiers, space, settings, reach)


@lean_kernel
def run_steps(
    key: np.uint64,
    invocations: int,
    steps: int,
    episodes: int,
    starts: NDArray[np.int32],
    cuts: NDArray[np.float64],
    model: Dynamics,
    classifiers: Classifiers,
    space: Space,
    settings_of_one: Settings,
    reach: Reach,
    out_values: NDArray[np.float64],
) -> None:
    """Learn until there were so many GA invocations, steps or finished episodes in all.

    What is then predicted for every state and action is written to `out_values` `(D, A)`.
    """
    settings, clock = settings_of_one[0], classifiers.clock[0]
    by_episode, by_step = fold(key, 0), fold(key, 1)
    while clock.ga_invocations < invocations and clock.steps < steps:
        if clock.state < 0:
            if clock.episodes >= episodes:
                break
            clock.state = starts[begin_episode(by_episode, len(starts), clock, settings.p_explore)]
        take_step(by_step, cuts, model, classifiers, space, settings, reach)
    rules, weights, x0 = classifiers.rules, classifiers.weights, settings.x0
    for s in range(out_values.shape[0]):
        prediction_array(s, space.masks, rules, weights, x0, model.points, model.axes, space.array)
        for a in range(out_values.shape[1]):
            out_values[s, a] = space.array[a]
