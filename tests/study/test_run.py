"""A study ends in the same files however it is run: in one go, in parts, side by side, or killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars
import pytest

from ifthen import OutputError, ParameterError, load
from ifthen.store import alone
from ifthen.study.engines import Local
from ifthen.study.plan import StudyPlan, Trial
from ifthen.study.run import PLAN, claim, run_study, unfinished
from ifthen.study.trial import ATTEMPTS, NOT_BEGUN, STOP, Ended, Outcome, TrialFiles, run_trial
from tests.study.studies import contents, small_plan

ROOT = Path(__file__).parents[2]


class Teller:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[Trial, Outcome, str]] = []

    def __call__(self, trial: Trial, ended: Ended) -> None:
        self.heard.append((trial, ended.outcome, ended.line))


def in_this_process(folder: Path, plan: StudyPlan) -> None:
    """Run every trial of a study one after the other."""
    for trial in plan.trials_to_run():
        assert run_trial(str(folder), plan.to_json(), trial)[0] == "finished"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of the small study, run without a break."""
    folder, plan = tmp_path_factory.mktemp("study") / "small", small_plan()
    claim(folder, plan)
    in_this_process(folder, plan)
    return contents(folder)


def test_a_finished_trial_leaves_its_history_and_its_model(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    trial = Trial("XCSF", "slippery", 1)
    kinds = {path.removeprefix(f"trials/{trial.stem}") for path in undisturbed if trial.stem in path}
    assert kinds == {".parquet", ".zip"}
    (tmp_path / "model.zip").write_bytes(undisturbed[f"trials/{trial.stem}.zip"])
    (tmp_path / "history.parquet").write_bytes(undisturbed[f"trials/{trial.stem}.parquet"])
    system, table = load(tmp_path / "model.zip"), polars.read_parquet(tmp_path / "history.parquet")
    assert table["epoch"].to_list() == list(range(6))
    assert table["performance"].to_list() == system.history["performance"].to_list()
    last = table.row(-1, named=True)
    assert (last["system"], last["task"], last["seed"]) == trial
    assert last["rules"] == len(system.ruleset)
    assert last["exact_fraction"] == last["exact_performance"] / system.task.optimal_performance("exact")


@pytest.mark.parametrize("workers", [1, 2])
def test_any_number_of_processes_gives_the_same_bytes(
    workers: int, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    folder, plan, teller = tmp_path / "study", small_plan(), Teller()
    claim(folder, plan)
    assert run_study(folder, plan, Local(workers), teller)
    assert {outcome for _, outcome, _ in teller.heard} == {"finished"}
    assert contents(folder) == undisturbed
    teller.heard.clear()
    assert run_study(folder, plan, Local(workers), teller)
    assert teller.heard == []  # nothing is run again


def test_a_study_that_is_stopped_goes_on_to_the_same_bytes(
    tmp_path: Path, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, plan = tmp_path / "study", small_plan()
    claim(folder, plan)
    monkeypatch.setattr(TrialFiles, "begin", lambda files: (folder / STOP).touch())
    for trial in plan.trials_to_run()[:4]:
        (folder / STOP).unlink(missing_ok=True)
        outcome, line, *_ = run_trial(str(folder), plan.to_json(), trial)
        assert (outcome, line) == ("stopped", "at epoch 1")
    assert len(unfinished(folder, plan)) == 12
    monkeypatch.undo()
    assert run_study(folder, plan, Local(1), Teller())
    assert contents(folder) == undisturbed


def test_a_trial_that_is_stopped_before_it_began_counts_no_attempt(tmp_path: Path) -> None:
    folder, plan = tmp_path / "study", small_plan()
    claim(folder, plan)
    (folder / STOP).touch()
    assert run_trial(str(folder), plan.to_json(), plan.trials_to_run()[0]) == NOT_BEGUN
    assert {path.name for path in folder.iterdir()} == {PLAN, STOP}


def test_a_stop_before_the_first_trial_runs_none(tmp_path: Path) -> None:
    folder, plan, teller = tmp_path / "study", small_plan(), Teller()
    claim(folder, plan)
    assert not run_study(folder, plan, Local(1), teller, stop=lambda: True)
    assert teller.heard == []
    assert len(unfinished(folder, plan)) == 12


def test_a_trial_that_raises_is_recorded_and_the_others_finish(tmp_path: Path) -> None:
    folder, plan, teller = tmp_path / "study", small_plan(), Teller()
    claim(folder, plan)
    broken = Trial("PPL-DL", "calm", 1)
    TrialFiles(folder, broken).checkpoint.parent.mkdir(parents=True)
    TrialFiles(folder, broken).checkpoint.write_bytes(b"no model")
    assert not run_study(folder, plan, Local(1), teller)
    assert unfinished(folder, plan) == [broken]
    assert [(trial, outcome) for trial, outcome, _ in teller.heard if outcome == "failed"] == [
        (broken, "failed")
    ]
    assert "checkpoint.zip" in TrialFiles(folder, broken).failure.read_text()


def deadly_job(folder: str, plan_json: str, trial: tuple[str, str, int]) -> Ended:
    """Run a trial, unless it is one that takes its process with it."""
    if tuple(trial) == ("XCSF", "calm", 0):
        TrialFiles(Path(folder), Trial(*trial)).begin()
        os._exit(1)
    return run_trial(folder, plan_json, trial)


def test_a_trial_that_kills_its_process_is_tried_again_then_fails_and_the_others_finish(
    tmp_path: Path,
) -> None:
    folder, plan, teller = tmp_path / "study", small_plan(trials=1), Teller()
    claim(folder, plan)
    deadly = Trial("XCSF", "calm", 0)
    assert not run_study(folder, plan, Local(1), teller, job=deadly_job)
    assert (deadly, "failed", f"its process died {ATTEMPTS} times") in teller.heard
    assert unfinished(folder, plan) == [deadly]
    assert run_study(folder, plan, Local(1), teller)  # run again, it gets another chance


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    """Return the command that runs the small study in `tmp_path / "study"`."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from ifthen.study.engines import Local\n"
        "from ifthen.study.run import claim, run_study\n"
        "from tests.study.studies import small_plan\n"
        "if __name__ == '__main__':\n"
        "    folder, plan = Path(sys.argv[1]), small_plan()\n"
        "    claim(folder, plan)\n"
        "    sys.exit(0 if run_study(folder, plan, Local(2), lambda *told: None) else 1)\n"
    )
    path = tmp_path / "script.py"
    path.write_text(code)
    return [sys.executable, str(path), str(tmp_path / "study")]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_killed_at_random_moments_a_study_ends_with_the_same_bytes(
    script: list[str], tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    luck = random.Random(5)
    for _ in range(3):
        with subprocess.Popen(script, cwd=ROOT, env=environment, start_new_session=True) as child:
            time.sleep(luck.uniform(1.5, 4.0))
            os.killpg(child.pid, signal.SIGKILL)
    for _ in range(ATTEMPTS):
        subprocess.run(script, cwd=ROOT, env=environment, check=True, timeout=120)
    assert contents(tmp_path / "study") == undisturbed


def test_what_a_process_left_that_was_killed_while_tidying_up_is_removed(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    folder, plan = tmp_path / "study", small_plan()
    claim(folder, plan)
    in_this_process(folder, plan)
    files = TrialFiles(folder, plan.trials_to_run()[0])
    files.begin()
    files.checkpoint.touch()
    assert run_study(folder, plan, Local(1), Teller())
    assert contents(folder) == undisturbed


def test_two_processes_cannot_run_one_study(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    folder, plan = tmp_path / "study", small_plan()
    claim(folder, plan)
    with alone(folder / PLAN, folder), pytest.raises(OutputError, match="another process is training in"):
        run_study(folder, plan, Local(1), Teller())
    assert len(unfinished(folder, plan)) == 12


def test_another_plan_does_not_mix_with_results(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    claim(folder, small_plan())
    claim(folder, small_plan())
    with pytest.raises(ParameterError, match="with epochs = 5, but this plan says 6"):
        claim(folder, small_plan(epochs=6))
    assert (folder / PLAN).read_text() == small_plan().to_json()


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(OutputError, match="holds other files and no study"):
        claim(tmp_path, small_plan())
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]
