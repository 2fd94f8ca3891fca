"""Decision lists: where each rule decides, which never do, where rules contradict, which lists are the same.

A rule of a decision list decides at the points of its box that lie in no earlier one. If there are none it is
*dead*: the earlier rules that cover its box *shadow* it, and a single one that does *subsumes* it. Every
answer holds for every point.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.box import is_box, shared
from ifthen.rules.boxes.differences import BUDGET, differences, uncovered
from ifthen.rules.boxes.rank_space import Point, Ranks, RankSpace, Region, overlap
from ifthen.rules.comparison import Scoring
from ifthen.rules.feature import Feature, whole_box
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.term import term


@dataclass(frozen=True)
class Reach:
    """Where one rule of a decision list decides.

    Args:
        rule: its number, from 0.
        decides: True: it decides at `witness`. False: proven that it decides nowhere.
            None: the search gave up before it knew.
        witness: a point where it decides.
        share: share of the space where it decides, rounded as floats are; None where the search gave up.
        shadowed_by: earlier rules, from 0, that together cover the box of a rule that decides nowhere.
    """

    rule: int
    decides: bool | None
    witness: Point | None = None
    share: float | None = None
    shadowed_by: tuple[int, ...] = ()


def first_match(ruleset: RuleSet, *, budget: int = BUDGET) -> list[Reach]:
    """Decide exactly for every rule of a decision list whether it ever decides, and where.

    Args:
        ruleset: a decision list.
        budget: looks at cells and rules in them before giving up, over all rules; what the search for one
            rule leaves, those for later rules can use.
    """
    unwrapped, origins = ruleset.unwrapped()
    bounds, remaining = unwrapped.bounds.astype(np.float64), budget
    space = RankSpace(ruleset.features, bounds)
    boxes, reaches = space.ranks(bounds), []
    for r in range(len(boxes)):
        reach, looks = _reach(space, boxes, r, max(1, remaining // (len(boxes) - r)))
        remaining = max(0, remaining - looks)
        reaches.append(reach)
    return [
        _joined(r, [reaches[i] for i in np.flatnonzero(origins == r)], origins) for r in range(len(ruleset))
    ]


def _joined(rule: int, reaches: list[Reach], origins: Ints) -> Reach:
    """Return where a rule decides, given its parts on both sides of the end of a cyclic feature's range."""
    shares = [reach.share for reach in reaches if reach.share is not None]
    share = sum(shares) if len(shares) == len(reaches) else None
    decides = next((reach for reach in reaches if reach.decides), None)
    if decides is not None:
        return Reach(rule, True, decides.witness, share)
    if any(reach.decides is None for reach in reaches):
        return Reach(rule, None)
    shadow = {int(origins[r]) for reach in reaches for r in reach.shadowed_by}
    return Reach(rule, False, None, share, tuple(sorted(shadow)))


def _reach(space: RankSpace, boxes: Ranks, r: int, budget: int) -> tuple[Reach, int]:
    """Return where rule r decides among `boxes`, `(rules, features, 2)` in ranks, and the looks it took."""
    cell = boxes[r]
    search = uncovered(space, boxes[:r], budget, cell)
    share = None if search.gave_up else min(space.share(cell), search.different)
    if search.number:
        return Reach(r, True, space.witness(search.cells[0]), share), search.looks
    if search.gave_up:
        return Reach(r, None), search.looks
    shadow, looks = _shadow(space, boxes, cell, search.used[:-1], max(1, budget - search.looks))
    return Reach(r, False, None, share, shadow), search.looks + looks


def _shadow(
    space: RankSpace, boxes: Ranks, cell: Ranks, used: Mask, budget: int
) -> tuple[tuple[int, ...], int]:
    """Return rules that cover a cell, as few as the budget can prove, and the looks that took.

    Of the rules that a proof `used`, those that cover least are tried to be left out first.
    """
    needed, looks = set(np.flatnonzero(used).tolist()), 0
    for r in sorted(needed, key=lambda r: (overlap(boxes, r, cell), r)):
        if r in needed:
            without_rule = np.array(sorted(needed - {r}), dtype=np.int64)
            search = uncovered(space, boxes[without_rule], max(1, budget - looks), cell, stop=True)
            looks += search.looks
            if not search.number and not search.gave_up:
                needed = set(without_rule[search.used[:-1]].tolist())
    return tuple(sorted(needed)), looks


def overlaps(ruleset: RuleSet) -> dict[tuple[int, int], Region]:
    """Return all pairs of rules with different actions whose boxes meet, and where both match.

    In a decision list the second rule of a pair decides nowhere in that region. Where rules wrap and meet in
    several boxes, it is the largest. With terms, a pair whose
    boxes only touch is left out where no observation is found that both match.
    """
    unwrapped, origins = ruleset.unwrapped()
    bounds = unwrapped.bounds.astype(np.float64)
    space = RankSpace(ruleset.features, bounds)
    boxes, regions = space.ranks(bounds), dict[tuple[int, int], Region]()
    for first, box in enumerate(boxes[:-1]):
        shared_boxes, other_actions = shared(box, boxes[first + 1 :]), unwrapped.actions[first + 1 :]
        for i in np.flatnonzero(is_box(shared_boxes) & (other_actions != unwrapped.actions[first])).tolist():
            if not isinstance(space.observation(shared_boxes[i]) if ruleset.terms else None, str):
                pair, region = (
                    (int(origins[first]), int(origins[first + 1 + i])),
                    space.region(shared_boxes[i]),
                )
                regions[pair] = max(regions.get(pair, region), region, key=lambda candidate: candidate.share)
    return regions


def point_of(ruleset: RuleSet, rule: int) -> Point | None:
    """Return an observation that a rule matches; None where there is none, or none is known."""
    if not ruleset.terms:
        return tuple(ruleset.bounds[rule, :, 0].tolist())
    bounds = ruleset.subset([rule]).unwrapped()[0].bounds[:1].astype(np.float64)
    space = RankSpace(ruleset.features, bounds)
    box = space.ranks(bounds)[0]
    return None if isinstance(space.observation(box), str) else space.witness(box)


@dataclass(frozen=True)
class Difference:
    """Whether two decision lists do the same.

    Args:
        equal: True: proven that they give the same action at every point, no action at all included.
            False: `witness` is a point where they differ. None: the search gave up before it knew.
        witness: an observation where they differ.
        nodes: cells looked at.
        unsure: with terms, how many cells there are that only rounding decides whether they are empty.
    """

    equal: bool | None
    witness: Point | None
    nodes: int
    unsure: int = 0


def compare(a: RuleSet, b: RuleSet, *, within: ArrayLike | None = None, budget: int = BUDGET) -> Difference:
    """Decide exactly whether two decision lists give the same action everywhere.

    Args:
        a: a decision list.
        b: another one over the same features and actions.
        within: look only at this box, `(features, 2)`.
        budget: looks at cells and rules in them before giving up.
    """
    a, b = (ruleset.unwrapped()[0] for ruleset in over_the_same_terms(a, b))
    bounds = np.concatenate([a.bounds, b.bounds]).astype(np.float64)
    space = RankSpace(a.features, bounds, within)
    actions = np.concatenate([a.actions, b.actions])
    search = differences(space, space.ranks(bounds), actions, len(a), budget, stop=True)
    if search.number:
        return Difference(False, space.witness(search.cells[0]), search.nodes)
    return Difference(None if search.gave_up else True, None, search.nodes, search.unsure)


def over_the_same_terms(a: RuleSet, b: RuleSet) -> tuple[RuleSet, RuleSet]:
    """Return two rulesets over the same observed features with the terms of both, whatever they are called.

    Terms that both have come once.
    """
    if a.features == b.features:
        return a, b
    sums = dict.fromkeys(term.of for term in (*a.terms, *b.terms))
    stem = max((feature.name for feature in a.observed_features), key=len)  # longer names are new
    terms = [term(f"{stem} {number}", dict(of), a.observed_features) for number, of in enumerate(sums)]
    features = (*a.observed_features, *terms)
    return with_features(a, features), with_features(b, features)


def with_terms_of(features: Sequence[Feature], *rulesets: RuleSet) -> tuple[Feature, ...]:
    """Return features with all terms of rulesets behind, each sum once and by its first name."""
    terms = {feature.of: feature for feature in features if feature.is_term}
    for term_feature in (added for ruleset in rulesets for added in ruleset.terms):
        terms.setdefault(term_feature.of, term_feature)
    return (*(feature for feature in features if not feature.is_term), *terms.values())


def with_features(ruleset: RuleSet, features: tuple[Feature, ...]) -> RuleSet:
    """Return a decision list over other features: the same observed ones, and at least the same terms."""
    bounds = np.tile(whole_box(features).astype(np.float64), (len(ruleset), 1, 1))
    positions = {candidate.of: d for d, candidate in enumerate(features) if candidate.is_term}
    for d, feature in enumerate(ruleset.features):
        bounds[:, positions[feature.of] if feature.is_term else d] = ruleset.bounds[:, d]
    return type(ruleset)(bounds, ruleset.actions, features, ruleset.action_names)


CLEARLY = 1e-9
"""A relative difference of scores that rounding cannot make."""


def always_above(scoring: Scoring, a: int, b: int, box: Floats) -> bool:
    """Return whether rule a's score is clearly above rule b's at every point of a box `(features, 2)`."""
    slope = scoring.slopes[a] - scoring.slopes[b]
    constant = scoring.constants[a] - scoring.constants[b] - scoring.deductions[a] + scoring.deductions[b]
    smallest = constant + (slope[:, None] * box).min(axis=1).sum()
    largest, pair = np.abs(box).max(axis=1), [a, b]
    term_sizes = np.abs(scoring.slopes[pair]) @ largest
    magnitude = (term_sizes + np.abs(scoring.constants[pair]) + scoring.deductions[pair]).sum()
    return bool(smallest > CLEARLY * magnitude)


def order_by_score(ruleset: RuleSet) -> list[int] | None:
    """Return an order of rules in which the first that matches is the strongest; None where there is none.

    Of two rules that overlap and propose different actions, one must be stronger wherever both match.
    """
    precedes = _precedence(ruleset)
    return None if precedes is None else in_order(precedes)


def in_order(precedes: Mask) -> list[int] | None:
    """Return numbers in an order that keeps which must come before which `(n, n)`; None where none does."""
    order: list[int] = []
    remaining = list(range(len(precedes)))
    while remaining:
        free = [r for r in remaining if not precedes[remaining, r].any()]
        if not free:
            return None
        order.append(free[0])
        remaining.remove(free[0])
    return order


def _precedence(ruleset: RuleSet) -> Mask | None:
    """Return which rules must come before which, `(rules, rules)`; None where that differs between points."""
    unwrapped, origins = ruleset.unwrapped()
    scoring, bounds = ruleset.scoring, unwrapped.bounds.astype(np.float64)
    if scoring is None or scoring.votes is not None:
        return None
    precedes = np.zeros((len(ruleset), len(ruleset)), dtype=np.bool_)
    for i, j in itertools.combinations(range(len(unwrapped)), 2):
        r, q = origins[i], origins[j]
        overlap = shared(bounds[i], bounds[j])
        if ruleset.actions[r] == ruleset.actions[q] or not is_box(overlap):
            continue
        r_above, q_above = always_above(scoring, r, q, overlap), always_above(scoring, q, r, overlap)
        if not r_above and not q_above:
            return None
        precedes[r, q] |= r_above
        precedes[q, r] |= q_above
    return precedes
