"""Polishing: a list gives away less at given points once its numbers are moved a little, many times.

No step is played: action values at the points say what a list gives away. It is cheap, and puts right what a
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
from ifthen.systems.pplx.drafts import Draft

Floats = NDArray[np.float64]
REACH = 0.5
"""The largest move of a number, as a share of what it varies by."""


class Tests(NamedTuple):
    """The tests of a list, rule by rule."""

    first: NDArray[np.int64]
    """`(rules + 1,)`: where the tests of each rule begin."""
    column: NDArray[np.int64]
    """`(tests,)`."""
    upper: NDArray[np.bool_]
    """`(tests,)`: whether the value must be at most the threshold, rather than at least."""
    threshold: Floats
    """`(tests,)`."""


def tests_of(draft: Draft) -> Tests:
    """Return the tests of a draft."""
    first, column, upper, threshold = [0], [], [], []
    for low, high in zip(draft.lows, draft.highs, strict=True):
        for ends, is_upper in ((low, False), (high, True)):
            for c in np.flatnonzero(np.isfinite(ends)):
                column.append(int(c))
                upper.append(is_upper)
                threshold.append(float(ends[c]))
        first.append(len(column))
    return Tests(
        np.array(first, np.int64),
        np.array(column, np.int64),
        np.array(upper, np.bool_),
        np.array(threshold, np.float64),
    )


def with_thresholds(draft: Draft, tests: Tests, terms: Floats) -> Draft:
    """Return a draft with the thresholds of its tests, and other coefficients."""
    lows, highs = draft.lows.copy(), draft.highs.copy()
    for r in range(len(draft.actions)):
        for t in range(tests.first[r], tests.first[r + 1]):
            (highs if tests.upper[t] else lows)[r, tests.column[t]] = tests.threshold[t]
    return draft._replace(lows=lows, highs=highs, terms=terms)


@kernel
def given_away(values: Floats, costs: Floats, tests: Tests, actions: NDArray[np.int32]) -> float:
    """Return what a list gives away, in the mean, at n points with these values `(columns, n)`."""
    total: float = 0.0
    for i in range(values.shape[1]):
        for r in range(len(actions)):
            holds = True
            for t in range(tests.first[r], tests.first[r + 1]):
                value = values[tests.column[t], i]
                if (value > tests.threshold[t]) if tests.upper[t] else (value < tests.threshold[t]):
                    holds = False
                    break
            if holds:
                total += costs[i, actions[r]]
                break
    return float(total / values.shape[1])


@kernel
def fill_term(terms: Floats, t: int, features: int, values: Floats) -> None:
    """Write the values of a term behind those of the features."""
    values[features + t] = 0.0
    for d in range(features):
        if terms[t, d] != 0.0:
            for i in range(values.shape[1]):
                values[features + t, i] += terms[t, d] * values[d, i]


@kernel
def move_numbers(
    key: np.uint64,
    candidates: int,
    costs: Floats,
    spreads: Floats,
    actions: NDArray[np.int32],
    values: Floats,
    tests: Tests,
    terms: Floats,
) -> float:
    """Move numbers at random, and keep what gives away no more; return how much is given away.

    Args:
        key: the stream that moves are drawn from.
        candidates: how many moves to try.
        costs: `(n, actions)`.
        spreads: `(columns,)`: by how much each column varies; coefficients of one that does not stay.
        actions: of the rules.
        values: `(columns, n)`; those of terms change.
        tests: the tests, whose thresholds change.
        terms: `(terms, features)`; changes.
    """
    features, best = terms.shape[1], given_away(values, costs, tests, actions)
    numbers = len(tests.column)
    if numbers == 0:
        return best
    for c in range(candidates):
        own = fold(key, c)
        size = REACH * math.exp(-4.0 * uniform(own, 1)) * (2.0 * uniform(own, 2) - 1.0)
        t = below(own, 0, numbers)
        column = tests.column[t]
        if column >= features and uniform(own, 3) < 0.4:
            row, d = column - features, below(own, 4, features)
            before = terms[row, d]
            if before == 0.0 or spreads[d] == 0.0:
                continue
            terms[row, d] = before + size * spreads[column] / spreads[d]
            if terms[row, d] == 0.0:
                terms[row, d] = before
                continue
            fill_term(terms, row, features, values)
            now = given_away(values, costs, tests, actions)
            if now <= best:
                best = now
            else:
                terms[row, d] = before
                fill_term(terms, row, features, values)
        else:
            before = tests.threshold[t]
            tests.threshold[t] = before + size * spreads[column]
            now = given_away(values, costs, tests, actions)
            if now <= best:
                best = now
            else:
                tests.threshold[t] = before
    return best


def polished(key: np.uint64, draft: Draft, points: Floats, costs: Floats, candidates: int) -> Draft:
    """Return a draft that gives away less at points, or as much.

    Args:
        key: the stream that moves are drawn from.
        draft: the list.
        points: `(n, features)`.
        costs: `(n, actions)`: what each action gives away there.
        candidates: how many moves to try.
    """
    values = np.ascontiguousarray(with_terms(draft.terms, points).T)
    spreads = np.where(np.ptp(values, axis=1) > 0, values.std(axis=1), 0.0)
    tests, terms = tests_of(draft), draft.terms.copy()
    move_numbers(key, candidates, costs, spreads, draft.actions, values, tests, terms)
    return with_thresholds(draft, tests, terms)


def regret(draft: Draft, points: Floats, costs: Floats) -> float:
    """Return what a draft gives away at points, in the mean; see `polished` for the arguments."""
    values = np.ascontiguousarray(with_terms(draft.terms, points).T)
    return float(given_away(values, costs, tests_of(draft), draft.actions))
