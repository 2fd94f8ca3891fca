"""Words and maps say what the policy does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ifthen import DecisionList, frozen_lake
from ifthen.errors import TaskError
from ifthen.explanation.pictures.grid_figures import policy_figure
from ifthen.explanation.pictures.policy_grid import cells, policy_text
from ifthen.explanation.reading import read_rules
from ifthen.figure_style import write_png
from tests.tables import table_named

TASK = frozen_lake(desc=["SFF", "FHF", "FFG"])
RIGHT_THEN_DOWN = DecisionList(
    [[[0, 1], [0, 0]], [[2, 2], [0, 1]], [[0, 2], [0, 0]]], [2, 1, 3], TASK.features, TASK.action_names
)


def test_each_rule_counts_the_states_it_decides() -> None:
    rules = read_rules(RIGHT_THEN_DOWN, TASK).in_order
    assert [rule.decides for rule in rules] == [2, 2, 0]
    assert rules[0].words == "IF x ≤ 1 AND y = 0 THEN Right"
    assert rules[0].share == 2 / 7


def test_the_map_shows_actions_holes_goal_and_cells_without_a_rule() -> None:
    grid = cells(RIGHT_THEN_DOWN, TASK)
    assert [[cell.letter for cell in row] for row in grid] == [list("SFF"), list("FHF"), list("FFG")]
    assert [cell.action for cell in grid[0]] == ["Right", "Right", "Down"]
    assert all(cell.optimal for cell in grid[0])
    assert grid[1][0].asked
    assert grid[1][0].action is None
    assert not grid[1][1].asked
    *lines, legend = policy_text(RIGHT_THEN_DOWN, TASK).plain.splitlines()
    assert lines == [" →  →  ↓ ", " ∅  ■  ↓ ", " ∅  ∅  ★ "]
    assert all(word in legend for word in ("goal", "hole", "no rule matches", "optimal"))
    assert "not optimal" not in legend


def test_an_action_that_is_not_optimal_is_marked() -> None:
    left = DecisionList([[[0, 2], [0, 2]]], [0], TASK.features, TASK.action_names)
    marks = {(x, y): cell.optimal for y, row in enumerate(cells(left, TASK)) for x, cell in enumerate(row)}
    assert not any(marks.values())
    assert policy_text(left, TASK).plain.startswith("(←)(←)(←)")


def test_a_grid_is_drawn_closely_or_not_at_all_where_the_terminal_is_narrow() -> None:
    assert policy_text(RIGHT_THEN_DOWN, TASK, width=8).plain.splitlines()[0] == "→→↓"
    assert "wider than this terminal" in policy_text(RIGHT_THEN_DOWN, TASK, width=2).plain


def test_the_picture_is_a_png(tmp_path: Path) -> None:
    write_png(tmp_path / "policy.png", policy_figure(RIGHT_THEN_DOWN, TASK))
    assert (tmp_path / "policy.png").read_bytes().startswith(b"\x89PNG")


def test_a_grid_without_a_map_is_drawn_too() -> None:
    cliff = table_named("CliffWalking-v1")
    up = DecisionList([[[0, 11], [0, 3]]], [0], cliff.features, cliff.action_names)
    assert policy_text(up, cliff).plain.splitlines()[3].startswith(" ↑ ")


def test_tasks_without_x_and_y_are_refused() -> None:
    taxi = table_named("Taxi-v4")
    assert not taxi.on_grid
    rules = DecisionList([[[0, 0]] * 4], [0], taxi.features, taxi.action_names)
    with pytest.raises(TaskError, match="features x and y"):
        cells(rules, taxi)
