"""The operators that add a rule to a plan: MUTATION, CREEP, and those that look at what was played.

SPECIALIZE, GENERALIZE, COVER and AVOID are Lamarckian: they change rules by what happened to them in episodes
before selection, and what they make is inherited. Each operator gives one new rule, or None where there is
nothing for it to do; the rule it was made from stays. A new rule begins with what its origin has learnt.

Where the guide leaves a choice, the operator's docstring and `docs/family.md` say what was chosen here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.randomness import below, fold, uniform
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.box import inside
from ifthen.systems.samuel.granularity import Grid, covering, crept, generalized, hull, overlaps, specialized
from ifthen.systems.samuel.plans import AGE, Plan, uniforms
from ifthen.systems.samuel.samuel_parameters import OPERATORS, SAMUELParameters


class Trace(NamedTuple):
    """What a plan did: the steps that were kept of its episodes."""

    readings: Floats
    """`(steps, features)`: the points, inside the features' ranges."""
    taken: Ints
    """`(steps,)`: the actions taken."""
    episodes: Ints
    """`(steps,)`: the number of each step's episode."""
    payoffs: Floats
    """`(episodes,)`: scaled."""
    full: Mask
    """`(steps, rules)`: the rules that matched in full and proposed the action taken."""
    partial: Mask
    """`(steps, rules)`: the rules that matched in part and proposed the action taken."""

    @classmethod
    def of(cls, plan: Plan, readings: Floats, taken: Ints, payoffs: Floats) -> Trace:
        """Return the trace of a plan, from `(episodes, trace, features)`, `(episodes, trace)` and payoffs."""
        numbers, places = np.nonzero(taken >= 0)
        points, actions = readings[numbers, places], taken[numbers, places]
        scores = np.zeros((len(points), len(plan.actions)), dtype=np.int64)
        for d in range(points.shape[1]):  # many times as fast as a sum over the last, short axis
            scores += inside(plan.bounds[:, d], points[:, d, None])
        chosen = (scores == scores.max(axis=1, keepdims=True)) & (plan.actions == actions[:, None])
        full = chosen & (scores == plan.bounds.shape[1])
        return cls(points, actions, numbers, payoffs, full, chosen & ~full)

    def event(self, possible: Mask, order: Floats, key: np.uint64) -> tuple[int, int] | None:
        """Draw a step and a rule of those possible, `(steps, rules)`, in the first episode that has any.

        Args:
            possible: what to draw from.
            order: `(episodes,)`: the episode with the lowest number comes first.
            key: the stream to draw by.
        """
        steps, rules = np.nonzero(possible)
        if not len(steps):
            return None
        ranks = np.empty(len(order))
        ranks[np.argsort(order, kind="stable")] = np.arange(len(order))
        own = ranks[self.episodes[steps]]
        best = np.flatnonzero(own == own.min())
        drawn = best[below(key, 0, len(best))]
        return int(steps[drawn]), int(rules[drawn])


class Rule(NamedTuple):
    """A new rule."""

    bounds: Floats
    """`(features, 2)`."""
    action: int
    known: Floats
    """`(5,)`: what its origin knows."""


class Setting(NamedTuple):
    """What all operators get besides a plan."""

    grid: Grid
    n_actions: int
    parameters: SAMUELParameters


def specialize(plan: Plan, trace: Trace, setting: Setting, key: np.uint64) -> Rule | None:
    """Narrow a general rule around a reading of a well-paid episode, the best-paid one first.

    The rule's strength must be below `spec_threshold` times the episode's payoff, and each of its conditions
    must cover at least `spec_level` of its range. The guide's text and its table swap the two names.
    """
    p = setting.parameters
    assert p.spec_level is not None
    general = (setting.grid.shares(plan.bounds) >= p.spec_level).all(axis=1)
    weak = plan.strengths < p.spec_threshold * trace.payoffs[trace.episodes][:, None]
    return _changed(plan, trace, trace.full & general & weak, key, partial(specialized, setting.grid))


def generalize(plan: Plan, trace: Trace, setting: Setting, key: np.uint64) -> Rule | None:
    """Widen the conditions of a strong rule around a reading of a well-paid episode.

    Strong means at least the mean strength of the plan (our choice).
    """
    strong = plan.strengths >= plan.strengths.mean()
    widen = partial(generalized, setting.grid, level=setting.parameters.general_level)
    return _changed(plan, trace, trace.full & strong, key, widen)


def cover(plan: Plan, trace: Trace, setting: Setting, key: np.uint64) -> Rule | None:
    """Extend the failed conditions of a rule that was active by a partial match, in the best-paid episode."""
    return _changed(plan, trace, trace.partial, key, partial(covering, setting.grid))


def _changed(
    plan: Plan, trace: Trace, possible: Mask, key: np.uint64, change: Callable[[Floats, Floats], Floats]
) -> Rule | None:
    """Return a rule with its intervals changed at a reading, the best-paid episode first.

    Args:
        plan: the plan.
        trace: what it did.
        possible: `(steps, rules)`: the steps and rules to draw from.
        key: the stream to draw by.
        change: gives new intervals of intervals `(features, 2)` and a reading `(features,)`.
    """
    event = trace.event(possible, -trace.payoffs, key)
    if event is None:
        return None
    step, rule = event
    return Rule(change(plan.bounds[rule], trace.readings[step]), int(plan.actions[rule]), plan.known[rule])


def avoid(plan: Plan, trace: Trace, setting: Setting, key: np.uint64) -> Rule | None:
    """Give a rule that was active in a badly paid episode another action, the worst-paid episode first.

    Badly paid means less than the plan's mean (our choice).
    """
    if setting.n_actions < 2 or not len(trace.payoffs):
        return None
    bad = (trace.payoffs < trace.payoffs.mean())[trace.episodes][:, None]
    event = trace.event((trace.full | trace.partial) & bad, trace.payoffs, key)
    if event is None:
        return None
    rule = event[1]
    other = below(key, 1, setting.n_actions - 1)
    action = other + (other >= plan.actions[rule])
    return Rule(plan.bounds[rule], int(action), plan.known[rule])


def merge(plan: Plan, setting: Setting, key: np.uint64) -> Rule | None:
    """Cover two strong rules with the same action, whose conditions overlap much on average, by one."""
    p = setting.parameters
    strong = np.flatnonzero(plan.strengths >= p.merge_strength * plan.strengths.mean())
    i, j = (strong[each] for each in np.triu_indices(len(strong), 1))
    same = plan.actions[i] == plan.actions[j]
    i, j = i[same], j[same]
    similar = overlaps(setting.grid, plan.bounds[i], plan.bounds[j]).mean(axis=1)
    pairs = np.flatnonzero(similar >= p.merge_overlap)
    if not len(pairs):
        return None
    drawn = pairs[below(key, 0, len(pairs))]
    a, b = i[drawn], j[drawn]
    box = hull(setting.grid, plan.bounds[a], plan.bounds[b])
    return Rule(box, int(plan.actions[a]), (plan.known[a] + plan.known[b]) / 2)


def mutation(plan: Plan, setting: Setting, key: np.uint64) -> Rule | None:
    """Set one value of a rule, an end of an interval or the action, to any that is legal."""
    rule, features = below(key, 0, len(plan.actions)), plan.bounds.shape[1]
    value = below(key, 1, 2 * features + 1)
    box, action = plan.bounds[rule].copy(), int(plan.actions[rule])
    if value == 2 * features:
        action = below(key, 2, setting.n_actions)
    else:
        box[value // 2] = mutated(setting.grid, box, value, uniform(key, 2))
    return Rule(box, action, plan.known[rule])


def mutated(grid: Grid, box: Floats, value: int, u: float) -> Floats:
    """Return the interval of feature `value // 2`, `(2,)`, with one end set by u in [0, 1)."""
    d, end = value // 2, value % 2
    ends = [cells.copy() for cells in grid.cells(box)]
    ends[end][d] = grid.first[d] + np.floor(u * (grid.last[d] - grid.first[d] + 1))
    if not np.isfinite(grid.periods[d]):
        ends = [np.minimum(*ends), np.maximum(*ends)]
    found: Floats = grid.bounds(*ends)[d]
    return found


def creep(plan: Plan, setting: Setting, key: np.uint64) -> Rule | None:
    """Move one end of one interval a step: outwards or inwards, with equal odds."""
    rule, d = below(key, 0, len(plan.actions)), below(key, 1, plan.bounds.shape[1])
    end, way = below(key, 2, 2), 1 - 2 * below(key, 3, 2)
    box = crept(setting.grid, plan.bounds[rule], d, end, way)
    return Rule(box, int(plan.actions[rule]), plan.known[rule])


FROM_PLAY: Mapping[str, Callable[[Plan, Trace, Setting, np.uint64], Rule | None]] = {
    "specialize": specialize,
    "generalize": generalize,
    "cover": cover,
    "avoid": avoid,
}
"""The operators that look at what was played."""
FROM_RULES: Mapping[str, Callable[[Plan, Setting, np.uint64], Rule | None]] = {
    "mutation": mutation,
    "creep": creep,
    "merge": merge,
}
"""The operators that look at the plan only."""
BLIND = ("mutation", "creep")
"""The operators that look at neither episodes nor strengths. They are applied before the first episodes."""


def new_rule(name: str, plan: Plan, trace: Trace | None, setting: Setting, key: np.uint64) -> Rule | None:
    """Return the rule that an operator makes, drawn by the stream `key`; it needs no trace if it is blind."""
    if name in FROM_RULES:
        return FROM_RULES[name](plan, setting, key)
    assert trace is not None
    return FROM_PLAY[name](plan, trace, setting, key)


def drawn_operators(parameters: SAMUELParameters, key: np.uint64) -> list[str]:
    """Draw the operators for a plan and a generation, with replacement, by their rates."""
    rates = np.array([getattr(parameters, name) for name in OPERATORS], dtype=np.float64)
    if not rates.any():
        return []
    ends = np.cumsum(rates) / rates.sum()
    draws = np.searchsorted(ends, uniforms(key, parameters.new_rules), side="right")
    return [OPERATORS[min(draw, len(OPERATORS) - 1)] for draw in draws.tolist()]


def applied(
    plan: Plan, names: list[str], trace: Trace | None, setting: Setting, key: np.uint64
) -> tuple[Plan, list[str]]:
    """Return a plan with the rules that operators add, and the names of the operators that added one.

    A rule that is there already is not added again. All operators look at the plan as it was played. Where it
    is full, rules drawn at random go.
    """
    grown, adding = plan, []
    for number, name in enumerate(names):
        rule = new_rule(name, plan, trace, setting, np.uint64(fold(key, number)))
        if rule is not None and not grown.has(rule.bounds, rule.action):
            grown = grown.joined(as_plan(rule))
            adding.append(name)
    most = setting.parameters.most_rules
    assert most is not None
    return shrunk(grown, most, np.uint64(fold(key, len(names)))), adding


def as_plan(rule: Rule) -> Plan:
    """Return a new rule as a plan of its own."""
    known = rule.known[None].copy()
    known[:, AGE] = 0
    own: NDArray[np.int32] = np.array([rule.action], dtype=np.int32)
    return Plan(rule.bounds[None], own, known, np.zeros(1, dtype=np.bool_))


def shrunk(plan: Plan, most: int, key: np.uint64) -> Plan:
    """Return a plan with at most `most` rules; which ones stay is drawn at random."""
    n = len(plan.actions)
    return plan if n <= most else plan.take(np.sort(np.argsort(uniforms(key, n))[:most]))
