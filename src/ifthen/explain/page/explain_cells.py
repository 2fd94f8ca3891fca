"""What the cells of a grid are besides states to decide in: the start, the goal, other endings, a cliff.

A cliff is where nobody ever stands: a step onto it leads elsewhere at once. That shows in the moves of its
neighbours, if actions are called after directions and all of these moves have the same outcome.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ifthen.explain.pictures.grid import DIRECTIONS, has_grid, letters
from ifthen.rules.features import number_in_words
from ifthen.tasks.tabular import TabularTask

NEVER = "never entered"


def cells_data(task: TabularTask, points: list[list[int]]) -> dict[str, Any]:
    """Return the letter of every place, what H means, and what is to be said of places never entered.

    Args:
        task: the task.
        points: the features of every place.
    """
    if not has_grid(task):
        return {"letters": [], "hole": "", "never": {}}
    left, top = (feature.low for feature in task.features)
    grid = letters(task)
    marks = [grid[y - top][x - left] for x, y in points]
    never = {str(i): never_in_words(task, points[i]) for i, mark in enumerate(marks) if mark == " "}
    return {"letters": marks, "hole": "hole" if task.layout else "another ending", "never": never}


def never_in_words(task: TabularTask, point: list[int]) -> str:
    """Return what becomes of a step onto a cell in which nobody ever is."""
    states, reached = task.decision_states, set()
    for action, name in enumerate(task.action_names):
        dx, dy, _ = DIRECTIONS.get(name, (0, 0, ""))
        beside = states[(task.state_features[states] == np.subtract(point, (dx, dy))).all(axis=1)]
        for state in beside:
            follows, rewards = task.next_state[state, action].tolist(), task.reward[state, action].tolist()
            reached |= set(zip(follows, rewards, task.done[state, action].tolist(), strict=True))
    if len(reached) != 1 or any(done for _, _, done in reached):
        return NEVER
    ((to, reward, _),) = reached
    place = ", ".join(
        f"{feature.name} = {value}"
        for feature, value in zip(task.features, task.state_features[to].tolist(), strict=True)
    )
    gain = number_in_words(reward).replace("-", "−")
    return f"{NEVER}: a step onto it brings {gain} and leads to {place}"
