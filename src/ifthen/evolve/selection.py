"""Selection of parents (paper, section "Design Commonalities")."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.randomness import below


@kernel
def tournament(key: np.uint64, fitness: NDArray[np.float64], size: int) -> int:
    """Return the fittest of `size` individuals drawn with replacement; the first drawn wins ties."""
    winner = below(key, 0, len(fitness))
    for draw in range(1, size):
        rival = below(key, draw, len(fitness))
        if fitness[rival] > fitness[winner]:
            winner = rival
    return winner
