"""Checks of rules over a whole space that cannot be looked at point by point.

What concerns conditions alone is decided exactly by reasoning about boxes, up to a budget: coverage,
overlaps, and all that a decision list does. Strengths differ from point to point. That a strength rule
decides somewhere is then shown by a point; that it never does, only where a single rule around it is stronger
everywhere. What is left is said to be not decided.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.boxes import BUDGET, box_in_words, compare, first_match, overlaps
from ifthen.explain.points import values_by_name
from ifthen.explain.verify.conflicts import LISTED, conflicts_found, default_rule, no_conflicts
from ifthen.explain.verify.findings import (
    Checked,
    Finding,
    Property,
    every,
    part,
    plural,
    share_in_words,
    vector_in_words,
)
from ifthen.explain.verify.holes import uncovered_space
from ifthen.explain.verify.rules import never_decide, redundant_found
from ifthen.explain.words.rules import rule_for_reading
from ifthen.inference.decision_list import DecisionList
from ifthen.inference.strength import StrengthRules
from ifthen.rules.ruleset import RuleSet

CLEARLY = 1e-9  # a difference of strengths beyond what rounding can make, relative to their terms


def check_space(ruleset: RuleSet, budget: int = BUDGET) -> Checked:
    """Return what is found about rules over the whole space of their features."""
    checked = uncovered_space(ruleset, budget)
    dead, alive = dead_in_space(ruleset, budget)
    checked.findings += dead
    checked.properties["no-dead-rules"] = _no_dead_rules(ruleset, len(dead), int(alive.sum()))
    checked.add(conflicts_in_space(ruleset))
    checked.add(redundant_in_space(ruleset, {finding.rules[0] for finding in dead}, budget))
    return checked


def dead_in_space(ruleset: RuleSet, budget: int = BUDGET) -> tuple[list[Finding], NDArray[np.bool_]]:
    """Return a finding for every rule proven never to decide, and which rules `(rules,)` proven to decide."""
    if isinstance(ruleset, DecisionList):
        reaches = first_match(ruleset, budget=budget)
        dead = {reach.rule: reach.shadowed_by for reach in reaches if reach.decides is False}
        alive = np.array([reach.decides is True for reach in reaches])
    elif isinstance(ruleset, StrengthRules):
        dead, alive = _never_strongest(ruleset)
    else:
        dead, alive = {}, np.ones(len(ruleset), dtype=np.bool_)
    findings = []
    for r, by in dead.items():
        names = " or ".join(str(q + 1) for q in by)
        one = f"rule {names}" if len(by) == 1 else f"one of rules {names}"
        beats = "is stronger" if isinstance(ruleset, StrengthRules) else "comes first"
        rule = f"Rule {r + 1} ({rule_for_reading(ruleset, r)})"
        text = f"{rule} never decides: wherever it matches, {one} {beats}."
        data = {"reason": "subsumed" if len(by) == 1 else "shadowed", "beaten_by": list(by)}
        corner = values_by_name(ruleset.features, ruleset.bounds[r, :, 0].tolist())
        findings.append(Finding("dead-rule", "problem", text, (r, *by), corner, data))
    return findings, alive


def _never_strongest(ruleset: StrengthRules) -> tuple[dict[int, tuple[int, ...]], NDArray[np.bool_]]:
    """Return which rules one other beats all over their boxes, and which are strongest at a tried point."""
    low, high = ruleset.bounds[..., 0].astype(np.float64), ruleset.bounds[..., 1].astype(np.float64)
    whole = np.array([feature.is_integer for feature in ruleset.features])
    middle = np.clip(low / 2 + high / 2, low, high)  # halves of the smallest numbers are 0
    tried = np.concatenate([np.where(whole, np.floor(middle), middle), low, high])
    alive = np.zeros(len(ruleset), dtype=np.bool_)
    alive[np.unique(ruleset.choose(tried)[1])] = True
    dead: dict[int, tuple[int, ...]] = {}
    for r in np.flatnonzero(~alive).tolist():
        around = ((low <= low[r]) & (high >= high[r])).all(axis=1)
        slope = ruleset.weights[:, 1:] - ruleset.weights[r, 1:]
        ends = np.stack([slope * low[r], slope * high[r]])
        fixed = (ruleset.weights[:, 0] - ruleset.weights[r, 0]) * ruleset.x0
        steadier = np.sqrt(ruleset.variances[r]) - np.sqrt(ruleset.variances)
        least = ends.min(axis=0).sum(axis=1) + fixed + steadier
        terms = np.abs(ruleset.weights[:, 1:]) * np.maximum(np.abs(low[r]), np.abs(high[r]))
        size = terms.sum(axis=1) + np.abs(ruleset.weights[:, 0] * ruleset.x0) + np.sqrt(ruleset.variances)
        stronger = np.flatnonzero(around & (least > CLEARLY * (size + size[r])))
        if len(stronger):
            dead[r] = (int(stronger[0]),)
    return dead, alive


def _no_dead_rules(ruleset: RuleSet, dead: int, alive: int) -> Property:
    open_ = len(ruleset) - dead - alive
    rest = f"; of {plural(open_, 'other')} it is not decided" if open_ else ""
    if dead:
        return Property(False, f"{part(dead, len(ruleset), 'rule')} {never_decide(dead)}{rest}")
    if open_:
        decide = "decides" if alive == 1 else "decide"
        return Property(None, f"{part(alive, len(ruleset), 'rule')} {decide} somewhere{rest}")
    does = "decides" if isinstance(ruleset, (DecisionList, StrengthRules)) else "matches"
    return Property(True, f"{every(len(ruleset), 'rule')} {does} somewhere")


def conflicts_in_space(ruleset: RuleSet) -> Checked:
    """Look for pairs of rules whose boxes meet and that propose different actions."""
    counted = [pair for pair in overlaps(ruleset) if pair.second != default_rule(ruleset)]
    found = sorted(counted, key=lambda pair: (-pair.share, pair.first, pair.second))
    if not found:
        return no_conflicts(ruleset)
    pairs: list[dict[str, Any]] = [
        {
            "rules": [pair.first, pair.second],
            "share": pair.share,
            "box": box_in_words(pair.box, ruleset.features),
            "witness": values_by_name(ruleset.features, pair.witness),
        }
        for pair in found[:LISTED]
    ]
    share = share_in_words(found[0].share) if found[0].share else "an edge without volume"
    words = f"share {share} of the space, such as {vector_in_words(pairs[0]['witness'], ruleset.features)}"
    return conflicts_found(ruleset, len(found), pairs, words)


def redundant_in_space(ruleset: RuleSet, dead: set[int], budget: int = BUDGET) -> Checked:
    """Look for rules each of which could be left out; those that never decide are known to be."""
    name, left_open = "no-redundant-rules", 0
    rules = set(dead)
    if isinstance(ruleset, DecisionList):
        each = max(1, budget // len(ruleset))
        for r in sorted(set(range(len(ruleset))) - dead):
            others = [q for q in range(len(ruleset)) if q != r]
            same = compare(ruleset, ruleset.subset(others), budget=each).equal if others else False
            left_open += same is None
            if same:
                rules.add(r)
    else:
        left_open = len(ruleset) - len(dead)
    if rules:
        return redundant_found(tuple(sorted(rules)), len(ruleset), len(dead))
    if left_open:
        why = f"whether {plural(left_open, 'rule')} could be left out is not decided"
        return Checked(properties={name: Property(None, why)})
    return Checked(properties={name: Property(True, "leaving out any rule changes some action")})
