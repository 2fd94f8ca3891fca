"""Intervals in steps: the granularity of features, and intervals around a reading.

SAMUEL's readings are cut into steps, and operators move the ends of intervals by steps. A step is 1, 2 or 5
times a power of ten, as large as leaves a feature its granularity; the steps of integer features are whole.
Here an interval is its first and its last step, both numbers of multiples of the step. A reading between two
multiples takes both.

A cyclic feature comes round: its intervals may begin near the top of the range and end near the bottom, and
have then a lower end above the upper one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ifthen.rules import box
from ifthen.rules.arrays import Floats, Mask
from ifthen.rules.feature import Feature

DECIMALS = 12
"""Multiples of a step are rounded to so many decimals behind the step's own size."""


class Grid(NamedTuple):
    """The steps of all features, each `(features,)`."""

    lows: Floats
    """The smallest values,"""
    highs: Floats
    """and the largest."""
    steps: Floats
    """The size of a step."""
    first: Floats
    """The number of the first step,"""
    last: Floats
    """and of the last."""
    periods: Floats
    """Steps after which a cyclic feature comes round; infinite for others."""

    @classmethod
    def of(cls, features: Sequence[Feature], granularity: int) -> Grid:
        """Return the steps of features."""
        lows = np.array([feature.low for feature in features], dtype=np.float64)
        highs = np.array([feature.high for feature in features], dtype=np.float64)
        steps = np.array([step_of(feature, granularity) for feature in features])
        first, last = np.floor(lows / steps), np.ceil(highs / steps)
        whole = np.array([feature.is_integer for feature in features])
        periods = np.where([feature.cyclic for feature in features], last - first + whole, np.inf)
        return cls(lows, highs, steps, first, last, periods)

    def cells(self, bounds: Floats) -> tuple[Floats, Floats]:
        """Return first and last steps `(…, features)` of intervals `(…, features, 2)`."""
        numbers = np.rint(bounds / self.steps[:, None])
        at_ends = np.where(bounds <= self.lows[:, None], self.first[:, None], numbers)
        at_ends = np.where(bounds >= self.highs[:, None], self.last[:, None], at_ends)
        return at_ends[..., 0], at_ends[..., 1]

    def reading(self, point: Floats) -> tuple[Floats, Floats]:
        """Return the steps just below and just above readings `(…, features)`."""
        below, above = np.floor(point / self.steps), np.ceil(point / self.steps)
        return np.clip(below, self.first, self.last), np.clip(above, self.first, self.last)

    def distance(self, start: Floats, end: Floats) -> Floats:
        """Return the steps from `start` up to `end`; below 0 where a linear `end` comes first."""
        apart = end - start
        return np.where(np.isfinite(self.periods), np.mod(apart, self.periods), apart)

    def widths(self, bounds: Floats) -> Floats:
        """Return how many steps intervals `(…, features, 2)` go on for after their first."""
        first, last = self.cells(bounds)
        whole = (first == self.first) & (last == self.last)
        return np.where(whole, self.last - self.first, self.distance(first, last))

    def shares(self, bounds: Floats) -> Floats:
        """Return the share of its range that each interval covers, `(…, features)`."""
        return (self.widths(bounds) + 1) / (self.last - self.first + 1)

    def bounds(self, first: Floats, last: Floats) -> Floats:
        """Return intervals between steps as `(…, features, 2)`, cut to the range or wrapped."""
        cyclic, whole = np.isfinite(self.periods), last - first >= self.last - self.first
        ends = []
        for numbers, end in ((first, self.first), (last, self.last)):
            wrapped = self.first + np.mod(numbers - self.first, np.where(cyclic, self.periods, 1.0))
            inside = np.where(cyclic, wrapped, np.clip(numbers, self.first, self.last))
            values = np.round(np.where(whole, end, inside) * self.steps, DECIMALS) + 0.0
            ends.append(np.clip(values, self.lows, self.highs))
        return np.stack(ends, axis=-1)


def step_of(feature: Feature, granularity: int) -> float:
    """Return the largest step of 1, 2 or 5 times a power of ten that leaves a feature its granularity."""
    width = float(feature.high) - float(feature.low)
    if width <= 0:
        return 1.0
    most = width / granularity
    power = 10.0 ** math.floor(math.log10(most))
    step = max(power * factor for factor in (1, 2, 5) if factor == 1 or power * factor <= most * (1 + 1e-9))
    return max(1.0, step) if feature.is_integer else step


def inside(bounds: Floats, points: Floats) -> Mask:
    """Return which conditions `(rules, features, 2)` hold at each point: `(n, rules, features)`."""
    return box.inside(bounds, points[:, None, :])


def specialized(grid: Grid, bounds: Floats, point: Floats) -> Floats:
    """Return intervals `(features, 2)` with both ends moved half-way to a reading.

    A whole circle has no ends: it becomes the half around the reading.
    """
    (first, last), (below, above) = grid.cells(bounds), grid.reading(point)
    left, right = np.maximum(grid.distance(first, below), 0), np.maximum(grid.distance(above, last), 0)
    span = grid.last - grid.first
    circle = np.isfinite(grid.periods) & (grid.widths(bounds) == span)
    left, right = np.where(circle, span // 2, left), np.where(circle, span // 2, right)
    return grid.bounds(below - left // 2, above + right // 2)


def generalized(grid: Grid, bounds: Floats, point: Floats, level: float) -> Floats:
    """Return intervals `(features, 2)` that reach at least `level` quarters of the range to either side."""
    (first, last), (below, above) = grid.cells(bounds), grid.reading(point)
    left, right = grid.distance(first, below), grid.distance(above, last)
    least = np.ceil(level * (grid.last - grid.first) / 4)
    return grid.bounds(below - np.maximum(left, least), above + np.maximum(right, least))


def covering(grid: Grid, bounds: Floats, point: Floats) -> Floats:
    """Return intervals `(features, 2)`, those that leave a reading out extended to it at their nearer end."""
    (first, last), (below, above) = grid.cells(bounds), grid.reading(point)
    width, down, up = grid.widths(bounds), grid.distance(below, first), grid.distance(last, above)
    outside = ~inside(bounds[None], point[None])[0, 0]
    at_start = outside & (down > 0) & ((up <= 0) | (down <= up))
    left, right = np.where(at_start, down, 0), np.where(outside & ~at_start, np.maximum(up, 0), 0)
    return np.where(outside[:, None], grid.bounds(first - left, first + width + right), bounds)


def crept(grid: Grid, bounds: Floats, d: int, end: int, way: int) -> Floats:
    """Return intervals `(features, 2)`, that of feature d a step wider (+1) or narrower (−1) at an end."""
    (first, _), width = grid.cells(bounds), grid.widths(bounds)
    change = np.zeros(len(width))
    change[d] = max(way, -width[d])
    left, right = (change, 0 * change) if end == 0 else (0 * change, change)
    moved = grid.bounds(first - left, first + width + right)
    return np.where((change != 0)[:, None], moved, bounds)


def overlaps(grid: Grid, a: Floats, b: Floats) -> Floats:
    """Return the share of two intervals' steps that both have, `(…, features)`, for `(…, features, 2)`."""
    (first_a, _), (first_b, _) = grid.cells(a), grid.cells(b)
    wide_a, wide_b, offset = grid.widths(a), grid.widths(b), grid.distance(first_a, first_b)

    def common(start: Floats) -> Floats:
        return np.asarray(np.maximum(0, np.minimum(wide_a, start + wide_b) - np.maximum(0, start) + 1))

    both = common(offset) + common(offset - grid.periods)
    return np.asarray(both / (wide_a + wide_b + 2 - both))


def hull(grid: Grid, a: Floats, b: Floats) -> Floats:
    """Return the shortest intervals that hold two others, `(features, 2)` each."""
    (first_a, _), (first_b, _), wide_a, wide_b = grid.cells(a), grid.cells(b), grid.widths(a), grid.widths(b)
    linear = ~np.isfinite(grid.periods)
    from_a = np.maximum(wide_a, grid.distance(first_a, first_b) + wide_b)
    from_b = np.maximum(wide_b, grid.distance(first_b, first_a) + wide_a)
    begins_a = np.where(linear, first_a <= first_b, from_a <= from_b)
    first = np.where(begins_a, first_a, first_b)
    return grid.bounds(first, first + np.where(begins_a, from_a, from_b))
