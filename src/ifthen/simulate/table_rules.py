"""Rules in a table: the action that they choose in every state, and their reinforcement by rollouts.

A ruleset becomes a policy table `(D,)` once. Rollouts for reinforcement start in random initial states; all
those of a ruleset are played in one kernel.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel, lean_kernel
from ifthen.parallel import for_slices
from ifthen.randomness import below, fold
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.batch import LIST, Intervals, RuleBatch, choose_lanes, is_stronger
from ifthen.rules.box import ONE, WORD, ZERO, lowest_bit, match_masks, words_for
from ifthen.rules.ruleset import NULL_ACTION
from ifthen.rules.strength import prediction
from ifthen.simulate.reinforce import fill_payoffs, learning_rate, reinforce_rule
from ifthen.simulate.simulator import Reinforcement
from ifthen.simulate.table_noise import outcome, plan
from ifthen.tasks.tabular_task import Dynamics, TabularTask


def policy_tables(task: TabularTask, rules: RuleBatch, threads: int = 1) -> NDArray[np.int16]:
    """Return the action of every ruleset in every decision state, `(n, D)`, −1 for none."""
    out = np.empty((len(rules.lengths), len(task.decision_states)), dtype=np.int16)
    if rules.terms.size:
        return _tables_with_terms(task, rules, out)

    def work(first: int, last: int) -> None:
        fill_policy_tables(first, last, rules, task.dynamics, out)

    for_slices(work, len(out), threads, task.grain)
    return out


def _tables_with_terms(task: TabularTask, rules: RuleBatch, out: NDArray[np.int16]) -> NDArray[np.int16]:
    """Ask the rulesets state by state: the values of a term are too many for a mask each."""
    laid_out, actions = Intervals.of(rules, task.features), np.empty(out.shape[1], dtype=np.int64)
    for i, table in enumerate(out):
        choose_lanes(laid_out, np.full(out.shape[1], i), task.dynamics.points, actions)
        table[:] = actions
    return out


@lean_kernel
def first_action(masks: NDArray[np.uint64], s: int, actions: NDArray[np.int32]) -> int:
    """Return the action of the first rule in the match set of state s, −1 where it is empty."""
    for word in range(masks.shape[1]):
        if masks[s, word] != ZERO:
            return int(actions[word * WORD + lowest_bit(masks[s, word])])
    return NULL_ACTION


@lean_kernel
def strongest_action(
    masks: NDArray[np.uint64],
    s: int,
    actions: NDArray[np.int32],
    learnt: Floats,
    deviations: Floats,
    x0: float,
    points: Floats,
    axes: tuple[int, ...],
) -> int:
    """Return the action of the strongest rule in the match set of state s, −1 where it is empty."""
    best = NULL_ACTION
    top = -math.inf
    for word in range(masks.shape[1]):
        mask = masks[s, word]
        while mask != ZERO:
            r = word * WORD + lowest_bit(mask)
            mask &= mask - ONE
            a, strength = actions[r], prediction(learnt, r, x0, points, s, axes) - deviations[r]
            better = is_stronger(strength, a, top, best)
            best = a if better else best
            top = strength if better else top
    return best


@kernel
def fill_policy_tables(
    first: int, last: int, rules: RuleBatch, model: Dynamics, out: NDArray[np.int16]
) -> None:
    """Write the policy tables `(n, D)` of the rulesets `first` to `last − 1`."""
    max_rules, n_states = rules.bounds.shape[1], model.states.shape[0]
    words = words_for(max_rules)
    value_masks = np.empty((model.states.shape[1], model.widest, words), dtype=np.uint64)
    masks = np.empty((n_states, words), dtype=np.uint64)
    deviations = np.empty(max_rules)
    for i in range(first, last):
        fill_policy_table(i, rules, model, value_masks, masks, deviations, out)


@kernel
def fill_policy_table(
    i: int,
    rules: RuleBatch,
    model: Dynamics,
    value_masks: NDArray[np.uint64],
    masks: NDArray[np.uint64],
    deviations: Floats,
    out: NDArray[np.int16],
) -> None:
    """Write the policy table of ruleset i; the masks and deviations are scratch, as in `Workspace`."""
    match_masks(rules.bounds, i, rules.lengths[i], model.states, model.lows, model.cyclic, value_masks, masks)
    learnt, actions = rules.learnt[i], rules.actions[i]
    if rules.how != LIST:
        for r in range(rules.lengths[i]):
            deviations[r] = math.sqrt(learnt[r, -1])
    for s in range(masks.shape[0]):
        if rules.how == LIST:
            action = first_action(masks, s, actions)
        else:
            action = strongest_action(
                masks, s, actions, learnt, deviations, rules.x0, model.points, model.axes
            )
        out[i, s] = rules.default if action < 0 else action


def reinforce_tables(task: TabularTask, rules: RuleBatch, lesson: Reinforcement, threads: int = 1) -> int:
    """Let rulesets learn from rollouts in a table: `rules.learnt` changes. Return the steps taken."""
    cuts, steps = plan(task).cuts, np.zeros(lesson.learners, dtype=np.int64)

    def work(first: int, last: int) -> None:
        reinforce_rules(first, last, rules, lesson, task.dynamics, cuts, task.gamma, task.t_max, steps)

    for_slices(work, lesson.learners, threads, task.grain)
    return int(steps.sum())


class Workspace(NamedTuple):
    """Memory that one thread uses over and over while it reinforces rulesets."""

    value_masks: NDArray[np.uint64]
    """`(features, widest, words)`: scratch of `match_masks`."""
    masks: NDArray[np.uint64]
    """`(D, words)`: the match set of every state."""
    action_masks: NDArray[np.uint64]
    """`(A, words)`: the rules that advocate each action."""
    deviations: Floats
    """`(rules,)`: sqrt(var)."""
    chosen: Ints
    """`(D,)`: the action chosen in each state, where `chosen_in` names the present rollout."""
    chosen_in: Ints
    """`(D,)`: the rollout in which `chosen` was worked out. Rules do not change during a rollout."""
    states: Ints
    """`(t_max,)`: the trajectory's states."""
    actions: Ints
    """`(t_max,)`: the trajectory's actions."""
    rewards: Floats
    """`(t_max,)`: the trajectory's rewards."""
    payoffs: Floats
    """`(t_max,)`: the trajectory's payoffs."""
    rates: Floats
    """`(D,)`: η/‖x‖²."""


@kernel
def new_workspace(rules: int, t_max: int, eta: float, x0: float, model: Dynamics) -> Workspace:
    """Return a workspace for rulesets of up to `rules` rules."""
    n_states, n_actions, _ = model.next_state.shape
    words = words_for(rules)
    rates = np.empty(n_states, dtype=np.float64)
    for s in range(n_states):
        rates[s] = learning_rate(x0, model.points, s, eta)
    return Workspace(
        np.empty((model.states.shape[1], model.widest, words), dtype=np.uint64),
        np.empty((n_states, words), dtype=np.uint64),
        np.empty((n_actions, words), dtype=np.uint64),
        np.empty(rules, dtype=np.float64),
        np.empty(n_states, dtype=np.int64),
        np.empty(n_states, dtype=np.int64),
        np.empty(t_max, dtype=np.int64),
        np.empty(t_max, dtype=np.int64),
        np.empty(t_max, dtype=np.float64),
        np.empty(t_max, dtype=np.float64),
        rates,
    )


@lean_kernel
def generate_trajectory(
    noise: np.uint64,
    rollout: int,
    length: int,
    actions: NDArray[np.int32],
    learnt: Floats,
    x0: float,
    model: Dynamics,
    cuts: Floats,
    space: Workspace,
) -> int:
    """Act by the `length` rules of one ruleset from a random initial state; return the steps taken."""
    for r in range(length):
        space.deviations[r] = math.sqrt(learnt[r, -1])
    s = model.starts[below(noise, 0, len(model.starts))]
    t = 0
    while t < len(space.states) and s >= 0:
        if space.chosen_in[s] != rollout:
            space.chosen_in[s] = rollout
            space.chosen[s] = strongest_action(
                space.masks, s, actions, learnt, space.deviations, x0, model.points, model.axes
            )
        a = space.chosen[s]
        if a < 0:
            break
        k = outcome(noise, cuts, t + 1)
        space.states[t] = s
        space.actions[t] = a
        space.rewards[t] = model.reward[s, a, k]
        t += 1
        s = model.next_state[s, a, k]
    return t


@lean_kernel
def reinforce_action_set(
    s: int, a: int, payoff: float, eta: float, x0: float, learnt: Floats, model: Dynamics, space: Workspace
) -> None:
    """Reinforce every rule in the action set of (s, a) (updateActionSet)."""
    for word in range(space.masks.shape[1]):
        mask = space.masks[s, word] & space.action_masks[a, word]
        while mask != ZERO:
            r = word * WORD + lowest_bit(mask)
            mask &= mask - ONE
            reinforce_rule(learnt, r, payoff, eta, space.rates[s], x0, model.points, s, model.axes)


@kernel
def reinforce_ruleset(
    i: int,
    rules: RuleBatch,
    lesson: Reinforcement,
    model: Dynamics,
    cuts: Floats,
    gamma: float,
    space: Workspace,
) -> int:
    """Let ruleset i learn from its rollouts (reinforceRules); return the steps taken."""
    key, length, n_steps = fold(lesson.key, i), rules.lengths[i], 0
    actions, learnt = rules.actions[i], rules.learnt[i]
    match_masks(
        rules.bounds, i, length, model.states, model.lows, model.cyclic, space.value_masks, space.masks
    )
    space.action_masks[:] = ZERO
    for r in range(length):
        space.action_masks[actions[r], r // WORD] |= ONE << np.uint64(r % WORD)
    space.chosen_in[:] = -1
    for rollout in range(lesson.rollouts):
        steps = generate_trajectory(
            fold(key, rollout), rollout, length, actions, learnt, rules.x0, model, cuts, space
        )
        fill_payoffs(steps, space.rewards, gamma, lesson.paper_payoff, space.payoffs)
        for t in range(steps - 1, -1, -1):
            s, a = space.states[t], space.actions[t]
            reinforce_action_set(s, a, space.payoffs[t], lesson.eta, rules.x0, learnt, model, space)
        n_steps += steps
    return n_steps


@kernel
def reinforce_rules(
    first: int,
    last: int,
    rules: RuleBatch,
    lesson: Reinforcement,
    model: Dynamics,
    cuts: Floats,
    gamma: float,
    t_max: int,
    out_steps: Ints,
) -> None:
    """Let rulesets `first` to `last − 1` learn from their rollouts."""
    space = new_workspace(rules.bounds.shape[1], t_max, lesson.eta, rules.x0, model)
    for i in range(first, last):
        out_steps[i] = reinforce_ruleset(i, rules, lesson, model, cuts, gamma, space)
