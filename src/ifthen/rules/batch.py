"""RuleBatch: the rules of a whole population, ready to play, and how one of its rulesets chooses an action.

The rulesets of a batch may differ in length: ruleset i has the first `lengths[i]` rules of its row, and what
stands behind them is never read.

Tables are played with `bounds` as they are. Elsewhere the batch is laid out as `Intervals`: the smaller bound
comes first, and an interval that reaches the edge of its feature's range is left open (−∞, +∞), because
values beyond the range count as its edge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import RuleError
from ifthen.jit import kernel
from ifthen.rules import box
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature, lows_and_highs
from ifthen.rules.ruleset import NULL_ACTION, RuleSet
from ifthen.rules.strength import StrengthRules

LIST, STRENGTH = 0, 1


class RuleBatch(NamedTuple):
    """The rules of n rulesets."""

    how: int
    """How they choose: LIST (the first matching rule) or STRENGTH (the strongest matching rule)."""
    bounds: NDArray[Any]
    """`(n, rules, features, 2)`: conditions as unordered bounds."""
    actions: NDArray[np.int32]
    """`(n, rules)`."""
    learnt: NDArray[np.float64]
    """`(n, rules, features + 2)`: w, then var; `(n, rules, 0)` in lists."""
    lengths: NDArray[np.int64]
    """`(n,)`: how many rules each ruleset has."""
    x0: float = 1.0
    """The constant before the state in predictions."""
    default: int = NULL_ACTION
    """The action where no rule matches; −1 for none."""

    def take(self, rulesets: NDArray[np.int64] | slice) -> Self:
        """Return some of the rulesets."""
        some: dict[str, Any] = {
            name: np.ascontiguousarray(getattr(self, name)[rulesets])
            for name in ("bounds", "actions", "learnt", "lengths")
        }
        return self._replace(**some)

    def digests(self) -> list[bytes]:
        """Return for each ruleset a digest that only rulesets with the same rules share."""
        columns = box.decode(self.bounds), self.actions, self.learnt
        parts = [np.ascontiguousarray(column).reshape(*self.actions.shape, -1) for column in columns]
        rules = np.concatenate([part.view(np.uint8) for part in parts if part.size], axis=2)
        common = blake2b(repr((self.how, self.x0, self.default)).encode(), digest_size=16)
        keys = []
        for i, n in enumerate(self.lengths.tolist()):
            digest = common.copy()
            digest.update(rules[i, :n].data)
            keys.append(digest.digest())
        return keys


class Intervals(NamedTuple):
    """The rules of n rulesets over features whose values cannot be listed."""

    how: int
    """LIST or STRENGTH."""
    lows: NDArray[np.float64]
    """`(n, rules, features)`: where intervals begin."""
    highs: NDArray[np.float64]
    """`(n, rules, features)`: where they end."""
    actions: NDArray[np.int32]
    """`(n, rules)`."""
    learnt: NDArray[np.float64]
    """`(n, rules, features + 2)`: w, then var; `(n, rules, 0)` in lists. The batch's own array."""
    lengths: NDArray[np.int64]
    """`(n,)`."""
    x0: float
    default: int
    floors: NDArray[np.float64]
    """`(features,)`: the smallest value of each feature; predictions are made from clipped values."""
    ceilings: NDArray[np.float64]
    """`(features,)`: the largest value of each feature."""

    @classmethod
    def of(cls, rules: RuleBatch, features: Sequence[Feature]) -> Self:
        """Lay out a batch over features."""
        floors, ceilings = (ends.astype(np.float64) for ends in lows_and_highs(tuple(features)))
        ordered = box.decode(rules.bounds).astype(np.float64)
        lows = np.where(ordered[..., 0] <= floors, -np.inf, ordered[..., 0])
        highs = np.where(ordered[..., 1] >= ceilings, np.inf, ordered[..., 1])
        own = rules.actions, rules.learnt, rules.lengths, float(rules.x0), rules.default
        return cls(rules.how, lows, highs, *own, floors, ceilings)


def batch_of(ruleset: RuleSet) -> RuleBatch | None:
    """Return a single ruleset as a batch of one; None for kinds whose rules choose together."""
    own = ruleset.bounds[None], ruleset.actions[None]
    lengths = np.array([len(ruleset)], dtype=np.int64)
    if isinstance(ruleset, StrengthRules):
        learnt = np.column_stack([ruleset.weights, ruleset.variances])[None]
        return RuleBatch(STRENGTH, *own, learnt, lengths, ruleset.x0)
    if isinstance(ruleset, DecisionList):
        return RuleBatch(LIST, *own, np.zeros((1, len(ruleset), 0)), lengths)
    return None


def stacked(rulesets: Sequence[RuleSet]) -> RuleBatch:
    """Return rulesets of one kind, which may differ in length, as one batch."""
    parts = [part for part in map(batch_of, rulesets) if part is not None]
    if len(parts) < len(rulesets) or len({(part.how, part.x0) for part in parts}) != 1:
        raise RuleError(
            "only decision lists, or only strength rules with one x0, can be played as one batch."
        )
    most = max(len(ruleset) for ruleset in rulesets)

    def filled(name: str) -> NDArray[Any]:
        columns = [getattr(part, name)[0] for part in parts]
        out = np.zeros((len(parts), most, *columns[0].shape[1:]), dtype=columns[0].dtype)
        for i, column in enumerate(columns):
            out[i, : len(column)] = column
        return out

    lengths = np.array([len(ruleset) for ruleset in rulesets], dtype=np.int64)
    own = filled("bounds"), filled("actions"), filled("learnt")
    return RuleBatch(parts[0].how, *own, lengths, parts[0].x0)


@kernel
def is_inside(rules: Intervals, i: int, r: int, points: NDArray[np.float64], lane: int) -> bool:
    """Return whether rule r of ruleset i matches the point."""
    for d in range(points.shape[1]):
        value = points[lane, d]
        if value < rules.lows[i, r, d] or value > rules.highs[i, r, d]:
            return False
    return True


@kernel
def predicted(rules: Intervals, i: int, r: int, points: NDArray[np.float64], lane: int) -> float:
    """Return w·x for rule r of ruleset i at the point, clipped to the features' ranges."""
    total: float = rules.learnt[i, r, 0] * rules.x0
    for d in range(points.shape[1]):
        value = min(max(points[lane, d], rules.floors[d]), rules.ceilings[d])
        total += rules.learnt[i, r, d + 1] * value
    return total


@kernel
def is_stronger(strength: float, action: int, top: float, best: int) -> bool:
    """Return whether a rule of this strength and action beats the strongest so far; best is −1 before any.

    Equal strengths go to the lower action. No short cuts: no processor can foresee which rule is stronger,
    and a wrong guess costs more than the comparisons.
    """
    return (strength > top) | (best < 0) | ((strength == top) & (action < best))


@kernel
def chosen(rules: Intervals, i: int, points: NDArray[np.float64], lane: int) -> int:
    """Return the action of ruleset i at the point, −1 for none."""
    best: int = NULL_ACTION
    top = -math.inf
    for r in range(rules.lengths[i]):
        if not is_inside(rules, i, r, points, lane):
            continue
        a: int = rules.actions[i, r]
        if rules.how == LIST:
            return a
        strength = predicted(rules, i, r, points, lane) - math.sqrt(rules.learnt[i, r, -1])
        if is_stronger(strength, a, top, best):
            best, top = a, strength
    return rules.default if best < 0 else best


@kernel
def choose_lanes(
    rules: Intervals,
    rulesets: NDArray[np.int64],
    points: NDArray[np.float64],
    out: NDArray[np.int64],
) -> None:
    """Write the action of every lane `(m,)`: that of its ruleset at its point `(m, features)`."""
    for lane in range(len(rulesets)):
        out[lane] = chosen(rules, rulesets[lane], points, lane)
