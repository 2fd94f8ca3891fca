"""Learning curves of all trials of a study."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import polars
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ifthen.figure_style import look
from ifthen.rules.arrays import Floats, Ints
from ifthen.runs.run_report import OPTIMAL
from ifthen.study.figures.panels import TaskPanels, draw_optima, optima, say_how_many
from ifthen.study.study_plan import StudyPlan
from ifthen.study.study_results import Measure, Results

TITLES: dict[Measure, str] = {"fraction": "performance on z", "exact_fraction": "exact performance"}


class Curve(NamedTuple):
    """How the trials of one system on one task went."""

    epochs: Ints
    mean: Floats
    sd: Floats
    """With n − 1; NaN where there is only one trial."""
    trials: int
    no_rule: int = 0
    """The number of trials that reached a state with no rule in the end. They are left out of the mean in
    every epoch in which they reach one."""


def curves(results: Results, task: str, column: str) -> dict[str, Curve]:
    """Return the curves of all systems with finished trials on a task, by system in the plan's order."""
    task_histories = results.histories.filter(polars.col("task") == task)
    at_floor = polars.col(column) <= results.floor(task)
    value = polars.when(~at_floor).then(polars.col(column))
    aggregates = value.mean().alias("mean"), value.std().alias("sd"), at_floor.sum().alias("no rule")
    by_epoch = task_histories.group_by("system", "epoch").agg(*aggregates)
    by_system = {}
    for system in results.plan.systems:
        rows = by_epoch.filter(polars.col("system") == system.name).sort("epoch")
        if len(rows):
            mean, sd = (rows[name].fill_null(math.nan).to_numpy() for name in ("mean", "sd"))
            trials = len(results.trials(system.name, task))
            by_system[system.name] = Curve(rows["epoch"].to_numpy(), mean, sd, trials, rows["no rule"][-1])
    return by_system


def curves_grid(results: Results, measure: Measure = "fraction") -> Figure:
    """Draw performance against epochs, mean ± sd over trials, one panel per task (the paper's figure).

    Args:
        results: the study's; systems and trials that are missing are left out, and panels say how many are.
        measure: performance on z as a fraction of OTP, or exact as a fraction of the optimum; absolute
            where fractions mean nothing.
    """
    plan, grid = results.plan, TaskPanels(results)
    drawn: dict[str, Any] = {}
    highest = 1.0
    for task, axes in grid.panels.items():
        task_curves = curves(results, task, results.column(task, measure, final=False))
        heights = optima(results, task, measure)
        drawn |= _draw_curves(axes, task_curves, plan)
        optimum = draw_optima(axes, heights)
        drawn |= {} if optimum is None else {OPTIMAL: optimum}
        counts = [
            task_curves[system.name].trials if system.name in task_curves else 0 for system in plan.systems
        ]
        say_how_many(axes, counts, plan.trials, sum(curve.no_rule for curve in task_curves.values()))
        if task in grid.relative:
            highest = max([highest, *(float(curve.mean.max()) for curve in task_curves.values())])
        elif task_curves:
            axes.set_ylim(*later_limits(task_curves.values(), heights))
    grid.label_x_below()
    order = [name for name in (*(system.name for system in plan.systems), OPTIMAL) if name in drawn]
    over = f"mean ± sd over {plan.trials} trials" if plan.trials > 1 else "one trial"
    limits, title = (0.0, max(1.08, highest + 0.04)), f"{_title(results, measure)}, {over}"
    return grid.finish(limits, "epoch", {name: drawn[name] for name in order}, title)


def _title(results: Results, measure: Measure) -> str:
    """Return what the curves show."""
    if not results.environments:
        return TITLES[measure]
    of_tables = "" if results.only_environments else f"{TITLES[measure]}, or "
    return f"{of_tables}mean return on {'training' if measure == 'fraction' else 'validation'} seeds"


def _draw_curves(axes: Axes, task_curves: dict[str, Curve], plan: StudyPlan) -> dict[str, tuple[Any, ...]]:
    """Draw the curves of one panel; return what stands for each system in the legend."""
    handles: dict[str, tuple[Any, ...]] = {}
    for position, name in enumerate(system.name for system in plan.systems):
        if name not in task_curves:
            continue
        curve, (colour, line, marker) = task_curves[name], look(position)
        band: tuple[Any, ...] = ()
        if curve.trials > 1:
            low, high = curve.mean - curve.sd, curve.mean + curve.sd
            band = (axes.fill_between(curve.epochs, low, high, color=colour, alpha=0.16, linewidth=0),)
        step = max(1, len(curve.epochs) // 4)
        (mean,) = axes.plot(
            curve.epochs,
            curve.mean,
            color=colour,
            linestyle=line,
            linewidth=1.2,
            marker=marker,
            markersize=4,
            markeredgecolor="white",
            markeredgewidth=0.5,
            # Markers of one system stand between those of the others.
            markevery=(step * (position + 1) // (len(plan.systems) + 1), step),
        )
        handles[name] = (*band, mean)
    axes.set_xlim(0, plan.epochs)
    axes.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    return handles


def later_limits(shown_curves: Iterable[Curve], heights: list[float]) -> tuple[float, float]:
    """Return limits that hold what the second half of the epochs shows, and the optimum.

    Costs begin many times worse than they end, mostly at the floor, where rulesets stand that have no rule
    for some state: on a scale that holds all of that, nothing else could be seen.
    """
    halves = [(curve.mean[len(curve.mean) // 2 :], curve.sd[len(curve.sd) // 2 :]) for curve in shown_curves]
    later = [(mean[~np.isnan(mean)], np.nan_to_num(sd[~np.isnan(mean)])) for mean, sd in halves]
    low = min([*heights, *((mean - sd).min() for mean, sd in later if len(mean))], default=0.0)
    high = max([*heights, *((mean + sd).max() for mean, sd in later if len(mean))], default=0.0)
    margin = 0.08 * (high - low) or 1.0
    return float(low - margin), float(high + margin)
