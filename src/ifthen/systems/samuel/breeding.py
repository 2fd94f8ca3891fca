"""Selection, crossover at rule boundaries, mutation in place, and DELETE.

A plan's fitness is its value less the baseline; plans below the baseline have no offspring. Parents are drawn
in proportion to fitness by stochastic universal sampling (Baker 1987).
"""

from __future__ import annotations

import numpy as np

from ifthen.jit import kernel
from ifthen.randomness import fold, uniform
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.simulate.bids import STRENGTH
from ifthen.systems.samuel.granularity import Grid, distance, mutate_end, step_at, width_of
from ifthen.systems.samuel.plans import ACTIVITY, AGE, Plan, same_condition, selected, shrunk, uniforms
from ifthen.systems.samuel.samuel_parameters import SAMUELParameters


def moved_baseline(baseline: float | None, values: Floats, parameters: SAMUELParameters) -> float:
    """Return the baseline of the next selection; it begins where it would otherwise move to."""
    target = float(values.mean() - parameters.baseline_deviations * values.std())
    return target if baseline is None else baseline + parameters.baseline_rate * (target - baseline)


def drawn_parents(values: Floats, baseline: float, key: np.uint64) -> Ints:
    """Return the numbers of n parents, in random order; all plans count alike where none is above."""
    fitness, n = np.maximum(values - baseline, 0.0), len(values)
    shares = fitness if fitness.any() else np.ones(n)
    ends, last = np.cumsum(shares), np.flatnonzero(shares)[-1]
    pointers = (uniform(key, 0) + np.arange(n)) * ends[-1] / n
    parents = np.minimum(np.searchsorted(ends, pointers, side="right"), last)
    order = np.argsort(uniforms(np.uint64(fold(key, 1)), n), kind="stable")
    return np.asarray(parents[order])


def crossed(a: Plan, b: Plan, most: int, key: np.uint64) -> tuple[Plan, Plan]:
    """Return two plans that share out the rules of two others.

    Each rule goes to either child with equal odds; the rules of a parent that were active together go
    together. A rule that both parents have goes to both children, with what each has learnt (our choice: it
    would else be twice in one of them). A child without rules gets the first rule of a parent.
    """
    first, second = shared_out(a, b, key)
    return (
        shrunk(first, most, np.uint64(fold(key, 2))),
        shrunk(second, most, np.uint64(fold(key, 3))),
    )


@kernel
def shared_out(a: Plan, b: Plan, key: np.uint64) -> tuple[Plan, Plan]:
    """Return two children with the rules of their parents, however many these are."""
    to_first_a, to_first_b = sides_of(a, fold(key, 0)), sides_of(b, fold(key, 1))
    to_second_a, to_second_b = ~to_first_a, ~to_first_b
    common_b = np.zeros(len(b.actions), dtype=np.bool_)
    for i in range(len(a.actions)):
        for j in range(len(b.actions)):
            if a.actions[i] == b.actions[j] and same_condition(a.bounds[i], b.bounds[j]):
                to_first_a[i], to_second_a[i], common_b[j] = True, False, True
    for j in range(len(b.actions)):
        if common_b[j]:
            to_first_b[j], to_second_b[j] = False, True
    if not (to_first_a.any() or to_first_b.any()):
        to_first_a[0] = True
    if not (to_second_b.any() or to_second_a.any()):
        to_second_b[0] = True
    return selected(a, to_first_a, b, to_first_b), selected(b, to_second_b, a, to_second_a)


@kernel
def sides_of(plan: Plan, key: np.uint64) -> Mask:
    """Return which rules go to the first child, `(rules,)`."""
    n = len(plan.actions)
    draws = uniforms(key, n + 1)
    sides = np.empty(n, dtype=np.bool_)
    for rule in range(n):
        sides[rule] = draws[n if plan.together[rule] else rule] < 0.5
    return sides


def with_mutations(plan: Plan, p_mut: float, grid: Grid, n_actions: int, key: np.uint64) -> Plan:
    """Return a plan in which each value of each rule became any legal one with probability `p_mut`."""
    if p_mut == 0.0:
        return plan
    mutant = plan._replace(bounds=plan.bounds.copy(), actions=plan.actions.copy())
    mutate_rules(mutant, p_mut, grid, n_actions, key)
    return mutant


@kernel
def mutate_rules(plan: Plan, p_mut: float, grid: Grid, n_actions: int, key: np.uint64) -> None:
    """Set each value of each rule to any legal one with probability `p_mut`."""
    features = plan.bounds.shape[1]
    values = 2 * features + 1
    n_values = len(plan.actions) * values
    for place in range(n_values):
        if uniform(key, place) < p_mut:
            rule, value = place // values, place % values
            u = uniform(key, n_values + place)
            if value == 2 * features:
                plan.actions[rule] = int(u * n_actions)
            else:
                d = value // 2
                mutate_end(grid, d, value % 2, u, plan.bounds[rule, d])


def age(known: Floats, active: Mask, parameters: SAMUELParameters) -> None:
    """Make rules a generation older, given what they know `(…, 5)` and which were active `(…)`."""
    activity = known[..., ACTIVITY]
    risen = activity + parameters.activity_gain * (1 - activity)
    known[..., ACTIVITY] = np.where(active, risen, parameters.activity_decay * activity)
    known[..., AGE] += 1


def with_deletions(plan: Plan, grid: Grid, parameters: SAMUELParameters) -> Plan:
    """Return a plan without its old rules that are idle, weak, or contained in a rule at least as strong.

    The strongest rule stays. No rule counts as weak where the greatest strength is 0 or less.
    """
    assert parameters.most_rules is not None
    if not parameters.delete or len(plan.actions) < parameters.delete_share * parameters.most_rules:
        return plan
    limits = parameters.delete_age, parameters.delete_activity, parameters.delete_strength
    return without_useless(plan, grid, *limits)


@kernel
def without_useless(plan: Plan, grid: Grid, old: int, least_activity: float, least_strength: float) -> Plan:
    """Return a plan without its old rules that are idle, weak or contained."""
    strengths, keep = plan.known[:, STRENGTH], contained(plan, grid)
    strongest = np.argmax(strengths)
    greatest = strengths[strongest]
    for rule in range(len(keep)):
        idle = plan.known[rule, ACTIVITY] < least_activity
        weak = greatest > 0.0 and strengths[rule] < least_strength * greatest
        keep[rule] = plan.known[rule, AGE] < old or not (idle or weak or keep[rule])
    keep[strongest] = True
    return selected(plan, keep, plan, np.zeros(0, dtype=np.bool_))


@kernel
def contained(plan: Plan, grid: Grid) -> Mask:
    """Return which rules lie in a more general rule with the same action and at least their strength."""
    n, features = plan.bounds.shape[0], plan.bounds.shape[1]
    firsts, widths = np.empty((n, features)), np.empty((n, features))
    for rule in range(n):
        for d in range(features):
            firsts[rule, d] = step_at(grid, d, plan.bounds[rule, d, 0])
            widths[rule, d] = width_of(grid, d, plan.bounds[rule, d])
    inner = np.zeros(n, dtype=np.bool_)
    for rule in range(n):
        for other in range(n):
            if (
                plan.actions[other] == plan.actions[rule]
                and plan.known[other, STRENGTH] >= plan.known[rule, STRENGTH]
                and lies_in(grid, firsts, widths, rule, other)
            ):
                inner[rule] = True
                break
    return inner


@kernel
def lies_in(grid: Grid, firsts: Floats, widths: Floats, inner: int, outer: int) -> bool:
    """Return whether a rule lies in a more general one, from first steps and widths `(rules, features)`."""
    wider = False
    for d in range(firsts.shape[1]):
        width, room = widths[inner, d], widths[outer, d]
        wider |= room > width
        if room != grid.last[d] - grid.first[d]:
            offset = distance(grid, d, firsts[outer, d], firsts[inner, d])
            if offset < 0.0 or offset + width > room:
                return False
    return wider
