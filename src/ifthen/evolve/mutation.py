"""Mutation: conditions move by geometric noise (PPL) or evenly (XCSF), actions are replaced (paper)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.randomness import below, uniform
from ifthen.rules.features import Feature

DRAWS = 3  # per allele: whether to mutate, which way or to what, how far


def geometric_tails(features: tuple[Feature, ...]) -> NDArray[np.float64]:
    """Return 1 − p_geo per feature: 99 % of Geo(p_geo) lies within half of the feature's width."""
    halves = np.array([max(1, feature.width // 2) for feature in features])
    tails: NDArray[np.float64] = 0.01 ** (1 / halves)
    return tails


@kernel
def geometric(u: float, tail: float, most: int) -> int:
    """Return a variate on 1, 2, … whose probability of exceeding k is `tail`**k, at most `most`."""
    k = 1
    beyond = tail
    while u < beyond and k < most:
        k += 1
        beyond *= tail
    return k


@kernel
def moved(key: np.uint64, at: int, value: int, shift: int, low: int, high: int) -> int:
    """Return a bound moved by `shift` one way or the other, as far as its range goes."""
    if uniform(key, at + 1) < 0.5:
        shift = -shift
    return min(max(value + shift, low), high)


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
    lows: NDArray[np.int32],
    highs: NDArray[np.int32],
    tails: NDArray[np.float64],
    n_actions: int,
) -> None:
    """Mutate each allele of individual i, condition or action, with probability `p_mut`."""
    rules, features = bounds.shape[1], bounds.shape[2]
    at = 0
    for r in range(rules):
        for d in range(features):
            for end in range(2):
                if uniform(key, at) < p_mut:
                    shift = geometric(uniform(key, at + 2), tails[d], highs[d] - lows[d] + 1)
                    bounds[i, r, d, end] = moved(key, at, bounds[i, r, d, end], shift, lows[d], highs[d])
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
