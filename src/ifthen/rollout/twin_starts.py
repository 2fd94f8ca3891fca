"""Where episodes begin in a twin: read from the real environment after `reset(seed=…)`, once per seed.

Resetting takes longer than playing many a short episode, and the same seeds come again with every generation.
What was read is kept with the task, and forgotten with it.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.twins.twin import Twin

LISTS_KEPT, SEEDS_KEPT = 64, 100_000


class Beginnings(NamedTuple):
    """Where episodes begin, and when the environment itself would break them off."""

    states: NDArray[np.float64]
    """`(k, state_size)`."""
    points: NDArray[np.float64]
    """`(k, features)`: what is observed there."""
    t_max: int
    """The task's limit of steps, or the environment's where that is less."""


class Memory:
    """What was read of one task's environment."""

    def __init__(self, twin: Twin) -> None:
        self.twin = twin
        self.lists: dict[bytes, Beginnings] = {}
        self.seeds: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self.t_max = 0


_memories: WeakKeyDictionary[EnvTask, Memory] = WeakKeyDictionary()


def starts(
    task: EnvTask, twin: Twin, seeds: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return state and observation of the real environment after each reset; do not write to them.

    Args:
        task: the task.
        twin: its twin.
        seeds: k reset seeds.

    Returns:
        States `(k, state_size)` and points `(k, features)`, as they were observed, not clipped.
    """
    begin = beginnings(task, twin, seeds)
    return begin.states, begin.points


def beginnings(task: EnvTask, twin: Twin, seeds: NDArray[np.int64]) -> Beginnings:
    """Return where the episodes of a list of k reset seeds begin."""
    memory = _memories.get(task)
    if memory is None or memory.twin is not twin:
        memory = _memories[task] = Memory(twin)
    key = np.ascontiguousarray(seeds, dtype=np.int64).tobytes()
    if key not in memory.lists:
        _read(task, memory, [int(seed) for seed in seeds])
        rows = [memory.seeds[int(seed)] for seed in seeds]
        states = np.array([state for state, _ in rows]).reshape(len(rows), twin.state_size)
        points = np.array([point for _, point in rows]).reshape(len(rows), len(task.features))
        for array in (states, points):
            array.flags.writeable = False
        if len(memory.lists) >= LISTS_KEPT:
            memory.lists.clear()
        memory.lists[key] = Beginnings(states, points, memory.t_max)
    return memory.lists[key]


def _read(task: EnvTask, memory: Memory, seeds: list[int]) -> None:
    """Reset the real environment with the seeds that are new."""
    if len(memory.seeds) + len(seeds) > SEEDS_KEPT:
        memory.seeds.clear()
    new = [seed for seed in dict.fromkeys(seeds) if seed not in memory.seeds]
    if not new and memory.t_max:
        return
    env = task.make()
    try:
        own = env.spec.max_episode_steps if env.spec else None
        memory.t_max = min(task.t_max, own or task.t_max)
        for seed in new:
            observation, _ = env.reset(seed=seed)
            point = task.flat.row(observation)
            task.check_points(point[None], f" after reset with seed {seed}")
            memory.seeds[seed] = memory.twin.state_of(env), point
    finally:
        env.close()
