"""The stock CartPole as lanes of the vector environment that Gymnasium has for it, all stepped at once.

That environment resets all lanes from one seed, and each lane by itself after its episode. So the state from
which an episode begins is taken from the scalar environment, reset with the episode's seed, and put into the
lane. Both compute a step by the same operations of NumPy in the same order, and their states, rewards and
endings are the same to the last bit, as the tests see. Other environments' vector forms keep their states in
ways of their own and cannot be reset lane by lane; they are played by `SyncLanes`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv, CartPoleVectorEnv
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.rollout.vector_envs import Step
from ifthen.tasks.env_task import EnvTask

NATIVE_LANES = 4096
"""Of CartPole: with fewer lanes NumPy's calls have too little to do, with more they leave the cache."""
NATIVE_OPTIONS = {"sutton_barto_reward", "max_episode_steps"}


class NativeLanes:
    """Lanes of the stock CartPole, all stepped at once by the vector environment that Gymnasium has for it.

    Args:
        task: a task of the stock CartPole; raises TaskError for others.
    """

    limit = NATIVE_LANES

    def __init__(self, task: EnvTask) -> None:
        if not is_native(task):
            raise TaskError(
                f"player='native' plays the stock CartPole only, not {task.name}: other environments' vector "
                "forms cannot be reset lane by lane. Give player='auto' or 'sync'."
            )
        self._scalar = task.make()
        self._id, self._options = task.environment, dict(task.options)
        limit = self._scalar.spec.max_episode_steps or 0
        self._limit = limit if limit > 0 else np.iinfo(np.int32).max
        self._seeds = np.empty(0, dtype=np.int64)
        self._starts = np.empty((4, 0))
        self._vector: Any = None

    def open(self, lanes: int, seeds: NDArray[np.int64]) -> None:
        """Have lanes ready, and the states from which episodes will begin."""
        wanted = np.unique(seeds)
        if not np.array_equal(wanted, self._seeds):
            self._seeds, self._starts = wanted, np.empty((4, len(wanted)))
            for i, seed in enumerate(wanted):
                self._scalar.reset(seed=int(seed))
                self._starts[:, i] = self._scalar.unwrapped.state
        self._vector = self._made(lanes)

    def _made(self, lanes: int) -> Any:
        """Return a vector environment; its own random numbers only ever move lanes that rest."""
        options: dict[str, Any] = {**self._options, "max_episode_steps": self._limit}
        vector: Any = gymnasium.make_vec(
            self._id, num_envs=lanes, vectorization_mode="vector_entry_point", **options
        ).unwrapped
        vector.reset(seed=0)
        return vector

    def start(self, lanes: NDArray[np.int64], seeds: NDArray[np.int64]) -> NDArray[np.float64]:
        """Begin episodes."""
        states = self._starts[:, np.searchsorted(self._seeds, seeds)]
        self._vector.state[:, lanes] = states
        self._vector.steps[lanes] = 0
        self._vector.prev_done[lanes] = False
        return _rows(states.T.astype(np.float32))

    def step(self, actions: NDArray[np.int64]) -> Step:
        """Take a step; lanes that rest are moved, as it takes no longer, and begin again when they end."""
        observations, rewards, terminated, truncated, _ = self._vector.step(np.maximum(actions, 0))
        return _rows(observations), rewards.astype(np.float64), terminated, truncated

    def rest(self, lanes: NDArray[np.int64]) -> None:
        """Let lanes rest: nothing needs to be done."""

    def keep(self, lanes: NDArray[np.int64]) -> None:
        """Go on with these lanes alone, in a smaller vector environment."""
        before, self._vector = self._vector, self._made(len(lanes))
        for name in ("steps", "prev_done"):
            setattr(self._vector, name, getattr(before, name)[lanes])
        self._vector.state = np.ascontiguousarray(before.state[:, lanes])

    def close(self) -> None:
        """Close the environments."""
        self._scalar.close()


def _rows(observations: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return observations as points, row after row: they come column after column, as states are kept."""
    return observations.astype(np.float64, order="C")


def is_native(task: EnvTask) -> bool:
    """Return whether a task is the stock CartPole, as Gymnasium registers and makes it."""
    spec = gymnasium.registry.get(task.environment)
    if task.factory is not None or spec is None or set(task.options) - NATIVE_OPTIONS:
        return False
    parts = ((spec.entry_point, CartPoleEnv), (spec.vector_entry_point, CartPoleVectorEnv))
    stock = all(point in (kind, f"{kind.__module__}:{kind.__name__}") for point, kind in parts)
    return stock and not spec.additional_wrappers and not spec.kwargs
