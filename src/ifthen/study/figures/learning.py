"""How learning went: of one system, and of all trials of a study."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import polars
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ifthen.figure_style import BLUE, GREEN, GREY, MEDIUM, ORANGE, Look, looks
from ifthen.study.figures.panels import (
    arranged,
    column_of,
    draw_optima,
    label_x_below,
    label_y,
    legend_above,
    optima,
    say_how_many,
    share_scale,
    task_figure,
    task_panels,
)
from ifthen.study.results import Results
from ifthen.study.verdicts import Measure
from ifthen.systems.base import System
from ifthen.tasks.env_task import EnvTask

OPTIMAL = "optimal policy"
MEAN = "mean fitness of the population"
TITLES: dict[Measure, str] = {"fraction": "performance on z", "exact_fraction": "exact performance"}


def learning_curve(system: System) -> Figure:
    """Draw performance against epochs, as fractions of the optimum where that is positive.

    Args:
        system: a system that has learnt.
    """
    task = system.task
    shown = _returns(system) if isinstance(task, EnvTask) else _of_optimum(system)
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    epochs = [record["epoch"] for record in system.now.records]
    for label, heights, colour, style in shown.lines:
        marker = "o" if len(epochs) == 1 else None
        axes.plot(epochs, heights, style, color=colour, label=label, linewidth=1.8, marker=marker)
    if shown.optimum is not None:
        axes.axhline(shown.optimum, color=GREEN, linewidth=1, label=OPTIMAL)
    axes.set_ylabel(shown.unit)
    if shown.limits is not None:
        axes.set_ylim(*shown.limits)
    axes.set_xlabel("epoch")
    axes.set_title(f"{system.name} on {task.name}, seed {system.seed}", loc="left", parse_math=False)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="lower right")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure


class _Shown(NamedTuple):
    """What a learning curve shows."""

    lines: list[tuple[str, list[float], str, str]]
    """Label, heights by epoch, colour and style."""
    unit: str
    optimum: float | None
    limits: tuple[float, float] | None
    """Of the heights; None for whatever holds all lines."""


def _of_optimum(system: System) -> _Shown:
    """Return the lines of a task whose optimum is known."""
    records, task = system.now.records, system.task
    on_z = task.optimal_performance("sampled", system.parameters.noise)
    exact = task.optimal_performance("exact")
    relative = on_z > 0 and exact > 0 and task.floor == 0
    lines = (
        ("mean_fitness", exact if system.method == "exact" else on_z, MEAN, GREY, "-"),
        ("performance", on_z, "ruleset on z", BLUE, "-"),
        ("exact_performance", exact, "ruleset, exact value", ORANGE, "--"),
    )
    shown = [
        (label, [record[name] / (optimum if relative else 1) for record in records], colour, style)
        for name, optimum, label, colour, style in lines
        if name in records[0]
    ]
    if relative:
        return _Shown(shown, "performance / optimum", 1.0, None)
    every = [record[name] for record in records for name in ("performance", "exact_performance")]
    return _Shown(shown, "performance", exact, _limits(every, task.floor, [exact]))


def _returns(system: System) -> _Shown:
    """Return the lines of an environment: on the reset seeds of z, and on others."""
    records, task = system.now.records, system.task
    lines = (
        ("mean_fitness", MEAN, GREY, "-"),
        ("performance", "ruleset on z, the reset seeds it was selected on", BLUE, "-"),
        ("unseen_performance", "ruleset on reset seeds that were not used", ORANGE, "--"),
    )
    shown = [
        (label, [_above(record[name], task.floor) for record in records], colour, style)
        for name, label, colour, style in lines
        if name in records[0]
    ]
    every = [record[name] for record in records for name in ("performance", "unseen_performance")]
    unit = "mean return" if task.gamma == 1 else f"mean discounted return, γ = {task.gamma:g}"
    return _Shown(shown, unit, None, _limits(every, task.floor, []))


def _above(value: float, floor: float) -> float:
    """Return a performance; NaN, which is a gap, for that of rules which met a state with no rule."""
    return value if value > floor else math.nan


def _limits(every: list[float], floor: float, also: list[float]) -> tuple[float, float]:
    """Return limits that hold all but the floor.

    A population's mean can be hundreds of times worse than its best, which is what matters, and so is the
    floor, where rulesets stand that have no rule for some state.
    """
    seen = [value for value in every if value > floor] or [0.0]
    lowest, span = min(seen), max([*seen, *also]) - min(seen)
    span = max(span, 1.0 if also else 0.1 * abs(lowest) or 1.0)
    return (lowest - span / 2, lowest + 1.2 * span) if also else (lowest - span / 4, lowest + 1.1 * span)


class Curve(NamedTuple):
    """How the trials of one system on one task went."""

    epochs: NDArray[np.int64]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    """With n − 1; NaN where there is only one trial."""
    trials: int
    no_rule: int = 0
    """Trials that met a state with no rule in the end; they count in no epoch where they do: a gap if all."""


def curves(results: Results, task: str, column: str) -> dict[str, Curve]:
    """Return the curves of all systems with finished trials on a task, by system in the plan's order."""
    own = results.histories.filter(polars.col("task") == task)
    meets = polars.col(column) <= results.floor(task)
    value = polars.when(~meets).then(polars.col(column))
    summed = value.mean().alias("mean"), value.std().alias("sd"), meets.sum().alias("no rule")
    by_epoch = own.group_by("system", "epoch").agg(*summed)
    found = {}
    for system in results.plan.systems:
        rows = by_epoch.filter(polars.col("system") == system.name).sort("epoch")
        if len(rows):
            mean, sd = (rows[name].fill_null(math.nan).to_numpy() for name in ("mean", "sd"))
            trials = len(results.trials(system.name, task))
            found[system.name] = Curve(rows["epoch"].to_numpy(), mean, sd, trials, rows["no rule"][-1])
    return found


def curves_grid(results: Results, measure: Measure = "fraction") -> Figure:
    """Draw performance against epochs, mean ± sd over trials, one panel per task (the paper's figure).

    Args:
        results: the study's; systems and trials that are missing are left out, and panels say how many are.
        measure: performance on z as a fraction of OTP, or exact as a fraction of the optimum; absolute
            where fractions mean nothing.
    """
    tasks, plan = list(results.plan.tasks_by_name()), results.plan
    arrangement = arranged(tasks)
    figure = task_figure(arrangement)
    panels = task_panels(figure, arrangement)
    relative = {task for task in tasks if results.relative(task)}
    drawn: dict[str, Any] = {}
    highest = 1.0
    for task, axes in panels.items():
        found = curves(results, task, column_of(results, task, measure))
        heights = optima(results, task, measure)
        drawn |= _draw_curves(axes, found, looks(system.name for system in plan.systems), plan.epochs)
        optimum = draw_optima(axes, heights)
        drawn |= {} if optimum is None else {OPTIMAL: optimum}
        counts = [found[system.name].trials if system.name in found else 0 for system in plan.systems]
        say_how_many(axes, counts, plan.trials, sum(curve.no_rule for curve in found.values()))
        if task in relative:
            highest = max([highest, *(float(curve.mean.max()) for curve in found.values())])
        elif found:
            axes.set_ylim(*later_limits(found, heights))
    share_scale(panels, arrangement, relative, (0, max(1.08, highest + 0.04)))
    label_x_below(panels, arrangement)
    figure.supxlabel("epoch", fontsize=MEDIUM)
    label_y(figure, panels, relative)
    order = [name for name in (*(system.name for system in plan.systems), OPTIMAL) if name in drawn]
    over = f"mean ± sd over {plan.trials} trials" if plan.trials > 1 else "one trial"
    title = (f"{_title(results, measure)}, {over}", arrangement.meaning)
    legend_above(figure, [drawn[name] for name in order], order, title)
    return figure


def _title(results: Results, measure: Measure) -> str:
    """Return what the curves show."""
    if measure == "fraction" or not results.environments:
        return TITLES[measure]
    exact = "" if results.only_environments else f"{TITLES[measure]}, or "
    return f"{exact}mean return on reset seeds that were not used"


def _draw_curves(
    axes: Axes, found: dict[str, Curve], look_of: dict[str, Look], epochs: int
) -> dict[str, tuple[Any, ...]]:
    """Draw the curves of one panel; return what stands for each system in the legend."""
    handles: dict[str, tuple[Any, ...]] = {}
    for position, (name, (colour, line, marker)) in enumerate(look_of.items()):
        if name not in found:
            continue
        curve = found[name]
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
            markevery=(step * (position + 1) // (len(look_of) + 1), step),
        )
        handles[name] = (*band, mean)
    axes.set_xlim(0, epochs)
    axes.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    return handles


def later_limits(found: dict[str, Curve], heights: list[float]) -> tuple[float, float]:
    """Return limits that hold what the second half of the epochs shows, and the optimum.

    Costs begin many times worse than they end, mostly at the floor, where rulesets stand that have no rule
    for some state: on a scale that holds all of that, nothing else could be seen.
    """
    halves = [(c.mean[len(c.mean) // 2 :], c.sd[len(c.sd) // 2 :]) for c in found.values()]
    later = [(mean[~np.isnan(mean)], np.nan_to_num(sd[~np.isnan(mean)])) for mean, sd in halves]
    low = min([*heights, *((mean - sd).min() for mean, sd in later if len(mean))], default=0.0)
    high = max([*heights, *((mean + sd).max() for mean, sd in later if len(mean))], default=0.0)
    margin = 0.08 * (high - low) or 1.0
    return float(low - margin), float(high + margin)
