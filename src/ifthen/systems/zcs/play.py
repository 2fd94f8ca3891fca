"""How ZCS plays and learns: in a table, in a compiled twin, and in an environment itself.

Learning goes on up to a total of steps or problems; the last problem is finished.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ifthen.errors import TaskError
from ifthen.randomness import below, fold
from ifthen.simulate.env_simulator import EnvSimulator
from ifthen.simulate.table_noise import plan
from ifthen.simulate.table_simulator import TableSimulator
from ifthen.simulate.twin_simulator import TwinSimulator
from ifthen.systems.zcs.zcs_population import EPISODES, STEPS, TIME, Learning
from ifthen.systems.zcs.zcs_steps import act, clip, is_too_low, run_table, run_twin, settle
from ifthen.tasks.task import Task


class Player(NamedTuple):
    """What the simulator of a task calls to let a population learn."""

    key: np.uint64
    """The stream that everything random is drawn from."""

    def in_table(self, simulator: TableSimulator, learning: Learning, steps: int, episodes: int) -> None:
        """Learn in a table."""
        task = simulator.task
        run_table(self.key, steps, episodes, task.dynamics, plan(task).cuts, learning)

    def in_twin(self, simulator: TwinSimulator, learning: Learning, steps: int, episodes: int) -> None:
        """Learn in a compiled twin."""
        twin, pool = simulator.twin, simulator.task.pool
        state, reward = np.empty((1, twin.state_size)), np.empty(1)
        starts = simulator.starts(pool)
        bad_start = run_twin(self.key, steps, episodes, twin.step, starts, state, reward, learning)
        if bad_start >= 0:
            _check_reward(simulator.task, float(reward[0]), learning)
            simulator.refuse_number(
                learning.observation, float(reward[0]), int(learning.clock[TIME]), int(pool[bad_start])
            )

    def in_lane(self, simulator: EnvSimulator, learning: Learning, steps: int, episodes: int) -> None:
        """Learn in the environment itself."""
        while learning.clock[EPISODES] < episodes and learning.clock[STEPS] < steps:
            self._play_episode(simulator, learning)

    def _play_episode(self, simulator: EnvSimulator, learning: Learning) -> None:
        """Learn from an episode in the environment itself."""
        key, task, observation = self.key, simulator.task, learning.observation
        seed = int(task.pool[below(np.uint64(fold(key, 0)), int(learning.clock[EPISODES]), len(task.pool))])
        observation[0], done = simulator.begin_episode(seed), False
        while not done:
            clip(learning)
            observation[0], reward, terminated, truncated = simulator.take_step(act(key, learning))
            _check_reward(task, reward, learning)
            done = bool(terminated or truncated or learning.clock[TIME] >= task.t_max)
            settle(key, reward, terminated, done, learning)


def _check_reward(task: Task, reward: float, learning: Learning) -> None:
    """Raise for a finite reward that is less than the least one known, which strengths cannot hold."""
    if math.isfinite(reward) and is_too_low(reward, learning):
        raise TaskError(
            f"{task.name} pays {reward:g} in a step, less than the least reward that is known "
            f"({0.0 - learning.settings.raised:g}). Strengths cannot be negative: give "
            f"least_reward={reward:g}, or the least reward that a step can have."
        )
