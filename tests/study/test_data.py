from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev

import pytest

from ifthen.study.read_results import read_results
from ifthen.study.study_folder import claim
from ifthen.study.study_results import Results
from ifthen.study.study_tables import all_data
from ifthen.study.trial import run_trial
from tests.study.studies import small_plan


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder, plan = tmp_path_factory.mktemp("study") / "small", small_plan()
    claim(folder, plan)
    for trial in plan.trials_to_run():
        assert run_trial(str(folder), plan.to_json(), trial).outcome == "finished"
    return read_results(folder)


def test_data_hold_every_trial_in_full(results: Results) -> None:
    trials = all_data(results)["trials"]
    assert len(trials) == 12
    values = trials.filter(system="XCSF", task="slippery").sort("seed")["exact_performance"].to_list()
    assert values == results.values("XCSF", "slippery", "exact_performance")


def test_data_hold_summaries_and_comparisons_as_numbers(results: Results) -> None:
    data = all_data(results)
    values = results.values("PPL-DL", "calm", "fraction")
    row = data["summaries"].filter(system="PPL-DL", task="calm", measure="fraction").row(0, named=True)
    assert (row["n"], row["failed"], row["mean"]) == (3, 0, pytest.approx(mean(values)))
    assert row["sd"] == pytest.approx(stdev(values))
    assert row["iqm_interval_low"] <= row["iqm"] <= row["iqm_interval_high"]
    comparisons = data["comparisons"]
    assert len(comparisons) == 2 * 2  # tasks and measures
    row = comparisons.filter(task="slippery", measure="exact_fraction").row(0, named=True)
    assert (row["system"], row["other"], row["n_a"], row["n_b"]) == ("PPL-DL", "XCSF", 3, 3)
    assert row["a12"] == row["u"] / 9
    assert row["why"].startswith("With 3 and 3 trials")


def test_data_of_one_system_have_no_comparisons(results: Results, tmp_path: Path) -> None:
    only = small_plan(systems=[{"name": "XCSF"}])
    alone = Results(only, results.histories.filter(system="XCSF"))
    assert all_data(alone)["comparisons"].is_empty()
    assert len(all_data(alone)["summaries"]) == 4
