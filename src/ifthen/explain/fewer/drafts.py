"""Drafts: rules that are being simplified, where every change is proved before it is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import RuleError
from ifthen.explain.boxes import compare
from ifthen.explain.domain import AnyTask, points_of
from ifthen.inference.decision_list import DecisionList
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

Box = NDArray[Any]
Changes = Mapping[int, Box | None]
"""The new condition of some rules, `(features, 2)`; None where a rule is to go."""
LOOKS_PER_STEP = 200_000  # a step that takes more to prove is not worth its while
MOST_LISTED = 20_000  # points; a list over more is reasoned about box by box
MOST_MATCHES = 20_000_000  # points × rules of the other kinds, which have no boxes to reason about


class Draft(Protocol):
    """Rules that are being simplified: every change is refused unless all actions stay."""

    ruleset: RuleSet
    bounds: NDArray[Any]
    kept: NDArray[np.bool_]
    proof: str

    def attempt(self, changes: Changes) -> bool:
        """Take the changes if no action changes; return whether they were taken."""

    def decided(self) -> NDArray[np.int64]:
        """Return how many points each rule decides, `(rules,)`, where they can be counted; else zeros."""

    def steps(self, feature: int) -> NDArray[Any]:
        """Return the bounds worth trying for a feature, in increasing order."""


def draft_of(ruleset: RuleSet, task: AnyTask | None) -> Draft:
    """Return the rules as a draft that proves every change in the domain."""
    points, listed = points_of(ruleset, task), isinstance(ruleset, DecisionList)
    most = MOST_LISTED if listed else MOST_MATCHES // len(ruleset)
    if points is not None and (isinstance(task, TabularTask) or len(points) <= most):
        return ListedDraft(ruleset, points)
    if isinstance(ruleset, DecisionList):
        return BoxDraft(ruleset)
    todo = (
        "prune_by_playing looks at those met"
        if isinstance(task, EnvTask)
        else "give the task whose states matter"
    )
    raise RuleError(
        f"{ruleset!r} weighs its rules anew at every point, and its observations are too many to look at: "
        f"{todo}."
    )


def rules_left(draft: Draft) -> RuleSet:
    """Return the rules that are left, with the conditions that they have come to."""
    return draft.ruleset.with_bounds(draft.bounds).subset(np.flatnonzero(draft.kept))


class ListedDraft:
    """Rules over points that can be listed.

    Args:
        ruleset: the rules.
        points: where actions must stay, `(n, features)`.
    """

    proof = "checked at every one"

    def __init__(self, ruleset: RuleSet, points: NDArray[np.float64]) -> None:
        self.ruleset, self.points = ruleset, points
        self.bounds, self.kept = ruleset.bounds.copy(), np.ones(len(ruleset), dtype=np.bool_)
        self.matching = ruleset.matches(points)
        self.actions, self.deciders = ruleset.decide(self.matching, points)

    def attempt(self, changes: Changes) -> bool:
        """Take the changes if the rules choose the same at every point whose match set changes."""
        columns = {r: self._matched(box) for r, box in changes.items()}
        touched = np.zeros(len(self.points), dtype=np.bool_)
        for r, column in columns.items():
            touched |= column != self.matching[:, r]
        at = np.flatnonzero(touched)
        matching = self.matching[at]
        for r, column in columns.items():
            matching[:, r] = column[at]
        actions, deciders = self.ruleset.decide(matching, self.points[at])
        if (actions != self.actions[at]).any():
            return False
        self.matching[at], self.deciders[at] = matching, deciders
        _take(self, changes)
        return True

    def _matched(self, box: Box | None) -> NDArray[np.bool_]:
        """Return which points a condition matches, `(n,)`; none where there is no condition."""
        if box is None:
            return np.zeros(len(self.points), dtype=np.bool_)
        within = (box[:, 0] <= self.points) & (self.points <= box[:, 1])
        inside: NDArray[np.bool_] = np.logical_and.reduce(within, axis=1)
        return inside

    def decided(self) -> NDArray[np.int64]:
        """Return how many points each rule decides."""
        return np.bincount(self.deciders[self.deciders >= 0], minlength=len(self.kept))

    def steps(self, feature: int) -> NDArray[Any]:
        """Return the values that the points have."""
        return np.unique(self.points[:, feature]).astype(self.bounds.dtype)


class BoxDraft:
    """A decision list over a space whose points cannot be listed.

    Args:
        ruleset: the list.
    """

    proof = "proved box by box"

    def __init__(self, ruleset: DecisionList) -> None:
        self.ruleset: RuleSet = ruleset
        self.bounds, self.kept = ruleset.bounds.copy(), np.ones(len(ruleset), dtype=np.bool_)

    def attempt(self, changes: Changes) -> bool:
        """Take the changes if the list is proved to do the same in all boxes that they touch."""
        kept, bounds = self.kept.copy(), self.bounds.copy()
        for r, box in changes.items():
            kept[r] = box is not None
            if box is not None:
                bounds[r] = box
        touched = np.concatenate([self.bounds[list(changes)], bounds[list(changes)]])
        hull = np.stack([touched[..., 0].min(axis=0), touched[..., 1].max(axis=0)], axis=1)
        before, after = self._list(self.bounds, self.kept), self._list(bounds, kept)
        if not compare(before, after, within=hull, budget=LOOKS_PER_STEP).equal:
            return False
        _take(self, changes)
        return True

    def _list(self, bounds: NDArray[Any], kept: NDArray[np.bool_]) -> DecisionList:
        """Return the list that some conditions and rules make."""
        names = self.ruleset.features, self.ruleset.action_names
        return DecisionList(bounds[kept], self.ruleset.actions[kept], *names)

    def decided(self) -> NDArray[np.int64]:
        """Return zeros: points cannot be counted."""
        return np.zeros(len(self.kept), dtype=np.int64)

    def steps(self, feature: int) -> NDArray[Any]:
        """Return the bounds that the rules have."""
        return np.unique(self.bounds[:, feature])


def _take(draft: Draft, changes: Changes) -> None:
    """Write changes that were proved into a draft."""
    for r, box in changes.items():
        draft.kept[r] = box is not None
        if box is not None:
            draft.bounds[r] = box
