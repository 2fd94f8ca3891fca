"""A study with a GPU leaves the files of one without."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ifthen.simulate import gpu
from ifthen.study.run_study import engine_by_name, run_study
from ifthen.study.study_folder import claim
from ifthen.study.study_plan import StudyPlan, Trial, checked_plan
from ifthen.study.trial import STOP, Ended, TrialFiles
from ifthen.systems.pittsburgh_gpu import Trials

SIZES = {"noise": "stream", "pop_size": 4, "idv_size": 3}


def plan_of(epochs: int) -> StudyPlan:
    systems = [
        {"name": "PPL-ST", "parameters": SIZES},
        {"name": "PPL-DL", "parameters": SIZES},
        {"name": "with elites", "system": "PPL-DL", "parameters": {**SIZES, "elites": 1}},
    ]
    tasks = ["FrozenLake-4-0.1"]
    return checked_plan({"name": "s", "systems": systems, "tasks": tasks, "trials": 2, "epochs": epochs})


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files of all trials."""
    trials = folder / "trials"
    return {str(path.relative_to(trials)): path.read_bytes() for path in trials.rglob("*") if path.is_file()}


def run(folder: Path, engine: str, plan: StudyPlan, most: int | None = None) -> list[tuple[Trial, Ended]]:
    """Run a study, as far as a number of trials have ended."""
    ended: list[tuple[Trial, Ended]] = []
    claim(folder, plan)
    run_study(
        folder,
        plan,
        engine_by_name(engine, 1, None),
        lambda *told: ended.append(told),
        lambda: most is not None and len(ended) >= most,
    )
    return ended


def test_the_files_of_every_engine_are_the_same_bytes(tmp_path: Path) -> None:
    plan = plan_of(3)
    for engine in ("local", "cuda"):
        ended = run(tmp_path / engine, engine, plan)
        assert {how.outcome for _, how in ended} == {"finished"}
        assert len(ended) == 6
    one, other = files_of(tmp_path / "local"), files_of(tmp_path / "cuda")
    assert len(one) == 12
    assert one == other


def test_a_study_that_was_stopped_goes_on_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, usual = plan_of(5), Trials.advance
    run(tmp_path / "whole", "local", plan)
    parts = tmp_path / "parts"

    def advance_until_the_stop(trials: Trials, target: int) -> None:
        usual(trials, min(target, trials.epoch + 2))
        deadline = time.monotonic() + 60
        while not (parts / STOP).exists():  # trials on the CPU end meanwhile
            assert time.monotonic() < deadline
            time.sleep(0.01)

    with monkeypatch.context() as patch:
        patch.setattr(Trials, "advance", advance_until_the_stop)
        run(parts, "cuda", plan, most=1)
    left = [trial for trial in plan.trials_to_run() if not TrialFiles(parts, trial).finished]
    assert left
    run(parts, "cuda", plan)
    assert files_of(parts) == files_of(tmp_path / "whole")


def test_without_a_gpu_the_cpu_runs_all_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "find_device", lambda: "no GPU was found")
    with pytest.warns(match="the engine is 'cuda', but no GPU was found. The CPU runs all trials."):
        assert len(run(tmp_path / "s", "cuda", plan_of(1))) == 6
