"""What PPL-DL and PPL-ST share: the initial population and breeding.

An individual is a ruleset of fixed size. A generation is popSize/2 breeding rounds, each giving two
children; children replace the whole population (paper, sections "Design Commonalities" and "Comparison
Methodology").
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.evolve.alleles import Alleles, alleles_of, random_allele
from ifthen.evolve.crossover import swap_alleles, swap_rules
from ifthen.evolve.mutation import mutate
from ifthen.evolve.selection import tournament
from ifthen.jit import kernel
from ifthen.parallel import for_slices
from ifthen.randomness import below, fold, stream, uniform
from ifthen.rules.features import bounds_type
from ifthen.systems.pittsburgh_parameters import PittsburghParameters, sizes
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

ROUNDS_PER_SLICE = 64


class Population(NamedTuple):
    """n rulesets of equal size, and their fitness."""

    bounds: NDArray[Any]
    """`(n, rules, features, 2)`: conditions as unordered bounds; float64 where any feature is real."""
    actions: NDArray[np.int32]
    """`(n, rules)`."""
    learnt: NDArray[np.float64]
    """`(n, rules, …)`: what each rule has learnt and passes on; nothing in PPL-DL."""
    fitness: NDArray[np.float64]
    """`(n,)`."""


def first_population(
    parameters: PittsburghParameters, task: TabularTask | EnvTask, seed: int, learns: int
) -> Population:
    """Return random rulesets, each rule carrying `learns` zeros."""
    n, rules = sizes(parameters)
    population = empty_population(n, rules, len(task.features), learns, bounds_type(task.features))
    alleles = alleles_of(task.features, parameters.sigma, parameters.p_any)
    random_rules(stream(seed, "initial"), alleles, task.n_actions, population)
    return population


def empty_population(
    n: int, rules: int, features: int, learns: int, kind: type[np.int32] | type[np.float64] = np.int32
) -> Population:
    """Return a population whose alleles, numbers of the given kind, are not set yet."""
    return Population(
        np.empty((n, rules, features, 2), dtype=kind),
        np.empty((n, rules), dtype=np.int32),
        np.zeros((n, rules, learns)),
        np.zeros(n),
    )


def next_generation(
    parameters: PittsburghParameters,
    task: TabularTask | EnvTask,
    seed: int,
    epoch: int,
    threads: int,
    parents: Population,
    whole_rules: bool,
    purpose: Literal["breed", "rehearse"] = "breed",
) -> Population:
    """Return the children of a population, their fitness not measured yet; elites stand last."""
    n, rules, features, _ = parents.bounds.shape
    children = empty_population(n, rules, features, parents.learnt.shape[2], bounds_type(task.features))
    alleles = alleles_of(task.features, parameters.sigma, parameters.p_any)
    key = stream(seed, purpose, epoch)

    def work(first: int, last: int) -> None:
        breed(
            first,
            last,
            key,
            parents,
            parameters.tourn_size,
            parameters.p_cross,
            parameters.p_swap,
            parameters.p_mut,
            whole_rules,
            alleles,
            task.n_actions,
            children,
        )

    for_slices(work, n // 2, threads, ROUNDS_PER_SLICE)
    elites = np.argsort(-parents.fitness, kind="stable")[: parameters.elites]
    last = slice(n - len(elites), n)
    children.bounds[last] = parents.bounds[elites]
    children.actions[last] = parents.actions[elites]
    children.learnt[last] = parents.learnt[elites]
    return children


@kernel
def random_rules(
    key: np.uint64,
    alleles: Alleles,
    n_actions: int,
    out: Population,
) -> None:
    """Draw every allele of the population `out` from its range."""
    n, rules, features, _ = out.bounds.shape
    for i in range(n):
        own = fold(key, i)
        any_key = fold(own, 0)
        at = 0
        for r in range(rules):
            for d in range(features):
                for end in range(2):
                    out.bounds[i, r, d, end] = random_allele(own, any_key, at, d, end, alleles)
                    at += 1
            out.actions[i, r] = below(own, at, n_actions)
            at += 1


@kernel
def breed(
    first: int,
    last: int,
    key: np.uint64,
    parents: Population,
    tourn_size: int,
    p_cross: float,
    p_swap: float,
    p_mut: float,
    whole_rules: bool,
    alleles: Alleles,
    n_actions: int,
    children: Population,
) -> None:
    """Do breeding rounds `first` to `last − 1`: round j gives children 2j and 2j + 1."""
    for round_ in range(first, last):
        own = fold(key, round_)
        i, j = 2 * round_, 2 * round_ + 1
        for child in range(i, j + 1):
            parent = tournament(fold(own, child - i), parents.fitness, tourn_size)
            children.bounds[child] = parents.bounds[parent]
            children.actions[child] = parents.actions[parent]
            children.learnt[child] = parents.learnt[parent]
        if uniform(fold(own, 2), 0) < p_cross:
            if whole_rules:
                swap_rules(fold(own, 3), p_swap, children.bounds, children.actions, children.learnt, i, j)
            else:
                swap_alleles(fold(own, 3), p_swap, children.bounds, children.actions, i, j)
        for child in range(i, j + 1):
            mutate(
                fold(own, 4 + child - i),
                p_mut,
                children.bounds,
                children.actions,
                child,
                alleles,
                n_actions,
            )
