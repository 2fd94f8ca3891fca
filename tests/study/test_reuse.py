"""Trials that another study has run need not be run again, and are the same to the last byte."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ifthen.errors import OutputError
from ifthen.study import study_folder
from ifthen.study.read_results import read_results, write_pack
from ifthen.study.study_folder import MADE_BY, check_source, claim, take_over, unfinished
from ifthen.study.study_plan import StudyPlan
from ifthen.study.trial import TrialFiles, run_trial
from tests.study.studies import SYSTEMS, contents, small_plan
from tests.systems.contract import SMALL

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
    monkeypatch.setattr(study_folder, "versions", lambda: {"ifthen": "of tomorrow"})
    assert take_over(tmp_path / "new", small_plan(), finished) == 0


@pytest.mark.parametrize(("name", "taken"), [("numba", 0), ("ifthen's sources", 0), (None, 8)])
def test_trials_of_a_study_begun_by_something_else_are_not_taken(
    name: str | None, taken: int, finished: Path, tmp_path: Path
) -> None:
    other = shutil.copytree(finished, tmp_path / "other")
    (other / MADE_BY).unlink()  # as studies from before there was such a file
    if name is not None:
        (other / MADE_BY).write_text(json.dumps({**study_folder.maker_here(), name: "of old"}))
    claim(tmp_path / "new", small_plan())
    assert take_over(tmp_path / "new", small_plan(), other) == taken


def test_a_model_that_is_not_what_its_path_says_is_not_taken(finished: Path, tmp_path: Path) -> None:
    other, plan = shutil.copytree(finished, tmp_path / "other"), small_plan(trials=2)
    seeds, parameters, epochs, damaged, *rest = plan.trials_to_run()
    files = {trial: TrialFiles(other, trial) for trial in plan.trials_to_run()}
    shutil.copy(files[seeds._replace(seed=1)].model, files[seeds].model)
    parameter = small_plan(systems=[DECISION_LIST, {**XCSF, "parameters": {**SMALL["XCSF"], "beta": 0.19}}])
    parameter.make_system(parameters).learn(epochs=plan.epochs).save(files[parameters].model)
    plan.make_system(epochs).learn(epochs=plan.epochs - 1).save(files[epochs].model)
    files[damaged].model.write_bytes(b"no model")
    claim(tmp_path / "new", plan)
    assert take_over(tmp_path / "new", plan, other) == len(rest)
    assert unfinished(tmp_path / "new", plan) == [seeds, parameters, epochs, damaged]


def test_nothing_of_an_unfinished_trial_is_left_when_it_is_taken_over(finished: Path, tmp_path: Path) -> None:
    plan, folder = small_plan(trials=2), tmp_path / "new"
    claim(folder, plan)
    files = TrialFiles(folder, plan.trials_to_run()[0])
    files.begin()
    for path in (files.checkpoint, files.progress, files.failure):
        path.touch()
    assert take_over(folder, plan, finished) == 8
    assert contents(folder) == contents(finished)


def test_a_packed_study_is_refused_before_anything_is_written(finished: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    write_pack(packed, read_results(finished))
    with pytest.raises(OutputError, match="packed holds a packed study, which has no trained systems"):
        check_source(packed)
    claim(tmp_path / "new", small_plan())
    with pytest.raises(OutputError, match="holds a packed study"):
        take_over(tmp_path / "new", small_plan(), packed)


def test_a_folder_that_holds_no_study_is_refused(tmp_path: Path) -> None:
    claim(tmp_path / "new", small_plan())
    with pytest.raises(OutputError, match="holds no study"):
        take_over(tmp_path / "new", small_plan(), tmp_path)
