from __future__ import annotations

from dataclasses import replace
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ifthen.explanation.measures import best_action_map
from ifthen.explanation.pictures.grid import on_grid
from ifthen.rules.feature import Feature
from ifthen.study.figures.grids import densities, density_figure, largest_density
from ifthen.study.results import Results
from tests.study.figures.made_up import made_up_plan, made_up_results, with_rulesets
from tests.tables import table_named, tables_of

MAP = ["SFF", "FHF", "FFG"]
POND = {"desc": MAP, "name": "pond"}
WIDE = {"desc": ["S" + "F" * 7 + "G"], "name": "wide"}
TRIALS = [[0.5], [0.6]]


def pond_results(*systems: str, trials: int = 2, tasks: tuple[Any, ...] = (POND,)) -> Results:
    plan = made_up_plan(list(systems), list(tasks), trials)
    curves = {(name, task): [[0.5]] * trials for name in systems for task in plan.tasks_by_name()}
    return with_rulesets(made_up_results(plan, curves))


def heatmaps(figure: Figure | None) -> list[Axes]:
    assert figure is not None
    return [axes for axes in figure.axes if axes.images]


def test_densities_are_means_over_trials_of_the_sizes_of_best_action_sets() -> None:
    results = pond_results("A", "B")
    calls: list[int] = []
    found = densities(results, lambda: calls.append(1))
    task = tables_of(results.plan)["pond"]
    assert results.ruleset is not None
    for system in ("A", "B"):
        by_hand = [0.0] * len(task.decision_states)
        for trial in results.trials(system, "pond"):
            sets = best_action_map(results.ruleset(trial), task).sets
            for d in range(len(by_hand)):
                by_hand[d] += sum(bool(member) for member in sets[d]) / 2
        np.testing.assert_allclose(found[system, "pond"], by_hand)
    # One and two rules for every state, and one more where x is 0.
    x = task.state_features[task.decision_states][:, 0]
    np.testing.assert_allclose(found["A", "pond"], np.where(x == 0, 2.5, 1.5))
    assert len(calls) == 4
    assert largest_density(found) == 2.5


def test_heatmaps_show_densities_at_their_cells_and_black_where_no_action_is_asked_for() -> None:
    results = pond_results("A", "B")
    task = tables_of(results.plan)["pond"]
    panels = heatmaps(density_figure(results, densities(results), task))
    assert [axes.get_title() for axes in panels] == ["A", "B"]
    for axes in panels:
        (image,) = axes.images
        shown: Any = np.ma.asarray(image.get_array())
        assert shown.mask.tolist() == [[letter in "HG" for letter in row] for row in MAP]
        assert shown.filled(0).tolist() == [[2.5, 1.5, 1.5], [2.5, 0, 1.5], [2.5, 1.5, 0]]
        assert image.get_cmap().get_bad().tolist() == [0, 0, 0, 1]
        assert image.get_clim() == (1, 2.5)


def test_cells_name_their_densities_and_the_start_and_panels_the_mean_sizes() -> None:
    results = pond_results("A")
    task = tables_of(results.plan)["pond"]
    (axes,) = heatmaps(density_figure(results, densities(results), task))
    cells = {text.get_position(): text.get_text() for text in axes.texts}
    assert [cells[0, y] for y in range(3)] == ["2.5", "2.5", "2.5"]
    assert cells[2, 1] == "1.5"
    assert (1, 1) not in cells
    assert cells[-0.45, -0.45] == "S"
    # 10 and 20 rules, of which 3 and 4 are in the best action map.
    assert r"$|R| = 15.0,\ |R_\mathrm{BA}| = 3.5$" in cells.values()
    assert len(cells) == 7 + 2


def test_numbers_are_not_printed_into_grids_of_more_than_8_cells_a_side() -> None:
    results = pond_results("A", tasks=(WIDE,))
    (axes,) = heatmaps(density_figure(results, densities(results), tables_of(results.plan)["wide"]))
    assert len(axes.texts) == 2
    assert axes.texts[0].get_text() == "S"
    assert axes.texts[0].get_position() == (0, 0)


def test_the_scale_can_be_shared_by_tasks_and_points_where_densities_go_beyond_it() -> None:
    results = pond_results("A")
    found, task = densities(results), tables_of(results.plan)["pond"]
    for largest, extend in ((40.0, "neither"), (2.0, "max")):
        (axes,) = heatmaps(density_figure(results, found, task, largest))
        assert axes.images[0].get_clim() == (1, largest)
        bar = axes.images[0].colorbar
        assert bar is not None
        assert bar.extend == extend
        assert [label.get_text() for label in bar.ax.get_yticklabels()][-1] == f"{largest:g}"


def test_states_without_rules_are_below_the_scale() -> None:
    results = pond_results("A")
    found, task = densities(results), tables_of(results.plan)["pond"]
    found["A", "pond"][:] = 0.5
    (axes,) = heatmaps(density_figure(results, found, task))
    assert axes.images[0].get_clim() == (1, 2)
    assert axes.images[0].colorbar is not None
    assert axes.images[0].colorbar.extend == "min"
    assert axes.texts[1].get_text() == "0.5"


def test_systems_without_trials_are_left_out_and_many_are_in_rows_of_three() -> None:
    results = pond_results("A", "B", "C", "D", "E")
    task = tables_of(results.plan)["pond"]
    found = densities(results)
    panels = heatmaps(density_figure(results, found, task))
    assert [axes.get_title() for axes in panels] == ["A", "B", "C", "D", "E"]
    specs = [axes.get_subplotspec() for axes in panels]
    assert [(spec.rowspan.start, spec.colspan.start) for spec in specs if spec is not None] == [
        *((0, column) for column in range(3)),
        *((1, column) for column in range(2)),
    ]
    plan = made_up_plan(["A", "B"], [POND], 2)
    gaps = with_rulesets(made_up_results(plan, {("B", "pond"): TRIALS}))
    assert list(densities(gaps)) == [("B", "pond")]
    (axes,) = heatmaps(density_figure(gaps, densities(gaps), task))
    assert axes.get_title() == "B"


def test_tasks_without_a_grid_and_results_without_rulesets_have_no_densities() -> None:
    plan = made_up_plan(["A"], ["Taxi-v4", POND], 2)
    results = with_rulesets(made_up_results(plan, {("A", "Taxi-v4"): TRIALS, ("A", "pond"): TRIALS}))
    found = densities(results)
    assert list(found) == [("A", "pond")]
    assert density_figure(results, found, table_named("Taxi-v4")) is None
    without = Results(plan, results.histories)
    assert densities(without) == {}
    assert density_figure(without, {}, tables_of(plan)["pond"]) is None


def test_grids_without_a_map_have_their_only_start_marked() -> None:
    cliff = table_named("CliffWalking-v1")
    plan = made_up_plan(["A"], ["CliffWalking-v1"], 2)
    results = with_rulesets(made_up_results(plan, {("A", cliff.name): TRIALS}, (cliff.name,)))
    (axes,) = heatmaps(density_figure(results, densities(results), cliff))
    assert axes.texts[0].get_text() == "S"
    assert axes.texts[0].get_position() == (0, 3)
    grid = on_grid(np.arange(len(cliff.decision_states), dtype=np.float64), cliff)
    assert grid.shape == (4, 12)
    assert np.isnan(grid[3]).tolist() == [False] + [True] * 11
    assert grid[0, :3].tolist() == [0, 1, 2]


def test_coordinates_need_not_begin_at_0() -> None:
    results = pond_results("A")
    found, task = densities(results), tables_of(results.plan)["pond"]
    moved = replace(
        task,
        features=tuple(
            Feature(f.name, f.low + shift, f.high + shift)
            for f, shift in zip(task.features, (2, 5), strict=True)
        ),
        state_features=task.state_features + np.array([2, 5], dtype=np.int32),
        layout=None,
    )
    np.testing.assert_array_equal(on_grid(found["A", "pond"], moved), on_grid(found["A", "pond"], task))
    (axes,) = heatmaps(density_figure(results, found, moved))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "3", "4"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["5", "6", "7"]


def test_letters_stand_out_from_the_colour_of_their_cell() -> None:
    results = pond_results("A")
    found, task = densities(results), tables_of(results.plan)["pond"]
    (axes,) = heatmaps(density_figure(results, found, task))
    ink = {text.get_text(): matplotlib.colors.to_hex(text.get_color()) for text in axes.texts}
    assert ink["2.5"] == "#000000"  # on yellow
    (axes,) = heatmaps(density_figure(results, found, task, 50.0))
    assert {text.get_color() for text in axes.texts if text.get_text() in ("2.5", "1.5", "S")} == {
        "white"
    }  # on blue
