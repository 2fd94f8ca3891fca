"""Rules taken out of a population."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.rules.features import bounds_type
from ifthen.systems.xcsf.population import Population
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask


def ruleset_of(
    population: Population, task: TabularTask | EnvTask, weights: NDArray[np.float64], x0: float
) -> PredictionArrayRules:
    """Return all rules (macroclassifiers) of a population that has some.

    Args:
        population: the population.
        task: its task.
        weights: `(slots, features + 1)`: those of the features as they are.
        x0: the constant before them.
    """
    rules = population.numerosity > 0
    return PredictionArrayRules(
        population.bounds[rules].astype(bounds_type(task.features)),
        population.action[rules],
        task.features,
        task.action_names,
        weights[rules],
        population.fitness[rules],
        population.error[rules],
        population.numerosity[rules],
        population.experience[rules],
        x0,
    )
