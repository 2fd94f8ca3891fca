"""Intervals in steps: the granularity of features, and intervals around a reading.

SAMUEL cuts ranges into steps, and operators move the ends of intervals by steps. A step is 1, 2 or 5 times a
power of ten: the largest one that cuts the range into at least `granularity` steps. Integer features have
whole steps. Multiples of the step are numbered, and an interval is the number of its first one and of its
last. The first and the last number of a range stand for its ends. A reading between two multiples takes both.

An interval of a cyclic feature may wrap: its lower end is then above its upper end. The two ends of a real
cyclic range, such as 0° and 360°, are one place. An interval that begins or ends there holds both values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ifthen.rules.arrays import Floats
from ifthen.rules.box import inside
from ifthen.rules.feature import Feature


class Grid(NamedTuple):
    """The steps of all features, each `(features,)`."""

    lows: Floats
    """The smallest value of each feature."""
    highs: Floats
    """The largest value of each feature."""
    steps: Floats
    """The size of a step."""
    first: Floats
    """The number of the first step."""
    last: Floats
    """The number of the last step."""
    periods: Floats
    """The number of steps in a whole turn of a cyclic feature; infinite for others."""

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

    def values(self, numbers: Floats) -> Floats:
        """Return the values of steps `(…, features)`; those beyond the range are its ends.

        A small step is one over a whole number. Dividing by that gives 0.3 where three times 0.1 does not.
        """
        small = self.steps < 1
        shares = np.rint(1 / np.where(small, self.steps, 1.0))
        multiples = np.where(small, numbers / shares, numbers * self.steps) + 0.0  # no -0.0
        return np.clip(multiples, self.lows, self.highs)

    def reading(self, point: Floats) -> tuple[Floats, Floats]:
        """Return the steps just below and just above readings `(…, features)`, the same for a multiple."""
        near, _ = self.cells(np.stack([point, point], axis=-1))
        below, above = near - (self.values(near) > point), near + (self.values(near) < point)
        return np.clip(below, self.first, self.last), np.clip(above, self.first, self.last)

    def rounded_outwards(self, bounds: Floats) -> Floats:
        """Return intervals `(…, features, 2)`, the cyclic ones widened to steps where they are between."""
        (first, above_first), (below_last, last) = self.reading(bounds[..., 0]), self.reading(bounds[..., 1])
        between = np.isfinite(self.periods) & ((first < above_first) | (below_last < last))
        round_trip = np.where(between & (bounds[..., 0] > bounds[..., 1]), self.periods, 0.0)
        return np.where(between[..., None], self.bounds(first, last + round_trip), bounds)

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
        cyclic = np.isfinite(self.periods)
        whole = cyclic & (last - first >= self.last - self.first)
        round_trip = np.where(cyclic, self.periods, 1.0)
        begin = np.where(cyclic, self.last - np.mod(self.last - first, round_trip), first)
        end = np.where(cyclic, self.first + np.mod(last - self.first, round_trip), last)
        ends = np.where(whole, self.first, begin), np.where(whole, self.last, end)
        return np.stack([self.values(numbers) for numbers in ends], axis=-1)


def step_of(feature: Feature, granularity: int) -> float:
    """Return the largest step of 1, 2 or 5 times a power of ten that leaves a feature its granularity."""
    width = float(feature.high) - float(feature.low)
    if width <= 0:
        return 1.0
    most = width / granularity
    power = 10.0 ** math.floor(math.log10(most))
    step = max(power * factor for factor in (1, 2, 5) if factor == 1 or power * factor <= most * (1 + 1e-9))
    return max(1.0, step) if feature.is_integer else step


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
    (first, _), (below, above) = grid.cells(bounds), grid.reading(point)
    left = grid.distance(first, below)
    right = grid.widths(bounds) - left - (above - below)
    least = np.ceil(level * (grid.last - grid.first) / 4)
    return grid.bounds(below - np.maximum(left, least), above + np.maximum(right, least))


def covering(grid: Grid, bounds: Floats, point: Floats) -> Floats:
    """Return intervals `(features, 2)`, those that leave a reading out extended to it at their nearer end."""
    (first, last), (below, above) = grid.cells(bounds), grid.reading(point)
    width, down, up = grid.widths(bounds), grid.distance(below, first), grid.distance(last, above)
    outside = ~inside(bounds, point)
    at_start = outside & np.where(np.isfinite(grid.periods), down <= up, down > 0)
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

    steps_a, steps_b = np.minimum(wide_a + 1, grid.periods), np.minimum(wide_b + 1, grid.periods)
    both = np.minimum(common(offset) + common(offset - grid.periods), np.minimum(steps_a, steps_b))
    return np.asarray(both / (steps_a + steps_b - both))


def hull(grid: Grid, a: Floats, b: Floats) -> Floats:
    """Return the shortest intervals that hold two others, `(features, 2)` each."""
    (first_a, _), (first_b, _), wide_a, wide_b = grid.cells(a), grid.cells(b), grid.widths(a), grid.widths(b)
    linear = ~np.isfinite(grid.periods)
    from_a = np.maximum(wide_a, grid.distance(first_a, first_b) + wide_b)
    from_b = np.maximum(wide_b, grid.distance(first_b, first_a) + wide_a)
    begins_a = np.where(linear, first_a <= first_b, from_a <= from_b)
    first = np.where(begins_a, first_a, first_b)
    return grid.bounds(first, first + np.where(begins_a, from_a, from_b))
