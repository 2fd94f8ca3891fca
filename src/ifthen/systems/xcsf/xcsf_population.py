"""The population of XCSF: macroclassifiers in slots, bounded by their number of microclassifiers.

A slot whose numerosity is 0 is free; a new rule takes the lowest free one, and sets of rules are walked in
the order of slots. Between epochs a population is columns, one array per quantity (`Population`); while it
learns, a rule's numbers lie side by side in one record (`Classifiers`), which is where a processor wants
them. The covariance of RLS is symmetric, and only its upper triangle is kept, row by row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.box import WORD, words_for

Records = Any
"""A NumPy record array: `rules[r].fitness`, `clock[0].steps`. Compiled functions get it as one pointer."""
Bounds = Any
"""An array of bounds, or of numbers per feature: int32 on tabular tasks, float64 on environments."""

RULE = np.dtype(
    [
        ("fitness", np.float64),  # F
        ("error", np.float64),  # ε
        ("niche_error", np.float64),  # μ, the least error in the rule's niches
        ("set_size", np.float64),  # mean size of the rule's action sets, in microclassifiers
        ("experience", np.int64),  # updates so far
        ("stamp", np.int64),  # the step of the last GA invocation in an action set with the rule
        ("numerosity", np.int32),  # microclassifiers that the rule stands for; 0 where the slot is free
        ("action", np.int32),
        ("key", np.uint64),  # a hash of condition and action
    ]
)
KEPT = tuple(name for name in RULE.fields or () if name != "key")
CLOCK = np.dtype(
    [
        ("steps", np.int64),  # taken so far; what time stamps count
        ("episodes", np.int64),  # begun so far
        ("state", np.int64),  # where the present episode stands, −1 where none is running
        ("time", np.int64),  # steps taken in the present episode
        ("explore", np.int64),  # whether it explores
        ("before", np.int64),  # the state before, −1 where there is none
        ("micros", np.int64),  # microclassifiers in the population
        ("ga_invocations", np.int64),
        ("coverings", np.int64),
        ("insertions", np.int64),
        ("absorptions", np.int64),
        ("ga_subsumptions", np.int64),
        ("set_subsumptions", np.int64),
        ("deletions", np.int64),
        ("pending", np.float64),  # the reward that followed the state before
    ]
)
COUNTERS = (CLOCK.names or ())[:-1]
NURSERY = 2
LARGEST = 1e100


class Population(NamedTuple):
    """The whole state of XCSF between two steps, in the slots that are in use."""

    bounds: Bounds
    """`(slots, features, 2)`: conditions as unordered bounds."""
    action: NDArray[np.int32]
    """`(slots,)`."""
    numerosity: NDArray[np.int32]
    """`(slots,)`: microclassifiers that each rule stands for; 0 where the slot is free."""
    experience: Ints
    """`(slots,)`: updates so far."""
    stamp: Ints
    """`(slots,)`: the step of the last GA invocation in an action set with the rule."""
    fitness: Floats
    """`(slots,)`: F."""
    error: Floats
    """`(slots,)`: ε."""
    niche_error: Floats
    """`(slots,)`: μ, the least error in the rule's niches."""
    set_size: Floats
    """`(slots,)`: mean size of the rule's action sets, in microclassifiers."""
    weights: Floats
    """`(slots, features + 1)`: w, that of x0 first."""
    covariance: Floats
    """`(slots, (features + 1)(features + 2)/2)`: of RLS; nothing where the prediction is NLMS."""
    held: Mask
    """`(slots,)`: whether the rule is in the action set that waits for its payoff."""
    clock: Ints
    """The whole numbers of `CLOCK`: counters, and where the episode stands."""
    pending: Floats
    """`(1,)`: the reward that followed that action set."""


class Classifiers(NamedTuple):
    """A population while it learns, with room for one rule more than it may have.

    The last two slots are the nursery, where children grow before they enter the population.
    """

    rules: Records
    """`(capacity,)` of RULE."""
    bounds: Bounds
    """`(capacity, features, 2)`."""
    weights: Floats
    """`(capacity, features + 1)`."""
    covariance: Floats
    """`(capacity, …)`."""
    clock: Records
    """`(1,)` of CLOCK."""


def triangle(inputs: int) -> int:
    """Return how many numbers the upper triangle of a square matrix has."""
    return inputs * (inputs + 1) // 2


def empty_population(
    n_features: int, rls: bool, n_slots: int = 0, number_type: type = np.int32
) -> Population:
    """Return a population of free slots, before the first step; bounds are numbers of the given kind."""
    clock = np.zeros((), CLOCK)
    clock["state"] = clock["before"] = -1
    return Population(
        bounds=np.zeros((n_slots, n_features, 2), dtype=number_type),
        **{name: np.zeros(n_slots, RULE[name]) for name in KEPT},
        weights=np.zeros((n_slots, n_features + 1)),
        covariance=np.zeros((n_slots, triangle(n_features + 1) if rls else 0)),
        held=np.zeros(n_slots, dtype=np.bool_),
        clock=clock_numbers(clock),
        pending=np.zeros(1),
    )


def clock_numbers(clock: Records) -> Ints:
    """Return the whole numbers of a clock."""
    return np.array([int(clock[name]) for name in COUNTERS])


def clock_of(population: Population) -> dict[str, int]:
    """Return the counters of a population by name."""
    return dict(zip(COUNTERS, population.clock.tolist(), strict=True))


def unpacked(population: Population, pop_limit: int) -> Classifiers:
    """Return a population ready to learn: a copy, with room to grow."""
    n_slots, n_features, _ = population.bounds.shape
    capacity = WORD * words_for(pop_limit + 1) + NURSERY
    rules, clock = np.zeros(capacity, RULE), np.zeros(1, CLOCK)
    for name in KEPT:
        rules[name][:n_slots] = getattr(population, name)
    clock[0] = (*population.clock.tolist(), population.pending[0])
    classifiers = Classifiers(
        rules.view(np.recarray),
        np.zeros((capacity, n_features, 2), dtype=population.bounds.dtype),
        np.zeros((capacity, n_features + 1)),
        np.zeros((capacity, population.covariance.shape[1])),
        clock.view(np.recarray),
    )
    for name in ("bounds", "weights", "covariance"):
        getattr(classifiers, name)[:n_slots] = getattr(population, name)
    return classifiers


def packed(classifiers: Classifiers) -> Population:
    """Return a population that has learnt, up to its last rule, `held` not set yet; free slots are wiped."""
    rules, clock = classifiers.rules.view(np.ndarray), classifiers.clock.view(np.ndarray)[0]
    used_slots = np.flatnonzero(rules["numerosity"])
    n_slots = int(used_slots[-1]) + 1 if len(used_slots) else 0
    population = Population(
        bounds=classifiers.bounds[:n_slots].copy(),
        **{name: rules[name][:n_slots].copy() for name in KEPT},
        weights=classifiers.weights[:n_slots].copy(),
        covariance=classifiers.covariance[:n_slots].copy(),
        held=np.zeros(n_slots, dtype=np.bool_),
        clock=clock_numbers(clock),
        pending=np.array([clock["pending"]]),
    )
    if len(used_slots) < n_slots:
        free = population.numerosity == 0
        for array in population[:-2]:
            array[free] = 0
    return population


def too_large(population: Population) -> bool:
    """Return whether any number that was learnt is NaN, infinite or beyond all measure."""
    learnt = (population.weights, population.covariance, population.error, population.niche_error)
    return any(bool((~(np.abs(numbers) <= LARGEST)).any()) for numbers in (*learnt, population.pending))
