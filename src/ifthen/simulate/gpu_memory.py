"""Populations in the memory of the GPU.

With NUMBA_ENABLE_CUDASIM=1 there is no such memory, and arrays are copied inside that of the CPU.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numba import cuda as _cuda
from numpy.typing import NDArray

from ifthen.rules.batch import Intervals, Layout, RuleBatch, put_interval
from ifthen.rules.feature import Feature
from ifthen.simulate.gpu import THREADS, GpuStream, gpu_kernel, launch, n_blocks, simulated

cuda: Any = _cuda  # a part of Numba without types
FIRST_PAUSE, LONGEST_PAUSE, PAUSE_GROWTH = 0.001, 0.008, 1.1
"""Seconds that a thread sleeps between two questions whether its work is done."""


@gpu_kernel
def lay_out(work: Layout) -> None:
    """Write the intervals of a population, one per thread."""
    item = cuda.grid(1)
    n, rules, features = work.lows.shape
    i, r, d = item // (rules * features), item // features % rules, item % features
    if i < n:
        put_interval(work, i, r, d)


class Memory:
    """Arrays in the memory of the GPU, kept from one generation to the next where their shapes stay.

    Args:
        stream: the queue of the GPU that copies stand in.
    """

    def __init__(self, stream: GpuStream = 0) -> None:
        self._arrays: dict[str, Any] = {}
        self.stream = stream

    def empty(
        self, name: str, shape: int | tuple[int, ...], kind: Any, order: Literal["C", "F"] = "C"
    ) -> Any:
        """Return an array that is not filled; the one that had this name before is given up.

        With order "F" the first index is the one whose numbers are neighbours, as for threads that each have
        their own and go on in step.
        """
        wanted_shape, existing = np.broadcast_shapes(shape), self._arrays.get(name)
        if existing is None or existing.shape != wanted_shape or existing.dtype != kind:
            self._arrays.pop(name, None)
            make = np.empty if simulated() else cuda.device_array
            self._arrays[name] = make(shape, kind, order=order)
        return self._arrays[name]

    def put(self, name: str, value: Any) -> Any:
        """Return a copy of an array, or of a tuple with all arrays in it."""
        if isinstance(value, np.ndarray):
            target, source = self.empty(name, value.shape, value.dtype), np.ascontiguousarray(value)
            if simulated():
                target[...] = source
            elif source.size:
                target.copy_to_device(source, stream=self.stream)
            return target
        if isinstance(value, tuple):
            items = [self.put(f"{name}.{number}", item) for number, item in enumerate(value)]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return value

    def lay_out(self, name: str, rules: RuleBatch, features: Sequence[Feature]) -> Intervals:
        """Return a batch laid out over the features of its task."""
        shape = rules.bounds.shape[:-1]
        lows, highs = (self.empty(f"{name}.{end}", shape, np.float64) for end in ("lows", "highs"))
        work = self.put(f"{name} layout", Layout.of(rules, features, lows, highs))
        launch(lay_out, n_blocks(lows.size), THREADS, work)
        laid_out: Intervals = self.put(name, Intervals.around(rules, features, work.lows, work.highs))
        return laid_out


def wait_for(stream: GpuStream) -> None:
    """Wait for the work of a stream, and let other threads use the device and the processors meanwhile.

    A copy that waits in the driver holds up the launches of all threads, and a thread that waits there keeps
    a processor busy. Threads that ask all the time hold each other up, too.
    """
    if stream and not simulated():
        event, pause = cuda.event(timing=False), FIRST_PAUSE
        event.record(stream)
        while not event.query():
            time.sleep(pause)
            pause = min(PAUSE_GROWTH * pause, LONGEST_PAUSE)


def fetched(array: Any, stream: GpuStream = 0) -> NDArray[Any]:
    """Return an array of the GPU in the memory of the CPU, once the work before it in the stream is done."""
    if isinstance(array, np.ndarray):
        return array.copy()
    wait_for(stream)
    copied: NDArray[Any] = array.copy_to_host(stream=stream)
    if stream:
        stream.synchronize()
    return copied
