"""A room with a heater: the environment of your own in the README, the guide and the how-tos.

Copy this file into your folder, and try it there:

cp examples/heating.py .
ifthen check heating:Thermostat
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray


class Thermostat(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Keep a room at 20 degrees for 50 steps: observes the room and outside, and is off (0) or heats (1)."""

    observation_space = gymnasium.spaces.Box(low=0.0, high=40.0, shape=(2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode: the room has 15 degrees, and outside it has between 0 and 15."""
        super().reset(seed=seed)
        self.room, self.outside, self.time = 15.0, float(self.np_random.uniform(0, 15)), 0
        return np.array([self.room, self.outside], np.float32), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Heat or not; the reward is how far the room is from 20 degrees, times −1."""
        self.room += 2.0 * action + 0.1 * (self.outside - self.room)
        self.time += 1
        reward = -abs(self.room - 20.0)
        return np.array([self.room, self.outside], np.float32), reward, False, self.time == 50, {}
