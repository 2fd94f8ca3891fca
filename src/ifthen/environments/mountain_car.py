"""Gymnasium's MountainCar: a car too weak for the hill swings itself out of a valley (Moore 1990).

The twin's state is the position and the speed of the car; the slope below it is that of sin(3 · position).
"""

from __future__ import annotations

import math

import numpy as np

from ifthen.environments.known_environments import KnownEnvironment, KnownFeature
from ifthen.tasks.twin import Row, Twin, as_shown, twin_step

FORCE, GRAVITY = 0.001, 0.0025
LEFT_END, RIGHT_END, FASTEST = -1.2, 0.6, 0.07
GOAL = 0.5


@twin_step
def step(state: Row, action: int, observation: Row, reward: Row) -> int:
    """Push the car to the left (0), not at all (1) or to the right (2)."""
    speed = state[1] + ((action - 1) * FORCE + math.cos(3 * state[0]) * (-GRAVITY))
    speed = min(max(speed, -FASTEST), FASTEST)
    position = min(max(state[0] + speed, LEFT_END), RIGHT_END)
    if position == LEFT_END and speed < 0.0:
        speed = 0.0
    state[0] = position
    state[1] = speed
    observation[0] = float(np.float32(position))
    observation[1] = float(np.float32(speed))
    reward[0] = -1.0
    return int(position >= GOAL and speed >= 0.0)


class MountainCar(KnownEnvironment):
    """MountainCar, with a twin."""

    of_class = "gymnasium.envs.classic_control.mountain_car:MountainCarEnv"
    ids = ("MountainCar-v0",)
    features = (KnownFeature("position"), KnownFeature("velocity"))
    actions = ("push left", "coast", "push right")
    episodes = 50
    least = -1.0
    presets = {  # noqa: RUF012  # a constant
        "PPL-DL": {"p_any": 0.3, "sigma": 0.3, "idv_size": 15, "pop_size": 600}
    }
    twin = Twin(
        "MountainCar",
        2,
        step,
        of_class=of_class,
        observe=as_shown,
        assumes={
            "min_position": LEFT_END,
            "max_position": RIGHT_END,
            "max_speed": FASTEST,
            "goal_position": GOAL,
            "goal_velocity": 0,
            "force": FORCE,
            "gravity": GRAVITY,
        },
    )
