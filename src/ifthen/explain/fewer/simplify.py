"""Fewer and shorter rules that choose exactly the same.

Rules are dropped, two are made one, and intervals are widened or trimmed, as long as no action changes
anywhere in the domain (see `ifthen.explain.domain`). Each step is proved before it is taken: where the domain
can be listed, by asking the rules at every point that the step touches; for decision lists over real features
by exact reasoning about boxes. What a rule has learnt (its strength, its vote) is never changed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ifthen.checks import one_of
from ifthen.errors import RuleError
from ifthen.explain.domain import AnyTask, points_of, ruleset_of, table_of, where_in_words
from ifthen.explain.fewer.by_strength import list_by_strength
from ifthen.explain.fewer.compact import compact
from ifthen.explain.fewer.drafts import MOST_LISTED, Draft, draft_of, rules_left
from ifthen.explain.shortest import Effort, shortest_list
from ifthen.inference.decision_list import DecisionList
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.inference.strength import StrengthRules
from ifthen.rules.features import lows_and_highs
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

Intervals = Literal["short", "tight", "keep"]


@dataclass(frozen=True)
class Simplified:
    """A ruleset that chooses the same with less.

    Args:
        ruleset: the simpler rules.
        before: how many rules there were.
        removed: how many were dropped.
        merged: how many were made one with another.
        where: the domain in which no action has changed.
        proof: how that is known.
    """

    ruleset: RuleSet
    before: int
    removed: int
    merged: int
    where: str
    proof: str

    def __str__(self) -> str:
        return (
            f"{self.before} rules became {len(self.ruleset)}: {self.removed} removed, {self.merged} merged. "
            f"The same is done at {self.where} ({self.proof})."
        )


def simplify(policy: Any, task: AnyTask | None = None, intervals: Intervals = "short") -> Simplified:
    """Return a ruleset of the same kind with fewer and shorter rules that chooses the same.

    Args:
        policy: a ruleset of any kind, or a trained system.
        task: its decision states are where nothing may change; without one, and in an environment, nothing
            changes anywhere.
        intervals: "short" drops conditions and bounds that make no difference and trims the others, which
            gives the shortest words; "tight" trims every condition to what the rule decides; "keep" leaves
            them as they are.
    """
    one_of("intervals", intervals, get_args(Intervals))
    ruleset = ruleset_of(policy)
    before = len(ruleset)
    table = table_of(ruleset, task)
    if isinstance(ruleset, PredictionArrayRules) and table is not None:
        ruleset = compacted(ruleset, table)
    draft = draft_of(ruleset, task)
    removed, merged = before - len(ruleset) + drop_needless(draft), 0
    while True:
        joined = merge_rules(draft)
        if intervals == "short":
            widen_intervals(draft)
        gone = drop_needless(draft)
        removed, merged = removed + gone, merged + joined
        if not joined and not gone:
            break
    if intervals != "keep":
        trim_intervals(draft, edges=intervals == "tight")
    return Simplified(rules_left(draft), before, removed, merged, where_in_words(ruleset, task), draft.proof)


def compacted(ruleset: PredictionArrayRules, task: TabularTask) -> PredictionArrayRules:
    """Return the rules of an XCSF that are needed, which a kernel finds quickly among thousands."""
    matched = ruleset.matches(task.dynamics.points).any()
    return compact(ruleset, task) if matched else ruleset


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
            pair = draft.bounds[[i, j]]
            hull = np.stack([pair[..., 0].min(axis=0), pair[..., 1].max(axis=0)], axis=1)
            merged += draft.attempt({i: hull, j: None})
    return merged


def widen_intervals(draft: Draft) -> None:
    """Move bounds to the edges of features where that makes no difference: both ends at once, then each."""
    lows, highs = lows_and_highs(draft.ruleset.features)
    edges = np.stack([lows, highs], axis=1)
    for r in np.flatnonzero(draft.kept).tolist():
        for ends in (slice(0, 2), 0, 1):
            for d in range(len(lows)):
                box = draft.bounds[r].copy()
                box[d, ends] = edges[d, ends]
                if (box != draft.bounds[r]).any():
                    draft.attempt({r: box})


def trim_intervals(draft: Draft, edges: bool) -> None:
    """Move bounds inwards as far as that makes no difference; those at a feature's edge only if `edges`."""
    lows, highs = lows_and_highs(draft.ruleset.features)
    for d, (low, high) in enumerate(zip(lows, highs, strict=True)):
        steps = draft.steps(d)
        for r in np.flatnonzero(draft.kept).tolist():
            if edges or draft.bounds[r, d, 0] != low:
                inner = steps[(steps > draft.bounds[r, d, 0]) & (steps <= draft.bounds[r, d, 1])]
                _move_far(draft, r, d, 0, inner)
            if edges or draft.bounds[r, d, 1] != high:
                inner = steps[(steps < draft.bounds[r, d, 1]) & (steps >= draft.bounds[r, d, 0])]
                _move_far(draft, r, d, 1, inner[::-1])


def _move_far(draft: Draft, rule: int, feature: int, end: int, values: NDArray[Any]) -> None:
    """Move a bound to the farthest of `values` at which nothing changes; behind one that fails, all do."""
    first, last = 0, len(values)
    while first < last:
        middle = (first + last) // 2
        box = draft.bounds[rule].copy()
        box[feature, end] = values[middle]
        if draft.attempt({rule: box}):
            first = middle + 1
        else:
            last = middle


def as_decision_list(policy: Any, task: AnyTask | None = None, effort: Effort = "quick") -> DecisionList:
    """Return a decision list that chooses the same, as short as the search can make it.

    Args:
        policy: a ruleset of any kind, or a trained system.
        task: its decision states are where the list chooses the same; without one, and in an environment, it
            does so everywhere.
        effort: how long to search, where the domain can be listed.
    """
    return equivalent_list(policy, task, effort)[0]


def equivalent_list(
    policy: Any, task: AnyTask | None = None, effort: Effort = "quick"
) -> tuple[DecisionList, str]:
    """Return what `as_decision_list` does, and what is known of its length, in words."""
    ruleset = ruleset_of(policy)
    points = points_of(ruleset, task)
    if points is None and isinstance(ruleset, StrengthRules):
        ruleset = list_by_strength(ruleset) or ruleset
    shortened = simplify(ruleset, task).ruleset if isinstance(ruleset, DecisionList) else None
    if points is None or len(points) > MOST_LISTED:
        if isinstance(shortened, DecisionList):
            return shortened, "Whether fewer would do is not known."
        todo = "" if isinstance(task, EnvTask) else " Give the task whose states matter."
        raise RuleError(
            f"{ruleset!r} cannot be made a decision list everywhere: its observations are too many to list."
            f"{todo}"
        )
    actions, _ = ruleset.choose(points)
    if (actions < 0).all():
        raise RuleError(f"no rule of {ruleset!r} matches anywhere that matters: there is nothing to convert.")
    allowed = actions[:, None] == np.arange(len(ruleset.action_names))
    found = shortest_list(points, allowed, ruleset.features, ruleset.action_names, effort=effort)
    if isinstance(shortened, DecisionList) and len(shortened) < len(found.rules):
        found = replace(found, rules=shortened)
    return found.rules, found.how
