"""Random populations as arrays, with what a mutation needs to know about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ifthen import Feature
from ifthen.rules.feature import lows_and_highs
from ifthen.systems.pittsburgh import Population

FEATURES = (Feature("u", -3, 4), Feature("v", 0, 6), Feature("w", 2, 2))
RANGES = [(f.low, f.high) for f in FEATURES]
LOWS, HIGHS = lows_and_highs(FEATURES)
N_ACTIONS = 4


def copied(population: Population) -> Population:
    """Return a copy that may be changed."""
    arrays: Any = (array.copy() for array in population)
    return Population(*arrays)


def random_population(
    seed: int, n: int = 2, rules: int = 4, learns: int = 5, ragged: bool = False
) -> Population:
    """Return n individuals over FEATURES; many share their fitness, so that ties happen.

    Where they are ragged, they have from 1 to `rules` rules.
    """
    rng = np.random.default_rng(seed)
    bounds: Any = np.stack([rng.integers(low, high + 1, (n, rules, 2)) for low, high in RANGES], axis=2)
    return Population(
        np.ascontiguousarray(bounds.astype(np.int32)),
        rng.integers(0, N_ACTIONS, (n, rules)).astype(np.int32),
        rng.normal(size=(n, rules, learns)),
        rng.integers(0, 3, n) / 2,
        rng.integers(1, rules + 1, n) if ragged else np.full(n, rules),
    )
