"""Gymnasium's CartPole: a pole on a cart that is pushed (Barto, Sutton and Anderson 1983).

The twin's state is position x and speed v of the cart, angle θ and angular speed ω of the pole. With F the
force, M the total mass, m and l the mass and half the length of the pole, g gravity and τ the time of a step:

    a  = (F + m l ω² sin θ) / M
    ω' = (g sin θ − a cos θ) / (l (4/3 − m cos² θ / M))
    v' = a − m l ω' cos θ / M

and one Euler step of τ. Every sum and product is taken in the environment's own order, for the same floats.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ifthen.environments.known_environments import KnownEnvironment, KnownFeature
from ifthen.tasks.twin import Row, Twin, as_shown, twin_step

GRAVITY, FORCE, TAU = 9.8, 10.0, 0.02
POLE_MASS, HALF_LENGTH = 0.1, 0.5
TOTAL_MASS = POLE_MASS + 1.0
POLE_MOMENT = POLE_MASS * HALF_LENGTH
WIDEST, STEEPEST = 2.4, 12 * 2 * math.pi / 360


@twin_step
def step(state: Row, action: int, observation: Row, reward: Row) -> int:
    """Push the cart to the left (0) or right (1)."""
    x, v, theta, omega = state[0], state[1], state[2], state[3]
    force = FORCE if action == 1 else -FORCE
    cos, sin = math.cos(theta), math.sin(theta)
    push = (force + POLE_MOMENT * (omega * omega) * sin) / TOTAL_MASS
    turn = (GRAVITY * sin - cos * push) / (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * (cos * cos) / TOTAL_MASS))
    gain = push - POLE_MOMENT * turn * cos / TOTAL_MASS
    state[0] = x + TAU * v
    state[1] = v + TAU * gain
    state[2] = theta + TAU * omega
    state[3] = omega + TAU * turn
    for j in range(4):
        observation[j] = float(np.float32(state[j]))
    reward[0] = 1.0
    return int(abs(state[0]) > WIDEST or abs(state[2]) > STEEPEST)


class CartPole(KnownEnvironment):
    """CartPole, with a twin. The ranges of velocities are a little wider than what random actions lead to."""

    of_class = "gymnasium.envs.classic_control.cartpole:CartPoleEnv"
    ids = ("CartPole-v1",)
    features = (
        KnownFeature("cart position", low=-2.4, high=2.4),
        KnownFeature("cart velocity", low=-2.0, high=2.1),
        KnownFeature("pole angle", "rad", low=-0.21, high=0.21),
        KnownFeature("pole velocity", "rad/s", low=-2.9, high=2.8),
    )
    actions = ("push left", "push right")
    episodes = 100
    presets = {  # noqa: RUF012  # a constant
        "PPL-DL": {"p_any": 0.7},
        "XCSF": {"epsilon_0": 0.5, "gamma": 0.9},
    }
    twin = Twin(
        "CartPole",
        4,
        step,
        of_class=of_class,
        observe=as_shown,
        assumes={
            "gravity": GRAVITY,
            "masspole": POLE_MASS,
            "total_mass": TOTAL_MASS,
            "length": HALF_LENGTH,
            "polemass_length": POLE_MOMENT,
            "force_mag": FORCE,
            "tau": TAU,
            "kinematics_integrator": "euler",
            "theta_threshold_radians": STEEPEST,
            "x_threshold": WIDEST,
            "_sutton_barto_reward": False,
        },
    )

    @classmethod
    def least_reward(cls, env: Any) -> float:
        """Return the least reward, which depends on an option of the environment."""
        return -1.0 if env._sutton_barto_reward else 0.0
