"""Gymnasium's Acrobot: two links hang from a bar, and a motor between them swings them up.

The twin's state is the angles of both links and their angular speeds (Sutton and Barto 1998, section 11.3,
whose letters are used here; both links are of length 1 and mass 1, with moment of inertia 1). One step is a
Runge-Kutta step of fourth order. The terms are summed in the environment's own order, for the same floats;
for that, squares are what the C library's `pow` gives, whose last bit is not always that of a product.
"""

from __future__ import annotations

import math

import numpy as np

from ifthen.environments.known_environments import KnownEnvironment, KnownFeature
from ifthen.jit import lean_kernel
from ifthen.rules.arrays import Floats
from ifthen.tasks.twin import Row, Twin, as_shown, twin_step

GRAVITY, TIME = 9.8, 0.2
MASS, LENGTH, CENTRE, INERTIA = 1.0, 1.0, 0.5, 1.0
FASTEST_1, FASTEST_2 = 4 * math.pi, 9 * math.pi


@lean_kernel
def accelerations(
    theta1: float, theta2: float, omega1: float, omega2: float, torque: float
) -> tuple[float, float]:
    """Return the angular accelerations of both links."""
    # Two, but the compiler cannot know: it would turn a power of two into a product.
    two = max(2.0, torque)
    cos2, sin2 = math.cos(theta2), math.sin(theta2)
    d1 = MASS * CENTRE**2 + MASS * (LENGTH**2 + CENTRE**2 + 2 * LENGTH * CENTRE * cos2) + INERTIA + INERTIA
    d2 = MASS * (CENTRE**2 + LENGTH * CENTRE * cos2) + INERTIA
    phi2 = MASS * CENTRE * GRAVITY * math.cos(theta1 + theta2 - math.pi / 2.0)
    phi1 = (
        -MASS * LENGTH * CENTRE * math.pow(omega2, two) * sin2
        - 2 * MASS * LENGTH * CENTRE * omega2 * omega1 * sin2
        + (MASS * CENTRE + MASS * LENGTH) * GRAVITY * math.cos(theta1 - math.pi / 2)
        + phi2
    )
    drive = torque + d2 / d1 * phi1 - MASS * LENGTH * CENTRE * math.pow(omega1, two) * sin2 - phi2
    acceleration2 = drive / (MASS * CENTRE**2 + INERTIA - math.pow(d2, two) / d1)
    return -(d2 * acceleration2 + phi1) / d1, acceleration2


@lean_kernel
def wrapped(angle: float) -> float:
    """Return the angle between −π and π."""
    while angle > math.pi:
        angle -= 2 * math.pi
    while angle < -math.pi:
        angle += 2 * math.pi
    return angle


@twin_step
def step(state: Row, action: int, observation: Row, reward: Row) -> int:
    """Turn the joint with torque −1 (0), 0 (1) or +1 (2)."""
    torque = action - 1.0
    a, b, p, q = state[0], state[1], state[2], state[3]
    half = TIME / 2.0
    p1, q1 = p, q
    u1, w1 = accelerations(a, b, p, q, torque)
    p2, q2 = p + half * u1, q + half * w1
    u2, w2 = accelerations(a + half * p1, b + half * q1, p2, q2, torque)
    p3, q3 = p + half * u2, q + half * w2
    u3, w3 = accelerations(a + half * p2, b + half * q2, p3, q3, torque)
    p4, q4 = p + TIME * u3, q + TIME * w3
    u4, w4 = accelerations(a + TIME * p3, b + TIME * q3, p4, q4, torque)
    sixth = TIME / 6.0
    a = wrapped(a + sixth * (p1 + 2 * p2 + 2 * p3 + p4))
    b = wrapped(b + sixth * (q1 + 2 * q2 + 2 * q3 + q4))
    state[0] = a
    state[1] = b
    state[2] = min(max(p + sixth * (u1 + 2 * u2 + 2 * u3 + u4), -FASTEST_1), FASTEST_1)
    state[3] = min(max(q + sixth * (w1 + 2 * w2 + 2 * w3 + w4), -FASTEST_2), FASTEST_2)
    observation[0] = float(np.float32(math.cos(a)))
    observation[1] = float(np.float32(math.sin(a)))
    observation[2] = float(np.float32(math.cos(b)))
    observation[3] = float(np.float32(math.sin(b)))
    observation[4] = float(np.float32(state[2]))
    observation[5] = float(np.float32(state[3]))
    is_up = -math.cos(a) - math.cos(b + a) > 1.0
    reward[0] = 0.0 if is_up else -1.0
    return int(is_up)


def observe(state: Floats) -> Floats:
    """Return what is observed in a state."""
    a, b, p, q = state.tolist()
    return as_shown(np.array([math.cos(a), math.sin(a), math.cos(b), math.sin(b), p, q]))


class Acrobot(KnownEnvironment):
    """Acrobot, with a twin."""

    of_class = "gymnasium.envs.classic_control.acrobot:AcrobotEnv"
    ids = ("Acrobot-v1",)
    features = (
        KnownFeature("cos θ1"),
        KnownFeature("sin θ1"),
        KnownFeature("cos θ2"),
        KnownFeature("sin θ2"),
        KnownFeature("velocity θ1", "rad/s"),
        KnownFeature("velocity θ2", "rad/s"),
    )
    actions = ("torque −1", "torque 0", "torque +1")
    episodes = 50
    least = -1.0
    twin = Twin(
        "Acrobot",
        4,
        step,
        of_class=of_class,
        observe=observe,
        assumes={
            "dt": TIME,
            "LINK_LENGTH_1": LENGTH,
            "LINK_MASS_1": MASS,
            "LINK_MASS_2": MASS,
            "LINK_COM_POS_1": CENTRE,
            "LINK_COM_POS_2": CENTRE,
            "LINK_MOI": INERTIA,
            "MAX_VEL_1": FASTEST_1,
            "MAX_VEL_2": FASTEST_2,
            "AVAIL_TORQUE": [-1.0, 0.0, 1.0],
            "torque_noise_max": 0.0,
            "book_or_nips": "book",
        },
    )
