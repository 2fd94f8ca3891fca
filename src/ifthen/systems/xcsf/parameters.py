"""Parameters of XCSF, under the names of the literature; the defaults are the paper's."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ifthen.errors import ParameterError
from ifthen.rules.box import words_for
from ifthen.rules.features import lows_and_highs
from ifthen.store import SIZE_LIMIT
from ifthen.systems.base import Parameters
from ifthen.systems.pittsburgh import suitable_rules
from ifthen.tasks.tabular import TabularTask

MICROS_PER_RULE = 100
INVOCATIONS_PER_RULE = 8
MOST = 1_000_000


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
        "where not given (paper: 56, 168, 336).",
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
        description="Furthest that mutation moves a bound; a quarter of the feature's values if not given.",
    )
    r0: int | None = Field(
        default=None,
        ge=0,
        le=10**9,
        description="Furthest that covering reaches each side; half of the feature's values if not given.",
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
    p_explore: float = Field(
        default=0.5, ge=0.001, le=1, description="Probability that an episode explores (and runs the GA)."
    )
    epsilon: float = Field(
        default=0.5, ge=0, le=1, description="ε: probability of a random action while exploring."
    )
    teletransport: bool = Field(
        default=False,
        description="Start training episodes in any state, not only in initial ones (in the paper's tasks "
        "these are all).",
    )
    truncation: Literal["end", "bootstrap"] = Field(
        default="end",
        description="An episode cut at t_max counts as ended (paper), or is credited with what would follow.",
    )
    niche_error: bool | None = Field(
        default=None,
        description="Subtract the niche's least error μ from errors; where the task is stochastic, "
        "if not given.",
    )


Settings = Any
"""A NumPy record of SETTINGS: the parameters that are single numbers, handed on as one pointer."""

_REALS = (
    "alpha beta beta_epsilon epsilon_0 delta chi p_swap mu epsilon_i f_i error_share fitness_share x0 "
    "delta_rls lambda_rls forgetting rls_limit eta gamma p_explore epsilon"
)
_COUNTS = "pop_limit nu theta_ga theta_del theta_sub t_max"
_CHOICES = "by_tournament ga_subsumption set_subsumption by_box rls bootstrap niche_error"
SETTINGS = np.dtype(
    [(name, np.float64) for name in _REALS.split()]
    + [(name, np.int64) for name in _COUNTS.split()]
    + [(name, np.bool_) for name in _CHOICES.split()],
    align=True,
)


class Reach(NamedTuple):
    """The parameters that are several numbers."""

    lows: NDArray[np.int32]
    """`(features,)`: the smallest value of each feature,"""
    highs: NDArray[np.int32]
    """`(features,)`: and the largest."""
    m0: NDArray[np.int32]
    """`(features,)`: furthest that mutation moves a bound."""
    r0: NDArray[np.int32]
    """`(features,)`: furthest that covering reaches."""
    absent: NDArray[np.float64]
    """`(N + 2,)`: probability that none of so many microclassifiers enters a tournament."""


def fill_parameters(parameters: XCSFParameters, task: TabularTask) -> XCSFParameters:
    """Return the parameters with those that were left to the task, or raise where they cannot work."""
    rules = suitable_rules(task)
    filled = {
        "pop_limit": parameters.pop_limit or min(MICROS_PER_RULE * rules, MOST),
        "ga_per_epoch": parameters.ga_per_epoch or min(INVOCATIONS_PER_RULE * rules, MOST),
        "niche_error": not task.deterministic if parameters.niche_error is None else parameters.niche_error,
    }
    limit, states = int(filled["pop_limit"]), len(task.decision_states)
    if limit < task.n_actions:
        raise ParameterError(
            f"pop_limit must be at least the number of actions ({task.n_actions} in {task.name}), because "
            f"every action needs a rule in each state, not {limit}."
        )
    inputs, widest = len(task.features) + 1, task.dynamics.widest
    size = 8 * (states * task.n_actions * words_for(limit + 1) + inputs * (widest + 1) * words_for(states))
    if size > SIZE_LIMIT:
        raise ParameterError(
            f"pop_limit={limit:,} on {states:,} states with up to {widest:,} values per feature would take "
            f"{size / 2**30:.1f} GiB to index; at most {SIZE_LIMIT / 2**30:.0f} GiB are allowed. Give a "
            "smaller pop_limit or a smaller task."
        )
    if parameters.delta_rls * inputs > parameters.rls_limit:
        raise ParameterError(
            f"rls_limit must be at least the trace that the covariance starts with, delta_rls times {inputs} "
            f"= {parameters.delta_rls * inputs:g}, not {parameters.rls_limit:g}."
        )
    return parameters.model_copy(update=filled)


def kernel_settings(p: XCSFParameters, task: TabularTask) -> Settings:
    """Return the filled parameters as kernels need them, in a record array of one."""
    own = {
        "gamma": task.gamma,
        "t_max": task.t_max,
        "forgetting": 1 / p.lambda_rls,
        "by_tournament": p.selection == "tournament",
        "by_box": p.equality == "box",
        "rls": p.prediction == "rls",
        "bootstrap": p.truncation == "bootstrap",
    }
    settings = np.zeros(1, SETTINGS).view(np.recarray)
    for name in SETTINGS.names or ():
        settings[name] = own[name] if name in own else getattr(p, name)
    return settings


def kernel_reach(p: XCSFParameters, task: TabularTask) -> Reach:
    """Return lengths per feature, and the tournament's table."""
    assert p.pop_limit is not None
    lows, highs = lows_and_highs(task.features)
    widths = highs - lows + 1
    return Reach(
        lows=lows,
        highs=highs,
        m0=reaches(p.m0, np.maximum(1, widths // 4), widths),
        r0=reaches(p.r0, widths // 2, widths),
        absent=np.cumprod([1.0] + [1 - p.tau] * (p.pop_limit + 1), dtype=np.float64),
    )


def reaches(given: int | None, suits: NDArray[np.int32], widths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return how far a bound may move per feature: as given, at most the feature's width, or what suits."""
    return suits.astype(np.int32) if given is None else np.minimum(given, widths).astype(np.int32)
