"""Compiled populations made of the oracle's rules, with all that kernels need to know about them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ifthen import XCSF, TabularTask
from ifthen.systems.xcsf.index import Space, new_space, remove
from ifthen.systems.xcsf.parameters import (
    Reach,
    Settings,
    XCSFParameters,
    fill_parameters,
    kernel_reach,
    kernel_settings,
)
from ifthen.systems.xcsf.population import NURSERY, Classifiers, empty_population, unpacked
from ifthen.tasks.tabular import Dynamics
from tests.naive_xcsf import Rule, unit_matrix

KEPT = ("action", "numerosity", "experience", "stamp", "fitness", "error", "niche_error", "set_size")


class World(NamedTuple):
    """A population that learns, on a task."""

    parameters: XCSFParameters
    settings: Settings
    reach: Reach
    model: Dynamics
    classifiers: Classifiers
    space: Space

    def column(self, name: str, n: int) -> Any:
        """Return a quantity of the first n rules."""
        columns = self.classifiers if name in ("bounds", "weights", "covariance") else None
        whole = self.classifiers.rules[name] if columns is None else getattr(columns, name)
        return whole[:n].tolist()

    def counter(self, name: str) -> int:
        """Return what the clock says."""
        return int(self.classifiers.clock[0][name])

    def remove(self, r: int) -> None:
        """Take a rule out."""
        remove(r, self.classifiers.rules, self.classifiers.bounds, self.space, self.reach.lows)


def rule(bounds: Any, action: int = 0, **options: Any) -> Rule:
    """Return one of the oracle's rules, as new rules are but for what is given."""
    new = {"fitness": 1e-3, "error": 1e-3, "niche_error": 1e-3, "stamp": 0}
    size = len(bounds) + 1
    return Rule(bounds, action, [0.0] * size, unit_matrix(size, 10.0), **{**new, **options})


def world(task: TabularTask, rules: list[Rule], now: int = 0, **parameters: Any) -> World:
    """Return the compiled population of rules at a given step."""
    filled = fill_parameters(XCSFParameters(**parameters), task)
    assert filled.pop_limit is not None
    settings, reach, model = kernel_settings(filled, task), kernel_reach(filled, task), task.dynamics
    population = empty_population(len(task.features), filled.prediction == "rls", len(rules))
    upper = np.triu_indices(len(task.features) + 1)
    for r, own in enumerate(rules):
        for name in (*KEPT, "bounds", "weights"):
            getattr(population, name)[r] = getattr(own, name)
        if filled.prediction == "rls":
            population.covariance[r] = np.array(own.covariance)[upper]
    classifiers = unpacked(population, filled.pop_limit)
    classifiers.clock[0].steps = now
    classifiers.clock[0].micros = sum(own.numerosity for own in rules)
    held = np.zeros(len(classifiers.rules) - NURSERY, dtype=np.bool_)
    by_box = filled.equality == "box"
    inputs, up_to = XCSF(task, **parameters)._tables
    space = new_space(classifiers, held, by_box, inputs, up_to, reach.lows, task.n_actions)
    return World(filled, settings[0], reach, model, classifiers, space)


def whole(triangle: Any, size: int) -> Any:
    """Return the symmetric matrix of an upper triangle."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = triangle
    return matrix + np.triu(matrix, 1).T
