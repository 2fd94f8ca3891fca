"""Parameters of XCSF, under the names of the literature; the defaults are the paper's."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ifthen.errors import ParameterError
from ifthen.rules.box import words_for
from ifthen.store import SIZE_LIMIT
from ifthen.systems.base import Parameters
from ifthen.systems.pittsburgh_parameters import suitable_rules
from ifthen.systems.xcsf.population import CLOCK, RULE, triangle
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

MICROS_PER_RULE = 100
INVOCATIONS_PER_RULE = 8
INVOCATIONS_IN_ENVIRONMENTS = 1000
"""An epoch ends with a measure of the rules in whole episodes, which must not take longer than to learn."""
MOST = 1_000_000
LEARNING_GAMMA = 0.99
"""Discount where the task has none: payoffs of endless episodes would have no bound."""


class XCSFParameters(Parameters):
    """Parameters of XCSF; the defaults are the paper's."""

    pop_limit: int | None = Field(
        default=None,
        ge=1,
        le=MOST,
        description="N: most microclassifiers in the population; what suits the task where not given "
        "(paper: 700, 2100, 4200).",
    )
    ga_per_epoch: int | None = Field(
        default=None,
        ge=2,
        le=MOST,
        description="GA invocations that make an epoch; as many as a PPL generation's breeding rounds "
        "where not given (paper: 56, 168, 336), 1000 in environments.",
    )
    alpha: float = Field(default=0.1, ge=1e-6, le=1, description="α: accuracy of a rule whose error is ε0.")
    beta: float = Field(
        default=0.1, ge=1e-6, le=1, description="β: learning rate of error, action-set size and fitness."
    )
    beta_epsilon: float = Field(
        default=0.05, ge=1e-6, le=1, description="β_ε: learning rate of a niche's least error μ."
    )
    epsilon_0: float = Field(
        default=0.01, ge=1e-12, le=1e9, description="ε0: error below which a rule counts as accurate."
    )
    nu: int = Field(default=5, ge=1, le=50, description="ν: power by which accuracy falls with error.")
    theta_ga: int = Field(
        default=50, ge=0, le=10**9, description="θ_GA: steps between two GA invocations in an action set."
    )
    theta_del: int = Field(
        default=50, ge=0, le=10**9, description="θ_del: experience after which unfit rules are deleted first."
    )
    theta_sub: int = Field(
        default=50, ge=0, le=10**9, description="θ_sub: experience that a rule needs to subsume others."
    )
    delta: float = Field(
        default=0.1, ge=0, le=1, description="δ: share of the mean fitness below which a rule is unfit."
    )
    selection: Literal["tournament", "roulette"] = Field(
        default="tournament", description="How the GA selects parents."
    )
    tau: float = Field(
        default=0.5, ge=0.01, le=1, description="τ: probability that a microclassifier enters a tournament."
    )
    chi: float = Field(default=0.8, ge=0, le=1, description="χ: probability that two parents are crossed.")
    p_swap: float = Field(
        default=0.5, ge=0, le=1, description="Probability that an allele is swapped in crossover."
    )
    mu: float = Field(default=0.04, ge=0, le=1, description="μ: probability that an allele mutates.")
    m0: int | None = Field(
        default=None,
        ge=1,
        le=10**9,
        description="Furthest that mutation moves a bound of an integer feature; a quarter of its values if "
        "not given.",
    )
    m0_share: float = Field(
        default=0.25,
        ge=1e-6,
        le=1,
        description="Furthest that mutation moves a bound of a real feature, as a share of its range.",
    )
    r0: int | None = Field(
        default=None,
        ge=0,
        le=10**9,
        description="Furthest that covering reaches each side in an integer feature; half of its values if "
        "not given.",
    )
    r0_share: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Furthest that covering reaches each side in a real feature, as a share of its range.",
    )
    ga_subsumption: bool = Field(
        default=True, description="Whether accurate parents take in children inside their condition."
    )
    set_subsumption: bool = Field(
        default=False, description="Whether the most general accurate rule of an action set takes in others."
    )
    equality: Literal["box", "alleles"] = Field(
        default="box",
        description="Rules are equal where their boxes are, or allele by allele (paper's sizes).",
    )
    epsilon_i: float = Field(
        default=1e-3, ge=0, le=1e9, description="ε_I, μ_I: error and niche error of new rules."
    )
    f_i: float = Field(default=1e-3, ge=1e-6, le=1, description="f_I: fitness of new rules.")
    error_share: float = Field(
        default=0.25, ge=0, le=1, description="Share of the parents' error that children start with."
    )
    fitness_share: float = Field(
        default=0.1, ge=1e-6, le=1, description="Share of the parents' fitness that children start with."
    )
    prediction: Literal["rls", "nlms"] = Field(
        default="rls", description="Recursive least squares, or normalised least mean squares."
    )
    x0: float = Field(
        default=10.0, ge=1e-3, le=1e6, description="Constant put before the state in the linear prediction."
    )
    delta_rls: float = Field(
        default=10.0,
        ge=1e-6,
        le=1e6,
        description="δ_rls: what the covariance has in its diagonal at first.",
    )
    lambda_rls: float = Field(default=0.999, ge=0.5, le=1, description="λ_rls: forgetting rate of RLS.")
    rls_limit: float = Field(
        default=1e6,
        ge=1e-3,
        le=1e12,
        description="Trace of the covariance beyond which RLS forgets in the direction of x only.",
    )
    eta: float = Field(default=0.2, ge=1e-6, le=1, description="η: learning rate of NLMS.")
    gamma: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="γ of the payoffs that are learnt; the task's if not given, but 0.99 in environments "
        "without discount. Performance is measured with the task's.",
    )
    p_explore: float = Field(
        default=0.5, ge=0.001, le=1, description="Probability that an episode explores (and runs the GA)."
    )
    epsilon: float = Field(
        default=0.5, ge=0, le=1, description="ε: probability of a random action while exploring."
    )
    teletransport: bool = Field(
        default=False,
        description="Start training episodes in any state, not only in initial ones (in the paper's tasks "
        "these are all); environments have no such choice.",
    )
    truncation: Literal["end", "bootstrap"] = Field(
        default="end",
        description="An episode cut at t_max counts as ended (paper), or is credited with what would follow.",
    )
    niche_error: bool | None = Field(
        default=None,
        description="Subtract the niche's least error μ from errors; where the task is stochastic or an "
        "environment, if not given.",
    )


def fill_parameters(parameters: XCSFParameters, task: TabularTask | EnvTask) -> XCSFParameters:
    """Return the parameters with those that were left to the task, or raise where they cannot work."""
    rules, inputs = suitable_rules(task), len(task.features) + 1
    in_env = isinstance(task, EnvTask)
    invocations = INVOCATIONS_IN_ENVIRONMENTS if in_env else min(INVOCATIONS_PER_RULE * rules, MOST)
    stochastic = isinstance(task, EnvTask) or not task.deterministic
    filled: dict[str, float] = {
        "pop_limit": parameters.pop_limit or min(MICROS_PER_RULE * rules, MOST),
        "ga_per_epoch": parameters.ga_per_epoch or invocations,
        "niche_error": stochastic if parameters.niche_error is None else parameters.niche_error,
    }
    if isinstance(task, EnvTask) and parameters.gamma is None:
        filled["gamma"] = LEARNING_GAMMA if task.gamma == 1 else task.gamma
    limit = int(filled["pop_limit"])
    if limit < task.n_actions:
        raise ParameterError(
            f"pop_limit must be at least the number of actions ({task.n_actions} in {task.name}), because "
            f"every action needs a rule in each state, not {limit}."
        )
    if isinstance(task, EnvTask):
        _check_environment(parameters, task, limit)
    else:
        _check_index(task, limit)
    if parameters.delta_rls * inputs > parameters.rls_limit:
        raise ParameterError(
            f"rls_limit must be at least the trace that the covariance starts with, delta_rls times {inputs} "
            f"= {parameters.delta_rls * inputs:g}, not {parameters.rls_limit:g}."
        )
    return parameters.model_copy(update=filled)


def _check_index(task: TabularTask, limit: int) -> None:
    """Raise where the masks of all states would take too much memory."""
    inputs, widest, states = len(task.features) + 1, task.dynamics.widest, len(task.decision_states)
    size = 8 * (states * task.n_actions * words_for(limit + 1) + inputs * (widest + 1) * words_for(states))
    if size > SIZE_LIMIT:
        raise ParameterError(
            f"pop_limit={limit:,} on {states:,} states with up to {widest:,} values per feature would take "
            f"{size / 2**30:.1f} GiB to index; at most {SIZE_LIMIT / 2**30:.0f} GiB are allowed. Give a "
            "smaller pop_limit or a smaller task."
        )


def _check_environment(parameters: XCSFParameters, task: EnvTask, limit: int) -> None:
    """Raise where the rules of an environment would take too much memory, or cannot learn as asked."""
    if parameters.teletransport:
        raise ParameterError(
            f"teletransport needs a task with a list of states; {task.name} is an environment, whose "
            "episodes begin where it resets to. Leave it out."
        )
    if task.default_action is not None:
        raise ParameterError(
            "a default action is the last rule of a decision list, and XCSF's rules have no order: use "
            "PPL-DL, or leave default_action out."
        )
    inputs = len(task.features) + 1
    numbers = 3 * inputs + (triangle(inputs) if parameters.prediction == "rls" else 0)
    size = (limit + 1) * (8 * numbers + RULE.itemsize) + CLOCK.itemsize
    if size > SIZE_LIMIT:
        raise ParameterError(
            f"pop_limit={limit:,} rules over {inputs - 1:,} features would take {size / 2**30:.1f} GiB; at "
            f"most {SIZE_LIMIT / 2**30:.0f} GiB are allowed. Give a smaller pop_limit, or prediction='nlms', "
            "which needs no covariance."
        )
