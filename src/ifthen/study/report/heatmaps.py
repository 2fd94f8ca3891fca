"""Density of best action sets as cells of a drawing, coloured on the task's own scale and on one for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.colors import to_hex
from numpy.typing import NDArray

from ifthen.explain.pictures.grid import has_grid
from ifthen.study.figures.density import COLOURS, Densities, largest_density
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask


@dataclass(frozen=True)
class HeatCell:
    """One cell: where it is, its value, and its colour on either scale; no value where no action is asked."""

    x: int
    y: int
    value: float | None
    local_colour: str
    global_colour: str


@dataclass(frozen=True)
class Heatmap:
    """The density of one system's best action sets on a task.

    Args:
        system: its name.
        columns: how many cells there are from left to right.
        rows: how many from top to bottom.
        cells: all of them.
        largest: the largest value of any system on the task.
    """

    system: str
    columns: int
    rows: int
    cells: list[HeatCell]
    largest: float


def heatmaps(tasks: Mapping[str, TabularTask | EnvTask], densities: Densities) -> dict[str, list[Heatmap]]:
    """Return the heatmaps of every task that is a grid, one per system that has a density there."""
    largest = largest_density(densities)
    drawn = {}
    for name, task in tasks.items():
        own = {system: density for (system, at), density in densities.items() if at == name}
        if own and isinstance(task, TabularTask) and has_grid(task):
            local = max(float(density.max()) for density in own.values())
            drawn[name] = [_heatmap(task, system, own[system], local, largest) for system in own]
    return drawn


def _heatmap(
    task: TabularTask, system: str, density: NDArray[np.float64], local: float, largest: float
) -> Heatmap:
    x_axis, y_axis = task.features
    values = dict(zip(task.decision_states.tolist(), density.tolist(), strict=True))
    cells = []
    for state, (x, y) in enumerate(task.state_features.tolist()):
        value = values.get(state)
        colours = [_colour(value, local), _colour(value, largest)]
        cells.append(HeatCell(int(x) - x_axis.low, int(y) - y_axis.low, value, *colours))
    columns, rows = x_axis.high - x_axis.low + 1, y_axis.high - y_axis.low + 1
    return Heatmap(system, columns, rows, cells, local)


def _colour(value: float | None, largest: float) -> str:
    """Return the colour of a density on a scale of ratios from 1 to the largest; black for none."""
    if value is None:
        return "#000000"
    share = np.log(max(value, 1.0)) / np.log(largest) if largest > 1 else 0.0
    return to_hex(COLOURS(float(min(share, 1.0))))


def scale_colours(steps: int = 9) -> list[str]:
    """Return the colours of the scale from its least to its largest value."""
    return [to_hex(COLOURS(i / (steps - 1))) for i in range(steps)]
