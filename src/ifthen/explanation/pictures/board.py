"""The board that pictures of grids share: coloured cells, icons for start, hole and goal, borders, legends.

Everything is drawn with shapes of our own in units of a cell, so that it looks the same at any size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, Ellipse, Patch, Polygon
from matplotlib.textpath import text_to_path

from ifthen.explanation.pictures.planes import rule_borders
from ifthen.explanation.pictures.policy_grid import first_place, grid_shape, letters, on_grid
from ifthen.figure_style import MEDIUM, SMALL, bare_grid
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular_task import TabularTask

ICE, WATER, SHALLOWS, RIM = "#EAF4FB", "#1B4F7A", "#3F7FB0", "#C4DDEC"
MEADOW, FLAG, POLE, NOTHING = "#D3EDDF", "#00664A", "#222222", "#DDDDDD"
BORDER, START = "#222222", "#222222"
WALL = "#4A5560"
GROUND = {"H": RIM, "G": MEADOW, "O": WALL, " ": NOTHING}
POLE_SHAPE = np.array([(-0.22, -0.36), (-0.15, -0.36), (-0.15, 0.36), (-0.22, 0.36)])
CLOTH_SHAPE = np.array([(-0.15, -0.36), (0.3, -0.16), (-0.15, 0.04)])
CORNERS = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
LARGEST_CELL = 0.5
"""The largest side of a cell, in inches."""
LARGEST_BOARD = 4.4
"""The largest side of a board, in inches."""
TITLE = 0.28
"""The height of the title, in inches."""
LEGEND_ROW = 0.17
"""The height of a row of the legend, in inches."""
Keys = Sequence[tuple[str, Artist]]
"""The labels of a legend, each with its mark."""


def cell_side(task: TabularTask, largest_board: float = LARGEST_BOARD) -> float:
    """Return the side of a cell in inches."""
    return min(LARGEST_CELL, largest_board / max(grid_shape(task)))


def board(axes: Axes, task: TabularTask, side: float, colours: Mapping[tuple[int, int], Any]) -> None:
    """Draw the cells of a task with its icons.

    Args:
        axes: the panel.
        task: a task with a grid.
        side: of a cell, in inches.
        colours: of cells by row and column; the others get the ground's.
    """
    cell_letters = {(r, c): letter for r, row in enumerate(letters(task)) for c, letter in enumerate(row)}
    faces = [colours.get(cell, GROUND.get(letter, ICE)) for cell, letter in cell_letters.items()]
    squares = [CORNERS + np.array((c, r)) for r, c in cell_letters]
    axes.add_collection(
        PolyCollection(squares, facecolors=faces, edgecolors="white", linewidths=2 * side, gid="cells")
    )
    for (r, c), letter in cell_letters.items():
        if letter == "S" or (r, c) not in colours:
            for shape in _icon(letter, r, c, side):
                axes.add_patch(shape)
    rows, columns = grid_shape(task)
    bare_grid(axes, columns, rows, *first_place(task))
    axes.set_xlabel("x", fontsize=MEDIUM, labelpad=1)
    axes.set_ylabel("y", fontsize=MEDIUM, rotation=0, labelpad=5, va="center")


def _icon(letter: str, r: int, c: int, side: float) -> list[Patch]:
    """Return the shapes of a hole with water, of a flag, or of a ring in the corner for the start."""
    if letter == "H":
        return [
            Ellipse((c, r), 0.8, 0.66, facecolor=WATER, edgecolor="none", gid="hole"),
            Ellipse((c, r + 0.06), 0.6, 0.42, facecolor=SHALLOWS, edgecolor="none"),
        ]
    if letter == "G":
        shapes = (POLE_SHAPE, POLE, None), (CLOTH_SHAPE, FLAG, "goal")
        return [
            Polygon(shape + np.array((c, r)), facecolor=colour, edgecolor="none", gid=name)
            for shape, colour, name in shapes
        ]
    if letter == "S":
        style: dict[str, Any] = {
            "facecolor": "white",
            "edgecolor": START,
            "linewidth": 2.4 * side,
            "zorder": 4,
        }
        return [Circle((c - 0.33, r - 0.33), 0.09, gid="start", **style)]
    return []


def borders(axes: Axes, ruleset: RuleSet, task: TabularTask, side: float) -> bool:
    """Draw lines where neighbouring cells are decided by different rules; return whether there are any."""
    deciders = on_grid(ruleset.choose(task.dynamics.points)[1], task)
    down, across = (np.arange(number + 1, dtype=np.float64) - 0.5 for number in grid_shape(task))
    edges = rule_borders(across, down, deciders)
    lines = LineCollection(edges, colors=BORDER, linewidths=4 * side, capstyle="round", gid="rule borders")
    lines.set_zorder(3)
    axes.add_collection(lines)
    return bool(edges)


def write_cell(axes: Axes, cell: tuple[int, int], text: str, ink: str, size: float) -> None:
    """Write a text into the middle of a cell, given by row and column."""
    r, c = cell
    axes.text(c, r, text, ha="center", va="center", color=ink, fontsize=size, parse_math=False)


def ink_on(colour: Sequence[float]) -> str:
    """Return black or white, whichever is read better on a colour."""
    red, green, blue = colour[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else "white"


def mixed_with_white(colour: str, share: float) -> tuple[float, float, float]:
    """Return a colour made paler by a share of white."""
    red, green, blue = (channel + (1 - channel) * share for channel in to_rgb(colour))
    return red, green, blue


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


def add_panel(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Return a new panel at a place in a figure; everything is in inches."""
    figure_width, figure_height = figure.get_size_inches()
    return figure.add_axes(
        (left / figure_width, bottom / figure_height, width / figure_width, height / figure_height)
    )


def boards(
    task: TabularTask,
    titles: Sequence[str],
    side: float,
    right: float = 0.12,
    below: Sequence[str] = (),
    least_height: float = 0.0,
    in_a_row: int = 4,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with room for boards, row by row, each with its title, and their panels.

    Everything has its place in inches: a layout that adapts itself would change the size of cells.

    Args:
        task: a task with a grid.
        titles: one for each board.
        side: of a cell, in inches.
        right: room to the right of the last board of a row, in inches.
        below: the labels of a legend below, see `key_below`.
        least_height: of the figure, in inches.
        in_a_row: how many boards stand side by side, at most.
    """
    rows, columns = grid_shape(task)
    board_width, board_height, top = columns * side, rows * side, first_place(task)[1]
    left = 0.32 + max(text_width(str(end), SMALL - 1) for end in (top, top + rows - 1))
    title_widths = [text_width(title, MEDIUM) for title in titles]
    n_across, n_lines = min(in_a_row, len(titles)), -(-len(titles) // in_a_row)
    column_widths = [left + max(board_width, *title_widths[i::in_a_row]) for i in range(n_across)]
    width = (
        sum(column_widths[:-1])
        + left
        + max(board_width + right, max(title_widths[n_across - 1 :: in_a_row]) + 0.12)
    )
    bottom = 0.38 + key_height(width, below)
    row_height = TITLE + board_height + 0.38
    height = max((n_lines - 1) * row_height + TITLE + board_height + bottom, least_height)
    bottom += (height - (n_lines - 1) * row_height - TITLE - board_height - bottom) / 2
    figure = Figure(figsize=(width, height))
    panels = []
    for i in range(len(titles)):
        row, column = divmod(i, in_a_row)
        panels.append(
            add_panel(
                figure,
                sum(column_widths[:column]) + left,
                bottom + (n_lines - 1 - row) * row_height,
                board_width,
                board_height,
            )
        )
    for panel, title in zip(panels, titles, strict=True):
        put_title(panel, title)
    return figure, panels


def key_below(figure: Figure, keys: Keys) -> None:
    """Write a legend below all panels, in as many columns as fit."""
    if keys:
        columns = -(-len(keys) // key_rows(figure.get_figwidth(), [label for label, _ in keys]))
        put_key(
            figure, keys, loc="lower center", ncols=columns, handletextpad=0.5, columnspacing=1.2,
            borderaxespad=0.2,
        )  # fmt: skip


def put_key(place: Figure | Axes, keys: Keys, **options: Any) -> None:
    """Write a legend whose labels may hold anything: `$` and a leading `_` mean nothing here."""
    marks, blank = [mark for _, mark in keys], [" "] * len(keys)
    legend = place.legend(marks, blank, frameon=False, fontsize=SMALL, labelspacing=0.35, **options)
    for text, (label, _) in zip(legend.get_texts(), keys, strict=True):
        text.set_parse_math(False)
        text.set_text(label)


def key_height(width: float, labels: Sequence[str]) -> float:
    """Return the height of a legend below panels in a figure of a width, both in inches."""
    return LEGEND_ROW * key_rows(width, labels) + 0.06 if labels else 0.0


def key_rows(width: float, labels: Sequence[str]) -> int:
    """Return how many rows a legend with these labels takes in a width in inches; it is filled by column."""
    widths = [text_width(label, SMALL) + 0.38 for label in labels]
    for rows in range(1, len(labels)):
        if sum(max(widths[i : i + rows]) for i in range(0, len(widths), rows)) <= width - 0.15:
            return rows
    return len(labels)
