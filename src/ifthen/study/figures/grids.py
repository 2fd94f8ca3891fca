"""Tasks on a grid: the maps of FrozenLakes, and how many rules speak for the action that is taken in a state.

The density of a state (paper, appendix) is the number of rules in its best action set (see
`ifthen.explanation.measures`). Here it is the mean over the final rulesets of all finished trials: what one
has to read to understand what is done there, by any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ifthen.explanation.measures import best_action_map
from ifthen.explanation.pictures.board import board
from ifthen.explanation.pictures.grid_figures import MANY, Heat, draw_heat
from ifthen.explanation.pictures.policy_grid import grid_shape
from ifthen.figure_style import MEDIUM, WIDTH
from ifthen.rules.arrays import Floats
from ifthen.study.figures.panels import balanced, side_by_side
from ifthen.study.study_results import Results
from ifthen.tasks.tabular_task import TabularTask

LAKE_COLUMNS = 4
Densities = dict[tuple[str, str], Floats]


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
    mean_densities: Densities = {}
    for name, task in results.grids.items():
        for system in results.plan.systems:
            trials = results.trials(system.name, name)
            if results.ruleset is None or not trials:
                continue
            total = np.zeros(len(task.decision_states), dtype=np.float64)
            for trial in trials:
                total += best_action_map(results.ruleset(trial), task).density
                progress()
            mean_densities[system.name, name] = total / len(trials)
    return mean_densities


def density_figure(
    results: Results, density_maps: Densities, task: TabularTask, largest: float | None = None
) -> Figure | None:
    """Draw the densities of a task on its grid, one panel per system; None where no system has one.

    Colours are logarithmic, because systems differ by orders of magnitude. Their scale ends at `largest`, or
    at the largest density of this task. Titles have the mean sizes of rulesets and of best action maps.
    """
    system_names = [
        system.name for system in results.plan.systems if (system.name, task.name) in density_maps
    ]
    if not system_names:
        return None
    highest = (
        max(density_maps[name, task.name].max() for name in system_names) if largest is None else largest
    )
    panels = {}
    for name in system_names:
        rules, best = (
            np.mean(results.values(name, task.name, column)) for column in ("rules", "best_action_rules")
        )
        panels[f"{name}: {best:.1f} of {rules:.1f} rules"] = density_maps[name, task.name]
    norm = LogNorm(1, highest if highest > 1 else 2, clip=True)
    return draw_heat(Heat(panels, MANY, norm, "rules in the best action set"), task)
