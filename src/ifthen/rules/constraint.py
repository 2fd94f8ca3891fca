"""Constraints on what rules do: whether a decision list keeps them, and a shield that makes it keep them.

    never heat when room ≥ 24
    always brake when gap ≤ 5 and speed ≥ 10

A constraint speaks of an action and of a region, which is some boxes. A shield is a few rules on top of a
list. Where an action is required, they say that action. Where an action is forbidden, they say the list's own
next choice among the other actions.

All of this is decided by reasoning about boxes (`ifthen.rules.boxes`), and so holds for every observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ifthen.digits import values_in_words
from ifthen.errors import ParameterError
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.box import holds, is_box, shared, without_wraps
from ifthen.rules.boxes.differences import BUDGET
from ifthen.rules.boxes.list_analysis import (
    Difference,
    compare,
    over_the_same_terms,
    with_features,
    with_terms_of,
)
from ifthen.rules.boxes.rank_space import Point, RankSpace
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature, whole_box
from ifthen.rules.ruleset import RuleSet

MOST_REGIONS = 300
"""Constraints may name at most this many boxes, counting the boxes of their overlaps."""
LOOKS_PER_RULE = 200_000
"""The budget for proving that one rule makes no difference beside a shield, in looks at cells and rules."""
MOST_DROPPED = 300
"""At most this many rules are tried to be left out beside a shield."""


class Constraint(NamedTuple):
    """What rules must always or never do in a region."""

    text: str
    """The text that a user wrote."""
    never: bool
    """Whether the action is forbidden in the region; it is required there otherwise."""
    action: int
    """The action, by number."""
    where: DecisionList
    """The boxes of the region; its features may have terms of their own."""


class Shielded(NamedTuple):
    """A decision list that keeps its constraints."""

    ruleset: DecisionList
    added: int
    """How many rules at the top come from constraints.

    0 where the list kept them all by itself, or where it was enough to leave out some of its rules.
    """


def breach(rules: RuleSet, constraint: Constraint, budget: int = BUDGET) -> Difference:
    """Decide exactly whether a decision list breaks a constraint anywhere.

    `equal` is True where it is proven to be kept, False where `witness` is a point at which it is broken, and
    None where that is not known. Where no rule matches, no action is done.

    Args:
        rules: a decision list.
        constraint: over the same observed features and actions.
        budget: looks at cells and rules in them before giving up.
    """
    ruleset, region = over_the_same_terms(rules, constraint.where)
    full_box = whole_box(ruleset.features)[None]
    bounds = np.concatenate([ruleset.bounds, full_box])
    does_action = np.append(ruleset.actions == constraint.action, False).astype(np.int32)
    should_do = np.full(len(region), not constraint.never, dtype=np.int32)
    actual = DecisionList(bounds, does_action, ruleset.features, ("not done", "done"))
    required = DecisionList(
        np.concatenate([region.bounds, bounds]),
        np.append(should_do, does_action),
        ruleset.features,
        actual.action_names,
    )
    return compare(actual, required, budget=budget)


def deciding_rules(rules: RuleSet, constraint: Constraint) -> int:
    """Return how many rules at the top keep a constraint by themselves, as a reader sees at once; 0 for none.

    The last of them matches wherever the constraint speaks, and none of them breaks it.
    """
    ruleset, _ = over_the_same_terms(rules, constraint.where)
    boxes = _boxes(constraint, ruleset.features)
    for r, (box, action) in enumerate(
        zip(ruleset.bounds.astype(np.float64), ruleset.actions.tolist(), strict=True)
    ):
        if (action == constraint.action) is constraint.never:
            return 0
        if all(holds(box, region_box) for region_box in boxes):
            return r + 1
    return 0


class ForbiddenRegion(NamedTuple):
    """A box with what constraints forbid or require there."""

    box: Floats
    """`(features, 2)`; it does not wrap."""
    forbidden: frozenset[int]
    texts: tuple[str, ...]
    """The constraints that speak of all of it."""


def regions_of(constraints: Sequence[Constraint], features: Sequence[Feature]) -> list[ForbiddenRegion]:
    """Return the boxes in which actions are forbidden, and all boxes where such overlap, the smallest first.

    The first region that holds a point says all that is forbidden there. Boxes in which no observation has
    the sums of features that they ask for are left out.

    Args:
        constraints: any constraints; only those that forbid an action count.
        features: what all of them speak of, terms included.
    """
    constraint_boxes = [
        pair for pair in _boxes_of(constraints, features, True) if not _is_empty(pair[1], features)
    ]
    boxes = {box.tobytes(): box for _, box in constraint_boxes}
    waiting = list(boxes.values())
    while waiting:
        box = waiting.pop()
        for _, other_box in constraint_boxes:
            overlap = shared(box, other_box)
            if is_box(overlap) and overlap.tobytes() not in boxes and not _is_empty(overlap, features):
                boxes[overlap.tobytes()] = overlap
                waiting.append(overlap)
        _check_number(len(boxes))
    regions = []
    for box in boxes.values():
        covering = [constraint for constraint, other_box in constraint_boxes if holds(other_box, box)]
        texts = tuple(dict.fromkeys(constraint.text for constraint in covering))
        regions.append(
            (
                -len(covering),
                ForbiddenRegion(box, frozenset(constraint.action for constraint in covering), texts),
            )
        )
    return [region for _, region in sorted(regions, key=lambda pair: pair[0])]


def _boxes_of(
    constraints: Sequence[Constraint], features: Sequence[Feature], never: bool
) -> list[tuple[Constraint, Floats]]:
    """Return the boxes of all constraints that forbid, or of all that require, each with its constraint."""
    _check_number(sum(len(constraint.where) for constraint in constraints))
    return [
        (constraint, box)
        for constraint in constraints
        if constraint.never is never
        for box in _boxes(constraint, features)
    ]


def _check_number(boxes: int) -> None:
    """Raise where constraints speak of too many boxes: what they take grows with the square of these."""
    if boxes > MOST_REGIONS:
        raise ParameterError(
            f"the requirements speak of more than {MOST_REGIONS} boxes: give fewer or simpler ones."
        )


def _boxes(constraint: Constraint, features: Sequence[Feature]) -> Floats:
    """Return the boxes of a constraint over all features, `(n, features, 2)`, without wraps."""
    bounds = with_features(constraint.where, tuple(features)).bounds.astype(np.float64)
    return without_wraps(bounds, tuple(features))[0]


def check_together(
    constraints: Sequence[Constraint], features: Sequence[Feature], actions: Sequence[str]
) -> None:
    """Raise where constraints contradict each other, with a point at which they do."""
    all_features = with_terms_of(features, *(constraint.where for constraint in constraints))
    always = _boxes_of(constraints, all_features, False)
    regions = regions_of(constraints, all_features)
    for n, (constraint, box) in enumerate(always):
        for other, other_box in always[:n]:
            if other.action != constraint.action:
                _refuse(shared(box, other_box), all_features, (other.text, constraint.text))
        for region in regions:
            if constraint.action in region.forbidden:
                _refuse(shared(box, region.box), all_features, (constraint.text, *region.texts))
    for region in regions:
        if len(region.forbidden) == len(actions):
            _refuse(region.box, all_features, region.texts)


def _refuse(box: Floats, features: tuple[Feature, ...], texts: Sequence[str]) -> None:
    """Raise that requirements contradict each other in a box, if there is any observation in it."""
    point = _point_in(box, features) if is_box(box) else "empty"
    if point == "empty":
        return
    location = "where sums of features only just meet, as rounding decides there"
    if not isinstance(point, str):
        observed = features[: len(point)]
        values = {
            feature.name: feature.value_in_words(value)
            for feature, value in zip(observed, point, strict=True)
        }
        location = f"at {values_in_words(values)}"
    quoted = " and ".join(f"{text!r}" for text in dict.fromkeys(texts))
    if len(set(texts)) == 1:
        raise ParameterError(f"{quoted} leaves no action {location}.")
    raise ParameterError(f"{quoted} contradict each other {location}: no action is left. Change one of them.")


def _is_empty(box: Floats, features: Sequence[Feature]) -> bool:
    """Return whether a box `(features, 2)` is proven to hold no observation, by its sums of features."""
    feature_tuple = tuple(features)
    return any(feature.is_term for feature in feature_tuple) and _point_in(box, feature_tuple) == "empty"


def asks_for_nothing(constraint: Constraint) -> bool:
    """Return whether it is proven that no observation lies in the region of a constraint."""
    region = constraint.where
    return all(_is_empty(box, region.features) for box in _boxes(constraint, region.features))


def _point_in(box: Floats, features: tuple[Feature, ...]) -> Point | str:
    """Return an observation in a box `(features, 2)`, or "empty" or "unknown"."""
    space = RankSpace(features, box[None])
    ranks = space.ranks(box[None])[0]
    point = space.observation(ranks) if len(space.terms) else None
    return point if isinstance(point, str) else space.witness(ranks)


def shielded(
    rules: RuleSet, constraints: Sequence[Constraint], default_action: int | None = None
) -> Shielded:
    """Return a list with rules on top that make it keep all constraints, everywhere.

    A list that is proven to keep them stays as it is. Rules that make no difference any more are left out:
    those of the list first, so that a shield can become needless itself.

    Args:
        rules: a decision list.
        constraints: that do not contradict each other (`check_together`).
        default_action: what to do where an action is forbidden and no rule for another one matches, if it is
            not forbidden, too; the last other action of the list where None.
    """
    ruleset = DecisionList(rules.bounds, rules.actions, rules.features, rules.action_names)
    if all(breach(ruleset, constraint).equal is True for constraint in constraints):
        return Shielded(ruleset, 0)
    full_list, added = with_shield(ruleset, constraints, default_action)
    if not added:
        return Shielded(ruleset, 0)
    needed = _needed(
        full_list,
        added,
        [box for constraint in constraints for box in _boxes(constraint, full_list.features)],
    )
    return Shielded(full_list.subset(needed).without_unused_terms(), int((needed < added).sum()))


def with_shield(
    ruleset: RuleSet, constraints: Sequence[Constraint], default_action: int | None = None
) -> Shielded:
    """Return a list with all rules of a shield on top, also needless ones; see `shielded`."""
    features = with_terms_of(ruleset.features, *(constraint.where for constraint in constraints))
    base = with_features(ruleset, features)
    preferred = [] if default_action is None else [default_action]
    preferred += [*base.actions[::-1].tolist(), *range(len(base.action_names))]
    added: list[tuple[Floats, int]] = []
    for constraint in constraints:
        if not constraint.never:
            added += [
                (box, constraint.action)
                for box in with_features(constraint.where, features).bounds.astype(np.float64)
            ]
    for region in regions_of(constraints, features):
        added += _next_choices(base, region, preferred)
    bounds = np.concatenate([*(box[None] for box, _ in added), base.bounds])
    actions = np.append(np.array([action for _, action in added], dtype=np.int32), base.actions)
    return Shielded(DecisionList(bounds, actions, features, base.action_names), len(added))


def leading(rules: RuleSet, constraints: Sequence[Constraint]) -> int:
    """Return how many rules at the top of a list speak only of regions of constraints."""
    features = with_terms_of(rules.features, *(constraint.where for constraint in constraints))
    boxes = [
        box
        for constraint in constraints
        for box in with_features(constraint.where, features).bounds.astype(np.float64)
    ]
    n_leading = 0
    for rule_box in with_features(rules, features).bounds.astype(np.float64):
        if not any(holds(box, rule_box) or (box == rule_box).all() for box in boxes):
            break
        n_leading += 1
    return n_leading


def _next_choices(
    rules: RuleSet, region: ForbiddenRegion, preferred: Sequence[int]
) -> list[tuple[Floats, int]]:
    """Return rules that say in a region what the list says first of all that is not forbidden there."""
    choices: list[tuple[Floats, int]] = []
    full_box = whole_box(rules.features)
    free = (region.box == full_box).all(axis=1)  # there, an interval that wraps can stay as it is
    for bounds, action in zip(rules.bounds.astype(np.float64), rules.actions.tolist(), strict=True):
        if action in region.forbidden:
            continue
        stays = free & (bounds[:, 0] > bounds[:, 1])
        unwrapped = np.where(stays[:, None], full_box, bounds)
        for piece in without_wraps(unwrapped[None], rules.features)[0]:
            overlap = shared(piece, region.box)
            if is_box(overlap):
                choices.append((np.where(stays[:, None], bounds, overlap), action))
                if not stays.any() and holds(piece, region.box):
                    return choices
    return [*choices, (region.box, next(a for a in preferred if a not in region.forbidden))]


def _needed(rules: DecisionList, added: int, boxes: Sequence[Floats]) -> Ints:
    """Return the rules, by number, without those that make no difference beside a shield.

    Args:
        rules: a list whose first rules, `added` of them, are a shield.
        added: their number.
        boxes: the boxes of all constraints: a rule inside one of them may have become needless.
    """
    full_box = whole_box(rules.features)
    wraps = (rules.bounds[..., 0] > rules.bounds[..., 1])[..., None]
    rule_boxes = np.where(wraps, full_box, rules.bounds).astype(np.float64)
    candidates = [r for r in range(added, len(rules)) if any(holds(box, rule_boxes[r]) for box in boxes)]
    remaining = list(range(len(rules)))
    for r in [*reversed(candidates), *reversed(range(added))][:MOST_DROPPED]:
        fewer = [q for q in remaining if q != r]
        lists = rules.subset(remaining), rules.subset(fewer or remaining)
        if fewer and compare(*lists, within=rule_boxes[r], budget=LOOKS_PER_RULE).equal is True:
            remaining = fewer
    return np.array(remaining)
