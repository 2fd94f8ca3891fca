"""The parameters of XCSF as kernels need them: single numbers in a record, lengths per feature in arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.evolve.rounding import decimal_scales
from ifthen.rules.features import lows_and_highs
from ifthen.systems.xcsf.parameters import XCSFParameters
from ifthen.systems.xcsf.population import Bounds
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

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
    """`(features,)`: the smallest value of each feature,"""
    highs: Bounds
    """`(features,)`: and the largest."""
    m0: Bounds
    """`(features,)`: furthest that mutation moves a bound."""
    r0: Bounds
    """`(features,)`: furthest that covering reaches."""
    real: NDArray[np.bool_]
    """`(features,)`: whether the feature is real."""
    scales: NDArray[np.float64]
    """`(features,)`: the inverse of the step that a real feature's bounds are rounded to."""
    absent: NDArray[np.float64]
    """`(N + 2,)`: probability that none of so many microclassifiers enters a tournament."""


def kernel_settings(p: XCSFParameters, task: TabularTask | EnvTask) -> Settings:
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


def kernel_reach(p: XCSFParameters, task: TabularTask | EnvTask) -> Reach:
    """Return lengths per feature, and the tournament's table; whole numbers on tabular tasks only."""
    assert p.pop_limit is not None
    kind: Any = np.float64 if isinstance(task, EnvTask) else np.int32
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
