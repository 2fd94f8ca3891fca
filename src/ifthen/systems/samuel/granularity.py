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

from ifthen.jit import kernel
from ifthen.rules.arrays import Floats
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


def step_of(feature: Feature, granularity: int) -> float:
    """Return the largest step of 1, 2 or 5 times a power of ten that leaves a feature its granularity."""
    width = float(feature.high) - float(feature.low)
    if width <= 0:
        return 1.0
    most = width / granularity
    power = 10.0 ** math.floor(math.log10(most))
    step = max(power * factor for factor in (1, 2, 5) if factor == 1 or power * factor <= most * (1 + 1e-9))
    return max(1.0, step) if feature.is_integer else step


@kernel
def step_at(grid: Grid, d: int, value: float) -> float:
    """Return the number of the step that an end of an interval of feature d stands on."""
    if value >= grid.highs[d]:
        return float(grid.last[d])
    if value <= grid.lows[d]:
        return float(grid.first[d])
    return float(np.rint(value / grid.steps[d]))


@kernel
def value_at(grid: Grid, d: int, number: float) -> float:
    """Return the value of a step of feature d; those beyond the range are its ends.

    A small step is one over a whole number. Dividing by that gives 0.3 where three times 0.1 does not.
    """
    step = grid.steps[d]
    multiple = number / np.rint(1.0 / step) if step < 1.0 else number * step
    value = multiple + 0.0  # no -0.0
    value = value if value > grid.lows[d] else grid.lows[d]
    return float(value if value < grid.highs[d] else grid.highs[d])


@kernel
def steps_around(grid: Grid, d: int, reading: float) -> tuple[float, float]:
    """Return the steps just below and just above a reading of feature d, the same for a multiple."""
    near = step_at(grid, d, reading)
    value = value_at(grid, d, near)
    below = near - 1.0 if value > reading else near
    above = near + 1.0 if value < reading else near
    first, last = grid.first[d], grid.last[d]
    return min(max(below, first), last), min(max(above, first), last)


@kernel
def is_cyclic(grid: Grid, d: int) -> bool:
    """Return whether feature d is cyclic."""
    return math.isfinite(grid.periods[d])


@kernel
def distance(grid: Grid, d: int, start: float, end: float) -> float:
    """Return the steps from `start` up to `end` in feature d; below 0 where a linear `end` comes first."""
    return (end - start) % grid.periods[d] if is_cyclic(grid, d) else end - start


@kernel
def width_of(grid: Grid, d: int, interval: Floats) -> float:
    """Return how many steps an interval of feature d, `(2,)`, goes on for after its first."""
    first, last = step_at(grid, d, interval[0]), step_at(grid, d, interval[1])
    if first == grid.first[d] and last == grid.last[d]:
        return float(grid.last[d] - grid.first[d])
    return distance(grid, d, first, last)


@kernel
def share_of(grid: Grid, d: int, interval: Floats) -> float:
    """Return the share of its range that an interval of feature d covers."""
    return float((width_of(grid, d, interval) + 1.0) / (grid.last[d] - grid.first[d] + 1.0))


@kernel
def put_interval(grid: Grid, d: int, first: float, last: float, out: Floats) -> None:
    """Write the interval of feature d between two steps, `(2,)`, cut to the range or wrapped."""
    if is_cyclic(grid, d):
        if last - first >= grid.last[d] - grid.first[d]:
            first, last = grid.first[d], grid.last[d]
        else:
            period = grid.periods[d]
            first = grid.last[d] - (grid.last[d] - first) % period
            last = grid.first[d] + (last - grid.first[d]) % period
    out[0], out[1] = value_at(grid, d, first), value_at(grid, d, last)


@kernel
def round_outwards(grid: Grid, bounds: Floats) -> None:
    """Widen the cyclic ones of intervals `(rules, features, 2)` to steps where they are between."""
    for rule in range(bounds.shape[0]):
        for d in range(bounds.shape[1]):
            interval = bounds[rule, d]
            first, above_first = steps_around(grid, d, interval[0])
            below_last, last = steps_around(grid, d, interval[1])
            if is_cyclic(grid, d) and (first < above_first or below_last < last):
                round_trip = grid.periods[d] if interval[0] > interval[1] else 0.0
                put_interval(grid, d, first, last + round_trip, interval)


@kernel
def specialized(grid: Grid, bounds: Floats, point: Floats) -> Floats:
    """Return intervals `(features, 2)` with both ends moved half-way to a reading.

    A whole circle has no ends: it becomes the half around the reading.
    """
    out = np.empty_like(bounds)
    for d in range(len(bounds)):
        first, last = step_at(grid, d, bounds[d, 0]), step_at(grid, d, bounds[d, 1])
        below, above = steps_around(grid, d, point[d])
        left = max(distance(grid, d, first, below), 0.0)
        right = max(distance(grid, d, above, last), 0.0)
        span = grid.last[d] - grid.first[d]
        if is_cyclic(grid, d) and width_of(grid, d, bounds[d]) == span:
            left = right = span // 2.0
        put_interval(grid, d, below - left // 2.0, above + right // 2.0, out[d])
    return out


@kernel
def generalized(grid: Grid, bounds: Floats, point: Floats, level: float) -> Floats:
    """Return intervals `(features, 2)` that reach at least `level` quarters of the range to either side."""
    out = np.empty_like(bounds)
    for d in range(len(bounds)):
        below, above = steps_around(grid, d, point[d])
        left = distance(grid, d, step_at(grid, d, bounds[d, 0]), below)
        right = width_of(grid, d, bounds[d]) - left - (above - below)
        least = np.ceil(level * (grid.last[d] - grid.first[d]) / 4.0)
        put_interval(grid, d, below - max(left, least), above + max(right, least), out[d])
    return out


@kernel
def holds_reading(interval: Floats, value: float) -> bool:
    """Return whether an interval `(2,)` holds a value; it wraps where its lower end is above its upper."""
    above, below = value >= interval[0], value <= interval[1]
    return bool((above or below) if interval[0] > interval[1] else (above and below))


@kernel
def covering(grid: Grid, bounds: Floats, point: Floats) -> Floats:
    """Return intervals `(features, 2)`, those that leave a reading out extended to it at their nearer end."""
    out = bounds.copy()
    for d in range(len(bounds)):
        if holds_reading(bounds[d], point[d]):
            continue
        first, last = step_at(grid, d, bounds[d, 0]), step_at(grid, d, bounds[d, 1])
        below, above = steps_around(grid, d, point[d])
        down, up = distance(grid, d, below, first), distance(grid, d, last, above)
        end = first + width_of(grid, d, bounds[d])
        if (down <= up) if is_cyclic(grid, d) else (down > 0.0):
            put_interval(grid, d, first - down, end, out[d])
        else:
            put_interval(grid, d, first, end + max(up, 0.0), out[d])
    return out


@kernel
def crept(grid: Grid, bounds: Floats, d: int, end: int, way: int) -> Floats:
    """Return intervals `(features, 2)`, that of feature d a step wider (+1) or narrower (−1) at an end."""
    out = bounds.copy()
    first, width = step_at(grid, d, bounds[d, 0]), width_of(grid, d, bounds[d])
    change = max(float(way), -width)
    if change != 0.0:
        last = first + width
        if end == 0:
            put_interval(grid, d, first - change, last, out[d])
        else:
            put_interval(grid, d, first, last + change, out[d])
    return out


@kernel
def mutate_end(grid: Grid, d: int, end: int, u: float, interval: Floats) -> None:
    """Set one end of the interval of feature d, `(2,)`, by u in [0, 1)."""
    drawn = grid.first[d] + np.floor(u * (grid.last[d] - grid.first[d] + 1.0))
    first = drawn if end == 0 else step_at(grid, d, interval[0])
    last = drawn if end == 1 else step_at(grid, d, interval[1])
    if not is_cyclic(grid, d) and first > last:
        first, last = last, first
    put_interval(grid, d, first, last, interval)


@kernel
def common_steps(width: float, other_width: float, offset: float) -> float:
    """Return how many steps two intervals share of which the other one begins `offset` steps later."""
    return max(0.0, min(width, offset + other_width) - max(0.0, offset) + 1.0)


@kernel
def put_overlaps(grid: Grid, a: Floats, b: Floats, out: Floats) -> None:
    """Write the share of two intervals' steps that both have, `(features,)`, for `(features, 2)`."""
    for d in range(len(a)):
        width_a, width_b, period = width_of(grid, d, a[d]), width_of(grid, d, b[d]), grid.periods[d]
        offset = distance(grid, d, step_at(grid, d, a[d, 0]), step_at(grid, d, b[d, 0]))
        steps_a, steps_b = min(width_a + 1.0, period), min(width_b + 1.0, period)
        common = common_steps(width_a, width_b, offset) + common_steps(width_a, width_b, offset - period)
        both = min(common, steps_a, steps_b)
        out[d] = both / (steps_a + steps_b - both)


@kernel
def hull(grid: Grid, a: Floats, b: Floats) -> Floats:
    """Return the shortest intervals that hold two others, `(features, 2)` each."""
    out = np.empty_like(a)
    for d in range(len(a)):
        first_a, first_b = step_at(grid, d, a[d, 0]), step_at(grid, d, b[d, 0])
        width_a, width_b = width_of(grid, d, a[d]), width_of(grid, d, b[d])
        from_a = max(width_a, distance(grid, d, first_a, first_b) + width_b)
        from_b = max(width_b, distance(grid, d, first_b, first_a) + width_a)
        begins_a = from_a <= from_b if is_cyclic(grid, d) else first_a <= first_b
        first, width = (first_a, from_a) if begins_a else (first_b, from_b)
        put_interval(grid, d, first, first + width, out[d])
    return out
