from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from ifthen.figure_style import write_figure
from ifthen.study.figures.influence import influence_figure, varied
from ifthen.study.study_plan import StudyPlan, checked_plan
from ifthen.study.study_results import Measure, Results
from tests.study.figures.made_up import LAKES, made_up_plan, made_up_results, xs, ys


def varying(values: list[float], tasks: list[str] | None = None, trials: int = 3, **more: Any) -> StudyPlan:
    """Return a plan that varies p_mut; its systems are called after their values."""
    systems = [
        {"name": f"{value:g}", "system": "PPL-DL", "parameters": {"p_mut": value, **more}} for value in values
    ]
    given = {"name": "v", "systems": systems, "tasks": tasks or LAKES[:1], "trials": trials, "epochs": 1}
    return checked_plan({**given, "varies": "p_mut"})


def results_of(plan: StudyPlan, samples: dict[str, list[float]], absolute: bool = False) -> Results:
    tasks = list(plan.tasks_by_name())
    curves = {(name, task): [[value] for value in own] for name, own in samples.items() for task in tasks}
    return made_up_results(plan, curves, tuple(tasks) if absolute else ())


def panels(results: Results) -> list[Axes]:
    figure = influence_figure(results)
    assert figure is not None
    return figure.axes


def bars(axes: Axes) -> list[ErrorbarContainer]:
    return [container for container in axes.containers if isinstance(container, ErrorbarContainer)]


def ends(container: ErrorbarContainer) -> list[list[float]]:
    """Return the lower and the upper end of every error bar."""
    (lines,) = container.lines[2]
    return [[float(y) for _, y in segment] for segment in lines.get_segments()]


SAMPLES = {"0.1": [0.2, 0.4, 0.6], "0.2": [0.5, 0.5, 0.8]}


def test_means_and_standard_deviations_of_both_measures_stand_beside_the_values() -> None:
    (axes,) = panels(results_of(varying([0.2, 0.1]), SAMPLES))
    on_z, exact = bars(axes)
    for container, shift in ((on_z, 0.0), (exact, -0.1)):
        line = container.lines[0]
        assert ys(line) == pytest.approx([0.4 + shift, 0.6 + shift])
        np.testing.assert_allclose(xs(line), [0.1, 0.2], atol=0.03)  # in the values' order
        sds = [0.2, 0.03**0.5]
        wanted = [[m + shift - sd, m + shift + sd] for m, sd in zip([0.4, 0.6], sds, strict=True)]
        np.testing.assert_allclose(ends(container), wanted)
    assert on_z.lines[0].get_color() != exact.lines[0].get_color()
    assert on_z.lines[0].get_marker() != exact.lines[0].get_marker()
    assert (np.array(xs(on_z.lines[0])) < np.array(xs(exact.lines[0]))).all()


def test_every_trial_is_a_dot_near_its_value_and_always_at_the_same_place() -> None:
    results = results_of(varying([0.1, 0.2]), SAMPLES)
    clouds = []
    for _ in range(2):
        dots = [line for line in panels(results)[0].lines if line.get_alpha() is not None]
        clouds.append([np.asarray(line.get_xydata()) for line in dots])
    np.testing.assert_array_equal(np.array(clouds[0]), np.array(clouds[1]))
    heights = [cloud[:, 1].tolist() for cloud in clouds[0]]
    assert heights[0] == SAMPLES["0.1"]
    assert heights[1] == SAMPLES["0.2"]
    np.testing.assert_allclose(heights[2], np.array(SAMPLES["0.1"]) - 0.1)
    for cloud, value in zip(clouds[0], [0.1, 0.2, 0.1, 0.2], strict=True):
        assert len(set(cloud[:, 0])) == 3
        assert np.abs(cloud[:, 0] - value).max() < 0.05  # nearer than to any other value


def test_values_over_more_than_a_decade_are_on_a_logarithmic_scale() -> None:
    for values, scale in (([0.01, 0.1], "linear"), ([0.01, 0.03, 0.2], "log"), ([0, 0.1], "linear")):
        plan = varying(values)
        (axes,) = panels(results_of(plan, {system.name: [0.5, 0.7] for system in plan.systems}))
        assert axes.get_xscale() == scale
        assert [label.get_text() for label in axes.get_xticklabels()] == [f"{value:g}" for value in values]
        low, high = axes.get_xlim()
        assert low < min(values)
        assert max(values) < high


def test_gaps_are_left_out_and_said_and_single_trials_have_no_spread() -> None:
    plan = varying([0.1, 0.2, 0.3], LAKES[:2])
    curves = {("0.1", LAKES[0]): [[0.4]], ("0.3", LAKES[0]): [[0.5], [0.6], [0.7]]}
    full, empty = panels(made_up_results(plan, curves))
    on_z, _ = bars(full)
    assert ys(on_z.lines[0]) == pytest.approx([0.4, 0.6])
    assert ends(on_z) == [[], pytest.approx([0.5, 0.7])]
    assert [text.get_text() for text in full.texts] == ["n = 0–3"]
    assert [text.get_text() for text in empty.texts] == ["n = 0"]
    assert bars(empty) == []
    assert full.get_ylim() == empty.get_ylim()
    assert full.get_ylim()[0] > 0.2  # the empty panel has no say in the scale


def test_costs_are_absolute_with_their_optima() -> None:
    plan = varying([0.1, 0.2], ["CliffWalking-v1"])
    (axes,) = panels(results_of(plan, {"0.1": [-20.0, -30.0], "0.2": [-12.0, -14.0]}, absolute=True))
    assert ys(bars(axes)[0].lines[0]) == pytest.approx([-25, -13])
    levels = [ys(line)[0] for line in axes.lines if line.get_transform() != axes.transData]
    assert levels == [-11, -10]
    assert axes.figure is not None
    assert axes.figure.get_supylabel() == "performance"


WORDS: dict[Measure, str] = {"fraction": "on z", "exact_fraction": "exact"}


def test_families_of_systems_are_told_apart_by_what_else_differs() -> None:
    one, other = (
        varying([0.1, 0.2], noise="stream", idv_size=9),
        varying([0.2, 0.1], noise="aligned", idv_size=9),
    )
    renamed = [{**system.model_dump(), "name": f"{system.name}, aligned"} for system in other.systems]
    systems = [*(system.model_dump() for system in one.systems), *renamed]
    series = varied(checked_plan({**one.model_dump(exclude_none=True), "systems": systems}), WORDS)
    assert [one.label for one in series] == [
        "PPL-DL (noise = stream), on z",
        "PPL-DL (noise = stream), exact",
        "PPL-DL (noise = aligned), on z",
        "PPL-DL (noise = aligned), exact",
    ]
    assert series[2].values == {"0.1, aligned": 0.1, "0.2, aligned": 0.2}
    assert [one.label for one in varied(one, WORDS)] == ["on z", "exact"]


def test_a_study_that_varies_nothing_has_no_such_figure() -> None:
    results = made_up_results(made_up_plan(["A"], LAKES[:1], 1), {("A", LAKES[0]): [[0.5]]})
    assert influence_figure(results) is None


@pytest.mark.parametrize("suffix", [0, 1])
def test_the_same_results_give_the_same_bytes(suffix: int, tmp_path: Path) -> None:
    results = results_of(varying([0.01, 0.2]), {"0.01": [0.2, 0.3], "0.2": [0.5, 0.9]})
    figures = [influence_figure(results), influence_figure(results)]
    files = [
        write_figure(tmp_path / f"{n}", figure) for n, figure in enumerate(figures) if figure is not None
    ]
    assert files[0][suffix].read_bytes() == files[1][suffix].read_bytes()
