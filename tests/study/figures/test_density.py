from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from ifthen.explanation.measures import best_action_map
from ifthen.study.figures.grids import densities, density_figure
from ifthen.study.study_results import Results
from tests.study.figures.made_up import made_up_plan, made_up_results, with_rulesets
from tests.tables import table_named, tables_of

MAP = ["SFF", "FHF", "FFG"]
POND = {"desc": MAP, "name": "pond"}
TRIALS = [[0.5], [0.6]]


def pond_results(*systems: str, trials: int = 2, tasks: tuple[Any, ...] = (POND,)) -> Results:
    plan = made_up_plan(list(systems), list(tasks), trials)
    curves = {(name, task): [[0.5]] * trials for name in systems for task in plan.tasks_by_name()}
    return with_rulesets(made_up_results(plan, curves))


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


def written(axes: Axes) -> dict[tuple[float, float], str]:
    return {text.get_position(): text.get_text() for text in axes.texts}


def test_cells_name_their_densities_and_panels_the_mean_sizes() -> None:
    results = pond_results("A", "B")
    task = tables_of(results.plan)["pond"]
    figure = density_figure(results, densities(results), task)
    assert figure is not None
    first, second = figure.axes
    size = np.mean(results.values("A", "pond", "rules"))
    best = np.mean(results.values("A", "pond", "best_action_rules"))
    assert first.get_title("left") == f"A: {best:.1f} of {size:.1f} rules"
    assert second.get_title("left").startswith("B: ")
    for x, y in task.state_features[task.decision_states].tolist():
        assert float(written(first)[x, y]) == (2.5 if x == 0 else 1.5)
    assert (1, 1) not in written(first)  # a hole


def test_the_scale_can_be_shared_by_tasks() -> None:
    results = pond_results("A")
    found, task = densities(results), tables_of(results.plan)["pond"]
    for largest, end in ((None, 2.5), (50.0, 50.0)):
        figure = density_figure(results, found, task, largest)
        assert figure is not None
        assert figure.axes[-1].child_axes[0].get_ylim() == pytest.approx((1, end))
        figure.canvas.draw()


def test_systems_without_trials_are_left_out_and_many_are_in_rows_of_three() -> None:
    results = pond_results(*"ABCDE")
    found, task = densities(results), tables_of(results.plan)["pond"]
    figure = density_figure(results, found, task)
    assert figure is not None
    panels = figure.axes
    assert [axes.get_title("left")[0] for axes in panels] == list("ABCDE")
    heights = [round(axes.get_position().y0, 6) for axes in panels]
    assert len(set(heights[:3])) == len(set(heights[3:])) == 1
    assert heights[0] > heights[3]
    del found["B", "pond"]
    fewer = density_figure(results, found, task)
    assert fewer is not None
    assert len(fewer.axes) == 4


def test_tasks_without_a_grid_and_results_without_rulesets_have_no_densities() -> None:
    plan = made_up_plan(["A"], ["Taxi-v4", POND], 2)
    curves = {("A", "Taxi-v4"): TRIALS, ("A", "pond"): TRIALS}
    results = with_rulesets(made_up_results(plan, curves))
    found = densities(results)
    assert set(found) == {("A", "pond")}
    assert density_figure(results, found, table_named("Taxi-v4")) is None
    without = replace(results, ruleset=None)
    assert densities(without) == {}
    assert density_figure(without, {}, tables_of(plan)["pond"]) is None
