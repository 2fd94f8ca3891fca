"""The search for holes: what do boxes leave uncovered of a cell?

The search takes away from a cell the box that fills most of it, cut by cut, and goes on with each piece and
the boxes that still meet it. A piece that no box meets is a hole; a piece inside one box is covered. Cells
and boxes are given in ranks (`boxes.space`), so what holds for the finitely many pieces holds for all points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.boxes.space import RankSpace
from ifthen.jit import kernel

BUDGET = 40_000_000
"""How many looks a search has, one at each cell and one at each rule there, before it gives up: seconds."""
MOST_BUDGET = 2**62


@dataclass(frozen=True, eq=False)
class Found:
    """What a search for holes found, in ranks.

    Args:
        kept: the largest pieces that no rule meets, `(k, features, 2)`.
        used: which rules `(rules,)` contained a piece: if there is no hole, these cover all.
        n_holes: how many pieces no rule meets.
        uncovered: their share.
        undecided: share of the pieces that were not looked at.
        nodes: cells looked at.
        looks: rules looked at, over all cells.
        gave_up: whether pieces were left when the search ended.
    """

    kept: NDArray[np.int32]
    used: NDArray[np.bool_]
    n_holes: int
    uncovered: float
    undecided: float
    nodes: int
    looks: int
    gave_up: bool


def search(
    space: RankSpace,
    rules: NDArray[np.int32],
    cell: NDArray[np.int32],
    budget: int,
    limit: int = 1,
    stop_at_hole: bool = False,
) -> Found:
    """Look for what rules `(rules, features, 2)` leave uncovered of a cell `(features, 2)`, all in ranks.

    With `stop_at_hole` the first hole ends the search, as if the budget had been spent there.
    """
    kept, kept_shares = np.empty((limit, *cell.shape), dtype=np.int32), np.zeros(limit)
    used = np.zeros(len(rules), dtype=np.bool_)
    counts, shares = np.zeros(5, dtype=np.int64), np.zeros(2)
    scale = space.starts, space.ends, space.totals
    find_holes(rules, cell, *scale, budget, stop_at_hole, kept, kept_shares, used, counts, shares)
    nodes, n_holes, n_kept, left, looks = (int(count) for count in counts)
    return Found(kept[:n_kept], used, n_holes, float(shares[0]), float(shares[1]), nodes, looks, left > 0)


@kernel
def share_of(
    cell: NDArray[np.int32],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> float:
    """Return the share of the space that a cell `(features, 2)` takes."""
    share = 1.0
    for d in range(cell.shape[0]):
        share *= (ends[d, cell[d, 1]] - starts[d, cell[d, 0]]) / totals[d]
    return share


@kernel
def overlap(rules: NDArray[np.int32], r: int, cell: NDArray[np.int32]) -> float:
    """Return what share of a cell's ranks rule r fills: 1 where it contains it, −1 where it is apart."""
    share = 1.0
    for d in range(cell.shape[0]):
        low, high = max(rules[r, d, 0], cell[d, 0]), min(rules[r, d, 1], cell[d, 1])
        if low > high:
            return -1.0
        if low > cell[d, 0] or high < cell[d, 1]:
            # Less than 1 after rounding too, so that only a rule that contains the cell has 1.
            share *= (high - low + 1) / (cell[d, 1] - cell[d, 0] + 1)
    return share


@kernel
def keep_meeting(
    rules: NDArray[np.int32], cell: NDArray[np.int32], alive: NDArray[np.int32], n: int
) -> tuple[int, int, float]:
    """Leave in `alive` the rules that meet a cell; return how many, which of them fills most, and its share.

    Ends early where a rule contains the cell.
    """
    kept, best, most = 0, -1, -1.0
    for i in range(n):
        r = alive[i]
        filled = overlap(rules, r, cell)
        if filled < 0:
            continue
        alive[kept] = r
        kept += 1
        if filled > most:
            best, most = int(r), filled
            if filled == 1.0:
                break
    return kept, best, most


@kernel
def choose_cut(rules: NDArray[np.int32], r: int, cell: NDArray[np.int32]) -> tuple[int, int, bool]:
    """Return the feature and the last rank below the cut along rule r that takes most of the cell away.

    The third is whether the rule lies above the cut.
    """
    feature, last, above, most = -1, -1, False, 0.0
    for d in range(cell.shape[0]):
        width = cell[d, 1] - cell[d, 0] + 1
        under, over = (rules[r, d, 0] - cell[d, 0]) / width, (cell[d, 1] - rules[r, d, 1]) / width
        if under > most:
            feature, last, above, most = d, int(rules[r, d, 0]) - 1, True, under
        if over > most:
            feature, last, above, most = d, int(rules[r, d, 1]), False, over
    return feature, last, above


@kernel
def most_waiting(cell: NDArray[np.int32]) -> int:
    """Return how many pieces of a cell can wait: every cut takes a rank or more off the one in hand."""
    room = 1
    for d in range(cell.shape[0]):
        room += int(cell[d, 1] - cell[d, 0])
    return room


@kernel
def put_cell(cell: NDArray[np.int32], out: NDArray[np.int32], place: int) -> None:
    """Write a cell `(features, 2)` into a place of `out`; loops compile much faster than assigned slices."""
    for d in range(cell.shape[0]):
        out[place, d, 0], out[place, d, 1] = cell[d, 0], cell[d, 1]


@kernel
def put_meeting(
    rules: NDArray[np.int32],
    cells: NDArray[np.int32],
    place: int,
    d: int,
    alive: NDArray[np.int32],
    n: int,
    out: NDArray[np.int32],
    end: int,
) -> int:
    """Write the rules that meet a cell along feature d into `out` from `end` on; return where they end."""
    for i in range(n):
        r = alive[i]
        if rules[r, d, 0] <= cells[place, d, 1] and rules[r, d, 1] >= cells[place, d, 0]:
            out[end] = r
            end += 1
    return end


@kernel
def keep_hole(
    cell: NDArray[np.int32],
    share: float,
    n_kept: int,
    kept: NDArray[np.int32],
    kept_shares: NDArray[np.float64],
) -> int:
    """Keep a hole if there is room, else in place of the smallest if that is smaller; return how many."""
    place = n_kept
    if n_kept == kept.shape[0]:
        place = 0
        for i in range(1, n_kept):
            if kept_shares[i] < kept_shares[place]:
                place = i
        if share <= kept_shares[place]:
            return n_kept
    kept_shares[place] = share
    put_cell(cell, kept, place)
    return max(n_kept, place + 1)


@kernel
def find_holes(
    rules: NDArray[np.int32],
    whole: NDArray[np.int32],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    totals: NDArray[np.float64],
    budget: int,
    stop_at_hole: bool,
    kept: NDArray[np.int32],
    kept_shares: NDArray[np.float64],
    used: NDArray[np.bool_],
    counts: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> None:
    """Search a cell for holes.

    Writes how many nodes, holes, holes kept, pieces left and looks into `counts`, what is uncovered and what
    is left into `shares`.
    """
    n, features, room = rules.shape[0], rules.shape[1], most_waiting(whole)
    cells = np.empty((room, features, 2), dtype=np.int32)
    begins = np.zeros(room + 1, dtype=np.int64)
    waiting = np.arange(2 * n + 1).astype(np.int32)
    alive = np.empty(n, dtype=np.int32)
    cell = whole.copy()
    put_cell(whole, cells, 0)
    begins[1] = n
    top = 1
    while top > 0 and counts[4] < budget and not (stop_at_hole and counts[1] > 0):
        top -= 1
        for d in range(features):
            cell[d, 0], cell[d, 1] = cells[top, d, 0], cells[top, d, 1]
        k = begins[top + 1] - begins[top]
        for i in range(k):
            alive[i] = waiting[begins[top] + i]
        while True:
            counts[0] += 1
            counts[4] += 1 + k
            k, best, most = keep_meeting(rules, cell, alive, k)
            if most == 1.0:
                used[best] = True
                break
            if k == 0:
                counts[1] += 1
                share = share_of(cell, starts, ends, totals)
                shares[0] += share
                counts[2] = keep_hole(cell, share, counts[2], kept, kept_shares)
                break
            d, last, above = choose_cut(rules, best, cell)
            put_cell(cell, cells, top)
            if above:
                cells[top, d, 1], cell[d, 0] = last, last + 1
            else:
                cells[top, d, 0], cell[d, 1] = last + 1, last
            if begins[top] + k > len(waiting):
                waiting = np.concatenate((waiting, waiting))
            begins[top + 1] = put_meeting(rules, cells, top, d, alive, k, waiting, begins[top])
            top += 1
            if counts[4] >= budget:
                put_cell(cell, cells, top)
                top += 1
                break
    counts[3] = top
    for i in range(top):
        shares[1] += share_of(cells[i], starts, ends, totals)
