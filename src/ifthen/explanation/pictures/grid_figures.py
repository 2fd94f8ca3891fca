"""Pictures of a policy on the grid of its task: its actions, its deciding rules, numbers of every state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, LogNorm, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator

from ifthen.explanation.measures import advantages, best_action_map, visits
from ifthen.explanation.pictures.board import (
    BORDER,
    LARGEST_BOARD,
    START,
    board,
    boards,
    borders,
    cell_side,
    fitting_size,
    ink_on,
    key_below,
    mixed_with_white,
    put_key,
    text_width,
    write_cell,
)
from ifthen.explanation.pictures.policy_grid import (
    DIRECTIONS,
    Cell,
    by_cell,
    cells,
    grid_shape,
    letters,
    on_grid,
)
from ifthen.figure_style import ORANGE, SMALL, WIDTH
from ifthen.rules.arrays import Floats
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.table_simulator import policy_table
from ifthen.tasks.solve import table_values, value_iteration
from ifthen.tasks.tabular_task import TabularTask

OPTIMAL, SUBOPTIMAL, MISSING = "#0B3C5D", ORANGE, "#CC0000"
ARROW = np.array(
    [(-0.32, -0.07), (0.04, -0.07), (0.04, -0.2), (0.34, 0), (0.04, 0.2), (0.04, 0.07), (-0.32, 0.07)]
)
"""The corners of an arrow to the right in a cell around 0."""
STRONG = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00", "#BBBBBB")
"""Okabe and Ito's colours, grey for black."""
LISTED = 32
"""At most this many rules are listed in words."""
LINE = 0.155
IN_A_ROW = 3
"""How many panels of numbers stand side by side, at most."""
MANY = ListedColormap(matplotlib.colormaps["viridis"](np.linspace(0.12, 1, 256)))
COST = LinearSegmentedColormap.from_list("cost", ["#7A2E00", "#D55E00", "#F5B98A", "#FFF7F0"])
VISITS = LinearSegmentedColormap.from_list("visits", ["#F7FBFF", "#8CC4E8", "#0072B2", "#062A45"])


def policy_figure(ruleset: RuleSet, task: TabularTask, title: str = "") -> Figure:
    """Draw the policy: dark arrows where its action is optimal, orange where it is not.

    Lines part neighbouring cells in which different rules decide.

    Args:
        ruleset: the policy.
        task: a task with a grid.
        title: the picture's title; the task's name where empty.
    """
    grid, side = cells(ruleset, task), cell_side(task)
    asked_cells = {(r, c): cell for r, row in enumerate(grid) for c, cell in enumerate(row) if cell.asked}
    keys = _policy_keys(asked_cells.values(), any("S" in row for row in letters(task)))
    figure, (axes,) = boards(task, [title or task.name], side, below=list(keys))
    board(axes, task, side, {})
    shapes: dict[str, list[Floats]] = defaultdict(list)
    for (r, c), cell in asked_cells.items():
        ink = OPTIMAL if cell.optimal else SUBOPTIMAL
        if cell.action is None:
            write_cell(axes, (r, c), "∅", MISSING, 32 * side)
        elif cell.action not in DIRECTIONS:
            write_cell(axes, (r, c), cell.action[:2], ink, 24 * side)
        else:
            dx, dy, _ = DIRECTIONS[cell.action]
            turn = np.array([[dx, dy], [-dy, dx]]) / np.hypot(dx, dy)
            shapes[ink].append(ARROW @ turn + np.array((c, r)))
    for ink, arrows in shapes.items():
        name = "optimal" if ink == OPTIMAL else "not optimal"
        axes.add_collection(PolyCollection(arrows, facecolors=ink, edgecolors="none", gid=name))
    if not borders(axes, ruleset, task, side):
        del keys["rule border"]
    key_below(figure, list(keys.items()))
    return figure


def _policy_keys(asked_cells: Collection[Cell], start: bool) -> dict[str, Artist]:
    """Return what the legend speaks of, with its marks."""
    marks = {
        "optimal": (any(cell.optimal for cell in asked_cells), OPTIMAL, r"$\rightarrow$", 9),
        "not optimal": (
            any(cell.action and not cell.optimal for cell in asked_cells), SUBOPTIMAL, r"$\rightarrow$", 9
        ),
        "no rule": (any(cell.action is None for cell in asked_cells), MISSING, r"$\emptyset$", 6),
    }  # fmt: skip
    keys: dict[str, Artist] = {
        label: Line2D([], [], color=colour, linestyle="none", marker=marker, markersize=size)
        for label, (shown, colour, marker, size) in marks.items()
        if shown
    }
    keys["rule border"] = Line2D([], [], color=BORDER, linewidth=1.7)
    if start:
        keys["start"] = Line2D(
            [], [], linestyle="none", marker="o", markersize=4, markerfacecolor="white", color=START
        )
    return keys


def rule_colour(rule: int) -> tuple[float, float, float]:
    """Return the colour of a rule, by its number from 0; after 16 they come again."""
    return mixed_with_white(STRONG[rule % len(STRONG)], 0.6 if rule // len(STRONG) % 2 else 0.0)


def who_decides_figure(ruleset: RuleSet, task: TabularTask) -> Figure:
    """Draw the number of the deciding rule, from 1, into every cell, a colour for each rule.

    Rules that decide somewhere are listed in words beside the grid where there are not too many.

    Args:
        ruleset: the policy.
        task: a task with a grid.
    """
    policy_table(ruleset, task)  # raises where they do not belong together
    _, deciders = ruleset.choose(task.dynamics.points)
    rules, side = np.unique(deciders[deciders >= 0]).tolist(), cell_side(task)
    words = {r: f"{r + 1}  {ruleset.rule_in_words(r)}" for r in rules} if len(rules) <= LISTED else {}
    legend_width = max(text_width(line, SMALL) for line in words.values()) + 0.5 if words else 0.12
    title = "fittest rule for the action taken" if ruleset.votes else "deciding rule"
    figure, (axes,) = boards(task, [title], side, legend_width, least_height=LINE * (len(words) + 1))
    deciding = by_cell(on_grid(deciders, task))
    colours = {cell: rule_colour(int(rule)) for cell, rule in deciding.items() if rule >= 0}
    board(axes, task, side, colours)
    borders(axes, ruleset, task, side)
    size = fitting_size([str(len(ruleset))], side, least=3.0)
    for cell, rule in deciding.items():
        text, ink = (str(int(rule) + 1), ink_on(colours[cell])) if rule >= 0 else ("∅", MISSING)
        if size is not None:
            write_cell(axes, cell, text, ink, size)
    if words:
        marks = (Patch(facecolor=rule_colour(r), edgecolor=BORDER, linewidth=0.4) for r in words)
        put_key(
            axes, list(zip(words.values(), marks, strict=True)), loc="center left", bbox_to_anchor=(1, 0.5),
            handlelength=1.0, handleheight=0.9, handletextpad=0.6,
        )  # fmt: skip
    return figure


class Heat(NamedTuple):
    """Numbers of the decision states `(D,)`, by the title of their panel, and how they become colours."""

    panels: dict[str, Floats]
    colours: Colormap
    norm: Normalize
    label: str
    whole: bool = False
    """Numbers are whole."""
    blank_zero: bool = False
    """Zeros are not printed."""

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value of the scale."""
        assert self.norm.vmin is not None
        assert self.norm.vmax is not None
        return float(self.norm.vmin), float(self.norm.vmax)

    @property
    def ticks(self) -> dict[float, str]:
        """Round numbers on the scale, in words."""
        low, high = self.ends
        round_numbers = LogLocator(subs=(1, 2, 5)) if isinstance(self.norm, LogNorm) else None
        locator = round_numbers or MaxNLocator(5, integer=self.whole)
        values = locator.tick_values(low, high)
        return {v: f"{v:g}".replace("-", "−") for v in map(float, values) if low <= v <= high}

    def colour(self, value: float) -> tuple[float, float, float, float]:
        """Return a value's colour."""
        return self.colours(self.norm(value))

    def text(self, value: float) -> str:
        """Return what is printed into a cell: with as many digits as the scale's end needs; ≈0 for less."""
        if value == 0:
            return "" if self.blank_zero else "0"
        largest = max(abs(end) for end in self.ends)
        digits = next((d for d, limit in enumerate((100, 10, 0.1, 0.01)) if largest >= limit), 4)
        text = f"{value:.{0 if self.whole else digits}f}"
        return text.replace("-", "−") if float(text) else "≈0"


def _density(ruleset: RuleSet, task: TabularTask) -> Heat:
    sizes = best_action_map(ruleset, task).density
    values = np.where(sizes > 0, sizes, np.nan)
    norm = Normalize(1, max(2, sizes.max()))
    return Heat({"rules in the best action set": values}, MANY, norm, "rules", whole=True)


def _values(ruleset: RuleSet, task: TabularTask) -> Heat:
    policy_values = table_values(task, policy_table(ruleset, task))
    optimal_values = value_iteration(task).values[task.decision_states]
    low, high = (
        np.nanmin([policy_values, optimal_values], initial=0.0),
        np.nanmax([policy_values, optimal_values], initial=0.0),
    )
    norm = Normalize(low, high if high > low else 1.0)
    return Heat({"value of the policy": policy_values, "optimal value": optimal_values}, MANY, norm, "value")


def _advantages(ruleset: RuleSet, task: TabularTask) -> Heat:
    cost = advantages(task, policy_table(ruleset, task))
    worst = np.nanmin(cost, initial=0.0)
    name = "cost of the action taken" if worst < 0 else "cost of the action taken: none"
    norm = Normalize(worst if worst < 0 else -1.0, 0.0)
    return Heat({name: cost}, COST, norm, "Q*(s, π(s)) − V*(s)", blank_zero=True)


def _visits(ruleset: RuleSet, task: TabularTask) -> Heat:
    """Return visits on a scale of square roots: it tells rarely visited states from those never visited."""
    expected_visits = visits(task, policy_table(ruleset, task), discounted=False)
    return Heat(
        {"expected visits per episode": expected_visits},
        VISITS,
        PowerNorm(0.5, 0.0, expected_visits.max()),
        "visits",
    )


HEATS: dict[str, Callable[[RuleSet, TabularTask], Heat]] = {
    "density": _density,
    "values": _values,
    "advantages": _advantages,
    "visits": _visits,
}


def heat_figure(kind: str, ruleset: RuleSet, task: TabularTask) -> Figure:
    """Draw a number of every state as a colour on the grid.

    Args:
        kind: "density", how many rules match in a state and advocate its action; "values", V^π next to V* on
            one scale; "advantages", what the action taken costs, Q*(s, π(s)) − V*(s), white where it is
            optimal; "visits", how often a state is expected to be visited in an episode of at most t_max
            steps that starts uniformly in S_I.
        ruleset: the policy π.
        task: a task with a grid.
    """
    return draw_heat(HEATS[kind](ruleset, task), task)


def draw_heat(heat: Heat, task: TabularTask) -> Figure:
    """Draw numbers of every state as colours on the grid, a panel for each of their kinds."""
    grids = [by_cell(on_grid(values, task)) for values in heat.panels.values()]
    scale_width = 0.55 + max(text_width(text, SMALL) for text in heat.ticks.values())
    across = min(IN_A_ROW, len(grids))
    side = cell_side(task, min(LARGEST_BOARD, (WIDTH - scale_width) / across - 0.45))
    figure, axes = boards(task, list(heat.panels), side, scale_width, in_a_row=IN_A_ROW)
    size = fitting_size([heat.text(value) for grid in grids for value in grid.values()], side)
    asked_cells = by_cell(on_grid(np.zeros(len(task.decision_states)), task))
    for panel, grid in zip(axes, grids, strict=True):
        colours = {cell: heat.colour(value) for cell, value in grid.items()}
        board(panel, task, side, colours)
        for cell, value in grid.items():
            if size is not None and heat.text(value):
                write_cell(panel, cell, heat.text(value), ink_on(colours[cell]), size)
        for cell in sorted(asked_cells.keys() - grid.keys()):  # no rule matches there, or later
            write_cell(panel, cell, "∅", MISSING, 24 * side)
    _draw_scale(axes[across - 1], heat, grid_shape(task)[1] * side)
    return figure


def _draw_scale(axes: Axes, heat: Heat, width: float) -> None:
    """Draw the scale of colours to the right of a board that is `width` inches wide, and as high as it."""
    inset = axes.inset_axes((1 + 0.1 / width, 0, 0.12 / width, 1))
    bar = axes.figure.colorbar(ScalarMappable(heat.norm, heat.colours), cax=inset)
    bar.set_ticks(list(heat.ticks), labels=list(heat.ticks.values()))
    bar.ax.tick_params(labelsize=SMALL, width=0.6, length=2.5)
    bar.outline.set_linewidth(0.6)
    bar.set_label(heat.label, fontsize=SMALL)
