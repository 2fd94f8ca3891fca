"""Planes through the space of features: what is chosen over two of them while the others are held fixed.

Whole-number features are asked at each of their values, real ones on a fine grid; what lies between its
points is not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError, nearest
from ifthen.rules.features import Feature
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular import TabularTask

FINE = 241
"""How many values of a real feature are looked at, and of a whole-number feature at most."""
FEATURES = 4
"""Of more features than this, those that most rules restrict are drawn."""
DOWNWARDS = ("y", "row")
"""Features that count from above by custom."""


def slice_actions(
    ruleset: RuleSet, pair: Sequence[int], fixed: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the values looked at, across and down, and the action chosen at each, `(down, across)`.

    Args:
        ruleset: the policy.
        pair: the numbers of the features, the horizontal one first; one number gives a single row.
        fixed: the value of every feature, `(features,)`; those of the pair do not matter.
    """
    across, down, points = _slice_points(ruleset, pair, fixed)
    return across, down, np.asarray(ruleset.predict(points)).reshape(len(down), len(across))


def slice_states(
    ruleset: RuleSet, pair: Sequence[int], fixed: NDArray[np.float64], task: TabularTask | None
) -> NDArray[np.bool_]:
    """Return where a slice's points are decision states of the task, `(down, across)`; all without one."""
    across, down, points = _slice_points(ruleset, pair, fixed)
    states = None if task is None else set(map(tuple, task.dynamics.points.tolist()))
    asked = [states is None or tuple(point) in states for point in points.tolist()]
    return np.array(asked).reshape(len(down), len(across))


def _slice_points(
    ruleset: RuleSet, pair: Sequence[int], fixed: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the values of a slice, across and down, and its points `(down · across, features)`."""
    across = _values(ruleset.features[pair[0]])
    down = _values(ruleset.features[pair[1]]) if len(pair) == 2 else np.zeros(1)
    points = np.tile(fixed, (len(down) * len(across), 1))
    points[:, pair[0]] = np.tile(across, len(down))
    if len(pair) == 2:
        points[:, pair[1]] = np.repeat(down, len(across))
    return across, down, points


def fixed_values(
    ruleset: RuleSet, task: TabularTask | None = None, at: Mapping[str, float] | None = None
) -> NDArray[np.float64]:
    """Return the values at which features are fixed, `(features,)`; see `slice_figure`."""
    values = np.array([_middle(feature) for feature in ruleset.features])
    if task is not None:
        ordered = np.sort(task.dynamics.points, axis=0)
        values = ordered[(len(ordered) - 1) // 2]  # not the mean of two: a value that occurs
    for name, value in (at or {}).items():
        d = _number_of(ruleset, name)
        feature = ruleset.features[d]
        if not feature.low <= value <= feature.high or (feature.is_integer and value % 1):
            kind = "whole" if feature.is_integer else "real"
            raise ParameterError(
                f"{name} must be fixed at a {kind} number from {feature.low} to {feature.high}, not {value}."
            )
        values[d] = value
    return values


def _middle(feature: Feature) -> float:
    """Return the middle of a feature's range."""
    return float(
        (feature.low + feature.high) // 2 if feature.is_integer else feature.low / 2 + feature.high / 2
    )


def _number_of(ruleset: RuleSet, name: str) -> int:
    """Return a feature's number, or raise."""
    names = [feature.name for feature in ruleset.features]
    if name not in names:
        raise ParameterError(f"unknown feature {name!r}.{nearest(str(name), names)}")
    return names.index(name)


def checked_axes(ruleset: RuleSet, axes: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the features that are to be drawn, or raise."""
    if isinstance(axes, str) or len(axes) not in (1, 2) or len(set(axes)) != len(axes):
        raise ParameterError(f"axes must be the names of one or two different features, not {axes!r}.")
    return _upright(ruleset, tuple(_number_of(ruleset, name) for name in axes))


def all_pairs(ruleset: RuleSet) -> list[tuple[int, ...]]:
    """Return the pairs of features that are drawn where none are asked for."""
    features = ruleset.features
    if len(features) == 1:
        return [(0,)]
    ends = np.array([(feature.low, feature.high) for feature in features])
    restricted = (ruleset.bounds != ends).any(axis=2).sum(axis=0)
    most = sorted(np.argsort(-restricted, kind="stable")[:FEATURES].tolist())
    return [_upright(ruleset, pair) for pair in combinations(most, 2)]


def _upright(ruleset: RuleSet, pair: tuple[int, ...]) -> tuple[int, ...]:
    """Return a pair with a feature that counts from above in its second place."""
    return pair[::-1] if ruleset.features[pair[0]].name in DOWNWARDS else pair


def _values(feature: Feature) -> NDArray[np.float64]:
    """Return the values of a feature that are looked at."""
    if feature.is_integer and feature.width <= FINE:
        return np.arange(feature.low, feature.high + 1, dtype=np.float64)
    values = np.linspace(feature.low, feature.high, FINE)
    return np.rint(values) if feature.is_integer else values
