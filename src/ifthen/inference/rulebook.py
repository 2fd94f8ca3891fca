"""The rules of many individuals, laid out for playing environments whose states have no numbers.

Intervals have their smaller bound first. Where one begins or ends at the edge of its feature's range it is
left open (−∞, +∞): values beyond the range count as its edge, and need not be clipped to be matched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.rules import box
from ifthen.rules.features import Feature, lows_and_highs
from ifthen.rules.ruleset import NULL_ACTION

LIST, STRENGTH = 0, 1


class Rulebook(NamedTuple):
    """The rules of n individuals, ready to play."""

    kind: int
    """How they choose: LIST (the first that matches) or STRENGTH (the strongest that matches)."""
    lows: NDArray[np.float64]
    """`(n, rules, features)`: where intervals begin,"""
    highs: NDArray[np.float64]
    """`(n, rules, features)`: and end."""
    actions: NDArray[np.int32]
    """`(n, rules)`."""
    learnt: NDArray[np.float64]
    """`(n, rules, features + 2)`: w, then var; `(n, rules, 0)` in lists."""
    x0: float
    """The constant before the state in predictions."""
    default: int
    """The action where nothing matches; −1 for none."""
    floors: NDArray[np.float64]
    """`(features,)`: the smallest values, to clip what predictions are made from,"""
    ceilings: NDArray[np.float64]
    """`(features,)`: and the largest."""

    @classmethod
    def of(
        cls,
        kind: int,
        bounds: NDArray[Any],
        actions: NDArray[np.int32],
        learnt: NDArray[np.float64],
        features: Sequence[Feature],
        x0: float = 1.0,
        default: int | None = None,
    ) -> Self:
        """Lay out a population.

        Args:
            kind: LIST or STRENGTH.
            bounds: conditions, `(n, rules, features, 2)`, in any order.
            actions: `(n, rules)`.
            learnt: what rules have learnt, `(n, rules, …)`.
            features: what conditions speak about.
            x0: the constant before the state in predictions.
            default: the action where nothing matches; None for none.
        """
        floors, ceilings = (ends.astype(np.float64) for ends in lows_and_highs(tuple(features)))
        ordered = box.decode(bounds).astype(np.float64)
        lows = np.where(ordered[..., 0] <= floors, -np.inf, ordered[..., 0])
        highs = np.where(ordered[..., 1] >= ceilings, np.inf, ordered[..., 1])
        none = NULL_ACTION if default is None else default
        return cls(kind, lows, highs, actions, learnt, float(x0), none, floors, ceilings)

    def take(self, individuals: NDArray[np.int64] | slice) -> Self:
        """Return the rules of some individuals."""
        return self._replace(
            lows=np.ascontiguousarray(self.lows[individuals]),
            highs=np.ascontiguousarray(self.highs[individuals]),
            actions=np.ascontiguousarray(self.actions[individuals]),
            learnt=np.ascontiguousarray(self.learnt[individuals]),
        )


@kernel
def is_inside(rules: Rulebook, i: int, r: int, points: NDArray[np.float64], lane: int) -> bool:
    """Return whether rule r of individual i matches the point."""
    for d in range(points.shape[1]):
        value = points[lane, d]
        if value < rules.lows[i, r, d] or value > rules.highs[i, r, d]:
            return False
    return True


@kernel
def predicted(rules: Rulebook, i: int, r: int, points: NDArray[np.float64], lane: int) -> float:
    """Return w·x for rule r of individual i at the point, clipped to the features' ranges."""
    total: float = rules.learnt[i, r, 0] * rules.x0
    for d in range(points.shape[1]):
        value = min(max(points[lane, d], rules.floors[d]), rules.ceilings[d])
        total += rules.learnt[i, r, d + 1] * value
    return total


@kernel
def chosen(rules: Rulebook, i: int, points: NDArray[np.float64], lane: int) -> int:
    """Return the action of individual i at the point, −1 for none."""
    best: int = NULL_ACTION
    top = -math.inf
    for r in range(rules.actions.shape[1]):
        if not is_inside(rules, i, r, points, lane):
            continue
        a: int = rules.actions[i, r]
        if rules.kind == LIST:
            return a
        strength = predicted(rules, i, r, points, lane) - math.sqrt(rules.learnt[i, r, -1])
        if best < 0 or strength > top or (strength == top and a < best):
            best, top = a, strength
    return rules.default if best < 0 else best


@kernel
def choose_lanes(
    rules: Rulebook,
    individuals: NDArray[np.int64],
    points: NDArray[np.float64],
    out: NDArray[np.int64],
) -> None:
    """Write the action of every lane `(m,)`: that of its individual at its point `(m, features)`."""
    for lane in range(len(individuals)):
        out[lane] = chosen(rules, individuals[lane], points, lane)
