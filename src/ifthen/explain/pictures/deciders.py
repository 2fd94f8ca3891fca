"""Which rule decides where: its number and colour in every cell, and the rules in words beside the grid."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ifthen.explain.pictures.board import (
    BORDER,
    board,
    boards,
    borders,
    cell_side,
    colours_of,
    fitting_size,
    ink_on,
    name_keys,
    text_width,
)
from ifthen.explain.pictures.grid import on_grid
from ifthen.explain.pictures.policy import MISSING
from ifthen.figure_style import SMALL
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.rollout.evaluate import policy_table
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular import TabularTask

Colour = tuple[float, float, float]
STRONG = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00", "#BBBBBB")
"""Okabe and Ito's colours, grey for black."""
PALE = 0.6
LISTED = 32
"""At most this many rules are listed in words."""
LINE = 0.155


def rule_colour(rule: int) -> Colour:
    """Return the colour of a rule, by its number from 0; after 16 they come again."""
    red, green, blue = to_rgb(STRONG[rule % len(STRONG)])
    white = PALE if rule // len(STRONG) % 2 else 0.0
    return (red + (1 - red) * white, green + (1 - green) * white, blue + (1 - blue) * white)


def who_decides_figure(ruleset: RuleSet, task: TabularTask, title: str = "") -> Figure:
    """Draw the number of the deciding rule, from 1, into every cell, a colour for each rule.

    Rules that decide somewhere are listed in words beside the grid where there are not too many.

    Args:
        ruleset: the policy.
        task: a task with features x and y.
        title: the picture's title; what it shows where empty.
    """
    policy_table(ruleset, task)  # raises where they do not belong together
    _, deciders = ruleset.choose(task.dynamics.points)
    rules, side = np.unique(deciders[deciders >= 0]), cell_side(task)
    words = [f"{r + 1}  {ruleset.rule_in_words(int(r))}" for r in rules] if len(rules) <= LISTED else []
    beside = max((text_width(line, SMALL) for line in words), default=0.0) + 0.5 if words else 0.12
    figure, (axes,) = boards(
        task, [title or _meaning(ruleset)], side, beside, least_height=LINE * (len(words) + 1)
    )
    _numbers(axes, ruleset, task, deciders, side)
    if words:
        keys = [Patch(facecolor=rule_colour(int(r)), edgecolor=BORDER, linewidth=0.4) for r in rules]
        legend = axes.legend(
            keys, [" "] * len(keys), loc="center left", bbox_to_anchor=(1, 0.5), frameon=False,
            fontsize=SMALL, handlelength=1.0, handleheight=0.9, handletextpad=0.6, labelspacing=0.35,
        )  # fmt: skip
        name_keys(legend, words)
    return figure


def _meaning(ruleset: RuleSet) -> str:
    """Return what the numbers stand for."""
    voted = isinstance(ruleset, PredictionArrayRules)
    return "fittest rule for the action taken" if voted else "deciding rule"


def _numbers(
    axes: Axes, ruleset: RuleSet, task: TabularTask, deciders: NDArray[np.int64], side: float
) -> None:
    """Draw the cells in the colours of their rules, with the rules' numbers."""
    shown = np.where(deciders >= 0, deciders, np.nan)
    colours = colours_of(shown, task, lambda rule: rule_colour(int(rule)))
    board(axes, task, side, colours)
    borders(axes, ruleset, task, side)
    grid = on_grid(deciders.astype(np.float64), task)
    size = fitting_size([str(len(ruleset))], side, least=3.0)
    for r, c in np.argwhere(~np.isnan(grid)).tolist():
        text, ink = (str(int(grid[r, c]) + 1), ink_on(colours[r, c])) if grid[r, c] >= 0 else ("∅", MISSING)
        if size is not None:
            axes.text(c, r, text, ha="center", va="center", fontsize=size, color=ink)
