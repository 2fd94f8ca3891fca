"""Plain oracles of SAMUEL's operators and of its breeding, over whole arrays of rules.

The library does the same in kernels, number by number. Both must give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tests.naive import below, fold, uniform

Floats: TypeAlias = NDArray[Any]
Ints: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[Any]
STRENGTH, ACTIVITY, AGE = 2, 3, 4
NAMES = ("mutation", "creep", "specialize", "generalize", "cover", "avoid", "merge")


class Plan(NamedTuple):
    """The rules of one plan."""

    bounds: Floats
    actions: Ints
    known: Floats
    together: Mask

    def take(self, rules: Any) -> Plan:
        """Return some of the rules, by number or by mask."""
        return Plan(*(column[rules] for column in self))

    @property
    def strengths(self) -> Floats:
        """The strengths, `(rules,)`."""
        return self.known[:, STRENGTH]


def inside(bounds: Floats, values: Floats) -> Mask:
    """Return which intervals `(…, 2)` hold the values beside them `(…)`."""
    above, below = values >= bounds[..., 0], values <= bounds[..., 1]
    return np.where(bounds[..., 0] > bounds[..., 1], above | below, above & below)


class Steps(NamedTuple):
    """The steps of all features, each `(features,)`."""

    lows: Floats
    highs: Floats
    steps: Floats
    first: Floats
    last: Floats
    periods: Floats

    def cells(self, bounds: Floats) -> tuple[Floats, Floats]:
        """Return first and last steps `(…, features)` of intervals `(…, features, 2)`."""
        numbers = np.rint(bounds / self.steps[:, None])
        at_ends = np.where(bounds <= self.lows[:, None], self.first[:, None], numbers)
        at_ends = np.where(bounds >= self.highs[:, None], self.last[:, None], at_ends)
        return at_ends[..., 0], at_ends[..., 1]

    def values(self, numbers: Floats) -> Floats:
        """Return the values of steps `(…, features)`; those beyond the range are its ends.

        A small step is one over a whole number. Dividing by that gives 0.3 where three times 0.1 does not.
        """
        small = self.steps < 1
        shares = np.rint(1 / np.where(small, self.steps, 1.0))
        multiples = np.where(small, numbers / shares, numbers * self.steps) + 0.0  # no -0.0
        return np.clip(multiples, self.lows, self.highs)

    def reading(self, point: Floats) -> tuple[Floats, Floats]:
        """Return the steps just below and just above readings `(…, features)`, the same for a multiple."""
        near, _ = self.cells(np.stack([point, point], axis=-1))
        below, above = near - (self.values(near) > point), near + (self.values(near) < point)
        return np.clip(below, self.first, self.last), np.clip(above, self.first, self.last)

    def rounded_outwards(self, bounds: Floats) -> Floats:
        """Return intervals `(…, features, 2)`, the cyclic ones widened to steps where they are between."""
        (first, above_first), (below_last, last) = self.reading(bounds[..., 0]), self.reading(bounds[..., 1])
        between = np.isfinite(self.periods) & ((first < above_first) | (below_last < last))
        round_trip = np.where(between & (bounds[..., 0] > bounds[..., 1]), self.periods, 0.0)
        return np.where(between[..., None], self.bounds(first, last + round_trip), bounds)

    def distance(self, start: Floats, end: Floats) -> Floats:
        """Return the steps from `start` up to `end`; below 0 where a linear `end` comes first."""
        apart = end - start
        return np.where(np.isfinite(self.periods), np.mod(apart, self.periods), apart)

    def widths(self, bounds: Floats) -> Floats:
        """Return how many steps intervals `(…, features, 2)` go on for after their first."""
        first, last = self.cells(bounds)
        whole = (first == self.first) & (last == self.last)
        return np.where(whole, self.last - self.first, self.distance(first, last))

    def shares(self, bounds: Floats) -> Floats:
        """Return the share of its range that each interval covers, `(…, features)`."""
        shares: Floats = (self.widths(bounds) + 1) / (self.last - self.first + 1)
        return shares

    def bounds(self, first: Floats, last: Floats) -> Floats:
        """Return intervals between steps as `(…, features, 2)`, cut to the range or wrapped."""
        cyclic = np.isfinite(self.periods)
        whole = cyclic & (last - first >= self.last - self.first)
        round_trip = np.where(cyclic, self.periods, 1.0)
        begin = np.where(cyclic, self.last - np.mod(self.last - first, round_trip), first)
        end = np.where(cyclic, self.first + np.mod(last - self.first, round_trip), last)
        ends = np.where(whole, self.first, begin), np.where(whole, self.last, end)
        return np.stack([self.values(numbers) for numbers in ends], axis=-1)


def specialized(grid: Steps, bounds: Floats, point: Floats) -> Floats:
    """Return intervals `(features, 2)` with both ends moved half-way to a reading.

    A whole circle has no ends: it becomes the half around the reading.
    """
    (first, last), (below, above) = grid.cells(bounds), grid.reading(point)
    left, right = np.maximum(grid.distance(first, below), 0), np.maximum(grid.distance(above, last), 0)
    span = grid.last - grid.first
    circle = np.isfinite(grid.periods) & (grid.widths(bounds) == span)
    left, right = np.where(circle, span // 2, left), np.where(circle, span // 2, right)
    return grid.bounds(below - left // 2, above + right // 2)


def generalized(grid: Steps, bounds: Floats, point: Floats, level: float) -> Floats:
    """Return intervals `(features, 2)` that reach at least `level` quarters of the range to either side."""
    (first, _), (below, above) = grid.cells(bounds), grid.reading(point)
    left = grid.distance(first, below)
    right = grid.widths(bounds) - left - (above - below)
    least = np.ceil(level * (grid.last - grid.first) / 4)
    return grid.bounds(below - np.maximum(left, least), above + np.maximum(right, least))


def covering(grid: Steps, bounds: Floats, point: Floats) -> Floats:
    """Return intervals `(features, 2)`, those that leave a reading out extended to it at their nearer end."""
    (first, last), (below, above) = grid.cells(bounds), grid.reading(point)
    width, down, up = grid.widths(bounds), grid.distance(below, first), grid.distance(last, above)
    outside = ~inside(bounds, point)
    at_start = outside & np.where(np.isfinite(grid.periods), down <= up, down > 0)
    left, right = np.where(at_start, down, 0), np.where(outside & ~at_start, np.maximum(up, 0), 0)
    return np.where(outside[:, None], grid.bounds(first - left, first + width + right), bounds)


def crept(grid: Steps, bounds: Floats, d: int, end: int, way: int) -> Floats:
    """Return intervals `(features, 2)`, that of feature d a step wider (+1) or narrower (−1) at an end."""
    (first, _), width = grid.cells(bounds), grid.widths(bounds)
    change = np.zeros(len(width))
    change[d] = max(way, -width[d])
    left, right = (change, 0 * change) if end == 0 else (0 * change, change)
    moved = grid.bounds(first - left, first + width + right)
    return np.where((change != 0)[:, None], moved, bounds)


def overlaps(grid: Steps, a: Floats, b: Floats) -> Floats:
    """Return the share of two intervals' steps that both have, `(…, features)`, for `(…, features, 2)`."""
    (first_a, _), (first_b, _) = grid.cells(a), grid.cells(b)
    wide_a, wide_b, offset = grid.widths(a), grid.widths(b), grid.distance(first_a, first_b)

    def common(start: Floats) -> Floats:
        return np.asarray(np.maximum(0, np.minimum(wide_a, start + wide_b) - np.maximum(0, start) + 1))

    steps_a, steps_b = np.minimum(wide_a + 1, grid.periods), np.minimum(wide_b + 1, grid.periods)
    both = np.minimum(common(offset) + common(offset - grid.periods), np.minimum(steps_a, steps_b))
    return np.asarray(both / (steps_a + steps_b - both))


def hull(grid: Steps, a: Floats, b: Floats) -> Floats:
    """Return the shortest intervals that hold two others, `(features, 2)` each."""
    (first_a, _), (first_b, _), wide_a, wide_b = grid.cells(a), grid.cells(b), grid.widths(a), grid.widths(b)
    linear = ~np.isfinite(grid.periods)
    from_a = np.maximum(wide_a, grid.distance(first_a, first_b) + wide_b)
    from_b = np.maximum(wide_b, grid.distance(first_b, first_a) + wide_a)
    begins_a = np.where(linear, first_a <= first_b, from_a <= from_b)
    first = np.where(begins_a, first_a, first_b)
    return grid.bounds(first, first + np.where(begins_a, from_a, from_b))


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

    def event(self, possible: Mask, order: Floats, key: int) -> tuple[int, int] | None:
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
        rank_of_step = ranks[self.episodes[steps]]
        best = np.flatnonzero(rank_of_step == rank_of_step.min())
        drawn = best[below(key, 0, len(best))]
        return int(steps[drawn]), int(rules[drawn])


def trace_of(plan: Plan, readings: Floats, taken: Ints, payoffs: Floats) -> Trace:
    """Return the trace of a plan, from `(episodes, trace, features)`, `(episodes, trace)` and payoffs."""
    numbers, places = np.nonzero(taken >= 0)
    points, actions = readings[numbers, places], taken[numbers, places]
    scores = np.zeros((len(points), len(plan.actions)), dtype=np.int64)
    for d in range(points.shape[1]):  # many times as fast as a sum over the last, short axis
        scores += inside(plan.bounds[:, d], points[:, d, None])
    chosen = (scores == scores.max(axis=1, keepdims=True)) & (plan.actions == actions[:, None])
    full = chosen & (scores == plan.bounds.shape[1])
    return Trace(points, actions, numbers, payoffs, full, chosen & ~full)


class Rule(NamedTuple):
    """A new rule."""

    bounds: Floats
    """`(features, 2)`."""
    action: int
    known: Floats
    """`(5,)`: what its origin knows."""


class Setting(NamedTuple):
    """What all operators get besides a plan."""

    grid: Steps
    n_actions: int
    parameters: Any


def specialize(plan: Plan, trace: Trace, setting: Setting, key: int) -> Rule | None:
    """Narrow a general rule around a reading of a well-paid episode, the best-paid one first.

    The rule's strength must be below `spec_threshold` times the episode's payoff, and each of its conditions
    must cover at least `spec_level` of its range. The guide's text and its table swap the two names.
    """
    p = setting.parameters
    assert p.spec_level is not None
    general = (setting.grid.shares(plan.bounds) >= p.spec_level).all(axis=1)
    weak = plan.strengths < p.spec_threshold * trace.payoffs[trace.episodes][:, None]
    return _changed(plan, trace, trace.full & general & weak, key, partial(specialized, setting.grid))


def generalize(plan: Plan, trace: Trace, setting: Setting, key: int) -> Rule | None:
    """Widen the conditions of a strong rule around a reading of a well-paid episode.

    Strong means at least the mean strength of the plan (our choice).
    """
    strong = plan.strengths >= plan.strengths.mean()
    widen = partial(generalized, setting.grid, level=setting.parameters.general_level)
    return _changed(plan, trace, trace.full & strong, key, widen)


def cover(plan: Plan, trace: Trace, setting: Setting, key: int) -> Rule | None:
    """Extend the failed conditions of a rule that was active by a partial match, in the best-paid episode."""
    return _changed(plan, trace, trace.partial, key, partial(covering, setting.grid))


def _changed(
    plan: Plan, trace: Trace, possible: Mask, key: int, change: Callable[[Floats, Floats], Floats]
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


def avoid(plan: Plan, trace: Trace, setting: Setting, key: int) -> Rule | None:
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


def merge(plan: Plan, _: Trace | None, setting: Setting, key: int) -> Rule | None:
    """Cover two strong rules with the same action, whose conditions overlap much on average, by one."""
    p = setting.parameters
    strong = np.flatnonzero(plan.strengths >= p.merge_strength * plan.strengths.mean())
    i, j = (strong[index] for index in np.triu_indices(len(strong), 1))
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


def mutation(plan: Plan, _: Trace | None, setting: Setting, key: int) -> Rule | None:
    """Set one value of a rule, an end of an interval or the action, to any that is legal."""
    rule, features = below(key, 0, len(plan.actions)), plan.bounds.shape[1]
    value = below(key, 1, 2 * features + 1)
    box, action = plan.bounds[rule].copy(), int(plan.actions[rule])
    if value == 2 * features:
        action = below(key, 2, setting.n_actions)
    else:
        box[value // 2] = mutated(setting.grid, box, value, uniform(key, 2))
    return Rule(box, action, plan.known[rule])


def mutated(grid: Steps, box: Floats, value: int, u: float) -> Floats:
    """Return the interval of feature `value // 2`, `(2,)`, with one end set by u in [0, 1)."""
    d, end = value // 2, value % 2
    ends = [cells.copy() for cells in grid.cells(box)]
    ends[end][d] = grid.first[d] + np.floor(u * (grid.last[d] - grid.first[d] + 1))
    if not np.isfinite(grid.periods[d]):
        ends = [np.minimum(*ends), np.maximum(*ends)]
    interval: Floats = grid.bounds(*ends)[d]
    return interval


def creep(plan: Plan, _: Trace | None, setting: Setting, key: int) -> Rule | None:
    """Move one end of one interval a step: outwards or inwards, with equal odds."""
    rule, d = below(key, 0, len(plan.actions)), below(key, 1, plan.bounds.shape[1])
    end, way = below(key, 2, 2), 1 - 2 * below(key, 3, 2)
    box = crept(setting.grid, plan.bounds[rule], d, end, way)
    return Rule(box, int(plan.actions[rule]), plan.known[rule])


def drawn_operators(parameters: Any, key: int) -> list[str]:
    """Draw the operators for a plan and a generation, with replacement, by their rates."""
    rates = np.array([getattr(parameters, name) for name in NAMES], dtype=np.float64)
    if not rates.any():
        return []
    ends = np.cumsum(rates) / rates.sum()
    draws = np.searchsorted(ends, uniforms(key, parameters.new_rules), side="right")
    return [NAMES[min(draw, len(NAMES) - 1)] for draw in draws.tolist()]


def applied(
    plan: Plan, names: list[str], trace: Trace | None, setting: Setting, key: int
) -> tuple[Plan, list[str]]:
    """Return a plan with the rules that operators add, and the names of the operators that added one.

    A rule that is there already is not added again. All operators look at the plan as it was played. Where it
    is full, rules drawn at random go.
    """
    grown, adding = plan, []
    for number, name in enumerate(names):
        rule = globals()[name](plan, trace, setting, fold(key, number))
        if rule is not None and not has(grown, rule.bounds, rule.action):
            grown = joined(grown, as_plan(rule))
            adding.append(name)
    most = setting.parameters.most_rules
    assert most is not None
    return shrunk(grown, most, fold(key, len(names))), adding


def has(plan: Plan, bounds: Floats, action: int) -> bool:
    """Return whether a rule with this condition and action is in the plan."""
    same = (plan.bounds == bounds).all(axis=(1, 2)) & (plan.actions == action)
    return bool(same.any())


def joined(first: Plan, second: Plan) -> Plan:
    """Return the rules of two plans as one."""
    pairs: Any = zip(first, second, strict=True)
    return Plan._make(np.concatenate(pair) for pair in pairs)


def mean(values: Floats) -> float:
    """Return the mean as NumPy adds the numbers up."""
    return float(values.mean())


def uniforms(key: int, n: int) -> Floats:
    """Return the first n numbers in [0, 1) of a stream."""
    return np.array([uniform(key, position) for position in range(n)])


def as_plan(rule: Rule) -> Plan:
    """Return a new rule as a plan of its own."""
    known = rule.known[None].copy()
    known[:, AGE] = 0
    actions: NDArray[np.int32] = np.array([rule.action], dtype=np.int32)
    return Plan(rule.bounds[None], actions, known, np.zeros(1, dtype=np.bool_))


def shrunk(plan: Plan, most: int, key: int) -> Plan:
    """Return a plan with at most `most` rules; which ones stay is drawn at random."""
    n = len(plan.actions)
    return plan if n <= most else plan.take(np.sort(np.argsort(uniforms(key, n))[:most]))


def crossed(a: Plan, b: Plan, most: int, key: int) -> tuple[Plan, Plan]:
    """Return two plans that share out the rules of two others.

    Each rule goes to either child with equal odds; the rules of a parent that were active together go
    together. A rule that both parents have goes to both children, with what each has learnt (our choice: it
    would else be twice in one of them). A child without rules gets the first rule of a parent.
    """
    first_a, first_b = (_sides(plan, fold(key, side)) for side, plan in enumerate((a, b)))
    same = (a.bounds[:, None] == b.bounds).all(axis=(2, 3)) & (a.actions[:, None] == b.actions)
    shared_a, shared_b = same.any(axis=1), same.any(axis=0)
    first = joined(a.take(first_a | shared_a), b.take(first_b & ~shared_b))
    second = joined(b.take(~first_b | shared_b), a.take(~first_a & ~shared_a))
    children = (first if len(first.actions) else a.take([0]), second if len(second.actions) else b.take([0]))
    return (
        shrunk(children[0], most, fold(key, 2)),
        shrunk(children[1], most, fold(key, 3)),
    )


def _sides(plan: Plan, key: int) -> Mask:
    """Return which rules go to the first child, `(rules,)`."""
    n = len(plan.actions)
    draws = uniforms(key, n + 1) < 0.5
    sides: Mask = np.where(plan.together, draws[n], draws[:n])
    return sides


def with_mutations(plan: Plan, p_mut: float, grid: Steps, n_actions: int, key: int) -> Plan:
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


def aged(plan: Plan, active: Mask, parameters: Any) -> Plan:
    """Return a plan a generation older, given which rules were active in it, `(rules,)`."""
    known = plan.known.copy()
    old = known[:, ACTIVITY]
    grown = old + parameters.activity_gain * (1 - old)
    known[:, ACTIVITY] = np.where(active, grown, parameters.activity_decay * old)
    known[:, AGE] += 1
    return plan._replace(known=known)


def with_deletions(plan: Plan, grid: Steps, parameters: Any) -> Plan:
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


def contained(plan: Plan, grid: Steps) -> Mask:
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
