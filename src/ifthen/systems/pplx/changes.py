"""Small random changes of a list, in place: another number, test, action or order, or a rule that is new."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.randomness import below, fold, uniform
from ifthen.rules.arrays import Floats, Ints, Mask

MOVE_NUMBER = 0.40
"""A change is drawn as a number from 0 to 1. Below this one, it moves a threshold or a coefficient."""
REPLACE_TEST = 0.52
"""From MOVE_NUMBER up to this number, another test takes the place of one."""
OTHER_ACTION = 0.60
"""From REPLACE_TEST up to this number, a rule takes another action."""
SWAP_RULES = 0.68
"""From OTHER_ACTION up to this number, two rules swap places."""
REPLACE_RULE = 0.86
"""From SWAP_RULES up to this number, a new rule takes the place of one."""
ADD_TEST = 0.93
"""From REPLACE_RULE up to this number, a rule gets one more test. Larger ones drop a test."""
MOVE_COEFFICIENT = 0.4
"""With this probability, a coefficient moves and not the threshold, where a test compares a term."""
TWO_TESTS = 0.5
"""With this probability, a new rule has two tests, and not one."""
REACH = 0.5
"""A number moves by at most this share of its spread."""
MOST_TESTS = 3
"""Fitting adds no test to a rule that has this many."""
NO_TEST = -1
"""Stands in place of a column behind the last test of a rule."""
UNCHANGED = -1
"""Stands for the number of a rule or term where none has changed."""
TRIES = 5
"""A test is drawn this many times if it would tell no points apart."""
WORST_OF = 6
"""A new rule matches the most costly one of this many random points."""


class ListArrays(NamedTuple):
    """A list as arrays that can be changed in place; the last rule has no tests."""

    column: Ints
    """`(rules, tests)`: the column that a test compares; −1 behind the last test of a rule."""
    upper: Mask
    """`(rules, tests)`: whether the value must be at most the threshold, rather than at least."""
    threshold: Floats
    """`(rules, tests)`."""
    actions: NDArray[np.int32]
    """`(rules,)`."""


class FitPoints(NamedTuple):
    """The points at which a list is fitted."""

    values: Floats
    """`(columns, n)`: of features, then of terms; those of terms change with their coefficients."""
    costs: Floats
    """`(n, actions)`: the cost of each action."""
    spreads: Floats
    """`(columns,)`: by how much each column varies; what does not vary is left alone."""
    fixed: Mask
    """`(terms,)`: the terms whose coefficients stay as they are."""


@kernel
def copy_rule(source: ListArrays, s: int, rules: ListArrays, r: int) -> None:
    """Make rule r the same as rule s of a source."""
    for t in range(rules.column.shape[1]):
        rules.column[r, t], rules.upper[r, t] = source.column[s, t], source.upper[s, t]
        rules.threshold[r, t] = source.threshold[s, t]
    rules.actions[r] = source.actions[s]


@kernel
def copy_rules(source: ListArrays, rules: ListArrays) -> None:
    """Make all rules the same as those of a source."""
    for r in range(len(rules.actions)):
        copy_rule(source, r, rules, r)


@kernel
def copy_term(source: Floats, t: int, terms: Floats) -> None:
    """Give term t the coefficients that it has in a source."""
    for d in range(terms.shape[1]):
        terms[t, d] = source[t, d]


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
def draw_test(key: np.uint64, values: Floats, i: int, rules: ListArrays, r: int, t: int) -> bool:
    """Make a test one that holds at point i and not at another; return whether one was found."""
    for k in range(TRIES):
        draw_key = fold(key, k)
        c, j = below(draw_key, 0, values.shape[0]), below(draw_key, 1, values.shape[1])
        value, other_value = values[c, i], values[c, j]
        if value != other_value:
            rules.column[r, t] = c
            rules.upper[r, t] = other_value > value
            rules.threshold[r, t] = value + (0.1 + 0.8 * uniform(draw_key, 2)) * (other_value - value)
            return True
    return False


@kernel
def move_number(
    key: np.uint64, data: FitPoints, rules: ListArrays, terms: Floats, r: int, n_tests: int
) -> tuple[int, int]:
    """Move a threshold of rule r, or a coefficient of a term that it compares.

    Return the first rule that is not as it was, or −1 for none, and the term that changed, or −1.
    """
    features, t = terms.shape[1], below(key, 0, n_tests)
    column, step = rules.column[r, t], a_move(fold(key, 1))
    if column < features or data.fixed[column - features] or uniform(key, 2) >= MOVE_COEFFICIENT:
        rules.threshold[r, t] += step * data.spreads[column]
        return r, UNCHANGED
    term, d = column - features, below(key, 3, features)
    old_coefficient = terms[term, d]
    if old_coefficient == 0.0 or data.spreads[d] == 0.0:
        return UNCHANGED, UNCHANGED
    terms[term, d] = old_coefficient + step * data.spreads[column] / data.spreads[d]
    if terms[term, d] == 0.0:
        terms[term, d] = old_coefficient
        return UNCHANGED, UNCHANGED
    fill_term(terms, term, data.values)
    for first in range(r):
        for compared in rules.column[first]:
            if compared == column:
                return first, term
    return r, term


@kernel
def replace_rule(
    key: np.uint64, data: FitPoints, deciders: Ints, old: ListArrays, rules: ListArrays, r: int
) -> int:
    """Replace rule r by one, at any place, that is right at a point where the list costs much.

    Return the first rule that is not as it was, or −1 if nothing was found.
    """
    n_points, i, highest_cost = len(deciders), 0, -1.0
    for k in range(WORST_OF):
        j = below(fold(key, 0), k, n_points)
        cost = data.costs[j, old.actions[deciders[j]]]
        if cost > highest_cost:
            i, highest_cost = j, cost
    position = below(key, 1, len(old.actions) - 1)
    for q in range(r, position, -1):
        copy_rule(old, q - 1, rules, q)
    for q in range(r, position):
        copy_rule(old, q + 1, rules, q)
    rules.column[position] = NO_TEST
    rules.actions[position] = data.costs[i].argmin()
    is_found = draw_test(fold(key, 2), data.values, i, rules, position, 0)
    if is_found and uniform(key, 3) < TWO_TESTS:
        is_found = draw_test(fold(key, 4), data.values, i, rules, position, 1)
    return min(r, position) if is_found else UNCHANGED


@kernel
def change(
    key: np.uint64,
    data: FitPoints,
    deciders: Ints,
    old: ListArrays,
    rules: ListArrays,
    terms: Floats,
    numbers_only: bool,
) -> tuple[int, int]:
    """Change one thing of a list at random.

    Return the first rule that is not as it was, or −1 for none, and the term that changed, or −1.
    """
    n_points, n_actions = data.costs.shape
    draw, change_key = (0.0 if numbers_only else uniform(key, 0)), fold(key, 1)
    r, n_tests = below(key, 2, len(old.actions) - 1), 0
    while n_tests < old.column.shape[1] and old.column[r, n_tests] >= 0:
        n_tests += 1
    first_changed = r
    if draw < MOVE_NUMBER:
        return move_number(change_key, data, rules, terms, r, n_tests)
    if draw < REPLACE_TEST:
        if not draw_test(change_key, data.values, below(key, 3, n_points), rules, r, below(key, 4, n_tests)):
            first_changed = UNCHANGED
    elif draw < OTHER_ACTION:
        first_changed = below(key, 3, len(old.actions))
        other_action = old.actions[first_changed] + 1 + below(key, 4, n_actions - 1)
        rules.actions[first_changed] = other_action % n_actions
    elif draw < SWAP_RULES:
        q = below(key, 3, len(old.actions) - 1)
        copy_rule(old, q, rules, r)
        copy_rule(old, r, rules, q)
        first_changed = min(q, r)
    elif draw < REPLACE_RULE:
        first_changed = replace_rule(change_key, data, deciders, old, rules, r)
    elif draw < ADD_TEST:
        i = below(key, 3, n_points)
        if n_tests >= MOST_TESTS or not draw_test(change_key, data.values, i, rules, r, n_tests):
            first_changed = UNCHANGED
    elif n_tests < 2:
        first_changed = UNCHANGED
    else:
        for t in range(below(key, 3, n_tests), n_tests - 1):
            rules.column[r, t] = old.column[r, t + 1]
            rules.upper[r, t] = old.upper[r, t + 1]
            rules.threshold[r, t] = old.threshold[r, t + 1]
        rules.column[r, n_tests - 1] = NO_TEST
    return first_changed, UNCHANGED
