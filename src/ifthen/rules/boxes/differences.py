"""The search behind every answer about boxes: where do two decision lists do different things?

The search looks at a cell together with the rules of each list that can still decide in it: those that meet
it, up to the first that contains it, without those at the end whose action is the one that would be taken
anyway. Where both lists have become the same, or one action each, the cell is decided; elsewhere it is cut at
an edge of the rule that fills most of it. Whether boxes cover a space is the same question: boxes for one
action are compared with one rule for that action that matches everywhere.

Cells and boxes are given in ranks (`boxes.space`), so that an answer for finitely many cells holds for all
points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ifthen.jit import kernel
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.boxes.rank_space import (
    Ranks,
    RankSpace,
    Scale,
    choose_cut,
    overlap,
    put_cell,
    put_meeting,
    share_of,
)
from ifthen.rules.ruleset import NULL_ACTION

MOST_CELLS = 1000
"""In a space with terms, at most this many cells that differ are checked for an observation inside."""
BUDGET = 40_000_000
"""A search gives up after this many looks at cells and rules, which take seconds."""


class Log(NamedTuple):
    """What a search writes down."""

    kept: Ranks
    """`(k, features, 2)`: the largest cells where the lists differ."""
    shares: Floats
    """`(k,)`: their shares of the space."""
    used: Mask
    """`(rules,)`: which rules contained a cell in which the lists do the same."""
    counts: Ints
    """`(5,)`: cells looked at, cells that differ, cells kept, cells left, and looks."""
    totals: Floats
    """`(2,)`: the shares of the space where the lists differ, and that was left."""


class SearchResult(NamedTuple):
    """What a search found, in ranks."""

    cells: Ranks
    """`(k, features, 2)`: the largest cells where the lists differ."""
    used: Mask
    """`(rules,)`: rules that contained a cell: where two lists do not differ, these decide."""
    number: int
    """How many cells differ."""
    different: float
    """The share of the space where they differ."""
    undecided: float
    """The share of the space that was not looked at."""
    nodes: int
    """Cells looked at."""
    looks: int
    """Rules looked at, over all cells."""
    gave_up: bool
    """Whether cells were left when the search ended."""
    unsure: int = 0
    """In a space with terms: cells that only rounding decides whether there is an observation in them."""


def differences(
    space: RankSpace,
    rules: Ranks,
    actions: Ranks,
    n_first: int,
    budget: int,
    cell: Ranks | None = None,
    limit: int = 1,
    stop: bool = False,
) -> SearchResult:
    """Look in a cell for places where the first rules and the others do different things.

    Args:
        space: the space.
        rules: both lists, `(rules, features, 2)`, in ranks.
        actions: their actions, `(rules,)`.
        n_first: the length of the first list.
        budget: looks before giving up.
        cell: where to look, `(features, 2)`; everywhere where None.
        limit: the largest number of cells to keep.
        stop: whether the first cell that differs ends the search, as if the budget had been spent.
    """
    if len(space.terms):
        return _only_with_observations(
            space, _search(space, rules, actions, n_first, budget, cell, MOST_CELLS), limit
        )
    return _search(space, rules, actions, n_first, budget, cell, limit, stop)


def _only_with_observations(space: RankSpace, result: SearchResult, limit: int) -> SearchResult:
    """Leave out the cells in which there is no observation; a search that keeps too few has given up."""
    answers = [space.observation(cell) for cell in result.cells]
    unsure = sum(isinstance(answer, str) and answer == "unknown" for answer in answers)
    with_observation = result.cells[[not isinstance(answer, str) for answer in answers]]
    shares = np.array([space.share(cell) for cell in with_observation])
    cells = with_observation[np.argsort(-shares, kind="stable")[:limit]]
    gave_up = result.gave_up or result.number > len(result.cells) or unsure > 0
    undecided = result.undecided if result.gave_up else 0.0
    return result._replace(
        cells=cells,
        number=len(with_observation),
        different=float(shares.sum()),
        undecided=undecided,
        gave_up=gave_up,
        unsure=unsure,
    )


def _search(
    space: RankSpace,
    rules: Ranks,
    actions: Ranks,
    n_first: int,
    budget: int,
    cell: Ranks | None,
    limit: int,
    stop: bool = False,
) -> SearchResult:
    """Search as if every axis were free."""
    start_cell = space.whole() if cell is None else cell
    log = Log(
        np.empty((limit, *start_cell.shape), dtype=np.int32),
        np.zeros(limit),
        np.zeros(len(rules), dtype=np.bool_),
        np.zeros(5, dtype=np.int64),
        np.zeros(2),
    )
    find_differences(rules, actions, n_first, start_cell, space.scale, budget, stop, log)
    nodes, number, n_kept, n_left, looks = log.counts.tolist()
    different, undecided = log.totals.tolist()
    return SearchResult(log.kept[:n_kept], log.used, number, different, undecided, nodes, looks, n_left > 0)


def uncovered(
    space: RankSpace, rules: Ranks, budget: int, cell: Ranks | None = None, limit: int = 1, stop: bool = False
) -> SearchResult:
    """Look in a cell for places that no rule covers; see `differences`."""
    with_default = np.concatenate([rules, space.whole()[None]])
    actions = np.zeros(len(with_default), dtype=np.int32)
    return differences(space, with_default, actions, len(rules), budget, cell, limit, stop)


@kernel
def keep_cell(cell: Ranks, share: float, log: Log) -> None:
    """Keep a cell if there is room, else in place of the smallest if that is smaller."""
    n_kept = log.counts[2]
    slot = n_kept
    if n_kept == log.kept.shape[0]:
        slot = 0
        for i in range(1, n_kept):
            if log.shares[i] < log.shares[slot]:
                slot = i
        if share <= log.shares[slot]:
            return
    log.shares[slot] = share
    put_cell(cell, log.kept, slot)
    log.counts[2] = max(n_kept, slot + 1)


@kernel
def shorten(
    rules: Ranks, actions: Ranks, cell: Ranks, alive: Ranks, n: int, otherwise: int, filled: Floats
) -> tuple[int, int, int]:
    """Leave in `alive` the rules that matter in a cell.

    Returns how many, the action where none matches, which was `otherwise` so far, and the rule that contains
    the cell, −1 for none. Writes into `filled` how much of the cell each rule fills.
    """
    n_alive, container = 0, -1
    for i in range(n):
        r = alive[i]
        share = overlap(rules, r, cell)
        if share < 0:
            continue
        if share == 1.0:
            otherwise, container = int(actions[r]), int(r)
            break
        alive[n_alive], filled[n_alive] = r, share
        n_alive += 1
    while n_alive > 0 and actions[alive[n_alive - 1]] == otherwise:
        n_alive -= 1
    return n_alive, otherwise, container


@kernel
def same_rules(rules: Ranks, actions: Ranks, cell: Ranks, rules_a: Ranks, rules_b: Ranks, n: int) -> bool:
    """Return whether the first n rules of two lists are the same in a cell, one by one."""
    for i in range(n):
        r, s = rules_a[i], rules_b[i]
        if actions[r] != actions[s]:
            return False
        for d in range(cell.shape[0]):
            if max(rules[r, d, 0], cell[d, 0]) != max(rules[s, d, 0], cell[d, 0]):
                return False
            if min(rules[r, d, 1], cell[d, 1]) != min(rules[s, d, 1], cell[d, 1]):
                return False
    return True


@kernel
def fills_most(rules_a: Ranks, filled_a: Floats, k_a: int, rules_b: Ranks, filled_b: Floats, k_b: int) -> int:
    """Return the rule of two lists, not both empty, that fills most of the cell; the first of equals."""
    best, largest = -1, -1.0
    for i in range(k_a):
        if filled_a[i] > largest:
            best, largest = int(rules_a[i]), filled_a[i]
    for i in range(k_b):
        if filled_b[i] > largest:
            best, largest = int(rules_b[i]), filled_b[i]
    return best


@kernel
def find_differences(
    rules: Ranks, actions: Ranks, n_a: int, start_cell: Ranks, scale: Scale, budget: int, stop: bool, log: Log
) -> None:
    """Search a cell for places where the first n_a rules and the others do not do the same."""
    n, features, n_room, counts = rules.shape[0], rules.shape[1], 1, log.counts
    for d in range(features):  # every cut takes a rank or more off the cell in hand, and one piece waits
        n_room += int(start_cell[d, 1] - start_cell[d, 0])
    cells = np.empty((n_room, features, 2), dtype=np.int32)
    begins, middles = np.zeros(n_room + 1, dtype=np.int64), np.zeros(n_room, dtype=np.int64)
    defaults = np.full((n_room, 2), NULL_ACTION, dtype=np.int64)
    waiting = np.arange(2 * n + 1).astype(np.int32)
    alive_a, alive_b = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    filled_a, filled_b = np.empty(n), np.empty(n)
    cell = start_cell.copy()
    put_cell(start_cell, cells, 0)
    middles[0], begins[1] = n_a, n
    top = 1
    while top > 0 and counts[4] < budget and not (stop and counts[1] > 0):
        top -= 1
        for d in range(features):
            cell[d, 0], cell[d, 1] = cells[top, d, 0], cells[top, d, 1]
        default_a, default_b = defaults[top, 0], defaults[top, 1]
        k_a, k_b = middles[top] - begins[top], begins[top + 1] - middles[top]
        for i in range(k_a):
            alive_a[i] = waiting[begins[top] + i]
        for i in range(k_b):
            alive_b[i] = waiting[middles[top] + i]
        while True:
            counts[0] += 1
            counts[4] += 1 + k_a + k_b
            k_a, default_a, container = shorten(rules, actions, cell, alive_a, k_a, default_a, filled_a)
            k_b, default_b, _ = shorten(rules, actions, cell, alive_b, k_b, default_b, filled_b)
            if k_a == 0 and k_b == 0 and default_a != default_b:
                share = share_of(cell, scale)
                log.totals[0] += share
                counts[1] += 1
                keep_cell(cell, share, log)
                break
            if (
                k_a == k_b
                and default_a == default_b
                and same_rules(rules, actions, cell, alive_a, alive_b, k_a)
            ):
                if container >= 0:
                    log.used[container] = True
                break
            best = fills_most(alive_a, filled_a, k_a, alive_b, filled_b, k_b)
            d, last_below, above = choose_cut(rules, best, cell)
            put_cell(cell, cells, top)
            if above:
                cells[top, d, 1], cell[d, 0] = last_below, last_below + 1
            else:
                cells[top, d, 0], cell[d, 1] = last_below + 1, last_below
            if begins[top] + k_a + k_b > len(waiting):
                waiting = np.concatenate((waiting, waiting))
            middles[top] = put_meeting(rules, cells[top], d, alive_a, k_a, waiting, begins[top])
            begins[top + 1] = put_meeting(rules, cells[top], d, alive_b, k_b, waiting, middles[top])
            defaults[top, 0], defaults[top, 1] = default_a, default_b
            top += 1
            if counts[4] >= budget:
                put_cell(cell, cells, top)
                top += 1
                break
    counts[3] = top
    for i in range(top):
        log.totals[1] += share_of(cells[i], scale)
