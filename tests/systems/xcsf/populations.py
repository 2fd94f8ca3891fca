"""Compiled populations made of the oracle's rules, with all that kernels need to know about them."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from ifthen import Feature, TabularTask
from ifthen.systems.xcsf.index import Learning, Space, remove
from ifthen.systems.xcsf.xcsf_learner import Learner
from ifthen.systems.xcsf.xcsf_on_env import EnvLearner
from ifthen.systems.xcsf.xcsf_on_table import TableLearner
from ifthen.systems.xcsf.xcsf_parameters import Reach, Settings, XCSFParameters, fill_parameters
from ifthen.systems.xcsf.xcsf_population import COUNTERS, NURSERY, Classifiers, empty_population, unpacked
from ifthen.tasks.gym_task import EnvTask
from tests.envs import WALK, task_of
from tests.naive_xcsf import Rule, unit_matrix

COUNTS = (
    "macros",
    "micros",
    "mean_error",
    "mean_generality",
    "episodes",
    "steps",
    *COUNTERS[COUNTERS.index("ga_invocations") :],
)
"""The columns of a history after those that say how well the rules do."""
KEPT = ("action", "numerosity", "experience", "stamp", "fitness", "error", "niche_error", "set_size")


MIXED = (Feature("whole", -4, 4, clips=True), Feature("place", -3.0, 3.0, "real", clips=True))


def walk(
    environment: str = WALK, kind: str = "tuple", features: tuple[Feature, ...] | None = MIXED, **given: Any
) -> EnvTask:
    """Return a walk over an integer and a real feature, both clipped, or over others."""
    made = task_of(environment, kind=kind, **given)
    return made if features is None else dataclasses.replace(made, features=features)


class World(NamedTuple):
    """A population that learns, on a task."""

    parameters: XCSFParameters
    settings: Settings
    reach: Reach
    model: Any
    classifiers: Classifiers
    space: Space
    own: Learning

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
        remove(r, self.classifiers, self.space, self.reach.lows)


def rule(bounds: Any, action: int = 0, **options: Any) -> Rule:
    """Return one of the oracle's rules, as new rules are but for what is given."""
    new = {"fitness": 1e-3, "error": 1e-3, "niche_error": 1e-3, "stamp": 0}
    size = len(bounds) + 1
    return Rule(bounds, action, [0.0] * size, unit_matrix(size, 10.0), **{**new, **options})


def world(task: TabularTask | EnvTask, rules: list[Rule], now: int = 0, **parameters: Any) -> World:
    """Return the compiled population of rules at a given step."""
    given, kind = XCSFParameters(**parameters), np.float64 if isinstance(task, EnvTask) else np.int32
    suited = EnvLearner.suited(task) if isinstance(task, EnvTask) else TableLearner.suited(task)
    filled = fill_parameters(given, task, suited)
    assert filled.pop_limit is not None
    population = empty_population(len(task.features), filled.prediction == "rls", len(rules), kind)
    upper = np.triu_indices(len(task.features) + 1)
    for r, own in enumerate(rules):
        for name in (*KEPT, "bounds", "weights"):
            getattr(population, name)[r] = getattr(own, name)
        if filled.prediction == "rls":
            population.covariance[r] = np.array(own.covariance)[upper]
    classifiers = unpacked(population, filled.pop_limit)
    classifiers.clock[0].steps = now
    classifiers.clock[0].micros = sum(own.numerosity for own in rules)
    if isinstance(task, EnvTask):
        learner: Learner[Any] = EnvLearner(task, filled, 0)
    else:
        learner = TableLearner(task, filled, 0)
    held = np.zeros(len(classifiers.rules) - NURSERY, dtype=np.bool_)
    made = learner.learning(classifiers, held)
    return World(filled, made.settings[0], made.reach, made.model, classifiers, made.space, made)


def whole(triangle: Any, size: int) -> Any:
    """Return the symmetric matrix of an upper triangle."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = triangle
    return matrix + np.triu(matrix, 1).T
