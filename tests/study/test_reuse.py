"""Trials that another study has run need not be run again, and are the same to the last byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from ifthen import OutputError
from ifthen.study import reuse
from ifthen.study.plan import StudyPlan
from ifthen.study.reuse import take_over
from ifthen.study.run import claim, unfinished
from ifthen.study.trial import run_trial
from tests.study.studies import SYSTEMS, contents, small_plan

DECISION_LIST, XCSF = SYSTEMS
OTHER_NAMES = [{**DECISION_LIST, "name": "list", "system": "PPL-DL"}, {**XCSF, "name": "rules of XCSF"}]
OTHER_NAMES[1]["system"] = "XCSF"


def run_here(folder: Path, plan: StudyPlan) -> Path:
    """Run what is left of a study in this process."""
    claim(folder, plan)
    for trial in unfinished(folder, plan):
        assert run_trial(str(folder), plan.to_json(), trial).outcome == "finished"
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small finished study."""
    return run_here(tmp_path_factory.mktemp("study") / "small", small_plan(trials=2))


def test_the_same_trials_by_another_name_are_taken_over(finished: Path, tmp_path: Path) -> None:
    plan = small_plan(name="other", systems=OTHER_NAMES, trials=3)
    claim(tmp_path / "new", plan)
    assert take_over(tmp_path / "new", plan, finished) == 8  # two systems, two tasks, two of three seeds
    assert [trial.seed for trial in unfinished(tmp_path / "new", plan)] == [2] * 4
    run_here(tmp_path / "new", plan)
    assert contents(tmp_path / "new") == contents(run_here(tmp_path / "alone", plan))
    assert take_over(tmp_path / "new", plan, finished) == 0


def test_trials_that_differ_in_anything_are_not_taken(finished: Path, tmp_path: Path) -> None:
    changed = {**DECISION_LIST, "parameters": {**DECISION_LIST["parameters"], "p_mut": 0.06}}
    plan = small_plan(systems=[changed, XCSF], trials=2)
    claim(tmp_path / "parameter", plan)
    assert take_over(tmp_path / "parameter", plan, finished) == 4
    assert {trial.system for trial in unfinished(tmp_path / "parameter", plan)} == {"PPL-DL"}
    longer = small_plan(epochs=6)
    claim(tmp_path / "epochs", longer)
    assert take_over(tmp_path / "epochs", longer, finished) == 0


def test_trials_of_other_versions_are_not_taken(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim(tmp_path / "new", small_plan())
    monkeypatch.setattr(reuse, "versions", lambda: {"ifthen": "of tomorrow"})
    assert take_over(tmp_path / "new", small_plan(), finished) == 0


def test_a_folder_that_holds_no_study_is_refused(tmp_path: Path) -> None:
    claim(tmp_path / "new", small_plan())
    with pytest.raises(OutputError, match="holds no study"):
        take_over(tmp_path / "new", small_plan(), tmp_path)
