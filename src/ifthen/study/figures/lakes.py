"""The maps of FrozenLakes, side by side."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.figure import Figure

from ifthen.explanation.pictures.board import board
from ifthen.figure_style import MEDIUM, WIDTH
from ifthen.study.figures.panels import balanced
from ifthen.tasks.table import TabularTask

COLUMNS = 4


def lakes_figure(tasks: Iterable[TabularTask]) -> Figure | None:
    """Draw the maps of lakes, each once, with their holes, start and goal.

    Args:
        tasks: tasks on a grid; those without a map are left out.

    Returns:
        The figure; None where no task has a map.
    """
    lakes: dict[tuple[str, ...], TabularTask] = {}
    for task in tasks:
        if task.layout:
            lakes.setdefault(task.layout, task)
    if not lakes:
        return None
    columns = balanced(len(lakes), COLUMNS)
    rows = -(-len(lakes) // columns)
    side = WIDTH / max(columns, 3)
    figure = Figure(figsize=(columns * side, rows * (side + 0.15)), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    sizes = [f"{len(layout)} × {len(layout[0])}" for layout in lakes]
    for axes, task, size in zip(panels, lakes.values(), sizes, strict=False):
        board(axes, task, side / max(feature.width for feature in task.features), {})
        title = f"{task.name} ({size})" if sizes.count(size) > 1 else size
        axes.set_title(title, fontsize=MEDIUM, pad=4, parse_math=False)
    for axes in panels[len(lakes) :]:
        axes.remove()
    return figure
