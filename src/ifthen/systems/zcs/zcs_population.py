"""The population of ZCS: between two problems, and while it learns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats, Ints, Mask

RECENT = 50
"""The history's mean steps are those of this many last problems, as in the literature."""
LEAST = 1e-100
"""The smallest strength. Above 0, so that every rule has a share of the roulette wheel."""
LARGEST = 1e100
"""Larger strengths raise an error."""
STEPS, EPISODES, GA_INVOCATIONS, COVERINGS, TIME = range(5)
"""The counters in `clock`. TIME counts the steps of the present problem."""


class Population(NamedTuple):
    """The whole state of ZCS between two problems."""

    bounds: Floats
    """`(N, features, 2)`: conditions, the lower bound first."""
    action: NDArray[np.int32]
    """`(N,)`."""
    strength: Floats
    """`(N,)`: S."""
    clock: Ints
    """`(5,)`: steps, problems, GA invocations, coverings; the last is 0 between problems."""
    recent: Ints
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

    bounds: Floats
    action: NDArray[np.int32]
    strength: Floats
    observation: Floats
    """`(1, features)`: what is seen, inside the features' ranges."""
    action_set: Mask
    """`(N,)`: the action set of the step before, or of this one."""
    members: Ints
    """`(N,)`: scratch, the rules that match."""
    wheel: Floats
    """`(N,)`: scratch, shares of a roulette wheel."""
    clock: Ints
    recent: Ints
    lows: Floats
    highs: Floats
    reach: Floats
    """`(features,)`: furthest that a new interval reaches each side."""
    real: Mask
    settings: Settings


def packed(learning: Learning) -> Population:
    """Return a population that has learnt."""
    n = learning.settings.rules
    clock = learning.clock.copy()
    clock[TIME] = 0
    return Population(
        learning.bounds[:n].copy(),
        learning.action[:n].copy(),
        learning.strength[:n].copy(),
        clock,
        learning.recent,
    )
