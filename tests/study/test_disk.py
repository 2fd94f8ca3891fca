"""A full disk or a folder that cannot be written to ends a study with a clear error, and loses nothing."""

from __future__ import annotations

import csv
import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars
import pytest

from ifthen.errors import OutputError, ParameterError
from ifthen.store import write_text
from ifthen.study import trial
from ifthen.study.engines import Crew, Job, Local
from ifthen.study.histories import LOG_COLUMNS
from ifthen.study.run_study import run_study
from ifthen.study.study_folder import LOG, claim, unfinished, write_log
from ifthen.study.study_plan import StudyPlan, Trial
from ifthen.study.trial import Ended, TrialFiles
from tests.commands import start_command
from tests.study.studies import contents, small_plan

PAGE = 4096


class Inline:
    """An engine that does each job at once, in this process."""

    @contextmanager
    def crew(self, plan: Path) -> Iterator[Crew]:
        yield self

    def places(self) -> int:
        return 1

    def submit(self, job: Job, folder: str, plan_json: str, trial: tuple[str, str, int]) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(job(folder, plan_json, trial))
        except Exception as problem:
            future.set_exception(problem)
        return future

    def result(self, future: Future[Any]) -> Ended | None:
        ended: Ended = future.result()
        return ended


def silent(*_: object) -> None:
    """Hear and say nothing."""


def whole_study(folder: Path, plan: StudyPlan) -> bool:
    """Claim a folder and run a study in it."""
    claim(folder, plan)
    return run_study(folder, plan, Inline(), silent)


def files_of(folder: Path, plan: StudyPlan) -> dict[str, bytes]:
    """Return the files of a study that nothing went wrong with."""
    assert whole_study(folder, plan)
    return contents(folder)


def error_of(folder: Path, plan: StudyPlan) -> str | None:
    """Return what is said where a study cannot write its files."""
    try:
        whole_study(folder, plan)
    except OutputError as problem:
        return str(problem)
    return None


class FullDisk:
    """Stands for `os.fsync`: from one call on, for some calls, there is no space left."""

    def __init__(self, first: int, calls: int = 10**9) -> None:
        self.count, self._full, self._fsync = 0, range(first, first + calls), os.fsync

    def __call__(self, handle: int) -> None:
        self.count += 1
        if self.count - 1 in self._full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._fsync(handle)


def test_whichever_write_fails_the_study_goes_on_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_plan(trials=1, epochs=3, tasks=small_plan().model_dump()["tasks"][:1])
    undisturbed, errors = files_of(tmp_path / "undisturbed", plan), 0
    for number in range(100):
        folder, disk = tmp_path / str(number), FullDisk(number)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", disk)
            said = error_of(folder, plan)
        if said is not None:
            assert "No space left on device" in said
            assert "check the folder, its permissions and the disk" in said
            errors += 1
        assert not list(folder.rglob("*.failed.txt"))
        assert not list(folder.rglob("*.attempts"))
        assert whole_study(folder, plan)
        assert contents(folder) == undisturbed
        if disk.count <= number:
            break
    assert errors >= 10


def test_a_study_on_a_full_disk_begins_no_further_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Path] = []
    begin = TrialFiles.begin

    def counted(files: TrialFiles) -> None:
        begun.append(files.history)
        begin(files)

    claim(tmp_path / "study", small_plan(trials=100))
    monkeypatch.setattr(TrialFiles, "begin", counted)
    monkeypatch.setattr(os, "fsync", FullDisk(40))
    with pytest.raises(OutputError, match="No space left"):
        run_study(tmp_path / "study", small_plan(trials=100), Inline(), silent)
    assert 2 <= len(begun) < 10


def test_a_trial_whose_failure_cannot_be_recorded_is_not_taken_for_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, plan = tmp_path / "study", small_plan(trials=1)
    claim(folder, plan)
    files = TrialFiles(folder, plan.trials_to_run()[0])

    def broken(*_: object) -> None:
        raise ParameterError("no history today.")

    def full(path: Path, text: str) -> None:
        if path == files.failure:
            raise OutputError(f"cannot write {path}: No space left on device.")
        write_text(path, text)

    monkeypatch.setattr(trial, "write_history", broken)
    monkeypatch.setattr(trial, "write_text", full)
    with pytest.raises(OutputError, match=r"PPL-DL on calm, seed 0: cannot write .*0\.failed\.txt: No space"):
        run_study(folder, plan, Inline(), silent)
    monkeypatch.setattr(trial, "write_text", write_text)
    assert not run_study(folder, plan, Inline(), silent)
    assert files.failure.read_text() == "no history today.\n"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Return a function that mounts, or mounts anew, a disk of our own with options such as `size=64k`."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(options: str) -> Path:
        options = f"remount,{options}" if place.is_mount() else options
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no right to mount a small disk here")
        return place

    yield mount
    if place.is_mount():
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize("engine", [Inline(), Local(2)], ids=["inline", "local"])
def test_a_study_goes_on_once_a_full_disk_has_room(
    engine: Inline | Local, small_disk: Callable[[str], Path], tmp_path: Path
) -> None:
    plan = small_plan()
    undisturbed = files_of(tmp_path / "undisturbed", plan)
    pages = sum(-(-len(data) // PAGE) for data in undisturbed.values())
    folder = small_disk(f"size={pages // 2 * PAGE}") / "study"
    claim(folder, plan)
    with pytest.raises(OutputError, match="No space left on device"):
        run_study(folder, plan, engine, silent)
    left = unfinished(folder, plan)
    finished = [own for own in plan.trials_to_run() if own not in left]
    assert 2 <= len(finished) <= 10
    for own in finished:
        assert polars.read_parquet(TrialFiles(folder, own).history).height == plan.epochs + 1
    small_disk("size=16m")
    assert run_study(folder, plan, engine, silent)
    assert contents(folder) == undisturbed
    with (folder / LOG).open(newline="") as file:
        assert {len(row) for row in csv.reader(file)} == {len(LOG_COLUMNS)}


def write_lines(folder: Path, lines: int) -> None:
    """Write lines to the log of a study."""
    for seed in range(lines):
        write_log(folder, Trial("PPL-DL", "calm", seed), Ended("finished", ""))


def test_a_log_on_a_full_disk_has_no_half_lines(small_disk: Callable[[str], Path]) -> None:
    folder = small_disk(f"size={2 * PAGE}")
    with pytest.raises(OutputError, match=r"cannot write .*log\.csv: No space left"):
        write_lines(folder, 10**4)
    assert (folder / LOG).read_text().endswith("\n")
    small_disk("size=1m")
    write_lines(folder, 1)
    with (folder / LOG).open(newline="") as file:
        assert {len(row) for row in csv.reader(file)} == {len(LOG_COLUMNS)}


def test_a_folder_that_has_become_read_only_is_named(small_disk: Callable[[str], Path]) -> None:
    folder, plan = small_disk("size=1m") / "study", small_plan()
    claim(folder, plan)
    small_disk("ro")
    with pytest.raises(OutputError, match=f"{folder}.*Read-only file system.*check the folder"):
        run_study(folder, plan, Inline(), silent)


@pytest.mark.parametrize("folder", ["letter", "letter/study"])
def test_a_folder_that_cannot_be_made_is_one_line_of_error(folder: str, tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("dear")
    plan = tmp_path / "plan.toml"
    plan.write_text('name = "s"\ntasks = ["FrozenLake-4-0"]\n[[systems]]\nname = "PPL-DL"\n')
    with start_command("study", "run", plan, "--out", tmp_path / folder) as child:
        _, errors = child.communicate(timeout=60)
    assert child.returncode == 2
    assert "Not a directory" in errors
    assert "check the folder" in " ".join(errors.split())
    assert "Traceback" not in errors
