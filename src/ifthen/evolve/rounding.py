"""Bounds of real features, rounded to as many decimals as people want to read.

A feature's range is cut into 200 to 2,000 steps of a power of ten: 0.01 for [−4.8, 4.8]. Rules then say
"cart position ≤ 0.37", and nothing finer is ever searched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.rules.features import Feature

FEWEST_STEPS = 200


def decimal_scales(features: Sequence[Feature]) -> NDArray[np.float64]:
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
    return float(np.rint(value * scale) / scale + 0.0)
