"""Figures of how learning went, in Okabe and Ito's colours, which colour-blind readers can tell apart."""

from __future__ import annotations

import math
from pathlib import Path

from matplotlib.figure import Figure

from ifthen.store import atomic_file
from ifthen.systems.base import System

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"


def learning_curve(system: System) -> Figure:
    """Draw fitness and exact performance against epochs, as fractions of the optimum.

    Args:
        system: a system that has learnt.
    """
    records = system.now.records
    parameters, task = system.parameters, system.task
    measured = task.optimal_performance(parameters.fitness, parameters.noise)
    exact = task.optimal_performance("exact")
    epochs = [record["epoch"] for record in records]
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    lines = (
        ("best_fitness", measured, "best of the population", BLUE, "-"),
        ("mean_fitness", measured, "mean of the population", GREY, "-"),
        ("best_exact", exact, "best, exact value", ORANGE, "--"),
    )
    for name, optimum, label, colour, style in lines:
        unit = optimum if optimum > 0 else math.nan
        heights = [record[name] / unit if optimum > 0 else record[name] for record in records]
        marker = "o" if len(epochs) == 1 else None
        axes.plot(epochs, heights, style, color=colour, label=label, linewidth=1.8, marker=marker)
    if measured > 0 and exact > 0:
        axes.axhline(1, color=GREEN, linewidth=1, label="optimal policy")
        axes.set_ylabel("performance / optimum")
    else:
        axes.set_ylabel("performance")
    axes.set_xlabel("epoch")
    axes.set_title(f"{system.name} on {task.name}, seed {system.seed}", loc="left")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="lower right")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure


def write_png(path: Path, figure: Figure) -> None:
    """Write a figure as a PNG file, whole or not at all."""
    with atomic_file(path) as file:
        figure.savefig(file, format="png", dpi=150, bbox_inches="tight", pad_inches=0.12)
