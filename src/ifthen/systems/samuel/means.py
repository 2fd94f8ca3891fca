"""Means in kernels, bit for bit those of NumPy: it adds blocks in eight sums, and longer arrays by halves."""

from __future__ import annotations

import numpy as np

from ifthen.jit import kernel
from ifthen.rules.arrays import Floats

BLOCK = 128
"""Longer arrays are added by halves."""
DEEPEST = 64
"""More halvings than any array can have."""


@kernel
def block_sum(values: Floats, first: int, n: int) -> float:
    """Return the sum of at most `BLOCK` values from number `first` on."""
    if n < 8:
        total = 0.0
        for i in range(first, first + n):
            total += values[i]
        return total
    a, b, c, d = values[first], values[first + 1], values[first + 2], values[first + 3]
    e, f, g, h = values[first + 4], values[first + 5], values[first + 6], values[first + 7]
    last = first + n - n % 8
    for i in range(first + 8, last, 8):
        a, b, c, d = a + values[i], b + values[i + 1], c + values[i + 2], d + values[i + 3]
        e, f, g, h = e + values[i + 4], f + values[i + 5], g + values[i + 6], h + values[i + 7]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(last, first + n):
        total += values[i]
    return float(total)


@kernel
def halved_sum(values: Floats) -> float:
    """Return the sum of more than `BLOCK` values: of the sums of two halves, and so on.

    Blocks are summed from first to last. Two sums of the same depth are the halves of one part.
    """
    sizes, depths = np.empty(DEEPEST, dtype=np.int64), np.empty(DEEPEST, dtype=np.int64)
    sums, sum_depths = np.empty(DEEPEST), np.empty(DEEPEST, dtype=np.int64)
    sizes[0], depths[0] = len(values), 0
    waiting, n_sums, first = 1, 0, 0
    while waiting > 0:
        waiting -= 1
        size, depth = sizes[waiting], depths[waiting]
        if size > BLOCK:
            half = size // 2
            half -= half % 8
            sizes[waiting], sizes[waiting + 1] = size - half, half
            depths[waiting], depths[waiting + 1] = depth + 1, depth + 1
            waiting += 2
        else:
            total = block_sum(values, first, size)
            first += size
            while n_sums > 0 and sum_depths[n_sums - 1] == depth:
                n_sums -= 1
                total, depth = sums[n_sums] + total, depth - 1
            sums[n_sums], sum_depths[n_sums] = total, depth
            n_sums += 1
    return float(sums[0])


@kernel
def mean_of(values: Floats) -> float:
    """Return the mean of values, bit for bit that of NumPy."""
    n = len(values)
    return (block_sum(values, 0, n) if n <= BLOCK else halved_sum(values)) / n
