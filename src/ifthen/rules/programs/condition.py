"""Conditions of programs: tests of one feature or sum each, joined by and, or and not.

A test says which values pass: closed intervals that do not touch, of floats or whole numbers, from −∞ to ∞.
So `x > 3` begins at the next float above 3, or at 4. Every condition is a union of boxes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ifthen.errors import RuleError

Spans = tuple[tuple[float, float], ...]
"""Closed intervals in order, with values between each two."""
Box = dict[int, tuple[float, float]]
"""An interval for each axis that is tested. An axis is a feature or, behind them, a sum."""
MOST_BOXES = 20_000
"""What is read may make at most this many boxes, those on the way to others included."""
EVERYTHING: Spans = ((-math.inf, math.inf),)


@dataclass(frozen=True)
class Test:
    """That the value of an axis lies in one of some intervals."""

    axis: int
    spans: Spans
    whole: bool = False
    """Whether the axis takes whole numbers only."""


@dataclass(frozen=True)
class Joined:
    """That all parts hold, or that any does."""

    parts: tuple[Condition, ...]
    all: bool


Condition = Test | Joined
TRUE, FALSE = Joined((), True), Joined((), False)


def joined(parts: Iterable[Condition], every: bool) -> Condition:
    """Return that all parts hold, or that any does, without parts that change nothing."""
    nothing, end = (TRUE, FALSE) if every else (FALSE, TRUE)
    kept = [part for part in dict.fromkeys(parts) if part != nothing]
    if end in kept:
        return end
    return kept[0] if len(kept) == 1 else Joined(tuple(kept), every)


def test(axis: int, spans: Spans, whole: bool) -> Condition:
    """Return that a value lies in one of some intervals."""
    return FALSE if not spans else TRUE if spans == EVERYTHING else Test(axis, spans, whole)


def negated(condition: Condition) -> Condition:
    """Return that a condition does not hold."""
    if isinstance(condition, Test):
        return test(condition.axis, outside(condition.spans, condition.whole), condition.whole)
    return joined(map(negated, condition.parts), not condition.all)


def outside(spans: Spans, whole: bool) -> Spans:
    """Return the intervals of all values that lie in none of some."""
    found, start = [], -math.inf
    for low, high in spans:
        if low > -math.inf:
            found.append((start, before(low, whole)))
        start = after(high, whole)
    if not spans or spans[-1][1] < math.inf:
        found.append((start, math.inf))
    return tuple(found)


def below(end: float, whole: bool, included: bool) -> Spans:
    """Return the values that are less than a number, or at most it."""
    if whole:
        last = math.floor(end) if included else math.ceil(end) - 1
        return ((-math.inf, float(last)),)
    return ((-math.inf, end if included else before(end, False)),)


def after(value: float, whole: bool) -> float:
    """Return the value that comes next."""
    return value + 1 if whole else float(np.nextafter(value, math.inf))


def before(value: float, whole: bool) -> float:
    """Return the value that comes before."""
    return value - 1 if whole else float(np.nextafter(value, -math.inf))


class Boxes:
    """Turns conditions into boxes, as many as are allowed."""

    def __init__(self) -> None:
        self.left = MOST_BOXES

    def take(self, number: int = 1) -> None:
        """Count boxes, or raise where they are too many."""
        self.left -= number
        if self.left < 0:
            raise RuleError(
                f"this takes more than {MOST_BOXES:,} boxes to write as rules: nested and, or and not "
                "multiply. Write it as fewer or simpler tests."
            )

    def of(self, condition: Condition) -> list[Box]:
        """Return boxes that together are where a condition holds."""
        if isinstance(condition, Test):
            self.take(len(condition.spans))
            return [{condition.axis: span} for span in condition.spans]
        parts = [self.of(part) for part in condition.parts]
        if not condition.all:
            return [box for part in parts for box in part]
        found: list[Box] = [{}]
        for part in parts:
            self.take(len(found) * len(part))
            pairs = (common(one, other) for one in found for other in part)
            found = [box for box in pairs if box is not None]
        return found


def common(one: Box, other: Box) -> Box | None:
    """Return the box that two have in common; None where they have no point in common."""
    both = dict(one)
    for axis, (low, high) in other.items():
        own = both.get(axis, (-math.inf, math.inf))
        both[axis] = max(low, own[0]), min(high, own[1])
        if both[axis][0] > both[axis][1]:
            return None
    return both
