"""Regions of rules in the plane of two features: where which rule decides while the others are held fixed.

Between the ends of intervals nothing changes in a decision list, so that its regions are exact. Rules that
are weighed against each other share regions along slanted lines: these are followed on a fine grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.points import choose_at
from ifthen.inference.decision_list import DecisionList
from ifthen.rules.features import Feature
from ifthen.rules.ruleset import RuleSet

FINE = 160
"""Into so many parts a real feature is cut at least where regions may be slanted."""
MOST_VALUES = 300
MANY_RULES = 80
"""Of more rules that are weighed than this, the ends of intervals are not looked at."""
LEAST_AREA = 0.004
"""A region with a smaller share of the picture gets no number."""


class Regions(NamedTuple):
    """A plane cut into cells, in each of which one rule decides."""

    across: NDArray[np.float64]
    """`(columns + 1,)`: edges of cells,"""
    down: NDArray[np.float64]
    """`(rows + 1,)`."""
    deciders: NDArray[np.int64]
    """`(rows, columns)`: the rule that decides, −1 for none."""

    def runs(self) -> list[tuple[int, NDArray[np.float64]]]:
        """Return neighbouring cells of a row with the same rule as one rectangle `(4, 2)`, with the rule."""
        found = []
        for y, row in enumerate(self.deciders):
            starts = np.flatnonzero(np.diff(row, prepend=row[0] - 1))
            for first, last in zip(starts, [*starts[1:], len(row)], strict=True):
                left, right, low, high = self.across[first], self.across[last], self.down[y], self.down[y + 1]
                found.append(
                    (int(row[first]), np.array([(left, low), (right, low), (right, high), (left, high)]))
                )
        return found

    def borders(self) -> list[NDArray[np.float64]]:
        """Return the lines between cells in which different rules decide, each `(2, 2)`."""
        found = []
        for r, c in np.argwhere(np.diff(self.deciders, axis=1)).tolist():
            x = self.across[c + 1]
            found.append(np.array([(x, self.down[r]), (x, self.down[r + 1])]))
        for r, c in np.argwhere(np.diff(self.deciders, axis=0)).tolist():
            y = self.down[r + 1]
            found.append(np.array([(self.across[c], y), (self.across[c + 1], y)]))
        return found

    def places(self) -> dict[int, tuple[float, float]]:
        """Return for every rule with enough room where its number is best written.

        That is in the cell of its own that is nearest to the middle of them all.
        """
        x, y = ((edges - edges[0]) / (edges[-1] - edges[0]) for edges in (self.across, self.down))
        areas = np.outer(np.diff(y), np.diff(x))
        found = {}
        for rule in np.unique(self.deciders).tolist():
            own = self.deciders == rule
            if areas[own].sum() < LEAST_AREA:
                continue
            rows, columns = np.nonzero(own)
            centre_x, centre_y = (x[:-1] + x[1:])[columns] / 2, (y[:-1] + y[1:])[rows] / 2
            weights = areas[own]
            middle = np.average(centre_x, weights=weights), np.average(centre_y, weights=weights)
            near_x = np.clip(middle[0], *_inner(x[columns], x[columns + 1]))
            near_y = np.clip(middle[1], *_inner(y[rows], y[rows + 1]))
            best = int(np.argmin(np.hypot(near_x - middle[0], near_y - middle[1])))
            spans = [(edges[0], edges[-1] - edges[0]) for edges in (self.across, self.down)]
            found[rule] = (
                float(spans[0][0] + near_x[best] * spans[0][1]),
                float(spans[1][0] + near_y[best] * spans[1][1]),
            )
        return found


def _inner(
    low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where a number can stand between two edges without touching them."""
    room = np.minimum(0.025, (high - low) / 2)
    return low + room, high - room


def regions(ruleset: RuleSet, pair: Sequence[int], fixed: NDArray[np.float64]) -> Regions:
    """Return where which rule decides over two features, or one.

    Args:
        ruleset: the rules.
        pair: the numbers of the features, the horizontal one first; one number gives a single row.
        fixed: the value of every feature, `(features,)`; those of the pair do not matter.
    """
    others = [d for d in range(len(ruleset.features)) if d not in pair]
    lows, highs = ruleset.bounds[:, others, 0], ruleset.bounds[:, others, 1]
    reaching = ruleset.bounds[((lows <= fixed[others]) & (fixed[others] <= highs)).all(axis=1)]
    exact = isinstance(ruleset, DecisionList)
    across = _edges(ruleset.features[pair[0]], reaching[:, pair[0]], exact)
    down = (
        _edges(ruleset.features[pair[1]], reaching[:, pair[1]], exact)
        if len(pair) == 2
        else np.array([0.0, 1.0])
    )
    points = np.tile(fixed, ((len(down) - 1) * (len(across) - 1), 1))
    points[:, pair[0]] = np.tile(_middles(ruleset.features[pair[0]], across), len(down) - 1)
    if len(pair) == 2:
        points[:, pair[1]] = np.repeat(_middles(ruleset.features[pair[1]], down), len(across) - 1)
    _, deciders = choose_at(ruleset, points)
    return Regions(across, down, deciders.reshape(len(down) - 1, len(across) - 1))


def _edges(feature: Feature, bounds: NDArray[np.float64], exact: bool) -> NDArray[np.float64]:
    """Return where cells begin and end along a feature."""
    if feature.low == feature.high or (feature.is_integer and feature.width <= MOST_VALUES):
        return np.arange(feature.low, feature.high + 2) - 0.5
    parts = [np.array([feature.low, feature.high], dtype=np.float64)]
    if exact or len(bounds) <= MANY_RULES:
        parts.append(bounds.ravel())
    if not exact:
        parts.append(np.linspace(feature.low, feature.high, FINE + 1))
    return np.unique(np.concatenate(parts))


def _middles(feature: Feature, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a value inside every cell."""
    middles: NDArray[np.float64] = edges[:-1] / 2 + edges[1:] / 2
    return np.rint(middles) if feature.is_integer else middles
