"""What is known of episodes after they were played in an environment.

An episode is a pure function of its rules and its reset seed, so every individual meets the same numbers:
z, a fixed list of reset seeds, is common to all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TERMINATED, TRUNCATED, NULL = 0, 1, 2
Choose = Callable[[NDArray[np.float64]], NDArray[np.int64]]
"""A policy: points `(m, features)` in, actions `(m,)` out, −1 for none."""


class Episodes(NamedTuple):
    """What n individuals got from k reset seeds, each `(n, k)`."""

    returns: NDArray[np.float64]
    """Σ γ^t r_t, up to where the episode ended."""
    steps: NDArray[np.int64]
    """Steps taken."""
    endings: NDArray[np.int8]
    """TERMINATED, TRUNCATED, or NULL where no rule matched."""

    def put(self, individuals: NDArray[np.int64], seeds: NDArray[np.int64], got: Episodes) -> None:
        """Write what some individuals got from some seeds."""
        where = np.ix_(individuals, seeds)
        self.returns[where] = got.returns
        self.steps[where] = got.steps
        self.endings[where] = got.endings

    def some(self, seeds: slice) -> Episodes:
        """Return what was got from some of the seeds."""
        return Episodes(self.returns[:, seeds], self.steps[:, seeds], self.endings[:, seeds])
