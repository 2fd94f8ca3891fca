"""Tasks on a grid: the maps of FrozenLakes, and how many rules speak for the action that is taken in a state.

The density of a state (paper, appendix) is the number of rules in its best action set (see
`ifthen.explanation.measures`). Here it is the mean over the final rulesets of all finished trials: what one
has to read to understand what is done there, by any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

from ifthen.explanation.measures import best_action_map
from ifthen.explanation.pictures.board import board, ink_on
from ifthen.explanation.pictures.grid import first_place, grid_shape, on_grid, starts
from ifthen.figure_style import MEDIUM, SMALL, WIDTH, bare_grid
from ifthen.study.figures.panels import balanced, side_by_side
from ifthen.study.results import Results
from ifthen.tasks.table import TabularTask

COLOURS = ListedColormap(matplotlib.colormaps["viridis"](np.linspace(0.12, 1, 256))).with_extremes(
    bad="black"
)
"""Without its darkest part, which could be taken for black: states in which no action is asked for."""
COLUMNS, LAKE_COLUMNS = 3, 4
PRINTED_UP_TO = 8
"""Numbers are printed into the cells of grids of at most this many rows and columns."""
STEPS = (1, 2, 5)

Densities = dict[tuple[str, str], NDArray[np.float64]]


def lakes_figure(tasks: Iterable[TabularTask]) -> Figure | None:
    """Draw the maps of lakes and mazes, each once; None where no task has a map."""
    lakes: dict[tuple[str, ...], TabularTask] = {}
    for task in tasks:
        if task.layout:
            lakes.setdefault(task.layout, task)
    if not lakes:
        return None
    columns = balanced(len(lakes), LAKE_COLUMNS)
    rows, side = -(-len(lakes) // columns), WIDTH / max(columns, 3)
    figure = Figure(figsize=(columns * side, rows * (side + 0.15)), layout="constrained")
    sizes = [f"{len(layout)} × {len(layout[0])}" for layout in lakes]
    panels = side_by_side(figure, len(lakes), columns)
    for axes, task, size in zip(panels, lakes.values(), sizes, strict=True):
        board(axes, task, side / max(grid_shape(task)), {})
        title = f"{task.name} ({size})" if sizes.count(size) > 1 else size
        axes.set_title(title, fontsize=MEDIUM, pad=4, parse_math=False)
    return figure


def densities(results: Results, progress: Callable[[], object] = lambda: None) -> Densities:
    """Return the mean density of every decision state, `(D,)`, by system and task; `progress` counts trials.

    Tasks without a grid are left out, as are systems without finished trials on a task; nothing is returned
    where the results keep no rulesets.
    """
    found: Densities = {}
    for name, task in results.grids.items():
        for system in results.plan.systems:
            trials = results.trials(system.name, name)
            if results.ruleset is None or not trials:
                continue
            total = np.zeros(len(task.decision_states), dtype=np.float64)
            for trial in trials:
                total += best_action_map(results.ruleset(trial), task).density
                progress()
            found[system.name, name] = total / len(trials)
    return found


def largest_density(found: Densities) -> float:
    """Return the largest density of all tasks, for figures that share one scale."""
    return max((float(density.max()) for density in found.values()), default=1.0)


def density_figure(
    results: Results, found: Densities, task: TabularTask, largest: float | None = None
) -> Figure | None:
    """Draw the densities of a task on its grid, one panel per system; None where no system has one.

    The scale of colours ends at `largest`, or at the largest density of this task.
    """
    shown = [system.name for system in results.plan.systems if (system.name, task.name) in found]
    if not shown:
        return None
    grids = {name: on_grid(found[name, task.name], task) for name in shown}
    norm = _scale(grids, largest)
    figure, panels = _blank(len(shown), grids[shown[0]].shape)
    for axes, name in zip(panels, shown, strict=True):
        image = _draw(axes, grids[name], task, norm)
        axes.set_title(name, fontsize=MEDIUM, pad=14, parse_math=False)
        axes.annotate(
            _sizes(results, name, task.name), (0.5, 1), (0, 4), "axes fraction", "offset points", ha="center",
            fontsize=SMALL,
        )  # fmt: skip
    _colour_bar(figure, image, panels, norm, np.array(list(grids.values())))
    return figure


def _blank(number: int, shape: tuple[int, ...]) -> tuple[Figure, list[Axes]]:
    """Return a figure with room for `number` grids of a shape and a scale of colours, and its panels."""
    columns = balanced(number, COLUMNS)
    rows = -(-number // columns)
    unit = WIDTH / (COLUMNS + 0.35)
    height = (unit - 0.3) * shape[0] / shape[1] + 0.68
    layout = ConstrainedLayoutEngine(h_pad=0.07)
    figure = Figure(figsize=(unit * (columns + 0.35), rows * height), layout=layout)
    return figure, side_by_side(figure, number, columns)


def _scale(grids: Mapping[str, NDArray[np.float64]], largest: float | None) -> Normalize:
    """Return the scale of colours, from 1: logarithmic, because systems differ by orders of magnitude."""
    highest = max(float(np.nanmax(grid)) for grid in grids.values()) if largest is None else largest
    return LogNorm(1, highest if highest > 1 else 2, clip=True)


def _draw(axes: Axes, grid: NDArray[np.float64], task: TabularTask, norm: Normalize) -> Any:
    """Draw one system's densities; return the image."""
    rows, columns = grid.shape
    image = axes.imshow(np.ma.masked_invalid(grid), cmap=COLOURS, norm=norm, interpolation="nearest")
    bare_grid(axes, columns, rows, *first_place(task))
    printed = max(rows, columns) <= PRINTED_UP_TO
    ink = {(r, c): ink_on(COLOURS(norm(grid[r, c]))) for r, c in np.argwhere(~np.isnan(grid))}
    for (r, c), colour in ink.items():
        if printed:
            text = f"{grid[r, c]:.1f}" if grid[r, c] < 99.95 else f"{grid[r, c]:.0f}"
            size = min(SMALL, 44 / max(rows, columns))
            axes.text(c, r, text, ha="center", va="center", fontsize=size, color=colour)
    for r, c in starts(task):
        where = (c - 0.45, r - 0.45, "left", "top") if printed else (c, r, "center", "center")
        size = min(MEDIUM, (40 if printed else 64) / max(rows, columns))
        x, y, ha, va = where
        axes.text(x, y, "S", ha=ha, va=va, fontsize=size, weight="bold", color=ink.get((r, c), "white"))
    return image


def _sizes(results: Results, system: str, task: str) -> str:
    """Return the mean sizes of a system's rulesets and of their best action maps."""
    rules = np.mean(results.values(system, task, "rules"))
    best = np.mean(results.values(system, task, "best_action_rules"))
    return rf"$|R| = {rules:.1f},\ |R_\mathrm{{BA}}| = {best:.1f}$"


def _colour_bar(
    figure: Figure, image: Any, panels: list[Axes], norm: Normalize, shown: NDArray[np.float64]
) -> None:
    """Draw the scale of colours, with round numbers and its end, pointed where densities go beyond it."""
    low, high = norm.vmin or 0.0, norm.vmax or 1.0
    below, above = bool((shown < low).any()), bool((shown > high).any())
    extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get((below, above), "neither")
    bar = figure.colorbar(image, ax=panels, shrink=0.85, aspect=18, pad=0.02, extend=extend)
    round_numbers = [step * 10**power for power in range(int(np.log10(high)) + 1) for step in STEPS]
    ticks = [float(number) for number in round_numbers if number <= high / 1.2] + [high]
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.set_yticks(ticks, [f"{tick:.3g}" for tick in ticks])
    bar.ax.tick_params(labelsize=SMALL, width=0.6, length=2.5)
    bar.outline.set_linewidth(0.6)
    bar.set_label("rules in the best action set", fontsize=SMALL)
