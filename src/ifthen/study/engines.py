"""Where the trials of a study run: in processes of this machine, or on the workers of a Dask cluster.

An engine gathers a crew, the crew takes jobs. Both engines give the same files: a job's arguments are plain,
and all that it leaves is in the study's folder, which every process must see under the same path.
"""

from __future__ import annotations

import hashlib
import os
import platform
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from loky import ProcessPoolExecutor  # type: ignore[import-untyped]  # it has no types

from ifthen.errors import EngineError, ParameterError, nearest
from ifthen.jit import sources_hash
from ifthen.provenance import versions
from ifthen.study.trial import Ended
from ifthen.systems.base import checked_threads

ENGINES = ("local", "dask")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
CONNECT_SECONDS = 5
WORKERS_SECONDS = 10
PARENT_SECONDS = 0.5
GONE_SECONDS = 60
IGNORE_SIGNALS = "from ifthen.study.engines import ignore_signals; ignore_signals()"
WINDOW = 2
"""Jobs given to a cluster at a time, per worker: enough to keep all busy, few enough to stop soon."""

Job = Callable[[str, str, tuple[str, str, int]], Ended]
"""What a process does for a trial: of the study's folder, its plan as JSON, and the trial."""


class Crew(Protocol):
    """Processes that run trials."""

    def places(self) -> int:
        """Return how many jobs can be given to it at a time: at present, as workers may come and go."""

    def submit(self, job: Job, folder: str, plan_json: str, trial: tuple[str, str, int]) -> Future[Any]:
        """Have a job done."""

    def result(self, future: Future[Any]) -> Ended | None:
        """Return how a job that is done ended, or None where its process died."""


class Engine(Protocol):
    """A kind of crew."""

    def crew(self, plan: Path) -> AbstractContextManager[Crew]:
        """Gather a crew for the study whose plan is in a file; raises where there can be none."""


def engine_by_name(name: str, workers: int | None, address: str | None) -> Engine:
    """Return an engine.

    Args:
        name: "local" or "dask".
        workers: how many processes on this machine; one per core by default.
        address: of the scheduler of a running Dask cluster, such as `tcp://10.0.0.1:8786`.
    """
    if name not in ENGINES:
        raise ParameterError(f"there is no engine {name!r}.{nearest(name, ENGINES)}")
    if address is None:
        processes = checked_threads(workers, "workers")
        return Local(processes) if name == "local" else Dask(processes)
    if name == "local":
        raise ParameterError("an address is that of a Dask cluster: give --engine dask with --address.")
    if workers is not None:
        raise ParameterError("a cluster at an address has workers of its own: leave out --workers.")
    return Dask(address=address)


@dataclass(frozen=True)
class Local:
    """Processes of this machine, spawned, with one thread each."""

    workers: int

    @contextmanager
    def crew(self, plan: Path) -> Iterator[Crew]:
        """Have processes ready to start; at the end none is left, whatever it was doing."""
        crew = LocalCrew(self.workers)
        try:
            yield crew
        finally:
            crew.end()


class LocalCrew:
    """Processes of this machine, each with an executor of its own, as a death ends all of an executor's.

    Args:
        workers: how many processes.
    """

    def __init__(self, workers: int) -> None:
        self._executors = [_one_process() for _ in range(workers)]
        self._jobs: dict[Future[Any], int] = {}

    def places(self) -> int:
        """Return the number of processes: none has a job waiting that another could do."""
        return len(self._executors)

    def submit(self, job: Job, folder: str, plan_json: str, trial: tuple[str, str, int]) -> Future[Any]:
        """Have a job done by a process that has none."""
        place = min(set(range(len(self._executors))) - set(self._jobs.values()))
        try:
            future: Future[Any] = self._executors[place].submit(job, folder, plan_json, trial)
        except BrokenProcessPool:  # it died between two jobs
            self._replace(place)
            future = self._executors[place].submit(job, folder, plan_json, trial)
        self._jobs[future] = place
        return future

    def result(self, future: Future[Any]) -> Ended | None:
        """Return how a job ended, or None where its process has died."""
        place = self._jobs.pop(future)
        try:
            ended: Ended = future.result()
        except (BrokenProcessPool, CancelledError):
            self._replace(place)
            return None
        return ended

    def _replace(self, place: int) -> None:
        """Have another process in the place of one that died."""
        self._executors[place].shutdown(wait=True, kill_workers=True)
        self._executors[place] = _one_process()

    def end(self) -> None:
        """End all processes, by SIGKILL; an interrupt while one ends spares none of the others."""
        with ExitStack() as stack:
            for executor in self._executors:
                stack.callback(executor.shutdown, wait=True, kill_workers=True)


def _one_process() -> Any:
    """Return an executor that starts a process with its first job."""
    return ProcessPoolExecutor(1, env=ONE_THREAD, initializer=_start, initargs=(os.getpid(),))


def _start(parent: int) -> None:
    """Let this process do what its parent says, as long as there is one."""
    ignore_signals()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def ignore_signals() -> None:
    """Leave it to the parent to say when to stop: Ctrl-C, systemd and Slurm reach all processes at once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _end_with(parent: int) -> None:
    """End this process soon after its parent has ended: whoever resumes the study must be alone."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(1)


@dataclass(frozen=True)
class Dask:
    """The workers of a Dask cluster: a running one, or one of this machine's processes, closed to others."""

    workers: int = 1
    address: str | None = None

    def __post_init__(self) -> None:
        _distributed()

    @contextmanager
    def crew(self, plan: Path) -> Iterator[Crew]:
        """Connect to the cluster and see that every worker of it can run the study."""
        with ExitStack() as stack:
            client = self._running(stack) if self.address else self._started(stack)
            crew = DaskCrew(client, plan, own=self.address is None)
            crew.check()
            yield crew

    def _running(self, stack: ExitStack) -> Any:
        """Return a client of the running cluster."""
        try:
            client = _client(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as problem:
            raise EngineError(
                f"there is no Dask scheduler at {self.address}: {problem}. "
                "Start one with 'dask scheduler', and give the address that it prints."
            ) from None
        return stack.enter_context(client)

    def _started(self, stack: ExitStack) -> Any:
        """Return a client of a cluster of this machine's processes, started for this crew."""
        import dask

        distributed = _distributed()
        scratch = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        stack.enter_context(dask.config.set({"logging.distributed": "critical"}))
        cluster = distributed.LocalCluster(
            n_workers=self.workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            worker_dashboard_address=None,
            memory_limit=0,
            local_directory=scratch,
            silence_logs="CRITICAL",
            preload=[IGNORE_SIGNALS],
        )
        stack.enter_context(cluster)
        client = _client(cluster, timeout=CONNECT_SECONDS, set_as_default=False)
        return stack.enter_context(client)


class DaskCrew:
    """The workers of a Dask cluster: when one dies, the cluster gives its trial to another.

    Args:
        client: a client of the cluster.
        plan: the file with the study's plan, which all of them must see.
        own: whether the cluster was started for this crew.
    """

    def __init__(self, client: Any, plan: Path, own: bool) -> None:
        self._client, self._plan, self._own = client, str(plan), own
        self._seen = time.monotonic()
        self._executor = client.get_executor(pure=False)
        self._ours = look(self._plan)

    def check(self) -> None:
        """Raise unless there are workers, each with one thread, our versions and our view of the folder."""
        address = self._client.scheduler.address
        try:
            self._client.wait_for_workers(1, timeout=WORKERS_SECONDS)
            threads = self._client.nthreads()
            seen = self._client.run(look, self._plan, on_error="return")
        except TimeoutError:
            raise EngineError(
                f"the Dask scheduler at {address} has no workers after {WORKERS_SECONDS} s. "
                f"Start some with 'dask worker {address} --nthreads 1'."
            ) from None
        except OSError as problem:
            raise _lost(address, problem) from None
        for worker, theirs in seen.items():
            if isinstance(theirs, BaseException):
                why = f"{type(theirs).__name__}: {theirs}"
                raise EngineError(
                    f"the worker {worker} cannot run ifthen: {why}. Install the same version there."
                )
            _compare(f"the worker {worker}", self._ours, theirs)
            if threads.get(worker, 1) != 1:
                raise EngineError(
                    f"the worker {worker} has {threads[worker]} threads, but trials take a process each: "
                    "start it with --nthreads 1, and --nworkers for more."
                )

    def places(self) -> int:
        """Return some more than the number of workers, which can change.

        A running cluster may get workers again; of one that was started for this crew nobody else takes care.
        """
        try:
            workers = len(self._client.nthreads())
        except OSError as problem:
            raise _lost(self._client.scheduler.address, problem) from None
        if workers or not self._own:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > GONE_SECONDS:
            raise EngineError(
                f"the Dask workers of this machine have died and not come back for {GONE_SECONDS} s. "
                "The same command goes on from the last checkpoints."
            )
        return WINDOW * workers

    def submit(self, job: Job, folder: str, plan_json: str, trial: tuple[str, str, int]) -> Future[Any]:
        """Have a job done by any worker, once it has seen that it can."""
        future: Future[Any] = self._executor.submit(
            checked_job, self._ours, self._plan, job, folder, plan_json, trial
        )
        return future

    def result(self, future: Future[Any]) -> Ended | None:
        """Return how a job ended, or None where every worker that tried has died."""
        try:
            ended: Ended = future.result()
        except _distributed().KilledWorker:
            return None
        except CancelledError:
            raise _lost(self._client.scheduler.address, "its jobs were cancelled") from None
        return ended


def look(plan: str) -> dict[str, str]:
    """Return what results depend on, as this process sees it: versions, sources, and the study's plan."""
    try:
        seen = "with hash " + hashlib.blake2b(Path(plan).read_bytes(), digest_size=8).hexdigest()
    except OSError as problem:
        seen = f"not readable ({problem.strerror or problem})"
    return {**versions(), "the hash of ifthen's sources": sources_hash(), plan: seen}


def checked_job(
    ours: dict[str, str], plan: str, job: Job, folder: str, plan_json: str, trial: tuple[str, str, int]
) -> Ended:
    """Do a job, unless this worker, which may have joined late, differs from the one that asks for it."""
    _compare(f"a worker on {platform.node()}", ours, look(plan))
    return job(folder, plan_json, trial)


def _compare(who: str, ours: dict[str, str], theirs: dict[str, str]) -> None:
    """Raise if a worker sees other versions or another folder, naming the first difference."""
    for name, value in ours.items():
        there = theirs.get(name, "not known")
        if there != value:
            raise EngineError(
                f"{who} differs: {name} is {there} there, {value} here. "
                "Workers need the same versions and the study's folder under the same path."
            )


def _lost(address: str, why: object) -> EngineError:
    return EngineError(
        f"the Dask scheduler at {address} is gone: {why}. The same command goes on from the last checkpoints."
    )


def _client(*address: Any, **options: Any) -> Any:
    """Return a Dask client.

    Dask gives a thread of its own ten seconds to start, which is too few on a very busy machine: that is
    tried once more.
    """
    try:
        return _distributed().Client(*address, **options)
    except AssertionError:
        return _distributed().Client(*address, **options)


def _distributed() -> Any:
    """Return the package `distributed`, which is slow to import and not always there."""
    try:
        import distributed
    except ImportError:
        raise EngineError(
            "the engine 'dask' needs the package distributed: pip install distributed, "
            "or install ifthen with its extra 'cluster'."
        ) from None
    return distributed
