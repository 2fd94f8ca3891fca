"""A small study of environments, alone and beside a lake: what is recorded, judged, shown and packed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars
import pytest

from ifthen import OutputError, evaluate, load
from ifthen.digits import in_units, mean_and_sd
from ifthen.explain.fewer.played import prune_by_playing
from ifthen.study.figures.learning import curves, learning_curve
from ifthen.study.histories import ENV_COLUMNS, OF_TABLES, PRUNED, read_histories
from ifthen.study.pack import write_pack
from ifthen.study.plan import StudyPlan, Trial
from ifthen.study.read import read_results
from ifthen.study.report.curves import curve_panel
from ifthen.study.report.write import write_report
from ifthen.study.results import Results
from ifthen.study.reuse import take_over
from ifthen.study.run import claim
from ifthen.study.tables import all_tables
from ifthen.study.trial import STOP, TrialFiles, _run, run_trial
from ifthen.study.unseen import pruned_table, unseen_table
from ifthen.study.verdicts import judge, main_measure, samples_of
from tests.study.studies import TASKS, contents, small_plan

CART = {"environment": "CartPole-v1", "episodes": 3, "name": "cart"}
PPL = [{"name": name, "parameters": {"pop_size": 8, "idv_size": 6}} for name in ("PPL-DL", "PPL-ST")]


def plan_of(*tasks: object, **changes: object) -> StudyPlan:
    return small_plan(**{"systems": PPL, "tasks": list(tasks), "trials": 2, "epochs": 2, **changes})


def run_here(folder: Path, plan: StudyPlan) -> Results:
    """Return the results of a study that is run in this process."""
    claim(folder, plan)
    for trial in plan.trials_to_run():
        ended = run_trial(str(folder), plan.to_json(), trial)
        assert ended.outcome == "finished", ended
    return read_results(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studies") / "carts"


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return run_here(folder, plan_of(CART))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Return the results of a study of a lake and an environment, by one system, without pruning."""
    plan = plan_of(TASKS[0], CART, systems=PPL[:1], prune=False)
    return run_here(tmp_path_factory.mktemp("studies") / "mixed", plan)


def test_a_trial_records_its_score_on_unseen_seeds_before_and_after_pruning(
    folder: Path, results: Results
) -> None:
    trial = Trial("PPL-DL", "cart", 1)
    system = load(TrialFiles(folder, trial).model)
    row = results.finals.filter(system="PPL-DL", seed=1).row(0, named=True)
    seeds = system.task.unseen(100)
    unseen = evaluate(system, system.task, seeds=seeds)
    assert row["unseen_score"] == unseen.performance
    assert row["unseen_sd"] == unseen.deviation
    assert row["unseen_least"] == unseen.least
    assert row["unseen_failed_share"] == unseen.failed_share
    pruned = prune_by_playing(system, system.task).ruleset
    assert row["pruned_rules"] == len(pruned)
    assert row["pruned_score"] == evaluate(pruned, system.task, seeds=seeds).performance
    assert row["rules"] == 6
    assert row["unseen_performance"] == system.history["unseen_performance"][-1]


def test_what_only_a_table_gives_is_missing_and_not_zero(results: Results, mixed: Results) -> None:
    assert all(results.histories[name].is_null().all() for name in OF_TABLES)
    assert not any(results.histories[name].is_null().any() for name in ENV_COLUMNS if name not in PRUNED)
    calm, cart = mixed.finals.filter(task="calm"), mixed.finals.filter(task="cart")
    assert all(calm[name].is_null().all() for name in ENV_COLUMNS)
    assert not calm["exact_performance"].is_null().any()
    assert cart["pruned_rules"].is_null().all()
    assert not cart["unseen_score"].is_null().any()


def test_histories_with_a_number_missing_are_refused(folder: Path, results: Results, tmp_path: Path) -> None:
    path = TrialFiles(folder, Trial("PPL-DL", "cart", 0)).history
    table = polars.read_parquet(path)
    for name in ("unseen_score", "unseen_performance", "performance"):
        table.with_columns(polars.lit(None, dtype=polars.Float64).alias(name)).write_parquet(tmp_path / "bad")
        with pytest.raises(OutputError, match=f"{name} is missing"):
            read_histories(tmp_path / "bad", results.plan, [Trial("PPL-DL", "cart", 0)])
    table.with_columns(polars.lit(1.0).alias("optimum")).write_parquet(tmp_path / "bad")
    with pytest.raises(OutputError, match="optimum"):
        read_histories(tmp_path / "bad", results.plan, [Trial("PPL-DL", "cart", 0)])


def test_verdicts_go_by_unseen_seeds(results: Results, mixed: Results) -> None:
    assert main_measure(results) == "exact_fraction"
    assert main_measure(mixed) == "fraction"
    samples = samples_of(results, "cart", "exact_fraction")
    assert samples["PPL-ST"] == pytest.approx(results.values("PPL-ST", "cart", "unseen_score"), abs=1e-9)
    on_z = results.values("PPL-DL", "cart", "performance")
    assert samples_of(results, "cart", "fraction")["PPL-DL"] == pytest.approx(on_z, abs=1e-9)
    (one,) = judge(results, "exact_fraction")
    assert (one.task, one.comparison.n_a) == ("cart", 2)


def test_the_table_has_mean_and_spread_on_unseen_seeds(results: Results) -> None:
    grid = unseen_table(results)
    row = dict(zip(grid.headings, grid.rows[0], strict=True))
    scores = results.values("PPL-DL", "cart", "unseen_score")
    assert row["unseen"] == mean_and_sd(float(np.mean(scores)), float(np.std(scores, ddof=1)))
    assert (row["best"], row["worst"]) == (in_units(max(scores)), in_units(min(scores)))
    pruned = dict(zip(pruned_table(results).headings, pruned_table(results).rows[0], strict=True))
    sizes = results.values("PPL-DL", "cart", "pruned_rules")
    assert pruned["rules"] == "6"
    assert pruned["from, to"] == f"{min(sizes):.0f} to {max(sizes):.0f}"


def test_tables_leave_out_what_makes_no_sense(results: Results, mixed: Results) -> None:
    tables = all_tables(results)
    assert "sizes" not in tables
    assert not any("exact" in name for name in tables)
    assert all("optimum" not in grid.title and "OTP" not in grid.title for grid in tables.values())
    both = all_tables(mixed)
    assert [row[0] for row in both["sizes"].rows] == ["calm"]
    assert [row[0] for row in both["unseen"].rows] == ["cart"]
    assert "pruned" not in both
    assert any("optimum is not known: cart" in note for note in both["performance"].notes)


def test_curves_show_the_seeds_of_validation_and_no_optimum(results: Results) -> None:
    panel = curve_panel(results, "cart")
    assert panel.optimum is None
    assert {line.measure for line in panel.lines} == {"z", "exact"}
    own = results.histories.filter(system="PPL-DL", epoch=2)["unseen_performance"].mean()
    assert curves(results, "cart", "unseen_performance")["PPL-DL"].mean[-1] == pytest.approx(own)


@pytest.mark.parametrize("which", ["results", "mixed"])
def test_the_report_is_whole_and_speaks_of_returns(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    found: Results = request.getfixturevalue(which)
    page = write_report(tmp_path, found, lambda what: None).read_text(encoding="utf-8")
    names = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert f"curves-{'unseen' if which == 'results' else 'exact'}" in names
    assert ("lakes" in names) == (which == "mixed")
    assert "unseen reset seeds" in page
    assert "mean return" in page
    assert "nan" not in page.split("<script")[0].lower().replace("provenance", "")
    assert ('<body data-measure="exact"' in page) == (which == "results")


def test_a_packed_study_has_the_same_tables(results: Results, mixed: Results, tmp_path: Path) -> None:
    for name, own in (("carts", results), ("mixed", mixed)):
        write_pack(tmp_path / name, own)
        packed = read_results(tmp_path / name)
        for table in ("unseen", "performance", "verdicts"):
            assert all_tables(packed).get(table) == all_tables(own).get(table)


def test_a_trial_that_was_stopped_goes_on_to_the_same_bytes(
    folder: Path, results: Results, tmp_path: Path
) -> None:
    plan, trial = results.plan, Trial("PPL-DL", "cart", 0)
    claim(tmp_path, plan)
    system = plan.make_system(trial).learn(1)
    files = TrialFiles(tmp_path, trial)
    files.begin()
    system.save(files.checkpoint)
    assert run_trial(str(tmp_path), plan.to_json(), trial).outcome == "finished"
    whole = TrialFiles(folder, trial)
    assert files.history.read_bytes() == whole.history.read_bytes()
    assert files.model.read_bytes() == whole.model.read_bytes()
    assert not (tmp_path / STOP).exists()


def test_a_trial_that_is_stopped_in_its_rehearsal_has_not_begun(tmp_path: Path) -> None:
    rehearses = {"name": "PPL-DL", "parameters": {"stand_in": "CartPole-v1", "rehearsal": 100_000}}
    plan = plan_of("CartPole-v1", systems=[rehearses], trials=1)
    claim(tmp_path, plan)
    (trial,) = plan.trials_to_run()
    for stops in (lambda: True, iter([False, False, True, True]).__next__):
        files = TrialFiles(tmp_path, trial)
        files.begin()
        assert _run(files, plan, trial, stops) == ("stopped", "before it began")
        assert not files.checkpoint.exists()
        assert not files.attempts.exists()


def test_finished_trials_are_taken_over_byte_by_byte(folder: Path, results: Results, tmp_path: Path) -> None:
    claim(tmp_path, results.plan)
    assert take_over(tmp_path, results.plan, folder) == 4
    ours, theirs = contents(tmp_path), contents(folder)
    assert {path: ours[path] for path in ours if path.startswith("trials")} == {
        path: theirs[path] for path in theirs if path.startswith("trials")
    }


def test_the_learning_curve_labels_both_lists_of_seeds(folder: Path, results: Results) -> None:
    system = load(TrialFiles(folder, Trial("PPL-DL", "cart", 0)).model)
    (axes,) = learning_curve(system).axes
    labels = [line.get_label() for line in axes.get_lines()]
    assert labels == [
        "mean fitness of the population",
        "ruleset on z, the reset seeds it was selected on",
        "ruleset on reset seeds that were not used",
    ]
    assert (
        np.array(axes.get_lines()[2].get_ydata()).tolist() == system.history["unseen_performance"].to_list()
    )
    assert axes.get_ylabel() == "mean return"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.73123, "0.7312"), (12.345, "12.35"), (500.0, "500.0"), (-1110.26, "-1,110.3"), (-1e12, "-1e+12")],
)
def test_performances_are_shown_with_digits_that_say_something(value: float, text: str) -> None:
    assert in_units(value) == text


def test_a_deviation_has_the_digits_of_its_mean() -> None:
    assert mean_and_sd(-120.26, 3.456) == "-120.3 ± 3.5"
    assert mean_and_sd(0.5, 0.01234) == "0.5000 ± 0.0123"
    assert mean_and_sd(0.5, math.nan) == mean_and_sd(0.5, None) == "0.5000"
