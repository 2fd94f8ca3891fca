"""A policy on the grid of its task: what stands in every cell, also drawn for a terminal.

A task has a grid where it brings a map, or where its features are x (to the right) and y (down).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from ifthen.errors import TaskError
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.table_simulator import policy_table
from ifthen.tasks.solve import value_iteration
from ifthen.tasks.tabular_task import TabularTask

DIRECTIONS = {
    "Left": (-1, 0, "←"),
    "Down": (0, 1, "↓"),
    "Right": (1, 0, "→"),
    "Up": (0, -1, "↑"),
    "go north": (0, -1, "↑"),
    "go northeast": (1, -1, "↗"),
    "go east": (1, 0, "→"),
    "go southeast": (1, 1, "↘"),
    "go south": (0, 1, "↓"),
    "go southwest": (-1, 1, "↙"),
    "go west": (-1, 0, "←"),
    "go northwest": (-1, -1, "↖"),
}
"""How far to the right and down actions of these names lead, and their arrows."""
LOOKS = {
    "goal": ("bold green", "goal"),
    "wall": ("dim", "wall"),
    "hole": ("dim", "hole"),
    "nothing": ("dim", "no action asked for"),
    "missing": ("bold red", "no rule matches"),
    "optimal": ("bold blue", "optimal"),
    "other": ("bold yellow", "not optimal"),
}
"""The style of each kind of cell in a terminal, and what it means."""


@dataclass(frozen=True)
class Cell:
    """One cell of the grid.

    Args:
        letter: S (start), F (frozen, or any ground), H (hole), O (wall) or G (goal), see `letters`; a space
            for none.
        action: the action's name there; None where none is asked for or no rule matches.
        optimal: whether that action is optimal.
        asked: whether the policy is asked for an action there.
    """

    letter: str
    action: str | None = None
    optimal: bool = False
    asked: bool = False


def grid_shape(task: TabularTask) -> tuple[int, int]:
    """Return the rows and columns of a task's grid, or raise where it has none."""
    if not task.on_grid:
        names = ", ".join(feature.name for feature in task.features)
        raise TaskError(f"only tasks with features x and y, or a map, are drawn on a grid, not ({names}).")
    if task.layout:
        return len(task.layout), len(task.layout[0])
    x_axis, y_axis = task.features
    return y_axis.width, x_axis.width


def first_place(task: TabularTask) -> tuple[int, int]:
    """Return what the first column and the first row of a task's grid are called."""
    return (task.features[0].low, task.features[1].low) if task.sees_place else (0, 0)


def places(task: TabularTask, states: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Return the rows and the columns of states, from 0, each as long as `states`."""
    if not task.sees_place:
        rows, columns = np.divmod(np.asarray(states, dtype=np.int64), grid_shape(task)[1])
        return rows, columns
    x, y = task.state_features[states].T.astype(np.int64)
    return y - task.features[1].low, x - task.features[0].low


def cell_in_words(task: TabularTask, state: int) -> str:
    """Return the cell of a state on the map, "x = 3, y = 2"; "" where features say it, or there is no map."""
    if task.sees_place or task.layout is None:
        return ""
    (row,), (column,) = places(task, np.array([state]))
    return f"x = {column}, y = {row}"


def on_grid(values: NDArray[np.generic], task: TabularTask) -> Floats:
    """Return values of the decision states `(D,)` on the grid, `(rows, columns)`; NaN elsewhere."""
    grid = np.full(grid_shape(task), np.nan)
    grid[places(task, task.decision_states)] = values
    return grid


def by_cell(grid: Floats) -> dict[tuple[int, int], float]:
    """Return the values of a grid by row and column, without those that are NaN."""
    return {(r, c): float(grid[r, c]) for r, c in np.argwhere(~np.isnan(grid)).tolist()}


def letters(task: TabularTask) -> list[list[str]]:
    """Return what each cell is, row by row: S, F, H, O, G, or a space where no action is ever asked for.

    A task that brings no map gets one: a single initial state is S; where episodes end is H, and G where
    they end with the best reward of any ending and an optimal action leads to it.
    """
    if task.layout:
        return [list(row) for row in task.layout]
    grid = np.full(grid_shape(task), " ")
    states, initial = task.decision_states, np.unique(task.initial_states)
    next_states, ends, reward = task.next_state[states], task.done[states], task.reward[states]
    optimal = value_iteration(task).optimal_actions[states][:, :, None]
    goals = ends & optimal & (reward == reward[ends].max(initial=-np.inf))
    for letter, marked in (
        ("H", next_states[ends]),
        ("G", next_states[goals]),
        ("F", states),
        ("S", initial),
    ):
        if letter != "S" or len(initial) == 1:
            grid[places(task, marked)] = letter
    return [[str(letter) for letter in row] for row in grid]


def cells(ruleset: RuleSet, task: TabularTask) -> list[list[Cell]]:
    """Return the grid, row by row, with the policy's action in every cell."""
    table = policy_table(ruleset, task)
    optimal = value_iteration(task).optimal_actions[task.decision_states, table]
    actions, is_optimal = by_cell(on_grid(table, task)), by_cell(on_grid(optimal, task))
    grid = [[Cell(letter) for letter in row] for row in letters(task)]
    for (r, c), action in actions.items():
        name = task.action_names[int(action)] if action >= 0 else None
        grid[r][c] = Cell(grid[r][c].letter, name, action >= 0 and is_optimal[r, c] == 1, asked=True)
    return grid


def policy_text(ruleset: RuleSet, task: TabularTask, width: int = 10_000) -> Text:
    """Return the policy as lines of arrows for a terminal that is `width` characters wide."""
    grid = cells(ruleset, task)
    if len(grid[0]) > width:
        return Text("(the grid is wider than this terminal: draw it with --png)")
    roomy = 3 * len(grid[0]) <= width
    text, legend = Text(), {}
    for row in grid:
        for cell in row:
            symbol, kind = sign_of(cell)
            style, meaning = LOOKS[kind]
            padded = f"({symbol[0]})" if kind == "other" else f" {symbol[0]} "
            legend[meaning] = (padded.strip(), style)
            text.append(padded if roomy else symbol[0], style=style)
        text.append("\n")
    for meaning, (symbol, style) in sorted(legend.items()):
        text.append(f"{symbol} {meaning}  ", style=style)
    return text


def sign_of(cell: Cell) -> tuple[str, str]:
    """Return what stands for a cell, and what it is, as in `LOOKS`."""
    if cell.letter in ("G", "O"):
        return ("★", "goal") if cell.letter == "G" else ("█", "wall")
    if not cell.asked:
        return ("■", "hole") if cell.letter == "H" else ("·", "nothing")
    if cell.action is None:
        return "∅", "missing"
    symbol = DIRECTIONS[cell.action][2] if cell.action in DIRECTIONS else cell.action[:2]
    return symbol, "optimal" if cell.optimal else "other"
