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
    PolicyValue,
    changed_states,
    changed_value,
    new_policy_change,
    new_policy_value,
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
def guide(table: LearntTable, current: PolicyValue, out: Guide) -> None:
    """Write where the present list loses."""
    for s in range(len(current.policy)):
        best_q, current_q = -np.inf, 0.0
        for a in range(out.good.shape[1]):
            q = action_value(table, current.values, s, a)
            if q > best_q:
                best_q, out.best[s] = q, a
            if a == current.policy[s]:
                current_q = q
        out.loss[s] = max(0.0, current.occupancy[s] * (best_q - current_q))
        for a in range(out.good.shape[1]):
            out.good[s, a] = action_value(table, current.values, s, a) >= best_q - GOOD * abs(best_q)


@kernel
def grow(
    key: np.uint64, table: LearntTable, good: Mask, s: int, a: int, stop_chance: float, rules: Rules, r: int
) -> None:
    """Make rule r the box around state s that grows, side by side, while action a is good inside."""
    points, features = table.points, table.points.shape[1]
    for d in range(features):
        rules.lows[r, d], rules.highs[r, d] = points[s, d], points[s, d]
    rules.actions[r] = a
    growing, n_growing, n_draws = np.ones(2 * features, np.bool_), 2 * features, 0
    while n_growing > 0:
        side, n_draws = below(key, 2 * n_draws, 2 * features), n_draws + 1
        if not growing[side]:
            continue
        d, up = side // 2, side % 2 == 1
        edge = rules.highs[r, d] + 1 if up else rules.lows[r, d] - 1
        stops = uniform(key, 2 * n_draws + 1) < stop_chance or edge > table.highs[d] or edge < table.lows[d]
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
            growing[side] = False
            n_growing -= 1
        elif up:
            rules.highs[r, d] = edge
        else:
            rules.lows[r, d] = edge


@kernel
def place_to_mend(key: np.uint64, loss: Floats) -> int:
    """Return a state: mostly one in which the list loses, drawn by how much it loses there `(D,)`."""
    total = 0.0
    for s in range(len(loss)):
        total += loss[s]
    if total <= 0.0 or uniform(key, 0) >= AT_A_LOSS:
        return below(key, 1, len(loss))
    remaining, s = uniform(key, 2) * total, 0
    while s + 1 < len(loss) and remaining >= loss[s]:
        remaining -= loss[s]
        s += 1
    return s


@kernel
def replace_rule(key: np.uint64, table: LearntTable, hints: Guide, rules: Rules) -> None:
    """Take out a rule, and put one that is grown where the list loses at or before the rule that decided."""
    n_rules, s = len(rules.actions), place_to_mend(fold(key, 1), hints.loss)
    removed, deciding = below(key, 3, n_rules - 1), decider(rules, s)
    for r in range(removed, n_rules - 1):
        copy_rule(rules, r + 1, rules, r)
    deciding -= int(removed < deciding)
    position = min(deciding if uniform(key, 4) < AT_THE_DECIDER else below(key, 5, deciding + 1), n_rules - 2)
    for r in range(n_rules - 1, position, -1):
        copy_rule(rules, r - 1, rules, r)
    stop_chance = HASTE + MORE_HASTE * uniform(key, 6)
    grow(fold(key, 0), table, hints.good, s, hints.best[s], stop_chance, rules, position)
    match_states(table.points, rules, position)


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
    end_choice, low, high = below(key, 3, 3), rules.lows[r, d], rules.highs[r, d]
    if end_choice == 0:
        rules.lows[r, d] = min(max(low + step, table.lows[d]), high)
    elif end_choice == 1:
        rules.highs[r, d] = max(min(high + step, table.highs[d]), low)
    elif low + step >= table.lows[d] and high + step <= table.highs[d]:
        rules.lows[r, d], rules.highs[r, d] = low + step, high + step
    match_states(table.points, rules, r)


@kernel
def change_list(key: np.uint64, table: LearntTable, hints: Guide, rules: Rules, kind: float) -> None:
    """Change a list a little: replace a rule, reorder two, take another action, or move bounds."""
    n_rules, n_actions = len(rules.actions), table.next_state.shape[1]
    if n_rules > 1 and kind < REPLACE:
        replace_rule(key, table, hints, rules)
    elif n_rules > 2 and kind < REORDER:
        swap_rules(rules, below(key, 0, n_rules - 1), below(key, 1, n_rules - 1))
    elif n_rules == 1 or kind < ACTION:
        r = below(key, 0, n_rules)
        rules.actions[r] = (rules.actions[r] + 1 + below(key, 1, n_actions - 1)) % n_actions
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
    n_states, n_actions, _ = table.next_state.shape
    n_words = rules.masks.shape[1]
    current, change = new_policy_value(table, n_words), new_policy_change(table, n_words)
    hints = Guide(np.zeros(n_states), np.zeros((n_states, n_actions), np.bool_), np.zeros(n_states, np.int64))
    trial = Rules(rules.lows.copy(), rules.highs.copy(), rules.actions.copy(), rules.masks.copy())
    score = value(table, rules, current)
    best_score, is_guided = score, False
    copy_list(rules, best)
    for c in range(candidates):
        change_key = fold(key, c)
        kind = uniform(change_key, 0)
        if kind < REPLACE and not is_guided:
            guide(table, current, hints)
            is_guided = True
        copy_list(rules, trial)
        change_list(fold(change_key, 0), table, hints, trial, kind)
        decide(trial, change.chosen)
        k = changed_states(current, change)
        new_score = changed_value(table, current, change, k) if k > 0 else score
        temperature = hot * (cold / hot) ** (c / candidates)
        if new_score < score and uniform(change_key, 1) >= math.exp((new_score - score) / temperature):
            continue
        copy_list(trial, rules)
        if k > 0:
            score, is_guided = taken_value(table, rules, current, change, k, DRIFT * hot), False
        if score > best_score:
            best_score = score
            copy_list(rules, best)
    return best_score


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
    n_rules, n_words = len(rules.actions), rules.masks.shape[1]
    current, change = new_policy_value(table, n_words), new_policy_change(table, n_words)
    is_left, saved_mask = np.ones(n_rules - 1, np.bool_), np.zeros(n_words, np.uint64)
    score = value(table, rules, current)
    for position in range(len(order)):
        best_score = -np.inf
        for r in range(n_rules - 1):
            if is_left[r]:
                for w in range(n_words):
                    saved_mask[w], rules.masks[r, w] = rules.masks[r, w], ZERO
                decide(rules, change.chosen)
                for w in range(n_words):
                    rules.masks[r, w] = saved_mask[w]
                k = changed_states(current, change)
                new_score = changed_value(table, current, change, k) if k > 0 else score
                if new_score > best_score:
                    order[position], best_score = r, new_score
        dropped = order[position]
        is_left[dropped], rules.masks[dropped, :] = False, ZERO
        decide(rules, change.chosen)
        k = changed_states(current, change)
        if k > 0:
            changed_value(table, current, change, k)
            score = taken_value(table, rules, current, change, k, precision)
        values[position] = score
