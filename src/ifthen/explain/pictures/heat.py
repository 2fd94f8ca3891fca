"""Numbers of every state as colours on the grid: density, values, costs, visits."""

from __future__ import annotations

from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ifthen.explain.best_actions import best_action_map
from ifthen.explain.measures import advantages, visits
from ifthen.explain.pictures.board import (
    LARGEST_BOARD,
    board,
    boards,
    cell_side,
    colours_of,
    fitting_size,
    ink_on,
    text_width,
)
from ifthen.explain.pictures.grid import on_grid
from ifthen.explain.pictures.policy import MISSING
from ifthen.figure_style import SMALL, WIDTH
from ifthen.rollout.evaluate import policy_table
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.solve import policy_values, value_iteration
from ifthen.tasks.tabular import TabularTask

MANY = ListedColormap(matplotlib.colormaps["viridis"](np.linspace(0.12, 1, 256)))
COST = LinearSegmentedColormap.from_list("cost", ["#7A2E00", "#D55E00", "#F5B98A", "#FFF7F0"])
VISITS = LinearSegmentedColormap.from_list("visits", ["#F7FBFF", "#8CC4E8", "#0072B2", "#062A45"])


class Scale(NamedTuple):
    """How values become colours and numbers: in whole numbers or not, with zeros printed or left blank."""

    colours: Colormap
    norm: Normalize
    label: str
    whole: bool = False
    blank_zero: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value."""
        assert self.norm.vmin is not None
        assert self.norm.vmax is not None
        return float(self.norm.vmin), float(self.norm.vmax)

    @property
    def ticks(self) -> dict[float, str]:
        """Round numbers on the scale, in words."""
        low, high = self.ends
        values = MaxNLocator(5, integer=self.whole).tick_values(low, high)
        return {v: f"{v:g}".replace("-", "−") for v in map(float, values) if low <= v <= high}

    def colour(self, value: float) -> tuple[float, float, float, float]:
        """Return a value's colour."""
        return self.colours(self.norm(value))


def density_figure(ruleset: RuleSet, task: TabularTask, title: str = "") -> Figure:
    """Draw how many rules match in a state and advocate what is done there: its best action set.

    Args:
        ruleset: the policy.
        task: a task with features x and y.
        title: the picture's title; what it shows where empty.
    """
    sizes = best_action_map(ruleset, task).density
    values = np.where(sizes > 0, sizes, np.nan)
    scale = Scale(MANY, Normalize(1, max(2, sizes.max())), "rules", whole=True)
    return _heat_figure(task, [(values, title or "rules in the best action set")], scale)


def value_figure(ruleset: RuleSet, task: TabularTask, title: str = "") -> Figure:
    """Draw V^π next to V*, on one scale.

    Args:
        ruleset: the policy π.
        task: a task with features x and y.
        title: put before both panels' titles.
    """
    states = task.decision_states
    policy = np.full(task.n_states, -1)
    policy[states] = policy_table(ruleset, task)
    own, best = policy_values(task, policy)[states], value_iteration(task).values[states]
    low, high = np.nanmin([own, best], initial=0.0), np.nanmax([own, best], initial=0.0)
    scale = Scale(MANY, Normalize(low, high if high > low else 1.0), "value")
    names = [f"{title}: {name}" if title else name for name in ("value of the policy", "optimal value")]
    return _heat_figure(task, list(zip((own, best), names, strict=True)), scale)


def advantage_figure(ruleset: RuleSet, task: TabularTask, title: str = "") -> Figure:
    """Draw what the action taken costs in each state: Q*(s, π(s)) − V*(s), white where it is optimal.

    Args:
        ruleset: the policy π.
        task: a task with features x and y.
        title: the picture's title; what it shows where empty.
    """
    cost = advantages(task, policy_table(ruleset, task))
    worst = np.nanmin(cost, initial=0.0)
    scale = Scale(COST, Normalize(worst if worst < 0 else -1.0, 0.0), "Q*(s, π(s)) − V*(s)", blank_zero=True)
    name = "cost of the action taken" if worst < 0 else "cost of the action taken: none"
    return _heat_figure(task, [(cost, title or name)], scale)


def visitation_figure(ruleset: RuleSet, task: TabularTask, title: str = "") -> Figure:
    """Draw how often each state is expected to be visited in an episode, every visit counting 1.

    Episodes start uniformly in S_I and have at most t_max steps. The scale is that of square roots, so that
    rarely visited states can be told from those that are never visited.

    Args:
        ruleset: the policy.
        task: a task with features x and y.
        title: the picture's title; what it shows where empty.
    """
    found = visits(task, policy_table(ruleset, task), discounted=False)
    scale = Scale(VISITS, PowerNorm(0.5, 0.0, found.max()), "visits")
    return _heat_figure(task, [(found, title or "expected visits per episode")], scale)


def _heat_figure(task: TabularTask, panels: list[tuple[NDArray[np.float64], str]], scale: Scale) -> Figure:
    """Draw panels `(values of the decision states, title)` on one scale of colours."""
    grids = [on_grid(values, task) for values, _ in panels]
    beside = 0.55 + max(text_width(text, SMALL) for text in scale.ticks.values())
    side = cell_side(task, min(LARGEST_BOARD, (WIDTH - beside) / len(panels) - 0.45))
    figure, axes = boards(task, [title for _, title in panels], side, beside)
    texts = [_texts(grid, scale) for grid in grids]
    size = fitting_size([text for written in texts for text in written.values()], side)
    asked = ~np.isnan(on_grid(np.zeros(len(task.decision_states)), task))
    for panel, (values, _), grid, written in zip(axes, panels, grids, texts, strict=True):
        board(panel, task, side, colours_of(values, task, scale.colour))
        for (r, c), text in written.items() if size is not None else ():
            ink = ink_on(scale.colour(grid[r, c]))
            panel.text(c, r, text, ha="center", va="center", fontsize=size, color=ink)
        for r, c in np.argwhere(asked & np.isnan(grid)).tolist():  # no rule matches there, or later
            panel.text(c, r, "∅", ha="center", va="center", fontsize=24 * side, color=MISSING)
    _draw_scale(axes[-1], scale, task.features[0].width * side)
    return figure


def _draw_scale(axes: Axes, scale: Scale, width: float) -> None:
    """Draw the scale of colours to the right of a board that is `width` inches wide, and as high as it."""
    place = axes.inset_axes((1 + 0.1 / width, 0, 0.12 / width, 1))
    bar = axes.figure.colorbar(ScalarMappable(scale.norm, scale.colours), cax=place)
    bar.set_ticks(list(scale.ticks), labels=list(scale.ticks.values()))
    bar.ax.tick_params(labelsize=SMALL, width=0.6, length=2.5)
    bar.outline.set_linewidth(0.6)
    bar.set_label(scale.label, fontsize=SMALL)


def _texts(grid: NDArray[np.float64], scale: Scale) -> dict[tuple[int, int], str]:
    """Return what is printed into each cell: with as many digits as the scale's end needs."""
    largest = max(abs(end) for end in scale.ends)
    fewest = next((d for d, least in enumerate((100, 10, 0.1, 0.01)) if largest >= least), 4)
    cells = {(r, c): grid[r, c] for r, c in np.argwhere(~np.isnan(grid)).tolist()}
    return {
        at: _number(value, 0 if scale.whole else fewest)
        for at, value in cells.items()
        if value != 0 or not scale.blank_zero
    }


def _number(value: float, digits: int) -> str:
    """Return a number with so many digits after the point; ≈0 where they are all zero but it is not."""
    if value == 0:
        return "0"
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else "≈0"
