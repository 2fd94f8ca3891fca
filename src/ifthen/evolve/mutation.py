"""Mutation: conditions move by geometric or Gaussian steps (PPL) or evenly (XCSF), actions are replaced."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.evolve.alleles import DRAWS, Alleles, moved, moved_allele
from ifthen.jit import kernel
from ifthen.randomness import below, uniform


@kernel
def mutate_action(key: np.uint64, at: int, p_mut: float, action: int, n_actions: int) -> int:
    """Return one of the other actions with probability `p_mut`, else the same."""
    if n_actions > 1 and uniform(key, at) < p_mut:
        other = below(key, at + 1, n_actions - 1)
        return other + (other >= action)
    return action


@kernel
def mutate(
    key: np.uint64,
    p_mut: float,
    bounds: NDArray[np.int32],
    actions: NDArray[np.int32],
    i: int,
    alleles: Alleles,
    n_actions: int,
) -> None:
    """Mutate each allele of individual i, condition or action, with probability `p_mut`."""
    rules, features = bounds.shape[1], bounds.shape[2]
    at = 0
    for r in range(rules):
        for d in range(features):
            for end in range(2):
                u = uniform(key, at)
                if u < p_mut:
                    old = bounds[i, r, d, end]
                    bounds[i, r, d, end] = moved_allele(key, at, old, d, end, u / p_mut, alleles)
                at += DRAWS
        actions[i, r] = mutate_action(key, at, p_mut, actions[i, r], n_actions)
        at += DRAWS


@kernel
def shift_bounds(
    key: np.uint64,
    p_mut: float,
    bounds: NDArray[np.int32],
    i: int,
    lows: NDArray[np.int32],
    highs: NDArray[np.int32],
    reach: NDArray[np.int32],
) -> None:
    """Move each bound of condition i of `(n, features, 2)` by 1 to `reach` with probability `p_mut`."""
    at = 0
    for d in range(bounds.shape[1]):
        for end in range(2):
            if uniform(key, at) < p_mut:
                shift = 1 + below(key, at + 2, reach[d])
                bounds[i, d, end] = moved(key, at, bounds[i, d, end], shift, lows[d], highs[d])
            at += DRAWS
