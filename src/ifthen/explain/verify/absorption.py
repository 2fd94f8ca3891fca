"""Where a walk ends up: exact probabilities without a subtraction.

States are eliminated one by one (Grassmann, Taksar and Heyman, "Regenerative analysis and steady state
distributions for Markov chains", 1985): what leaves a state is added up and never taken as 1 minus what
stays, so that even a way out of probability 1e-300 is not lost in rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def ending_chances(steps: Floats, wanted: Floats, other: Floats) -> Floats:
    """Return the probability that a walk from each state ends in the wanted way, `(n,)`.

    Args:
        steps: probability of going from state to state, `(n, n)`; staying may be left in or out.
        wanted: of ending in the wanted way, `(n,)`.
        other: of ending in another, `(n,)`. From every state some end must be possible.
    """
    moves, good, bad = steps.copy(), wanted.copy(), other.copy()
    np.fill_diagonal(moves, 0.0)
    leaving = np.empty(len(moves))
    for k in range(len(moves) - 1, -1, -1):
        leaving[k] = moves[k, :k].sum() + good[k] + bad[k]
        share = moves[:k, k] / leaving[k]
        moves[:k, :k] += np.outer(share, moves[k, :k])
        good[:k] += share * good[k]
        bad[:k] += share * bad[k]
        np.fill_diagonal(moves, 0.0)
    chance = np.empty(len(moves))
    for k in range(len(moves)):
        chance[k] = (good[k] + moves[k, :k] @ chance[:k]) / leaving[k]
    return chance
