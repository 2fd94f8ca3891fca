"""Evasive Maneuvers: a plane turns away from a missile, which is faster, turns wider and slows down in turns.

The task that SAMUEL was tried on (Grefenstette, Ramsey and Schultz 1990; Grefenstette 1991, 1992). Its
simulator was never published, so this is a re-creation.

Published: the missile steers for the place where it expects the plane, loses speed as it turns and gives up
when it is too slow; six sensors; nine turning rates; the plane's speed depends on its turn, and executed
turns are noisy; variable starts (range 1,000 to 3,000, missile speed 500 to 700, any angle of approach, plane
speed 333); full payoff for evading, else payoff in proportion to the time survived. Recalled, not checked:
the steps of the sensors, the payoffs 1,000 and 10 per decision, and sensor noise of a tenth of a sensor's
range.

Fitted: how far and at what cost the missile turns, when it gives up, how near a hit is and how long it looks
ahead. They were picked so that a random walk evades as often as published (31 %), so that agreement says
nothing about the true dynamics. The turn was fitted again for the steering as it is written here, to 36° a
second; an earlier re-creation had 35°. The difference is small: a random walk evaded in 30.0 % of 1,500
episodes with 36°, and in 31.6 % with 35°.

Our choice: the fixed start, a range sensor that goes to 3,000, payoffs in thousands, readings rounded to the
nearest step, and the units: lengths in metres, one decision a second. Angles turn to the right.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import gymnasium
import numpy as np

from ifthen.checks import real_number
from ifthen.environments.known_environments import KnownEnvironment, KnownFeature
from ifthen.errors import TaskError
from ifthen.jit import lean_kernel
from ifthen.randomness import normal
from ifthen.tasks.twin import Row, Twin, twin_step

Start = Literal["variable", "fixed"]
DECISIONS = 20
"""An episode has at most this many decisions, one a second."""
SUB_STEPS = 10
"""Plane and missile move this many times per decision."""
TURNS = tuple(range(-180, 181, 45))
"""The actions: the plane's turn in degrees per decision."""
PLANE_SPEED = 333.0
"""The plane's speed on a straight course, in m/s."""
SLOWEST_SHARE = 0.5
"""A turn of 180° takes this share of the plane's speed."""
TURN_NOISE = 5.0
"""The standard deviation of an executed turn, in degrees. A straight course is kept exactly."""
LOOK_AHEAD = 2.0
"""The missile steers for where the plane will be, at most this many seconds ahead."""
MISSILE_TURN = 36.0
"""The missile turns by at most this many degrees a second."""
SPEED_LOSS = 1.0
"""The missile loses this speed per degree of a turn, in m/s."""
GIVES_UP = 250.0
"""Below this speed, in m/s, the missile gives up."""
HIT = 50.0
"""The missile hits within this distance, in metres."""
NEAR, FAR = 1000.0, 3000.0
"""The nearest and the farthest variable start of the missile, in metres."""
SLOW, FAST = 500.0, 700.0
"""The least and the largest speed of the missile at a variable start, in m/s."""
FIXED_RANGE, FIXED_SPEED, FIXED_ANGLE = 2000.0, 600.0, 180.0
"""Distance, speed and angle of the missile at the fixed start."""
EVADED = 1.0
"""The payoff of evading."""
SURVIVED = 0.01
"""The payoff of each decision before a hit."""
MOST_RANGE = 3000.0
"""The largest reading of the range sensor, in metres."""
MOST_SPEED = 1000.0
"""The largest reading of the speed sensor, in m/s."""
DRAWS = 10
"""A decision draws two random numbers for the turn and eight for the sensors."""
STEP_COS, STEP_SIN = (f(math.radians(MISSILE_TURN / SUB_STEPS)) for f in (math.cos, math.sin))
"""Cosine and sine of the missile's largest turn in a sub-step."""
PLANE, COURSE, MISSILE, AIM, SPEED, LAST_TURN, TIME, NOISE, CREDIT, SEED = (0, 2, 4, 6, *range(8, 14))
"""Indices of the state. Place and direction of plane and missile have two numbers each."""
STATE = SEED + 1
"""The size of the state."""
SENSORS = 6
"""The number of readings."""


@lean_kernel
def nearest_step(value: float, step: float, low: float, high: float) -> float:
    """Return the reading of a sensor with some range and steps."""
    return min(max(math.floor(value / step + 0.5) * step, low), high)


@lean_kernel
def steer(state: Row, toward_x: float, toward_y: float) -> None:
    """Turn the missile towards a direction as far as it can in a sub-step, which costs speed."""
    course_x, course_y = state[AIM], state[AIM + 1]
    length = math.sqrt(toward_x * toward_x + toward_y * toward_y)
    along = course_x * toward_x + course_y * toward_y
    right = course_y * toward_x - course_x * toward_y
    if along >= STEP_COS * length:
        turned = abs(math.degrees(math.atan2(right, along)))
        if length > 0.0:
            course_x, course_y = toward_x / length, toward_y / length
    else:
        turned, sine = MISSILE_TURN / SUB_STEPS, STEP_SIN if right >= 0.0 else -STEP_SIN
        course_x, course_y = STEP_COS * course_x + sine * course_y, STEP_COS * course_y - sine * course_x
    state[AIM], state[AIM + 1] = course_x, course_y
    state[SPEED] -= SPEED_LOSS * turned


@lean_kernel
def nearest_approach(x: float, y: float, move_x: float, move_y: float) -> float:
    """Return the least square distance from the origin on the way from (x, y) by a move."""
    square = move_x * move_x + move_y * move_y
    share = min(max(-(x * move_x + y * move_y) / square, 0.0), 1.0) if square > 0.0 else 0.0
    x, y = x + share * move_x, y + share * move_y
    return x * x + y * y


@lean_kernel
def fly(state: Row, turn: float, plane_speed: float) -> int:
    """Fly for a decision, in which the plane turns by some degrees; return 1 if it is hit, 2 if it is free.

    The missile sees the plane's course as it was before the sub-step.
    """
    cosine, sine = math.cos(math.radians(turn / SUB_STEPS)), math.sin(math.radians(turn / SUB_STEPS))
    for _ in range(SUB_STEPS):
        x, y = state[PLANE] - state[MISSILE], state[PLANE + 1] - state[MISSILE + 1]
        ahead = plane_speed * min(math.sqrt(x * x + y * y) / state[SPEED], LOOK_AHEAD)
        course_x, course_y = state[COURSE], state[COURSE + 1]
        steer(state, x + ahead * course_x, y + ahead * course_y)
        if state[SPEED] < GIVES_UP:
            return 2
        course_x, course_y = cosine * course_x + sine * course_y, cosine * course_y - sine * course_x
        state[COURSE], state[COURSE + 1] = course_x, course_y
        plane_way, missile_way = plane_speed / SUB_STEPS, state[SPEED] / SUB_STEPS
        move_x, move_y = missile_way * state[AIM], missile_way * state[AIM + 1]
        if nearest_approach(x, y, plane_way * course_x - move_x, plane_way * course_y - move_y) < HIT * HIT:
            return 1
        state[PLANE] += plane_way * course_x
        state[PLANE + 1] += plane_way * course_y
        state[MISSILE] += move_x
        state[MISSILE + 1] += move_y
    return 0


@lean_kernel
def observe(state: Row, observation: Row) -> None:
    """Write the readings: last turn, time, and range, bearing, heading and speed of the missile."""
    x, y = state[MISSILE] - state[PLANE], state[MISSILE + 1] - state[PLANE + 1]
    course_x, course_y, aim_x, aim_y = state[COURSE], state[COURSE + 1], state[AIM], state[AIM + 1]
    distance, speed = math.sqrt(x * x + y * y), state[SPEED]
    bearing = math.degrees(math.atan2(course_y * x - course_x * y, course_x * x + course_y * y))
    heading = math.degrees(math.atan2(aim_y * x - aim_x * y, -(aim_x * x + aim_y * y)))
    if state[NOISE] > 0.0:
        key, first_draw = np.uint64(state[SEED]), DRAWS * int(state[TIME]) + 2
        distance += state[NOISE] * MOST_RANGE * normal(key, first_draw)
        bearing += state[NOISE] * 360.0 * normal(key, first_draw + 2)
        heading += state[NOISE] * 360.0 * normal(key, first_draw + 4)
        speed += state[NOISE] * MOST_SPEED * normal(key, first_draw + 6)
    hours = math.floor(bearing / 30.0 + 0.5)
    tens = math.floor(heading / 10.0 + 0.5)
    observation[0] = state[LAST_TURN]
    observation[1] = min(state[TIME], DECISIONS - 1.0)
    observation[2] = nearest_step(distance, 100.0, 0.0, MOST_RANGE)
    observation[3] = float(hours - 12 * math.floor((hours - 1) / 12.0))
    observation[4] = 10.0 * float(tens - 36 * math.floor(tens / 36.0))
    observation[5] = nearest_step(speed, 50.0, 0.0, MOST_SPEED)


@twin_step
def step(state: Row, action: int, observation: Row, reward: Row) -> int:
    """Turn the plane by (action − 4) · 45 degrees, in sub-steps, and let the missile follow."""
    turn = (action - 4) * 45.0
    first_draw = DRAWS * int(state[TIME])
    executed = turn + TURN_NOISE * normal(np.uint64(state[SEED]), first_draw) if turn != 0.0 else 0.0
    state[LAST_TURN] = turn
    state[TIME] += 1.0
    ending = fly(state, executed, PLANE_SPEED * (1 - SLOWEST_SHARE * abs(turn) / 180.0))
    is_free = ending == 2 or (ending == 0 and state[TIME] >= DECISIONS)
    reward[0] = EVADED if is_free else state[CREDIT] * state[TIME] if ending == 1 else 0.0
    observe(state, observation)
    return int(is_free or ending == 1)


class Evasion(gymnasium.Env[Any, Any]):
    """Evasive Maneuvers. An episode ends when the plane is hit or free: the missile gave up, or time is over.

    Args:
        start: "variable" for a range, a missile speed and an angle of approach drawn anew in every episode;
            "fixed" for a missile from behind at a range of 2,000 m and with 600 m/s.
        sensor_noise: the deviation of the noise on what is sensed of the missile, as a share of each sensor's
            range.
        partial_credit: whether a hit after t decisions pays t/100, rather than nothing. Evading pays 1, so
            without partial credit the mean return is the share of episodes in which the plane evades.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it

    def __init__(
        self, start: Start = "variable", sensor_noise: float = 0.0, partial_credit: bool = True
    ) -> None:
        if start not in get_args(Start):
            raise TaskError(f'start must be "variable" or "fixed", not {start!r}.')
        if not isinstance(partial_credit, bool):
            raise TaskError(f"partial_credit must be true or false, not {partial_credit!r}.")
        self.start = start
        self.sensor_noise = real_number("sensor_noise", sensor_noise, 0, 1, TaskError)
        self.partial_credit = partial_credit
        low, high = np.array([-180, 0, 0, 1, 0, 0]), np.array([180, 19, 3000, 12, 350, 1000])
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.int64)
        self.action_space = gymnasium.spaces.Discrete(len(TURNS))
        self.state = np.zeros(STATE)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Put the plane at the origin, flying north, and the missile where it aims at the plane."""
        super().reset(seed=seed)
        noise = self.np_random.integers(2**31)
        variable = self.np_random.uniform((NEAR, SLOW, 0.0), (FAR, FAST, 360.0)).tolist()
        fixed = [FIXED_RANGE, FIXED_SPEED, FIXED_ANGLE]
        distance, speed, angle = fixed if self.start == "fixed" else variable
        x, y = math.sin(math.radians(angle)), math.cos(math.radians(angle))
        positions = (0.0, 0.0, 0.0, 1.0, distance * x, distance * y, -x, -y)
        credit = SURVIVED if self.partial_credit else 0.0
        self.state = np.array([*positions, speed, 0.0, 0.0, self.sensor_noise, credit, float(noise)])
        observation = np.zeros(SENSORS)
        observe(self.state, observation)
        return observation.astype(np.int64), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a decision as the compiled function does."""
        observation, reward = np.zeros(SENSORS), np.zeros(1)
        ended = step(self.state, int(action), observation, reward)
        return observation.astype(np.int64), float(reward[0]), bool(ended), False, {}


class EvasiveManeuvers(KnownEnvironment):
    """Evasive Maneuvers, with a twin; noise and payoffs are part of its state."""

    of_class = f"{__name__}:Evasion"
    ids = ("ifthen/Evasion-v0", "ifthen/EvasionFixed-v0", "ifthen/EvasionNoisy-v0")
    features = (
        KnownFeature("last turn", "°", cyclic=True),
        KnownFeature("time", "s"),
        KnownFeature("range", "m"),
        KnownFeature("bearing", "o'clock", cyclic=True),
        KnownFeature("heading", "°", cyclic=True),
        KnownFeature("speed", "m/s"),
    )
    actions = tuple(
        f"{'left' if turn < 0 else 'right'} {abs(turn)}°" if turn else "straight" for turn in TURNS
    )
    episodes = 100
    least = 0.0
    twin = Twin("Evasive Maneuvers", STATE, step, of_class=of_class)
