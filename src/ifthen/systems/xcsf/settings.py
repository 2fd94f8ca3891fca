"""What kernels of XCSF need besides the population: parameters, and the places where rules meet states.

Single parameters stand in a record, lengths per feature in arrays. Rules meet states in a table, or in the
two live rows of an environment. In live rows the prediction is linear in x = (x0, (s − centre) / half): every
feature is scaled from its range to [−1, 1], so that angles and speeds count alike. Rulesets speak of s
itself, so their weights are turned back (`raw_weights`); what they predict is the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.evolve.alleles import decimal_scales
from ifthen.rules.feature import lows_and_highs
from ifthen.systems.xcsf.parameters import XCSFParameters
from ifthen.systems.xcsf.population import Bounds
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.table import Dynamics
from ifthen.tasks.task import Task

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

    lows: Bounds
    """`(features,)`: the smallest value of each feature."""
    highs: Bounds
    """`(features,)`: the largest value of each feature."""
    m0: Bounds
    """`(features,)`: furthest that mutation moves a bound."""
    r0: Bounds
    """`(features,)`: furthest that covering reaches."""
    real: NDArray[np.bool_]
    """`(features,)`: whether the feature is real."""
    scales: NDArray[np.float64]
    """`(features,)`: the inverse of the step that a real feature's bounds are rounded to."""
    absent: NDArray[np.float64]
    """`(N + 2,)`: probability that none of 0, 1, 2, … microclassifiers enters a tournament."""


def kernel_settings(p: XCSFParameters, task: Task) -> Settings:
    """Return the filled parameters as kernels need them, in a record array of one."""
    own = {
        "gamma": task.gamma if p.gamma is None else p.gamma,
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


def kernel_reach(p: XCSFParameters, task: Task, kind: Any) -> Reach:
    """Return lengths per feature, as numbers of a kind, and the tournament's table."""
    assert p.pop_limit is not None
    real = np.array([not feature.is_integer for feature in task.features])
    lows, highs = (ends.astype(kind) for ends in lows_and_highs(task.features))
    lengths, values = highs - lows, highs - lows + 1
    m0: Bounds = np.maximum(1, values // 4) if p.m0 is None else np.minimum(p.m0, values)
    r0: Bounds = values // 2 if p.r0 is None else np.minimum(p.r0, values)
    return Reach(
        lows=lows,
        highs=highs,
        m0=np.where(real, p.m0_share * lengths, m0).astype(kind),
        r0=np.where(real, p.r0_share * lengths, r0).astype(kind),
        real=real,
        scales=decimal_scales(task.features),
        absent=np.cumprod([1.0] + [1 - p.tau] * (p.pop_limit + 1), dtype=np.float64),
    )


ROWS = 2
UNROLLED = 16
"""The most features whose loops are unrolled; kernels are compiled for every number of features up to it."""


class Live(NamedTuple):
    """The live rows of an environment, in the place of a table's states."""

    states: NDArray[np.float64]
    """`(2, features)`: the features of the state before and of the present one, in turns."""
    points: NDArray[np.float64]
    """`(2, features)`: the same scaled to [−1, 1]."""
    axes: Any
    """The features' numbers: a tuple as in `Dynamics` where they are few, else an array."""
    centres: NDArray[np.float64]
    """`(features,)`: the middle of each feature's range,"""
    halves: NDArray[np.float64]
    """`(features,)`: and half its width, 1 where it has none."""


Places = Dynamics | Live


def live_rows(task: EnvTask) -> Live:
    """Return the live rows of a task, empty yet."""
    lows, highs = task.ranges
    features = len(task.features)
    halves = np.where(highs > lows, (highs - lows) / 2, 1.0)
    nothing = np.full((ROWS, features), np.nan)
    axes = tuple(range(features)) if features <= UNROLLED else np.arange(features)
    return Live(nothing, nothing.copy(), axes, (lows + highs) / 2, halves)


def raw_weights(weights: NDArray[np.float64], live: Live, x0: float) -> NDArray[np.float64]:
    """Return weights `(rules, features + 1)` of scaled features as those of the features themselves."""
    raw: NDArray[np.float64] = weights / np.concatenate([[1.0], live.halves])
    raw[:, 0] -= raw[:, 1:] @ live.centres / x0
    return raw
