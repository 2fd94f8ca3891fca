from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from ifthen.figure_style import look, write_figure
from ifthen.study.figures.learning_curves import curves_grid
from ifthen.study.read_results import read_results
from ifthen.study.study_folder import claim
from ifthen.study.trial import run_trial
from tests.study.figures.made_up import LAKES, made_up_plan, made_up_results, xs, ys
from tests.study.studies import small_plan

TRIALS = [[0.0, 0.4, 0.6], [0.2, 0.6, 1.2]]
MEAN, SD = [0.1, 0.5, 0.9], [0.02**0.5, 0.02**0.5, 0.18**0.5]


def band(axes: Axes, number: int = 0) -> dict[float, tuple[float, float]]:
    """Return the lower and the upper end of a band, by epoch."""
    bands = [collection for collection in axes.collections if isinstance(collection, PolyCollection)]
    corners = np.asarray(bands[number].get_paths()[0].vertices)
    return {
        x: (corners[corners[:, 0] == x, 1].min(), corners[corners[:, 0] == x, 1].max()) for x in (0, 1, 2)
    }


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_lines_are_means_and_bands_standard_deviations_over_trials() -> None:
    plan = made_up_plan(["A", "B"], LAKES, 2)
    lower = [[value / 2 for value in values] for values in TRIALS]
    curves = {("A", task): TRIALS for task in LAKES} | {("B", task): lower for task in LAKES}
    figure = curves_grid(made_up_results(plan, curves))
    assert [axes.get_title() for axes in figure.axes] == ["(4, 0)", "(4, 0.1)", "(8, 0)", "(8, 0.1)"]
    for axes in figure.axes:
        line, other, optimum = axes.lines
        assert xs(line) == pytest.approx([0, 1, 2])
        assert ys(line) == pytest.approx(MEAN)
        assert ys(other) == pytest.approx(np.array(MEAN) / 2)
        assert (line.get_color(), other.get_color()) == (look(0).colour, look(1).colour)
        assert line.get_marker() != other.get_marker()
        assert ys(optimum) == [1, 1]
        for epoch, ends in band(axes).items():
            mean, sd = MEAN[int(epoch)], SD[int(epoch)]
            assert ends == pytest.approx((mean - sd, mean + sd))
        assert texts(axes) == []


def test_fractions_share_a_scale_from_0_that_holds_all_means_and_is_written_once_a_row() -> None:
    plan = made_up_plan(["A"], LAKES, 1)
    curves = {("A", task): [[0.1, 0.2, 0.3]] for task in LAKES[:3]}
    figure = curves_grid(made_up_results(plan, {**curves, ("A", LAKES[3]): [[0.0, 1.0, 1.3]]}))
    (limits,) = {axes.get_ylim() for axes in figure.axes}
    assert limits == pytest.approx((0, 1.34))
    shown = [axes.yaxis.get_tick_params()["labelleft"] for axes in figure.axes]
    assert shown == [True, False, True, False]
    shown = [axes.xaxis.get_tick_params()["labelbottom"] for axes in figure.axes]
    assert shown == [False, False, True, True]


def test_one_trial_has_a_line_and_no_band() -> None:
    figure = curves_grid(made_up_results(made_up_plan(["A"], LAKES[:1], 1), {("A", LAKES[0]): [[0.5] * 3]}))
    assert len(figure.axes[0].collections) == 0
    assert ys(figure.axes[0].lines[0]) == [0.5] * 3
    assert "one trial" in figure.legends[0].get_title().get_text()


def test_panels_say_how_many_trials_they_show_where_some_are_missing() -> None:
    plan = made_up_plan(["A", "B"], LAKES, 2)
    curves = {("A", LAKES[0]): TRIALS, ("B", LAKES[0]): TRIALS}
    curves |= {("A", LAKES[1]): TRIALS, ("B", LAKES[1]): TRIALS[:1]}
    curves |= {("B", LAKES[2]): TRIALS}
    figure = curves_grid(made_up_results(plan, curves))
    assert [texts(axes) for axes in figure.axes] == [[], ["n = 1–2"], ["n = 0–2"], ["n = 0"]]
    assert [len(axes.lines) - 1 for axes in figure.axes] == [2, 2, 1, 0]
    assert figure.axes[2].lines[0].get_color() == look(1).colour  # B's, though A is not there


def test_the_legend_names_systems_in_the_plans_order_and_the_optimum() -> None:
    plan = made_up_plan(["A", "B", "C"], LAKES, 2)
    curves = {("C", LAKES[0]): TRIALS, ("A", LAKES[1]): TRIALS}
    figure = curves_grid(made_up_results(plan, curves))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["A", "C", "optimal policy"]
    assert "size M, slip probability p" in legend.get_title().get_text()


def test_exact_values_are_drawn_when_asked_for() -> None:
    results = made_up_results(made_up_plan(["A"], LAKES[:1], 2), {("A", LAKES[0]): TRIALS})
    figure = curves_grid(results, "exact_fraction")
    assert ys(figure.axes[0].lines[0]) == pytest.approx(np.array(MEAN) - 0.1)
    assert "exact performance" in figure.legends[0].get_title().get_text()


def test_costs_are_absolute_on_a_scale_of_their_own_that_leaves_out_bad_beginnings() -> None:
    plan = made_up_plan(["A"], ["CliffWalking-v1", "FrozenLake-4-0"], 2, 3)
    costs = [[-9000.0, -8000.0, -20.0, -12.0], [-9000.0, -100.0, -30.0, -12.0]]
    curves = {("A", "CliffWalking-v1"): costs, ("A", "FrozenLake-4-0"): TRIALS}
    cliff, lake = curves_grid(made_up_results(plan, curves, ("CliffWalking-v1",))).axes
    assert ys(cliff.lines[0]) == pytest.approx([-9000, -4050, -25, -12])
    assert ys(cliff.lines[1]) == [-10, -10]
    low, high = cliff.get_ylim()
    assert -40 < low < -25 - 50**0.5
    assert -10 < high < 0
    assert (cliff.get_ylabel(), lake.get_ylabel()) == ("performance", "fraction of optimum")
    exact = curves_grid(made_up_results(plan, curves, ("CliffWalking-v1",)), "exact_fraction").axes[0]
    assert ys(exact.lines[0])[-1] == pytest.approx(-12.1)
    assert ys(exact.lines[1]) == [-11, -11]


def test_a_study_is_drawn_from_its_folder_to_the_same_bytes_twice(tmp_path: Path) -> None:
    folder, plan = tmp_path / "study", small_plan(trials=2)
    claim(folder, plan)
    for trial in plan.trials_to_run()[:-1]:
        run_trial(str(folder), plan.to_json(), trial)
    results = read_results(folder)
    figure = curves_grid(results)
    calm = figure.axes[0]
    own = results.histories.to_dicts()
    for line, system in zip(calm.lines, plan.systems, strict=False):
        for epoch, height in zip(xs(line), ys(line), strict=True):
            values = [
                row["fraction"]
                for row in own
                if (row["system"], row["task"], row["epoch"]) == (system.name, "calm", epoch)
            ]
            assert len(values) == 2
            assert height == pytest.approx(sum(values) / 2)
    assert texts(figure.axes[1]) == ["n = 1–2"]
    one = [path.read_bytes() for path in write_figure(tmp_path / "one", figure)]
    other = [
        path.read_bytes() for path in write_figure(tmp_path / "other", curves_grid(read_results(folder)))
    ]
    assert one == other
