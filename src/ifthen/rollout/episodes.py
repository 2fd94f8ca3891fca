"""What is known of episodes after they were played in an environment.

An episode is a pure function of its rules and its reset seed, so every individual meets the same numbers:
z, a fixed list of reset seeds, is common to all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import TaskError

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


def checked_actions(given: Any, n: int, n_actions: int) -> NDArray[np.int64]:
    """Return what a policy chose at n points, or raise TaskError where these are not actions."""
    actions = np.asarray(given)
    whole = actions.shape == (n,) and actions.dtype.kind in "iu"
    if not whole or (n and (actions.min() < -1 or actions.max() >= n_actions)):
        raise TaskError(
            f"a policy must return {n} whole numbers from -1 (no action) to {n_actions - 1}, one per point, "
            f"not {actions!r}."
        )
    return actions.astype(np.int64)
