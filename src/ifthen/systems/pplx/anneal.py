"""Annealing: one decision list of fixed length, changed a little at a time, worse now and then.

A list is scored by what it is worth on a learnt table. Most changes move a bound. The one that brings most
replaces a rule: the new one is grown around a state in which the list loses, as far as its action stays good
by the list's own values.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ifthen.jit import kernel
from ifthen.randomness import below, fold, uniform
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.box import ZERO
from ifthen.systems.pplx.learnt_table import LearntTable, action_value
from ifthen.systems.pplx.list_value import (
    Valued,
    changed_states,
    changed_value,
    new_change,
    new_valued,
    taken_value,
    value,
)
from ifthen.systems.pplx.table_lists import Rules, copy_list, copy_rule, decide, decider, match_states

REPLACE = 0.30
"""A change is a number from 0 to 1. Below this one, it replaces a rule."""
REORDER = 0.38
"""From REPLACE up to this number, a change swaps two rules."""
ACTION = 0.46
"""From REORDER up to this number, a change takes another action. Larger ones move bounds."""
AT_A_LOSS = 0.7
"""With this probability, a new rule is grown around a state in which the list loses."""
AT_THE_DECIDER = 0.5
"""With this probability, a new rule stands just before the rule that decided, and else further up."""
LONGER_STEP = 0.35
"""With this probability, a bound moves one number further."""
LONGEST_STEP = 8
"""A bound moves by at most this many numbers."""
GOOD = 0.1
"""An action is good if it is worth at most this share less than the best."""
HASTE = 0.05
"""Each time a side of a new rule could grow, it stops with at least this probability."""
MORE_HASTE = 0.2
"""The probability to stop is drawn for each new rule, and is up to this much larger."""
DRIFT = 1e-9
"""Values are worked out anew once rounding may add up to this share of the unit of temperature."""


class Guide(NamedTuple):
    """Where a list loses, by its own values."""

    loss: Floats
    """`(D,)`: how much the starts would gain by one better action there."""
    good: Mask
    """`(D, A)`: the actions that are about as good as the best."""
    best: Ints
    """`(D,)`: the best action."""


@kernel
def guide(table: LearntTable, own: Valued, out: Guide) -> None:
    """Write where the present list loses."""
    for s in range(len(own.policy)):
        top, present = -np.inf, 0.0
        for a in range(out.good.shape[1]):
            worth = action_value(table, own.values, s, a)
            if worth > top:
                top, out.best[s] = worth, a
            if a == own.policy[s]:
                present = worth
        out.loss[s] = max(0.0, own.occupancy[s] * (top - present))
        for a in range(out.good.shape[1]):
            out.good[s, a] = action_value(table, own.values, s, a) >= top - GOOD * abs(top)


@kernel
def grow(
    key: np.uint64, table: LearntTable, good: Mask, s: int, a: int, haste: float, rules: Rules, r: int
) -> None:
    """Make rule r the box around state s that grows, side by side, while action a is good inside."""
    points, features = table.points, table.points.shape[1]
    rules.lows[r], rules.highs[r], rules.actions[r] = points[s], points[s], a
    sides, number = np.ones(2 * features, np.bool_), 0
    while sides.any():
        side, number = below(key, 2 * number, 2 * features), number + 1
        if not sides[side]:
            continue
        d, up = side // 2, side % 2 == 1
        edge = rules.highs[r, d] + 1 if up else rules.lows[r, d] - 1
        stops = uniform(key, 2 * number + 1) < haste or edge > table.highs[d] or edge < table.lows[d]
        if not stops:
            for t in range(len(points)):
                if points[t, d] == edge and not good[t, a]:
                    inside = True
                    for g in range(features):
                        inside = inside and (g == d or rules.lows[r, g] <= points[t, g] <= rules.highs[r, g])
                    if inside:
                        stops = True
                        break
        if stops:
            sides[side] = False
        elif up:
            rules.highs[r, d] = edge
        else:
            rules.lows[r, d] = edge


@kernel
def place_to_mend(key: np.uint64, loss: Floats) -> int:
    """Return a state: mostly one in which the list loses, drawn by how much it loses there `(D,)`."""
    total = loss.sum()
    if total <= 0.0 or uniform(key, 0) >= AT_A_LOSS:
        return below(key, 1, len(loss))
    left, s = uniform(key, 2) * total, 0
    while s + 1 < len(loss) and left >= loss[s]:
        left -= loss[s]
        s += 1
    return s


@kernel
def replace_rule(key: np.uint64, table: LearntTable, hints: Guide, rules: Rules) -> None:
    """Take out a rule, and put one that is grown where the list loses at or before the rule that decided."""
    n, s = len(rules.actions), place_to_mend(fold(key, 1), hints.loss)
    gone, at = below(key, 3, n - 1), decider(rules, s)
    for r in range(gone, n - 1):
        copy_rule(rules, r + 1, rules, r)
    at -= int(gone < at)
    place = min(at if uniform(key, 4) < AT_THE_DECIDER else below(key, 5, at + 1), n - 2)
    for r in range(n - 1, place, -1):
        copy_rule(rules, r - 1, rules, r)
    haste = HASTE + MORE_HASTE * uniform(key, 6)
    grow(fold(key, 0), table, hints.good, s, hints.best[s], haste, rules, place)
    match_states(table.points, rules, place)


@kernel
def swap_rules(rules: Rules, i: int, j: int) -> None:
    """Let two rules change places."""
    for d in range(rules.lows.shape[1]):
        rules.lows[i, d], rules.lows[j, d] = rules.lows[j, d], rules.lows[i, d]
        rules.highs[i, d], rules.highs[j, d] = rules.highs[j, d], rules.highs[i, d]
    for w in range(rules.masks.shape[1]):
        rules.masks[i, w], rules.masks[j, w] = rules.masks[j, w], rules.masks[i, w]
    rules.actions[i], rules.actions[j] = rules.actions[j], rules.actions[i]


@kernel
def move_bounds(key: np.uint64, table: LearntTable, rules: Rules) -> None:
    """Move one end of an interval, or both, by a few numbers."""
    r, d = below(key, 0, len(rules.actions) - 1), below(key, 1, table.points.shape[1])
    step = 1
    while step < LONGEST_STEP and uniform(key, 4 + step) < LONGER_STEP:
        step += 1
    if uniform(key, 2) < 0.5:
        step = -step
    which, low, high = below(key, 3, 3), rules.lows[r, d], rules.highs[r, d]
    if which == 0:
        rules.lows[r, d] = min(max(low + step, table.lows[d]), high)
    elif which == 1:
        rules.highs[r, d] = max(min(high + step, table.highs[d]), low)
    elif low + step >= table.lows[d] and high + step <= table.highs[d]:
        rules.lows[r, d], rules.highs[r, d] = low + step, high + step
    match_states(table.points, rules, r)


@kernel
def change_list(key: np.uint64, table: LearntTable, hints: Guide, rules: Rules, kind: float) -> None:
    """Change a list a little: replace a rule, reorder two, take another action, or move bounds."""
    n, actions = len(rules.actions), table.next_state.shape[1]
    if n > 1 and kind < REPLACE:
        replace_rule(key, table, hints, rules)
    elif n > 2 and kind < REORDER:
        swap_rules(rules, below(key, 0, n - 1), below(key, 1, n - 1))
    elif n == 1 or kind < ACTION:
        r = below(key, 0, n)
        rules.actions[r] = (rules.actions[r] + 1 + below(key, 1, actions - 1)) % actions
    else:
        move_bounds(key, table, rules)


@kernel
def anneal(
    key: np.uint64, table: LearntTable, candidates: int, hot: float, cold: float, rules: Rules, best: Rules
) -> float:
    """Anneal a list in place; write the best list that was found, and return its value.

    Args:
        key: the stream that changes are drawn from.
        table: what lists are scored on.
        candidates: how many changes to try.
        hot: the temperature at the beginning, in units of value.
        cold: the temperature at the end.
        rules: the list to begin with.
        best: gets the best list; the one to begin with before.
    """
    states, actions, _ = table.next_state.shape
    words = rules.masks.shape[1]
    own, other = new_valued(table, words), new_change(table, words)
    hints = Guide(np.zeros(states), np.zeros((states, actions), np.bool_), np.zeros(states, np.int64))
    trial = Rules(rules.lows.copy(), rules.highs.copy(), rules.actions.copy(), rules.masks.copy())
    score = value(table, rules, own)
    top, guided = score, False
    copy_list(rules, best)
    for c in range(candidates):
        own_key = fold(key, c)
        kind = uniform(own_key, 0)
        if kind < REPLACE and not guided:
            guide(table, own, hints)
            guided = True
        copy_list(rules, trial)
        change_list(fold(own_key, 0), table, hints, trial, kind)
        decide(trial, other.chosen)
        k = changed_states(own, other)
        new = changed_value(table, own, other, k) if k > 0 else score
        temperature = hot * (cold / hot) ** (c / candidates)
        if new < score and uniform(own_key, 1) >= math.exp((new - score) / temperature):
            continue
        copy_list(trial, rules)
        if k > 0:
            score, guided = taken_value(table, rules, own, other, k, DRIFT * hot), False
        if score > top:
            top = score
            copy_list(rules, best)
    return top


@kernel
def drop_least_missed(
    table: LearntTable, rules: Rules, precision: float, order: Ints, values: Floats
) -> None:
    """Drop the rules, but not the last, that are missed least, one after the other.

    Args:
        table: what lists are scored on.
        rules: the list; its masks are used up.
        precision: how much rounding may add up to.
        order: gets the numbers of the rules that are dropped, as many as it has room for.
        values: gets what the list is worth without them, `(len(order),)`.
    """
    n, words = len(rules.actions), rules.masks.shape[1]
    own, other, left = new_valued(table, words), new_change(table, words), np.ones(n - 1, np.bool_)
    mask, score = np.zeros(words, np.uint64), value(table, rules, own)
    for place in range(len(order)):
        top = -np.inf
        for r in range(n - 1):
            if left[r]:
                mask[:] = rules.masks[r]
                rules.masks[r, :] = ZERO
                decide(rules, other.chosen)
                rules.masks[r] = mask
                k = changed_states(own, other)
                new = changed_value(table, own, other, k) if k > 0 else score
                if new > top:
                    order[place], top = r, new
        gone = order[place]
        left[gone], rules.masks[gone, :] = False, ZERO
        decide(rules, other.chosen)
        k = changed_states(own, other)
        if k > 0:
            changed_value(table, own, other, k)
            score = taken_value(table, rules, own, other, k, precision)
        values[place] = score
