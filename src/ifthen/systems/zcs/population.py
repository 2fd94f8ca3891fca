"""The population of ZCS: between two problems, and while it learns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RECENT = 50
"""The field reports the mean steps of this many problems."""
LEAST, LARGEST = 1e-100, 1e100
"""Strengths stay above the first, so that every rule has its share of a wheel, and below the second."""
STEPS, EPISODES, GA_INVOCATIONS, COVERINGS, TIME = range(5)
"""What the clock counts; the last is the step of the present problem."""


class Population(NamedTuple):
    """The whole state of ZCS between two problems."""

    bounds: NDArray[np.float64]
    """`(N, features, 2)`: conditions, the lower bound first."""
    action: NDArray[np.int32]
    """`(N,)`."""
    strength: NDArray[np.float64]
    """`(N,)`: S."""
    clock: NDArray[np.int64]
    """`(5,)`: steps, problems, GA invocations, coverings; the last is 0 between problems."""
    recent: NDArray[np.int64]
    """`(50,)`: steps of the last problems; problem e is at e modulo 50, and 0 stands where there was none."""


class Settings(NamedTuple):
    """Parameters as kernels get them."""

    rules: int
    actions: int
    t_max: int
    p_any: float
    beta: float
    gamma: float
    tau: float
    chi: float
    mu: float
    ga_rate: float
    """Probability that the GA runs in a step."""
    phi: float
    scale: float
    raised: float
    """c: what every reward is raised by."""


class Learning(NamedTuple):
    """All that a step needs: a population with two places more, in which children grow."""

    bounds: NDArray[np.float64]
    action: NDArray[np.int32]
    strength: NDArray[np.float64]
    seen: NDArray[np.float64]
    """`(1, features)`: what is seen, inside the features' ranges."""
    held: NDArray[np.bool_]
    """`(N,)`: the action set of the step before, or of this one."""
    members: NDArray[np.int64]
    """`(N,)`: scratch, the rules that match."""
    wheel: NDArray[np.float64]
    """`(N,)`: scratch, shares of a roulette wheel."""
    clock: NDArray[np.int64]
    recent: NDArray[np.int64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    reach: NDArray[np.float64]
    """`(features,)`: furthest that a new interval reaches each side."""
    real: NDArray[np.bool_]
    settings: Settings


def packed(own: Learning) -> Population:
    """Return a population that has learnt."""
    n = own.settings.rules
    clock = own.clock.copy()
    clock[TIME] = 0
    return Population(
        own.bounds[:n].copy(), own.action[:n].copy(), own.strength[:n].copy(), clock, own.recent
    )
