"""What PPL-DL and PPL-ST share: parameters, initial population, breeding and the history's rows.

An individual is a ruleset of fixed size. A generation is popSize/2 breeding rounds, each giving two
children; children replace the whole population (paper, sections "Design Commonalities" and "Comparison
Methodology").
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ifthen.errors import ModelFileError, ParameterError
from ifthen.evolve.alleles import Alleles, alleles_of, random_allele
from ifthen.evolve.crossover import swap_alleles, swap_rules
from ifthen.evolve.mutation import mutate
from ifthen.evolve.selection import tournament
from ifthen.inference.rulebook import Rulebook
from ifthen.jit import kernel
from ifthen.parallel import for_slices
from ifthen.randomness import below, fold, stream, uniform
from ifthen.rollout.budget import Budget
from ifthen.rollout.env_fitness import EnvFitness, EnvMeasured, RulesetMeasured
from ifthen.rollout.fitness import Fitness
from ifthen.rollout.tabular import Measured, play
from ifthen.rules.features import bounds_type, lows_and_highs
from ifthen.store import SIZE_LIMIT
from ifthen.systems.base import Parameters, Record
from ifthen.systems.model_file import Model, check_arrays
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.solve import exact_performances
from ifthen.tasks.tabular import TabularTask

RULES_PER_STATE = 0.4
FEWEST_RULES, MOST_RULES = 7, 64
RULES_IN_ENVIRONMENTS = 12
ROUNDS_PER_SLICE = 64
HISTORY = (
    "epoch",
    "best_fitness",
    "mean_fitness",
    "median_fitness",
    "performance",
    "exact_performance",
    "truncated_share",
    "failed_share",
    "episodes",
    "steps",
    "ga_invocations",
)
ENV_HISTORY = tuple("unseen_performance" if name == "exact_performance" else name for name in HISTORY)


class PittsburghParameters(Parameters):
    """Parameters of both PPL systems; the defaults are the paper's."""

    idv_size: int | None = Field(
        default=None,
        ge=1,
        le=10_000,
        description="Rules per ruleset; what suits the task where not given (paper: 7, 21, 42).",
    )
    pop_size: int | None = Field(
        default=None,
        ge=2,
        le=1_000_000,
        description="Rulesets in the population, even; 16 times idv_size where not given.",
    )
    tourn_size: int = Field(
        default=3, ge=1, le=1000, description="Individuals drawn per selection tournament."
    )
    p_cross: float = Field(default=0.7, ge=0, le=1, description="Probability that two parents are crossed.")
    p_swap: float = Field(
        default=0.5, ge=0, le=1, description="Probability that a unit is swapped in crossover."
    )
    p_mut: float = Field(default=0.01, ge=0, le=1, description="Probability that an allele mutates.")
    p_any: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Probability that a new or mutated bound is put at the edge of its feature's range, "
        "which leaves that side open (paper: 0).",
    )
    sigma: float = Field(
        default=0.1,
        gt=0,
        le=10,
        description="Deviation of a mutation of a real feature's bound, as a share of the feature's range.",
    )
    elites: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Fittest rulesets that are taken over as they are (paper: 0).",
    )
    windows: int = Field(
        default=1,
        ge=1,
        le=100_000,
        description="In environments: windows that z is cut into; each generation plays one of them (ILAS).",
    )
    first_episodes: int | None = Field(
        default=None,
        ge=1,
        le=100_000,
        description="In environments: episodes that the first generations play; all of z where not given.",
    )
    double_every: int = Field(
        default=10,
        ge=1,
        le=10_000_000,
        description="Generations after which first_episodes doubles, until all of z is played.",
    )
    racing: bool = Field(
        default=False,
        description="In environments: after 1/8, 1/4 and 1/2 of the episodes only the better half plays on.",
    )
    fitness: Literal["sampled", "exact"] = Field(
        default="sampled",
        description="Performance on z with common random numbers, or exact policy evaluation.",
    )


P = TypeVar("P", bound=PittsburghParameters)


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


def suitable_rules(task: TabularTask | EnvTask) -> int:
    """Return how many rules suit a task: the paper's number, some per state, or a handful."""
    if isinstance(task, EnvTask):
        return RULES_IN_ENVIRONMENTS
    suits = round(RULES_PER_STATE * len(task.decision_states))
    return task.preset.get("idv_size", min(max(suits, FEWEST_RULES), MOST_RULES))


def fill_sizes(parameters: P, task: TabularTask | EnvTask) -> P:
    """Return the parameters with the sizes that were left to the task."""
    idv_size, pop_size = parameters.idv_size, parameters.pop_size
    if idv_size is None:
        idv_size = suitable_rules(task)
    if pop_size is None:
        pop_size = 16 * idv_size
    if pop_size % 2:
        raise ParameterError(
            f"pop_size must be even (two children per breeding round), not {pop_size}. "
            f"Give for example pop_size={pop_size + 1}."
        )
    if parameters.elites >= pop_size:
        raise ParameterError(f"elites must be fewer than pop_size ({pop_size}), not {parameters.elites}.")
    if isinstance(task, EnvTask) and (parameters.fitness, parameters.noise) != ("sampled", "aligned"):
        raise ParameterError(
            f"{task.name} has no table of states: its fitness can only be 'sampled', and its noise 'aligned' "
            f"(a reset seed per episode), not {parameters.fitness!r} and {parameters.noise!r}."
        )
    _check_budget(budget_of(parameters), task)
    size = pop_size * idv_size * (len(task.features) + 2) * 16
    if size > SIZE_LIMIT:
        raise ParameterError(
            f"{pop_size:,} rulesets of {idv_size:,} rules would take about {size / 2**30:.1f} GiB; "
            f"at most {SIZE_LIMIT / 2**30:.0f} GiB can be saved. Give a smaller pop_size or idv_size."
        )
    return parameters.model_copy(update={"idv_size": idv_size, "pop_size": pop_size})


def _check_budget(budget: Budget, task: TabularTask | EnvTask) -> None:
    """Raise where episodes cannot be saved."""
    if isinstance(task, TabularTask) and budget.saves:
        raise ParameterError(
            f"windows, first_episodes and racing save episodes of environments; {task.name} is a table, "
            "whose episodes are cheap and all played. Leave them out."
        )
    if isinstance(task, EnvTask) and budget.windows > task.episodes:
        raise ParameterError(
            f"windows must be at most the episodes of z ({task.episodes} in {task.name}), "
            f"not {budget.windows}."
        )


def budget_of(parameters: PittsburghParameters) -> Budget:
    """Return how many episodes of z a generation may spend in an environment."""
    p = parameters
    return Budget(p.windows, p.first_episodes, p.double_every, p.racing)


def sizes(parameters: PittsburghParameters) -> tuple[int, int]:
    """Return rulesets in the population and rules per ruleset, once `fill_sizes` has filled them in."""
    assert parameters.pop_size is not None
    assert parameters.idv_size is not None
    return parameters.pop_size, parameters.idv_size


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
) -> Population:
    """Return the children of a population, their fitness not measured yet; elites stand last."""
    n, rules, features, _ = parents.bounds.shape
    children = empty_population(n, rules, features, parents.learnt.shape[2], bounds_type(task.features))
    alleles = alleles_of(task.features, parameters.sigma, parameters.p_any)
    key = stream(seed, "breed", epoch)

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


def history_row(
    task: TabularTask,
    policies: NDArray[np.int16],
    measured: Measured,
    fitness: Fitness,
    trained: tuple[int, int],
    before: Record | None,
) -> Record:
    """Return the history's row of one epoch.

    Args:
        task: the task.
        policies: the policy tables of the population, `(n, D)`.
        measured: what was measured of them.
        fitness: what measured them.
        trained: episodes and steps spent on learning inside the epoch.
        before: the row of the epoch before; None for the initial population.
    """
    n, played = len(policies), int((~measured.failed).sum()) * fitness.episodes
    best = int(measured.performance.argmax())
    ruleset = policies[best : best + 1]
    exact = float(exact_performances(task, ruleset)[0])
    return {
        "epoch": 0 if before is None else int(before["epoch"]) + 1,
        "best_fitness": float(measured.performance[best]),
        "mean_fitness": float(measured.performance.mean()),
        "median_fitness": float(np.median(measured.performance)),
        "performance": float(play(task, ruleset, fitness.noise).performance[0]),
        "exact_performance": task.floor if np.isnan(exact) else exact,
        "truncated_share": int(measured.truncated.sum()) / played if played else 0.0,
        "failed_share": float(measured.failed.mean()),
        "episodes": (0 if before is None else int(before["episodes"])) + played + trained[0],
        "steps": (0 if before is None else int(before["steps"])) + int(measured.steps.sum()) + trained[1],
        "ga_invocations": 0 if before is None else int(before["ga_invocations"]) + n // 2,
    }


def measured_in_env(
    population: Population,
    rules: Rulebook,
    fitness: EnvFitness,
    trained: tuple[int, int],
    before: Record | None,
) -> tuple[Population, Record]:
    """Return a population with its fitness in an environment, and the history's row.

    Args:
        population: the population.
        rules: the same, ready to play.
        fitness: what measures it.
        trained: episodes and steps spent on learning inside the epoch.
        before: the row of the epoch before; None for the initial population.
    """
    measured = fitness.measure(rules, 0 if before is None else int(before["epoch"]) + 1)
    ruleset = fitness.measure_ruleset(rules, int(measured.performance.argmax()))
    row = env_history_row(measured, ruleset, trained, before)
    return population._replace(fitness=measured.performance), row


def env_history_row(
    measured: EnvMeasured,
    ruleset: RulesetMeasured,
    trained: tuple[int, int],
    before: Record | None,
) -> Record:
    """Return the history's row of one epoch in an environment; means are over rulesets that never failed.

    Args:
        measured: what was measured of the population.
        ruleset: what was measured of the fittest ruleset.
        trained: episodes and steps spent on learning inside the epoch.
        before: the row of the epoch before; None for the initial population.
    """
    counted = measured.performance[~measured.failed] if not measured.failed.all() else measured.performance
    episodes, steps = int(measured.episodes.sum()), int(measured.steps.sum())
    return {
        "epoch": 0 if before is None else int(before["epoch"]) + 1,
        "best_fitness": float(measured.performance.max()),
        "mean_fitness": float(counted.mean()),
        "median_fitness": float(np.median(counted)),
        "performance": ruleset.performance,
        "unseen_performance": ruleset.unseen_performance,
        "truncated_share": int(measured.truncated.sum()) / max(1, episodes),
        "failed_share": float(measured.failed.mean()),
        "episodes": (0 if before is None else int(before["episodes"])) + episodes + trained[0],
        "steps": (0 if before is None else int(before["steps"])) + steps + trained[1],
        "ga_invocations": 0 if before is None else int(before["ga_invocations"]) + len(measured.failed) // 2,
    }


def population_of(
    model: Model, parameters: PittsburghParameters, task: TabularTask | EnvTask, learns: int
) -> Population:
    """Return the population of a model file, or raise where it does not fit parameters and task."""
    n, rules = sizes(parameters)
    features = len(task.features)
    check_arrays(
        model,
        {
            "bounds": ((n, rules, features, 2), bounds_type(task.features)),
            "actions": ((n, rules), np.int32),
            "learnt": ((n, rules, learns), np.float64),
            "fitness": ((n,), np.float64),
        },
    )
    columns = ENV_HISTORY if isinstance(task, EnvTask) else HISTORY
    if set(model.history[0]) != set(columns) or any(None in row.values() for row in model.history):
        raise ModelFileError(f"{model.path}: the history must have numbers in columns {', '.join(columns)}.")
    if [row["epoch"] for row in model.history] != list(range(model.epoch + 1)):
        raise ModelFileError(
            f"{model.path}: the history must have a row for each of epochs 0 to {model.epoch}."
        )
    population = Population(**model.population)
    lows, highs = lows_and_highs(task.features)
    inside = (population.bounds >= lows[:, None]) & (population.bounds <= highs[:, None])
    if not inside.all():  # NaN is not inside either
        raise ModelFileError(f"{model.path}: some conditions leave the ranges of the features.")
    whole = population.bounds[:, :, [feature.is_integer for feature in task.features]]
    if (whole != np.rint(whole)).any():
        raise ModelFileError(f"{model.path}: some bounds of integer features are not whole numbers.")
    if population.actions.min() < 0 or population.actions.max() >= task.n_actions:
        raise ModelFileError(f"{model.path}: some actions do not exist in the task.")
    return population


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
