"""Selection, crossover at rule boundaries, mutation in place, and DELETE.

A plan's fitness is its value less the baseline; plans below the baseline have no offspring. Parents are drawn
in proportion to fitness by stochastic universal sampling (Baker 1987).
"""

from __future__ import annotations

import numpy as np

from ifthen.randomness import fold, uniform
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.systems.samuel.granularity import Grid
from ifthen.systems.samuel.plans import ACTIVITY, AGE, Plan, uniforms
from ifthen.systems.samuel.samuel_operators import mutated, shrunk
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
    first_a, first_b = (_sides(plan, np.uint64(fold(key, side))) for side, plan in enumerate((a, b)))
    same = (a.bounds[:, None] == b.bounds).all(axis=(2, 3)) & (a.actions[:, None] == b.actions)
    shared_a, shared_b = same.any(axis=1), same.any(axis=0)
    one = a.take(first_a | shared_a).joined(b.take(first_b & ~shared_b))
    two = b.take(~first_b | shared_b).joined(a.take(~first_a & ~shared_a))
    children = (one if len(one.actions) else a.take([0]), two if len(two.actions) else b.take([0]))
    return (
        shrunk(children[0], most, np.uint64(fold(key, 2))),
        shrunk(children[1], most, np.uint64(fold(key, 3))),
    )


def _sides(plan: Plan, key: np.uint64) -> Mask:
    """Return which rules go to the first child, `(rules,)`."""
    n = len(plan.actions)
    draws = uniforms(key, n + 1) < 0.5
    sides: Mask = np.where(plan.together, draws[n], draws[:n])
    return sides


def with_mutations(plan: Plan, p_mut: float, grid: Grid, n_actions: int, key: np.uint64) -> Plan:
    """Return a plan in which each value of each rule became any legal one with probability `p_mut`."""
    if p_mut == 0.0:
        return plan
    n, features = plan.bounds.shape[:2]
    values = 2 * features + 1
    bounds, actions = plan.bounds.copy(), plan.actions.copy()
    for at in np.flatnonzero(uniforms(key, n * values) < p_mut).tolist():
        rule, value = divmod(at, values)
        u = uniform(key, n * values + at)
        if value == 2 * features:
            actions[rule] = int(u * n_actions)
        else:
            bounds[rule, value // 2] = mutated(grid, bounds[rule], value, u)
    return plan._replace(bounds=bounds, actions=actions)


def aged(plan: Plan, active: Mask, parameters: SAMUELParameters) -> Plan:
    """Return a plan a generation older, given which rules were active in it, `(rules,)`."""
    known = plan.known.copy()
    old = known[:, ACTIVITY]
    grown = old + parameters.activity_gain * (1 - old)
    known[:, ACTIVITY] = np.where(active, grown, parameters.activity_decay * old)
    known[:, AGE] += 1
    return plan._replace(known=known)


def with_deletions(plan: Plan, grid: Grid, parameters: SAMUELParameters) -> Plan:
    """Return a plan without its old rules that are idle, weak, or contained in a rule at least as strong.

    The strongest rule stays. No rule counts as weak where the greatest strength is 0 or less.
    """
    p, strengths, n = parameters, plan.strengths, len(plan.actions)
    assert p.most_rules is not None
    if not p.delete or n < p.delete_share * p.most_rules:
        return plan
    idle = plan.known[:, ACTIVITY] < p.delete_activity
    greatest = strengths.max()
    weak = (greatest > 0) & (strengths < p.delete_strength * greatest)
    drop = (plan.known[:, AGE] >= p.delete_age) & (idle | weak | contained(plan, grid))
    drop[np.argmax(strengths)] = False
    return plan.take(~drop)


def contained(plan: Plan, grid: Grid) -> Mask:
    """Return which rules lie in a more general rule with the same action and at least their strength."""
    first, _ = grid.cells(plan.bounds)
    width = grid.widths(plan.bounds)
    offset = grid.distance(first[:, None], first[None])  # from the outer rule's first step to the inner one's
    whole = width[:, None] == grid.last - grid.first
    inside = whole | ((offset >= 0) & (offset + width[None] <= width[:, None]))
    wider = (width[:, None] > width[None]).any(axis=2)
    strong = plan.strengths[:, None] >= plan.strengths[None]
    same = plan.actions[:, None] == plan.actions[None]
    return np.asarray((inside.all(axis=2) & wider & strong & same).any(axis=0))
