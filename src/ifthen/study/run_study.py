"""Running a study: its trials side by side in processes, stopped and resumed at any time, to the same files.

Every trial is a job of its own that leaves its files in the study's folder; which of them are finished is
read off the folder, so running a study again does what is left. Where jobs are done is up to an engine.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from ifthen.errors import EngineError, OutputError, ParameterError, nearest
from ifthen.parallel import checked_threads
from ifthen.store import alone, remove_half_written, write_text
from ifthen.study.cluster import Dask
from ifthen.study.engines import Crew, Engine, Job, Local
from ifthen.study.gpu_engine import Cuda
from ifthen.study.study_folder import MADE_BY, PLAN, errors_of_files, unfinished, write_log
from ifthen.study.study_plan import StudyPlan, Trial
from ifthen.study.trial import ATTEMPTS, NOT_BEGUN, STOP, Ended, TrialFiles, run_trial

ENGINES = ("local", "dask", "cuda")
LOOK_EVERY = 0.2
"""Seconds between two looks at running trials."""

OnEnd = Callable[[Trial, Ended], None]
"""Called with each trial that has ended."""
Watch = Callable[[list[Trial]], None]


def engine_by_name(name: str, workers: int | None, address: str | None) -> Engine:
    """Return an engine.

    Args:
        name: "local", "dask" or "cuda".
        workers: how many processes on this machine; one per core by default.
        address: of the scheduler of a running Dask cluster, such as `tcp://10.0.0.1:8786`.
    """
    if name not in ENGINES:
        raise ParameterError(f"there is no engine {name!r}.{nearest(name, ENGINES)}")
    if address is None:
        processes = checked_threads(workers, "workers")
        return Local(processes) if name == "local" else Dask(processes) if name == "dask" else Cuda(processes)
    if name != "dask":
        raise ParameterError("an address is that of a Dask cluster: give --engine dask with --address.")
    if workers is not None:
        raise ParameterError("a cluster at an address has workers of its own: leave out --workers.")
    return Dask(address=address)


def run_study(
    folder: Path,
    plan: StudyPlan,
    engine: Engine,
    on_end: OnEnd,
    stop: Callable[[], bool] = lambda: False,
    watch: Watch = lambda trials: None,
    job: Job = run_trial,
) -> bool:
    """Run what is left of a study; return whether every trial finished.

    Args:
        folder: the study's folder, claimed.
        plan: the plan.
        engine: what runs the trials.
        on_end: called for each trial that ends.
        stop: asked now and then; when it says so, running trials save where they stand and the rest waits.
        watch: called now and then with the trials that have been given out.
        job: what a process does for a trial.
    """
    with errors_of_files(f"work in {folder}"), alone(folder):
        _tidy(folder, plan)
        waiting = unfinished(folder, plan)
        if waiting and not stop():
            with engine.crew(folder.absolute() / PLAN) as crew:
                shift = Shift(crew, folder, Listed((trial, plan.to_json()) for trial in waiting), job)
                shift.work(on_end, stop, watch)
            shift.end()
    return not unfinished(folder, plan)


def _tidy(folder: Path, plan: StudyPlan) -> None:
    """Remove what earlier runs of a study have left behind, but for what trials go on from."""
    (folder / STOP).unlink(missing_ok=True)
    remove_half_written(folder, PLAN, MADE_BY, STOP)
    for trial in plan.trials_to_run():
        files = TrialFiles(folder, trial)
        if not files.finished:
            files.forget_failures()
        elif files.begun:
            files.finish()


class Source(Protocol):
    """Where a crew gets its trials from."""

    def has_more(self) -> bool:
        """Return whether there are trials to give out, now or after others have ended."""

    def take(self) -> tuple[Trial, str] | None:
        """Return the next trial and its plan as JSON; None if it waits for others to end."""


class Listed:
    """Trials that are known from the beginning, each with its plan as JSON."""

    def __init__(self, trials: Iterable[tuple[Trial, str]]) -> None:
        self._trials = deque(trials)

    def has_more(self) -> bool:
        """Return whether there is any."""
        return bool(self._trials)

    def take(self) -> tuple[Trial, str] | None:
        """Return the first of those that are left."""
        return self._trials.popleft() if self._trials else None


class Shift:
    """What a crew does from its first trial to its last: only a few jobs are given to it at a time.

    Args:
        crew: the processes.
        folder: where trials leave their files.
        source: where trials come from.
        job: what a process does for a trial.
    """

    def __init__(self, crew: Crew, folder: Path, source: Source, job: Job) -> None:
        self._crew, self._job, self._folder, self._source = crew, job, folder.absolute(), source
        self._retries: deque[tuple[Trial, str]] = deque()
        """Trials whose process died."""
        self._jobs: dict[Future[Any], tuple[Trial, str]] = {}
        self._deaths = 0
        self._stopping = False
        self._problem: OutputError | EngineError | None = None

    def work(self, on_end: OnEnd, stop: Callable[[], bool], watch: Watch) -> None:
        """Run trials until all have ended, or a stop."""
        try:
            while self._goes_on():
                watch([trial for trial, _ in self._jobs.values()])
                for trial, ended in self._ended():
                    write_log(self._folder, trial, ended)
                    on_end(trial, ended)
                if stop():
                    self._stop()
        except BaseException:
            with suppress(OSError):
                (self._folder / STOP).touch()  # what cannot be ended from here ends by itself
            raise

    def end(self) -> None:
        """Raise where the files of a trial could not be written: the others have stopped by then."""
        if not isinstance(self._problem, EngineError):  # else some may still run, out of reach
            (self._folder / STOP).unlink(missing_ok=True)
        if self._problem is not None:
            raise self._problem

    def _goes_on(self) -> bool:
        """Give the crew what it can take; return whether anything is still to come of it."""
        if self._stopping:
            return bool(self._jobs) and self._crew.places() > 0  # without workers no job would ever come back
        n_free = self._crew.places() - len(self._jobs)
        while n_free > 0 and (assignment := self._next()) is not None:
            trial, plan = assignment
            trial_key = (trial.system, trial.task, trial.seed)
            self._jobs[self._crew.submit(self._job, os.fspath(self._folder), plan, trial_key)] = assignment
            n_free -= 1
        return bool(self._jobs or self._retries or self._source.has_more())

    def _next(self) -> tuple[Trial, str] | None:
        """Return a trial to run; those whose process died come after all others."""
        assignment = self._source.take()
        return self._retries.popleft() if assignment is None and self._retries else assignment

    def _ended(self) -> Iterator[tuple[Trial, Ended]]:
        """Wait a little; yield the trials that have ended. One whose process died is left for later."""
        if not self._jobs:
            time.sleep(LOOK_EVERY)  # a cluster whose workers are gone may get others
        finished, _ = wait(self._jobs, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED)
        for future in finished:
            trial, plan = self._jobs.pop(future)
            try:
                ended = self._crew.result(future) or self._after_death(trial, plan)
            except (OutputError, EngineError) as problem:
                self._problem = self._problem or problem
                self._stop()
                continue
            if ended is not None:
                self._deaths = 0
                if ended != NOT_BEGUN:
                    yield trial, ended

    def _after_death(self, trial: Trial, plan: str) -> Ended | None:
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
        self._retries.append((trial, plan))
        return None

    def _stop(self) -> None:
        """Ask running trials to save where they stand, and begin no other."""
        if not self._stopping:
            self._stopping = True
            write_text(self._folder / STOP, "")
