from __future__ import annotations

from matplotlib.figure import Figure

from ifthen.environments.frozen_lake import PAPER_TASKS
from ifthen.figure_style import COLUMN_WIDTH, WIDTH
from ifthen.study.figures.panels import EMPTY, TaskPanels, arranged, balanced, legend_above
from tests.study.figures.made_up import LAKES, made_up_plan, made_up_results


def test_lakes_stand_by_size_and_slip() -> None:
    arrangement = arranged(PAPER_TASKS[::-1])
    assert arrangement.rows[1] == [f"FrozenLake-8-{slip}" for slip in ("0", "0.1", "0.3", "0.5")]
    assert [row[0] for row in arrangement.rows] == [f"FrozenLake-{size}-0" for size in (4, 8, 12)]
    assert arrangement.titles["FrozenLake-12-0.3"] == "(12, 0.3)"
    assert "slip probability p" in arrangement.meaning


def test_places_of_lakes_that_are_not_in_the_study_are_empty() -> None:
    rows = arranged(["FrozenLake-4-0", "FrozenLake-4-0.1", "FrozenLake-8-0.1"]).rows
    assert rows == [["FrozenLake-4-0", "FrozenLake-4-0.1"], [EMPTY, "FrozenLake-8-0.1"]]


def test_other_tasks_are_in_their_order_in_up_to_four_columns_under_their_names() -> None:
    tasks = ["a", "b", "c", "d", "FrozenLake-4-0"]
    arrangement = arranged(tasks)
    assert arrangement.rows == [["a", "b", "c"], ["d", "FrozenLake-4-0", EMPTY]]
    assert arrangement.titles == {task: task for task in tasks}
    assert arrangement.meaning == ""
    assert arranged(["only"]).rows == [["only"]]
    assert balanced(8, 4) == 4
    assert balanced(9, 4) == 3


def test_lakes_that_would_leave_their_grid_empty_or_too_wide_are_in_order() -> None:
    scattered = ["FrozenLake-4-0", "FrozenLake-8-0.1", "FrozenLake-12-0.3"]
    assert arranged(scattered).rows == [scattered]
    many = [f"FrozenLake-4-0.{slip}" for slip in range(1, 9)]
    assert arranged(many).rows == [many[:4], many[4:]]


def test_figures_are_as_wide_as_a_page_or_a_column() -> None:
    for tasks, width in ((list(PAPER_TASKS), WIDTH), (LAKES[:2], COLUMN_WIDTH)):
        results = made_up_results(made_up_plan(["A"], tasks, 1), {("A", tasks[0]): [[0.1, 0.2, 0.3]]})
        assert TaskPanels(results).figure.get_figwidth() == width


def test_legends_take_the_rows_they_need_and_names_are_no_mathematics() -> None:
    few, many = Figure(figsize=(7, 3)), Figure(figsize=(3.5, 3))
    for figure, number in ((few, 3), (many, 8)):
        axes = figure.subplots()
        handles = {f"system $x_{i} of many": axes.plot([0, 1])[0] for i in range(number)}
        legend_above(figure, handles, "a;   b")
        texts = figure.legends[0].get_texts()
        assert [text.get_text() for text in texts] == [f"system $x_{i} of many" for i in range(number)]
        assert not any(text.get_parse_math() for text in texts)
        assert figure.legends[0].get_title().get_text() == "a;   b"
    assert few.get_figheight() == 3
    assert many.get_figheight() > 3
    many.draw_without_rendering()
    assert many.legends[0].get_window_extent().width <= many.bbox.width
