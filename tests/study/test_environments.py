"""A small study of environments, alone and beside a lake: what is recorded, judged, shown and packed."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import polars
import pytest

from ifthen import EnvTask, evaluate, load
from ifthen.digits import in_units, mean_and_sd
from ifthen.errors import OutputError
from ifthen.runs.run_report import learning_curve
from ifthen.simplify.prune import prune
from ifthen.simulate.evaluate import evaluations
from ifthen.study.figures.learning_curves import curves
from ifthen.study.figures.panels import optima
from ifthen.study.histories import COLUMNS, OF_TABLES, read_histories
from ifthen.study.read_results import read_results, write_pack
from ifthen.study.report.study_report import best_rulesets, write_report
from ifthen.study.study_folder import claim, take_over
from ifthen.study.study_plan import StudyPlan, Trial
from ifthen.study.study_results import Results
from ifthen.study.study_tables import all_tables
from ifthen.study.trial import STOP, TrialFiles, run_trial
from ifthen.study.verdicts import judge, measures, samples_of
from tests.study.studies import TASKS, contents, small_plan

OF_ENVIRONMENTS = [name for name in COLUMNS if name.startswith("unseen")]
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
    assert isinstance(system.task, EnvTask)
    seeds = system.task.test_seeds(100)
    unseen = evaluate(system, system.task, seeds=seeds)
    assert row["unseen_score"] == unseen.performance
    assert row["unseen_sd"] == unseen.deviation
    assert row["unseen_least"] == unseen.least
    assert row["unseen_failed_share"] == unseen.failed_share
    pruned = prune(system).ruleset
    assert row["pruned_rules"] == len(pruned)
    assert row["pruned_score"] == evaluate(pruned, system.task, seeds=seeds).performance
    assert results.pruned is not None
    kept = results.pruned(trial)
    assert kept is not None
    assert kept.to_dict() == pruned.to_dict()
    assert row["rules"] == 6
    assert row["unseen_performance"] == system.history["unseen_performance"][-1]


def test_the_best_ruleset_is_the_pruned_one_with_its_own_score(results: Results, mixed: Results) -> None:
    assert results.pruned is not None
    for best in best_rulesets(results)["cart"]:
        row = results.finals.filter(**best.trial._asdict()).row(0, named=True)
        kept = results.pruned(best.trial)
        assert kept is not None
        assert (best.everything, best.learnt) == (len(kept), 6)
        assert best.performance == row["pruned_score"]
    for found in best_rulesets(mixed).values():  # which is not pruned
        assert [best.everything for best in found] == [best.learnt for best in found]


def test_a_plan_that_says_prune_prunes_tables_too_and_changes_no_score(tmp_path: Path) -> None:
    plain, pruned = (
        run_here(tmp_path / str(said), plan_of(TASKS[0], prune=said, trials=1)) for said in (False, True)
    )
    assert plain.finals["pruned_rules"].is_null().all()
    assert (pruned.finals["pruned_rules"] <= pruned.finals["rules"]).all()
    for one, other in zip(best_rulesets(plain)["calm"], best_rulesets(pruned)["calm"], strict=True):
        assert one.performance == other.performance
        assert one.arrows == other.arrows


def test_what_only_a_table_gives_is_missing_and_not_zero(results: Results, mixed: Results) -> None:
    assert all(results.histories[name].is_null().all() for name in OF_TABLES)
    assert not any(results.histories[name].is_null().any() for name in OF_ENVIRONMENTS)
    calm, cart = mixed.finals.filter(task="calm"), mixed.finals.filter(task="cart")
    assert all(calm[name].is_null().all() for name in OF_ENVIRONMENTS)
    assert not calm["exact_performance"].is_null().any()
    assert cart["pruned_rules"].is_null().all()
    assert not cart["unseen_score"].is_null().any()


def test_histories_with_a_number_missing_are_refused(folder: Path, results: Results, tmp_path: Path) -> None:
    path = TrialFiles(folder, Trial("PPL-DL", "cart", 0)).history
    table = polars.read_parquet(path)
    nothing = polars.lit(None, dtype=polars.Float64).alias("performance")
    for bad, match in (
        (table.with_columns(nothing), "performance is missing in some rows"),
        (table.drop("seed"), "it has no column seed"),
        (table.with_columns(polars.lit(math.nan).alias("unseen_score")), "unseen_score is not finite"),
    ):
        bad.write_parquet(tmp_path / "bad")
        with pytest.raises(OutputError, match=match):
            read_histories(tmp_path / "bad", results.plan, [Trial("PPL-DL", "cart", 0)])


def test_columns_may_come_and_go(folder: Path, results: Results, tmp_path: Path) -> None:
    trial = Trial("PPL-DL", "cart", 0)
    table = polars.read_parquet(TrialFiles(folder, trial).history)
    newer = table.drop("pruned_rules", "steps").with_columns(polars.lit(1).alias("a new one"))
    newer.write_parquet(tmp_path / "other")
    read = read_histories(tmp_path / "other", results.plan, [trial])
    assert read.columns == list(COLUMNS)
    assert read["pruned_rules"].is_null().all()
    assert read["steps"].is_null().all()
    assert read["unseen_score"].to_list() == table["unseen_score"].to_list()


def test_verdicts_go_by_test_seeds(results: Results, mixed: Results) -> None:
    assert next(iter(measures(results))) == "exact_fraction"
    assert next(iter(measures(mixed))) == "exact_fraction"
    samples = samples_of(results, "cart", "exact_fraction")
    assert samples["PPL-ST"] == pytest.approx(results.values("PPL-ST", "cart", "unseen_score"), abs=1e-9)
    on_z = results.values("PPL-DL", "cart", "performance")
    assert samples_of(results, "cart", "fraction")["PPL-DL"] == pytest.approx(on_z, abs=1e-9)
    (one,) = judge(results, "exact_fraction")
    assert (one.task, one.comparison.n_a) == ("cart", 2)


def test_the_table_has_mean_and_spread_on_test_seeds_first(results: Results) -> None:
    tables = all_tables(results)
    scores = results.values("PPL-DL", "cart", "unseen_score")
    row: dict[str, str] = {}
    for name in ("performance", "spread", "sizes"):
        row |= dict(zip(tables[name].headings, tables[name].rows[0], strict=True))
    assert row["on test seeds"] == mean_and_sd(float(np.mean(scores)), float(np.std(scores, ddof=1)))
    headings = tables["performance"].headings
    assert headings.index("on test seeds") < headings.index("on training seeds")
    names = list(tables)
    assert names.index("verdicts") < names.index("verdicts-training")
    assert "test seeds" in tables["verdicts"].title
    assert "training seeds" in tables["verdicts-training"].title
    assert (row["best"], row["worst"]) == (mean_and_sd(max(scores)), mean_and_sd(min(scores)))
    sizes = results.values("PPL-DL", "cart", "pruned_rules")
    assert row["rules"] == "6"
    assert row["from, to"] == f"{min(sizes):.0f} to {max(sizes):.0f}"


def test_tables_leave_out_what_makes_no_sense(results: Results, mixed: Results) -> None:
    tables = all_tables(results)
    assert not any("exact" in name for name in tables)
    assert all("optimum" not in table.title and "OTP" not in table.title for table in tables.values())
    assert "best action map" not in tables["sizes"].headings
    both = all_tables(mixed)
    assert "pruned" not in both["sizes"].headings
    assert "exact or on test seeds" in both["performance"].headings
    assert any("optimum is not known: cart" in note for note in both["performance"].notes)


def test_curves_show_the_seeds_of_validation_and_no_optimum(results: Results) -> None:
    assert optima(results, "cart", "exact_fraction") == []
    own = results.histories.filter(system="PPL-DL", epoch=2)["unseen_performance"].mean()
    assert curves(results, "cart", "unseen_performance")["PPL-DL"].mean[-1] == pytest.approx(own)


@pytest.mark.parametrize("which", ["results", "mixed"])
def test_the_report_is_whole_and_speaks_of_returns(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    found: Results = request.getfixturevalue(which)
    page = write_report(tmp_path, found, lambda what: None).read_text(encoding="utf-8")
    names = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert "curves-training" in names
    assert ("lakes" in names) == (which == "mixed")
    assert "unseen" not in page.replace("unseen_", "")
    assert page.index("on test seeds</label>") < page.index("training performance</label>")
    assert "on validation seeds</label>" in page  # the curves
    assert "prefers-color-scheme: dark" in page
    assert "mean return" in page
    words = re.sub(r'"data:[^"]*"', "", page.split("<script")[0])  # pictures may hold any letters
    assert "nan" not in words.lower().replace("provenance", "")
    assert '<body data-measure="exact"' in page


def test_a_packed_study_has_the_same_tables(results: Results, mixed: Results, tmp_path: Path) -> None:
    for name, own in (("carts", results), ("mixed", mixed)):
        write_pack(tmp_path / name, own)
        packed = read_results(tmp_path / name)
        tables = all_tables(own)
        tables.pop("times", None)  # there is no log of trials that were run here
        assert all_tables(packed) == tables
        assert best_rulesets(packed) == best_rulesets(own)


def test_a_trial_that_was_stopped_goes_on_to_the_same_bytes(
    folder: Path, results: Results, tmp_path: Path
) -> None:
    plan, trial = results.plan, Trial("PPL-DL", "cart", 0)
    claim(tmp_path, plan)
    system = plan.make_system(trial).learn(epochs=1)
    files = TrialFiles(tmp_path, trial)
    files.begin()
    system.save(files.checkpoint)
    assert run_trial(str(tmp_path), plan.to_json(), trial).outcome == "finished"
    whole = TrialFiles(folder, trial)
    assert files.history.read_bytes() == whole.history.read_bytes()
    assert files.model.read_bytes() == whole.model.read_bytes()
    assert not (tmp_path / STOP).exists()


def test_finished_trials_are_taken_over_byte_by_byte(folder: Path, results: Results, tmp_path: Path) -> None:
    claim(tmp_path, results.plan)
    assert take_over(tmp_path, results.plan, folder) == 4
    ours, theirs = contents(tmp_path), contents(folder)
    assert {path: ours[path] for path in ours if path.startswith("trials")} == {
        path: theirs[path] for path in theirs if path.startswith("trials")
    }


def test_the_learning_curve_labels_both_lists_of_seeds(folder: Path, results: Results) -> None:
    system = load(TrialFiles(folder, Trial("PPL-DL", "cart", 0)).model)
    (axes,) = learning_curve(system, evaluations(system)).axes
    labels = [line.get_label() for line in axes.get_lines()]
    assert labels == [
        "mean fitness of the population",
        "ruleset on training seeds",
        "ruleset on validation seeds",
    ]
    assert (
        np.array(axes.get_lines()[2].get_ydata()).tolist() == system.history["unseen_performance"].to_list()
    )
    assert axes.get_ylabel() == "mean return"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.73123, "0.7312"), (12.345, "12.35"), (500.0, "500"), (-1110.26, "-1,110.3"), (-1e12, "-1e+12")],
)
def test_performances_are_shown_with_digits_that_say_something(value: float, text: str) -> None:
    assert in_units(value) == text


@pytest.mark.parametrize(
    ("mean", "sd", "text"),
    [
        (312.8, 210.3, "313 ± 210"),
        (500.0, 0.0, "500"),
        (-120.26, 3.456, "-120.3 ± 3.5"),
        (-99.874, 0.453, "-99.87 ± 0.45"),
        (0.5, 0.01234, "0.500 ± 0.012"),
        (1.0, 0.0, "1"),
        (0.985, None, "0.985"),
        (0.5, math.nan, "0.500"),
        (None, None, "–"),
        (-1e12, 3e11, "-1e+12 ± 3e+11"),
    ],
)
def test_a_deviation_has_two_digits_and_the_mean_as_many_after_the_point(
    mean: float | None, sd: float | None, text: str
) -> None:
    assert mean_and_sd(mean, sd) == text
