"""Running a study: its trials side by side in processes, stopped and resumed at any time, to the same files.

Every trial is a job of its own that leaves its files in the study's folder; which of them are finished is
read off the folder, so running a study again does what is left. Where jobs are done is up to an engine.
"""

from __future__ import annotations

import csv
import io
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ifthen.errors import EngineError, OutputError, ParameterError
from ifthen.store import alone, write_text
from ifthen.study.engines import Crew, Engine, Job
from ifthen.study.histories import LOG_COLUMNS
from ifthen.study.made_by import sign
from ifthen.study.plan import StudyPlan, Trial
from ifthen.study.trial import ATTEMPTS, NOT_BEGUN, STOP, Ended, TrialFiles, run_trial

PLAN = "study.json"
LOG = "log.csv"
PACK = "pack.json"
LOOK_EVERY = 0.2
FREE = {"name", "checkpoint_seconds", "reference", "comparisons", "varies"}
"""Settings that may change from one run of a study to the next: no trial depends on them."""

Told = Callable[[Trial, Ended], None]
"""Is told how each trial ended."""
Watch = Callable[[list[Trial]], None]


def claim(folder: Path, plan: StudyPlan) -> None:
    """Take a folder for a study, or raise if it holds another: results of two plans must not mix.

    What results do not depend on may change: it is then written down anew.
    """
    path = folder / PLAN
    with errors_of_files(folder):
        if not path.exists():
            if folder.exists() and any(folder.iterdir()):
                raise OutputError(f"{folder} holds other files and no study: give another folder.")
            write_text(path, plan.to_json())
        if (folder / PACK).exists():
            raise OutputError(f"{folder} holds a packed study, which cannot be run: give another folder.")
        before = plan_of(folder)
        _check_same(folder, before, plan)
        sign(folder)
        if before.to_json() != plan.to_json():
            with alone(path, folder):
                write_text(path, plan.to_json())


def _check_same(folder: Path, before: StudyPlan, plan: StudyPlan) -> None:
    """Raise unless two plans have the same trials, naming the first difference."""
    for name, ours in plan.model_dump(exclude=FREE).items():
        theirs = before.model_dump()[name]
        if theirs != ours:
            raise ParameterError(
                f"{folder} holds a study with {name} = {_short(theirs)}, but this plan says {_short(ours)}. "
                "Results must not mix: give the plan it was begun with, or another folder, to which "
                f"--reuse {folder} takes over the trials that are the same."
            )


def plan_of(folder: Path) -> StudyPlan:
    """Return the plan of the study that a folder holds, or raise where it holds none that can be read."""
    path = folder / PLAN
    if not path.exists():
        raise OutputError(f"{folder} holds no study: there is no {PLAN} in it.")
    try:
        return StudyPlan.from_json(path.read_text(encoding="utf-8"))
    except (ParameterError, UnicodeDecodeError) as problem:
        raise OutputError(
            f"{path} cannot be read: {problem} It says what the folder's trials are of: put back the file, "
            "or begin the study in another folder."
        ) from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + " …"


def unfinished(folder: Path, plan: StudyPlan) -> list[Trial]:
    """Return the trials that have no result yet, in the order of the plan."""
    return [trial for trial in plan.trials_to_run() if not TrialFiles(folder, trial).finished]


def run_study(
    folder: Path,
    plan: StudyPlan,
    engine: Engine,
    told: Told,
    stop: Callable[[], bool] = lambda: False,
    watch: Watch = lambda trials: None,
    job: Job = run_trial,
) -> bool:
    """Run what is left of a study; return whether every trial finished.

    Args:
        folder: the study's folder, claimed.
        plan: the plan.
        engine: what runs the trials.
        told: called for each trial that ends.
        stop: asked now and then; when it says so, running trials save where they stand and the rest waits.
        watch: called now and then with the trials that have been given out.
        job: what a process does for a trial.
    """
    with errors_of_files(folder), alone(folder / PLAN, folder):
        _tidy(folder, plan)
        waiting = unfinished(folder, plan)
        if waiting and not stop():
            _run(folder, plan, waiting, engine, told, stop, watch, job)
    return not unfinished(folder, plan)


def _tidy(folder: Path, plan: StudyPlan) -> None:
    """Remove what earlier runs of a study have left behind, but for what trials go on from."""
    (folder / STOP).unlink(missing_ok=True)
    for trial in plan.trials_to_run():
        files = TrialFiles(folder, trial)
        if not files.finished:
            files.forget_failures()
        elif files.begun:
            files.finish()


def _run(
    folder: Path,
    plan: StudyPlan,
    waiting: list[Trial],
    engine: Engine,
    told: Told,
    stop: Callable[[], bool],
    watch: Watch,
    job: Job,
) -> None:
    """Run trials until all have ended, or a stop.

    Raises where the files of a trial cannot be written, after the others have stopped: they would fail too.
    """
    with engine.crew(folder.absolute() / PLAN) as crew:
        shift = _Shift(crew, folder, plan, waiting, job)
        try:
            while shift.goes_on():
                watch(shift.given_out())
                for trial, ended in shift.ended():
                    write_log(folder, trial, ended)
                    told(trial, ended)
                if stop():
                    shift.stop()
        except BaseException:
            with suppress(OSError):
                (folder / STOP).touch()  # what cannot be ended from here ends by itself
            raise
    if not isinstance(shift.problem, EngineError):  # else some may still run, out of reach
        (folder / STOP).unlink(missing_ok=True)
    if shift.problem is not None:
        raise shift.problem


class _Shift:
    """What a crew does from its first trial to its last: only a few jobs are given to it at a time.

    Args:
        crew: the crew.
        folder: the study's folder.
        plan: the plan.
        waiting: the trials to run.
        job: what to do for each.
    """

    def __init__(self, crew: Crew, folder: Path, plan: StudyPlan, waiting: list[Trial], job: Job) -> None:
        self._crew, self._job, self._folder, self._plan = crew, job, folder.absolute(), plan.to_json()
        self._waiting = deque(waiting)
        self._jobs: dict[Future[Any], Trial] = {}
        self._deaths = 0
        self.stopping = False
        self.problem: OutputError | EngineError | None = None

    def goes_on(self) -> bool:
        """Give the crew what it can take; return whether anything is still to come of it."""
        if self.stopping:
            return bool(self._jobs) and self._crew.places() > 0  # without workers no job would ever come back
        room = self._crew.places() - len(self._jobs)
        while self._waiting and room > 0:
            trial = self._waiting.popleft()
            plain = (trial.system, trial.task, trial.seed)
            self._jobs[self._crew.submit(self._job, os.fspath(self._folder), self._plan, plain)] = trial
            room -= 1
        return bool(self._jobs or self._waiting)

    def given_out(self) -> list[Trial]:
        """Return the trials that the crew has and that have not ended."""
        return list(self._jobs.values())

    def ended(self) -> Iterator[tuple[Trial, Ended]]:
        """Wait a little; yield the trials that have ended. One whose process died is left for later."""
        if not self._jobs:
            time.sleep(LOOK_EVERY)  # a cluster whose workers are gone may get others
        done, _ = wait(self._jobs, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED)
        for future in done:
            trial = self._jobs.pop(future)
            try:
                ended = self._crew.result(future) or self._after_death(trial)
            except (OutputError, EngineError) as problem:
                self.problem = self.problem or problem
                self.stop()
                continue
            if ended is not None:
                self._deaths = 0
                if ended != NOT_BEGUN:
                    yield trial, ended

    def _after_death(self, trial: Trial) -> Ended | None:
        """Return how a trial ended whose process died, or None where it is tried again, after the others.

        Raises where processes die in a row before they begin a trial: others would not do better.
        """
        files = TrialFiles(self._folder, trial)
        if files.finished:
            files.finish()
            return Ended("finished", "its process died after it had written all")
        if files.begun >= ATTEMPTS:
            return files.give_up()
        self._deaths = 0 if files.begun else self._deaths + 1
        if self._deaths == ATTEMPTS:
            raise EngineError("processes die before they begin a trial: is there memory for so many?")
        self._waiting.append(trial)
        return None

    def stop(self) -> None:
        """Ask running trials to save where they stand, and begin no other."""
        if not self.stopping:
            self.stopping = True
            write_text(self._folder / STOP, "")


@contextmanager
def errors_of_files(folder: Path) -> Iterator[None]:
    """Say what to do where the files of a study cannot be read or written."""
    try:
        yield
    except OutputError:
        raise
    except OSError as problem:
        raise OutputError(
            f"cannot work in {folder}: {problem.strerror or problem}: {problem.filename or ''}. "
            "Finished trials stay as they are; check the folder, its permissions and the disk."
        ) from problem


def write_log(folder: Path, trial: Trial, ended: Ended) -> None:
    """Add a line to the study's log: how a trial ended, and how long it took."""
    path, line = folder / LOG, io.StringIO(newline="")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    times = (f"{ended.seconds:.3f}", f"{ended.processor_seconds:.3f}")
    rows = csv.writer(line, lineterminator="\n")
    try:
        with path.open("ab", buffering=0) as file:
            size = file.tell()
            if size == 0:
                rows.writerow(LOG_COLUMNS)
            rows.writerow((now, *trial, ended.outcome, *times))
            whole = line.getvalue().encode()
            try:
                written = file.write(whole)
                while written < len(whole):
                    written += file.write(whole[written:])
            except OSError:
                file.truncate(size)  # no half lines
                raise
    except OSError as problem:
        raise OutputError(
            f"cannot write {path}: {problem.strerror or problem}. "
            "Finished trials stay as they are; check the folder, its permissions and the disk."
        ) from None
