"""Gymnasium's LunarLander, and a stand-in for it: the same flight with simpler legs, compiled.

LunarLander is simulated by Box2D, whose solver no short function can copy bit by bit, so it has no twin. The
stand-in, `ifthen/LunarLander-v0`, is another environment to rehearse on. Engines, gravity, ground and rewards
are LunarLander's. Hull and legs are one rigid body. A leg is a foot that gives way to the ground with a
constant force. Only the corners of the hull can crash. The rule for coming to rest is simpler.
`python benchmarks/lunar_stand_in.py` compares the two.

Lengths are metres, times seconds. Angles turn to the left; foot 0 is the right one, as in the environment.
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np

from ifthen.environments.registry import KnownEnvironment, KnownFeature
from ifthen.jit import lean_kernel
from ifthen.randomness import uniform
from ifthen.tasks.twin import Twin, twin_step

STAND_IN = "ifthen/LunarLander-v0"
SCALE, TIME, GRAVITY = 30.0, 0.02, -10.0
WIDTH, HEIGHT, CHUNKS = 20.0, 40.0 / 3.0, 11
PAD = HEIGHT / 4
"""The pad's height, before the ground is smoothed."""
MAIN_POWER, SIDE_POWER, FIRST_FORCE = 13.0, 0.6, 1000.0
HULL = ((-14, 17), (-17, 0), (-17, -10), (17, -10), (17, 0), (14, 17))
HULL_X = tuple(x / SCALE for x, _ in HULL)
HULL_Y = tuple(y / SCALE for _, y in HULL)
MASS, CENTRE, INERTIA = 4.9589, 0.0898, 0.9136
"""Hull and legs together. CENTRE is the height of the centre of mass above the hull's origin."""
SPIN_AT_START = -0.112
"""Spin per horizontal speed after the first push, as measured: the legs follow later than the hull."""
FOOT_X, FOOT_Y = 18 / SCALE, -26 / SCALE
LEG_OUT, LEG_IN, LEG_SPEED, LEG_TORQUE = 0.4, 0.9, 0.3, 40.0
"""A leg's angle when stretched and when folded, the speed of stretching, and the torque that it bears."""
FRICTION, SKIN, ITERATIONS = 0.141, 0.01, 6
SLOW, SLOW_SPIN, STILL_STEPS = 0.05, 0.05, 25
X, Y, SPEED_X, SPEED_Y, ANGLE, SPIN, LEGS, SHAPING, STILL, SEED, STEPS, GROUND = (*range(7), *range(8, 13))
STATE = GROUND + CHUNKS


@lean_kernel
def ground(state: Any, x: float) -> float:
    """Return the height of the ground below x."""
    chunk = min(max(int(x * (CHUNKS - 1) / WIDTH), 0), CHUNKS - 2)
    share = x * (CHUNKS - 1) / WIDTH - chunk
    return float(state[GROUND + chunk] * (1 - share) + state[GROUND + chunk + 1] * share)


@lean_kernel
def thrust(action: int, sine: float, cosine: float, u: float, v: float) -> tuple[float, float, float, float]:
    """Return where an engine pushes, seen from the hull's origin, and its impulse; u, v in [−1, 1) are noise.

    The side engines sit 17 units above the origin along x but 14 along y, as in the environment.
    """
    u, v = u / SCALE, v / SCALE
    if action == 2:
        along, across = 4 / SCALE + 2 * u, v
        x, y = sine * along - cosine * across, -cosine * along - sine * across
        return x, y, -x * MAIN_POWER, -y * MAIN_POWER
    if action == 1 or action == 3:
        across = 3 * v + (action - 2) * 12 / SCALE
        x, y = sine * u - cosine * across, -cosine * u - sine * across
        return x - sine * 17 / SCALE, y + cosine * 14 / SCALE, -x * SIDE_POWER, -y * SIDE_POWER
    return 0.0, 0.0, 0.0, 0.0


@lean_kernel
def foot(leg: int, bend: float) -> tuple[float, float]:
    """Return the place of a foot on the hull's own axes, with its leg bent by an angle."""
    sine, cosine = math.sin(bend), math.cos(bend)
    x, y = cosine * FOOT_X - sine * FOOT_Y, sine * FOOT_X + cosine * FOOT_Y
    return (-x if leg == 1 else x), y


@lean_kernel
def touches(state: Any, sine: float, cosine: float) -> bool:
    """Return whether a corner of the hull touches the ground."""
    for corner in range(len(HULL_X)):
        x, y = HULL_X[corner], HULL_Y[corner]
        over = state[Y] + sine * x + cosine * y - ground(state, state[X] + cosine * x - sine * y)
        if over < SKIN:
            return True
    return False


@twin_step
def step(state: Any, action: int, observation: Any, reward: Any) -> int:
    """Fire no engine (0), the left (1), the main (2) or the right one (3)."""
    sine, cosine = math.sin(state[ANGLE]), math.cos(state[ANGLE])
    key, drawn = np.uint64(state[SEED]), 2 * int(state[STEPS])
    u, v = 2 * uniform(key, drawn) - 1, 2 * uniform(key, drawn + 1) - 1
    state[STEPS] += 1.0
    x, y, push_x, push_y = thrust(action, sine, cosine, u, v)
    centre_x, centre_y = -sine * CENTRE, cosine * CENTRE
    speed_x = state[SPEED_X] + push_x / MASS
    speed_y = state[SPEED_Y] + push_y / MASS + GRAVITY * TIME
    spin = state[SPIN] + ((x - centre_x) * push_y - (y - centre_y) * push_x) / INERTIA

    # The ground pushes the feet out, as far as the legs bear it.
    on_0, on_1 = False, False
    up_0, up_1, side_0, side_1 = 0.0, 0.0, 0.0, 0.0
    for _ in range(ITERATIONS):
        for leg in range(2):
            bend = state[LEGS + leg]
            own_x, own_y = foot(leg, bend)
            x, y = cosine * own_x - sine * own_y, sine * own_x + cosine * own_y
            depth = ground(state, state[X] + x) - (state[Y] + y)
            arm_x, arm_y = x - centre_x, y - centre_y
            falls = -(speed_y + spin * arm_x)
            if depth <= -SKIN and depth + falls * TIME <= 0.0:
                continue
            wanted = min(0.1 * depth / TIME, 0.3) if depth > 0.0 else depth / TIME
            if bend > LEG_OUT + 0.001:
                wanted = max(wanted, 0.0)
            most = LEG_TORQUE / abs(own_x) * TIME if bend < LEG_IN else np.inf
            up, side = (up_0, side_0) if leg == 0 else (up_1, side_1)
            more = min(max(up + (wanted + falls) / (1 / MASS + arm_x * arm_x / INERTIA), 0.0), most) - up
            speed_y += more / MASS
            spin += arm_x * more / INERTIA
            up += more
            slides = speed_x - spin * arm_y
            held = side - slides / (1 / MASS + arm_y * arm_y / INERTIA)
            more = min(max(held, -FRICTION * up), FRICTION * up) - side
            speed_x += more / MASS
            spin -= arm_y * more / INERTIA
            side += more
            if leg == 0:
                on_0, up_0, side_0 = True, up, side
            else:
                on_1, up_1, side_1 = True, up, side
    for leg in range(2):
        own_x, own_y = foot(leg, state[LEGS + leg])
        arm_x = cosine * own_x - sine * own_y - centre_x
        folds = -(speed_y + spin * arm_x) / abs(own_x) if (on_0 if leg == 0 else on_1) else -LEG_SPEED
        bend = state[LEGS + leg] + max(folds, -LEG_SPEED) * TIME
        state[LEGS + leg] = min(max(bend, LEG_OUT), LEG_IN)

    angle = state[ANGLE] + spin * TIME
    x, y = state[X] + centre_x + speed_x * TIME, state[Y] + centre_y + speed_y * TIME
    sine, cosine = math.sin(angle), math.cos(angle)
    state[X], state[Y], state[ANGLE] = x + sine * CENTRE, y - cosine * CENTRE, angle
    state[SPEED_X], state[SPEED_Y], state[SPIN] = speed_x, speed_y, spin

    place_x, place_y = (state[X] - WIDTH / 2) / (WIDTH / 2), (state[Y] - PAD - 18 / SCALE) / (HEIGHT / 2)
    seen_x, seen_y = speed_x * WIDTH / 2 * TIME, speed_y * HEIGHT / 2 * TIME
    observation[0] = float(np.float32(place_x))
    observation[1] = float(np.float32(place_y))
    observation[2] = float(np.float32(seen_x))
    observation[3] = float(np.float32(seen_y))
    observation[4] = float(np.float32(angle))
    observation[5] = float(np.float32(20 * TIME * spin))
    observation[6] = 1.0 if on_0 else 0.0
    observation[7] = 1.0 if on_1 else 0.0
    shaping = 10 * (observation[6] + observation[7]) - 100 * (
        math.sqrt(place_x * place_x + place_y * place_y)
        + math.sqrt(seen_x * seen_x + seen_y * seen_y)
        + abs(angle)
    )
    fuel = 0.3 if action == 2 else 0.0 if action == 0 else 0.03
    reward[0] = shaping - state[SHAPING] - fuel
    state[SHAPING] = shaping
    slow = speed_x * speed_x + speed_y * speed_y < SLOW * SLOW and abs(spin) < SLOW_SPIN and action == 0
    state[STILL] = state[STILL] + 1.0 if slow and (on_0 or on_1) else 0.0
    if state[STILL] >= STILL_STEPS:
        reward[0] = 100.0
        return 1
    if touches(state, sine, cosine) or abs(place_x) >= 1:
        reward[0] = -100.0
        return 1
    return 0


class LunarLanderStandIn(gymnasium.Env[Any, Any]):
    """The stand-in as an environment, with LunarLander's spaces."""

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it

    def __init__(self) -> None:
        high = np.array([2.5, 2.5, 10, 10, 2 * math.pi, 10, 1, 1], dtype=np.float32)
        low = np.where(np.arange(8) < 6, -high, 0).astype(np.float32)
        self.observation_space = gymnasium.spaces.Box(low, high)
        self.action_space = gymnasium.spaces.Discrete(4)
        self.state = np.zeros(STATE)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Draw ground and first push, and let the lander fall for a step."""
        super().reset(seed=seed)
        heights = self.np_random.uniform(0, HEIGHT / 2, size=CHUNKS + 1)
        heights[CHUNKS // 2 - 2 : CHUNKS // 2 + 3] = PAD
        smooth = [0.33 * heights[[i - 1, i, i + 1]].sum() for i in range(CHUNKS)]
        speeds = self.np_random.uniform(-FIRST_FORCE, FIRST_FORCE, size=2) * TIME / MASS
        noise = self.np_random.integers(2**31)
        place = (WIDTH / 2, HEIGHT, *speeds, 0.0, SPIN_AT_START * speeds[0], LEG_OUT, LEG_OUT)
        self.state = np.array([*place, 0.0, 0.0, float(noise), 0.0, *smooth])
        return self.step(0)[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step as the compiled function does."""
        observation, reward = np.zeros(8), np.zeros(1)
        ended = step(self.state, int(action), observation, reward)
        return observation.astype(np.float32), float(reward[0]), bool(ended), False, {}


class LunarLander(KnownEnvironment):
    """LunarLander. Its lander is symmetric, and the stand-in is a cheap rehearsal."""

    of_class = "gymnasium.envs.box2d.lunar_lander:LunarLander"
    ids = ("LunarLander-v3",)
    features = (
        KnownFeature("x", low=-0.6, high=0.6),
        KnownFeature("y", low=0.0, high=1.5),
        KnownFeature("x velocity", low=-0.6, high=0.6),
        KnownFeature("y velocity", low=-1.0, high=0.2),
        KnownFeature("angle", "rad", low=-0.5, high=0.5),
        KnownFeature("angular velocity", low=-0.6, high=0.6),
        KnownFeature("right leg", low=0, high=1, is_integer=True),
        KnownFeature("left leg", low=0, high=1, is_integer=True),
    )
    actions = ("no engine", "left engine", "main engine", "right engine")
    episodes = 160
    presets = {  # noqa: RUF012  # a constant
        "PPL-DL": {
            "p_mut": 0.03,
            "p_cross": 0.3,
            "idv_size": 14,
            "windows": 4,
            "otherwise": True,
            "mirror": "-x, -x velocity, -angle, -angular velocity, left leg = right leg, "
            "left engine = right engine",
            "stand_in": STAND_IN,
            "rehearsal": 600,
        }
    }


class StandIn(KnownEnvironment):
    """The stand-in, with a twin. Tasks take names and ranges from LunarLander's own task."""

    of_class = f"{__name__}:LunarLanderStandIn"
    twin = Twin("LunarLander's stand-in", STATE, step, of_class=of_class)
