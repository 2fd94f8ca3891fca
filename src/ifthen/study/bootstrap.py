"""Confidence intervals by the percentile bootstrap, from random numbers by position.

Resample r of n values takes those at places `below(key, r·n + i, n)`, i = 0 … n − 1, of the sorted
sample. The same values, in any order, and the same seed therefore give the same interval everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.checks import real_number, whole_number
from ifthen.jit import kernel
from ifthen.randomness import below, stream

RESAMPLES = 10_000
LEVEL = 0.95

Interval = tuple[float, float]


def middle_weights(n: int) -> NDArray[np.int64]:
    """Return the quarters of each of n sorted values that lie in the middle half; they add up to 2n.

    The value at place i, counted from 0, covers [i, i + 1] of a line of length n, whose middle half is
    [n/4, 3n/4]. A value on the border counts in part: of five values the weights are 0, 3, 4, 3, 0.

    Args:
        n: how many values there are.
    """
    quarters = [min(4 * i + 4, 3 * n) - max(4 * i, n) for i in range(n)]
    return np.array(quarters, dtype=np.int64).clip(min=0)


def bootstrap_intervals(
    values: NDArray[np.float64], seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL
) -> tuple[Interval, Interval]:
    """Return confidence intervals of the mean and of the interquartile mean.

    Args:
        values: the sample, (n,), finite; n ≥ 1.
        seed: chooses the resamples. Samples of equal size share them.
        resamples: how many resamples are drawn.
        level: the share of resampled means inside the interval, as much cut off below as above.
    """
    whole_number("resamples", resamples, 1, 10_000_000)
    outside = (1 - real_number("level", level, 0, 1)) / 2
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    means = np.empty((resamples, 2))
    key = stream(seed, "bootstrap")
    resample(ordered, middle_weights(ordered.size), key, 0, resamples, means)
    # Rounding must not carry a mean out of its sample: of equal values the mean is that value.
    np.clip(means, ordered[0], ordered[-1], out=means)
    (low, low_middle), (high, high_middle) = np.quantile(means, [outside, 1 - outside], axis=0).tolist()
    return (low, high), (low_middle, high_middle)


@kernel
def resample(
    ordered: NDArray[np.float64],
    weights: NDArray[np.int64],
    key: np.uint64,
    first: int,
    last: int,
    out: NDArray[np.float64],
) -> None:
    """Write mean and interquartile mean of the resamples `first` … `last` − 1 to `out`, (resamples, 2)."""
    n = ordered.size
    drawn = np.empty(n, dtype=np.int64)
    for r in range(first, last):
        drawn[:] = 0
        for i in range(n):
            drawn[below(key, r * n + i, n)] += 1
        total, middle, place = 0.0, 0.0, 0
        for i in range(n):
            # Counted by its place in the sorted sample, a resample is sorted without sorting.
            for _ in range(drawn[i]):
                total += ordered[i]
                middle += weights[place] * ordered[i]
                place += 1
        out[r, 0] = total / n
        out[r, 1] = middle / (2 * n)
