"""Planes through the space of features: which two features are drawn, and where the others are fixed.

Those features are drawn that matter: the action changes where they take another value that occurs too.

A plane has regions, in each of which one rule decides. Between the ends of intervals nothing changes in a
decision list, so that its regions are exact. Rules that are weighed against each other, and conditions on
terms, have borders along slanted lines: these are followed on a fine grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError, nearest
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.box import inside
from ifthen.rules.feature import Feature, lows_and_highs, whole_box
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.term import coefficients
from ifthen.simulate.scope import Scope, choose_at, median_point

DOWNWARDS = ("y", "row")
"""Features with these names are drawn with small values at the top."""
SWAPS = 4
"""The values of a feature are swapped between states this many times, to see whether actions change."""
SAMPLES = (20, 1000)
"""At least 20 and at most 1000 states are looked at."""
MATCHES = 2e8
"""Between these limits, the number of states is such that about this many intervals are looked at."""
FEW = 1e-3
"""The weight of a feature's tests beside the actions that it changes. Tests only break ties."""
FINE = 160
"""A real feature is cut into at least this many parts where regions may be slanted."""
MOST_VALUES = 300
"""Whole-number features with at most this many values have one cell per value."""
MANY_RULES = 80
"""The ends of intervals are cut at only where at most this many rules compare numbers."""
LEAST_AREA = 0.004
"""A region gets no number if it is smaller than this share of the picture."""
MARGIN = 0.025
"""A number stands at least this share of the picture from its edges."""

Edges = Floats


def fixed_values(
    ruleset: RuleSet, scope: Scope | None = None, at: Mapping[str, float] | None = None
) -> Floats:
    """Return the values at which features are fixed, `(features,)`; see `slice_figure`."""
    if scope is None:
        middles = [f.low / 2 + f.high / 2 for f in ruleset.observed_features]
        are_integer = [feature.is_integer for feature in ruleset.observed_features]
        values = np.where(are_integer, np.floor(middles), middles)
    else:
        values = median_point(scope.points)
    for name, value in (at or {}).items():
        d = _number_of(ruleset, name)
        feature = ruleset.observed_features[d]
        if not feature.low <= value <= feature.high or (feature.is_integer and value % 1):
            kind = "whole" if feature.is_integer else "real"
            raise ParameterError(
                f"{name} must be fixed at a {kind} number from {feature.low} to {feature.high}, not {value}."
            )
        values[d] = value
    return values


def _number_of(ruleset: RuleSet, name: str) -> int:
    """Return a feature's number, or raise."""
    names = [feature.name for feature in ruleset.observed_features]
    if name not in names:
        raise ParameterError(f"unknown feature {name!r}.{nearest(str(name), names)}")
    return names.index(name)


def checked_axes(ruleset: RuleSet, axes: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the features to draw, or raise."""
    if isinstance(axes, str) or len(axes) not in (1, 2) or len(set(axes)) != len(axes):
        raise ParameterError(f"axes must be the names of one or two different features, not {axes!r}.")
    return _upright(ruleset, tuple(_number_of(ruleset, name) for name in axes))


def chosen_pairs(ruleset: RuleSet, scope: Scope | None, features: int) -> list[tuple[int, ...]]:
    """Return all pairs of the `features` features that matter most; one number where there is one feature."""
    if scope is None:
        restricted = (ruleset.bounds != whole_box(ruleset.features)).any(axis=2)
        order = np.argsort(-by_feature(ruleset, restricted).sum(axis=0), kind="stable").tolist()
    else:
        order = ranked(ruleset, scope)
    most = sorted(order[:features])
    return [_upright(ruleset, pair) for pair in combinations(most, 2)] or [(most[0],)]


def _upright(ruleset: RuleSet, pair: tuple[int, ...]) -> tuple[int, ...]:
    """Return a pair with a feature that counts from above in its second place."""
    return pair[::-1] if ruleset.features[pair[0]].name in DOWNWARDS else pair


def ranked(ruleset: RuleSet, scope: Scope) -> list[int]:
    """Return the numbers of all features, the one that matters most first."""
    order: list[int] = np.argsort(-importance(ruleset, scope), kind="stable").tolist()
    return order


def importance(ruleset: RuleSet, scope: Scope) -> Floats:
    """Return how much each feature matters, `(features,)`.

    Among the states, a feature's values are swapped between states in the same few ways. The share of states
    in which the action changes counts, and a little the part of the feature's range that rules leave out, by
    the share of states that they decide.

    Args:
        ruleset: the rules.
        scope: the states: visited states, or decision states.
    """
    n_sampled = int(np.clip(MATCHES / (len(ruleset) * scope.points.shape[1] ** 2), *SAMPLES))
    rows = np.unique(np.linspace(0, len(scope.points) - 1, n_sampled).astype(np.int64))
    points, actions = scope.points[rows], scope.actions[rows]
    changed, moved = np.zeros(points.shape[1]), np.tile(points, (SWAPS, 1))
    shifts = [swap * len(points) // (SWAPS + 1) for swap in range(1, SWAPS + 1)]
    lows, highs = (ends.astype(np.float64) for ends in lows_and_highs(ruleset.features))
    lower, upper = ruleset.bounds[..., 0], ruleset.bounds[..., 1]
    # Payoffs are predicted from all features; elsewhere only those in a condition can change the action.
    mentioned = by_feature(ruleset, (lower > lows) | (upper < highs)).any(axis=0) | (not ruleset.ordered)
    for d in np.flatnonzero(mentioned):
        moved[:, d] = np.concatenate([np.roll(points[:, d], shift) for shift in shifts])
        changed[d] = (choose_at(ruleset, moved)[0] != np.tile(actions, SWAPS)).mean()
        moved[:, d] = np.tile(points[:, d], SWAPS)
    widths = np.where(highs > lows, highs - lows, 1.0)
    allowed = np.where(upper >= lower, upper - lower, upper - lower + widths)
    left_out = np.where(highs > lows, 1 - allowed / widths, 0.0)
    weights = scope.shares + FEW / len(ruleset)
    importances: Floats = changed + FEW * (weights @ by_feature(ruleset, left_out))
    return importances


def by_feature(ruleset: RuleSet, amounts: NDArray[Any]) -> NDArray[Any]:
    """Return amounts `(rules, features + terms)` by observed feature; a term's count for all its features."""
    n, involved = len(ruleset.observed_features), coefficients(ruleset.features) != 0
    return amounts[:, :n] + amounts[:, n:] @ involved if len(involved) else amounts


class Regions(NamedTuple):
    """A plane cut into cells, in each of which one rule decides."""

    across: Edges
    """`(columns + 1,)`: the edges of cells across."""
    down: Edges
    """`(rows + 1,)`: the edges of cells down."""
    deciders: Ints
    """`(rows, columns)`: the rule that decides, −1 for none."""
    points: Floats
    """`(rows · columns, features)`: a point in the middle of every cell, row by row."""

    def runs(self) -> list[tuple[int, Floats]]:
        """Return neighbouring cells with the same rule as one rectangle `(4, 2)`, with the rule."""
        rectangles, open_runs = [], dict[tuple[int, int, int], int]()
        for y, row in enumerate([*self.deciders, None]):
            current_runs: dict[tuple[int, int, int], int] = {}
            starts = [] if row is None else np.flatnonzero(np.diff(row, prepend=row[0] - 1)).tolist()
            for first, last in zip(starts, [*starts[1:], self.deciders.shape[1]], strict=False):
                run = int(self.deciders[y, first]), first, last
                current_runs[run] = open_runs.pop(run, y)
            for (rule, first, last), top in open_runs.items():
                box = np.concatenate([self.box(top, first, last)[:2], self.box(y - 1, first, last)[2:]])
                rectangles.append((rule, box))
            open_runs = current_runs
        return rectangles

    def box(self, row: int, first: int, last: int) -> Floats:
        """Return the corners of the cells of a row from column `first` up to column `last`, `(4, 2)`."""
        left, right, low, high = self.across[first], self.across[last], self.down[row], self.down[row + 1]
        return np.array([(left, low), (right, low), (right, high), (left, high)])

    def places(self) -> dict[int, tuple[float, float]]:
        """Return for every rule with enough room where its number is best written.

        That is in the cell of its own that is nearest to the middle of them all.
        """
        axis_edges = self.across, self.down
        x, y = ((edges - edges[0]) / (edges[-1] - edges[0]) for edges in axis_edges)
        areas, positions = np.outer(np.diff(y), np.diff(x)), {}
        for rule in np.unique(self.deciders).tolist():
            rows, columns = indices = np.nonzero(self.deciders == rule)
            if areas[indices].sum() < LEAST_AREA:
                continue
            centres, offsets = [], []
            for edges, cells in ((x, columns), (y, rows)):
                low, high = edges[cells], edges[cells + 1]
                middle = np.average((low + high) / 2, weights=areas[indices])
                room = np.minimum(MARGIN, (high - low) / 2)
                centres.append(np.clip(middle, low + room, high - room))
                offsets.append(centres[-1] - middle)
            best = int(np.argmin(np.hypot(*offsets)))
            position = (
                edges[0] + centre[best] * (edges[-1] - edges[0])
                for edges, centre in zip(axis_edges, centres, strict=True)
            )
            positions[rule] = float(next(position)), float(next(position))
        return positions


def rule_borders(across: Edges, down: Edges, deciders: NDArray[Any]) -> list[Floats]:
    """Return the lines between cells in which different rules decide, each `(2, 2)`.

    Args:
        across: the edges of the columns, `(columns + 1,)`.
        down: the edges of the rows, `(rows + 1,)`.
        deciders: the rule of every cell, `(rows, columns)`; cells with NaN have no borders.
    """
    lines = []
    for r, c in np.argwhere(np.nan_to_num(np.diff(deciders, axis=1))).tolist():
        lines.append(np.array([(across[c + 1], down[r]), (across[c + 1], down[r + 1])]))
    for r, c in np.argwhere(np.nan_to_num(np.diff(deciders, axis=0))).tolist():
        lines.append(np.array([(across[c], down[r + 1]), (across[c + 1], down[r + 1])]))
    return lines


def regions(ruleset: RuleSet, pair: Sequence[int], fixed: Floats) -> Regions:
    """Return where which rule decides over two features, or one.

    Args:
        ruleset: the rules.
        pair: the numbers of the features, the horizontal one first; one number gives a single row.
        fixed: the value of every feature, `(features,)`; those of the pair do not matter.
    """
    other_features = [d for d in range(len(fixed)) if d not in pair]
    reaching = ruleset.bounds[inside(ruleset.bounds[:, other_features], fixed[other_features]).all(axis=1)]
    exact = ruleset.ordered and not ruleset.terms  # borders along a term are slanted
    sides = [_edges(ruleset.features[d], reaching[:, d], exact) for d in pair]
    across, down = sides if len(pair) == 2 else (sides[0], np.array([0.0, 1.0]))
    columns, rows = len(across) - 1, len(down) - 1
    points = np.tile(fixed, (rows * columns, 1))
    points[:, pair[0]] = np.tile(_middles(ruleset.features[pair[0]], across), rows)
    if len(pair) == 2:
        points[:, pair[1]] = np.repeat(_middles(ruleset.features[pair[1]], down), columns)
    return Regions(across, down, choose_at(ruleset, points)[1].reshape(rows, columns), points)


def _edges(feature: Feature, bounds: Floats, exact: bool) -> Edges:
    """Return where cells begin and end along a feature."""
    if feature.low == feature.high or (feature.is_integer and feature.width <= MOST_VALUES):
        return np.arange(feature.low, feature.high + 2) - 0.5
    cut_points = [np.array([feature.low, feature.high], dtype=np.float64)]
    if exact or len(bounds) <= MANY_RULES:
        cut_points.append(bounds.ravel())
    if not exact:
        cut_points.append(np.linspace(feature.low, feature.high, FINE + 1))
    return np.unique(np.concatenate(cut_points))


def _middles(feature: Feature, edges: Edges) -> Floats:
    """Return a value inside every cell."""
    middles: Floats = edges[:-1] / 2 + edges[1:] / 2
    return np.rint(middles) if feature.is_integer else middles
