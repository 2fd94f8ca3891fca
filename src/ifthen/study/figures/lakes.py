"""The maps of FrozenLakes, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from ifthen.figure_style import MEDIUM, WIDTH, bare_grid
from ifthen.study.figures.panels import balanced
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

COLUMNS = 4
FROZEN, HOLE, GOAL = "white", "#7F7F7F", "#009E73"
KINDS = {"H": 1, "G": 2}


def lakes_figure(tasks: Iterable[TabularTask | EnvTask]) -> Figure | None:
    """Draw the maps of lakes, each once: frozen cells white, holes grey, the goal green.

    Args:
        tasks: any; those without a map are left out.

    Returns:
        The figure; None where no task has a map.
    """
    names: dict[tuple[str, ...], str] = {}
    for task in tasks:
        if isinstance(task, TabularTask) and task.layout:
            names.setdefault(task.layout, task.name)
    if not names:
        return None
    columns = balanced(len(names), COLUMNS)
    rows = -(-len(names) // columns)
    side = WIDTH / max(columns, 3)
    figure = Figure(figsize=(columns * side, rows * (side + 0.15)), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, (layout, title) in zip(panels, _titles(names).items(), strict=False):
        _draw(axes, layout)
        axes.set_title(title, fontsize=MEDIUM, pad=4, parse_math=False)
    for axes in panels[len(names) :]:
        axes.remove()
    return figure


def _titles(names: dict[tuple[str, ...], str]) -> dict[tuple[str, ...], str]:
    """Return the size of each map, with the name of its first task where others have that size too."""
    sizes = {layout: f"{len(layout)} × {len(layout[0])}" for layout in names}
    shared = {size for size in sizes.values() if list(sizes.values()).count(size) > 1}
    return {layout: f"{names[layout]} ({size})" if size in shared else size for layout, size in sizes.items()}


def _draw(axes: Axes, layout: tuple[str, ...]) -> None:
    """Draw one map."""
    rows, columns = len(layout), len(layout[0])
    kinds = [[KINDS.get(letter, 0) for letter in row] for row in layout]
    axes.imshow(kinds, cmap=ListedColormap([FROZEN, HOLE, GOAL]), vmin=0, vmax=2, interpolation="nearest")
    bare_grid(axes, columns, rows)
    lines: dict[str, Any] = {"color": "0.75", "linewidth": 0.5}
    for x in range(1, columns):
        axes.axvline(x - 0.5, **lines)
    for y in range(1, rows):
        axes.axhline(y - 0.5, **lines)
    size = min(11, 90 / max(rows, columns))
    for y, row in enumerate(layout):
        for x, letter in enumerate(row):
            if letter in "SG":
                colour = "white" if letter == "G" else "black"
                axes.text(x, y, letter, ha="center", va="center", fontsize=size, weight="bold", color=colour)
    axes.set_xlabel("x", fontsize=MEDIUM, labelpad=1)
    axes.set_ylabel("y", fontsize=MEDIUM, rotation=0, labelpad=5, va="center")
