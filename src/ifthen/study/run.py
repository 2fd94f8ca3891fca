"""Running a study: its trials side by side in processes, stopped and resumed at any time, to the same files.

Every trial is a job of its own that leaves its files in the study's folder; which of them are finished is
read off the folder, so running a study again does what is left. Processes are spawned, with one thread each.
"""

from __future__ import annotations

import csv
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loky import get_reusable_executor  # type: ignore[import-untyped]  # it has no types

from ifthen.errors import OutputError, ParameterError
from ifthen.store import alone, write_text
from ifthen.study.plan import StudyPlan, Trial
from ifthen.study.trial import ATTEMPTS, STOP, Ended, TrialFiles, run_trial

PLAN = "study.json"
LOG = "log.csv"
LOG_COLUMNS = ("time", "system", "task", "seed", "outcome", "seconds", "processor_seconds")
LOOK_EVERY = 0.2
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Told = Callable[[Trial, Ended], None]
"""Is told how each trial ended."""
Job = Callable[[str, str, tuple[str, str, int]], Ended]


def claim(folder: Path, plan: StudyPlan) -> None:
    """Take a folder for a study, or raise if it holds another: results of two plans must not mix."""
    path = folder / PLAN
    if not path.exists():
        if folder.exists() and any(folder.iterdir()):
            raise OutputError(f"{folder} holds other files and no study: give another folder.")
        write_text(path, plan.to_json())
        return
    before = plan_of(folder)
    for name, ours in plan.model_dump().items():
        theirs = before.model_dump()[name]
        if theirs != ours:
            raise ParameterError(
                f"{folder} holds a study with {name} = {_short(theirs)}, but this plan says {_short(ours)}. "
                "Results must not mix: give another folder, or the plan it was begun with."
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
    workers: int,
    told: Told,
    stop: Callable[[], bool] = lambda: False,
    job: Job = run_trial,
) -> bool:
    """Run what is left of a study; return whether every trial finished.

    Args:
        folder: the study's folder, claimed.
        plan: the plan.
        workers: how many processes.
        told: called for each trial that ends.
        stop: asked now and then; when it says so, running trials save where they stand and the rest waits.
        job: what a process does for a trial.
    """
    with alone(folder / PLAN, folder):
        (folder / STOP).unlink(missing_ok=True)
        for trial in unfinished(folder, plan):
            TrialFiles(folder, trial).forget_failures()
        while waiting := list(_worth_trying(folder, plan, told)):
            if stop() or not _run_once(folder, plan, waiting, workers, told, stop, job):
                break
    return not unfinished(folder, plan)


def _worth_trying(folder: Path, plan: StudyPlan, told: Told) -> Iterator[Trial]:
    """Yield the trials that are to be run; those that have killed their process too often fail."""
    for trial in unfinished(folder, plan):
        files = TrialFiles(folder, trial)
        if files.failure.exists():
            continue
        if files.begun >= ATTEMPTS:
            why = f"its process died {files.begun} times"
            write_text(files.failure, why + "\n")
            files.attempts.unlink(missing_ok=True)
            told(trial, Ended("failed", why))
            continue
        yield trial


def _run_once(
    folder: Path,
    plan: StudyPlan,
    waiting: list[Trial],
    workers: int,
    told: Told,
    stop: Callable[[], bool],
    job: Job,
) -> bool:
    """Run trials until all have ended, a process has died, or a stop; return False after a stop."""
    executor = get_reusable_executor(
        max_workers=workers, env=ONE_THREAD, initializer=_ignore_interrupts, kill_workers=True, reuse=False
    )
    text = plan.to_json()
    jobs: dict[Future[Any], Trial] = {
        executor.submit(job, os.fspath(folder), text, tuple(trial)): trial for trial in waiting
    }
    stopping = False
    try:
        while jobs:
            done, _ = wait(jobs, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED)
            for future in done:
                trial = jobs.pop(future)
                if not future.cancelled():
                    ended = future.result()
                    write_log(folder, trial, ended)
                    told(trial, ended)
            if stop() and not stopping:
                stopping = True
                write_text(folder / STOP, "")
                for future in jobs:
                    future.cancel()
    except (BrokenProcessPool, CancelledError):
        pass  # a process died: what it was doing is tried again, from its checkpoint
    finally:
        executor.shutdown(wait=True, kill_workers=True)
        (folder / STOP).unlink(missing_ok=True)
    return not stopping


def write_log(folder: Path, trial: Trial, ended: Ended) -> None:
    """Add a line to the study's log: how a trial ended, and how long it took."""
    path = folder / LOG
    now = datetime.now(UTC).isoformat(timespec="seconds")
    times = (f"{ended.seconds:.3f}", f"{ended.processor_seconds:.3f}")
    try:
        new = not path.exists()
        with path.open("a", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            if new:
                rows.writerow(LOG_COLUMNS)
            rows.writerow((now, *trial, ended.outcome, *times))
    except OSError as problem:
        raise OutputError(f"cannot write {path}: {problem.strerror or problem}.") from None


def _ignore_interrupts() -> None:
    """Leave it to the parent to say when to stop: Ctrl-C at a terminal reaches all processes at once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
