"""Is every state covered by a rule? Coverage gaps are described as boxes, each with a point in it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ifthen.digits import plural
from ifthen.rules.arrays import Ints
from ifthen.rules.boxes.cover import coverage, widen
from ifthen.rules.boxes.feasible import by_rounding
from ifthen.rules.boxes.rank_space import RankSpace, box_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import Scope, values_by_name
from ifthen.verification.case import Case
from ifthen.verification.findings import Finding, Result, share_in_words, some_of, vector_in_words
from ifthen.verification.graph import Model

GAPS = 20
"""The largest number of gaps that are described one by one."""
COUNTABLE = 2**53  # floats count exactly up to here


def complete(case: Case) -> Result:
    """No state is without a rule."""
    # Observations that no rule matches are looked for by reasoning about boxes.
    ruleset = case.ruleset
    cover = coverage(ruleset.bounds, ruleset.features, budget=case.budget, limit=GAPS)
    undecided = share_in_words(1 - cover.decided_share)
    caveat = f"; the search gave up with {undecided} of the space not looked at" if cover.gave_up else ""
    caveat = f"; {by_rounding(cover.unsure)}" if cover.unsure else caveat
    if not cover.holes:
        why = f"no observation without a rule was found{caveat}" if caveat else "every observation has a rule"
        return Result(cover.complete, why)
    are_integer = all(feature.is_integer for feature in ruleset.features)
    size = math.prod(feature.width for feature in ruleset.features) if are_integer else 0
    counted = 0 < size <= COUNTABLE and not cover.gave_up
    amount = round(cover.uncovered_share * size) if counted else cover.uncovered_share
    gaps: list[dict[str, Any]] = []
    for hole in cover.holes:
        witness = values_by_name(ruleset.observed_features, hole.witness)
        gaps.append(
            {"box": box_in_words(hole.box, ruleset.features), "witness": witness, "share": hole.share}
        )
    total = size if counted else 1.0
    data = {"amount": amount, "total": total, "decided_share": cover.decided_share, "holes": gaps}
    about = "about " if ruleset.terms else ""  # its share is estimated
    amount_words = (
        plural(int(amount), "feature vector") if counted else f"{about}{share_in_words(amount)} of the space"
    )
    if not amount:
        amount_words = (
            "a part too small to measure" if ruleset.terms else "an edge of the space without volume"
        )
    verb = "have" if counted and amount != 1 else "has"
    why = f"{'at least ' if cover.gave_up else ''}{amount_words} {verb} no rule{caveat}"
    return Result(False, why, (_finding(ruleset, data, len(gaps)),))


def complete_in_task(case: Case) -> Result:
    """Look for decision states that no rule matches, and whether an episode can meet one."""
    model = case.model
    scope, missing = model.scope, np.flatnonzero(model.scope.deciders < 0)
    if not len(missing):
        every_one = "every one of " if len(scope) > 1 else ""
        return Result(True, f"{every_one}{scope.words} has a rule")
    some = f"{len(missing):,} of {scope.words}" if len(scope) > 1 else scope.words
    holes, count = _gaps(scope, missing)
    nearest = model.reach.nearest(scope.deciders < 0)
    path = model.reach.path(nearest) if nearest >= 0 else []
    data = {
        "amount": len(missing),
        "total": len(scope),
        "states": model.numbers(missing),
        "holes": holes,
        "visited": model.numbers(missing[model.reach.reached[missing]]),
        "path": model.path(path),
    }
    way = f" A shortest path to one: {model.way(path)}." if len(path) > 1 else ""
    why = f"{some} {'has' if len(missing) == 1 else 'have'} no rule{_met(model, path, len(missing))}"
    return Result(False, why, (_finding(scope.ruleset, data, count, way),))


def _met(model: Model, path: list[int], missing: int) -> str:
    """Return whether an episode can meet a state without a rule, given a shortest path to one."""
    target = "it" if missing == 1 else "one of them"
    if not path:
        return f"; no episode can meet {target}"
    if len(path) == 1:
        return f"; an episode can begin in {target}"
    return f"; the policy can meet {target} from ({model.state(path[0])})"


def _finding(ruleset: RuleSet, data: dict[str, Any], count: int, way: str = "") -> Finding:
    """Return the finding of `count` gaps, the first of them described in the data, and a path to one."""
    texts = [_in_words(ruleset, gap) for gap in data["holes"]]
    text = f"No rule matches where {some_of(texts, count, ', or ')}.{way}"
    return Finding("uncovered", "problem", text, witness=data["holes"][0]["witness"], data=data)


def _in_words(ruleset: RuleSet, gap: dict[str, Any]) -> str:
    """Return a gap as its box, with a point in it where the box has more than one."""
    witness = vector_in_words(gap["witness"], ruleset.observed_features, ruleset.tested)
    if gap["box"] == witness.replace(", ", " AND "):
        return str(gap["box"])
    count = f"{plural(gap['states'], 'state')}, " if "states" in gap else ""
    return f"{gap['box']} ({count}such as {witness})"


def _gaps(scope: Scope, missing: Ints) -> tuple[list[dict[str, Any]], int]:
    """Return boxes that meet no rule and hold the states without a rule, and how many boxes there are.

    A state counts in the first box that holds it.
    """
    gaps: list[dict[str, Any]] = []
    remaining, count, ruleset = missing, 0, scope.ruleset
    values = ruleset.with_terms(scope.points[missing])
    bounds, points = (
        ruleset.unwrapped()[0].bounds.astype(np.float64),
        np.repeat(values[:, :, None], 2, axis=2),
    )
    space = RankSpace(ruleset.features, np.concatenate([bounds, points]))
    rules, ranks = space.ranks(bounds), space.ranks(points)
    while len(remaining):
        box = ranks[0].copy()
        widen(rules, space.whole(), box)
        inside = ((box[:, 0] <= ranks[..., 0]) & (ranks[..., 0] <= box[:, 1])).all(axis=1)
        words = box_in_words(space.box(box), ruleset.features)
        gap = {"box": words, "witness": scope.vector(int(remaining[0])), "states": int(inside.sum())}
        gaps += [gap] if len(gaps) < GAPS else []
        remaining, ranks, count = remaining[~inside], ranks[~inside], count + 1
    return gaps, count
