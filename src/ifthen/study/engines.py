"""Where the trials of a study run: the contract of an engine, and the processes of this machine.

An engine gathers a crew of processes, and the crew takes jobs. Every engine gives the same files: a job has
plain arguments and writes to the study's folder, which every process must see under the same path.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from loky import ProcessPoolExecutor  # type: ignore[import-untyped]  # it has no types

from ifthen.parallel import ONE_THREAD, start_worker
from ifthen.study.trial import Ended

Job = Callable[[str, str, tuple[str, str, int]], Ended]
"""Runs a trial in a process, given the study's folder, its plan as JSON, and the trial."""


class Crew(Protocol):
    """Processes that run trials."""

    def places(self) -> int:
        """Return how many jobs it can take now; workers may come and go."""

    def submit(self, job: Job, folder: str, plan_json: str, trial: tuple[str, str, int]) -> Future[Any]:
        """Have a job done."""

    def result(self, future: Future[Any]) -> Ended | None:
        """Return how a job that is done ended, or None where its process died."""


class Engine(Protocol):
    """A kind of crew."""

    def crew(self, plan: Path) -> AbstractContextManager[Crew]:
        """Gather a crew for the study whose plan is in a file; raises where there can be none."""


@dataclass
class Local:
    """Processes of this machine, spawned, with one thread each, and the crew that they are.

    Each has an executor of its own, as a death ends all processes of an executor.
    """

    workers: int
    _executors: list[Any] = field(default_factory=list, init=False, compare=False)
    _jobs: dict[Future[Any], int] = field(default_factory=dict, init=False, compare=False)

    @contextmanager
    def crew(self, plan: Path) -> Iterator[Crew]:
        """Have processes ready to start; at the end none is left, whatever it was doing.

        They end by SIGKILL; an interrupt while one ends spares none of the others.
        """
        self._executors = [_one_process() for _ in range(self.workers)]
        self._jobs = {}
        try:
            yield self
        finally:
            with ExitStack() as stack:
                for executor in self._executors:
                    stack.callback(executor.shutdown, wait=True, kill_workers=True)

    def start(self) -> None:
        """Have all processes start now, rather than each with its first job: importing takes seconds."""
        for executor in self._executors:
            executor.submit(_started)

    def places(self) -> int:
        """Return the number of processes: none has a job waiting that another could do."""
        return len(self._executors)

    def submit(self, job: Job, folder: str, plan_json: str, trial: tuple[str, str, int]) -> Future[Any]:
        """Have a job done by a process that has none."""
        slot = min(set(range(len(self._executors))) - set(self._jobs.values()))
        try:
            future: Future[Any] = self._executors[slot].submit(job, folder, plan_json, trial)
        except BrokenProcessPool:  # it died between two jobs
            self._replace(slot)
            future = self._executors[slot].submit(job, folder, plan_json, trial)
        self._jobs[future] = slot
        return future

    def result(self, future: Future[Any]) -> Ended | None:
        """Return how a job ended, or None where its process has died."""
        slot = self._jobs.pop(future)
        try:
            ended: Ended = future.result()
        except (BrokenProcessPool, CancelledError):
            self._replace(slot)
            return None
        return ended

    def _replace(self, slot: int) -> None:
        """Have another process in the place of one that died."""
        self._executors[slot].shutdown(wait=True, kill_workers=True)
        self._executors[slot] = _one_process()


def _started() -> None:
    """Do nothing: what jobs need is imported before this can be called."""


def _one_process() -> Any:
    """Return an executor that starts a process with its first job."""
    return ProcessPoolExecutor(1, env=ONE_THREAD, initializer=start_worker, initargs=(os.getpid(),))
