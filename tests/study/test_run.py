"""A study ends in the same files however it is run: in one go, in parts, side by side, or killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars
import pytest

from ifthen import TabularTask, load
from ifthen.errors import OutputError, ParameterError
from ifthen.parallel import PARENT_SECONDS
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.store import alone
from ifthen.study import study_folder
from ifthen.study.engines import Local
from ifthen.study.histories import COLUMNS
from ifthen.study.read_results import read_results
from ifthen.study.run_study import run_study
from ifthen.study.study_folder import MADE_BY, PLAN, claim, unfinished
from ifthen.study.study_plan import StudyPlan, Trial
from ifthen.study.trial import ATTEMPTS, NOT_BEGUN, STOP, AfterEpoch, Ended, Outcome, TrialFiles, run_trial
from ifthen.systems.system import System
from tests.study.studies import contents, small_plan
from tests.systems.contract import SMALL

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")


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
    assert isinstance(system.task, TabularTask)
    assert last["exact_fraction"] == last["exact_performance"] / optimal_performance(system.task, "exact")


def test_a_study_can_record_only_what_all_systems_share(tmp_path: Path) -> None:
    folder, plan = tmp_path / "study", small_plan(trials=1, record="shared")
    claim(folder, plan)
    in_this_process(folder, plan)
    for trial in plan.trials_to_run():
        assert list(polars.read_parquet_schema(TrialFiles(folder, trial).history)) == [
            name for name in COLUMNS if not name.startswith(("unseen", "pruned", "mean_steps"))
        ]
    assert len(read_results(folder).finals) == 4


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
    assert {path.name for path in folder.iterdir()} == {PLAN, MADE_BY, STOP}


def test_a_stop_before_the_first_trial_runs_none(tmp_path: Path) -> None:
    folder, plan, teller = tmp_path / "study", small_plan(), Teller()
    claim(folder, plan)
    assert not run_study(folder, plan, Local(1), teller, stop=lambda: True)
    assert teller.heard == []
    assert len(unfinished(folder, plan)) == 12


BROKEN = Trial("PPL-DL", "calm", 1)


def raising_job(folder: str, plan_json: str, trial: tuple[str, str, int]) -> Ended:
    """Run a trial; one of them has a fault."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("one by nothing")

    with pytest.MonkeyPatch.context() as patch:
        if tuple(trial) == BROKEN:
            patch.setattr("ifthen.study.trial.write_history", fail)
        return run_trial(folder, plan_json, trial)


def test_a_trial_that_raises_is_recorded_and_the_others_finish(tmp_path: Path) -> None:
    folder, plan, teller = tmp_path / "study", small_plan(), Teller()
    claim(folder, plan)
    assert not run_study(folder, plan, Local(1), teller, job=raising_job)
    assert unfinished(folder, plan) == [BROKEN]
    said = "ZeroDivisionError: one by nothing"
    assert [told for told in teller.heard if told[1] == "failed"] == [(BROKEN, "failed", said)]
    assert "Traceback" in TrialFiles(folder, BROKEN).failure.read_text()


def checkpoint_of(folder: Path, plan: StudyPlan, trial: Trial, epochs: int) -> Path:
    """Return the file with where a trial stands after some epochs, in the folder of another study."""
    path = TrialFiles(folder, trial).checkpoint
    path.parent.mkdir(parents=True, exist_ok=True)
    plan.make_system(trial).learn(epochs=epochs).save(path)
    return path


@pytest.mark.parametrize("kind", ["other seed", "other parameters", "other task", "too far", "damaged"])
def test_a_checkpoint_that_is_not_the_trial_s_is_not_used(
    kind: str, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    folder, plan, trial = tmp_path / "study", small_plan(), Trial("PPL-DL", "calm", 0)
    claim(folder, plan)
    other = small_plan(systems=[{"name": "PPL-DL", "parameters": {**SMALL["PPL-DL"], "p_mut": 0.06}}])
    strange = checkpoint_of(
        tmp_path / "elsewhere",
        other if kind == "other parameters" else plan,
        Trial("PPL-DL", "slippery" if kind == "other task" else "calm", 1 if kind == "other seed" else 0),
        6 if kind == "too far" else 2,
    ).read_bytes()
    files = TrialFiles(folder, trial)
    files.checkpoint.parent.mkdir(parents=True)
    files.checkpoint.write_bytes(strange[:100] if kind == "damaged" else strange)
    ended = run_trial(str(folder), plan.to_json(), trial)
    assert ended.outcome == "finished"
    assert ended.line.endswith("exact; its checkpoint did not fit and was not used")
    left = {path: data for path, data in contents(folder).items() if path.startswith("trials/")}
    assert left == {path: undisturbed[path] for path in undisturbed if f"trials/{trial.stem}." in path}


def test_a_checkpoint_of_the_trial_is_used(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    folder, plan, trial = tmp_path / "study", small_plan(), Trial("PPL-DL", "calm", 0)
    claim(folder, plan)
    checkpoint_of(folder, plan, trial, 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(plan.make_system(trial)), "advance", None)  # there is nothing left to learn
        ended = run_trial(str(folder), plan.to_json(), trial)
    assert ended.outcome == "finished"
    assert "checkpoint" not in ended.line
    model = TrialFiles(folder, trial).model
    assert model.read_bytes() == undisturbed[model.relative_to(folder).as_posix()]


DEADLY = Trial("XCSF", "calm", 0)


def deadly_job(folder: str, plan_json: str, trial: tuple[str, str, int]) -> Ended:
    """Run a trial, slowly, unless it is one that takes its process with it once another has begun."""
    files = TrialFiles(Path(folder), Trial(*trial))
    if tuple(trial) == DEADLY:
        files.begin()
        while not other_attempts(Path(folder)):
            time.sleep(0.01)
        os._exit(1)
    files.begin()
    time.sleep(1.0)
    files.attempts.unlink()
    return run_trial(folder, plan_json, trial)


def other_attempts(folder: Path) -> list[Path]:
    """Return the files that say of trials but the deadly one that they have begun, or have ended."""
    kinds = ("attempts", "parquet")
    found = [path for kind in kinds for path in folder.glob(f"trials/*/*/*.{kind}")]
    return [path for path in found if path != TrialFiles(folder, DEADLY).attempts]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_trial_that_kills_its_process_fails_and_its_neighbours_finish(workers: int, tmp_path: Path) -> None:
    folder, plan, teller = tmp_path / "study", small_plan(trials=1), Teller()
    claim(folder, plan)
    assert not run_study(folder, plan, Local(workers), teller, job=deadly_job)
    failed = [told for told in teller.heard if told[1] == "failed"]
    assert failed == [(DEADLY, "failed", f"its process died {ATTEMPTS} times")]
    assert [told[1] for told in teller.heard].count("finished") == 3  # each in one go
    assert unfinished(folder, plan) == [DEADLY]
    assert run_study(folder, plan, Local(workers), teller)  # run again, it gets another chance


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    """Return the command that runs the small study in `tmp_path / "study"`, by a job that it is given."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from ifthen.study.engines import Local\n"
        "from ifthen.study.study_folder import claim\n"
        "from ifthen.study.run_study import run_study\n"
        "from tests.study import test_run\n"
        "from tests.study.studies import small_plan\n"
        "if __name__ == '__main__':\n"
        "    folder, plan, job = Path(sys.argv[1]), small_plan(), getattr(test_run, sys.argv[2])\n"
        "    claim(folder, plan)\n"
        "    sys.exit(0 if run_study(folder, plan, Local(2), lambda *told: None, job=job) else 1)\n"
    )
    path = tmp_path / "script.py"
    path.write_text(code)
    return [sys.executable, str(path), str(tmp_path / "study")]


def started(script: list[str], job: str) -> subprocess.Popen[bytes]:
    """Start the script in a group of processes of its own."""
    return subprocess.Popen([*script, job], cwd=ROOT, env=ENVIRONMENT, start_new_session=True)


def run_to_the_end(script: list[str]) -> None:
    """Run what is left of the study in the script."""
    subprocess.run([*script, "run_trial"], cwd=ROOT, env=ENVIRONMENT, check=True, timeout=120)


def wait_for(folder: Path, pattern: str, child: subprocess.Popen[bytes]) -> None:
    """Wait until a running study has left a file."""
    deadline = time.monotonic() + 120
    while not list(folder.glob(pattern)):
        assert child.poll() is None, "it ended too soon"
        assert time.monotonic() < deadline
        time.sleep(0.02)


def unhurried_job(folder: str, plan_json: str, trial: tuple[str, str, int]) -> Ended:
    """Run a trial, a moment after each epoch."""
    call = AfterEpoch.__call__

    def slow(callback: AfterEpoch, learner: System) -> bool:
        time.sleep(0.1)
        return call(callback, learner)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AfterEpoch, "__call__", slow)
        return run_trial(folder, plan_json, trial)


@needs_kill
def test_killed_at_random_moments_a_study_ends_with_the_same_bytes(
    script: list[str], tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    folder, luck = tmp_path / "study", random.Random(5)
    for number in range(3):
        with started(script, "unhurried_job") as child:
            wait_for(folder, "trials/*/*/*.attempts", child)
            time.sleep(luck.uniform(0.0, 0.6))
            os.killpg(child.pid, signal.SIGKILL)
        if number == 0:
            begun = list(folder.glob("trials/*/*/*.attempts"))
            assert begun, "nothing was interrupted"
            assert unfinished(folder, small_plan()), "there was nothing left to do"
    run_to_the_end(script)
    assert contents(folder) == undisturbed


def late_job(folder: str, plan_json: str, trial: tuple[str, str, int]) -> Ended:
    """Run a trial after a while."""
    time.sleep(1.5)
    return run_trial(folder, plan_json, trial)


@needs_kill
def test_processes_whose_parent_is_killed_run_no_further_trials(
    script: list[str], tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    folder, histories = tmp_path / "study", "trials/*/*/*.parquet"
    with started(script, "late_job") as child:
        wait_for(folder, histories, child)
        time.sleep(0.3)  # the others have been given their next trials by now
        child.kill()
    time.sleep(3 * PARENT_SECONDS / 2)
    finished = list(folder.glob(histories))
    time.sleep(2.0)
    assert list(folder.glob(histories)) == finished
    assert len(finished) < 6
    run_to_the_end(script)
    assert contents(folder) == undisturbed


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
    with alone(folder), pytest.raises(OutputError, match="another process is training in"):
        run_study(folder, plan, Local(1), Teller())
    assert len(unfinished(folder, plan)) == 12


def test_another_plan_does_not_mix_with_results(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    claim(folder, small_plan())
    claim(folder, small_plan())
    with pytest.raises(ParameterError, match="with epochs = 5, but this plan says 6"):
        claim(folder, small_plan(epochs=6))
    with pytest.raises(ParameterError, match=f"another folder, to which --reuse {folder} takes over"):
        claim(folder, small_plan(trials=4))
    assert (folder / PLAN).read_text() == small_plan().to_json()


def test_settings_that_change_no_trial_may_change(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    claim(folder, small_plan())
    for name, value in (
        ("name", "another"),
        ("checkpoint_seconds", 7.0),
        ("reference", "XCSF"),
        ("comparisons", [["XCSF", "PPL-DL"]]),
    ):
        claim(folder, small_plan(**{name: value}))
        assert (folder / PLAN).read_text() == small_plan(**{name: value}).to_json()


def test_settings_do_not_change_under_a_running_study(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    folder = tmp_path / "study"
    claim(folder, small_plan())
    with alone(folder), pytest.raises(OutputError, match="another process is training in"):
        claim(folder, small_plan(name="another"))
    assert (folder / PLAN).read_text() == small_plan().to_json()


@pytest.mark.parametrize("name", ["numba", "ifthen's sources"])
def test_a_study_goes_on_only_with_what_it_was_begun_with(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    claim(folder, small_plan())
    begun = (folder / MADE_BY).read_bytes()
    (folder / MADE_BY).write_text(json.dumps({**study_folder.maker_here(), name: "of old"}))
    with pytest.raises(OutputError, match=f"begun with {name} of old, but here it is .*another folder"):
        claim(folder, small_plan())
    (folder / MADE_BY).unlink()
    claim(folder, small_plan())  # a study that does not say is believed
    assert (folder / MADE_BY).read_bytes() == begun
    (folder / MADE_BY).write_text("[]")
    with pytest.raises(OutputError, match=r"made-by\.json cannot be read: it is not a list of versions"):
        claim(folder, small_plan())


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(OutputError, match="holds other files and no study"):
        claim(tmp_path, small_plan())
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]
