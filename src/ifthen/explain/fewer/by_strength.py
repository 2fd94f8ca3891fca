"""Strength rules as a decision list, where which of two rules is stronger does not depend on the point.

Strengths are linear, so that over the box in which two rules meet the difference of theirs is least and
largest at corners. Where it has one sign, for every pair of rules with different actions, and the pairs do
not go round in a circle, the rules in that order are a decision list that chooses the same everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.inference.decision_list import DecisionList
from ifthen.inference.strength import StrengthRules

CLEARLY = 1e-9  # a difference of strengths beyond what rounding can make, relative to their terms


def list_by_strength(rules: StrengthRules) -> DecisionList | None:
    """Return the rules as a decision list that chooses the same everywhere; None where there is no order."""
    before = precedence(rules)
    if before is None:
        return None
    order: list[int] = []
    left = list(range(len(rules)))
    while left:
        free = [r for r in left if not before[left, r].any()]
        if not free:
            return None
        order.append(free[0])
        left.remove(free[0])
    return DecisionList(rules.bounds[order], rules.actions[order], rules.features, rules.action_names)


def precedence(rules: StrengthRules) -> NDArray[np.bool_] | None:
    """Return which rules must come before which, `(rules, rules)`; None where that differs between points."""
    low, high = rules.bounds[..., 0].astype(np.float64), rules.bounds[..., 1].astype(np.float64)
    deviations = np.sqrt(rules.variances)
    widest = np.maximum(np.abs(low).max(axis=0), np.abs(high).max(axis=0))
    sizes = (np.abs(rules.weights[:, 1:]) * widest).sum(axis=1)
    sizes += np.abs(rules.weights[:, 0] * rules.x0) + deviations
    before = np.zeros((len(rules), len(rules)), dtype=np.bool_)
    for r in range(len(rules)):
        for q in range(r + 1, len(rules)):
            start, end = np.maximum(low[r], low[q]), np.minimum(high[r], high[q])
            if rules.actions[r] == rules.actions[q] or (start > end).any():
                continue
            slope = rules.weights[r, 1:] - rules.weights[q, 1:]
            fixed = (rules.weights[r, 0] - rules.weights[q, 0]) * rules.x0 - deviations[r] + deviations[q]
            ends = np.stack([slope * start, slope * end])
            margin = CLEARLY * (sizes[r] + sizes[q])
            before[r, q] = fixed + ends.min(axis=0).sum() > margin
            before[q, r] = fixed + ends.max(axis=0).sum() < -margin
            if not before[r, q] and not before[q, r]:
                return None
    return before
