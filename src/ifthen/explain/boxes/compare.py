"""Equivalence: do two decision lists do the same everywhere?

The search looks at a cell together with the rules of each list that can still decide in it: those that meet
it, up to the first that contains it, without those at the end that advocate what would be done anyway.
Where both lists have become the same, or one action each, the cell is decided; elsewhere it is cut at an edge
of the rule that fills most of it. All is done on ranks (`boxes.space`): an answer holds for every point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.checks import whole_number
from ifthen.errors import RuleError
from ifthen.explain.boxes.holes import (
    BUDGET,
    MOST_BUDGET,
    choose_cut,
    most_waiting,
    overlap,
    put_cell,
    put_meeting,
    share_of,
)
from ifthen.explain.boxes.space import Point, RankSpace, checked_bounds
from ifthen.inference.decision_list import DecisionList
from ifthen.jit import kernel
from ifthen.rules.ruleset import NULL_ACTION


@dataclass(frozen=True)
class Difference:
    """Whether two decision lists do the same.

    Args:
        equal: True: proven that they give the same action at every point, no action at all included.
            False: `witness` is a point where they differ. None: the search gave up before it knew.
        witness: a point where they differ.
        action_a: what the first list does there, −1 for nothing.
        action_b: what the second list does there, −1 for nothing.
        same_share: share of the space where the search had found them to do the same when it ended.
        nodes: cells looked at.
    """

    equal: bool | None
    witness: Point | None
    action_a: int | None
    action_b: int | None
    same_share: float
    nodes: int


def compare(
    a: DecisionList, b: DecisionList, *, within: ArrayLike | None = None, budget: int = BUDGET
) -> Difference:
    """Decide exactly whether two decision lists give the same action everywhere.

    Args:
        a: a decision list.
        b: another one over the same features and actions.
        within: look only at this box, `(features, 2)`.
        budget: looks at cells and rules in them before giving up.
    """
    budget = whole_number("budget", budget, 1, MOST_BUDGET)
    for each in (a, b):
        if not isinstance(each, DecisionList):
            raise RuleError(f"only decision lists can be compared box by box, not {each!r}.")
    if a.features != b.features or a.action_names != b.action_names:
        raise RuleError(
            "decision lists can be compared only over the same features and actions, "
            f"not {a!r} ({', '.join(a.action_names)}) and {b!r} ({', '.join(b.action_names)})."
        )
    bounds = checked_bounds(a.features, np.concatenate([a.bounds, b.bounds]))
    space = RankSpace(a.features, bounds, within)
    found, counts = np.empty((1, len(a.features), 2), dtype=np.int32), np.zeros(5, dtype=np.int64)
    rules, actions, left_share = space.ranks(bounds), np.concatenate([a.actions, b.actions]), np.zeros(1)
    scale = space.starts, space.ends, space.totals
    find_difference(rules, actions, len(a), space.whole(), *scale, budget, found, counts, left_share)
    nodes, left, action_a, action_b, _ = (int(count) for count in counts)
    same_share = max(0.0, 1.0 - float(left_share[0]))
    if action_a != action_b:
        return Difference(False, space.witness(found[0]), action_a, action_b, same_share, nodes)
    return Difference(None if left else True, None, None, None, same_share, nodes)


@kernel
def shorten(
    rules: NDArray[np.int32],
    actions: NDArray[np.int32],
    cell: NDArray[np.int32],
    alive: NDArray[np.int32],
    n: int,
    otherwise: int,
    filled: NDArray[np.float64],
) -> tuple[int, int]:
    """Leave in `alive` the rules that matter in a cell; return how many, and the action where none matches.

    `otherwise` is that action so far. Writes into `filled` how much of the cell each rule fills.
    """
    kept = 0
    for i in range(n):
        r = alive[i]
        share = overlap(rules, r, cell)
        if share < 0:
            continue
        if share == 1.0:
            otherwise = int(actions[r])
            break
        alive[kept], filled[kept] = r, share
        kept += 1
    while kept > 0 and actions[alive[kept - 1]] == otherwise:
        kept -= 1
    return kept, otherwise


@kernel
def same_rules(
    rules: NDArray[np.int32],
    actions: NDArray[np.int32],
    cell: NDArray[np.int32],
    ours: NDArray[np.int32],
    theirs: NDArray[np.int32],
    n: int,
) -> bool:
    """Return whether the first n rules of two lists are the same in a cell, one by one."""
    for i in range(n):
        r, s = ours[i], theirs[i]
        if actions[r] != actions[s]:
            return False
        for d in range(cell.shape[0]):
            if max(rules[r, d, 0], cell[d, 0]) != max(rules[s, d, 0], cell[d, 0]):
                return False
            if min(rules[r, d, 1], cell[d, 1]) != min(rules[s, d, 1], cell[d, 1]):
                return False
    return True


@kernel
def fills_most(
    ours: NDArray[np.int32],
    filled_a: NDArray[np.float64],
    k_a: int,
    theirs: NDArray[np.int32],
    filled_b: NDArray[np.float64],
    k_b: int,
) -> int:
    """Return the rule of two lists, not both empty, that fills most of the cell; the first of equals."""
    best, most = -1, -1.0
    for i in range(k_a):
        if filled_a[i] > most:
            best, most = int(ours[i]), filled_a[i]
    for i in range(k_b):
        if filled_b[i] > most:
            best, most = int(theirs[i]), filled_b[i]
    return best


@kernel
def find_difference(
    rules: NDArray[np.int32],
    actions: NDArray[np.int32],
    n_a: int,
    whole: NDArray[np.int32],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    totals: NDArray[np.float64],
    budget: int,
    found: NDArray[np.int32],
    counts: NDArray[np.int64],
    left_share: NDArray[np.float64],
) -> None:
    """Search a cell for a point where the first n_a rules and the others do not do the same.

    Writes nodes, pieces left, both actions and looks into `counts`, where they differ into `found`.
    """
    n, features, room = rules.shape[0], rules.shape[1], most_waiting(whole)
    cells = np.empty((room, features, 2), dtype=np.int32)
    begins, middles = np.zeros(room + 1, dtype=np.int64), np.zeros(room, dtype=np.int64)
    defaults = np.full((room, 2), NULL_ACTION, dtype=np.int64)
    waiting = np.arange(2 * n + 1).astype(np.int32)
    ours, theirs = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    filled_a, filled_b = np.empty(n), np.empty(n)
    cell = whole.copy()
    put_cell(whole, cells, 0)
    middles[0], begins[1] = n_a, n
    top = 1
    while top > 0 and counts[4] < budget and counts[2] == counts[3]:
        top -= 1
        for d in range(features):
            cell[d, 0], cell[d, 1] = cells[top, d, 0], cells[top, d, 1]
        a, b = defaults[top, 0], defaults[top, 1]
        k_a, k_b = middles[top] - begins[top], begins[top + 1] - middles[top]
        for i in range(k_a):
            ours[i] = waiting[begins[top] + i]
        for i in range(k_b):
            theirs[i] = waiting[middles[top] + i]
        while True:
            counts[0] += 1
            counts[4] += 1 + k_a + k_b
            k_a, a = shorten(rules, actions, cell, ours, k_a, a, filled_a)
            k_b, b = shorten(rules, actions, cell, theirs, k_b, b, filled_b)
            if k_a == 0 and k_b == 0 and a != b:
                put_cell(cell, found, 0)
                put_cell(cell, cells, top)
                counts[2], counts[3] = a, b
                top += 1
                break
            if k_a == k_b and a == b and same_rules(rules, actions, cell, ours, theirs, k_a):
                break
            best = fills_most(ours, filled_a, k_a, theirs, filled_b, k_b)
            d, last, above = choose_cut(rules, best, cell)
            put_cell(cell, cells, top)
            if above:
                cells[top, d, 1], cell[d, 0] = last, last + 1
            else:
                cells[top, d, 0], cell[d, 1] = last + 1, last
            if begins[top] + k_a + k_b > len(waiting):
                waiting = np.concatenate((waiting, waiting))
            middles[top] = put_meeting(rules, cells, top, d, ours, k_a, waiting, begins[top])
            begins[top + 1] = put_meeting(rules, cells, top, d, theirs, k_b, waiting, middles[top])
            defaults[top, 0], defaults[top, 1] = a, b
            top += 1
            if counts[4] >= budget:
                put_cell(cell, cells, top)
                top += 1
                break
    counts[1] = top
    for i in range(top):
        left_share[0] += share_of(cells[i], starts, ends, totals)
