"""Lossless pruning: fewer and shorter rules that choose exactly the same.

Rules are dropped, two become one, and intervals are widened or trimmed, as long as no action changes anywhere
in the scope (see `ifthen.simulate.scope`). Each step of a draft is proved before it is taken. The strength or
the vote of a rule never changes. Any ruleset can also become a decision list that chooses the same, as short
as the search can make it.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import RuleError
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.box import inside, without_wraps
from ifthen.rules.boxes.list_analysis import compare, order_by_score
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature, lows_and_highs, whole_box
from ifthen.rules.ruleset import RuleSet
from ifthen.simplify.compact import compact_at
from ifthen.simplify.shortest.shortest_list import Effort, shortest_list
from ifthen.simulate.scope import decision_states, listed
from ifthen.tasks.task import Task

Intervals = Literal["short", "tight", "keep"]
Rules = TypeVar("Rules", bound=RuleSet)
BY_REASONING, AT_EVERY_POINT = "proved by exact reasoning over all inputs", "checked at every one"


class Lossless(NamedTuple):
    """The result of lossless pruning."""

    ruleset: RuleSet
    removed: int
    """How many rules were dropped."""
    merged: int
    """How many rules became one with another."""
    proof: str
    """How it is known that no action has changed."""


def lossless(ruleset: RuleSet, task: Task | None = None, intervals: Intervals = "short") -> Lossless:
    """Return a ruleset of the same kind with fewer and shorter rules that chooses the same.

    Args:
        ruleset: the rules.
        task: no action changes in its decision states; without a table, no action changes anywhere.
        intervals: "short" drops conditions and bounds that make no difference and trims the others, which
            gives the shortest words; "tight" trims every condition to the points that the rule decides;
            "keep" leaves conditions as they are.
    """
    original = ruleset
    states = decision_states(ruleset, task) if ruleset.votes else None
    if states is not None:
        ruleset = compact_at(ruleset, states.points)
    draft = draft_of(ruleset, task)
    removed, merged = shorten(draft, widen=intervals == "short")
    if intervals != "keep":
        trim_intervals(draft, edges=intervals == "tight")
    proof = BY_REASONING if draft.points is None else AT_EVERY_POINT
    pruned = draft.rules_left().without_unused_terms()
    return Lossless(pruned, len(original) - len(ruleset) + removed, merged, proof)


def shorten(draft: Draft, widen: bool) -> tuple[int, int]:
    """Drop and merge rules, and widen intervals, until nothing can go; return how many rules did."""
    removed, merged = drop_needless(draft), 0
    while True:
        joined = merge_rules(draft)
        if widen:
            widen_intervals(draft)
        gone = drop_needless(draft)
        removed, merged = removed + gone, merged + joined
        if not joined and not gone:
            return removed, merged


def drop_needless(draft: Draft) -> int:
    """Drop every rule that makes no difference, those that decide least first; return how many went.

    One is always left: a ruleset cannot be empty.
    """
    dropped = 0
    while True:
        order = np.lexsort((-np.arange(len(draft.kept)), draft.decided()))
        gone = sum(draft.attempt({int(r): None}) for r in order if draft.kept[r] and draft.kept.sum() > 1)
        dropped += gone
        if not gone:
            return dropped


def merge_rules(draft: Draft) -> int:
    """Put one rule in the place of two for the same action where nothing changes; return how many went."""
    actions, merged = draft.ruleset.actions, 0
    for i, j in itertools.permutations(np.flatnonzero(draft.kept).tolist(), 2):
        if actions[i] == actions[j] and draft.kept[i] and draft.kept[j]:
            merged += draft.attempt({i: hull_of(draft.bounds[[i, j]], draft.ruleset.features), j: None})
    return merged


def with_condition(rules: Rules, index: Any, bounds: Any) -> Rules:
    """Return the rules with other bounds at an index into `rules.bounds`."""
    changed = rules.bounds.copy()
    changed[index] = bounds
    return rules.with_bounds(changed)


def hull_of(boxes: Box, features: tuple[Feature, ...]) -> Box:
    """Return the smallest box `(features, 2)` around boxes `(n, features, 2)`.

    Where some intervals wrap and others do not, it has the whole range.
    """
    hull = np.stack([boxes[..., 0].min(axis=0), boxes[..., 1].max(axis=0)], axis=1)
    wraps = boxes[..., 0] > boxes[..., 1]
    full_range = wraps.any(axis=0) & ~(wraps.all(axis=0) & (hull[:, 0] > hull[:, 1]))
    return np.where(full_range[:, None], whole_box(features), hull)


def widen_intervals(draft: Draft) -> None:
    """Move bounds to the edges of features where that makes no difference: both ends at once, then each."""
    edges = whole_box(draft.ruleset.features)
    for r in np.flatnonzero(draft.kept).tolist():
        for ends in (slice(0, 2), 0, 1):
            for d in range(len(edges)):
                box = draft.bounds[r].copy()
                box[d, ends] = edges[d, ends]
                if (box != draft.bounds[r]).any():
                    draft.attempt({r: box})


def trim_intervals(draft: Draft, edges: bool) -> None:
    """Move bounds inwards as far as that makes no difference; those at a feature's edge only if `edges`."""
    lows, highs = lows_and_highs(draft.ruleset.features)
    for d, limits in enumerate(zip(lows, highs, strict=True)):
        steps = draft.steps(d)
        for r, end in itertools.product(np.flatnonzero(draft.kept).tolist(), (0, 1)):
            interval = draft.bounds[r, d]
            if edges or interval[end] != limits[end]:
                candidates = steps[(steps >= interval[0]) & (steps <= interval[1]) & (steps != interval[end])]
                _move_far(draft, (r, d, end), candidates[::-1] if end else candidates)


def _move_far(draft: Draft, bound: tuple[int, int, int], values: NDArray[Any]) -> None:
    """Move a bound to the farthest of `values` at which nothing changes; behind one that fails, all do."""
    rule, feature, end = bound

    def fails(value: Any) -> bool:
        box = draft.bounds[rule].copy()
        box[feature, end] = value
        return not draft.attempt({rule: box})

    bisect_left(values, True, key=fails)  # it asks for the middle value again and again


Box = NDArray[Any]
Changes = Mapping[int, Box | None]
"""The new condition of some rules, `(features, 2)`; None where a rule is to go."""
LOOKS_PER_STEP = 200_000  # a step that takes more looks to prove is not taken
MOST_LISTED = 20_000  # points; a list over more is reasoned about box by box
MOST_MATCHES = 20_000_000  # points × rules of the other kinds, which have no boxes to reason about


class Draft:
    """Rules that are being simplified: every change is refused unless all actions stay.

    Args:
        ruleset: the rules; without points a decision list.
        points: where actions must stay, `(n, features)`; None for everywhere, which is proved box by box.
    """

    def __init__(self, ruleset: RuleSet, points: Floats | None = None) -> None:
        self.ruleset, self.bounds, self.points = ruleset, ruleset.bounds.copy(), points
        self.kept = np.ones(len(ruleset), dtype=np.bool_)
        if points is not None:
            self.values = ruleset.with_terms(points)
            self.matching = ruleset.matches(points)
            self.actions, self.deciders = ruleset.decide(self.matching, points)

    def attempt(self, changes: Changes) -> bool:
        """Take the changes if it is proved that no action changes; return whether they were taken."""
        kept, bounds = self.kept.copy(), self.bounds.copy()
        for r, box in changes.items():
            kept[r] = box is not None
            if box is not None:
                bounds[r] = box
        if self.points is None:
            # Only in the smallest box around all boxes that change can anything differ.
            features, changing = self.ruleset.features, [self.bounds[list(changes)], bounds[list(changes)]]
            pieces, _ = without_wraps(np.concatenate(changing), features)
            within = hull_of(pieces, features)
            changed_rules = self.ruleset.with_bounds(bounds).subset(np.flatnonzero(kept))
            unchanged = (
                compare(self.rules_left(), changed_rules, within=within, budget=LOOKS_PER_STEP).equal is True
            )
        else:
            unchanged = self._unchanged_at(self.points, list(changes), kept, bounds)
        if unchanged:
            self.kept, self.bounds = kept, bounds
        return unchanged

    def _unchanged_at(self, points: Floats, rules: list[int], kept: Mask, bounds: Box) -> bool:
        """Ask the rules at every point whose match set changes with `rules`; note it where actions stay."""
        values = self.values[:, None]
        within = inside(bounds[rules], values)
        columns = within.all(axis=2) & kept[rules]
        affected = np.flatnonzero((columns != self.matching[:, rules]).any(axis=1))
        matching = self.matching[affected]
        matching[:, rules] = columns[affected]
        actions, deciders = self.ruleset.decide(matching, points[affected])
        if (actions != self.actions[affected]).any():
            return False
        self.matching[affected], self.deciders[affected] = matching, deciders
        return True

    def decided(self) -> Ints:
        """Return how many points each rule decides, `(rules,)`; zeros where they cannot be counted."""
        deciders = np.empty(0, dtype=np.int64) if self.points is None else self.deciders
        return np.bincount(deciders[deciders >= 0], minlength=len(self.kept))

    def steps(self, feature: int) -> NDArray[Any]:
        """Return the bounds worth trying for a feature, in increasing order: the values of the points."""
        values = self.bounds[:, feature] if self.points is None else self.values[:, feature]
        return np.unique(values).astype(self.bounds.dtype)

    def rules_left(self) -> RuleSet:
        """Return the rules that are left, with the conditions that they have come to."""
        return self.ruleset.with_bounds(self.bounds).subset(np.flatnonzero(self.kept))


def draft_of(ruleset: RuleSet, task: Task | None) -> Draft:
    """Return the rules as a draft that proves every change in its scope."""
    scope = listed(ruleset, task)
    most = MOST_LISTED if ruleset.ordered else MOST_MATCHES // len(ruleset)
    if scope is not None and (scope.unit == "decision state" or len(scope) <= most):
        return Draft(ruleset, scope.points)
    if ruleset.ordered:
        return Draft(ruleset)
    raise RuleError(
        f"{ruleset!r} compares numbers that change from point to point, and its observations are too many to "
        "look at. Give the task whose states matter."
    )


def list_by_score(ruleset: RuleSet) -> DecisionList | None:
    """Return rules that compare scores as a decision list that chooses the same everywhere.

    None where there is no such list of the same rules: which rule is stronger then depends on the point.
    """
    order = order_by_score(ruleset)
    return None if order is None else as_list(ruleset.subset(order))


def as_list(ruleset: RuleSet) -> DecisionList:
    """Return the same conditions and actions in the same order as a decision list."""
    return DecisionList(ruleset.bounds, ruleset.actions, ruleset.features, ruleset.action_names)


def decision_list_of(
    ruleset: RuleSet, task: Task | None = None, effort: Effort = "quick"
) -> tuple[DecisionList, str]:
    """Return a decision list that chooses the same, and a sentence on its length.

    Args:
        ruleset: rules of any kind.
        task: the list chooses the same in its decision states; without a table, it does so everywhere.
        effort: how long to search, where the points can be listed.
    """
    scope = listed(ruleset, task)
    if scope is None:
        ruleset = list_by_score(ruleset) or ruleset
    shortened = as_list(lossless(ruleset, task).ruleset) if ruleset.ordered else None
    if scope is None or len(scope) > MOST_LISTED:
        if shortened is not None:
            return shortened, "Whether fewer would do is not known."
        raise RuleError(
            f"{ruleset!r} cannot be made a decision list everywhere: its observations are too many to list. "
            "Give the task whose states matter."
        )
    if (scope.actions < 0).all():
        raise RuleError(f"no rule of {ruleset!r} matches anywhere that matters: there is nothing to convert.")
    allowed = scope.actions[:, None] == np.arange(len(ruleset.action_names))
    names = ruleset.observed_features, ruleset.action_names
    shortest = shortest_list(scope.points, allowed, *names, effort=effort)
    if shortened is not None and len(shortened) < len(shortest.rules):
        if shortened.terms:  # what is known of lists is known of those without terms
            return shortened, "Whether fewer would do is not known."
        shortest = replace(shortest, rules=shortened)
    return shortest.rules, shortest.how
