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
from ifthen.rules.boxes.list_analysis import Difference, compare, over, over_the_same_terms, with_terms_of
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
    own, where = over_the_same_terms(rules, constraint.where)
    whole = whole_box(own.features)[None]
    bounds = np.concatenate([own.bounds, whole])
    done = np.append(own.actions == constraint.action, False).astype(np.int32)
    wanted = np.full(len(where), not constraint.never, dtype=np.int32)
    as_is = DecisionList(bounds, done, own.features, ("not done", "done"))
    as_wanted = DecisionList(
        np.concatenate([where.bounds, bounds]), np.append(wanted, done), own.features, as_is.action_names
    )
    return compare(as_is, as_wanted, budget=budget)


def deciding_rules(rules: RuleSet, constraint: Constraint) -> int:
    """Return how many rules at the top keep a constraint by themselves, as a reader sees at once; 0 for none.

    The last of them matches wherever the constraint speaks, and none of them breaks it.
    """
    own, _ = over_the_same_terms(rules, constraint.where)
    boxes = _boxes(constraint, own.features)
    for r, (box, action) in enumerate(zip(own.bounds.astype(np.float64), own.actions.tolist(), strict=True)):
        if (action == constraint.action) is constraint.never:
            return 0
        if all(holds(box, each) for each in boxes):
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
    own = [each for each in _boxes_of(constraints, features, True) if not _is_empty(each[1], features)]
    found = {box.tobytes(): box for _, box in own}
    waiting = list(found.values())
    while waiting:
        box = waiting.pop()
        for _, other in own:
            both = shared(box, other)
            if is_box(both) and both.tobytes() not in found and not _is_empty(both, features):
                found[both.tobytes()] = both
                waiting.append(both)
        _check_number(len(found))
    regions = []
    for box in found.values():
        around = [each for each, other in own if holds(other, box)]
        texts = tuple(dict.fromkeys(each.text for each in around))
        regions.append((-len(around), ForbiddenRegion(box, frozenset(each.action for each in around), texts)))
    return [region for _, region in sorted(regions, key=lambda pair: pair[0])]


def _boxes_of(
    constraints: Sequence[Constraint], features: Sequence[Feature], never: bool
) -> list[tuple[Constraint, Floats]]:
    """Return the boxes of all constraints that forbid, or of all that require, each with its constraint."""
    _check_number(sum(len(each.where) for each in constraints))
    return [(each, box) for each in constraints if each.never is never for box in _boxes(each, features)]


def _check_number(boxes: int) -> None:
    """Raise where constraints speak of too many boxes: what they take grows with the square of these."""
    if boxes > MOST_REGIONS:
        raise ParameterError(
            f"the requirements speak of more than {MOST_REGIONS} boxes: give fewer or simpler ones."
        )


def _boxes(constraint: Constraint, features: Sequence[Feature]) -> Floats:
    """Return the boxes of a constraint over all features, `(n, features, 2)`, without wraps."""
    bounds = over(constraint.where, tuple(features)).bounds.astype(np.float64)
    return without_wraps(bounds, tuple(features))[0]


def check_together(
    constraints: Sequence[Constraint], features: Sequence[Feature], actions: Sequence[str]
) -> None:
    """Raise where constraints contradict each other, with a point at which they do."""
    every = with_terms_of(features, *(each.where for each in constraints))
    always = _boxes_of(constraints, every, False)
    regions = regions_of(constraints, every)
    for n, (each, box) in enumerate(always):
        for other, second in always[:n]:
            if other.action != each.action:
                _refuse(shared(box, second), every, (other.text, each.text))
        for region in regions:
            if each.action in region.forbidden:
                _refuse(shared(box, region.box), every, (each.text, *region.texts))
    for region in regions:
        if len(region.forbidden) == len(actions):
            _refuse(region.box, every, region.texts)


def _refuse(box: Floats, features: tuple[Feature, ...], texts: Sequence[str]) -> None:
    """Raise that requirements contradict each other in a box, if there is any observation in it."""
    found = _point_in(box, features) if is_box(box) else "empty"
    if found == "empty":
        return
    where = "where sums of features only just meet, as rounding decides there"
    if not isinstance(found, str):
        observed = features[: len(found)]
        values = {
            feature.name: feature.value_in_words(value)
            for feature, value in zip(observed, found, strict=True)
        }
        where = f"at {values_in_words(values)}"
    told = " and ".join(f"{text!r}" for text in dict.fromkeys(texts))
    if len(set(texts)) == 1:
        raise ParameterError(f"{told} leaves no action {where}.")
    raise ParameterError(f"{told} contradict each other {where}: no action is left. Change one of them.")


def _is_empty(box: Floats, features: Sequence[Feature]) -> bool:
    """Return whether a box `(features, 2)` is proven to hold no observation, by its sums of features."""
    own = tuple(features)
    return any(feature.is_term for feature in own) and _point_in(box, own) == "empty"


def asks_for_nothing(constraint: Constraint) -> bool:
    """Return whether it is proven that no observation lies in the region of a constraint."""
    where = constraint.where
    return all(_is_empty(box, where.features) for box in _boxes(constraint, where.features))


def _point_in(box: Floats, features: tuple[Feature, ...]) -> Point | str:
    """Return an observation in a box `(features, 2)`, or "empty" or "unknown"."""
    space = RankSpace(features, box[None])
    ranks = space.ranks(box[None])[0]
    found = space.observation(ranks) if len(space.terms) else None
    return found if isinstance(found, str) else space.witness(ranks)


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
    given = DecisionList(rules.bounds, rules.actions, rules.features, rules.action_names)
    if all(breach(given, each).equal is True for each in constraints):
        return Shielded(given, 0)
    full, added = with_shield(given, constraints, default_action)
    if not added:
        return Shielded(given, 0)
    kept = _needed(full, added, [box for each in constraints for box in _boxes(each, full.features)])
    return Shielded(full.subset(kept).without_unused_terms(), int((kept < added).sum()))


def with_shield(
    given: RuleSet, constraints: Sequence[Constraint], default_action: int | None = None
) -> Shielded:
    """Return a list with all rules of a shield on top, also needless ones; see `shielded`."""
    features = with_terms_of(given.features, *(each.where for each in constraints))
    base = over(given, features)
    preferred = [] if default_action is None else [default_action]
    preferred += [*base.actions[::-1].tolist(), *range(len(base.action_names))]
    added: list[tuple[Floats, int]] = []
    for each in constraints:
        if not each.never:
            added += [(box, each.action) for box in over(each.where, features).bounds.astype(np.float64)]
    for region in regions_of(constraints, features):
        added += _next_choices(base, region, preferred)
    bounds = np.concatenate([*(box[None] for box, _ in added), base.bounds])
    actions = np.append(np.array([action for _, action in added], dtype=np.int32), base.actions)
    return Shielded(DecisionList(bounds, actions, features, base.action_names), len(added))


def leading(rules: RuleSet, constraints: Sequence[Constraint]) -> int:
    """Return how many rules at the top of a list speak only of regions of constraints."""
    features = with_terms_of(rules.features, *(each.where for each in constraints))
    boxes = [box for each in constraints for box in over(each.where, features).bounds.astype(np.float64)]
    number = 0
    for own in over(rules, features).bounds.astype(np.float64):
        if not any(holds(box, own) or (box == own).all() for box in boxes):
            break
        number += 1
    return number


def _next_choices(
    rules: RuleSet, region: ForbiddenRegion, preferred: Sequence[int]
) -> list[tuple[Floats, int]]:
    """Return rules that say in a region what the list says first of all that is not forbidden there."""
    found: list[tuple[Floats, int]] = []
    whole = whole_box(rules.features)
    free = (region.box == whole).all(axis=1)  # there, an interval that wraps can stay as it is
    for bounds, action in zip(rules.bounds.astype(np.float64), rules.actions.tolist(), strict=True):
        if action in region.forbidden:
            continue
        stays = free & (bounds[:, 0] > bounds[:, 1])
        plain = np.where(stays[:, None], whole, bounds)
        for part in without_wraps(plain[None], rules.features)[0]:
            both = shared(part, region.box)
            if is_box(both):
                found.append((np.where(stays[:, None], bounds, both), action))
                if not stays.any() and holds(part, region.box):
                    return found
    return [*found, (region.box, next(a for a in preferred if a not in region.forbidden))]


def _needed(rules: DecisionList, added: int, boxes: Sequence[Floats]) -> Ints:
    """Return the rules, by number, without those that make no difference beside a shield.

    Args:
        rules: a list whose first rules, `added` of them, are a shield.
        added: their number.
        boxes: the boxes of all constraints: a rule inside one of them may have become needless.
    """
    whole = whole_box(rules.features)
    wraps = (rules.bounds[..., 0] > rules.bounds[..., 1])[..., None]
    around = np.where(wraps, whole, rules.bounds).astype(np.float64)
    inside = [r for r in range(added, len(rules)) if any(holds(box, around[r]) for box in boxes)]
    kept = list(range(len(rules)))
    for r in [*reversed(inside), *reversed(range(added))][:MOST_DROPPED]:
        fewer = [q for q in kept if q != r]
        both = rules.subset(kept), rules.subset(fewer or kept)
        if fewer and compare(*both, within=around[r], budget=LOOKS_PER_RULE).equal is True:
            kept = fewer
    return np.array(kept)
