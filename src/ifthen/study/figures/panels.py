"""One panel per task: where it stands, what is written above it, and the scale it shares with others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import polars
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ifthen.explanation.pictures.board import LEGEND_ROW, key_rows, put_key
from ifthen.figure_style import COLUMN_WIDTH, GREY, MEDIUM, SMALL, WIDTH, bare
from ifthen.study.study_results import Measure, Results

COLUMNS = 4
LAKE_COLUMNS = 6
PANEL_HEIGHT = 1.45
"""The height of a panel, in inches."""
LAKE = re.compile(r"FrozenLake-(\d+)-(\d+(?:\.\d+)?)")
EMPTY = ""
FRACTION, PERFORMANCE = "fraction of optimum", "performance"
OPTIMUM = {"fraction": "otp", "exact_fraction": "optimum"}


class Arrangement(NamedTuple):
    """Where tasks are in a figure."""

    rows: list[list[str]]
    """Names of tasks, row by row; `EMPTY` where there is none."""
    titles: dict[str, str]
    """What is written above each task's panel."""
    meaning: str
    """What the titles mean; empty where they are the tasks' names."""


def arranged(tasks: Sequence[str]) -> Arrangement:
    """Return where tasks stand: FrozenLakes by size (down) and slip (right), others in the order given.

    Lakes that would leave more than half of such a grid empty, or make it too wide, are treated as others.
    """
    matches = {name: LAKE.fullmatch(name) for name in tasks}
    by_position = {(int(match[1]), float(match[2])): name for name, match in matches.items() if match}
    sizes, slips = sorted({size for size, _ in by_position}), sorted({slip for _, slip in by_position})
    if (
        len(by_position) == len(tasks)
        and len(slips) <= LAKE_COLUMNS
        and 2 * len(by_position) >= len(sizes) * len(slips)
    ):
        titles = {name: f"({size}, {slip:g})" for (size, slip), name in by_position.items()}
        lakes = [[by_position.get((size, slip), EMPTY) for slip in slips] for size in sizes]
        return Arrangement(lakes, titles, "(M, p): size M, slip probability p")
    columns = balanced(len(tasks), COLUMNS)
    rows = [list(tasks[i : i + columns]) for i in range(0, len(tasks), columns)]
    rows[-1] += [EMPTY] * (columns - len(rows[-1]))
    return Arrangement(rows, {name: name for name in tasks}, "")


def balanced(panels: int, max_columns: int) -> int:
    """Return how many columns of panels to make, at most `max_columns`, to leave few places empty."""
    rows = -(-panels // max_columns)
    return -(-panels // rows)


def side_by_side(figure: Figure, number: int, columns: int) -> list[Axes]:
    """Return empty panels, row by row; places that are left over stay empty."""
    panels = list(figure.subplots(-(-number // columns), columns, squeeze=False).flat)
    for axes in panels[number:]:
        axes.remove()
    return panels[:number]


class TaskPanels:
    """A figure with one panel per task, and room for a legend: a page wide, or less for a few panels."""

    def __init__(self, results: Results) -> None:
        tasks = list(results.plan.tasks_by_name())
        self.rows, titles, self.meaning = arranged(tasks)
        self.relative = {task for task in tasks if results.relative(task)}
        columns = len(self.rows[0])
        width = COLUMN_WIDTH if columns < 3 else WIDTH * min(columns, COLUMNS) / COLUMNS
        height = PANEL_HEIGHT if columns > 2 else 1.3 * PANEL_HEIGHT
        self.figure = Figure(figsize=(width, len(self.rows) * height + 0.85), layout="constrained")
        mosaic: Any = self.rows
        self.panels: dict[str, Axes] = self.figure.subplot_mosaic(mosaic, empty_sentinel=EMPTY)
        for task, axes in self.panels.items():
            bare(axes)
            axes.set_title(titles[task], fontsize=MEDIUM, pad=3, parse_math=False)

    def finish(
        self, limits: tuple[float, float], x_label: str, handles: Mapping[str, Any], title: str
    ) -> Figure:
        """Label the axes, give all panels of fractions one scale, and put a legend above.

        The numbers of that scale are written only where no such panel stands to the left.

        Args:
            limits: the lowest and the highest fraction that is shown.
            x_label: what the x axes show.
            handles: what stands for each entry of the legend.
            title: of the legend.
        """
        for row in self.rows:
            for left_task, task in zip((EMPTY, *row[:-1]), row, strict=True):
                if task in self.relative:
                    self.panels[task].set_ylim(*limits)
                    self.panels[task].tick_params(labelleft=left_task not in self.relative)
        self.figure.supxlabel(x_label, fontsize=MEDIUM, parse_math=False)
        self._label_y()
        legend_above(self.figure, handles, f"{title};   {self.meaning}" if self.meaning else title)
        return self.figure

    def _label_y(self) -> None:
        """Say what the y axes show: once where all do the same, else at every panel with its own numbers."""
        if len(self.relative) in (0, len(self.panels)):
            self.figure.supylabel(FRACTION if self.relative else PERFORMANCE, fontsize=MEDIUM)
            return
        for task, axes in self.panels.items():
            if axes.yaxis.get_tick_params()["labelleft"]:
                axes.set_ylabel(FRACTION if task in self.relative else PERFORMANCE, fontsize=SMALL)

    def label_x_below(self) -> None:
        """Write the numbers of the x axis only where no panel stands below."""
        for upper, lower in pairwise(self.rows):
            for task, below in zip(upper, lower, strict=True):
                if EMPTY not in (task, below):
                    self.panels[task].tick_params(labelbottom=False)


def optima(results: Results, task: str, measure: Measure) -> list[float]:
    """Return the optimum of a task as its panel shows it: 1 for fractions; several where systems differ."""
    if results.relative(task):
        return [1.0]
    finals = results.finals.filter(polars.col("task") == task)
    return sorted(finals[OPTIMUM[measure]].drop_nulls().unique())


def say_how_many(axes: Axes, numbers: Sequence[int], planned: int, no_rule: int = 0) -> None:
    """Write into a panel how many trials it shows, where these are not as many as planned.

    Args:
        axes: the panel.
        numbers: of trials, by system.
        planned: how many they should be.
        no_rule: how many, of all systems, met a state with no rule in the end, and are left out there.
    """
    low, high = min(numbers), max(numbers)
    trials = f"n = {low}" if low == high else f"n = {low}–{high}"
    notes = [] if low == high == planned else [trials]
    notes += [f"no rule: {no_rule}"] if no_rule else []
    style: Any = {"ha": "right", "va": "bottom", "transform": axes.transAxes}
    if notes:
        axes.text(0.97, 0.04, ", ".join(notes), fontsize=SMALL, color="0.3", **style)


def draw_optima(axes: Axes, heights: Iterable[float]) -> Any:
    """Draw the optimum as a thin line behind everything; return the line for the legend."""
    line = None
    for height in heights:
        line = axes.axhline(height, color=GREY, linewidth=0.8, zorder=0)
    return line


def legend_above(figure: Figure, handles: Mapping[str, Any], title: str) -> None:
    """Put one legend for all panels above them, in as many columns as the figure's width holds.

    Args:
        figure: gets higher where the legend needs more than one row.
        handles: what stands for each entry, by its label.
        title: of the legend.
    """
    rows = key_rows(figure.get_figwidth(), list(handles))
    figure.set_figheight(figure.get_figheight() + LEGEND_ROW * (rows - 1))
    put_key(
        figure, list(handles.items()), loc="outside upper center", ncols=-(-len(handles) // rows),
        title=title, title_fontsize=SMALL, columnspacing=1.2,
    )  # fmt: skip
