"""The simulator that plays in worker processes.

It is for environments that are stepped in Python, which threads cannot do side by side.

Each worker plays a slice of the jobs in lanes of its own, which it keeps between plays. Episodes depend on
their individual and seed alone, so results are the same for any number of workers, and whether to use them at
all may be decided by the clock: processes take seconds to start, which short plays do not earn back.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import pairwise
from typing import Any

import cloudpickle  # type: ignore[import-untyped]  # it has no types; loky brings it
import gymnasium
import numpy as np
from loky import ProcessPoolExecutor  # type: ignore[import-untyped]  # it has no types

from ifthen.errors import EngineError, TaskError
from ifthen.parallel import ONE_THREAD, start_worker
from ifthen.rules.arrays import Ints
from ifthen.rules.batch import Intervals
from ifthen.simulate.lanes import MOST_LANES
from ifthen.simulate.trajectories import Actions, Episodes, Trajectory, joined
from ifthen.simulate.vector_simulator import VectorSimulator

START_SECONDS = 4.0
"""Starting workers pays off for a play that takes one process longer than this."""
SPREAD_SECONDS = 0.1
"""Handing a play to workers that have started pays off above this."""
SLICES_PER_WORKER = 4
SLICE = 16
"""The fewest episodes that are worth handing to a worker."""

_executors: dict[int, Any] = {}


class WorkerSimulator(VectorSimulator):
    """Plays rules in worker processes where that is faster than in this one.

    It takes what `EnvSimulator` takes; `threads` is how many processes may play.
    """

    _pace: float | None = None
    """Seconds per episode in this process; None before anything was played."""

    def play_jobs(self, rules: Intervals, rulesets: Ints, seeds: Ints) -> Episodes:
        """Play one episode per pair of a ruleset and a reset seed, with workers where that is faster."""
        if len(seeds) < 2:
            return self._play_here(rules, rulesets, seeds)
        n_first = 0 if self._pace is not None else min(MOST_LANES, len(seeds))
        played = [self._play_here(rules, rulesets[:n_first], seeds[:n_first])] if n_first else []
        remaining = rulesets[n_first:], seeds[n_first:]
        if len(remaining[0]):
            use_workers = self._pays((self._pace or 0.0) * len(remaining[0]))
            played.append(
                self.play_spread(rules, *remaining) if use_workers else self._play_here(rules, *remaining)
            )
        return joined(played)

    def _play_here(self, rules: Intervals, rulesets: Ints, seeds: Ints) -> Episodes:
        """Play in this process, and remember how long an episode took."""
        start = time.perf_counter()
        episodes = super().play_jobs(rules, rulesets, seeds)
        if len(seeds):
            self._pace = (time.perf_counter() - start) / len(seeds)
        return episodes

    def record_each(self, act: Actions, seeds: Ints) -> list[Trajectory]:
        """Play k episodes by a policy that is told which of them a point is from."""
        start = time.perf_counter()
        if len(seeds) > 1 and self._pays((self._pace or 0.0) * len(seeds)):
            numbers = np.array_split(np.arange(len(seeds)), self.threads)
            jobs = [
                (act, episode_numbers, seeds[episode_numbers])
                for episode_numbers in numbers
                if len(episode_numbers)
            ]
            return [trajectory for recorded in self._spread(_record_job, jobs) for trajectory in recorded]
        trajectories = self.record_alone(act, seeds)
        if len(seeds):
            self._pace = (time.perf_counter() - start) / len(seeds)
        return trajectories

    def record_alone(self, act: Actions, seeds: Ints) -> list[Trajectory]:
        """Play as `record_each` does, in this process."""
        return super().record_each(act, seeds)

    def _pays(self, seconds: float) -> bool:
        """Return whether handing so much work to workers pays off."""
        threshold = SPREAD_SECONDS if self.threads in _executors else START_SECONDS
        return seconds > threshold and self._package is not None

    def play_spread(self, rules: Intervals, rulesets: Ints, seeds: Ints) -> Episodes:
        """Play in worker processes; arguments and result are those of `play_jobs`."""
        slices = min(self.threads * SLICES_PER_WORKER, -(-len(seeds) // SLICE)) or 1
        edges = [len(seeds) * i // slices for i in range(slices + 1)]
        jobs = []
        for first, last in pairwise(edges):
            slice_rulesets = rulesets[first:last]
            low, high = int(slice_rulesets.min()), int(slice_rulesets.max()) + 1
            names = (
                "lows",
                "highs",
                "actions",
                "learnt",
                "lengths",
                *(("terms",) if rules.terms.size else ()),
            )
            columns: dict[str, Any] = {name: getattr(rules, name)[low:high] for name in names}
            jobs.append((rules._replace(**columns), slice_rulesets - low, seeds[first:last]))
        return joined(self._spread(_job, jobs))

    def _spread(self, job: Callable[..., Any], jobs: list[tuple[Any, ...]]) -> list[Any]:
        """Return what a job gives for parts of the work, done by worker processes."""
        executor, futures = _executor_of(self.threads), list[Any]()
        try:
            futures += [executor.submit(job, self._package, *arguments) for arguments in jobs]
            return [future.result() for future in futures]
        except BrokenProcessPool:
            end_workers()
            raise EngineError(
                f"a worker process that played {self.task.name} died. Play with one thread to see why, or "
                "give the machine more memory."
            ) from None
        except TaskError:
            for future in futures:
                future.cancel()
            raise
        except BaseException:
            end_workers()  # an interrupt must not leave them at work
            raise

    @functools.cached_property
    def _package(self) -> bytes | None:
        """The task as bytes for workers; None where that cannot be done, as with some factories."""
        try:
            spec = gymnasium.registry.get(self.task.environment)
            package: bytes = cloudpickle.dumps((self.task, spec))
        except Exception:  # whatever an object raises that does not want to be pickled
            return None
        return package


def _executor_of(workers: int) -> Any:
    """Return an executor with this number of processes, made once; another number ends the old ones."""
    if workers not in _executors:
        end_workers()
        _executors[workers] = ProcessPoolExecutor(
            workers, env=ONE_THREAD, initializer=start_worker, initargs=(os.getpid(),)
        )
    return _executors[workers]


def end_workers() -> None:
    """End the worker processes, if there are any."""
    while _executors:
        _, executor = _executors.popitem()
        executor.shutdown(wait=True, kill_workers=True)


atexit.register(end_workers)


def _job(package: bytes, rules: Intervals, rulesets: Ints, seeds: Ints) -> Episodes:
    """Play a slice of the jobs, in a worker."""
    return _unpacked(package).play_jobs(rules, rulesets, seeds)


def _record_job(package: bytes, act: Actions, numbers: Ints, seeds: Ints) -> list[Trajectory]:
    """Play some of the episodes step by step, in a worker."""
    return _unpacked(package).record_numbered(act, numbers, seeds)


@functools.lru_cache(maxsize=4)
def _unpacked(package: bytes) -> VectorSimulator:
    """Return a task's simulator; its environment may be one that only the parent has registered."""
    task, spec = cloudpickle.loads(package)
    if spec is not None:
        if isinstance(spec.entry_point, str):
            with suppress(ImportError):  # most modules of environments register them
                importlib.import_module(spec.entry_point.partition(":")[0])
        gymnasium.registry.setdefault(spec.id, spec)
    return VectorSimulator(task)
