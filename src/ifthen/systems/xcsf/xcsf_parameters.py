"""Parameters of XCSF, under the names of the literature, and the form that its kernels get them in.

The defaults are the paper's. For kernels, single parameters are in a record, lengths per feature in arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from ifthen.errors import ParameterError
from ifthen.evolve.alleles import decimal_scales
from ifthen.rules.arrays import Floats, Mask
from ifthen.rules.feature import lows_and_highs
from ifthen.systems.parameters import Parameters, between, linear, logarithmic, setting
from ifthen.systems.xcsf.xcsf_population import Bounds
from ifthen.tasks.task import Task

MICROS_PER_RULE = 100
ACCURATE = 0.001
"""The default of ε0, as a share of the task's largest reward."""
MOST = 1_000_000


class XCSFParameters(Parameters):
    """Parameters of XCSF; the defaults are the paper's."""

    pop_limit: int | None = between(
        None,
        1,
        MOST,
        "N: most microclassifiers in the population; what suits the task where not given (paper: 700, "
        "2100, 4200).",
        logarithmic(400, 6400),
    )
    ga_per_epoch: int | None = between(
        None,
        2,
        MOST,
        "GA invocations that make an epoch; as many as a PPL generation's breeding rounds where not "
        "given (paper: 56, 168, 336), 1000 in environments.",
    )
    alpha: float = between(0.1, 1e-6, 1, "α: accuracy of a rule whose error is ε0.", logarithmic(0.01, 1))
    beta: float = between(
        0.1, 1e-6, 1, "β: learning rate of error, action-set size and fitness.", logarithmic(0.02, 0.5)
    )
    beta_epsilon: float = between(0.05, 1e-6, 1, "β_ε: learning rate of a niche's least error μ.")
    epsilon_0: float = between(
        0.01,
        1e-12,
        1000000000.0,
        "ε0: error below which a rule counts as accurate.",
        logarithmic(0.0001, 10),
    )
    nu: int = between(5, 1, 50, "ν: power by which accuracy falls with error.", linear(1, 10))
    theta_ga: int = between(
        50, 0, 10**9, "θ_GA: steps between two GA invocations in an action set.", logarithmic(10, 200)
    )
    theta_del: int = between(50, 0, 10**9, "θ_del: experience after which unfit rules are deleted first.")
    theta_sub: int = between(50, 0, 10**9, "θ_sub: experience that a rule needs to subsume others.")
    delta: float = between(0.1, 0, 1, "δ: share of the mean fitness below which a rule is unfit.")
    selection: Literal["tournament", "roulette"] = setting("tournament", "How the GA selects parents.")
    tau: float = between(0.5, 0.01, 1, "τ: probability that a microclassifier enters a tournament.")
    chi: float = between(0.8, 0, 1, "χ: probability that two parents are crossed.", linear(0, 1))
    p_swap: float = between(0.5, 0, 1, "Probability that an allele is swapped in crossover.")
    mu: float = between(0.04, 0, 1, "μ: probability that an allele mutates.", logarithmic(0.005, 0.2))
    m0: int | None = between(
        None,
        1,
        10**9,
        "Furthest that mutation moves a bound of an integer feature; a quarter of its values if not given.",
    )
    m0_share: float = between(
        0.25,
        1e-6,
        1,
        "Furthest that mutation moves a bound of a real feature, as a share of its range.",
        logarithmic(0.02, 1),
    )
    r0: int | None = between(
        None,
        0,
        10**9,
        "Furthest that covering reaches each side in an integer feature; half of its values if not given.",
    )
    r0_share: float = between(
        0.5,
        0,
        1,
        "Furthest that covering reaches each side in a real feature, as a share of its range.",
        linear(0.05, 1),
    )
    p_hash: float | None = between(
        None,
        0,
        1,
        "P#: probability that covering takes an integer feature's whole range, and else its value alone; "
        "where not given it reaches out by r0.",
    )
    mutation: Literal["shift", "niche"] = setting(
        "shift",
        "Mutation moves bounds, or (niche, for integer features) an interval becomes the whole range, and a "
        "whole range the value in the present state, so that children match it.",
    )
    specify: bool = setting(
        False,
        "Lanzi's operator: in an action set with at least twice the population's mean error, a rule is made "
        "more specific.",
    )
    n_specify: int = between(20, 0, 10**9, "Mean experience of an action set from which Specify acts.")
    p_specify: float = between(
        0.5, 0, 1, "Probability that Specify replaces a whole range by the value in the present state."
    )
    ga_subsumption: bool = setting(True, "Whether accurate parents take in children inside their condition.")
    set_subsumption: bool = setting(
        False, "Whether the most general accurate rule of an action set takes in others."
    )
    equality: Literal["box", "alleles"] = setting(
        "box", "Rules are equal where their boxes are, or allele by allele (paper's sizes)."
    )
    epsilon_i: float = between(0.001, 0, 1000000000.0, "ε_I, μ_I: error and niche error of new rules.")
    f_i: float = between(0.001, 1e-6, 1, "f_I: fitness of new rules.")
    error_share: float = between(0.25, 0, 1, "Share of the parents' error that children start with.")
    fitness_share: float = between(0.1, 1e-6, 1, "Share of the parents' fitness that children start with.")
    prediction: Literal["rls", "nlms", "constant"] = setting(
        "rls",
        "What a rule predicts: a linear function by recursive least squares or by normalised least mean "
        "squares, or one number.",
    )
    gradient: bool = setting(
        False,
        "Whether a constant prediction moves by the rule's share of its action set's fitness (XCSG), once "
        "it has met 1/β payoffs.",
    )
    x0: float = between(10.0, 0.001, 1e6, "Constant put before the state in the linear prediction.")
    delta_rls: float = between(10.0, 1e-6, 1e6, "δ_rls: what the covariance has in its diagonal at first.")
    lambda_rls: float = between(0.999, 0.5, 1, "λ_rls: forgetting rate of RLS.")
    rls_limit: float = between(
        1e6,
        0.001,
        1e12,
        "Trace of the covariance beyond which RLS forgets in the direction of x only.",
    )
    eta: float = between(0.2, 1e-6, 1, "η: learning rate of NLMS.")
    gamma: float | None = between(
        None,
        0,
        1,
        "γ of the payoffs that are learnt; the task's if not given, but 0.99 in environments without "
        "discount. Performance is measured with the task's.",
    )
    p_explore: float = between(0.5, 0.001, 1, "Probability that an episode explores (and runs the GA).")
    epsilon: float = between(0.5, 0, 1, "ε: probability of a random action while exploring.", linear(0.05, 1))
    teletransport: bool = setting(
        False,
        "Start training episodes in any state, not only in initial ones (in the paper's tasks these "
        "are all); environments have no such choice.",
    )
    truncation: Literal["end", "bootstrap"] = setting(
        "end", "An episode cut at t_max counts as ended (paper), or is credited with what would follow."
    )
    niche_error: bool | None = setting(
        None,
        "Subtract the niche's least error μ from errors; where the task is stochastic or an "
        "environment, if not given.",
    )


def fill_parameters(parameters: XCSFParameters, task: Task, suited: Mapping[str, float]) -> XCSFParameters:
    """Return the parameters with those that were left to the task, or raise where they cannot work.

    `suited` are those that suit the kind of task, where nothing was given.
    """
    inputs = len(task.features) + 1
    if parameters.gradient and parameters.prediction != "constant":
        raise ParameterError(
            f"gradient=True is for prediction='constant', not for '{parameters.prediction}'."
        )
    real = next((feature.name for feature in task.features if not feature.is_integer), None)
    if parameters.mutation == "niche" and real is not None:
        raise ParameterError(
            f"mutation='niche' is for integer features, and {real} of {task.name} is real: give 'shift'."
        )
    suggested: dict[str, Any] = {
        "mutation": "niche" if real is None else "shift",
        "pop_limit": min(MICROS_PER_RULE * task.suitable_rules, MOST),
        "niche_error": task.is_stochastic,
        "epsilon_0": ACCURATE * (max(map(abs, task.reward_range)) or 1.0),
        **suited,
    }
    filled = {name: value for name, value in suggested.items() if getattr(parameters, name) is None}
    limit = int(filled.get("pop_limit", parameters.pop_limit or 0))
    if limit < task.n_actions:
        raise ParameterError(
            f"pop_limit must be at least the number of actions ({task.n_actions} in {task.name}), because "
            f"every action needs a rule in each state, not {limit}."
        )
    if parameters.delta_rls * inputs > parameters.rls_limit:
        raise ParameterError(
            f"rls_limit must be at least the trace that the covariance starts with, delta_rls times {inputs} "
            f"= {parameters.delta_rls * inputs:g}, not {parameters.rls_limit:g}."
        )
    return parameters.model_copy(update=filled)


Settings = Any
"""A NumPy record of SETTINGS: the parameters that are single numbers, handed on as one pointer."""

_REALS = (
    "alpha beta beta_epsilon epsilon_0 delta chi p_swap mu epsilon_i f_i error_share fitness_share x0 "
    "delta_rls lambda_rls forgetting rls_limit eta gamma p_explore epsilon p_hash p_specify"
)
_COUNTS = "pop_limit nu theta_ga theta_del theta_sub t_max n_specify"
_CHOICES = (
    "by_tournament ga_subsumption set_subsumption by_box rls nlms bootstrap niche_error gradient in_niche "
    "specify"
)
REACHES_OUT = -1.0
"""Stands in place of P# where covering reaches out by r0."""
SETTINGS = np.dtype(
    [(name, np.float64) for name in _REALS.split()]
    + [(name, np.int64) for name in _COUNTS.split()]
    + [(name, np.bool_) for name in _CHOICES.split()],
    align=True,
)


class Reach(NamedTuple):
    """The parameters that are several numbers."""

    lows: Bounds
    """`(features,)`: the smallest value of each feature."""
    highs: Bounds
    """`(features,)`: the largest value of each feature."""
    m0: Bounds
    """`(features,)`: furthest that mutation moves a bound."""
    r0: Bounds
    """`(features,)`: furthest that covering reaches."""
    real: Mask
    """`(features,)`: whether the feature is real."""
    scales: Floats
    """`(features,)`: the inverse of the step that a real feature's bounds are rounded to."""
    absent: Floats
    """`(N + 2,)`: probability that none of 0, 1, 2, … microclassifiers enters a tournament."""


def kernel_settings(parameters: XCSFParameters, task: Task) -> Settings:
    """Return the filled parameters as kernels need them, in a record array of one."""
    converted = {
        "gamma": task.gamma if parameters.gamma is None else parameters.gamma,
        "t_max": task.t_max,
        "forgetting": 1 / parameters.lambda_rls,
        "by_tournament": parameters.selection == "tournament",
        "by_box": parameters.equality == "box",
        "rls": parameters.prediction == "rls",
        "nlms": parameters.prediction == "nlms",
        "in_niche": parameters.mutation == "niche",
        "p_hash": REACHES_OUT if parameters.p_hash is None else parameters.p_hash,
        "bootstrap": parameters.truncation == "bootstrap",
    }
    settings = np.zeros(1, SETTINGS).view(np.recarray)
    for name in SETTINGS.names or ():
        settings[name] = converted[name] if name in converted else getattr(parameters, name)
    return settings


def kernel_reach(parameters: XCSFParameters, task: Task, number_type: Any) -> Reach:
    """Return lengths per feature, as numbers of a type, and the tournament's table."""
    assert parameters.pop_limit is not None
    real = np.array([not feature.is_integer for feature in task.features])
    lows, highs = (ends.astype(number_type) for ends in lows_and_highs(task.features))
    lengths, values = highs - lows, highs - lows + 1
    m0: Bounds = np.maximum(1, values // 4) if parameters.m0 is None else np.minimum(parameters.m0, values)
    r0: Bounds = values // 2 if parameters.r0 is None else np.minimum(parameters.r0, values)
    return Reach(
        lows=lows,
        highs=highs,
        m0=np.where(real, parameters.m0_share * lengths, m0).astype(number_type),
        r0=np.where(real, parameters.r0_share * lengths, r0).astype(number_type),
        real=real,
        scales=decimal_scales(task.features),
        absent=np.cumprod([1.0] + [1 - parameters.tau] * (parameters.pop_limit + 1), dtype=np.float64),
    )
