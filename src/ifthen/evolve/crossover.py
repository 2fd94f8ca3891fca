"""Uniform crossover: single alleles (PPL-DL) or whole rules (PPL-ST) of rulesets, bounds of rules (XCSF)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.randomness import uniform


@kernel
def swap_alleles(
    key: np.uint64,
    p_swap: float,
    bounds: NDArray[np.int32],
    actions: NDArray[np.int32],
    i: int,
    j: int,
) -> None:
    """Swap each allele, condition or action, between individuals i and j with probability `p_swap`."""
    rules, features = bounds.shape[1], bounds.shape[2]
    alleles = 2 * features + 1
    for r in range(rules):
        for d in range(features):
            for end in range(2):
                if uniform(key, r * alleles + 2 * d + end) < p_swap:
                    kept = bounds[i, r, d, end]
                    bounds[i, r, d, end] = bounds[j, r, d, end]
                    bounds[j, r, d, end] = kept
        if uniform(key, r * alleles + 2 * features) < p_swap:
            kept = actions[i, r]
            actions[i, r] = actions[j, r]
            actions[j, r] = kept


@kernel
def swap_rules(
    key: np.uint64,
    p_swap: float,
    bounds: NDArray[np.int32],
    actions: NDArray[np.int32],
    learnt: NDArray[np.float64],
    i: int,
    j: int,
) -> None:
    """Swap each rule, with all it carries, between individuals i and j with probability `p_swap`."""
    for r in range(bounds.shape[1]):
        if uniform(key, r) < p_swap:
            for d in range(bounds.shape[2]):
                for end in range(2):
                    kept = bounds[i, r, d, end]
                    bounds[i, r, d, end] = bounds[j, r, d, end]
                    bounds[j, r, d, end] = kept
            action = actions[i, r]
            actions[i, r] = actions[j, r]
            actions[j, r] = action
            for d in range(learnt.shape[2]):
                number = learnt[i, r, d]
                learnt[i, r, d] = learnt[j, r, d]
                learnt[j, r, d] = number


@kernel
def swap_bounds(key: np.uint64, p_swap: float, bounds: NDArray[np.int32], i: int, j: int) -> None:
    """Swap each bound between the conditions i and j of `(n, features, 2)` with probability `p_swap`."""
    for d in range(bounds.shape[1]):
        for end in range(2):
            if uniform(key, 2 * d + end) < p_swap:
                kept = bounds[i, d, end]
                bounds[i, d, end] = bounds[j, d, end]
                bounds[j, d, end] = kept
