"""Bounds of real features: how covering draws and mutation moves them, rounded to readable decimals.

Integer features of an environment keep whole bounds, drawn and moved as on tabular tasks.
"""

from __future__ import annotations

import numpy as np

from ifthen.evolve.alleles import DRAWS, moved
from ifthen.evolve.rounding import rounded
from ifthen.jit import lean_kernel
from ifthen.randomness import below, uniform
from ifthen.systems.xcsf.population import Bounds
from ifthen.systems.xcsf.settings import Reach


@lean_kernel
def cover_real(key: np.uint64, value: float, bounds: Bounds, r: int, d: int, reach: Reach) -> None:
    """Draw both bounds of real feature d of rule r around a value, as far as covering reaches.

    Rounding could leave the value out: then the bound is the next step away from it.
    """
    scale, step = reach.scales[d], 1.0 / reach.scales[d]
    low = rounded(value - uniform(key, 1 + 2 * d) * reach.r0[d], scale)
    if low > value:
        low = rounded(low - step, scale)
    high = rounded(value + uniform(key, 2 + 2 * d) * reach.r0[d], scale)
    if high < value:
        high = rounded(high + step, scale)
    bounds[r, d, 0] = max(low, reach.lows[d])
    bounds[r, d, 1] = min(high, reach.highs[d])


@lean_kernel
def shift_mixed(key: np.uint64, p_mut: float, bounds: Bounds, i: int, reach: Reach) -> None:
    """Move each bound of condition i with probability `p_mut`: evenly, as far as mutation reaches."""
    at = 0
    for d in range(bounds.shape[1]):
        low, high = reach.lows[d], reach.highs[d]
        for end in range(2):
            if uniform(key, at) < p_mut:
                if reach.real[d]:
                    shift = (1.0 - uniform(key, at + 2)) * reach.m0[d]
                    value = rounded(moved(key, at, bounds[i, d, end], shift, low, high), reach.scales[d])
                    bounds[i, d, end] = min(max(value, low), high)
                else:
                    shift = 1.0 + below(key, at + 2, reach.m0[d])
                    bounds[i, d, end] = moved(key, at, bounds[i, d, end], shift, low, high)
            at += DRAWS
