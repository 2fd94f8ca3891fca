"""Worker processes for environments that are stepped in Python, which threads cannot do side by side.

Each worker plays a slice of the jobs in lanes of its own, which it keeps between plays. Episodes depend on
their individual and seed alone, so results are the same for any number of workers, and whether to use them at
all may be decided by the clock: processes take seconds to start, which short plays do not earn back.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import signal
import threading
import time
import weakref
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import pairwise
from typing import Any

import cloudpickle  # type: ignore[import-untyped]  # it has no types; loky brings it
import gymnasium
import numpy as np
from loky import ProcessPoolExecutor  # type: ignore[import-untyped]  # it has no types
from numpy.typing import NDArray

from ifthen.errors import EngineError, TaskError
from ifthen.inference.rulebook import Rulebook, choose_lanes
from ifthen.rollout.episodes import Episodes
from ifthen.rollout.game import Actions, lanes_of, play
from ifthen.rollout.native import NativeLanes
from ifthen.rollout.vector_envs import SYNC_LANES
from ifthen.tasks.env_task import EnvTask

START_SECONDS = 4.0
"""A play that takes one process longer than this is worth starting workers for,"""
SPREAD_SECONDS = 0.1
"""and one that takes longer than this is worth giving to workers that have started."""
SLICES_PER_WORKER = 4
SLICE = 16
"""The fewest episodes that are worth handing to a worker."""
PARENT_SECONDS = 0.5
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

_pace: weakref.WeakKeyDictionary[EnvTask, float] = weakref.WeakKeyDictionary()
_packed: weakref.WeakKeyDictionary[EnvTask, bytes | None] = weakref.WeakKeyDictionary()
_crew: dict[int, Any] = {}


def play_jobs(
    task: EnvTask, rules: Rulebook, individuals: NDArray[np.int64], seeds: NDArray[np.int64], threads: int
) -> Episodes:
    """Play one episode per pair of an individual and a reset seed, with workers where that is faster.

    Args:
        task: the task.
        rules: the rules of all individuals.
        individuals: `(m,)`, who plays.
        seeds: `(m,)`, from which reset seed.
        threads: how many processes may play.

    Returns:
        What came out, all arrays `(m,)`.
    """
    if threads <= 1 or len(seeds) < 2 or isinstance(lanes_of(task), NativeLanes):
        return _here(task, rules, individuals, seeds)
    first = 0 if task in _pace else min(SYNC_LANES, len(seeds))
    parts = [_here(task, rules, individuals[:first], seeds[:first])] if first else []
    rest = individuals[first:], seeds[first:]
    if len(rest[0]):
        enough = SPREAD_SECONDS if threads in _crew else START_SECONDS
        spread = _pace[task] * len(rest[0]) > enough and packed(task) is not None
        parts.append(play_spread(task, rules, *rest, threads) if spread else _here(task, rules, *rest))
    return Episodes(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def actions_of(rules: Rulebook) -> Actions:
    """Return how the individuals of a rulebook choose, as one compiled call for all lanes."""

    def write(individuals: NDArray[np.int64], points: NDArray[np.float64], out: NDArray[np.int64]) -> None:
        choose_lanes(rules, individuals, points, out)

    return write


def _here(
    task: EnvTask, rules: Rulebook, individuals: NDArray[np.int64], seeds: NDArray[np.int64]
) -> Episodes:
    """Play in this process, and remember how long an episode took."""
    began = time.perf_counter()
    found = play(task, individuals, seeds, actions_of(rules))
    if len(seeds):
        _pace[task] = (time.perf_counter() - began) / len(seeds)
    return found


def play_spread(
    task: EnvTask, rules: Rulebook, individuals: NDArray[np.int64], seeds: NDArray[np.int64], workers: int
) -> Episodes:
    """Play in worker processes; arguments and result are those of `play_jobs`."""
    package = packed(task)
    slices = min(workers * SLICES_PER_WORKER, -(-len(seeds) // SLICE)) or 1
    edges = [len(seeds) * i // slices for i in range(slices + 1)]
    crew = _crew_of(workers)
    futures: list[Any] = []
    try:
        for first, last in pairwise(edges):
            own = individuals[first:last]
            low, high = int(own.min()), int(own.max()) + 1
            part = rules.take(slice(low, high))
            futures.append(crew.submit(_job, package, part, own - low, seeds[first:last]))
        parts = [future.result() for future in futures]
    except BrokenProcessPool:
        end_workers()
        raise EngineError(
            f"a worker process that played {task.name} died. Play with one thread to see why, or give the "
            "machine more memory."
        ) from None
    except TaskError:
        for future in futures:
            future.cancel()
        raise
    except BaseException:
        end_workers()  # an interrupt must not leave them at work
        raise
    return Episodes(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def packed(task: EnvTask) -> bytes | None:
    """Return a task as bytes for workers, or None where that cannot be done, as with some factories."""
    if task not in _packed:
        try:
            spec = gymnasium.registry.get(task.environment)
            _packed[task] = cloudpickle.dumps((task, spec))
        except Exception:  # whatever an object raises that does not want to be pickled
            _packed[task] = None
    return _packed[task]


def _crew_of(workers: int) -> Any:
    """Return an executor with so many processes, made once; another number ends those before."""
    if workers not in _crew:
        end_workers()
        _crew[workers] = ProcessPoolExecutor(
            workers, env=ONE_THREAD, initializer=_start, initargs=(os.getpid(),)
        )
    return _crew[workers]


def end_workers() -> None:
    """End the worker processes, if there are any."""
    while _crew:
        _, crew = _crew.popitem()
        crew.shutdown(wait=True, kill_workers=True)


atexit.register(end_workers)


def _start(parent: int) -> None:
    """Let this process do what its parent says, as long as there is one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process soon after its parent has ended."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(1)


def _job(
    package: bytes, rules: Rulebook, individuals: NDArray[np.int64], seeds: NDArray[np.int64]
) -> Episodes:
    """Play a slice of the jobs, in a worker."""
    return play(_unpacked(package), individuals, seeds, actions_of(rules))


@functools.lru_cache(maxsize=4)
def _unpacked(package: bytes) -> EnvTask:
    """Return a task; its environment may be one that only the parent has registered."""
    task, spec = cloudpickle.loads(package)
    if spec is not None:
        if isinstance(spec.entry_point, str):
            with suppress(ImportError):  # most modules of environments register them
                importlib.import_module(spec.entry_point.partition(":")[0])
        gymnasium.registry.setdefault(spec.id, spec)
    made: EnvTask = task
    return made
