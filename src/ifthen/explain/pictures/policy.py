"""A policy drawn on its grid: arrows, where they are not optimal, and where one rule's cells end."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ifthen.explain.pictures.board import (
    BORDER,
    board,
    boards,
    borders,
    cell_side,
    key_below,
    start_key,
)
from ifthen.explain.pictures.grid import DIRECTIONS, Cell, cells, starts
from ifthen.figure_style import ORANGE
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular import TabularTask

OPTIMAL, SUBOPTIMAL, MISSING = "#0B3C5D", ORANGE, "#CC0000"
ARROW = np.array(
    [(-0.32, -0.07), (0.04, -0.07), (0.04, -0.2), (0.34, 0), (0.04, 0.2), (0.04, 0.07), (-0.32, 0.07)]
)
"""The corners of an arrow to the right in a cell around 0."""


def policy_figure(ruleset: RuleSet, task: TabularTask, title: str = "") -> Figure:
    """Draw the policy: dark arrows where its action is optimal, orange where it is not.

    Lines part neighbouring cells in which different rules decide.

    Args:
        ruleset: the policy.
        task: a task with features x and y.
        title: the picture's title; the task's name where empty.
    """
    grid, side = cells(ruleset, task), cell_side(task)
    labels = _labels(grid, bool(starts(task)))
    figure, (axes,) = boards(task, [title or task.name], side, below=labels)
    asked = {(r, c) for r, row in enumerate(grid) for c, cell in enumerate(row) if cell.asked}
    board(axes, task, side, {})
    _arrows(axes, {(r, c): grid[r][c] for r, c in sorted(asked)}, side)
    drawn = borders(axes, ruleset, task, side)
    keys = {**_keys(), "start": start_key()}
    key_below(figure, [(keys[label], label) for label in labels if label != "rule border" or drawn])
    return figure


def _labels(grid: list[list[Cell]], start: bool) -> list[str]:
    """Return what the legend speaks of."""
    asked = [cell for row in grid for cell in row if cell.asked]
    present = {
        "optimal": any(cell.optimal for cell in asked),
        "not optimal": any(cell.action and not cell.optimal for cell in asked),
        "no rule": any(cell.action is None for cell in asked),
        "rule border": True,
        "start": start,
    }
    return [label for label, shown in present.items() if shown]


def _keys() -> dict[str, Artist]:
    """Return the legend's marks."""
    marks: dict[str, Artist] = {
        label: Line2D([], [], color=colour, linestyle="none", marker=r"$\rightarrow$", markersize=9)
        for label, colour in (("optimal", OPTIMAL), ("not optimal", SUBOPTIMAL))
    }
    marks["no rule"] = Line2D([], [], color=MISSING, linestyle="none", marker=r"$\emptyset$", markersize=6)
    marks["rule border"] = Line2D([], [], color=BORDER, linewidth=1.7)
    return marks


def _arrows(axes: Axes, asked: dict[tuple[int, int], Cell], side: float) -> None:
    """Draw what is done in every cell in which an action is asked for."""
    shapes: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    for (r, c), cell in asked.items():
        ink = OPTIMAL if cell.optimal else SUBOPTIMAL
        if cell.action is None:
            _word(axes, r, c, "∅", MISSING, 32 * side)
        elif cell.action not in DIRECTIONS:
            _word(axes, r, c, cell.action[:2], ink, 24 * side)
        else:
            dx, dy, _ = DIRECTIONS[cell.action]
            turned = ARROW @ np.array([[dx, dy], [-dy, dx]])
            shapes[ink].append(turned + np.array((c, r)))
    for ink, arrows in shapes.items():
        name = "optimal" if ink == OPTIMAL else "not optimal"
        axes.add_collection(PolyCollection(arrows, facecolors=ink, edgecolors="none", gid=name))


def _word(axes: Axes, r: int, c: int, text: str, ink: str, size: float) -> None:
    """Write a word or a sign into a cell."""
    axes.text(
        c, r, text, ha="center", va="center", color=ink, fontsize=size, family="DejaVu Sans", parse_math=False
    )
