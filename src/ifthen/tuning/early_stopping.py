"""Ending trainings early that fall behind: marks on the learning curve that a training must reach.

The marks are made of the curves of earlier trainings when a training begins, and go with it. A training then
depends on nothing that happens meanwhile: it can be run anywhere, killed and resumed, and ends the same.

    median     goes on where the best performance so far is at least the median of the others, at each tenth
    halving    goes on where it is in the best third of the others, at a ninth and a third of the training
               (one bracket of Hyperband)
    none       all trainings go on to their end
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ifthen.systems.learning import Goal
from ifthen.systems.records import Records
from ifthen.tuning.tuning_plan import Pruner

WARM_UP = 5
"""Nothing is pruned before this many trainings are known."""
TENTHS = tuple(k / 10 for k in range(1, 10))
Curve = dict[float, float]
"""The performance at shares of a training."""


class Rule(NamedTuple):
    """Where a pruner looks, and which quantile of the others must be reached there."""

    shares: tuple[float, ...]
    quantile: float


RULES: dict[Pruner, Rule] = {
    "median": Rule(TENTHS[1:], 0.5),
    "halving": Rule((1 / 9, 1 / 3), 2 / 3),
    "none": Rule((), 0.0),
}
SHARES = tuple(sorted({*TENTHS, 1 / 9, 1 / 3, 1.0}))
"""The shares of a training at which curves are kept."""


class Mark(NamedTuple):
    """A performance that must be reached at a share of the training."""

    share: float
    performance: float


def marks_of(pruner: Pruner, curves: Sequence[Curve]) -> list[Mark]:
    """Return the marks for the next training, given the curves of earlier ones, which may be cut short."""
    rule = RULES[pruner]
    reached = {share: [curve[share] for curve in curves if share in curve] for share in rule.shares}
    return [
        Mark(share, float(np.quantile(values, rule.quantile)))
        for share, values in reached.items()
        if len(values) >= WARM_UP
    ]


def curve_of(counts: Sequence[int], performances: Sequence[float | None], target: int) -> Curve:
    """Return the curve of a training: the performance at the first row that reaches each share.

    Args:
        counts: how far each row of the history is, in the goal's unit.
        performances: the performance of each row.
        target: the goal's.
    """
    curve: Curve = {}
    for share in SHARES:
        row = bisect_left(counts, share * target)
        value = performances[row] if row < len(counts) else None
        if value is not None and math.isfinite(value):
            curve[share] = float(value)
    return curve


def falls_behind(records: Records, goal: Goal, marks: Iterable[Mark], column: str) -> bool:
    """Return whether the best performance so far was below a mark when the training passed it."""
    passed = [mark for mark in marks if goal.count(records[-1]) >= mark.share * goal.target]
    if not passed:
        return False
    counts, values = records.column("epoch" if goal.unit == "epochs" else goal.unit), records.column(column)
    best = np.maximum.accumulate(np.asarray(values, dtype=np.float64))
    return any(best[np.searchsorted(counts, mark.share * goal.target)] < mark.performance for mark in passed)
