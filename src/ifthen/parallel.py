"""Threads: the same kernel over disjoint slices of a population. And how worker processes start.

Kernels release the GIL and write only to their own slice of the output, so results do not
depend on the number of threads. Plain threads keep compilation short and leave the process
safe to fork, which Numba's own parallel loops do not. Work must not call `for_slices` itself.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any

from ifthen.checks import whole_number

CHUNKS_PER_THREAD = 4
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""The environment variables of worker processes."""
PARENT_SECONDS = 0.5
"""The seconds between two checks of a worker whether its parent still runs."""


def available_threads() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def checked_threads(threads: int | None, name: str = "threads") -> int:
    """Return how many threads or processes to use: as given, or one per core where None."""
    return available_threads() if threads is None else whole_number(name, threads, 1, 1024)


@functools.cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Return the pool of this process: a forked child must not inherit its parent's."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"ifthen-{process}")


def for_slices(work: Callable[[int, int], None], n: int, threads: int, grain: int = 1) -> None:
    """Call `work(first, last)` over slices that together cover `range(n)`.

    Args:
        work: writes the results of items `first` (included) to `last` (excluded).
        n: the number of items.
        threads: how many threads to use; 1 calls `work(0, n)` directly.
        grain: the fewest items that are worth handing to a thread.
    """
    chunks = min(n // grain, threads * CHUNKS_PER_THREAD)
    if threads <= 1 or chunks <= 1:
        work(0, n)
        return
    edges = [n * i // chunks for i in range(chunks + 1)]
    pool = _pool(threads, os.getpid())
    for future in [pool.submit(work, first, last) for first, last in pairwise(edges)]:
        future.result()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let products of matrices take one thread each, so that their last bits do not depend on the machine.

    Small ones gain nothing by more threads, and beside other processes they take many times as long.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits


def start_worker(parent: int) -> None:
    """Let this process do what its parent says, as long as there is one."""
    ignore_signals()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def ignore_signals() -> None:
    """Leave it to the parent to say when to stop: Ctrl-C, systemd and Slurm reach all processes at once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _end_with(parent: int) -> None:
    """End this process soon after its parent has ended: whoever resumes its work must be alone."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(1)
