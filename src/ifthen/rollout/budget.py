"""Which episodes of z a generation is measured on: all of them, or fewer to save time.

Three ways to spend less, alone or together:
- windows (incremental learning with alternating strata, ILAS: Bacardit and Garrell 2003): z is cut into
  windows, and each generation is measured on one of them, in turn;
- growing: the first generations are measured on a few episodes, and their number doubles now and then;
- racing: after an eighth, a quarter and half of its episodes only the better half of a population goes on.

The fittest ruleset of each generation is measured on all of z for the history, whatever was spent on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

HEATS = (1 / 8, 1 / 4, 1 / 2, 1.0)


class Budget(NamedTuple):
    """How many episodes a generation may spend."""

    windows: int = 1
    """Windows of z."""
    first_episodes: int | None = None
    """Episodes of the first generations; all where None."""
    double_every: int = 10
    """Generations after which that number doubles."""
    racing: bool = False
    """Whether the worse half stops early."""

    @property
    def saves(self) -> bool:
        """Whether anything is saved at all."""
        return self != Budget(double_every=self.double_every)

    def heats(self, epoch: int, episodes: int) -> list[NDArray[np.int64]]:
        """Return which of z's `episodes` an epoch plays: before each heat but the first, half drop out."""
        window = np.arange(epoch % self.windows, episodes, self.windows)
        if self.first_episodes is not None:
            doubled = min(epoch // self.double_every, 60)
            window = window[: self.first_episodes << doubled]
        ends = [int(np.ceil(share * len(window))) for share in HEATS] if self.racing else [len(window)]
        starts = [0, *ends[:-1]]
        return [window[first:last] for first, last in zip(starts, ends, strict=True) if last > first]
