"""Trials of environments that met a state with no rule have no return: they are counted, not averaged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars
import pytest

from ifthen import PPLDL, env_task
from ifthen.errors import RuleError
from ifthen.runs.run_report import learning_curve
from ifthen.simplify.by_play import NothingToPruneError
from ifthen.simulate.evaluate import evaluations
from ifthen.study import histories
from ifthen.study.figures.influence import influence_figure
from ifthen.study.figures.learning_curves import curves, curves_grid
from ifthen.study.histories import COLUMNS
from ifthen.study.report.study_report import study_page
from ifthen.study.study_plan import checked_plan
from ifthen.study.study_results import Results
from ifthen.study.study_tables import all_data, all_tables, performances
from tests.study.studies import small_plan
from tests.systems.contract import make

FLOOR = -1e12
CART = {"environment": "CartPole-v1", "name": "cart", "floor": FLOOR, "episodes": 3}
RETURNS = {
    "some": [[FLOOR, 10.0, 20.0], [FLOOR, 30.0, 40.0], [FLOOR, FLOOR, FLOOR]],
    "none": [[FLOOR] * 3] * 3,
    "all": [[1.0, 2.0, 100.0], [3.0, 4.0, 110.0], [5.0, 6.0, 120.0]],
}
"""By system, trial and epoch."""


def made_up(**returns: list[list[float]]) -> Results:
    """Return made-up results of one environment."""
    systems = [
        {"name": name, "system": "PPL-DL", "parameters": {"p_mut": 0.1 * i + 0.1}}
        for i, name in enumerate(returns)
    ]
    plan = {"name": "floors", "systems": systems, "tasks": [CART], "trials": 3, "epochs": 2}
    rows: list[dict[str, Any]] = []
    for system, trials in returns.items():
        for seed, values in enumerate(trials):
            last = {"unseen_score": values[-1], "unseen_failed_share": float(values[-1] == FLOOR)}
            last |= {"unseen_sd": 1.0, "unseen_least": 0.0, "pruned_rules": 2, "pruned_score": values[-1]}
            for epoch, value in enumerate(values):
                own = {"system": system, "task": "cart", "seed": seed, "epoch": epoch, "rules": 6}
                own |= {"performance": value, "unseen_performance": value}
                missing = dict.fromkeys(("fraction", "exact_fraction", "otp", "optimum", "best_action_rules"))
                rows.append({**own, **missing, **last})
    assert {name for name in COLUMNS if name.startswith(("unseen", "pruned"))} <= set(rows[0])
    return Results(
        checked_plan({**plan, "varies": "p_mut"}), polars.DataFrame(rows, infer_schema_length=None)
    )


@pytest.fixture(scope="module")
def results() -> Results:
    return made_up(**RETURNS)


def same(found: Any, expected: list[float]) -> bool:
    return np.array_equal(found, expected, equal_nan=True)


def test_curves_leave_out_trials_without_a_return_and_have_gaps_where_all_are(results: Results) -> None:
    found = curves(results, "cart", "performance")
    assert same(found["some"].mean, [math.nan, 20, 30])
    assert same(found["some"].sd, [math.nan, math.sqrt(200), math.sqrt(200)])
    assert np.isnan(found["none"].mean).all()
    assert found["all"].mean.tolist() == [3, 4, 110]
    assert {name: (curve.trials, curve.no_rule) for name, curve in found.items()} == {
        "some": (3, 1),
        "none": (3, 3),
        "all": (3, 0),
    }


def test_figures_say_how_many_there_are_and_scale_to_the_others(results: Results) -> None:
    for figure in (curves_grid(results), influence_figure(results)):
        assert figure is not None
        figure.canvas.draw()
        (axes,) = figure.axes
        assert [text.get_text() for text in axes.texts] == ["no rule: 4"]
        assert axes.get_ylim()[0] > -50
    only = curves_grid(made_up(none=RETURNS["none"]))
    assert [text.get_text() for text in only.axes[0].texts] == ["no rule: 3"]


def test_the_page_counts_them_and_says_no_floor(results: Results) -> None:
    page = study_page(results, {})
    assert "n = 2, no rule: 1" in page
    assert "-1e+12" not in page


def test_tables_count_them_and_leave_them_out(results: Results) -> None:
    tables = all_tables(results)
    some, none, every = (
        dict(zip(tables["performance"].headings, row, strict=True)) for row in tables["performance"].rows
    )
    test, training = "on test seeds", "on training seeds"
    assert some[training] == some[test] == "30 ± 14 (no rule: 1)"
    assert none[training] == none[test] == "no rule: 3"
    assert every[test] == "110 ± 10"
    assert [one["no rule"] for one in (some, none, every)] == ["33.3 %", "100.0 %", "0 %"]
    assert [row[-1] for row in tables["sizes"].rows] == [some[test], none[test], every[test]]
    spread = dict(zip(tables["spread"].headings, tables["spread"].rows[0], strict=True))
    assert (spread["best"], spread["worst"]) == ("40", "no rule")
    for name in ("performance", "spread"):
        assert any("no rule: n" in note for note in tables[name].notes)
    assert "No trial finished" not in str(tables["spread"].notes)
    assert "-1e+12" not in str([table.rows for table in tables.values()])


def test_data_has_them_in_a_column_of_their_own(results: Results) -> None:
    own = all_data(results)["summaries"].filter(measure="exact_fraction")
    assert dict(zip(own["system"], own["no_rule"], strict=True)) == {"some": 1, "none": 3, "all": 0}
    assert own["mean"].to_list() == [30, None, 110]


def test_floors_of_tables_of_states_count_as_they_always_did() -> None:
    plan = checked_plan(
        {"name": "x", "systems": [{"name": "PPL-DL"}], "tasks": ["FrozenLake-4-0"], "trials": 2, "epochs": 1}
    )
    row = {"system": "PPL-DL", "task": "FrozenLake-4-0", "epoch": 1, "fraction": 0.0, "performance": 0.0}
    results = Results(plan, polars.DataFrame([{**row, "seed": seed} for seed in range(2)]))
    assert performances(results, "FrozenLake-4-0", "fraction")[0].summary.mean == 0
    assert curves(results, "FrozenLake-4-0", "fraction")["PPL-DL"].mean.tolist() == [0]


def test_a_learning_curve_has_gaps() -> None:
    system = make("XCSF", task=env_task("CartPole-v1", episodes=3, t_max=20, floor=FLOOR)).learn(epochs=4)
    (axes,) = learning_curve(system, evaluations(system)).axes
    rows = system.now.records
    assert rows[0]["performance"] == FLOOR
    for line, name in zip(axes.get_lines(), ("performance", "unseen_performance"), strict=True):
        expected = [math.nan if row[name] == FLOOR else row[name] for row in rows]
        assert same(np.asarray(line.get_ydata(), dtype=np.float64), expected)
        assert not np.isnan(expected[-1])


def test_only_rules_that_cannot_be_pruned_go_unpruned(monkeypatch: pytest.MonkeyPatch) -> None:
    task = env_task("CartPole-v1", episodes=2, t_max=20)
    system = PPLDL(task, seed=1, threads=1, idv_size=2, pop_size=2).learn(epochs=0)
    plan = small_plan()
    for problem, passes in ((NothingToPruneError("nothing"), False), (RuleError("a mistake of ours"), True)):

        def fail(*_: Any, problem: Exception = problem, **__: Any) -> None:
            raise problem

        monkeypatch.setattr(histories, "prune", fail)
        if passes:
            with pytest.raises(RuleError, match="a mistake of ours"):
                histories.pruned_rules(plan, system)
        else:
            assert histories.pruned_rules(plan, system) is None
