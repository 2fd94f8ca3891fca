"""How much features vary: the standard deviation, unless a few wild values make it useless.

Environments write 1e6 for "nothing in sight" and the like. One such value in ten makes the standard deviation
10,000 times as large as the differences that matter. The middle of the values then says how much they vary.
"""

from __future__ import annotations

import numpy as np

from ifthen.rules.arrays import Floats

MIDDLE = (0.15, 0.85)
"""The middle of the values lies between these quantiles."""
WIDEST = 3.0
"""Values are wild where the standard deviation is more than this many times as large as the width of the
middle. It is about half as large where values are normal."""


def spreads_of(points: Floats) -> Floats:
    """Return by how much each column of points `(n, columns)` varies, `(columns,)`."""
    return centres_and_spreads(points)[1]


def centres_and_spreads(points: Floats) -> tuple[Floats, Floats]:
    """Return the centre and the spread of each column of points `(n, columns)`, `(columns,)` each.

    They are mean and standard deviation, or where values are wild the median and the width of the middle.
    """
    centres, spreads = points.mean(axis=0), points.std(axis=0)
    low, high = np.quantile(points, MIDDLE, axis=0)
    widths = high - low
    has_wild_values = (widths > 0) & (spreads > WIDEST * widths)
    if has_wild_values.any():
        centres = np.where(has_wild_values, np.median(points, axis=0), centres)
    return centres, np.where(has_wild_values, widths, spreads)
