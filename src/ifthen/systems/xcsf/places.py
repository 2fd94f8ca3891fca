"""Where rules meet states: all the states of a table, or the two live rows of an environment.

On environments the prediction is linear in x = (x0, (s − centre) / half), every feature scaled from its range
to [−1, 1]: angles and speeds then count alike, whatever they are measured in. Rulesets speak of s itself, so
their weights are turned back (`raw_weights`); what they predict is the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import lean_kernel
from ifthen.rules.box import ONE, ZERO
from ifthen.systems.xcsf.population import Bounds
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import Dynamics

ROWS = 2
UNROLLED = 16
"""The most features whose loops are unrolled; kernels are compiled for every number of features up to it."""


class Live(NamedTuple):
    """The live rows of an environment, in the place of a table's states."""

    states: NDArray[np.float64]
    """`(2, features)`: the features of the state before and of the present one, in turns."""
    points: NDArray[np.float64]
    """`(2, features)`: the same scaled to [−1, 1]."""
    axes: Any
    """The features' numbers: a tuple as in `Dynamics` where they are few, else an array."""
    centres: NDArray[np.float64]
    """`(features,)`: the middle of each feature's range,"""
    halves: NDArray[np.float64]
    """`(features,)`: and half its width, 1 where it has none."""


Places = Dynamics | Live


def live_rows(task: EnvTask) -> Live:
    """Return the live rows of a task, empty yet."""
    lows, highs = task.ranges
    features = len(task.features)
    halves = np.where(highs > lows, (highs - lows) / 2, 1.0)
    nothing = np.full((ROWS, features), np.nan)
    axes = tuple(range(features)) if features <= UNROLLED else np.arange(features)
    return Live(nothing, nothing.copy(), axes, (lows + highs) / 2, halves)


def raw_weights(weights: NDArray[np.float64], live: Live, x0: float) -> NDArray[np.float64]:
    """Return weights `(rules, features + 1)` of scaled features as those of the features themselves."""
    raw: NDArray[np.float64] = weights / np.concatenate([[1.0], live.halves])
    raw[:, 0] -= raw[:, 1:] @ live.centres / x0
    return raw


@lean_kernel
def matches_live(r: int, row: int, bounds: Bounds, live: NDArray[np.float64]) -> bool:
    """Return whether rule r matches the state in a live row; none matches NaN."""
    for d in range(bounds.shape[1]):
        one, other, value = bounds[r, d, 0], bounds[r, d, 1], live[row, d]
        if not (min(one, other) <= value <= max(one, other)):
            return False
    return True


@lean_kernel
def matched_live(r: int, bounds: Bounds, live: NDArray[np.float64]) -> np.uint64:
    """Return which live rows rule r matches."""
    inside = ZERO
    for row in range(len(live)):
        if matches_live(r, row, bounds, live):
            inside |= ONE << np.uint64(row)
    return inside
