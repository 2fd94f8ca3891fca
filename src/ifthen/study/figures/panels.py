"""One panel per task: where it stands, what is written above it, and the scale it shares with others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import polars
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ifthen.figure_style import COLUMN_WIDTH, GREY, MEDIUM, SMALL, WIDTH, bare
from ifthen.study.results import Measure, Results

COLUMNS = 4
LAKE_COLUMNS = 6
PANEL_HEIGHT, LEGEND_ROW = 1.45, 0.15
LETTERS_PER_INCH, HANDLE = 17, 8
"""How wide small letters are, on average, and how many of them the handle of an entry is as wide as."""
LAKE = re.compile(r"FrozenLake-(\d+)-(\d+(?:\.\d+)?)")
FRACTION, PERFORMANCE = "fraction of optimum", "performance"
OPTIMUM = {"fraction": "otp", "exact_fraction": "optimum"}


class Arrangement(NamedTuple):
    """Where tasks stand in a figure."""

    rows: list[list[str | None]]
    """Names of tasks, row by row; None where a place is empty."""
    titles: dict[str, str]
    """What is written above each task's panel."""
    meaning: str
    """What the titles mean; empty where they are the tasks' names."""


def arranged(tasks: Sequence[str]) -> Arrangement:
    """Return where tasks stand: FrozenLakes by size (down) and slip (right), others in the order given.

    Lakes that would leave more than half of such a grid empty, or make it too wide, are treated as others.
    """
    found = {name: LAKE.fullmatch(name) for name in tasks}
    at = {(int(m[1]), float(m[2])): name for name, m in found.items() if m}
    sizes, slips = sorted({size for size, _ in at}), sorted({slip for _, slip in at})
    if len(at) == len(tasks) and len(slips) <= LAKE_COLUMNS and 2 * len(at) >= len(sizes) * len(slips):
        titles = {name: f"({size}, {slip:g})" for (size, slip), name in at.items()}
        lakes = [[at.get((size, slip)) for slip in slips] for size in sizes]
        return Arrangement(lakes, titles, "(M, p): size M, slip probability p")
    columns = balanced(len(tasks), COLUMNS)
    rows: list[list[str | None]] = [list(tasks[i : i + columns]) for i in range(0, len(tasks), columns)]
    rows[-1] += [None] * (columns - len(rows[-1]))
    return Arrangement(rows, {name: name for name in tasks}, "")


def balanced(panels: int, most: int) -> int:
    """Return how many columns of panels to make, at most `most`, to leave few places empty."""
    rows = -(-panels // most)
    return -(-panels // rows)


def task_panels(figure: Figure, arrangement: Arrangement) -> dict[str, Axes]:
    """Return an empty panel for every task, with its title."""
    rows, columns = len(arrangement.rows), len(arrangement.rows[0])
    grid = figure.subplots(rows, columns, squeeze=False)
    panels = {}
    for r, row in enumerate(arrangement.rows):
        for c, task in enumerate(row):
            if task is None:
                grid[r, c].remove()
                continue
            panels[task] = grid[r, c]
            bare(panels[task])
            title = arrangement.titles[task]
            panels[task].set_title(title, fontsize=MEDIUM, pad=3, parse_math=False)
    return panels


def task_figure(arrangement: Arrangement) -> Figure:
    """Return a figure with room for the panels and a legend: a page wide, or less for a few panels."""
    rows, columns = len(arrangement.rows), len(arrangement.rows[0])
    width = COLUMN_WIDTH if columns < 3 else WIDTH * min(columns, COLUMNS) / COLUMNS
    height = PANEL_HEIGHT if columns > 2 else 1.3 * PANEL_HEIGHT
    return Figure(figsize=(width, rows * height + 0.85), layout="constrained")


def share_scale(
    panels: dict[str, Axes], arrangement: Arrangement, relative: set[str], limits: tuple[float, float]
) -> None:
    """Give the panels of fractions one scale, which is written only where no such panel stands to the left.

    Args:
        panels: by task.
        arrangement: where they stand.
        relative: the tasks whose panels show fractions.
        limits: the lowest and the highest fraction that is shown.
    """
    for row in arrangement.rows:
        for left, task in zip((None, *row[:-1]), row, strict=True):
            if task in relative:
                panels[task].set_ylim(*limits)
                panels[task].tick_params(labelleft=left not in relative)


def label_x_below(panels: dict[str, Axes], arrangement: Arrangement) -> None:
    """Write the numbers of the x axis only where no panel stands below."""
    for upper, lower in zip(arrangement.rows, arrangement.rows[1:], strict=False):
        for task, below in zip(upper, lower, strict=True):
            if task is not None and below is not None:
                panels[task].tick_params(labelbottom=False)


def label_y(figure: Figure, panels: dict[str, Axes], relative: set[str]) -> None:
    """Say what the y axes show: once where all show the same, else at every panel with numbers of its own."""
    if len(relative) in (0, len(panels)):
        figure.supylabel(FRACTION if relative else PERFORMANCE, fontsize=MEDIUM)
        return
    for task, axes in panels.items():
        if axes.yaxis.get_tick_params()["labelleft"]:
            axes.set_ylabel(FRACTION if task in relative else PERFORMANCE, fontsize=SMALL)


def optima(results: Results, task: str, measure: Measure) -> list[float]:
    """Return the optimum of a task as its panel shows it: 1 for fractions; several where systems differ."""
    if results.relative(task):
        return [1.0]
    own = results.finals.filter(polars.col("task") == task)
    return sorted(own[OPTIMUM[measure]].drop_nulls().unique())


def say_how_many(axes: Axes, numbers: Iterable[int], planned: int, no_rule: int = 0) -> None:
    """Write into a panel how many trials it shows, where these are not as many as planned.

    Args:
        axes: the panel.
        numbers: of trials, by system.
        planned: how many they should be.
        no_rule: how many, of all systems, met a state with no rule in the end, and are left out there.
    """
    low, high = min(numbers := list(numbers)), max(numbers)
    trials = f"n = {low}" if low == high else f"n = {low}–{high}"
    parts = [] if low == high == planned else [trials]
    parts += [f"no rule: {no_rule}"] if no_rule else []
    if not parts:
        return
    text = ", ".join(parts)
    axes.text(
        0.97, 0.04, text, ha="right", va="bottom", fontsize=SMALL, color="0.3", transform=axes.transAxes
    )


def draw_optima(axes: Axes, heights: Iterable[float]) -> Any:
    """Draw the optimum as a thin line behind everything; return the line for the legend."""
    line = None
    for height in heights:
        line = axes.axhline(height, color=GREY, linewidth=0.8, zorder=0)
    return line


def legend_above(figure: Figure, handles: list[Any], labels: list[str], title: Iterable[str]) -> None:
    """Put one legend for all panels above them, in as many columns as the figure's width holds.

    Args:
        figure: gets higher where the legend needs more than one row.
        handles: what stands for each entry.
        labels: of the entries.
        title: the parts of the legend's title; empty ones are left out.
    """
    columns = _legend_columns(labels, figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + LEGEND_ROW * (-(-len(labels) // columns) - 1))
    legend = figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        fontsize=SMALL,
        title=";   ".join(part for part in title if part),
        title_fontsize=SMALL,
        handlelength=2.8,
        columnspacing=1.4,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _legend_columns(labels: Sequence[str], width: float) -> int:
    """Return the largest number of columns of a legend that a width, in inches, holds."""
    letters = LETTERS_PER_INCH * width
    for columns in range(len(labels), 1, -1):
        rows = -(-len(labels) // columns)
        widest = [max(map(len, labels[i : i + rows])) + HANDLE for i in range(0, len(labels), rows)]
        if sum(widest) <= letters:
            return columns
    return 1
