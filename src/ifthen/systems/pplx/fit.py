"""Fitting: a list is changed a little, many times, so that it gives away less at given points.

No step is played: action values at the points say what a list gives away. A change that gives away a little
more is kept now and then, and ever more rarely (simulated annealing). This is cheap, and puts right what a
tree, which chooses one split after the other, gets wrong.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.randomness import below, fold, uniform
from ifthen.rules.term import with_terms
from ifthen.systems.pplx.drafts import Draft, actions_at, are_given, deciders, tidy

Floats = NDArray[np.float64]
REACH = 0.5
"""The largest move of a number, as a share of what it varies by."""
MOST_TESTS = 3
"""The most tests of a rule after fitting has added one."""
NO_TEST, NOTHING = -1, -1
ROUNDING = 1e-12
TRIES = 5
"""How often a test is drawn anew if it would tell no points apart."""
WORST_OF = 6
"""The number of points of which a new rule holds at the one where the list gives away most."""
HOT, COLD = 0.003, 0.0005
"""The first and the last temperature, as a share of what the worst actions give away."""
PRICE = 0.001
"""What a test must save, as a share of the same."""


class Rules(NamedTuple):
    """A list as arrays that can be changed in place; the last rule has no tests."""

    column: NDArray[np.int64]
    """`(rules, tests)`: the column that a test compares; −1 behind the last test of a rule."""
    upper: NDArray[np.bool_]
    """`(rules, tests)`: whether the value must be at most the threshold, rather than at least."""
    threshold: Floats
    """`(rules, tests)`."""
    actions: NDArray[np.int32]
    """`(rules,)`."""


class Ground(NamedTuple):
    """The points at which a list is fitted."""

    values: Floats
    """`(columns, n)`: of features, then of terms; those of terms change with their coefficients."""
    costs: Floats
    """`(n, actions)`: what each action gives away."""
    spreads: Floats
    """`(columns,)`: by how much each column varies; what does not vary is left alone."""
    fixed: NDArray[np.bool_]
    """`(terms,)`: the terms whose coefficients stay as they are."""


def rules_of(draft: Draft) -> Rules:
    """Return a draft as arrays to change."""
    n = len(draft.actions)
    limited = np.isfinite(draft.lows).sum(axis=1) + np.isfinite(draft.highs).sum(axis=1)
    shape = n, max(MOST_TESTS, int(limited.max()))
    made = Rules(
        np.full(shape, NO_TEST), np.zeros(shape, np.bool_), np.zeros(shape), draft.actions.astype(np.int32)
    )
    for r in range(n):
        t = 0
        for ends, upper in ((draft.lows[r], False), (draft.highs[r], True)):
            for c in np.flatnonzero(np.isfinite(ends)):
                made.column[r, t], made.upper[r, t], made.threshold[r, t] = c, upper, ends[c]
                t += 1
    return made


def draft_of(rules: Rules, terms: Floats) -> Draft:
    """Return rules over features and terms `(terms, features)` as a draft."""
    lows = np.full((len(rules.actions), terms.shape[1] + len(terms)), -np.inf)
    highs = -lows
    for r, t in np.argwhere(rules.column >= 0):
        c, end = rules.column[r, t], rules.threshold[r, t]
        if rules.upper[r, t]:
            highs[r, c] = min(highs[r, c], end)
        else:
            lows[r, c] = max(lows[r, c], end)
    return Draft(lows, highs, rules.actions.copy(), terms)


@kernel
def given_away(
    ground: Ground,
    rules: Rules,
    first: int,
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    bound: float,
) -> float:
    """Return what a list gives away at all points together; infinity once it is more than a bound.

    Args:
        ground: the points.
        rules: the list.
        first: the first rule that is not as it was.
        before: `(n,)`: the rule that decided at each point before.
        after: `(n,)`: gets the rule that decides now.
        bound: where to stop.
    """
    values, costs = ground.values, ground.costs
    column, upper, threshold, actions = rules
    total, last, most = 0.0, len(actions) - 1, column.shape[1]
    for i in range(len(after)):
        r = before[i]
        if r >= first:
            r, holds = first - 1, False
            while not holds:
                r, holds = r + 1, True
                for t in range(most if r < last else 0):
                    c = column[r, t]
                    if c < 0:
                        break
                    value = values[c, i]
                    if (value > threshold[r, t]) if upper[r, t] else (value < threshold[r, t]):
                        holds = False
                        break
        after[i] = r
        total += costs[i, actions[r]]
        if total > bound:
            return math.inf
    return total


@kernel
def count_tests(rules: Rules) -> int:
    """Return how many tests a list has."""
    total = 0
    for r in range(rules.column.shape[0]):
        for t in range(rules.column.shape[1]):
            total += rules.column[r, t] >= 0
    return total


@kernel
def copy_rule(source: Rules, s: int, rules: Rules, r: int) -> None:
    """Make rule r the same as rule s of a source."""
    rules.column[r] = source.column[s]
    rules.upper[r] = source.upper[s]
    rules.threshold[r] = source.threshold[s]
    rules.actions[r] = source.actions[s]


@kernel
def copy_rules(source: Rules, rules: Rules) -> None:
    """Make all rules the same as those of a source."""
    rules.column[:] = source.column
    rules.upper[:] = source.upper
    rules.threshold[:] = source.threshold
    rules.actions[:] = source.actions


@kernel
def fill_term(terms: Floats, t: int, values: Floats) -> None:
    """Write the values of a term behind those of the features."""
    features = terms.shape[1]
    values[features + t] = 0.0
    for d in range(features):
        if terms[t, d] != 0.0:
            for i in range(values.shape[1]):
                values[features + t, i] += terms[t, d] * values[d, i]


@kernel
def a_move(key: np.uint64) -> float:
    """Return how far a number moves, in units of what it varies by: small moves are frequent."""
    return REACH * math.exp(-4.0 * uniform(key, 0)) * (2.0 * uniform(key, 1) - 1.0)


@kernel
def draw_test(key: np.uint64, values: Floats, i: int, rules: Rules, r: int, t: int) -> bool:
    """Make a test one that holds at point i and not at another; return whether one was found."""
    for k in range(TRIES):
        own = fold(key, k)
        c, j = below(own, 0, values.shape[0]), below(own, 1, values.shape[1])
        here, there = values[c, i], values[c, j]
        if here != there:
            rules.column[r, t] = c
            rules.upper[r, t] = there > here
            rules.threshold[r, t] = here + (0.1 + 0.8 * uniform(own, 2)) * (there - here)
            return True
    return False


@kernel
def move_number(
    key: np.uint64, ground: Ground, rules: Rules, terms: Floats, r: int, m: int
) -> tuple[int, int]:
    """Move a threshold of rule r, which has m tests, or a coefficient of a term that it compares.

    Return the first rule that is not as it was, or −1 for none, and the term that changed, or −1.
    """
    features, t = terms.shape[1], below(key, 0, m)
    column, size = rules.column[r, t], a_move(fold(key, 1))
    if column < features or ground.fixed[column - features] or uniform(key, 2) >= 0.4:
        rules.threshold[r, t] += size * ground.spreads[column]
        return r, NOTHING
    row, d = column - features, below(key, 3, features)
    before = terms[row, d]
    if before == 0.0 or ground.spreads[d] == 0.0:
        return NOTHING, NOTHING
    terms[row, d] = before + size * ground.spreads[column] / ground.spreads[d]
    if terms[row, d] == 0.0:
        terms[row, d] = before
        return NOTHING, NOTHING
    fill_term(terms, row, ground.values)
    for first in range(r):
        for own in rules.column[first]:
            if own == column:
                return first, row
    return r, row


@kernel
def replace_rule(
    key: np.uint64, ground: Ground, deciders: NDArray[np.int64], old: Rules, rules: Rules, r: int
) -> int:
    """Replace rule r by one that is right at a point where the list gives away much, at any place.

    Return the first rule that is not as it was, or −1 if nothing was found.
    """
    n, i, most = len(deciders), 0, -1.0
    for k in range(WORST_OF):
        j = below(fold(key, 0), k, n)
        cost = ground.costs[j, old.actions[deciders[j]]]
        if cost > most:
            i, most = j, cost
    place = below(key, 1, len(old.actions) - 1)
    for q in range(r, place, -1):
        copy_rule(old, q - 1, rules, q)
    for q in range(r, place):
        copy_rule(old, q + 1, rules, q)
    rules.column[place] = NO_TEST
    rules.actions[place] = ground.costs[i].argmin()
    found = draw_test(fold(key, 2), ground.values, i, rules, place, 0)
    if found and uniform(key, 3) < 0.5:
        found = draw_test(fold(key, 4), ground.values, i, rules, place, 1)
    return min(r, place) if found else NOTHING


@kernel
def change(
    key: np.uint64,
    ground: Ground,
    deciders: NDArray[np.int64],
    old: Rules,
    rules: Rules,
    terms: Floats,
    numbers_only: bool,
) -> tuple[int, int]:
    """Change one thing of a list at random.

    Return the first rule that is not as it was, or −1 for none, and the term that changed, or −1.
    """
    n, actions = ground.costs.shape
    kind, own = (0.0 if numbers_only else uniform(key, 0)), fold(key, 1)
    r, m = below(key, 2, len(old.actions) - 1), 0
    while m < old.column.shape[1] and old.column[r, m] >= 0:
        m += 1
    first = r
    if kind < 0.4:
        return move_number(own, ground, rules, terms, r, m)
    if kind < 0.52:
        if not draw_test(own, ground.values, below(key, 3, n), rules, r, below(key, 4, m)):
            first = NOTHING
    elif kind < 0.6:
        first = below(key, 3, len(old.actions))
        rules.actions[first] = (old.actions[first] + 1 + below(key, 4, actions - 1)) % actions
    elif kind < 0.68:
        q = below(key, 3, len(old.actions) - 1)
        copy_rule(old, q, rules, r)
        copy_rule(old, r, rules, q)
        first = min(q, r)
    elif kind < 0.86:
        first = replace_rule(own, ground, deciders, old, rules, r)
    elif kind < 0.93:
        if m >= MOST_TESTS or not draw_test(own, ground.values, below(key, 3, n), rules, r, m):
            first = NOTHING
    elif m < 2:
        first = NOTHING
    else:
        for t in range(below(key, 3, m), m - 1):
            rules.column[r, t] = old.column[r, t + 1]
            rules.upper[r, t] = old.upper[r, t + 1]
            rules.threshold[r, t] = old.threshold[r, t + 1]
        rules.column[r, m - 1] = NO_TEST
    return first, NOTHING


@kernel
def fit_rules(
    key: np.uint64,
    candidates: int,
    hot: float,
    cold: float,
    price: float,
    ground: Ground,
    rules: Rules,
    terms: Floats,
    numbers_only: bool,
) -> float:
    """Change a list at random, keep what gives away less, or little more; return how much is given away.

    Args:
        key: the stream that changes are drawn from.
        candidates: how many changes to try.
        hot: the first temperature; 0 keeps only what gives away no more.
        cold: the last temperature.
        price: what a test must save.
        ground: the points; values of terms change.
        rules: the list; becomes the best one.
        terms: `(terms, features)`: coefficients; become those of the best one.
        numbers_only: whether thresholds and coefficients alone are changed.
    """
    n = ground.values.shape[1]
    deciders, after = np.zeros(n, np.int64), np.zeros(n, np.int64)
    old = Rules(rules.column.copy(), rules.upper.copy(), rules.threshold.copy(), rules.actions.copy())
    best = Rules(rules.column.copy(), rules.upper.copy(), rules.threshold.copy(), rules.actions.copy())
    weights, best_weights = terms.copy(), terms.copy()
    now: float = given_away(ground, rules, 0, deciders, deciders, math.inf) + n * price * count_tests(rules)
    least: float = now
    if len(rules.actions) < 2:
        return float(least / n)
    for k in range(candidates):
        own = fold(key, k)
        heat = hot * (cold / hot) ** (k / candidates) if hot > 0.0 else 0.0
        bound = now - n * heat * math.log(1.0 - uniform(own, 0))
        first, term = change(fold(own, 1), ground, deciders, old, rules, terms, numbers_only)
        tests = n * price * count_tests(rules)
        given, bound = math.inf, bound - tests + ROUNDING * bound
        if first >= 0:
            given = given_away(ground, rules, first, deciders, after, bound)
        if given <= bound:
            now = given + tests
            deciders[:] = after
            copy_rules(rules, old)
            if term >= 0:
                weights[term] = terms[term]
            if now < least:
                least = now
                copy_rules(rules, best)
                best_weights[:] = weights
        else:
            copy_rules(old, rules)
            if term >= 0:
                terms[term] = weights[term]
                fill_term(terms, term, ground.values)
    copy_rules(best, rules)
    terms[:] = best_weights
    return float(least / n)


def ground_of(terms: Floats, points: Floats, costs: Floats, given: Floats | None) -> Ground:
    """Return the points to fit a list at, costly ones first; see `fitted` for the arguments."""
    order = np.argsort(-costs.max(axis=1), kind="stable")
    values = np.ascontiguousarray(with_terms(terms, points[order]).T)
    spreads = np.where(np.ptp(values, axis=1) > 0, values.std(axis=1), 0.0)
    return Ground(values, np.ascontiguousarray(costs[order]), spreads, are_given(terms, given))


def fitted(
    key: np.uint64,
    draft: Draft,
    pool: Floats,
    points: Floats,
    costs: Floats,
    candidates: int,
    given: Floats | None = None,
) -> Draft:
    """Return a list with as many rules, or fewer, that gives away little at points.

    Args:
        key: the stream that changes are drawn from.
        draft: the list to begin with.
        pool: `(terms, features)`: more terms that it may use.
        points: `(n, features)`.
        costs: `(n, actions)`: what each action gives away there.
        candidates: how many changes to try.
        given: `(given, features)`: terms whose coefficients stay.
    """
    draft, most = tidy(draft), float(costs.max(axis=1).mean())
    rules, terms = rules_of(draft), np.vstack([draft.terms, pool])
    ground = ground_of(terms, points, costs, given)
    fit_rules(key, candidates, HOT * most, COLD * most, PRICE * most, ground, rules, terms, False)
    made = draft_of(rules, terms)
    decide = np.unique(np.append(deciders(made, points), len(rules.actions) - 1))
    return tidy(made._replace(lows=made.lows[decide], highs=made.highs[decide], actions=made.actions[decide]))


def polished(
    key: np.uint64,
    draft: Draft,
    points: Floats,
    costs: Floats,
    candidates: int,
    given: Floats | None = None,
) -> Draft:
    """Return a list with other numbers that gives away no more at points; see `fitted` for the arguments."""
    draft = tidy(draft)
    rules, terms = rules_of(draft), draft.terms.copy()
    ground = ground_of(terms, points, costs, given)
    fit_rules(key, candidates, 0.0, 0.0, 0.0, ground, rules, terms, True)
    return draft_of(rules, terms)


def regret(draft: Draft, points: Floats, costs: Floats) -> float:
    """Return what a list gives away at points, in the mean; see `fitted` for the arguments."""
    return float(np.mean(costs[np.arange(len(points)), actions_at(draft, points)]))
