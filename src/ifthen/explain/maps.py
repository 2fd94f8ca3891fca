"""A policy drawn on its grid: arrows, holes, goal, and where it is not optimal. Terminal and picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from rich.text import Text

from ifthen.errors import TaskError
from ifthen.rollout.evaluate import policy_table
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.solve import value_iteration
from ifthen.tasks.tabular import TabularTask

DIRECTIONS = {"Left": (-1, 0, "←"), "Down": (0, 1, "↓"), "Right": (1, 0, "→"), "Up": (0, -1, "↑")}
ICE, WATER, GOAL, NO_STATE = "#EAF4FB", "#33414E", "#8FD3A8", "#D8D8D8"
OPTIMAL, SUBOPTIMAL, MISSING = "#0B3C5D", "#D55E00", "#CC0000"


@dataclass(frozen=True)
class Cell:
    """One cell of the grid.

    Args:
        letter: S, F, H or G; a space where the task has no map.
        action: the action's name there; None where none is asked for or no rule matches.
        optimal: whether that action is optimal.
        asked: whether the policy is asked for an action there.
    """

    letter: str
    action: str | None
    optimal: bool
    asked: bool


def has_grid(task: TabularTask) -> bool:
    """Return whether a task can be drawn: its features are x and y."""
    return [feature.name for feature in task.features] == ["x", "y"]


def cells(ruleset: RuleSet, task: TabularTask) -> list[list[Cell]]:
    """Return the grid, row by row, with the policy's action in every cell."""
    if not has_grid(task):
        names = ", ".join(feature.name for feature in task.features)
        raise TaskError(f"only tasks with features x and y are drawn on a grid, not ({names}).")
    policy = np.full(task.n_states, -1, dtype=np.int64)
    policy[task.decision_states] = policy_table(ruleset, task)
    asked = np.zeros(task.n_states, dtype=np.bool_)
    asked[task.decision_states] = True
    optimal = value_iteration(task).optimal_actions
    at = {(int(x), int(y)): s for s, (x, y) in enumerate(task.state_features)}
    x_axis, y_axis = task.features
    return [
        [
            _cell(at.get((x, y)), x, y, task, policy, asked, optimal)
            for x in range(x_axis.low, x_axis.high + 1)
        ]
        for y in range(y_axis.low, y_axis.high + 1)
    ]


def _cell(
    s: int | None,
    x: int,
    y: int,
    task: TabularTask,
    policy: NDArray[np.int64],
    asked: NDArray[np.bool_],
    optimal: NDArray[np.bool_],
) -> Cell:
    letter = task.layout[y][x] if task.layout else " "
    if s is None or not asked[s]:
        return Cell(letter, None, False, False)
    if policy[s] < 0:
        return Cell(letter, None, False, True)
    return Cell(letter, task.action_names[policy[s]], bool(optimal[s, policy[s]]), True)


def policy_text(ruleset: RuleSet, task: TabularTask, width: int = 10_000) -> Text:
    """Return the policy as lines of arrows for a terminal that is `width` characters wide."""
    grid = cells(ruleset, task)
    if len(grid[0]) > width:
        return Text("(the grid is wider than this terminal: draw it with --png)")
    roomy = 3 * len(grid[0]) <= width
    text, used = Text(), {}
    for row in grid:
        for cell in row:
            symbol, style, meaning = _symbol(cell)
            used[meaning] = (symbol.strip(), style)
            text.append(symbol if roomy else symbol.strip("() "), style=style)
        text.append("\n")
    for meaning, (symbol, style) in sorted(used.items()):
        text.append(f"{symbol} {meaning}  ", style=style)
    return text


def _symbol(cell: Cell) -> tuple[str, str, str]:
    """Return what stands for a cell in a terminal, its style and its meaning."""
    if cell.letter == "G":
        return " ★ ", "bold green", "goal"
    if not cell.asked:
        return (" ■ ", "dim", "hole") if cell.letter == "H" else (" · ", "dim", "no action asked for")
    if cell.action is None:
        return " ∅ ", "bold red", "no rule matches"
    arrow = DIRECTIONS[cell.action][2] if cell.action in DIRECTIONS else cell.action[0]
    return (
        (f" {arrow} ", "bold blue", "optimal")
        if cell.optimal
        else (f"({arrow})", "bold yellow", "not optimal")
    )


def policy_figure(ruleset: RuleSet, task: TabularTask, title: str = "") -> Figure:
    """Draw the policy: dark arrows where its action is optimal, orange where it is not."""
    grid = cells(ruleset, task)
    rows, columns = len(grid), len(grid[0])
    side = min(0.62, 9 / max(rows, columns))
    figure = Figure(figsize=(max(3.6, columns * side + 0.8), rows * side + 1.3), layout="constrained")
    axes = figure.subplots()
    for y, row in enumerate(grid):
        for x, cell in enumerate(row):
            _draw(axes, x, y, cell, side)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.set_xticks(range(columns), [str(task.features[0].low + x) for x in range(columns)])
    axes.set_yticks(range(rows), [str(task.features[1].low + y) for y in range(rows)])
    axes.tick_params(length=0, labelsize=8)
    axes.set_xlabel("x")
    axes.set_ylabel("y", rotation=0)
    axes.set_title(title or task.name, loc="left", fontsize=10, parse_math=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    asked = [cell for row in grid for cell in row if cell.asked]
    legend = {
        "optimal": (OPTIMAL, any(cell.optimal for cell in asked)),
        "not optimal": (SUBOPTIMAL, any(cell.action and not cell.optimal for cell in asked)),
        "no rule": (MISSING, any(cell.action is None for cell in asked)),
    }
    for label, (colour, present) in legend.items():
        if present:
            axes.plot([], [], color=colour, marker=">", linestyle="none", label=label)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def _draw(axes: Axes, x: int, y: int, cell: Cell, side: float) -> None:
    """Draw one cell."""
    colour = {"H": WATER, "G": GOAL}.get(cell.letter, ICE if cell.asked else NO_STATE)
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.2))
    size = 26 * side
    if cell.letter == "G":
        axes.text(x, y, "★", ha="center", va="center", color="#14532D", fontsize=size, family="DejaVu Sans")
    if cell.letter == "S":
        axes.text(x - 0.44, y - 0.42, "S", ha="left", va="top", color="#5B7A90", fontsize=size * 0.5)
    if not cell.asked or cell.letter == "G":
        return
    if cell.action is None:
        axes.text(x, y, "∅", ha="center", va="center", color=MISSING, fontsize=size, family="DejaVu Sans")
        return
    ink = OPTIMAL if cell.optimal else SUBOPTIMAL
    if cell.action not in DIRECTIONS:
        axes.text(
            x, y, cell.action[:2], ha="center", va="center", color=ink, fontsize=size * 0.7, parse_math=False
        )
        return
    dx, dy, _ = DIRECTIONS[cell.action]
    axes.annotate(
        "",
        xy=(x + 0.34 * dx, y + 0.34 * dy),
        xytext=(x - 0.30 * dx, y - 0.30 * dy),
        arrowprops={"arrowstyle": "-|>", "color": ink, "lw": 3.2 * side, "mutation_scale": 22 * side},
    )
