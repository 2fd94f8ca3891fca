"""Figures of how learning went, in Okabe and Ito's colours, which colour-blind readers can tell apart."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from ifthen.store import atomic_file
from ifthen.systems.base import System

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"


def learning_curve(system: System) -> Figure:
    """Draw performance against epochs, as fractions of the optimum where that is positive.

    Args:
        system: a system that has learnt.
    """
    records, task = system.now.records, system.task
    on_z = task.optimal_performance("sampled", system.parameters.noise)
    exact = task.optimal_performance("exact")
    relative = on_z > 0 and exact > 0 and task.floor == 0
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    fitness_optimum = exact if system.method == "exact" else on_z
    lines = (
        ("mean_fitness", fitness_optimum, "mean fitness of the population", GREY, "-"),
        ("performance", on_z, "ruleset on z", BLUE, "-"),
        ("exact_performance", exact, "ruleset, exact value", ORANGE, "--"),
    )
    epochs = [record["epoch"] for record in records]
    for name, optimum, label, colour, style in lines:
        if name in records[0]:
            heights = [record[name] / (optimum if relative else 1) for record in records]
            marker = "o" if len(epochs) == 1 else None
            axes.plot(epochs, heights, style, color=colour, label=label, linewidth=1.8, marker=marker)
    axes.axhline(1 if relative else exact, color=GREEN, linewidth=1, label="optimal policy")
    axes.set_ylabel("performance / optimum" if relative else "performance")
    if not relative:
        # A population's mean can be hundreds of times worse than its best, which is what matters, and so is
        # the floor, where rulesets stand that have no rule for some state.
        every = [record[name] for record in records for name in ("performance", "exact_performance")]
        seen = [value for value in every if value > task.floor] or every
        lowest, span = min(seen), max(1.0, max(*seen, exact) - min(seen))
        axes.set_ylim(lowest - span / 2, lowest + 1.2 * span)
    axes.set_xlabel("epoch")
    axes.set_title(f"{system.name} on {task.name}, seed {system.seed}", loc="left", parse_math=False)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="lower right")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure


def write_png(path: Path, figure: Figure) -> None:
    """Write a figure as a PNG file, whole or not at all."""
    with atomic_file(path) as file:
        figure.savefig(file, format="png", dpi=150, bbox_inches="tight", pad_inches=0.12)
