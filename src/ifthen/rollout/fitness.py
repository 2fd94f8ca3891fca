"""Fitness of whole populations: policy tables in, performance out, each distinct table played once.

On common random numbers performance is a function of the policy table alone, so results are kept
from one generation to the next.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from ifthen.rollout.tabular import Measured, play
from ifthen.tasks.solve import exact_performances
from ifthen.tasks.tabular import Method, Noise, TabularTask

REMEMBERED = 100_000

Result = tuple[float, int, int, bool]
"""Performance, steps, truncated episodes, failed."""


class Fitness:
    """Measures policy tables in a task and remembers what it measured.

    Args:
        task: the task.
        method: "sampled" or "exact".
        noise: "aligned" or "stream", where sampled.
        threads: how many threads to use; results do not depend on it.
    """

    def __init__(self, task: TabularTask, method: Method, noise: Noise, threads: int) -> None:
        self.task, self.method, self.noise, self.threads = task, method, noise, threads
        self._known: dict[bytes, Result] = {}

    @property
    def episodes(self) -> int:
        """Episodes it takes to measure one policy that never fails."""
        return len(self.task.z) if self.method == "sampled" else 0

    def measure(self, tables: NDArray[np.int16]) -> Measured:
        """Measure policy tables `(n, D)`."""
        keys = [blake2b(table.tobytes(), digest_size=16).digest() for table in tables]
        fresh = {key: i for i, key in enumerate(keys) if key not in self._known}
        if fresh:
            if len(self._known) + len(fresh) > REMEMBERED:
                self._known.clear()
                fresh = {key: i for i, key in enumerate(keys)}
            results = self._measure_each(tables[list(fresh.values())])
            self._known.update(zip(fresh, results, strict=True))
        rows = [self._known[key] for key in keys]
        performance, steps, truncated, failed = zip(*rows, strict=True)
        return Measured(np.array(performance), np.array(steps), np.array(truncated), np.array(failed))

    def _measure_each(self, tables: NDArray[np.int16]) -> list[Result]:
        if self.method == "exact":
            values = exact_performances(self.task, tables, self.threads).tolist()
            return [(self.task.floor, 0, 0, True) if v != v else (v, 0, 0, False) for v in values]
        result = play(self.task, tables, self.noise, self.threads)
        return list(
            zip(
                result.performance.tolist(),
                result.steps.tolist(),
                result.truncated.tolist(),
                result.failed.tolist(),
                strict=True,
            )
        )
