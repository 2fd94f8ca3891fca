"""What PPL-DL and PPL-ST share: parameters, the initial population and breeding.

An individual is a ruleset of fixed size. A generation is pop_size/2 breeding rounds, each giving two
children; children replace the whole population (paper, sections "Design Commonalities" and "Comparison
Methodology").
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.evolve.alleles import Alleles, alleles_of, random_allele
from ifthen.evolve.operators import mutate, swap_alleles, swap_rules, tournament
from ifthen.jit import kernel
from ifthen.parallel import for_slices
from ifthen.randomness import below, fold, stream, uniform
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.batch import RuleBatch
from ifthen.rules.feature import bounds_type
from ifthen.rules.ruleset import NULL_ACTION, RuleSet
from ifthen.simulate.gpu import Backend
from ifthen.simulate.simulator import Budget
from ifthen.systems.parameters import Parameters, above, between, either, linear, logarithmic, setting
from ifthen.tasks.task import Task

ROUNDS_PER_SLICE = 64
SHARE = 10
"""One individual in ten is the ruleset to start from: crossover soon undoes a single copy."""


class PittsburghParameters(Parameters):
    """Parameters of both PPL systems; the defaults are the paper's."""

    idv_size: int | None = between(
        None,
        1,
        10_000,
        "Rules per ruleset; what suits the task where not given (paper: 7, 21, 42).",
        logarithmic(4, 48),
    )
    pop_size: int | None = between(
        None,
        2,
        1_000_000,
        "Rulesets in the population, even; 16 times idv_size where not given.",
        logarithmic(40, 800, multiple=2),
    )
    tourn_size: int = between(3, 1, 1000, "Individuals drawn per selection tournament.", linear(2, 10))
    p_cross: float = between(0.7, 0, 1, "Probability that two parents are crossed.", linear(0, 1))
    p_swap: float = between(0.5, 0, 1, "Probability that a unit is swapped in crossover.", linear(0.05, 0.5))
    p_mut: float = between(0.01, 0, 1, "Probability that an allele mutates.", logarithmic(0.002, 0.3))
    p_any: float = between(
        0.0,
        0,
        1,
        "Probability that a new or mutated bound is put at the edge of its feature's range, which "
        "leaves that side open (paper: 0).",
        linear(0, 0.9),
    )
    sigma: float = above(
        0.1,
        0,
        10,
        "Deviation of a mutation of a real feature's bound, as a share of the feature's range.",
        logarithmic(0.01, 1),
    )
    elites: int = between(
        0, 0, 1_000_000, "Fittest rulesets that are taken over as they are (paper: 0).", linear(0, 10)
    )
    windows: int = between(
        1,
        1,
        100_000,
        "In environments: windows of the training seeds; each generation plays one of them (ILAS).",
    )
    first_episodes: int | None = between(
        None,
        1,
        100_000,
        "In environments: episodes that the first generations play; all of z where not given.",
    )
    double_every: int = between(
        10, 1, 10_000_000, "Generations after which first_episodes doubles, until all of z is played."
    )
    racing: bool = setting(
        False,
        "In environments: after 1/8, 1/4 and 1/2 of the episodes only the better half plays on.",
        either(False, True),
    )
    fitness: Literal["sampled", "exact"] = setting(
        "sampled", "Performance on the training episodes (the paper's z), or exact policy evaluation."
    )
    backend: Backend = setting(
        "cpu",
        "What plays populations: cpu, cuda (a GPU of NVIDIA), or auto (the GPU where there is one).",
    )

    @property
    def sizes(self) -> tuple[int, int]:
        """Rulesets in the population and rules per ruleset, once those left to the task are filled in."""
        assert self.pop_size is not None
        assert self.idv_size is not None
        return self.pop_size, self.idv_size

    @property
    def budget(self) -> Budget:
        """How many episodes of z a generation may spend in an environment."""
        return Budget(self.windows, self.first_episodes, self.double_every, self.racing)


class Population(NamedTuple):
    """n rulesets and their fitness."""

    bounds: NDArray[Any]
    """`(n, rules, features, 2)`: conditions as unordered bounds; float64 where any feature is real."""
    actions: NDArray[np.int32]
    """`(n, rules)`."""
    learnt: Floats
    """`(n, rules, …)`: what each rule has learnt and passes on; nothing in PPL-DL."""
    fitness: Floats
    """`(n,)`."""
    lengths: Ints
    """`(n,)`: how many rules each ruleset has, from the first of its row on."""

    def batch(self, how: int, x0: float = 1.0, default: int | None = None) -> RuleBatch:
        """Return the rulesets ready to play."""
        action = NULL_ACTION if default is None else default
        return RuleBatch(how, self.bounds, self.actions, self.learnt, self.lengths, x0, action)

    def fittest(self) -> tuple[NDArray[Any], NDArray[np.int32], Floats]:
        """Return the bounds, the actions and the learnt numbers of the fittest ruleset."""
        best = int(self.fitness.argmax())
        used = slice(0, int(self.lengths[best]))
        return self.bounds[best, used], self.actions[best, used], self.learnt[best, used]


class Variation(NamedTuple):
    """How children are made of their parents; rates are those of `PittsburghParameters`."""

    tourn_size: int
    p_cross: float
    p_swap: float
    p_mut: float
    whole_rules: bool
    """Whether crossover swaps whole rules rather than single alleles."""
    alleles: Alleles
    n_actions: int


def first_population(parameters: PittsburghParameters, task: Task, seed: int, n_learnt: int) -> Population:
    """Return random rulesets; each rule carries `n_learnt` zeros for the numbers that it will learn."""
    pop_size, n_rules = parameters.sizes
    population = empty_population(pop_size, n_rules, len(task.features), n_learnt, bounds_type(task.features))
    alleles = alleles_of(task.features, parameters.sigma, parameters.p_any)
    random_rules(stream(seed, "initial"), alleles, task.n_actions, population)
    return population


def put_first(start: RuleSet, learnt: Floats, population: Population) -> None:
    """Write a ruleset, and what its rules have learnt, `(rules, …)`, over the first individuals.

    Individuals have a fixed number of rules: what the ruleset lacks is filled with its own rules over again,
    which changes no choice. In a decision list a rule that comes a second time never decides; among strengths
    it ties with itself.
    """
    pop_size, n_rules = population.actions.shape
    source = np.arange(n_rules) % len(start)
    targets = slice(0, max(1, pop_size // SHARE))
    population.bounds[targets] = start.bounds[source]
    population.actions[targets] = start.actions[source]
    population.learnt[targets] = learnt[source]


def empty_population(
    n: int,
    n_rules: int,
    n_features: int,
    n_learnt: int,
    number_type: type[np.int32] | type[np.float64] = np.int32,
) -> Population:
    """Return a population whose alleles, numbers of the given kind, are not set yet."""
    return Population(
        np.empty((n, n_rules, n_features, 2), dtype=number_type),
        np.empty((n, n_rules), dtype=np.int32),
        np.zeros((n, n_rules, n_learnt)),
        np.zeros(n),
        np.full(n, n_rules),
    )


def next_generation(
    parameters: PittsburghParameters,
    task: Task,
    seed: int,
    epoch: int,
    threads: int,
    parents: Population,
    *,
    whole_rules: bool,
) -> Population:
    """Return the children of a population, their fitness not measured yet; elites stand last.

    Args:
        parameters: tournaments, rates and elites.
        task: the task.
        seed: the run's.
        epoch: the number of the generation.
        threads: how many threads to use.
        parents: the population.
        whole_rules: whether crossover swaps whole rules rather than single alleles.
    """
    pop_size, n_rules, n_features, _ = parents.bounds.shape
    children = empty_population(
        pop_size, n_rules, n_features, parents.learnt.shape[2], bounds_type(task.features)
    )
    key, alleles = stream(seed, "breed", epoch), alleles_of(task.features, parameters.sigma, parameters.p_any)
    rates = parameters.tourn_size, parameters.p_cross, parameters.p_swap, parameters.p_mut
    variation = Variation(*rates, whole_rules, alleles, task.n_actions)

    def work(first: int, last: int) -> None:
        breed(first, last, key, parents, variation, children)

    for_slices(work, pop_size // 2, threads, ROUNDS_PER_SLICE)
    if parameters.elites:  # sorting takes as long as breeding where populations are large
        elites = np.argsort(-parents.fitness, kind="stable")[: parameters.elites]
        for name in ("bounds", "actions", "learnt", "lengths"):
            getattr(children, name)[-len(elites) :] = getattr(parents, name)[elites]
    return children


@kernel
def random_rules(key: np.uint64, alleles: Alleles, n_actions: int, out: Population) -> None:
    """Draw every allele of the population `out` from its range."""
    n, n_rules, n_features, _ = out.bounds.shape
    for i in range(n):
        ruleset_key = fold(key, i)
        any_key = fold(ruleset_key, 0)
        at = 0
        for r in range(n_rules):
            for d in range(n_features):
                for end in range(2):
                    out.bounds[i, r, d, end] = random_allele(ruleset_key, any_key, at, d, end, alleles)
                    at += 1
            out.actions[i, r] = below(ruleset_key, at, n_actions)
            at += 1


@kernel
def breed(
    first: int, last: int, key: np.uint64, parents: Population, variation: Variation, children: Population
) -> None:
    """Do breeding rounds `first` to `last − 1`: round j gives children 2j and 2j + 1."""
    for round_ in range(first, last):
        breed_two(round_, key, parents, variation, children)


@kernel
def breed_two(
    round_: int, key: np.uint64, parents: Population, variation: Variation, children: Population
) -> None:
    """Do breeding round j, which gives children 2j and 2j + 1."""
    round_key = fold(key, round_)
    i, j = 2 * round_, 2 * round_ + 1
    for child in range(i, j + 1):
        parent = tournament(fold(round_key, child - i), parents.fitness, variation.tourn_size)
        copy_ruleset(parents, parent, children, child)
    if uniform(fold(round_key, 2), 0) < variation.p_cross:
        if variation.whole_rules:
            swap_rules(fold(round_key, 3), variation.p_swap, children, i, j)
        else:
            swap_alleles(fold(round_key, 3), variation.p_swap, children, i, j)
    for child in range(i, j + 1):
        mutation_key = fold(round_key, 4 + child - i)
        mutate(mutation_key, variation.p_mut, children, child, variation.alleles, variation.n_actions)


@kernel
def copy_ruleset(parents: Population, parent: int, children: Population, child: int) -> None:
    """Copy a ruleset with all that it has learnt; number by number, as a GPU cannot copy rows."""
    _, n_rules, n_features, _ = parents.bounds.shape
    for r in range(n_rules):
        for d in range(n_features):
            children.bounds[child, r, d, 0] = parents.bounds[parent, r, d, 0]
            children.bounds[child, r, d, 1] = parents.bounds[parent, r, d, 1]
        children.actions[child, r] = parents.actions[parent, r]
        for d in range(parents.learnt.shape[2]):
            children.learnt[child, r, d] = parents.learnt[parent, r, d]
    children.lengths[child] = parents.lengths[parent]
