"""The parameters that PPL-DL and PPL-ST share, and what suits a task where they are not given."""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import Field

from ifthen.errors import ParameterError
from ifthen.rollout.budget import Budget
from ifthen.store import SIZE_LIMIT
from ifthen.systems.base import Parameters
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

RULES_PER_STATE = 0.4
FEWEST_RULES, MOST_RULES = 7, 64
RULES_IN_ENVIRONMENTS = 12


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
