"""The history of PPL-DL and PPL-ST: the rows of its epochs, and the population of a file that has one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ModelFileError
from ifthen.inference.rulebook import Rulebook
from ifthen.rollout.env_fitness import EnvFitness, EnvMeasured, RulesetMeasured
from ifthen.rollout.fitness import Fitness
from ifthen.rollout.tabular import Measured, play
from ifthen.rules.features import bounds_type, lows_and_highs
from ifthen.systems.base import Record
from ifthen.systems.model_file import Model, check_arrays
from ifthen.systems.pittsburgh import Population
from ifthen.systems.pittsburgh_parameters import PittsburghParameters, sizes
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.solve import exact_performances
from ifthen.tasks.tabular import TabularTask

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
