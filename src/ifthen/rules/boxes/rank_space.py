"""Rank space: a bounded space of integer and real features, cut into finitely many pieces.

The edges of some boxes cut every axis into segments in which no box begins or ends. On an integer axis these
are runs of whole numbers; on a real one they are the edges themselves, as points, and the open gaps between
neighbouring edges, where a floating-point number lies in between. Numbered from 0, the segments turn every
box into a box of whole numbers, their *ranks*, and a question about all points of the space into one about
finitely many cells: two points of the same cell lie in the same boxes. For each segment there stands a point.

A real feature stands for its float64 values, which are all that a ruleset can be asked about: between a
number and the next there is nothing. Shares of the space are counted in whole numbers along integer features
and in length along real ones, where single points weigh nothing. Only an axis without any length, because it
is one number or nothing but neighbouring numbers, is counted point by point.

A cell is a box of ranks, cut along the edges of rules.

Where some features are terms, the space has one axis for each of them too, and most cells hold no observation
(`boxes.feasible`). Shares are then estimated from observations that are spread evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.jit import kernel
from ifthen.rules.arrays import Floats, Mask
from ifthen.rules.boxes.feasible import Answer, observation_in
from ifthen.rules.feature import Feature, number_in_words
from ifthen.rules.term import coefficients, with_terms

Ranks = NDArray[np.int32]
"""Ranks, numbers of rules, and actions."""
Point = tuple[int | float, ...]
"""One value per feature: whole for integer features."""
DIGITS = 17  # enough decimal digits to write any float64
SAMPLE = 20_000
"""In a space with terms, shares are estimated from this many observations."""


class Interval(NamedTuple):
    """The values of one feature in a box; an open end is not included."""

    low: int | float
    high: int | float
    low_open: bool = False
    high_open: bool = False

    def in_words(self, feature: Feature) -> str:
        """Return the interval as a condition, such as "x > 0.5"; "" where it leaves nothing out."""
        if not self.low_open and not self.high_open:
            return feature.interval_in_words(self.low, self.high)
        low, high = number_in_words(self.low), number_in_words(self.high)
        unit = f" {feature.unit}" if feature.unit else ""
        above, below = "<" if self.low_open else "≤", "<" if self.high_open else "≤"
        if self.low <= feature.low and not self.low_open:
            return f"{feature.name} {below} {high}{unit}"
        if self.high >= feature.high and not self.high_open:
            return f"{feature.name} > {low}{unit}"
        return f"{low} {above} {feature.name} {below} {high}{unit}"


Box = tuple[Interval, ...]
"""One interval per feature."""


def box_in_words(box: Box, features: Sequence[Feature]) -> str:
    """Return a box as conditions joined by AND; "everywhere" where it is the whole space."""
    conditions = [interval.in_words(feature) for interval, feature in zip(box, features, strict=True)]
    return " AND ".join(condition for condition in conditions if condition) or "everywhere"


class Axis:
    """The segments of one axis, in order.

    Lengths are differences of `from_` and `to`, which have one entry per segment.

    Args:
        feature: the feature it is of.
        low: smallest value looked at.
        high: largest value looked at.
        edges: bounds of intervals, `(n, 2)`, smaller first, all from `low` to `high`.
    """

    def __init__(self, feature: Feature, low: float, high: float, edges: Floats) -> None:
        self.is_integer = feature.is_integer
        if self.is_integer:
            self.cuts = np.unique(np.concatenate([[low, high + 1], edges[:, 0], edges[:, 1] + 1]))
            self.starts, self.ends = self.cuts[:-1], self.cuts[1:]
            self.points, self.gap = self.starts, np.zeros(len(self.starts), dtype=np.bool_)
            self.from_, self.to = self.starts, self.ends
            return
        self.cuts = np.unique(np.concatenate([[low, high], edges.ravel()]))
        has_gap = np.nextafter(self.cuts[:-1], np.inf) < self.cuts[1:]
        self.rank_of_cut = np.arange(len(self.cuts)) + np.concatenate([[0], np.cumsum(has_gap)])
        positions = np.sort(np.concatenate([np.arange(len(self.cuts)), np.flatnonzero(has_gap) + 0.5]))
        self.gap = positions % 1 > 0
        lower_cut, upper_cut = np.floor(positions).astype(np.int64), np.ceil(positions).astype(np.int64)
        self.starts, self.ends = self.cuts[lower_cut], self.cuts[upper_cut]
        self.points = np.array([between(a, b) for a, b in zip(self.starts, self.ends, strict=True)])
        # Between neighbouring numbers there is nothing, so their distance is no length either.
        no_length = np.concatenate([[0.0], np.cumsum(np.where(has_gap, 0.0, np.diff(self.cuts)))])
        by_length = (self.cuts - no_length)[lower_cut], (self.cuts - no_length)[upper_cut]
        by_points = np.arange(len(positions)) * 1.0, np.arange(len(positions)) + 1.0
        self.from_, self.to = by_length if self.gap.any() else by_points

    def __len__(self) -> int:
        return len(self.starts)

    def ranks(self, edges: Floats) -> Ranks:
        """Return the first and the last rank of intervals `(n, 2)` whose edges are among the axis's."""
        if self.is_integer:
            past = np.array([0, 1])
            return np.asarray(np.searchsorted(self.cuts, edges + past) - past, dtype=np.int32)
        return np.asarray(self.rank_of_cut[np.searchsorted(self.cuts, edges)], dtype=np.int32)

    def interval(self, first: int, last: int) -> Interval:
        """Return the values of the segments from `first` to `last`."""
        if self.is_integer:
            return Interval(int(self.starts[first]), int(self.ends[last]) - 1)
        low, high = float(self.starts[first]), float(self.ends[last])
        return Interval(low, high, bool(self.gap[first]), bool(self.gap[last]))

    def closed(self, first: int, last: int) -> tuple[float, float]:
        """Return the smallest and the largest number of the segments from `first` to `last`."""
        if self.is_integer:
            return float(self.starts[first]), float(self.ends[last]) - 1
        low, high = float(self.starts[first]), float(self.ends[last])
        return (
            float(np.nextafter(low, np.inf)) if self.gap[first] else low,
            float(np.nextafter(high, -np.inf)) if self.gap[last] else high,
        )

    def point(self, rank: int) -> int | float:
        """Return the value that stands for a segment."""
        return int(self.points[rank]) if self.is_integer else float(self.points[rank])


class Scale(NamedTuple):
    """How much of the space each segment takes."""

    starts: Floats
    """`(features, segments)`: where segments begin."""
    ends: Floats
    """`(features, segments)`: where they end."""
    totals: Floats
    """`(features,)`: the length of each axis."""


class Region(NamedTuple):
    """A box of interest."""

    box: Box
    """Its intervals."""
    witness: Point
    """An observation in it."""
    share: float
    """Its share of what was looked at; 0 where it is flat along a real feature. Estimated with terms."""


class RankSpace:
    """A bounded space cut at the edges of boxes.

    Args:
        features: the features, whose ranges bound the space.
        bounds: every box that will be asked about, `(n, features, 2)`; the two bounds in any order.
        within: look only at this box, `(features, 2)`, of closed intervals.
    """

    def __init__(self, features: Sequence[Feature], bounds: Floats, within: ArrayLike | None = None) -> None:
        self.features = tuple(features)
        self.terms = coefficients(self.features)
        ranges = [[feature.low, feature.high] for feature in self.features]
        self.within = np.asarray(ranges if within is None else within, dtype=np.float64) + 0.0
        clipped, meets = self._clipped(bounds)
        self.axes = [
            Axis(feature, low, high, clipped[meets, d])
            for d, (feature, (low, high)) in enumerate(zip(self.features, self.within.tolist(), strict=True))
        ]
        self.sizes = np.array([len(axis) for axis in self.axes], dtype=np.int32)
        widest = int(self.sizes.max())
        starts, ends = np.zeros((2, len(self.axes), widest))
        totals = np.empty(len(self.axes))
        for d, axis in enumerate(self.axes):
            starts[d, : len(axis)], ends[d, : len(axis)] = axis.from_, axis.to
            totals[d] = axis.to[-1] - axis.from_[0]
        self.scale = Scale(starts, ends, totals)

    def _clipped(self, bounds: Floats) -> tuple[Floats, Mask]:
        """Return boxes cut off at `within`, and which of them have anything in it."""
        clipped = np.sort(bounds, axis=-1) + 0.0  # no -0.0
        for d, feature in enumerate(self.features):
            if feature.is_integer:
                clipped[:, d, 0], clipped[:, d, 1] = np.ceil(clipped[:, d, 0]), np.floor(clipped[:, d, 1])
        np.maximum(clipped[..., 0], self.within[:, 0], out=clipped[..., 0])
        np.minimum(clipped[..., 1], self.within[:, 1], out=clipped[..., 1])
        meets: Mask = np.all(clipped[..., 0] <= clipped[..., 1], axis=1)
        return clipped, meets

    def ranks(self, bounds: Floats) -> Ranks:
        """Return boxes as ranks, `(n, features, 2)`; one with nothing in `within` begins after the end."""
        clipped, meets = self._clipped(bounds)
        out = np.empty(bounds.shape, dtype=np.int32)
        for d, axis in enumerate(self.axes):
            out[meets, d] = axis.ranks(clipped[meets, d])
        out[~meets] = np.stack([self.sizes, np.full_like(self.sizes, -1)], axis=-1)
        return out

    def whole(self) -> Ranks:
        """Return the ranks of all that is looked at, `(features, 2)`."""
        return np.stack([np.zeros_like(self.sizes), self.sizes - 1], axis=-1)

    def box(self, ranks: Ranks) -> Box:
        """Return a box of ranks `(features, 2)` in the features' own numbers."""
        return tuple(axis.interval(*pair) for axis, pair in zip(self.axes, ranks.tolist(), strict=True))

    def region(self, ranks: Ranks) -> Region:
        """Return a box of ranks `(features, 2)` with a point in it and its share of the space."""
        return Region(self.box(ranks), self.witness(ranks), self.share(ranks))

    def share(self, ranks: Ranks) -> float:
        """Return the share of the space that a box of ranks `(features, 2)` takes."""
        if not len(self.terms):
            return share_of(ranks, self.scale)
        box = self.closed(ranks)
        return float(((box[:, 0] <= self._sample) & (self._sample <= box[:, 1])).all(axis=1).mean())

    @cached_property
    def _sample(self) -> Floats:
        """Observations, spread evenly over the ranges looked at, with their terms behind."""
        observed = self.features[: self.terms.shape[1]]
        low, high = self.within[: len(observed)].T
        is_integer = np.array([feature.is_integer for feature in observed])
        unit_points = spread_out(SAMPLE, len(observed))
        points = np.where(
            is_integer, low + np.floor(unit_points * (high - low + 1)), low + unit_points * (high - low)
        )
        return with_terms(self.terms, points)

    def closed(self, ranks: Ranks) -> Floats:
        """Return the smallest and the largest numbers in a box of ranks, `(features, 2)`."""
        pairs = zip(self.axes, ranks.tolist(), strict=True)
        return np.array([axis.closed(*pair) for axis, pair in pairs])

    def observation(self, ranks: Ranks) -> Answer:
        """Return an observation in a box of ranks, or whether there is none or none is known."""
        is_integer = np.array([feature.is_integer for feature in self.features[: self.terms.shape[1]]])
        return observation_in(self.closed(ranks), self.terms, is_integer)

    def witness(self, ranks: Ranks) -> Point:
        """Return a point of a box of ranks `(features, 2)`: the one that stands for its middle cell.

        With terms it is an observation, and the box must hold one.
        """
        if len(self.terms):
            point = self.observation(ranks)
            assert not isinstance(point, str)
            return tuple(
                int(value) if feature.is_integer else float(value)
                for feature, value in zip(self.features, point.tolist(), strict=False)
            )
        middles = (ranks.sum(axis=1) // 2).tolist()
        return tuple(axis.point(middle) for axis, middle in zip(self.axes, middles, strict=True))


def spread_out(n: int, dimensions: int) -> Floats:
    """Return n points `(n, dimensions)` from 0 to 1, spread evenly: multiples of irrational steps, mod 1.

    The steps are powers of the root of x^(d + 1) = x + 1, the golden ratio's relatives.
    """
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return (np.arange(1.0, n + 1)[:, None] * steps) % 1


def between(low: float, high: float) -> float:
    """Return a number strictly between two, with few digits, or their only value where they are equal."""
    middle = low / 2 + high / 2
    if low == high:
        return low
    if not low < middle < high:
        return float(np.nextafter(low, high))
    rounded = (float(f"{middle:.{digits}g}") for digits in range(1, DIGITS + 1))
    return next((number for number in rounded if low < number < high), middle) + 0.0


@kernel
def share_of(cell: Ranks, scale: Scale) -> float:
    """Return the share of the space that a cell `(features, 2)` takes."""
    share = 1.0
    for d in range(cell.shape[0]):
        share *= (scale.ends[d, cell[d, 1]] - scale.starts[d, cell[d, 0]]) / scale.totals[d]
    return share


@kernel
def overlap(rules: Ranks, r: int, cell: Ranks) -> float:
    """Return what share of a cell's ranks rule r fills: 1 where it contains it, −1 where it is apart."""
    share = 1.0
    for d in range(cell.shape[0]):
        low, high = max(rules[r, d, 0], cell[d, 0]), min(rules[r, d, 1], cell[d, 1])
        if low > high:
            return -1.0
        if low > cell[d, 0] or high < cell[d, 1]:
            # Less than 1 after rounding too, so that only a rule that contains the cell has 1.
            share *= (high - low + 1) / (cell[d, 1] - cell[d, 0] + 1)
    return share


@kernel
def choose_cut(rules: Ranks, r: int, cell: Ranks) -> tuple[int, int, bool]:
    """Return the feature and the last rank below the cut along rule r that takes most of the cell away.

    The third is whether the rule lies above the cut.
    """
    feature, last, above, largest = -1, -1, False, 0.0
    for d in range(cell.shape[0]):
        width = cell[d, 1] - cell[d, 0] + 1
        share_below, share_above = (
            (rules[r, d, 0] - cell[d, 0]) / width,
            (cell[d, 1] - rules[r, d, 1]) / width,
        )
        if share_below > largest:
            feature, last, above, largest = d, int(rules[r, d, 0]) - 1, True, share_below
        if share_above > largest:
            feature, last, above, largest = d, int(rules[r, d, 1]), False, share_above
    return feature, last, above


@kernel
def put_cell(cell: Ranks, out: Ranks, slot: int) -> None:
    """Write a cell `(features, 2)` into a place of `out`; loops compile much faster than assigned slices."""
    for d in range(cell.shape[0]):
        out[slot, d, 0], out[slot, d, 1] = cell[d, 0], cell[d, 1]


@kernel
def put_meeting(rules: Ranks, cell: Ranks, d: int, alive: Ranks, n: int, out: Ranks, end: int) -> int:
    """Write the rules that meet a cell along feature d into `out` from `end` on; return where they end."""
    for i in range(n):
        r = alive[i]
        if rules[r, d, 0] <= cell[d, 1] and rules[r, d, 1] >= cell[d, 0]:
            out[end] = r
            end += 1
    return end
