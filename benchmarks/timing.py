"""Timing for the benchmarks: interleaved repeats, compiled code warmed up, the machine named."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np

from ifthen import PPLDL, PPLST, frozen_lake
from ifthen.parallel import available_threads

Timed = Callable[[], float]
"""Does some work and returns the seconds it took."""


def timed(work: Callable[[], object]) -> Timed:
    """Return a function that does `work` and returns the seconds it took."""

    def run() -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    return run


def best_interleaved(repeats: int, *runs: Timed) -> list[float]:
    """Return the best seconds of each run; they take turns, so that noise of the machine meets all alike."""
    rounds = [[run() for run in runs] for _ in range(repeats)]
    return [min(seconds) for seconds in zip(*rounds, strict=True)]


def warm_up() -> None:
    """Compile every kernel that is measured, or load it from the cache."""
    for p_slip in (0.0, 0.3):
        for system in (PPLST, PPLDL):
            system(frozen_lake(4, p_slip), threads=1, noise="stream").learn(epochs=1)


def machine() -> str:
    """Return the machine and the versions that matter, in a line."""
    return (
        f"{_processor()}, {os.cpu_count()} cores ({available_threads()} usable), "
        f"Python {platform.python_version()}, numba {numba.__version__}, numpy {np.__version__}"
    )


def _processor() -> str:
    """Return the processor's name, or its architecture where the system does not tell."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
