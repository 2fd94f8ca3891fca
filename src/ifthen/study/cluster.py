"""Trials on the workers of a Dask cluster: a running one, or processes of this machine."""

from __future__ import annotations

import hashlib
import platform
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ifthen.errors import EngineError
from ifthen.study.engines import Crew, Job
from ifthen.study.study_folder import maker_here
from ifthen.study.trial import Ended

CONNECT_SECONDS = 5
"""The seconds to wait for the scheduler."""
WORKERS_SECONDS = 10
"""The seconds to wait for the first worker."""
GONE_SECONDS = 60
"""The seconds to wait for workers of this machine that have died."""
IGNORE_SIGNALS = "from ifthen.parallel import ignore_signals; ignore_signals()"
WINDOW = 2
"""The number of jobs per worker that a cluster gets at a time: enough to keep all busy, few enough to stop
soon."""


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
            crew = DaskCrew(client, plan, owns_cluster=self.address is None)
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

    def __init__(self, client: Any, plan: Path, owns_cluster: bool) -> None:
        self._client, self._plan, self._owns_cluster = client, str(plan), owns_cluster
        self._last_seen = time.monotonic()
        self._executor = client.get_executor(pure=False)
        self._expected = worker_view(self._plan)

    def check(self) -> None:
        """Raise unless there are workers, each with one thread, our versions and our view of the folder."""
        address = self._client.scheduler.address
        try:
            self._client.wait_for_workers(1, timeout=WORKERS_SECONDS)
            threads = self._client.nthreads()
            views = self._client.run(worker_view, self._plan, on_error="return")
        except TimeoutError:
            raise EngineError(
                f"the Dask scheduler at {address} has no workers after {WORKERS_SECONDS} s. "
                f"Start some with 'dask worker {address} --nthreads 1'."
            ) from None
        except OSError as problem:
            raise _lost(address, problem) from None
        for worker, view in views.items():
            if isinstance(view, BaseException):
                reason = f"{type(view).__name__}: {view}"
                raise EngineError(
                    f"the worker {worker} cannot run ifthen: {reason}. Install the same version there."
                )
            _compare(f"the worker {worker}", self._expected, view)
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
        if workers or not self._owns_cluster:
            self._last_seen = time.monotonic()
        elif time.monotonic() - self._last_seen > GONE_SECONDS:
            raise EngineError(
                f"the Dask workers of this machine have died and not come back for {GONE_SECONDS} s. "
                "The same command goes on from the last checkpoints."
            )
        return WINDOW * workers

    def submit(self, job: Job, folder: str, plan_json: str, trial: tuple[str, str, int]) -> Future[Any]:
        """Have a job done by any worker, once it has seen that it can."""
        future: Future[Any] = self._executor.submit(
            checked_job, self._expected, self._plan, job, folder, plan_json, trial
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


def worker_view(plan: str) -> dict[str, str]:
    """Return what results depend on, as this process sees it: versions, sources, and the study's plan."""
    try:
        plan_state = "with hash " + hashlib.blake2b(Path(plan).read_bytes(), digest_size=8).hexdigest()
    except OSError as problem:
        plan_state = f"not readable ({problem.strerror or problem})"
    return {**maker_here(), plan: plan_state}


def checked_job(
    expected: dict[str, str], plan: str, job: Job, folder: str, plan_json: str, trial: tuple[str, str, int]
) -> Ended:
    """Do a job, unless this worker, which may have joined late, differs from the one that asks for it."""
    _compare(f"a worker on {platform.node()}", expected, worker_view(plan))
    return job(folder, plan_json, trial)


def _compare(worker: str, expected: dict[str, str], view: dict[str, str]) -> None:
    """Raise if a worker sees other versions or another folder, naming the first difference."""
    for name, value in expected.items():
        actual = view.get(name, "not known")
        if actual != value:
            raise EngineError(
                f"{worker} differs: {name} is {actual} there, {value} here. "
                "Workers need the same versions and the study's folder under the same path."
            )


def _lost(address: str, reason: object) -> EngineError:
    return EngineError(
        f"the Dask scheduler at {address} is gone: {reason}. The same command goes on from "
        "the last checkpoints."
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
            "the engine 'dask' needs the package distributed: pip install distributed."
        ) from None
    return distributed
