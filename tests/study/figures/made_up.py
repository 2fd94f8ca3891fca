"""Results that were made up, small enough to check a figure by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars
from matplotlib.lines import Line2D

from ifthen import DecisionList, RuleSet, TabularTask
from ifthen.study.study_plan import StudyPlan, Trial, checked_plan
from ifthen.study.study_results import Results
from tests.tables import tables_of

LAKES = ["FrozenLake-4-0", "FrozenLake-4-0.1", "FrozenLake-8-0", "FrozenLake-8-0.1"]


def xs(line: Line2D) -> list[float]:
    """Return where the points of a line stand."""
    return [float(x) for x in np.asarray(line.get_xdata(), dtype=np.float64)]


def ys(line: Line2D) -> list[float]:
    """Return how high the points of a line stand."""
    return [float(y) for y in np.asarray(line.get_ydata(), dtype=np.float64)]


def made_up_plan(systems: list[str], tasks: list[Any], trials: int, epochs: int = 2) -> StudyPlan:
    return checked_plan(
        {
            "name": "made up",
            "systems": [{"name": name, "system": "PPL-DL"} for name in systems],
            "tasks": tasks,
            "trials": trials,
            "epochs": epochs,
        }
    )


def made_up_results(
    plan: StudyPlan, curves: dict[tuple[str, str], list[list[float]]], absolute: tuple[str, ...] = ()
) -> Results:
    """Return results with these values on z, trial by trial and epoch by epoch; exact ones are 0.1 lower.

    Args:
        plan: the plan.
        curves: values by system and task.
        absolute: the tasks whose values are no fractions; their optimum is −10 on z and −11 exactly.
    """
    rows = [
        {"system": system, "task": task, "seed": seed, "epoch": epoch, "rules": 10 * (seed + 1)}
        | {"best_action_rules": 3 + seed, "performance": value, "exact_performance": value - 0.1}
        | {"fraction": None if task in absolute else value, "otp": -10.0, "optimum": -11.0}
        | {"exact_fraction": None if task in absolute else value - 0.1}
        for (system, task), trials in curves.items()
        for seed, values in enumerate(trials)
        for epoch, value in enumerate(values)
    ]
    return Results(plan, polars.DataFrame(rows, infer_schema_length=None))


def covering(task: TabularTask, copies: int) -> RuleSet:
    """Return a ruleset that does 0 everywhere, by `copies` rules for all states and one for the first column.

    The density of a state is `copies`, and one more where x is 0.
    """
    everywhere = [[feature.low, feature.high] for feature in task.features]
    column = [[0, 0], everywhere[1]]
    bounds = [*([everywhere] * copies), column]
    return DecisionList(bounds, [0] * (copies + 1), task.features, task.action_names)


def with_rulesets(results: Results) -> Results:
    """Return the results with rulesets: trial number `seed` has `covering(task, seed + 1)`."""
    tasks = tables_of(results.plan)

    def ruleset(trial: Trial) -> RuleSet:
        return covering(tasks[trial.task], trial.seed + 1)

    return Results(results.plan, results.histories, ruleset=ruleset)
