"""Counterfactuals: the nearest state in which another action is chosen.

Distance is the sum over features of |change| / (high − low) of the feature, cyclic ones included, which are
not gone round. Among states at the same distance the one that changes fewer features is nearest, then the one
whose values come first in lexicographic order. Distances are compared as fractions, so that a tie is a tie.

Where the states can be listed, all are looked at. Elsewhere decision lists can be
answered, over real features too. A list chooses another action than a in each box of another action, less
the earlier boxes of action a. The nearest point of a box is unique; where an earlier box holds it, the box is
cut into the pieces around that one, and the piece with the nearest point is looked at next.

Other rules over such spaces compare numbers that change from point to point, and conditions on terms have
slanted borders. There changes of one feature alone are looked at: what is found changes the action, but
something nearer may too. Something can change where an interval of a rule begins or ends, of a feature or of
a term, and just beyond. Between, rules can change places too, so that values the same distance apart are
tried as well.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats
from ifthen.rules.box import inside, pieces_around
from ifthen.rules.feature import Feature, whole_box
from ifthen.rules.ruleset import NULL_ACTION, RuleSet
from ifthen.rules.term import coefficients
from ifthen.simulate.scope import Number, Scope, choose_at, values_by_name

LISTED = 200_000
"""The vectors of a space are listed up to this number."""
BUDGET = 50_000
"""How many boxes the search looks at before it gives up: a few seconds."""
SAME = "every state gets the same answer"
ALONE = "only one feature was changed at a time, so a nearer change may exist"
NONE_ALONE = "no change of one feature alone was found that does; others were not looked at"
"""The sentence for a search that is not exact."""
DECIMALS = 10_000
STEPS = 200
"""This many values of every feature are tried, at equal distances."""
TRIED = 2000
"""At most this many values of a feature are tried, the nearest ones."""
DIGITS = 6
NEAR = 1e-9  # relative: floats so near to each other are compared as fractions


@dataclass(frozen=True)
class Counterfactual:
    """The nearest state in which another action is chosen.

    Args:
        observation: its value of every feature.
        changes: the features that differ: name → (from, to).
        action: the action chosen there; None where no rule matches.
        rule: the rule that decides there, from 0.
        words: that rule in words; "" where none decides.
        distance: the sum over features of |change| / (high − low).
    """

    observation: dict[str, Number]
    changes: dict[str, tuple[Number, Number]]
    action: str | None
    rule: int | None
    words: str
    distance: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        changes = {name: {"from": before, "to": after} for name, (before, after) in self.changes.items()}
        return {**vars(self), "observation": dict(self.observation), "changes": changes}


def distance(features: Sequence[Feature], a: Sequence[float], b: Sequence[float]) -> Fraction:
    """Return the distance of two points, exactly."""
    terms = (
        abs(Fraction(y) - Fraction(x)) / (Fraction(f.high) - Fraction(f.low))
        for f, x, y in zip(features, a, b, strict=True)
        if x != y
    )
    return sum(terms, Fraction(0))


Rank = tuple[Fraction, int, tuple[float, ...]]


def rank(features: Sequence[Feature], start: Sequence[float], point: Sequence[float]) -> Rank:
    """Return what points are ordered by: distance, number of features changed, values."""
    changed = sum(x != y for x, y in zip(start, point, strict=True))
    return distance(features, start, point), changed, tuple(point)


def counterfactual(
    ruleset: RuleSet, start: Sequence[float], action: int, states: Scope | None, name: str = "states"
) -> tuple[Counterfactual | None, str]:
    """Return the nearest state with another action than `action`, and why there is none, or perhaps a nearer.

    Args:
        ruleset: the rules.
        start: the observation, `(features,)`.
        action: what is chosen there, −1 for none.
        states: the states to look at; None where they cannot be listed.
        name: the states in words.
    """
    if states is not None:
        point, note = nearest_listed(start, action, states), f"all {name} get the same answer"
    elif ruleset.ordered and not ruleset.terms:
        point, note = nearest_in_list(ruleset, start, action)
    else:
        point, note = nearest_alone(ruleset, start, action), NONE_ALONE
        if point is not None:
            return described(ruleset, start, point), ALONE
    return (None, note) if point is None else (described(ruleset, start, point), "")


def described(ruleset: RuleSet, start: Sequence[float], point: Sequence[float]) -> Counterfactual:
    """Return a point with what is chosen there and what differs from `start`."""
    actions, deciders = ruleset.choose(np.array([point]))
    before, after = (values_by_name(ruleset.observed_features, values) for values in (start, point))
    return Counterfactual(
        observation=after,
        changes={name: (before[name], after[name]) for name in after if before[name] != after[name]},
        action=None if actions[0] == NULL_ACTION else ruleset.action_names[actions[0]],
        rule=None if actions[0] == NULL_ACTION else int(deciders[0]),
        words="" if actions[0] == NULL_ACTION else ruleset.rule_in_words(int(deciders[0])),
        distance=float(distance(ruleset.observed_features, start, point)),
    )


def nearest_listed(start: Sequence[float], action: int, states: Scope) -> list[float] | None:
    """Return the nearest of the states whose action differs, None where all have this one."""
    features, points = states.ruleset.observed_features, states.points[states.actions != action]
    if not len(points):
        return None
    spans = np.array([float(f.high) - float(f.low) or 1.0 for f in features])
    distances = (np.abs(points - np.asarray(start)) / spans).sum(axis=1)
    candidates: list[list[float]] = points[distances <= distances.min() * (1 + NEAR)].tolist()
    return min(candidates, key=lambda point: rank(features, start, point))


def nearest_in_list(
    rules: RuleSet, start: Sequence[float], action: int, budget: int = BUDGET
) -> tuple[list[float] | None, str]:
    """Return the nearest point where a decision list chooses another action; None, and why, if none is known.

    Args:
        rules: the list.
        start: the observation, `(features,)`.
        action: what is chosen there, −1 for none.
        budget: boxes to look at before giving up.
    """
    space = whole_box(rules.features).astype(np.float64)
    spans = np.where(space[:, 0] < space[:, 1], space[:, 1] - space[:, 0], 1.0)
    # No rule matching is as if one more rule, with no action, matched everything.
    unwrapped, _ = rules.unwrapped()
    boxes = np.concatenate([unwrapped.bounds.astype(np.float64), space[None]])
    actions = np.append(unwrapped.actions, NULL_ACTION)
    serial, origin = itertools.count(), np.asarray(start, dtype=np.float64)
    heap: list[tuple[Rank, int, int, Floats]] = []

    def push(box: Floats, r: int) -> None:
        point = np.clip(origin, box[:, 0], box[:, 1]).tolist()
        heapq.heappush(heap, (rank(rules.features, start, point), next(serial), r, box))

    for r in np.flatnonzero(actions != action).tolist():
        push(boxes[r], r)
    for _ in range(budget):
        if not heap:
            return None, SAME
        (_, _, point), _, r, box = heapq.heappop(heap)
        position = np.array(point)
        earlier = boxes[:r][actions[:r] == action]
        earlier = earlier[((earlier[:, :, 0] <= position) & (position <= earlier[:, :, 1])).all(axis=1)]
        if not len(earlier):
            return list(point), ""
        for piece in pieces_around(hardest_to_leave(earlier, box, position, spans), box, rules.features):
            push(piece, r)
    if not heap:
        return None, SAME
    lower_bound = int(heap[0][0][0] * DECIMALS) / DECIMALS  # rounded down: what is said must hold
    return None, f"given up after {budget:,} boxes: no state nearer than {lower_bound:g} changes the action"


def hardest_to_leave(boxes: Floats, cell: Floats, position: Floats, spans: Floats) -> Floats:
    """Return the one of some boxes that one has to go furthest from `at`, within a cell, to get out of."""
    down = np.where(boxes[:, :, 0] > cell[:, 0], (position - boxes[:, :, 0]) / spans, np.inf)
    up = np.where(boxes[:, :, 1] < cell[:, 1], (boxes[:, :, 1] - position) / spans, np.inf)
    hardest: Floats = boxes[np.minimum(down, up).min(axis=1).argmax()]
    return hardest


def nearest_alone(ruleset: RuleSet, start: Sequence[float], action: int) -> list[float] | None:
    """Return the nearest point found that differs in one feature and in its action; None where none was.

    Args:
        ruleset: the rules.
        start: the observation, `(features,)`.
        action: what is chosen there, −1 for none.
    """
    origin, candidates = np.asarray(start, dtype=np.float64), []
    with_terms, slopes = ruleset.with_terms(origin[None])[0], coefficients(ruleset.features)
    holds = inside(ruleset.bounds, with_terms)
    for d, feature in enumerate(ruleset.observed_features):
        moved = [d, *(len(origin) + np.flatnonzero(slopes[:, d]))]
        reachable = np.delete(holds, moved, axis=1).all(axis=1)  # rules that a change of d alone can reach
        values = tried_values(feature, ruleset.bounds[reachable, d])
        for t in moved[1:]:
            crossings = (ruleset.bounds[reachable, t] - with_terms[t]) / slopes[t - len(origin), d] + origin[
                d
            ]
            values = np.union1d(values, values_around(feature, crossings))
        order = np.argsort(np.abs(values - origin[d]), kind="stable")[:TRIED]
        points = np.tile(origin, (len(order), 1))
        points[:, d] = values[order]
        differs = np.flatnonzero(choose_at(ruleset, points)[0] != action)
        if len(differs):
            point = points[differs[0]]
            candidates.append((abs(point[d] - origin[d]) / (feature.high - feature.low), d, point.tolist()))
    return min(candidates)[2] if candidates else None


def values_around(feature: Feature, crossings: Floats) -> Floats:
    """Return the values of a feature nearest to those at which a term reaches the end of an interval.

    Where exactly it does is a matter of rounding: the neighbours on both sides are tried.
    """
    middle = np.unique(crossings)
    if feature.is_integer:
        values = (np.floor(middle)[:, None] + np.arange(-1, 3)).ravel()
    else:
        offsets = max(abs(feature.low), abs(feature.high)) * np.array([0, 1e-16, 1e-15, 1e-13, 1e-10])
        values = (middle[:, None] + np.concatenate([offsets, -offsets])).ravel()
    return np.unique(values[(feature.low <= values) & (values <= feature.high)])


def tried_values(feature: Feature, ends: NDArray[np.generic]) -> Floats:
    """Return the values of a feature to try, ascending: `(n,)`, given the ends `(rules, 2)` of intervals."""
    bounds = np.unique(ends.astype(np.float64))
    steps = np.linspace(feature.low, feature.high, STEPS + 1)
    if feature.is_integer:
        values = np.concatenate([bounds, bounds - 1, bounds + 1, np.rint(steps)])
    else:
        beyond = np.nextafter(bounds, -np.inf), np.nextafter(bounds, np.inf)
        values = np.concatenate([bounds, *beyond, [float(f"{step:.{DIGITS}g}") for step in steps]])
    return np.unique(values[(feature.low <= values) & (values <= feature.high)])
