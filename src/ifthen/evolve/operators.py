"""Selection, crossover and mutation.

Crossover is uniform: single alleles (PPL-DL) or whole rules (PPL-ST) of rulesets, bounds of rules (XCSF).
Mutation moves conditions by geometric or Gaussian steps (PPL) or evenly (XCSF), and replaces actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.evolve.alleles import DRAWS, Alleles, moved, moved_allele, rounded
from ifthen.jit import kernel
from ifthen.randomness import below, uniform
from ifthen.rules.arrays import Floats, Mask

Rulesets = Any
"""A NamedTuple of arrays `bounds`, `actions`, `learnt` and `lengths`, as in `RuleBatch`."""


@kernel
def tournament(key: np.uint64, fitness: Floats, size: int) -> int:
    """Return the fittest of `size` individuals drawn with replacement; the first drawn wins ties."""
    winner = below(key, 0, len(fitness))
    for draw in range(1, size):
        rival = below(key, draw, len(fitness))
        if fitness[rival] > fitness[winner]:
            winner = rival
    return winner


@kernel
def swap_alleles(key: np.uint64, p_swap: float, rulesets: Rulesets, i: int, j: int) -> None:
    """Swap each allele of the rules that i and j both have with probability `p_swap`."""
    bounds, actions, n_features = rulesets.bounds, rulesets.actions, rulesets.bounds.shape[2]
    n_alleles = 2 * n_features + 1
    for r in range(min(rulesets.lengths[i], rulesets.lengths[j])):
        for d in range(n_features):
            for end in range(2):
                if uniform(key, r * n_alleles + 2 * d + end) < p_swap:
                    bounds[i, r, d, end], bounds[j, r, d, end] = bounds[j, r, d, end], bounds[i, r, d, end]
        if uniform(key, r * n_alleles + 2 * n_features) < p_swap:
            actions[i, r], actions[j, r] = actions[j, r], actions[i, r]


@kernel
def swap_rules(key: np.uint64, p_swap: float, rulesets: Rulesets, i: int, j: int) -> None:
    """Swap each of the rules that i and j both have, with all it carries, with probability `p_swap`."""
    bounds, actions, learnt = rulesets.bounds, rulesets.actions, rulesets.learnt
    for r in range(min(rulesets.lengths[i], rulesets.lengths[j])):
        if uniform(key, r) < p_swap:
            for d in range(bounds.shape[2]):
                for end in range(2):
                    bounds[i, r, d, end], bounds[j, r, d, end] = bounds[j, r, d, end], bounds[i, r, d, end]
            actions[i, r], actions[j, r] = actions[j, r], actions[i, r]
            for d in range(learnt.shape[2]):
                learnt[i, r, d], learnt[j, r, d] = learnt[j, r, d], learnt[i, r, d]


@kernel
def swap_bounds(key: np.uint64, p_swap: float, bounds: NDArray[np.int32], i: int, j: int) -> None:
    """Swap each bound between the conditions i and j of `(n, features, 2)` with probability `p_swap`."""
    for d in range(bounds.shape[1]):
        for end in range(2):
            if uniform(key, 2 * d + end) < p_swap:
                bounds[i, d, end], bounds[j, d, end] = bounds[j, d, end], bounds[i, d, end]


@kernel
def mutate_action(key: np.uint64, at: int, p_mut: float, action: int, n_actions: int) -> int:
    """Return one of the other actions with probability `p_mut`, else the same."""
    if n_actions > 1 and uniform(key, at) < p_mut:
        other = below(key, at + 1, n_actions - 1)
        return other + (other >= action)
    return action


@kernel
def mutate(
    key: np.uint64, p_mut: float, rulesets: Rulesets, i: int, alleles: Alleles, n_actions: int
) -> None:
    """Mutate each allele of the rules of individual i with probability `p_mut`."""
    bounds, actions, n_features = rulesets.bounds, rulesets.actions, rulesets.bounds.shape[2]
    at = 0
    for r in range(rulesets.lengths[i]):
        for d in range(n_features):
            for end in range(2):
                u = uniform(key, at)
                if u < p_mut:
                    allele = bounds[i, r, d, end]
                    bounds[i, r, d, end] = moved_allele(key, at, allele, d, end, u / p_mut, alleles)
                at += DRAWS
        actions[i, r] = mutate_action(key, at, p_mut, actions[i, r], n_actions)
        at += DRAWS


@kernel
def shift_bounds(
    key: np.uint64,
    p_mut: float,
    bounds: NDArray[Any],
    i: int,
    lows: NDArray[Any],
    highs: NDArray[Any],
    reach: NDArray[Any],
    real: Mask,
    scales: Floats,
) -> None:
    """Move each bound of condition i of `(n, features, 2)` evenly with probability `p_mut`.

    Bounds of integer features move by 1 to `reach`; those of `real` features by up to `reach`, rounded.
    """
    at = 0
    for d in range(bounds.shape[1]):
        low, high = lows[d], highs[d]
        for end in range(2):
            if uniform(key, at) < p_mut:
                if real[d]:
                    shift = (1.0 - uniform(key, at + 2)) * reach[d]
                    value = rounded(moved(key, at, bounds[i, d, end], shift, low, high), scales[d])
                    bounds[i, d, end] = min(max(value, low), high)
                else:
                    shift = 1.0 + below(key, at + 2, reach[d])
                    bounds[i, d, end] = moved(key, at, bounds[i, d, end], shift, low, high)
            at += DRAWS
