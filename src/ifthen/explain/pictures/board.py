"""The board that pictures of grids share: coloured cells, icons for start, hole and goal, borders, legends.

Everything is drawn with shapes of our own in units of a cell, so that it looks the same at any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Ellipse, Polygon
from matplotlib.textpath import text_to_path
from numpy.typing import NDArray

from ifthen.explain.pictures.grid import letters, on_grid, rule_borders
from ifthen.figure_style import MEDIUM, SMALL, bare_grid
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular import TabularTask

ICE, WATER, SHALLOWS, RIM = "#EAF4FB", "#1B4F7A", "#3F7FB0", "#C4DDEC"
MEADOW, FLAG, POLE, NOTHING = "#D3EDDF", "#00664A", "#222222", "#DDDDDD"
BORDER, START = "#222222", "#222222"
LARGEST_CELL, LARGEST_BOARD = 0.5, 4.4
"""In inches: the side of a cell, and of a whole board."""
TITLE, LEGEND_ROW = 0.28, 0.17


def cell_side(task: TabularTask, largest_board: float = LARGEST_BOARD) -> float:
    """Return the side of a cell in inches."""
    return min(LARGEST_CELL, largest_board / max(feature.width for feature in task.features))


def board(axes: Axes, task: TabularTask, side: float, colours: dict[tuple[int, int], Any]) -> None:
    """Draw the cells of a task with its icons.

    Args:
        axes: the panel.
        task: a task with a grid.
        side: of a cell, in inches.
        colours: of cells by row and column; the others get the ground's.
    """
    ground = {"H": RIM, "G": MEADOW, " ": NOTHING}
    map_ = letters(task)
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    where = [(r, c) for r in range(len(map_)) for c in range(len(map_[0]))]
    faces = [colours.get((r, c), ground.get(map_[r][c], ICE)) for r, c in where]
    squares = [corners + np.array((c, r)) for r, c in where]
    axes.add_collection(
        PolyCollection(squares, facecolors=faces, edgecolors="white", linewidths=2 * side, gid="cells")
    )
    for r, c in where:
        if map_[r][c] == "S":
            _start(axes, r, c, side)
        if map_[r][c] in "HG" and (r, c) not in colours:
            (_hole if map_[r][c] == "H" else _goal)(axes, r, c)
    x_axis, y_axis = task.features
    bare_grid(axes, len(map_[0]), len(map_), x_axis.low, y_axis.low)
    axes.set_xlabel("x", fontsize=MEDIUM, labelpad=1)
    axes.set_ylabel("y", fontsize=MEDIUM, rotation=0, labelpad=5, va="center")


def _hole(axes: Axes, r: int, c: int) -> None:
    """Draw a hole with water in it."""
    axes.add_patch(Ellipse((c, r), 0.8, 0.66, facecolor=WATER, edgecolor="none", gid="hole"))
    axes.add_patch(Ellipse((c, r + 0.06), 0.6, 0.42, facecolor=SHALLOWS, edgecolor="none"))


def _goal(axes: Axes, r: int, c: int) -> None:
    """Draw a flag."""
    pole = [(-0.22, -0.36), (-0.15, -0.36), (-0.15, 0.36), (-0.22, 0.36)]
    cloth = [(-0.15, -0.36), (0.3, -0.16), (-0.15, 0.04)]
    for shape, colour, name in ((pole, POLE, None), (cloth, FLAG, "goal")):
        axes.add_patch(
            Polygon(np.array(shape) + np.array((c, r)), facecolor=colour, edgecolor="none", gid=name)
        )


def _start(axes: Axes, r: int, c: int, side: float) -> None:
    """Draw a ring in the corner, above what else is drawn there."""
    ring = Circle((c - 0.33, r - 0.33), 0.09, facecolor="white", edgecolor=START, linewidth=2.4 * side)
    ring.set_gid("start")
    ring.set_zorder(4)
    axes.add_patch(ring)


def borders(axes: Axes, ruleset: RuleSet, task: TabularTask, side: float) -> bool:
    """Draw lines where neighbouring cells are decided by different rules; return whether there are any."""
    _, deciders = ruleset.choose(task.dynamics.points)
    edges = rule_borders(on_grid(deciders.astype(np.float64), task))
    lines = LineCollection(edges, colors=BORDER, linewidths=4 * side, capstyle="round", gid="rule borders")
    lines.set_zorder(3)
    axes.add_collection(lines)
    return bool(edges)


def ink_on(colour: Sequence[float]) -> str:
    """Return black or white, whichever is read better on a colour."""
    red, green, blue = colour[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else "white"


def text_width(text: str, size: float) -> float:
    """Return how wide a text of a size in points is, in inches."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return float(width) / 72


def fitting_size(texts: Sequence[str], side: float, least: float = 4.5) -> float | None:
    """Return the size in points at which all texts fit into a cell; None where they would be too small."""
    widest = max((text_width(text, SMALL) for text in texts), default=0.0)
    size = min(float(SMALL), SMALL * 0.86 * side / widest if widest else SMALL, 72 * 0.6 * side)
    return size if size >= least else None


def put_title(axes: Axes, text: str) -> None:
    """Write a panel's title."""
    axes.set_title(text, loc="left", fontsize=MEDIUM, pad=5, parse_math=False)


def boards(
    task: TabularTask,
    titles: Sequence[str],
    side: float,
    right: float = 0.12,
    below: Sequence[str] = (),
    least_height: float = 0.0,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with room for boards side by side, each with its title, and their panels.

    Everything has its place in inches: a layout that adapts itself would change the size of cells.

    Args:
        task: a task with a grid.
        titles: one for each board.
        side: of a cell, in inches.
        right: room to the right of the last board, in inches.
        below: the labels of a legend below, see `key_below`.
        least_height: of the figure, in inches.
    """
    x_axis, y_axis = task.features
    wide, high = x_axis.width * side, y_axis.width * side
    left = 0.32 + max(text_width(str(end), SMALL - 1) for end in (y_axis.low, y_axis.high))
    steps = [left + max(wide, text_width(title, MEDIUM)) for title in titles]
    width = sum(steps[:-1]) + left + max(wide + right, text_width(titles[-1], MEDIUM) + 0.12)
    under = 0.38 + (LEGEND_ROW * key_rows(width, below) + 0.06 if below else 0.0)
    height = max(TITLE + high + under, least_height)
    under += (height - TITLE - high - under) / 2
    figure = Figure(figsize=(width, height))
    panels = []
    for i, title in enumerate(titles):
        corner = (sum(steps[:i]) + left) / width, under / height
        panels.append(figure.add_axes((*corner, wide / width, high / height)))
        put_title(panels[-1], title)
    return figure, panels


def key_below(figure: Figure, keys: Sequence[tuple[Artist, str]]) -> None:
    """Write a legend below all panels, in as many columns as fit."""
    if keys:
        labels = [label for _, label in keys]
        legend = figure.legend(
            [handle for handle, _ in keys], [" "] * len(keys), loc="lower center", frameon=False,
            ncols=-(-len(keys) // key_rows(figure.get_figwidth(), labels)), fontsize=SMALL, handletextpad=0.5,
            columnspacing=1.2, labelspacing=0.35, borderaxespad=0.2,
        )  # fmt: skip
        name_keys(legend, labels)


def name_keys(legend: Any, labels: Sequence[str]) -> None:
    """Give a legend its labels, which may hold anything: `$` and a leading `_` mean nothing here."""
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_parse_math(False)
        text.set_text(label)


def key_rows(width: float, labels: Sequence[str]) -> int:
    """Return how many rows a legend with these labels takes in a width in inches; it is filled by column."""
    widths = [text_width(label, SMALL) + 0.38 for label in labels]
    for rows in range(1, len(labels)):
        if sum(max(widths[i : i + rows]) for i in range(0, len(widths), rows)) <= width - 0.15:
            return rows
    return len(labels)


def start_key() -> Line2D:
    """Return the legend's ring for the start."""
    return Line2D([], [], linestyle="none", marker="o", markersize=4, markerfacecolor="white", color=START)


def colours_of(
    values: NDArray[np.float64], task: TabularTask, colour: Any
) -> dict[tuple[int, int], tuple[float, float, float, float]]:
    """Return the colours of the cells of decision states by `colour(value)`; none where a value is NaN."""
    grid = on_grid(values, task)
    return {(r, c): colour(grid[r, c]) for r, c in np.argwhere(~np.isnan(grid)).tolist()}
