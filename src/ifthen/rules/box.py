"""Boxes: conditions as one closed interval per feature, in unordered-bound representation.

A box is two alleles per feature in any order (Stone and Bull 2003); it matches a state when
min ≤ s_d ≤ max in every dimension d (paper, section "Design Commonalities").

On cyclic features the order of the two alleles counts: [300, 60] goes from 300 to the largest value and on
from the smallest one to 60, the interval *wraps*. `decode` leaves the larger bound first in such intervals
only. A value x then matches [a, b], wrapped or not, if two of x ≥ a, x ≤ b and a > b hold.

On tabular tasks the match set of each state is kept as a bit mask (bit r: rule r):
the AND over features of "rules whose interval contains this value". A mask is a row of 64-bit
words, so that any number of rules fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba import types
from numba.core.base import BaseContext
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.typing.templates import Signature
from numba.extending import overload
from numpy.typing import NDArray

from ifthen.jit import inlined_kernel, intrinsic, kernel
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.feature import Feature, lows_and_highs

WORD = 64
ZERO = np.uint64(0)
ONE = np.uint64(1)


def decode(bounds: NDArray[Any], cyclic: Mask | None = None) -> NDArray[Any]:
    """Return boxes `(…, features, 2)` with the smaller bound first, but for cyclic features `(features,)`."""
    exchanged = bounds[..., 1] < bounds[..., 0]
    if cyclic is not None and cyclic.any():
        exchanged &= ~cyclic
    return np.where(exchanged[..., None], bounds[..., ::-1], bounds)


def inside(bounds: NDArray[Any], values: NDArray[Any]) -> Mask:
    """Return which intervals `(…, 2)`, as `decode` gives them, hold the values beside them `(…)`."""
    above, below = values >= bounds[..., 0], values <= bounds[..., 1]
    wraps = bounds[..., 0] > bounds[..., 1]
    is_inside: Mask = np.where(wraps, above | below, above & below)
    return is_inside


def shared(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return the box that boxes `(…, features, 2)` share; see `is_box`. None may wrap, as below."""
    return np.stack([np.maximum(a[..., 0], b[..., 0]), np.minimum(a[..., 1], b[..., 1])], axis=-1)


def is_box(overlap: NDArray[Any]) -> Mask:
    """Return where what two boxes share `(…, features, 2)` has a point."""
    return np.asarray((overlap[..., 0] <= overlap[..., 1]).all(axis=-1))


def holds(outer: NDArray[Any], inner: NDArray[Any]) -> Mask:
    """Return which boxes `(…, features, 2)` hold all of others."""
    contained = (outer[..., 0] <= inner[..., 0]) & (outer[..., 1] >= inner[..., 1])
    return np.asarray(contained.all(axis=-1))


def pieces_around(hole: Floats, box: Floats, features: Sequence[Feature]) -> list[Floats]:
    """Return what a hole leaves of a box `(features, 2)`, as boxes without a common point."""
    if not is_box(shared(box, hole)):
        return [box]
    pieces, remaining = [], box.copy()
    for d, feature in enumerate(features):
        below = hole[d, 0] - 1 if feature.is_integer else np.nextafter(hole[d, 0], -np.inf)
        above = hole[d, 1] + 1 if feature.is_integer else np.nextafter(hole[d, 1], np.inf)
        for low, high in ((remaining[d, 0], below), (above, remaining[d, 1])):
            if low <= high:
                piece = remaining.copy()
                piece[d] = low, high
                pieces.append(piece)
        remaining[d] = max(remaining[d, 0], hole[d, 0]), min(remaining[d, 1], hole[d, 1])
    return pieces


def without_wraps(bounds: NDArray[Any], features: tuple[Feature, ...]) -> tuple[NDArray[Any], Ints]:
    """Return boxes `(n, features, 2)` cut in two where an interval wraps, and the box that each is a part of.

    The parts of a box have no point in common.
    """
    origins, (lows, highs) = np.arange(len(bounds)), lows_and_highs(features)
    for d in np.flatnonzero((bounds[..., 0] > bounds[..., 1]).any(axis=0)).tolist():
        box_of_part = np.repeat(np.arange(len(bounds)), 1 + (bounds[:, d, 0] > bounds[:, d, 1]))
        is_second = np.append(False, box_of_part[1:] == box_of_part[:-1])
        bounds, origins = bounds[box_of_part], origins[box_of_part]
        wraps = bounds[:, d, 0] > bounds[:, d, 1]
        bounds[wraps & ~is_second, d, 1] = highs[d]
        bounds[wraps & is_second, d, 0] = lows[d]
    return bounds, origins


def centres(bounds: NDArray[Any], features: tuple[Feature, ...]) -> Floats:
    """Return the centres of boxes `(n, features, 2)`; those of intervals that wrap lie on the way round."""
    middles: Floats = bounds.mean(axis=2)
    for n, d in np.argwhere(bounds[..., 0] > bounds[..., 1]):
        feature = features[d]
        way_round = feature.high - feature.low + feature.is_integer
        middle = middles[n, d] + way_round / 2
        middles[n, d] = np.clip(
            middle if middle <= feature.high else middle - way_round, feature.low, feature.high
        )
    return middles


@kernel
def words_for(rules: int) -> int:
    """Return how many 64-bit words a mask over `rules` rules has."""
    return (rules + WORD - 1) // WORD


@inlined_kernel
def rule_matches(bounds: NDArray[Any], r: int, points: Floats, s: int) -> bool:
    """Return whether box r of `(rules, features, 2)`, as `decode` gives them, matches point s."""
    for d in range(bounds.shape[1]):
        value, a, b = points[s, d], bounds[r, d, 0], bounds[r, d, 1]
        below, above = value < a, value > b
        if (below and above) if a > b else (below or above):
            return False
    return True


@kernel
def matches(bounds: NDArray[Any], points: Floats, out: Mask) -> None:
    """Write which of the boxes `(rules, features, 2)`, as `decode` gives them, match: `(n, rules)`."""
    for s in range(points.shape[0]):
        for r in range(bounds.shape[0]):
            out[s, r] = rule_matches(bounds, r, points, s)


@kernel
def contains(bounds: NDArray[np.int32], outer: int, inner: int) -> bool:
    """Return whether the box `outer` of `(n, features, 2)` contains all of `inner`; none of them wraps."""
    for d in range(bounds.shape[1]):
        if min(bounds[inner, d, 0], bounds[inner, d, 1]) < min(bounds[outer, d, 0], bounds[outer, d, 1]):
            return False
        if max(bounds[inner, d, 0], bounds[inner, d, 1]) > max(bounds[outer, d, 0], bounds[outer, d, 1]):
            return False
    return True


@intrinsic
def _count_trailing_zeros(typing: TypingContext, mask: types.Type) -> Any:
    """Stand for the machine's own instruction, which is several times faster than any table."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        true = context.get_constant(types.boolean, True)  # type: ignore[no-untyped-call]  # no types
        return builder.cttz(arguments[0], true)

    return types.uint64(types.uint64), generate


def trailing_zeros(mask: np.uint64) -> int:
    """Return the position of the lowest set bit of a non-zero mask (where nothing is compiled)."""
    return (int(mask) & -int(mask)).bit_length() - 1


@overload(trailing_zeros)
def _compiled_trailing_zeros(mask: object) -> Callable[[np.uint64], np.int64]:
    """Return what stands for `trailing_zeros` in compiled code."""

    def compiled(mask: object) -> np.int64:
        return np.int64(_count_trailing_zeros(mask))

    return compiled


@kernel
def lowest_bit(mask: np.uint64) -> int:
    """Return the position of the lowest set bit of a non-zero mask."""
    return trailing_zeros(mask)


@kernel
def match_masks(
    bounds: NDArray[np.int32],
    individual: int,
    length: int,
    states: NDArray[np.int32],
    lows: NDArray[np.int32],
    cyclic: Ints,
    value_masks: NDArray[np.uint64],
    out: NDArray[np.uint64],
) -> None:
    """Write the match set of every state `(states, features)` as bit masks, for one individual's rules.

    The individual has `length` rules. `bounds` is `(n, rules, features, 2)`, `cyclic` the numbers of cyclic
    features, `value_masks` scratch of `(features, widest, words)`.
    """
    features = states.shape[1]
    value_masks[:] = ZERO
    for r in range(length):
        word, bit = r // WORD, ONE << np.uint64(r % WORD)
        for d in range(features):
            a, b = bounds[individual, r, d, 0], bounds[individual, r, d, 1]
            for value in range(min(a, b) - lows[d], max(a, b) - lows[d] + 1):
                value_masks[d, value, word] |= bit
    for d in cyclic:
        for r in range(length):
            a, b = bounds[individual, r, d, 0] - lows[d], bounds[individual, r, d, 1] - lows[d]
            if a > b:  # an interval that wraps holds its ends, and else what lies outside them
                for value in range(value_masks.shape[1]):
                    if value != a and value != b:
                        value_masks[d, value, r // WORD] ^= ONE << np.uint64(r % WORD)
    for s in range(states.shape[0]):
        for word in range(out.shape[1]):
            mask = value_masks[0, states[s, 0] - lows[0], word]
            for d in range(1, features):
                mask &= value_masks[d, states[s, d] - lows[d], word]
            out[s, word] = mask
