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
    is_integer: bool = False
    """Whether the axis takes whole numbers only."""


@dataclass(frozen=True)
class Joined:
    """That all operands hold, or that any does."""

    operands: tuple[Condition, ...]
    all: bool


Condition = Test | Joined
TRUE, FALSE = Joined((), True), Joined((), False)


def joined(conditions: Iterable[Condition], all_hold: bool) -> Condition:
    """Return that all parts hold, or that any does, without parts that change nothing."""
    neutral, absorbing = (TRUE, FALSE) if all_hold else (FALSE, TRUE)
    effective = [condition for condition in dict.fromkeys(conditions) if condition != neutral]
    if absorbing in effective:
        return absorbing
    return effective[0] if len(effective) == 1 else Joined(tuple(effective), all_hold)


def test(axis: int, spans: Spans, is_integer: bool) -> Condition:
    """Return that a value lies in one of some intervals."""
    return FALSE if not spans else TRUE if spans == EVERYTHING else Test(axis, spans, is_integer)


def negated(condition: Condition) -> Condition:
    """Return that a condition does not hold."""
    if isinstance(condition, Test):
        return test(condition.axis, outside(condition.spans, condition.is_integer), condition.is_integer)
    return joined(map(negated, condition.operands), not condition.all)


def outside(spans: Spans, is_integer: bool) -> Spans:
    """Return the intervals of all values that lie in none of some."""
    gaps, start = [], -math.inf
    for low, high in spans:
        if low > -math.inf:
            gaps.append((start, previous_value(low, is_integer)))
        start = next_value(high, is_integer)
    if not spans or spans[-1][1] < math.inf:
        gaps.append((start, math.inf))
    return tuple(gaps)


def below(end: float, is_integer: bool, included: bool) -> Spans:
    """Return the values that are less than a number, or at most it."""
    if is_integer:
        last = math.floor(end) if included else math.ceil(end) - 1
        return ((-math.inf, float(last)),)
    return ((-math.inf, end if included else previous_value(end, False)),)


def next_value(value: float, is_integer: bool) -> float:
    """Return the value that comes next."""
    return value + 1 if is_integer else float(np.nextafter(value, math.inf))


def previous_value(value: float, is_integer: bool) -> float:
    """Return the value that comes before."""
    return value - 1 if is_integer else float(np.nextafter(value, -math.inf))


class Boxes:
    """Turns conditions into boxes, as many as are allowed."""

    def __init__(self) -> None:
        self.n_left = MOST_BOXES

    def take(self, number: int = 1) -> None:
        """Count boxes, or raise where they are too many."""
        self.n_left -= number
        if self.n_left < 0:
            raise RuleError(
                f"this takes more than {MOST_BOXES:,} boxes to write as rules: nested and, or and not "
                "multiply. Write it as fewer or simpler tests."
            )

    def of(self, condition: Condition) -> list[Box]:
        """Return boxes that together are where a condition holds."""
        if isinstance(condition, Test):
            self.take(len(condition.spans))
            return [{condition.axis: span} for span in condition.spans]
        operands = [self.of(operand) for operand in condition.operands]
        if not condition.all:
            return [box for operand in operands for box in operand]
        boxes: list[Box] = [{}]
        for operand in operands:
            self.take(len(boxes) * len(operand))
            pairs = (common(left, right) for left in boxes for right in operand)
            boxes = [box for box in pairs if box is not None]
        return boxes


def common(left: Box, right: Box) -> Box | None:
    """Return the box that two have in common; None where they have no point in common."""
    overlap = dict(left)
    for axis, (low, high) in right.items():
        interval = overlap.get(axis, (-math.inf, math.inf))
        overlap[axis] = max(low, interval[0]), min(high, interval[1])
        if overlap[axis][0] > overlap[axis][1]:
            return None
    return overlap
