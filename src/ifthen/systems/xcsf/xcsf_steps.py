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
def prediction_array(s: int, learning: Learning) -> int:
    """Write the fitness-weighted prediction of every action in state s; return how many have no rule."""
    masks, rules, weights = learning.space.masks, learning.classifiers.rules, learning.classifiers.weights
    points, axes, x0, out = (
        learning.model.points,
        learning.model.axes,
        learning.settings[0].x0,
        learning.space.array,
    )
    n_missing = 0
    for a in range(masks.shape[1]):
        weighted_sum, total_fitness, any_rule = 0.0, 0.0, ZERO
        for word in range(masks.shape[2]):
            mask = masks[s, a, word]
            any_rule |= mask
            while mask != ZERO:
                r = word * WORD + lowest_bit(mask)
                mask &= mask - ONE
                weighted_sum += rules[r].fitness * prediction(weights, r, x0, points, s, axes)
                total_fitness += rules[r].fitness
        out[a] = weighted_sum / total_fitness if any_rule != ZERO else np.nan
        n_missing += any_rule == ZERO
    return n_missing


@lean_kernel
def best_action(key: np.uint64, s: int, learning: Learning) -> int:
    """Cover what is missing in state s, write its prediction array into the space, return the best action."""
    space, tries, n_missing = learning.space, 0, 1
    while n_missing > 0:
        n_missing = prediction_array(s, learning)
        if n_missing > 0:
            cover(fold(key, tries), s, n_missing, learning)
            tries += 1
    best = 0
    for a in range(1, len(space.array)):
        if space.array[a] > space.array[best]:
            best = a
    return best


@lean_kernel
def credit(key: np.uint64, set_index: np.int64, s: int, payoff: float, learning: Learning) -> None:
    """Update the set HELD or ACTING, met in state s, towards its payoff; run the GA where that is due."""
    classifiers, space, settings = learning.classifiers, learning.space, learning.settings[0]
    clock, members = classifiers.clock[0], space.members
    n = list_members(space.sets, set_index, members)
    if n == 0:
        return
    update_set(n, s, payoff, learning)
    if settings.set_subsumption:
        n = subsume_set(n, learning)
    if clock.explore and settings.specify:
        specify(fold(key, 8), n, s, learning)
        n = list_members(space.sets, set_index, members)  # one of them may have been deleted
    if clock.explore and n > 0 and is_due(members, n, classifiers.rules, clock.steps, settings.theta_ga):
        run_ga(key, n, s, learning)


@lean_kernel
def begin_episode(key: np.uint64, n_starts: int, learning: Learning) -> int:
    """Begin an episode, which explores or exploits; return the number of its start."""
    clock = learning.classifiers.clock[0]
    episode_key = fold(fold(key, 0), clock.episodes)
    clock.explore = uniform(episode_key, 0) < learning.settings[0].p_explore
    clock.before = -1
    clock.time = 0
    clock.episodes += 1
    return below(episode_key, 1, n_starts)


@inlined_kernel
def act(key: np.uint64, learning: Learning) -> int:
    """Begin a step: choose an action in the present state, credit the set before with what is promised."""
    clock, space, settings = learning.classifiers.clock[0], learning.space, learning.settings[0]
    step_key, s = fold(key, clock.steps), clock.state
    clock.steps += 1
    clock.time += 1
    a = best_action(fold(step_key, 0), s, learning)
    best_value = space.array[a]
    if clock.explore and uniform(step_key, 0) < settings.epsilon:
        a = below(step_key, 1, len(space.array))
    for word in range(len(space.used)):
        space.sets[ACTING, word] = space.masks[s, a, word]
    if clock.before >= 0:
        credit(fold(step_key, 1), HELD, clock.before, clock.pending + settings.gamma * best_value, learning)
    return a


@inlined_kernel
def follow(key: np.uint64, next_state: int, truncated: bool, reward: float, learning: Learning) -> None:
    """End a step: go on in the state that follows, or end the episode where there is none (−1) or no time."""
    clock, space, settings = learning.classifiers.clock[0], learning.space, learning.settings[0]
    step_key, s = fold(key, clock.steps - 1), clock.state
    if next_state >= 0 and not truncated:
        for word in range(len(space.used)):
            space.sets[HELD, word] = space.sets[ACTING, word]
        clock.before, clock.state, clock.pending = s, next_state, reward
        return
    if next_state >= 0 and settings.bootstrap:
        clock.state = next_state
        best = best_action(fold(step_key, 3), clock.state, learning)
        reward += settings.gamma * space.array[best]
    credit(fold(step_key, 2), ACTING, s, reward, learning)
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
    learning: Learning,
) -> None:
    """Learn on a table up to a total of GA invocations, steps or finished episodes."""
    clock, model, t_max, steps_key = (
        learning.classifiers.clock[0],
        learning.model,
        learning.settings[0].t_max,
        fold(key, 1),
    )
    while clock.ga_invocations < invocations and clock.steps < steps:
        if clock.state < 0:
            if clock.episodes >= episodes:
                break
            clock.state = starts[begin_episode(key, len(starts), learning)]
        s, k = clock.state, outcome(fold(steps_key, clock.steps), cuts, 2)
        a = act(steps_key, learning)
        follow(steps_key, model.next_state[s, a, k], clock.time >= t_max, model.reward[s, a, k], learning)


@lean_kernel
def predict_all(learning: Learning, out: Floats) -> None:
    """Write what is predicted for every state and action of a table, `(D, A)`, NaN where there is no rule."""
    for s in range(out.shape[0]):
        prediction_array(s, learning)
        for a in range(out.shape[1]):
            out[s, a] = learning.space.array[a]
