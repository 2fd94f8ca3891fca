"""RuleBatch: the rules of a whole population, ready to play, and how one of its rulesets chooses an action.

The rulesets of a batch may differ in length: ruleset i has the first `lengths[i]` rules of its row, and what
stands behind them is never read.

Tables are played with `bounds` as they are. Elsewhere the batch is laid out as `Intervals`: the smaller bound
comes first, unless the interval of a cyclic feature wraps (`ifthen.rules.box`). An interval that reaches the
edge of its feature's range is left open (−∞, +∞), because values beyond the range count as its edge.

Rulesets may have terms (`ifthen.rules.term`), each its own coefficients: conditions are then intervals of
features and, behind them, of terms. A ruleset with fewer terms than others has terms without any
coefficient, whose value is 0, and leaves them open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import RuleError
from ifthen.jit import inlined_kernel, kernel, lean_kernel
from ifthen.rules import box
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature, cyclic_ones, lows_and_highs
from ifthen.rules.ruleset import NULL_ACTION, RuleSet
from ifthen.rules.strength import StrengthRules
from ifthen.rules.term import coefficients, observed_of, ranges_of, term_value

LIST, STRENGTH = 0, 1
"""How rulesets of a batch choose: the first matching rule, or the strongest."""
NO_TERMS = np.zeros((0, 0, 0))


class RuleBatch(NamedTuple):
    """The rules of n rulesets."""

    how: int
    """How they choose: LIST (the first matching rule) or STRENGTH (the strongest matching rule)."""
    bounds: NDArray[Any]
    """`(n, rules, features + terms, 2)`: unordered bounds; of cyclic features they have an order."""
    actions: NDArray[np.int32]
    """`(n, rules)`."""
    learnt: Floats
    """`(n, rules, features + 2)`: w, then var; `(n, rules, 0)` in lists."""
    lengths: Ints
    """`(n,)`: how many rules each ruleset has."""
    x0: float = 1.0
    """The constant before the state in predictions."""
    default: int = NULL_ACTION
    """The action where no rule matches; −1 for none."""
    terms: Floats = NO_TERMS
    """`(n, terms, features)`: the coefficients of each ruleset's terms; only lists may have any."""

    def take(self, rulesets: Ints | slice) -> Self:
        """Return some of the rulesets."""
        columns: dict[str, Any] = {
            name: np.ascontiguousarray(getattr(self, name)[rulesets])
            for name in ("bounds", "actions", "learnt", "lengths", *(("terms",) if self.terms.size else ()))
        }
        return self._replace(**columns)

    def digests(self, features: Sequence[Feature] = ()) -> list[bytes]:
        """Return for each ruleset a digest that only rulesets with the same rules share.

        Args:
            features: the task's features; they must be given where any of them is cyclic.
        """
        columns = box.decode(self.bounds, _cyclic(self, features)), self.actions, self.learnt
        flattened = [np.ascontiguousarray(column).reshape(*self.actions.shape, -1) for column in columns]
        rules = np.concatenate([flat.view(np.uint8) for flat in flattened if flat.size], axis=2)
        common = blake2b(repr((self.how, self.x0, self.default)).encode(), digest_size=16)
        keys = []
        for i, n in enumerate(self.lengths.tolist()):
            digest = common.copy()
            digest.update(rules[i, :n].data)
            if self.terms.size:
                digest.update((self.terms[i] + 0.0).tobytes())
            keys.append(digest.digest())
        return keys


class Intervals(NamedTuple):
    """The rules of n rulesets over features whose values cannot be listed."""

    how: int
    """LIST or STRENGTH."""
    lows: Floats
    """`(n, rules, features + terms)`: where intervals begin."""
    highs: Floats
    """`(n, rules, features + terms)`: where they end; before they begin where they wrap."""
    actions: NDArray[np.int32]
    """`(n, rules)`."""
    learnt: Floats
    """`(n, rules, features + 2)`: w, then var; `(n, rules, 0)` in lists. The batch's own array."""
    lengths: Ints
    """`(n,)`."""
    x0: float
    default: int
    floors: Floats
    """`(features,)`: the smallest value of each feature; predictions and terms take clipped values."""
    ceilings: Floats
    """`(features,)`: the largest value of each feature."""
    terms: Floats
    """`(n, terms, features)`: coefficients."""
    wrap: tuple[bool, ...] = ()
    """`(True,)` where a feature is cyclic, so that intervals may wrap, else empty. A tuple's length is known
    when a kernel is compiled: other tasks do not pay for it."""

    @classmethod
    def of(cls, rules: RuleBatch, features: Sequence[Feature]) -> Self:
        """Lay out a batch over the features of its task."""
        lows, highs = np.empty(rules.bounds.shape[:-1]), np.empty(rules.bounds.shape[:-1])
        put_intervals(Layout.of(rules, features, lows, highs))
        return cls.around(rules, features, lows, highs)

    @classmethod
    def around(cls, rules: RuleBatch, features: Sequence[Feature], lows: Floats, highs: Floats) -> Self:
        """Return a batch whose intervals are in arrays that are given."""
        floors, ceilings = _ends(features)
        columns = rules.actions, rules.learnt, rules.lengths, float(rules.x0), rules.default
        wrap = (True,) if any(feature.cyclic for feature in features) else ()
        return cls(rules.how, lows, highs, *columns, floors, ceilings, rules.terms, wrap)


class Layout(NamedTuple):
    """What turns the bounds of a batch into intervals."""

    bounds: NDArray[Any]
    """`(n, rules, features + terms, 2)`."""
    cyclic: Mask
    """`(features + terms,)`."""
    least: Floats
    """`(1, features)`, or `(n, features + terms)` where rulesets have terms: the smallest values."""
    most: Floats
    """The same: the largest values."""
    lows: Floats
    """`(n, rules, features + terms)`: filled by `put_intervals`."""
    highs: Floats
    """`(n, rules, features + terms)`: filled by `put_intervals`."""

    @classmethod
    def of(cls, rules: RuleBatch, features: Sequence[Feature], lows: Floats, highs: Floats) -> Self:
        """Return what turns a batch into the intervals `lows` and `highs`."""
        floors, ceilings = _ends(features)
        least, most = floors[None], ceilings[None]
        if rules.terms.size:
            if rules.how != LIST:
                raise RuleError("only decision lists may have terms.")
            shape = len(rules.terms), len(floors)
            end_pairs = zip((floors, ceilings), ranges_of(rules.terms, floors, ceilings), strict=True)
            least, most = (
                np.concatenate([np.broadcast_to(ends, shape), term_ends], axis=1)
                for ends, term_ends in end_pairs
            )
        return cls(rules.bounds, _cyclic(rules, features), least, most, lows, highs)


def _ends(features: Sequence[Feature]) -> tuple[Floats, Floats]:
    """Return the smallest and the largest value of each observed feature."""
    floors, ceilings = (ends.astype(np.float64) for ends in lows_and_highs(observed_of(features)))
    return floors, ceilings


def _cyclic(rules: RuleBatch, features: Sequence[Feature]) -> Mask:
    """Return which features of a batch, terms included, are cyclic."""
    observed_cyclic = cyclic_ones(observed_of(features))
    return np.append(observed_cyclic, np.zeros(rules.bounds.shape[2] - len(observed_cyclic), dtype=np.bool_))


def batch_of(ruleset: RuleSet) -> RuleBatch | None:
    """Return a single ruleset as a batch of one; None for kinds whose rules choose together."""
    # Copies, because kernels would be compiled anew for arrays that cannot be written to.
    columns = ruleset.bounds[None].copy(), ruleset.actions[None].copy()
    lengths = np.array([len(ruleset)], dtype=np.int64)
    if isinstance(ruleset, StrengthRules):
        learnt = np.column_stack([ruleset.weights, ruleset.variances])[None]
        return RuleBatch(STRENGTH, *columns, learnt, lengths, ruleset.x0)
    if isinstance(ruleset, DecisionList):
        terms = coefficients(ruleset.features)[None]
        return RuleBatch(LIST, *columns, np.zeros((1, len(ruleset), 0)), lengths, terms=terms)
    return None


def stacked(rulesets: Sequence[RuleSet]) -> RuleBatch:
    """Return rulesets of one kind, which may differ in length, as one batch."""
    batches = [batch for batch in map(batch_of, rulesets) if batch is not None]
    if len(batches) < len(rulesets) or len({(batch.how, batch.x0) for batch in batches}) != 1:
        raise RuleError(
            "only decision lists, or only strength rules with one x0, can be played as one batch."
        )

    def filled(name: str) -> NDArray[Any]:
        """Return the columns of all rulesets, zeros where one is shorter or has fewer terms."""
        columns = [getattr(batch, name)[0] for batch in batches]
        shape = np.max([column.shape for column in columns], axis=0)
        out = np.zeros((len(batches), *shape), dtype=np.result_type(*columns))
        for i, column in enumerate(columns):
            out[i][tuple(slice(size) for size in column.shape)] = column
        return out

    lengths = np.array([len(ruleset) for ruleset in rulesets], dtype=np.int64)
    stacked_columns = filled("bounds"), filled("actions"), filled("learnt")
    terms = filled("terms") if any(batch.terms.size for batch in batches) else NO_TERMS
    return RuleBatch(batches[0].how, *stacked_columns, lengths, batches[0].x0, terms=terms)


@inlined_kernel
def put_interval(layout: Layout, i: int, r: int, d: int) -> None:
    """Write the interval of rule r of ruleset i on feature or term d."""
    low, high = float(layout.bounds[i, r, d, 0]), float(layout.bounds[i, r, d, 1])
    if high < low and not layout.cyclic[d]:
        low, high = high, low
    row = i if layout.least.shape[0] > 1 else 0
    layout.lows[i, r, d] = -math.inf if low <= layout.least[row, d] else low
    layout.highs[i, r, d] = math.inf if high >= layout.most[row, d] else high


@kernel
def put_intervals(layout: Layout) -> None:
    """Write all intervals of a batch."""
    n, rules, features = layout.lows.shape
    for i in range(n):
        for r in range(rules):
            for d in range(features):
                put_interval(layout, i, r, d)


@lean_kernel
def put_terms(rules: Intervals, i: int, points: Floats, lane: int) -> None:
    """Write the values of ruleset i's terms behind the features of the point: `(…, features + terms)`."""
    for t in range(rules.terms.shape[1]):
        value = term_value(rules.terms, i, t, rules.floors, rules.ceilings, points, lane)
        points[lane, len(rules.floors) + t] = value


@lean_kernel
def is_inside(rules: Intervals, i: int, r: int, points: Floats, lane: int) -> bool:
    """Return whether rule r of ruleset i matches the point."""
    features = len(rules.floors)
    for d in range(features):
        value = points[lane, d]
        low, high = rules.lows[i, r, d], rules.highs[i, r, d]
        below, above = value < low, value > high
        if (below and above) if len(rules.wrap) > 0 and low > high else (below or above):
            return False
    for t in range(rules.terms.shape[1]):
        low, high = rules.lows[i, r, features + t], rules.highs[i, r, features + t]
        if low > -math.inf or high < math.inf:
            value = term_value(rules.terms, i, t, rules.floors, rules.ceilings, points, lane)
            if value < low or value > high:
                return False
    return True


@lean_kernel
def predicted(rules: Intervals, i: int, r: int, points: Floats, lane: int) -> float:
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


@lean_kernel
def chosen(rules: Intervals, i: int, points: Floats, lane: int) -> int:
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
def choose_lanes(rules: Intervals, rulesets: Ints, points: Floats, out: Ints) -> None:
    """Write the action of every lane `(m,)`: that of its ruleset at its point `(m, features)`."""
    for lane in range(len(rulesets)):
        out[lane] = chosen(rules, rulesets[lane], points, lane)
