"""The operators that add a rule to a plan: MUTATION, CREEP, and those that look at what was played.

SPECIALIZE, GENERALIZE, COVER and AVOID are Lamarckian: they change rules by what happened to them in episodes
before selection, and what they make is inherited. Each operator gives one new rule, or none where there is
nothing for it to do; the rule it was made from stays. A new rule begins with what its origin has learnt.

An operator is a kernel that writes the new rule's condition and statistics, and returns its action: −1 where
it makes none.

Where the guide leaves a choice, the operator's docstring and `docs/family.md` say what was chosen here.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from ifthen.jit import kernel
from ifthen.randomness import below, fold, uniform
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.simulate.bids import STRENGTH
from ifthen.systems.samuel.granularity import (
    Grid,
    covering,
    crept,
    generalized,
    holds_reading,
    hull,
    mutate_end,
    put_overlaps,
    share_of,
    specialized,
)
from ifthen.systems.samuel.means import mean_of
from ifthen.systems.samuel.plans import AGE, COLUMNS, Plan, copy_rule, empty_plan, same_condition, shrunk
from ifthen.systems.samuel.samuel_parameters import OPERATORS, SAMUELParameters

MUTATION, CREEP, SPECIALIZE, GENERALIZE, COVER, AVOID, MERGE = range(len(OPERATORS))
"""The numbers of the operators. `FIRST_SEEING` and those behind it look at episodes or strengths."""
FIRST_SEEING = SPECIALIZE
"""The operators before this one are blind. They are applied before the first episodes."""
FULL, PARTIAL, EITHER = range(3)
"""Which rules of a match set an operator takes: full matches, partial ones, or both."""


class Trace(NamedTuple):
    """What a plan did: the steps that were kept of its episodes."""

    readings: Floats
    """`(episodes, trace, features)`: the points, inside the features' ranges."""
    taken: Ints
    """`(episodes, trace)`: the actions taken; −1 where fewer steps were made."""
    payoffs: Floats
    """`(episodes,)`: scaled."""
    best_first: Ints
    """`(episodes,)`: the numbers of the episodes, the best-paid one first."""
    worst_first: Ints
    """`(episodes,)`: the numbers of the episodes, the worst-paid one first."""

    @classmethod
    def of(cls, readings: Floats, taken: Ints, payoffs: Floats) -> Self:
        """Return the trace of a plan, or those of many, with `(plans, …)` in all arrays."""
        best, worst = (np.argsort(order, axis=-1, kind="stable") for order in (-payoffs, payoffs))
        return cls(readings, taken, payoffs, best, worst)

    @classmethod
    def empty(cls, features: int) -> Self:
        """Return the trace of a plan that did not play."""
        return cls.of(np.empty((0, 0, features)), np.empty((0, 0), dtype=np.int64), np.empty(0))

    def take(self, i: int) -> Self:
        """Return the trace of plan number i of many."""
        return type(self)._make(column[i] for column in self)


class Rule(NamedTuple):
    """A new rule but for its action."""

    bounds: Floats
    """`(features, 2)`."""
    known: Floats
    """`(5,)`: what its origin knows."""


class Setting(NamedTuple):
    """What all operators get besides a plan; for the numbers see `SAMUELParameters`."""

    grid: Grid
    n_actions: int
    spec_threshold: float
    spec_level: float
    general_level: float
    merge_overlap: float
    merge_strength: float

    @classmethod
    def of(cls, grid: Grid, n_actions: int, parameters: SAMUELParameters) -> Self:
        """Return the setting that parameters give."""
        assert parameters.spec_level is not None
        return cls(
            grid,
            n_actions,
            float(parameters.spec_threshold),
            float(parameters.spec_level),
            float(parameters.general_level),
            float(parameters.merge_overlap),
            float(parameters.merge_strength),
        )


@kernel
def score_of(plan: Plan, rule: int, point: Floats) -> int:
    """Return how many conditions of a rule hold at a point."""
    score = 0
    for d in range(len(point)):
        score += holds_reading(plan.bounds[rule, d], point[d])
    return score


@kernel
def put_candidates(plan: Plan, point: Floats, action: int, matching: int, out: Mask) -> None:
    """Write which rules were active by such a match at a point where an action was taken, `(rules,)`."""
    features = len(point)
    best = features if matching == FULL else 0
    for rule in range(len(plan.actions)):
        if best == features:
            break
        best = max(best, score_of(plan, rule, point))
    wanted = matching != PARTIAL or best < features
    for rule in range(len(plan.actions)):
        out[rule] = wanted and plan.actions[rule] == action and score_of(plan, rule, point) == best


@kernel
def any_of(eligible: Mask, episode: int) -> bool:
    """Return whether any rule is eligible in an episode."""
    any_eligible = False
    for rule in range(eligible.shape[1]):
        any_eligible |= eligible[episode, rule]
    return any_eligible


@kernel
def draw_event(
    plan: Plan, trace: Trace, episodes: Ints, matching: int, eligible: Mask, key: np.uint64
) -> tuple[int, int, int]:
    """Draw a step and a rule that was active there, in the first episode that has any.

    Args:
        plan: the plan.
        trace: what it did.
        episodes: `(episodes,)`: their numbers, in the order in which they are looked at.
        matching: which rules of a match set to draw from: `FULL`, `PARTIAL` or `EITHER`.
        eligible: `(episodes, rules)`: the rules to draw from in each episode.
        key: the stream to draw by.

    Returns:
        The episode, the step and the rule; −1 where there is none.
    """
    n_rules, n_steps = len(plan.actions), trace.taken.shape[1]
    rule_is_candidate = np.empty(n_rules, dtype=np.bool_)
    steps, rules = np.empty(n_steps * n_rules, dtype=np.int64), np.empty(n_steps * n_rules, dtype=np.int64)
    for episode in episodes:
        count = 0
        if any_of(eligible, episode):
            for step in range(n_steps):
                action = trace.taken[episode, step]
                if action >= 0:
                    put_candidates(plan, trace.readings[episode, step], action, matching, rule_is_candidate)
                    for rule in range(n_rules):
                        if rule_is_candidate[rule] and eligible[episode, rule]:
                            steps[count], rules[count] = step, rule
                            count += 1
        if count > 0:
            drawn = below(key, 0, count)
            return episode, steps[drawn], rules[drawn]
    return -1, -1, -1


@kernel
def put_rule(bounds: Floats, known: Floats, out: Rule) -> None:
    """Write a rule's condition `(features, 2)` and what it knows `(5,)`."""
    for d in range(len(bounds)):
        out.bounds[d, 0], out.bounds[d, 1] = bounds[d, 0], bounds[d, 1]
    for column in range(COLUMNS):
        out.known[column] = known[column]


@kernel
def specialize(plan: Plan, trace: Trace, setting: Setting, key: np.uint64, out: Rule) -> int:
    """Narrow a general rule around a reading of a well-paid episode, the best-paid one first.

    The rule's strength must be below `spec_threshold` times the episode's payoff, and each of its conditions
    must cover at least `spec_level` of its range. The guide's text and its table swap the two names.
    """
    eligible = np.empty((len(trace.payoffs), len(plan.actions)), dtype=np.bool_)
    for rule in range(len(plan.actions)):
        general = True
        for d in range(plan.bounds.shape[1]):
            general &= share_of(setting.grid, d, plan.bounds[rule, d]) >= setting.spec_level
        for episode in range(len(trace.payoffs)):
            highest = setting.spec_threshold * trace.payoffs[episode]
            eligible[episode, rule] = general and plan.known[rule, STRENGTH] < highest
    episode, step, rule = draw_event(plan, trace, trace.best_first, FULL, eligible, key)
    if rule < 0:
        return -1
    bounds = specialized(setting.grid, plan.bounds[rule], trace.readings[episode, step])
    put_rule(bounds, plan.known[rule], out)
    return int(plan.actions[rule])


@kernel
def generalize(plan: Plan, trace: Trace, setting: Setting, key: np.uint64, out: Rule) -> int:
    """Widen the conditions of a strong rule around a reading of a well-paid episode.

    Strong means at least the mean strength of the plan (our choice).
    """
    mean = mean_of(plan.known[:, STRENGTH])
    eligible = np.empty((len(trace.payoffs), len(plan.actions)), dtype=np.bool_)
    for rule in range(len(plan.actions)):
        for episode in range(len(trace.payoffs)):
            eligible[episode, rule] = plan.known[rule, STRENGTH] >= mean
    episode, step, rule = draw_event(plan, trace, trace.best_first, FULL, eligible, key)
    if rule < 0:
        return -1
    point = trace.readings[episode, step]
    bounds = generalized(setting.grid, plan.bounds[rule], point, setting.general_level)
    put_rule(bounds, plan.known[rule], out)
    return int(plan.actions[rule])


@kernel
def cover(plan: Plan, trace: Trace, setting: Setting, key: np.uint64, out: Rule) -> int:
    """Extend the failed conditions of a rule that was active by a partial match, in the best-paid episode."""
    eligible = np.ones((len(trace.payoffs), len(plan.actions)), dtype=np.bool_)
    episode, step, rule = draw_event(plan, trace, trace.best_first, PARTIAL, eligible, key)
    if rule < 0:
        return -1
    bounds = covering(setting.grid, plan.bounds[rule], trace.readings[episode, step])
    put_rule(bounds, plan.known[rule], out)
    return int(plan.actions[rule])


@kernel
def avoid(plan: Plan, trace: Trace, setting: Setting, key: np.uint64, out: Rule) -> int:
    """Give a rule that was active in a badly paid episode another action, the worst-paid episode first.

    Badly paid means less than the plan's mean (our choice).
    """
    if setting.n_actions < 2 or len(trace.payoffs) == 0:
        return -1
    mean = mean_of(trace.payoffs)
    eligible = np.empty((len(trace.payoffs), len(plan.actions)), dtype=np.bool_)
    for episode in range(len(trace.payoffs)):
        for rule in range(len(plan.actions)):
            eligible[episode, rule] = trace.payoffs[episode] < mean
    _, _, rule = draw_event(plan, trace, trace.worst_first, EITHER, eligible, key)
    if rule < 0:
        return -1
    put_rule(plan.bounds[rule], plan.known[rule], out)
    other = below(key, 1, setting.n_actions - 1)
    return int(other + (other >= plan.actions[rule]))


@kernel
def merge(plan: Plan, setting: Setting, key: np.uint64, out: Rule) -> int:
    """Cover two strong rules with the same action, whose conditions overlap much on average, by one."""
    n, n_pairs = len(plan.actions), 0
    least = setting.merge_strength * mean_of(plan.known[:, STRENGTH])
    pairs = np.empty((n * (n - 1) // 2, 2), dtype=np.int64)
    overlaps = np.empty(plan.bounds.shape[1])
    for a in range(n):
        for b in range(a + 1, n if plan.known[a, STRENGTH] >= least else a):
            if plan.actions[a] == plan.actions[b] and plan.known[b, STRENGTH] >= least:
                put_overlaps(setting.grid, plan.bounds[a], plan.bounds[b], overlaps)
                if mean_of(overlaps) >= setting.merge_overlap:
                    pairs[n_pairs, 0], pairs[n_pairs, 1] = a, b
                    n_pairs += 1
    if n_pairs == 0:
        return -1
    drawn = below(key, 0, n_pairs)
    first, second = pairs[drawn, 0], pairs[drawn, 1]
    put_rule(hull(setting.grid, plan.bounds[first], plan.bounds[second]), plan.known[first], out)
    for column in range(COLUMNS):
        out.known[column] = (plan.known[first, column] + plan.known[second, column]) / 2.0
    return int(plan.actions[first])


@kernel
def mutation(plan: Plan, setting: Setting, key: np.uint64, out: Rule) -> int:
    """Set one value of a rule, an end of an interval or the action, to any that is legal."""
    rule, features = below(key, 0, len(plan.actions)), plan.bounds.shape[1]
    value = below(key, 1, 2 * features + 1)
    put_rule(plan.bounds[rule], plan.known[rule], out)
    if value == 2 * features:
        return below(key, 2, setting.n_actions)
    d = value // 2
    mutate_end(setting.grid, d, value % 2, uniform(key, 2), out.bounds[d])
    return int(plan.actions[rule])


@kernel
def creep(plan: Plan, setting: Setting, key: np.uint64, out: Rule) -> int:
    """Move one end of one interval a step: outwards or inwards, with equal odds."""
    rule, d = below(key, 0, len(plan.actions)), below(key, 1, plan.bounds.shape[1])
    end, way = below(key, 2, 2), 1 - 2 * below(key, 3, 2)
    put_rule(crept(setting.grid, plan.bounds[rule], d, end, way), plan.known[rule], out)
    return int(plan.actions[rule])


@kernel
def make_rule(operator: int, plan: Plan, trace: Trace, setting: Setting, key: np.uint64, out: Rule) -> int:
    """Write the rule that an operator makes, drawn by the stream `key`; return its action or −1."""
    if operator == MUTATION:
        return mutation(plan, setting, key, out)
    if operator == CREEP:
        return creep(plan, setting, key, out)
    if operator == SPECIALIZE:
        return specialize(plan, trace, setting, key, out)
    if operator == GENERALIZE:
        return generalize(plan, trace, setting, key, out)
    if operator == COVER:
        return cover(plan, trace, setting, key, out)
    if operator == AVOID:
        return avoid(plan, trace, setting, key, out)
    return merge(plan, setting, key, out)


def rate_ends(parameters: SAMUELParameters) -> Floats:
    """Return the shares of all operators' rates, added up; empty where all rates are 0."""
    rates = np.array([getattr(parameters, name) for name in OPERATORS], dtype=np.float64)
    return np.cumsum(rates) / rates.sum() if rates.any() else np.empty(0)


@kernel
def drawn_operators(ends: Floats, n: int, key: np.uint64) -> Ints:
    """Draw the numbers of n operators for a plan and a generation, with replacement, by `rate_ends`."""
    operators = np.empty(n if len(ends) else 0, dtype=np.int64)
    for draw in range(len(operators)):
        u, operator = uniform(key, draw), 0
        while operator < len(ends) - 1 and u >= ends[operator]:
            operator += 1
        operators[draw] = operator
    return operators


def applied(
    plan: Plan, operators: Ints, trace: Trace, setting: Setting, most: int, key: np.uint64, added: Ints
) -> Plan:
    """Return a plan with the rules that operators add.

    A rule that is there already is not added again. All operators look at the plan as it was played. Where it
    has more than `most` rules then, rules drawn at random go.

    Args:
        plan: the plan.
        operators: the numbers of the operators.
        trace: what the plan did; blind operators do not look at it.
        setting: what operators get besides.
        most: the most rules of a plan.
        key: the stream to draw by.
        added: `(7,)`: how many rules each operator added; those of this plan are counted in.
    """
    grown = with_rules(plan, operators, trace, setting, key, added)
    return shrunk(grown, most, np.uint64(fold(key, len(operators))))


@kernel
def with_rules(
    plan: Plan, operators: Ints, trace: Trace, setting: Setting, key: np.uint64, added: Ints
) -> Plan:
    """Return a plan with the rules that operators add, however many it has then; see `applied`."""
    n, features = plan.bounds.shape[0], plan.bounds.shape[1]
    grown = empty_plan(n + len(operators), features)
    for rule in range(n):
        copy_rule(plan, rule, grown, rule)
    new = Rule(np.empty((features, 2)), np.empty(COLUMNS))
    for number in range(len(operators)):
        action = make_rule(operators[number], plan, trace, setting, fold(key, number), new)
        if action >= 0 and not has_rule(grown, n, new.bounds, action):
            put_rule(new.bounds, new.known, Rule(grown.bounds[n], grown.known[n]))
            grown.known[n, AGE] = 0.0
            grown.actions[n], grown.together[n] = action, False
            added[operators[number]] += 1
            n += 1
    return Plan(grown.bounds[:n], grown.actions[:n], grown.known[:n], grown.together[:n])


@kernel
def has_rule(plan: Plan, n: int, bounds: Floats, action: int) -> bool:
    """Return whether a rule with this condition and action is among the first n of a plan."""
    for rule in range(n):
        if plan.actions[rule] == action and same_condition(plan.bounds[rule], bounds):
            return True
    return False
