"""The alleles of conditions: how they are drawn, and how they move.

Those of integer features are drawn evenly and move by geometric steps, as in the paper. Those of real
features are drawn evenly too, move by Gaussian steps in proportion to the feature's range, and are rounded to
a readable number of decimals. With probability `p_any` an allele is put at its end of the range, which leaves
that side of the interval open: without it, conditions on many features at once would match next to nothing.

To round, a real feature's range is cut into 200 to 2,000 steps of a power of ten: 0.01 for [−4.8, 4.8]. Rules
then say "cart position ≤ 0.37", and nothing finer is ever searched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.randomness import below, normal, uniform
from ifthen.rules.arrays import Floats
from ifthen.rules.feature import Feature, lows_and_highs

FEWEST_STEPS = 200
WIDE = 10_000
"""Moves of integer features with more values than this are not counted up, but come by logarithms."""
ALL_WHOLE = 2.0**52
"""From here on floats have no fraction: adding it rounds, and taking it off leaves a whole number."""
DRAWS = 3  # per allele: whether to mutate, which way or to what, how far


def decimal_scales(features: Sequence[Feature]) -> Floats:
    """Return per feature the power of ten whose inverse is the step of its bounds, `(features,)`.

    It is 1 for integer features, and for real ones whose range is wide.
    """
    return np.array([_scale(feature) for feature in features], dtype=np.float64)


def _scale(feature: Feature) -> float:
    width = float(feature.high) - float(feature.low)
    if feature.is_integer or width <= 0:
        return 1.0
    return 10.0 ** max(0, math.ceil(math.log10(FEWEST_STEPS / width)))


@kernel
def rounded(value: float, scale: float) -> float:
    """Return the nearest multiple of 1/scale, as the number that its decimals stand for; never −0."""
    return float(nearest_whole(value * scale) / scale + 0.0)


@kernel
def nearest_whole(value: float) -> float:
    """Return the nearest whole number, an even one of two; `np.rint` is not there on a GPU."""
    if value >= ALL_WHOLE or value <= -ALL_WHOLE:
        return value
    return (value + ALL_WHOLE) - ALL_WHOLE if value >= 0.0 else (value - ALL_WHOLE) + ALL_WHOLE


class Alleles(NamedTuple):
    """What the alleles of each feature may be, and how they move."""

    lows: NDArray[Any]
    """`(features,)`: the smallest value of each feature."""
    highs: NDArray[Any]
    """`(features,)`: the largest values; int32 where all features are integer, else float64."""
    tails: Floats
    """`(features,)`: 1 − p_geo of integer features."""
    sigmas: Floats
    """`(features,)`: the deviation of a move of real features; 0 for integer ones."""
    scales: Floats
    """`(features,)`: powers of ten to whose inverse alleles are rounded."""
    p_any: float
    """Probability that an allele is put at its end of the range."""


def alleles_of(features: Sequence[Feature], sigma: float = 0.1, p_any: float = 0.0) -> Alleles:
    """Return how the alleles of features are drawn and moved; see the parameters of PPL-DL and PPL-ST."""
    lows, highs = lows_and_highs(tuple(features))
    real = np.array([not feature.is_integer for feature in features])
    widths = np.where(real, highs.astype(np.float64) - lows, 0.0)
    tails = np.array([geometric_tail(feature) if feature.is_integer else 0.0 for feature in features])
    return Alleles(lows, highs, tails, sigma * widths, decimal_scales(features), float(p_any))


def geometric_tail(feature: Feature) -> float:
    """Return 1 − p_geo of an integer feature: 99 % of Geo(p_geo) lies within half of its width."""
    return float(0.01 ** (1 / max(1, feature.width // 2)))


@kernel
def random_allele(key: np.uint64, any_key: np.uint64, at: int, d: int, end: int, alleles: Alleles) -> float:
    """Return a new allele, drawn evenly from its range, or put at its end of it."""
    low, high = alleles.lows[d], alleles.highs[d]
    if alleles.p_any > 0.0 and uniform(any_key, at) < alleles.p_any:
        return float(low if end == 0 else high)
    if alleles.sigmas[d] == 0.0:
        return float(low + below(key, at, int(high - low) + 1))
    drawn = rounded(low + uniform(key, at) * (high - low), alleles.scales[d])
    return float(min(max(drawn, low), high))


@kernel
def geometric(u: float, tail: float, largest: int) -> int:
    """Return a variate on 1, 2, … whose probability of exceeding k is `tail`**k, at most `largest`."""
    if largest > WIDE:
        return largest if u <= 0.0 else int(min(max(math.ceil(math.log(u) / math.log(tail)), 1), largest))
    k = 1
    p_beyond = tail
    while u < p_beyond and k < largest:
        k += 1
        p_beyond *= tail
    return k


@kernel
def moved(key: np.uint64, at: int, value: float, shift: float, low: float, high: float) -> float:
    """Return a bound moved by `shift` one way or the other, as far as its range goes."""
    if uniform(key, at + 1) < 0.5:
        shift = -shift
    return min(max(value + shift, low), high)


@kernel
def moved_allele(
    key: np.uint64, at: int, value: float, d: int, end: int, share: float, alleles: Alleles
) -> float:
    """Return a mutated allele: put at its end of the range where `share` in [0, 1) says so, else moved."""
    low, high = alleles.lows[d], alleles.highs[d]
    if share < alleles.p_any:
        return float(low if end == 0 else high)
    if alleles.sigmas[d] == 0.0:
        shift = geometric(uniform(key, at + 2), alleles.tails[d], int(high - low) + 1)
        return float(moved(key, at, value, shift, low, high))
    shifted = rounded(value + alleles.sigmas[d] * normal(key, at + 1), alleles.scales[d])
    return float(min(max(shifted, low), high))
