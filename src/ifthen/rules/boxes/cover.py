"""Coverage: does every point of a bounded space lie in at least one of some boxes?

An answer holds for every point (see `boxes.space`). In many dimensions no method is fast on all boxes, so the
search has a budget of cells to look at, and when it gives up it says what share of the space it had decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ifthen.jit import kernel
from ifthen.rules.box import decode, without_wraps
from ifthen.rules.boxes.differences import BUDGET, uncovered
from ifthen.rules.boxes.rank_space import Ranks, RankSpace, Region
from ifthen.rules.feature import Feature, cyclic_ones

SPARE = 4
"""The number of pieces kept for each hole wanted, because several can lie in the same hole."""


@dataclass(frozen=True)
class Coverage:
    """Whether boxes cover a space.

    Args:
        complete: True: proven that every point lies in a box. False: `holes` shows one that does not.
            None: the search gave up before it found a hole.
        holes: boxes that no rule meets, as long as they can be in every direction; large ones, at most
            `limit`, the largest first. They may overlap.
        uncovered_share: share of the space in no box, of all that was decided; rounded as floats are.
        decided_share: share of the space that was decided; 1 unless the search gave up.
        nodes: cells looked at.
        gave_up: whether the budget ended the search, or rounding leaves something open.
        unsure: with terms, how many boxes there are that only rounding decides whether they are empty.
    """

    complete: bool | None
    holes: tuple[Region, ...]
    uncovered_share: float
    decided_share: float
    nodes: int
    gave_up: bool
    unsure: int = 0


def coverage(
    bounds: ArrayLike,
    features: Sequence[Feature],
    *,
    within: ArrayLike | None = None,
    budget: int = BUDGET,
    limit: int = 10,
) -> Coverage:
    """Decide exactly whether boxes cover the whole space of the features, or a part of it.

    Args:
        bounds: the boxes, `(rules, features, 2)`, closed, the smaller bound first unless they wrap.
        features: the features, whose ranges bound the space.
        within: look only at this box, `(features, 2)`.
        budget: looks at cells and rules in them before giving up.
        limit: how many holes to keep, at least 1.
    """
    feature_tuple = tuple(features)
    ordered = decode(np.asarray(bounds, dtype=np.float64), cyclic_ones(feature_tuple))
    boxes, _ = without_wraps(ordered, feature_tuple)
    space = RankSpace(features, boxes, within)
    rules = space.ranks(boxes)
    search = uncovered(space, rules, budget, limit=SPARE * limit)
    complete = False if search.number else None if search.gave_up else True
    return Coverage(
        complete,
        _largest_holes(space, rules, search.cells)[:limit],
        min(1.0, search.different),
        max(0.0, 1.0 - search.undecided),
        search.nodes,
        search.gave_up,
        search.unsure,
    )


def _largest_holes(space: RankSpace, rules: Ranks, pieces: Ranks) -> tuple[Region, ...]:
    """Return the holes in which pieces `(n, features, 2)` lie, as long as they can be, the largest first."""
    holes = {}
    for hole in pieces.copy():
        widen(rules, space.whole(), hole)
        holes[hole.tobytes()] = space.region(hole)
    return tuple(sorted(holes.values(), key=lambda hole: -hole.share))


@kernel
def widen(rules: Ranks, limits: Ranks, hole: Ranks) -> None:
    """Make a hole as long as it can be inside `limits` without meeting a rule, feature by feature."""
    for d in range(hole.shape[0]):
        low, high = limits[d, 0], limits[d, 1]
        for r in range(rules.shape[0]):
            blocks_axis = rules[r, d, 0] <= rules[r, d, 1]
            for other_d in range(hole.shape[0]):
                is_apart = rules[r, other_d, 0] > hole[other_d, 1] or rules[r, other_d, 1] < hole[other_d, 0]
                if is_apart and other_d != d:
                    blocks_axis = False
                    break
            if blocks_axis and rules[r, d, 1] < hole[d, 0]:
                low = max(low, rules[r, d, 1] + 1)
            elif blocks_axis:
                high = min(high, rules[r, d, 0] - 1)
        hole[d, 0], hole[d, 1] = low, high
