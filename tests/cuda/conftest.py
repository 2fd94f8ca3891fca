"""These tests need a GPU, or Numba's simulator of one: `make test-cuda`, or `tests/simulate/test_gpu.py`."""

import importlib
import threading
from collections.abc import Iterator

import pytest

from ifthen.simulate.gpu import find_device, simulated

if isinstance(find_device(), str):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def patient_simulator() -> Iterator[None]:
    """Let Numba's simulator wait for the threads of a block; it asks them all the time whether they live."""

    def lives(thread: threading.Thread) -> bool:
        if not thread.syncthreads_blocked:  # type: ignore[attr-defined]
            thread.join(0.001)
        return threading.Thread.is_alive(thread)

    with pytest.MonkeyPatch.context() as patch:
        if simulated():
            kernel = importlib.import_module("numba.cuda.simulator.kernel")
            patch.setattr(kernel.BlockThread, "is_alive", lives)
        yield
