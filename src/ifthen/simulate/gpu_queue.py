"""Queues of work for the GPU: which work begins first, and how threads of the host wait for it.

Work in one queue is done in its order; work of several queues is done at the same time, as far as it fits.
A kernel with thousands of blocks would hold up the small kernels of all other queues until its last block
has begun. So queues have ranks, and the GPU begins the blocks of the most urgent queue first.
"""

from __future__ import annotations

import importlib
import time
import weakref
from typing import Any

from numba import cuda as _cuda

from ifthen.simulate.gpu import GpuStream, simulated

cuda: Any = _cuda  # a part of Numba without types
FIRST_POLL_SECONDS, LONGEST_POLL_SECONDS, POLL_GROWTH = 0.001, 0.008, 1.1
"""How long a thread sleeps between two questions whether its work is done: the longer, the longer it took."""
NON_BLOCKING = 1
"""CU_STREAM_NON_BLOCKING: the queue does not wait for the one that all share."""


def new_queue(rank: float = 1.0) -> GpuStream:
    """Return a queue of work.

    Args:
        rank: from 0 for the most urgent work to 1 for what can wait. Devices tell about six ranks apart.
    """
    if simulated():
        return 0
    cuda.current_context()
    driver = importlib.import_module("numba.cuda.cudadrv.driver").driver
    least_urgent, most_urgent = (int(priority) for priority in driver.cuCtxGetStreamPriorityRange())
    priority = round(most_urgent + rank * (least_urgent - most_urgent))
    handle = driver.cuStreamCreateWithPriority(NON_BLOCKING, priority)
    queue: Any = cuda.external_stream(int(handle))
    weakref.finalize(queue, driver.cuStreamDestroy, handle).atexit = False  # the context is gone by then
    return queue  # type: ignore[no-any-return]  # Numba has no types


class Mark:
    """A place in a queue of work: all that stands in it now.

    Args:
        queue: the queue.
    """

    def __init__(self, queue: GpuStream) -> None:
        self._event: Any = None
        if queue and not simulated():
            self._event = cuda.event(timing=False)
            self._event.record(queue)

    def wait(self) -> None:
        """Wait until the work before it is done, and let other threads use the device meanwhile.

        A thread that waits in the driver holds up the launches of all threads and keeps a processor busy.
        Threads that ask all the time hold each other up, too.
        """
        pause = FIRST_POLL_SECONDS
        while self._event is not None and not self._event.query():
            time.sleep(pause)
            pause = min(POLL_GROWTH * pause, LONGEST_POLL_SECONDS)


def wait_for(queue: GpuStream) -> None:
    """Wait for the work of a queue."""
    Mark(queue).wait()
