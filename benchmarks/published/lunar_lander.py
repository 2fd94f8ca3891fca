"""Published policies for LunarLander. The rules and numbers are those of the source that each one names."""

from typing import Any

import numpy as np


def heuristic(obs: Any) -> int:
    """O. Klimov, the heuristic in gymnasium.envs.box2d.lunar_lander."""
    x, y, x_speed, y_speed, tilt, turn, leg_1, leg_2 = obs
    if leg_1 or leg_2:
        angle_todo, hover_todo = 0, -0.5 * y_speed
    else:
        aim = np.clip(0.5 * x + x_speed, -0.4, 0.4)
        angle_todo = (aim - tilt) * 0.5 - turn
        hover_todo = (0.55 * np.abs(x) - y) * 0.5 - y_speed * 0.5
    if hover_todo > np.abs(angle_todo) and hover_todo > 0.05:
        return 2
    if angle_todo < -0.05:
        return 3
    return 1 if angle_todo > 0.05 else 0


def closed_form(obs: Any) -> int:
    """Z. Xiao, OpenAIGymSolution 1.0.0 (2021), LunarLander-v2."""
    x, y, x_speed, y_speed, tilt, turn, leg_1, leg_2 = obs
    if leg_1 or leg_2:
        lift, twist = -10.0 * y_speed - 1.0, 0.0
    else:
        lift = 5.5 * np.abs(x) - 10.0 * y - 10.0 * y_speed - 1.0
        twist = -np.clip(5.0 * x + 10.0 * x_speed, -4, 4) + 10.0 * tilt + 20.0 * turn
    if np.abs(twist) <= 1 and lift <= 0:
        return 0
    if np.abs(twist) < lift:
        return 2
    return 1 if twist < 0 else 3
