"""A policy on the grid of its task: what stands in every cell, and where one rule's cells end.

A task has a grid where its features are x (to the right) and y (down).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.rollout.evaluate import policy_table
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.solve import value_iteration
from ifthen.tasks.tabular import TabularTask

DIRECTIONS = {"Left": (-1, 0, "←"), "Down": (0, 1, "↓"), "Right": (1, 0, "→"), "Up": (0, -1, "↑")}


@dataclass(frozen=True)
class Cell:
    """One cell of the grid.

    Args:
        letter: S (start), F (frozen, or any ground), H (hole) or G (goal), see `letters`; a space for none.
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


def _checked_grid(task: TabularTask) -> tuple[int, int]:
    """Return the rows and columns of a task's grid, or raise where it has none."""
    if not has_grid(task):
        names = ", ".join(feature.name for feature in task.features)
        raise TaskError(f"only tasks with features x and y are drawn on a grid, not ({names}).")
    x_axis, y_axis = task.features
    return y_axis.width, x_axis.width


def places(task: TabularTask, states: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and the columns of states, from 0, each as long as `states`."""
    x, y = task.state_features[states].T.astype(np.int64)
    return y - task.features[1].low, x - task.features[0].low


def on_grid(values: NDArray[np.float64], task: TabularTask) -> NDArray[np.float64]:
    """Return values of the decision states `(D,)` on the grid, `(rows, columns)`; NaN elsewhere."""
    grid = np.full(_checked_grid(task), np.nan)
    grid[places(task, task.decision_states)] = values
    return grid


def letters(task: TabularTask) -> list[list[str]]:
    """Return what each cell is, row by row: S, F, H, G, or a space where no action is ever asked for.

    A task that brings no map gets one: a single initial state is S; where episodes end is H, and G where
    they end with the best reward of any ending and an optimal action leads to it.
    """
    if task.layout:
        return [list(row) for row in task.layout]
    rows, columns = _checked_grid(task)
    grid = np.full((rows, columns), " ")
    states, initial = task.decision_states, np.unique(task.initial_states)
    follows, ends, reward = task.next_state[states], task.done[states], task.reward[states]
    optimal = value_iteration(task).optimal_actions[states][:, :, None]
    goals = ends & optimal & (reward == reward[ends].max(initial=-np.inf))
    for letter, found in (("H", follows[ends]), ("G", follows[goals]), ("F", states), ("S", initial)):
        if letter != "S" or len(initial) == 1:
            grid[places(task, found)] = letter
    return [[str(letter) for letter in row] for row in grid]


def starts(task: TabularTask) -> list[tuple[int, int]]:
    """Return row and column of the start: the map's S, or else the only initial state."""
    marks = enumerate(letters(task))
    return [(r, c) for r, row in marks for c, letter in enumerate(row) if letter == "S"]


def rule_borders(deciders: NDArray[np.float64]) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the edges between neighbouring cells that different rules decide, each as two corners (x, y).

    Args:
        deciders: the deciding rule of every cell, `(rows, columns)`, −1 where none matches and NaN where no
            action is asked for; edges of the latter are no borders.
    """
    edges = []
    for r, c in np.argwhere(~np.isnan(deciders)).tolist():
        right, below = deciders[r, c + 1 : c + 2], deciders[r + 1 : r + 2, c]
        if len(right) and not np.isnan(right[0]) and right[0] != deciders[r, c]:
            edges.append(((c + 0.5, r - 0.5), (c + 0.5, r + 0.5)))
        if len(below) and not np.isnan(below[0]) and below[0] != deciders[r, c]:
            edges.append(((c - 0.5, r + 0.5), (c + 0.5, r + 0.5)))
    return edges


def cells(ruleset: RuleSet, task: TabularTask) -> list[list[Cell]]:
    """Return the grid, row by row, with the policy's action in every cell."""
    _checked_grid(task)
    policy = on_grid(policy_table(ruleset, task).astype(np.float64), task)
    states, table = task.decision_states, policy_table(ruleset, task)
    optimal = on_grid(value_iteration(task).optimal_actions[states, table].astype(np.float64), task)
    return [
        [_cell(letter, action, bool(best == 1), task) for letter, action, best in zip(*row, strict=True)]
        for row in zip(letters(task), policy.tolist(), optimal.tolist(), strict=True)
    ]


def _cell(letter: str, action: float, optimal: bool, task: TabularTask) -> Cell:
    """Return a cell; its action is NaN where none is asked for and −1 where no rule matches."""
    if np.isnan(action):
        return Cell(letter, None, False, False)
    if action < 0:
        return Cell(letter, None, False, True)
    return Cell(letter, task.action_names[int(action)], optimal, True)
