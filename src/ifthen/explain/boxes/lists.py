"""Decision lists: where each rule decides, which never do, and where rules contradict each other.

A rule of a decision list decides at the points of its box that lie in no earlier one. If there are none it is
*dead*: the earlier rules that cover its box *shadow* it, and a single one that does *subsumes* it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.checks import whole_number
from ifthen.errors import RuleError
from ifthen.explain.boxes.holes import BUDGET, MOST_BUDGET, Found, overlap, search, share_of
from ifthen.explain.boxes.space import Box, Point, RankSpace, checked_bounds
from ifthen.inference.decision_list import DecisionList
from ifthen.rules.ruleset import RuleSet


@dataclass(frozen=True)
class Reach:
    """Where one rule of a decision list decides.

    Args:
        rule: its number, from 0.
        decides: True: it decides at `witness`. False: proven that it decides nowhere.
            None: the search gave up before it knew.
        witness: a point where it decides.
        share: share of the space where it decides, rounded as floats are; None where the search gave up.
        box_share: share of the space that its box takes.
        shadowed_by: earlier rules, from 0, that together cover the box of a rule that decides nowhere; none
            where the box has nothing in what was looked at.
        irredundant: whether it was proven that none of `shadowed_by` could be left out.
        nodes: cells looked at to find out whether it decides.
    """

    rule: int
    decides: bool | None
    witness: Point | None
    share: float | None
    box_share: float
    shadowed_by: tuple[int, ...]
    irredundant: bool
    nodes: int

    @property
    def subsumed_by(self) -> int | None:
        """The earlier rule, from 0, whose box contains this one's, where one alone makes it dead."""
        return self.shadowed_by[0] if len(self.shadowed_by) == 1 else None


def first_match(
    ruleset: DecisionList, *, within: ArrayLike | None = None, budget: int = BUDGET
) -> list[Reach]:
    """Decide exactly for every rule of a decision list whether it ever decides, and where.

    Args:
        ruleset: a decision list.
        within: look only at this box, `(features, 2)`.
        budget: looks at cells and rules in them before giving up, over all rules; what the search for one
            leaves, those for the rules after it can use.
    """
    budget = whole_number("budget", budget, 1, MOST_BUDGET)
    if not isinstance(ruleset, DecisionList):
        raise RuleError(f"rules decide one after another in a decision list only, not in {ruleset!r}.")
    bounds = checked_bounds(ruleset.features, ruleset.bounds)
    space = RankSpace(ruleset.features, bounds, within)
    boxes, purse, reaches = space.ranks(bounds), Purse(budget), []
    for r in range(len(boxes)):
        purse.allot(len(boxes) - r)
        reaches.append(_reach(space, boxes, r, purse))
    return reaches


class Purse:
    """A budget that several searches share.

    Args:
        budget: looks at cells and rules in them that all of them have.
    """

    def __init__(self, budget: int) -> None:
        self.rest = self.own = budget

    def allot(self, searches: int) -> None:
        """Give the next of so many searches its part of what is left."""
        self.own = max(1, self.rest // searches)

    def pay(self, found: Found) -> None:
        """Take away what a search has used."""
        self.rest, self.own = max(0, self.rest - found.looks), max(1, self.own - found.looks)


def _reach(space: RankSpace, boxes: NDArray[np.int32], r: int, purse: Purse) -> Reach:
    """Return where rule r decides among `boxes`, `(rules, features, 2)` in ranks."""
    cell = boxes[r]
    if (cell[:, 0] > cell[:, 1]).any():
        return Reach(r, False, None, 0.0, 0.0, (), True, 0)
    box_share = share_of(cell, space.starts, space.ends, space.totals)
    found = search(space, boxes[:r], cell, purse.own)
    purse.pay(found)
    share = None if found.gave_up else min(box_share, found.uncovered)
    if found.n_holes:
        witness = space.witness(found.kept[0])
        return Reach(r, True, witness, share, box_share, (), False, found.nodes)
    if found.gave_up:
        return Reach(r, None, None, share, box_share, (), False, found.nodes)
    shadow, irredundant = _shadow(space, boxes, cell, found, purse)
    return Reach(r, False, None, share, box_share, shadow, irredundant, found.nodes)


def _shadow(
    space: RankSpace, boxes: NDArray[np.int32], cell: NDArray[np.int32], proof: Found, purse: Purse
) -> tuple[tuple[int, ...], bool]:
    """Return rules that cover a cell, and whether it is proven that all of them are needed.

    Of the rules that a proof used, those that cover least are tried to be left out first.
    """
    needed, sure = set(np.flatnonzero(proof.used).tolist()), True
    for r in sorted(needed, key=lambda r: (overlap(boxes, r, cell), r)):
        if r not in needed:
            continue
        rest = np.array(sorted(needed - {r}), dtype=np.int64)
        found = search(space, boxes[rest], cell, purse.own, stop_at_hole=True)
        purse.pay(found)
        if not found.n_holes and not found.gave_up:
            needed = set(rest[found.used].tolist())
        elif not found.n_holes:
            sure = False
    return tuple(sorted(needed)), sure


@dataclass(frozen=True)
class Overlap:
    """Two rules that meet and advocate different actions.

    Args:
        first: the number, from 0, of the earlier rule.
        second: that of the later one. In a decision list it decides nowhere in the box.
        box: where both match.
        witness: a point where both match.
        share: share of the space that the box takes.
    """

    first: int
    second: int
    box: Box
    witness: Point
    share: float


def overlaps(ruleset: RuleSet, *, within: ArrayLike | None = None) -> list[Overlap]:
    """Return all pairs of rules with different actions whose boxes meet.

    Args:
        ruleset: a ruleset of any kind.
        within: look only at this box, `(features, 2)`.
    """
    bounds = checked_bounds(ruleset.features, ruleset.bounds)
    space = RankSpace(ruleset.features, bounds, within)
    boxes, found = space.ranks(bounds), []
    for first in range(len(boxes) - 1):
        low = np.maximum(boxes[first, :, 0], boxes[first + 1 :, :, 0])
        high = np.minimum(boxes[first, :, 1], boxes[first + 1 :, :, 1])
        meets = (low <= high).all(axis=1) & (ruleset.actions[first + 1 :] != ruleset.actions[first])
        for i in np.flatnonzero(meets).tolist():
            common = np.stack([low[i], high[i]], axis=-1)
            share = share_of(common, space.starts, space.ends, space.totals)
            found.append(Overlap(first, first + 1 + i, space.box(common), space.witness(common), share))
    return found
