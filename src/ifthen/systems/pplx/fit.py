"""Fitting: a list is changed a little, many times, so that it costs less at given points.

The cost of an action at a point is how much less it is worth there than the best action, by action values.
The cost of a list is that of the actions it takes. So no step is played. A change that costs a little more is
kept now and then, and ever more rarely (simulated annealing). This is cheap, and mends what a tree gets
wrong, because a tree chooses one split after the other.
"""

from __future__ import annotations

import math

import numpy as np

from ifthen.jit import kernel
from ifthen.randomness import fold, uniform
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.term import with_terms
from ifthen.systems.pplx.changes import (
    MOST_TESTS,
    NO_TEST,
    FitPoints,
    ListArrays,
    change,
    copy_rules,
    copy_term,
    fill_term,
)
from ifthen.systems.pplx.drafts import Draft, actions_at, are_given, deciders, tidy
from ifthen.systems.pplx.spreads import spreads_of

ROUNDING = 1e-12
"""Costs that differ by less than this share count as equal."""
FIRST_TEMPERATURE = 0.003
"""The first temperature, as a share of the mean cost of the worst actions."""
LAST_TEMPERATURE = 0.0005
"""The last temperature, as a share of the same mean cost."""
PRICE = 0.001
"""A test must save this share of the same mean cost."""


def arrays_of(draft: Draft) -> ListArrays:
    """Return a draft as arrays to change."""
    n_rules = len(draft.actions)
    n_tests = np.isfinite(draft.lows).sum(axis=1) + np.isfinite(draft.highs).sum(axis=1)
    shape = n_rules, max(MOST_TESTS, int(n_tests.max()))
    rules = ListArrays(
        np.full(shape, NO_TEST), np.zeros(shape, np.bool_), np.zeros(shape), draft.actions.astype(np.int32)
    )
    for r in range(n_rules):
        t = 0
        for limits, upper in ((draft.lows[r], False), (draft.highs[r], True)):
            for c in np.flatnonzero(np.isfinite(limits)):
                rules.column[r, t], rules.upper[r, t], rules.threshold[r, t] = c, upper, limits[c]
                t += 1
    return rules


def draft_of_arrays(rules: ListArrays, terms: Floats) -> Draft:
    """Return rules over features and terms `(terms, features)` as a draft."""
    lows = np.full((len(rules.actions), terms.shape[1] + len(terms)), -np.inf)
    highs = -lows
    for r, t in np.argwhere(rules.column >= 0):
        c, threshold = rules.column[r, t], rules.threshold[r, t]
        if rules.upper[r, t]:
            highs[r, c] = min(highs[r, c], threshold)
        else:
            lows[r, c] = max(lows[r, c], threshold)
    return Draft(lows, highs, rules.actions.copy(), terms)


@kernel
def total_cost(
    data: FitPoints,
    rules: ListArrays,
    first_changed: int,
    old_deciders: Ints,
    new_deciders: Ints,
    bound: float,
) -> float:
    """Return the cost of a list at all points together; infinity once it is more than a bound.

    Args:
        data: the points.
        rules: the list.
        first_changed: the first rule that is not as it was.
        old_deciders: `(n,)`: the rule that decided at each point before.
        new_deciders: `(n,)`: gets the rule that decides now.
        bound: where to stop.
    """
    values, costs = data.values, data.costs
    column, upper, threshold, actions = rules
    total, last_rule, max_tests = 0.0, len(actions) - 1, column.shape[1]
    for i in range(len(new_deciders)):
        r = old_deciders[i]
        if r >= first_changed:
            r, holds = first_changed - 1, False
            while not holds:
                r, holds = r + 1, True
                for t in range(max_tests if r < last_rule else 0):
                    c = column[r, t]
                    if c < 0:
                        break
                    value = values[c, i]
                    if (value > threshold[r, t]) if upper[r, t] else (value < threshold[r, t]):
                        holds = False
                        break
        new_deciders[i] = r
        total += costs[i, actions[r]]
        if total > bound:
            return math.inf
    return total


@kernel
def count_tests(rules: ListArrays) -> int:
    """Return how many tests a list has."""
    total = 0
    for r in range(rules.column.shape[0]):
        for t in range(rules.column.shape[1]):
            total += rules.column[r, t] >= 0
    return total


@kernel
def fit_rules(
    key: np.uint64,
    n_changes: int,
    hot: float,
    cold: float,
    price: float,
    data: FitPoints,
    rules: ListArrays,
    terms: Floats,
    numbers_only: bool,
) -> float:
    """Change a list at random, and keep changes that cost less, or little more; return the least cost.

    Args:
        key: the stream that changes are drawn from.
        n_changes: how many changes to try.
        hot: the first temperature; 0 keeps only changes that cost no more.
        cold: the last temperature.
        price: what a test must save.
        data: the points; values of terms change.
        rules: the list; becomes the best one.
        terms: `(terms, features)`: coefficients; become those of the best one.
        numbers_only: whether thresholds and coefficients alone are changed.
    """
    n_points = data.values.shape[1]
    old_deciders, new_deciders = np.zeros(n_points, np.int64), np.zeros(n_points, np.int64)
    old_rules = ListArrays(
        rules.column.copy(), rules.upper.copy(), rules.threshold.copy(), rules.actions.copy()
    )
    best_rules = ListArrays(
        rules.column.copy(), rules.upper.copy(), rules.threshold.copy(), rules.actions.copy()
    )
    old_terms, best_terms = terms.copy(), terms.copy()
    current_cost: float = total_cost(data, rules, 0, old_deciders, old_deciders, math.inf)
    current_cost += n_points * price * count_tests(rules)
    least_cost: float = current_cost
    if len(rules.actions) < 2:
        return float(least_cost / n_points)
    for k in range(n_changes):
        change_key = fold(key, k)
        temperature = hot * (cold / hot) ** (k / n_changes) if hot > 0.0 else 0.0
        bound = current_cost - n_points * temperature * math.log(1.0 - uniform(change_key, 0))
        first_changed, term = change(
            fold(change_key, 1), data, old_deciders, old_rules, rules, terms, numbers_only
        )
        test_cost = n_points * price * count_tests(rules)
        new_cost, bound = math.inf, bound - test_cost + ROUNDING * bound
        if first_changed >= 0:
            new_cost = total_cost(data, rules, first_changed, old_deciders, new_deciders, bound)
        if new_cost <= bound:
            current_cost = new_cost + test_cost
            for i in range(n_points):
                old_deciders[i] = new_deciders[i]
            copy_rules(rules, old_rules)
            if term >= 0:
                copy_term(terms, term, old_terms)
            if current_cost < least_cost:
                least_cost = current_cost
                copy_rules(rules, best_rules)
                for t in range(len(terms)):
                    copy_term(old_terms, t, best_terms)
        else:
            copy_rules(old_rules, rules)
            if term >= 0:
                copy_term(old_terms, term, terms)
                fill_term(terms, term, data.values)
    copy_rules(best_rules, rules)
    for t in range(len(terms)):
        copy_term(best_terms, t, terms)
    return float(least_cost / n_points)


def fit_points(terms: Floats, points: Floats, costs: Floats, given_terms: Floats | None) -> FitPoints:
    """Return the points to fit a list at, costly ones first; see `fitted` for the arguments."""
    order = np.argsort(-costs.max(axis=1), kind="stable")
    values = np.ascontiguousarray(with_terms(terms, points[order]).T)
    spreads = np.where(np.ptp(values, axis=1) > 0, spreads_of(values.T), 0.0)
    return FitPoints(values, np.ascontiguousarray(costs[order]), spreads, are_given(terms, given_terms))


def fitted(
    key: np.uint64,
    draft: Draft,
    extra_terms: Floats,
    points: Floats,
    costs: Floats,
    n_changes: int,
    given_terms: Floats | None = None,
) -> Draft:
    """Return a list with at most as many rules that costs little at points.

    Args:
        key: the stream that changes are drawn from.
        draft: the list to begin with.
        extra_terms: `(terms, features)`: more terms that it may use.
        points: `(n, features)`.
        costs: `(n, actions)`: the cost of each action there.
        n_changes: how many changes to try.
        given_terms: `(terms, features)`: terms whose coefficients stay.
    """
    draft, worst_cost = tidy(draft), float(costs.max(axis=1).mean())
    rules, terms = arrays_of(draft), np.vstack([draft.terms, extra_terms])
    data = fit_points(terms, points, costs, given_terms)
    hot, cold, price = FIRST_TEMPERATURE * worst_cost, LAST_TEMPERATURE * worst_cost, PRICE * worst_cost
    fit_rules(key, n_changes, hot, cold, price, data, rules, terms, False)
    draft = draft_of_arrays(rules, terms)
    used_rules = np.unique(np.append(deciders(draft, points), len(rules.actions) - 1))
    lows, highs, actions = draft.lows[used_rules], draft.highs[used_rules], draft.actions[used_rules]
    return tidy(draft._replace(lows=lows, highs=highs, actions=actions))


def polished(
    key: np.uint64,
    draft: Draft,
    points: Floats,
    costs: Floats,
    n_changes: int,
    given_terms: Floats | None = None,
) -> Draft:
    """Return a list with other numbers that costs no more at points; see `fitted` for the arguments."""
    draft = tidy(draft)
    rules, terms = arrays_of(draft), draft.terms.copy()
    data = fit_points(terms, points, costs, given_terms)
    fit_rules(key, n_changes, 0.0, 0.0, 0.0, data, rules, terms, True)
    return draft_of_arrays(rules, terms)


def regret(draft: Draft, points: Floats, costs: Floats) -> float:
    """Return the mean cost of a list at points; see `fitted` for the arguments."""
    return float(np.mean(costs[np.arange(len(points)), actions_at(draft, points)]))
