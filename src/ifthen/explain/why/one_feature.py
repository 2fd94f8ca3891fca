"""Changes of one feature alone: what is looked at where the nearest change of all cannot be found exactly.

Something can change where an interval of a rule begins or ends, and just beyond. Between, rules that compare
strengths or payoffs can change places too, so that values the same distance apart are tried as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.points import choose_at
from ifthen.rules.features import Feature
from ifthen.rules.ruleset import RuleSet

STEPS = 200
"""Values the same distance apart that are tried of every feature."""
TRIED = 2000
"""The most values that are tried of a feature: the nearest ones."""
DIGITS = 6


def nearest_alone(ruleset: RuleSet, start: Sequence[float], action: int) -> list[float] | None:
    """Return the nearest point found that differs in one feature and in its action; None where none was.

    Args:
        ruleset: the rules.
        start: the observation, `(features,)`.
        action: what is chosen there, −1 for none.
    """
    origin, found = np.asarray(start, dtype=np.float64), []
    inside = (ruleset.bounds[:, :, 0] <= origin) & (origin <= ruleset.bounds[:, :, 1])
    for d, feature in enumerate(ruleset.features):
        elsewhere = np.delete(inside, d, axis=1).all(axis=1)  # rules that a change of d alone can reach
        values = tried_values(feature, ruleset.bounds[elsewhere, d])
        order = np.argsort(np.abs(values - origin[d]), kind="stable")[:TRIED]
        points = np.tile(origin, (len(order), 1))
        points[:, d] = values[order]
        differs = np.flatnonzero(choose_at(ruleset, points)[0] != action)
        if len(differs):
            point = points[differs[0]]
            found.append((abs(point[d] - origin[d]) / (feature.high - feature.low), d, point.tolist()))
    return min(found)[2] if found else None


def tried_values(feature: Feature, ends: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return the values of a feature to try, ascending: `(n,)`, given the ends `(rules, 2)` of intervals."""
    bounds = np.unique(ends.astype(np.float64))
    steps = np.linspace(feature.low, feature.high, STEPS + 1)
    if feature.is_integer:
        values = np.concatenate([bounds, bounds - 1, bounds + 1, np.rint(steps)])
    else:
        beyond = np.nextafter(bounds, -np.inf), np.nextafter(bounds, np.inf)
        values = np.concatenate([bounds, *beyond, [float(f"{step:.{DIGITS}g}") for step in steps]])
    return np.unique(values[(feature.low <= values) & (values <= feature.high)])
