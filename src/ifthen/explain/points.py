"""Points of a feature space: as plain data, and what rules choose at many of them."""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.features import Feature
from ifthen.rules.ruleset import RuleSet

Number = int | float
BLOCK = 4_000_000
"""How many matches, rules times points, are computed at a time: a thousand rules match a million points."""


def values_by_name(features: Sequence[Feature], point: Sequence[float]) -> dict[str, Number]:
    """Return a point as plain data: whole numbers for integer features."""
    pairs = zip(features, point, strict=True)
    return {feature.name: int(value) if feature.is_integer else float(value) for feature, value in pairs}


def choose_at(ruleset: RuleSet, points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what `ruleset.choose` does for any number of points `(n, features)`, in little memory."""
    actions, deciders = np.empty(len(points), dtype=np.int64), np.empty(len(points), dtype=np.int64)
    size = max(1, BLOCK // len(ruleset))
    for first in range(0, len(points), size):
        block = slice(first, first + size)
        actions[block], deciders[block] = ruleset.choose(points[block])
    return actions, deciders


def column_of(feature: str, taken: Container[str]) -> str:
    """Return the name of a feature's column in a table that has columns of its own with the names `taken`."""
    return f"feature_{feature}" if feature in taken else feature
