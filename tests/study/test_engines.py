"""Wherever trials run, a study ends in the same files; what cannot run says so before it begins."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ifthen.errors import EngineError, ParameterError
from ifthen.study import cluster as dasks
from ifthen.study.cluster import GONE_SECONDS, Dask, DaskCrew, worker_view
from ifthen.study.engines import Local
from ifthen.study.run_study import engine_by_name, run_study
from ifthen.study.study_folder import MADE_BY, PLAN, claim, unfinished
from ifthen.study.study_plan import StudyPlan, Trial
from ifthen.study.trial import NOT_BEGUN, STOP, Ended, TrialFiles, run_trial
from tests.commands import start_command
from tests.study.studies import contents, small_plan

ROOT = Path(__file__).parents[2]
needs_dask = pytest.mark.skipif(
    find_spec("distributed") is None, reason="needs distributed: pip install '.[cluster]'"
)


def silent(*_: object) -> None:
    """Hear and say nothing."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of the small study, run in this process."""
    folder, plan = tmp_path_factory.mktemp("study") / "small", small_plan()
    claim(folder, plan)
    for trial in plan.trials_to_run():
        run_trial(str(folder), plan.to_json(), trial)
    return contents(folder)


@pytest.fixture
def study(tmp_path: Path) -> tuple[Path, StudyPlan]:
    """Return the folder and the plan of the small study, claimed."""
    folder, plan = tmp_path / "study", small_plan()
    claim(folder, plan)
    return folder, plan


def test_engines_are_chosen_by_name() -> None:
    assert engine_by_name("local", 3, None) == Local(3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("locale", 1, None), "no engine 'locale'. Did you mean 'local'"),
        (("local", None, "tcp://127.0.0.1:1"), "give --engine dask"),
        (("dask", 2, "tcp://127.0.0.1:1"), "leave out --workers"),
        (("local", 0, None), "workers must be a whole number"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        engine_by_name(*arguments)


def test_without_distributed_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError, match="pip install distributed"):
        engine_by_name("dask", 1, None)


def test_a_crew_whose_processes_die_at_once_is_not_tried_for_ever(study: tuple[Path, StudyPlan]) -> None:
    with pytest.raises(EngineError, match="die before they begin"):
        run_study(*study, Local(1), silent, job=die)


def die(*_: object) -> Ended:
    """Take the process with it, before anything is begun."""
    os._exit(1)


def telling_job(*_: object) -> Ended:
    """Tell the process."""
    return Ended("finished", str(os.getpid()))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_process_that_dies_between_two_jobs_is_replaced(tmp_path: Path) -> None:
    with Local(1).crew(tmp_path / PLAN) as crew:
        first = crew.result(crew.submit(telling_job, "", "", ("", "", 0)))
        assert first is not None
        os.kill(int(first.line), signal.SIGKILL)
        time.sleep(1.0)  # until it is known
        second = crew.result(crew.submit(telling_job, "", "", ("", "", 0)))
        assert second is not None
        assert second.line != first.line


def patient_job(folder: str, plan_json: str, trial: tuple[str, str, int]) -> Ended:
    """Do nothing until there is a stop."""
    files = TrialFiles(Path(folder), Trial(*trial))
    if (Path(folder) / STOP).exists():
        return NOT_BEGUN
    files.begin()
    while not (Path(folder) / STOP).exists():
        time.sleep(0.05)
    return Ended("stopped", "at epoch 1")


def test_a_stop_leaves_soon_however_many_trials_wait(tmp_path: Path) -> None:
    folder, plan, heard = tmp_path / "study", small_plan(trials=1000), []
    asked: list[float] = []
    claim(folder, plan)

    def stop() -> bool:
        if not asked and len(list(folder.glob("trials/*/*/*.attempts"))) == 2:
            asked.append(time.monotonic())
        return bool(asked)

    assert not run_study(folder, plan, Local(2), lambda *told: heard.append(told), stop, job=patient_job)
    assert time.monotonic() - asked[0] < 3
    assert [ended.outcome for _, ended in heard] == ["stopped"] * 2
    assert not (folder / STOP).exists()


@needs_dask
def test_a_dasks_of_this_machine_gives_the_same_bytes(
    study: tuple[Path, StudyPlan], undisturbed: dict[str, bytes]
) -> None:
    assert run_study(*study, Dask(2), silent)
    assert contents(study[0]) == undisturbed


def deadly_job(folder: str, plan_json: str, trial: tuple[str, str, int]) -> Ended:
    """Run a trial, unless it is one that takes its process with it."""
    if tuple(trial) == ("XCSF", "calm", 0):
        TrialFiles(Path(folder), Trial(*trial)).begin()
        os._exit(1)
    return run_trial(folder, plan_json, trial)


@needs_dask
def test_a_trial_that_kills_its_dask_worker_fails_and_the_others_finish(tmp_path: Path) -> None:
    folder, plan, heard = tmp_path / "study", small_plan(trials=1), {}
    claim(folder, plan)
    deadly = Trial("XCSF", "calm", 0)
    assert not run_study(
        folder, plan, Dask(2), lambda trial, ended: heard.update({trial: ended}), job=deadly_job
    )
    assert unfinished(folder, plan) == [deadly]
    assert "its process died" in heard[deadly].line
    assert run_study(folder, plan, Dask(1), silent)  # run again, it gets another chance


class NoWorkers:
    """A client of a cluster whose workers are gone."""

    def nthreads(self) -> dict[str, int]:
        return {}

    def get_executor(self, pure: bool) -> None:
        assert not pure


def test_a_cluster_of_ones_own_that_has_lost_its_workers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("ifthen.study.cluster.time.monotonic", lambda: now)
    own, other = (DaskCrew(NoWorkers(), tmp_path, owns_cluster=whose) for whose in (True, False))
    assert own.places() == other.places() == 0
    now += GONE_SECONDS + 1
    assert other.places() == 0  # somebody else's may get workers again
    with pytest.raises(EngineError, match="have died and not come back"):
        own.places()


def mortal_job(folder: str, plan_json: str, trial: tuple[str, str, int]) -> Ended:
    """Run a trial; the first attempt at one of them takes its process with it."""
    files = TrialFiles(Path(folder), Trial(*trial))
    if tuple(trial) == ("PPL-DL", "slippery", 2) and not files.begun:
        files.begin()
        os._exit(1)
    return run_trial(folder, plan_json, trial)


@needs_dask
def test_a_dask_worker_that_dies_once_changes_nothing(
    study: tuple[Path, StudyPlan], undisturbed: dict[str, bytes]
) -> None:
    assert run_study(*study, Dask(2), silent, job=mortal_job)
    assert contents(study[0]) == undisturbed


@needs_dask
def test_an_address_where_no_scheduler_is_gives_an_error_soon(study: tuple[Path, StudyPlan]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    begun = time.monotonic()
    with pytest.raises(EngineError, match=f"no Dask scheduler at tcp://127.0.0.1:{port}"):
        run_study(*study, Dask(address=f"tcp://127.0.0.1:{port}"), silent)
    assert time.monotonic() - begun < 10
    with pytest.raises(EngineError, match="no Dask scheduler at nowhere: missing port"):
        run_study(*study, Dask(address="nowhere"), silent)
    assert {path.name for path in study[0].iterdir()} == {PLAN, MADE_BY}


@contextmanager
def dask_process(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Have a process of Dask's command line run, away from this folder."""
    command = [sys.executable, "-m", "dask", *arguments]
    with subprocess.Popen(command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            yield child
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait(timeout=30)


@contextmanager
def cluster(tmp_path: Path, *worker_options: str, workers: int = 1) -> Iterator[str]:
    """Have a scheduler and workers run on this machine; give the scheduler's address."""
    file = tmp_path / "scheduler.json"
    own = ("--scheduler-file", str(file))
    with ExitStack() as stack:
        stack.enter_context(
            dask_process("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *own)
        )
        for _ in range(workers):
            options = ("--local-directory", str(tmp_path), "--no-dashboard", *worker_options)
            stack.enter_context(dask_process("worker", *own, *options))
        while not (file.exists() and file.read_text().endswith("}")):
            time.sleep(0.1)
        yield str(json.loads(file.read_text())["address"])


@needs_dask
def test_the_command_runs_a_study_on_a_running_cluster(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    folder, plan = tmp_path / "study", tmp_path / "plan.toml"
    claim(folder, small_plan())
    plan.write_text(as_toml(small_plan()))
    with cluster(tmp_path, "--nthreads", "1", workers=2) as address:
        options = ("--out", str(folder), "--engine", "dask", "--address", address)
        with start_command("study", "run", plan, *options) as child:
            said, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors
    assert "all 12 trials are in" in said
    assert contents(folder) == undisturbed


ENDLESS = """
name = "endless"
trials = 1
epochs = 100000
checkpoint_seconds = 1000
tasks = ["FrozenLake-4-0"]

[[systems]]
name = "PPL-DL"
parameters = { pop_size = 16 }

[[systems]]
name = "XCSF"
parameters = { pop_limit = 80 }
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no groups of processes on this system")
@pytest.mark.parametrize("engine", ["local", pytest.param("dask", marks=needs_dask)])
def test_a_signal_to_all_processes_stops_a_study_and_loses_nothing(engine: str, tmp_path: Path) -> None:
    folder, plan = tmp_path / "study", tmp_path / "plan.toml"
    plan.write_text(ENDLESS)
    options = ("--out", folder, "--workers", "2", "--engine", engine)
    with start_command("study", "run", plan, *options, own_group=True) as child:
        while len(list(folder.glob("trials/*/*/0.progress"))) < 2:
            assert child.poll() is None
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGTERM)
        _, errors = child.communicate(timeout=60)
    assert child.returncode == 130, errors
    assert "goes on from here" in errors
    assert len(list(folder.glob("trials/*/*/0.checkpoint.zip"))) == 2  # made by the stop
    assert not list(folder.glob("trials/*/*/*.attempts"))


def as_toml(plan: StudyPlan) -> str:
    """Return a plan as TOML, which takes what JSON has for values."""
    given = json.loads(plan.to_json())
    systems = given.pop("systems")
    lines = [f"{name} = {_value(value)}" for name, value in given.items()]
    for system in systems:
        lines += ["[[systems]]", *(f"{name} = {_value(value)}" for name, value in system.items())]
    return "\n".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_value(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


class SlowDask:
    """Stands for Dask on a busy machine: so many clients cannot start their thread in time."""

    def __init__(self, slow: int) -> None:
        self.slow, self.tries = slow, 0

    def Client(self, address: str, timeout: int) -> tuple[str, int]:  # noqa: N802  # Dask's name
        self.tries += 1
        assert self.tries > self.slow
        return address, timeout


@pytest.mark.parametrize("slow", [0, 1, 2])
def test_a_client_whose_thread_was_slow_to_start_is_tried_once_more(
    slow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dask = SlowDask(slow)
    monkeypatch.setattr(dasks, "_distributed", lambda: dask)
    if slow < 2:
        assert dasks._client("here", timeout=3) == ("here", 3)
    else:
        with pytest.raises(AssertionError):
            dasks._client("here", timeout=3)
    assert dask.tries == min(slow + 1, 2)


@needs_dask
def test_a_cluster_that_cannot_run_the_study_is_refused_naming_why(
    study: tuple[Path, StudyPlan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dasks, "WORKERS_SECONDS", 1)
    with (
        cluster(tmp_path, workers=0) as address,
        pytest.raises(EngineError, match="has no workers after 1 s"),
    ):
        run_study(*study, Dask(address=address), silent)
    monkeypatch.undo()
    with cluster(tmp_path, "--nthreads", "2") as address:
        with pytest.raises(EngineError, match="has 2 threads, but trials take a process each"):
            run_study(*study, Dask(address=address), silent)
        monkeypatch.setattr("ifthen.study.study_folder.versions", lambda: {"numba": "0.1"})
        with pytest.raises(EngineError, match=r"the worker tcp://.* differs: numba is .* there, 0\.1 here"):
            run_study(*study, Dask(address=address), silent)
    assert len(unfinished(*study)) == 12


def test_a_worker_that_does_not_see_the_same_folder_differs(study: tuple[Path, StudyPlan]) -> None:
    plan = str(study[0] / PLAN)
    ours = worker_view(plan)
    with pytest.raises(EngineError, match=r"study\.json is not readable \(No such file"):
        dasks._compare("a worker", ours, {**worker_view("nowhere"), plan: worker_view("nowhere")["nowhere"]})
    (study[0] / PLAN).write_text(small_plan(epochs=7).to_json())
    with pytest.raises(EngineError, match=r"a worker on .* differs: .*study\.json is with hash"):
        dasks.checked_job(ours, plan, run_trial, str(study[0]), study[1].to_json(), ("XCSF", "calm", 0))
