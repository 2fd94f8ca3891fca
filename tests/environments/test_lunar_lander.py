from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen.environments import lunar_lander
from ifthen.environments.lunar_lander import STAND_IN, LunarLanderStandIn, foot, ground, thrust, touches
from ifthen.environments.twins import check_twin
from ifthen.randomness import uniform
from tests import naive, naive_lander
from tests.naive_lander import Body, Flight

OURS = Body(lunar_lander.MASS, lunar_lander.CENTRE, lunar_lander.INERTIA)
CHUNKS, STATE, GROUND = lunar_lander.CHUNKS, lunar_lander.STATE, lunar_lander.GROUND
X, Y, SPEED_X, SPEED_Y, ANGLE, SPIN = range(6)
LEGS = slice(lunar_lander.LEGS, lunar_lander.LEGS + 2)
heights = st.lists(st.floats(0, 7), min_size=CHUNKS, max_size=CHUNKS)
angles, noises = st.floats(-math.pi, math.pi), st.floats(-1, 1)
MIRRORED = {0: 0, 1: 3, 2: 2, 3: 1}


def a_state(flight: Flight, land: Sequence[float] = (1.0,) * CHUNKS) -> NDArray[np.float64]:
    """Return the stand-in's state in a flight above some land, its legs stretched."""
    state = np.zeros(STATE)
    state[:6] = (*split(flight.place), *split(flight.speed), flight.angle, flight.spin)
    state[LEGS], state[GROUND:] = lunar_lander.LEG_OUT, land
    return state


def split(vector: complex) -> tuple[float, float]:
    """Return x and y."""
    return vector.real, vector.imag


def stepped(state: NDArray[np.float64], action: int) -> tuple[NDArray[np.float64], float, bool]:
    """Take a step in a state, which changes; return the observation, the reward and whether it ended."""
    observation, reward = np.zeros(8), np.zeros(1)
    ended = lunar_lander.step(state, action, observation, reward)
    return observation, float(reward[0]), bool(ended)


def steer(point: Sequence[float]) -> int:
    """Return what a simple pilot does: lean against the drift, fall as slowly as the height allows."""
    x, y, speed_x, speed_y, angle, spin, right, left = point
    if right or left:
        return 2 if speed_y < -0.1 else 0
    lean = min(max(0.5 * x + speed_x, -0.4), 0.4)
    turn, lift = 0.5 * (lean - angle) - spin, 0.5 * (0.55 * abs(x) - y - speed_y)
    if lift > max(abs(turn), 0.05):
        return 2
    return 0 if abs(turn) < 0.05 else 1 if turn > 0 else 3


def play(env: Any, choose: Callable[[Sequence[float]], int], seed: int) -> tuple[list[list[float]], float]:
    """Play an episode; return all observations with their rewards, and the last reward (0 if truncated)."""
    point, _ = env.reset(seed=seed)
    found, ended, truncated = [[*point.tolist(), 0.0]], False, False
    while not (ended or truncated):
        point, reward, ended, truncated, _ = env.step(choose(point.tolist()))
        found.append([*point.tolist(), reward])
    return found, found[-1][-1] if ended else 0.0


@pytest.mark.oracle
@given(heights, st.floats(-5, 25))
def test_the_ground_is_a_line_through_its_points(land: list[float], x: float) -> None:
    state = a_state(Flight(0j, 0j, 0, 0), land)
    np.testing.assert_allclose(ground(state, x), naive_lander.ground_height(land, x), atol=1e-12)
    for i in range(CHUNKS):
        assert ground(state, 2.0 * i) == pytest.approx(land[i])


@pytest.mark.oracle
@given(st.integers(0, 3), angles, noises, noises)
def test_an_engine_pushes_where_and_as_much_as_the_oracle_says(
    action: int, angle: float, u: float, v: float
) -> None:
    where, impulse = naive_lander.engine(action, angle, u, v)
    found = thrust(action, math.sin(angle), math.cos(angle), u, v)
    np.testing.assert_allclose(found, (*split(where), *split(impulse)), atol=1e-14)


@pytest.mark.oracle
@given(st.integers(0, 1), st.floats(0, 1.5))
def test_a_foot_is_the_corner_of_its_leg(leg: int, bend: float) -> None:
    np.testing.assert_allclose(foot(leg, bend), split(naive_lander.foot_place(leg, bend)), atol=1e-14)


@pytest.mark.oracle
@given(heights, st.floats(1, 19), st.floats(-1, 2), angles)
def test_a_hull_touches_the_ground_where_the_oracle_says(
    land: list[float], x: float, above: float, angle: float
) -> None:
    place = complex(x, naive_lander.ground_height(land, x) + above)
    edges = [
        naive_lander.hull_touches(land, place, angle, lunar_lander.SKIN + slack) for slack in (-1e-9, 1e-9)
    ]
    assume(edges[0] == edges[1])
    state = a_state(Flight(place, 0j, angle, 0), land)
    assert touches(state, math.sin(angle), math.cos(angle)) == edges[0]


def test_a_hull_touches_the_ground_within_its_skin_and_not_above_it() -> None:
    lowest = -10 / 30
    for above, expected in ((0.009, True), (0.011, False)):
        state = a_state(Flight(complex(10, 1 + above - lowest), 0j, 0, 0))
        assert touches(state, 0.0, 1.0) is expected


def test_mass_centre_and_inertia_are_those_of_hull_and_legs() -> None:
    np.testing.assert_allclose(OURS, naive_lander.whole_body(lunar_lander.LEG_OUT), rtol=5e-3)


@given(
    st.integers(0, 2**31 - 1),
    st.lists(st.integers(0, 3), min_size=30, max_size=30),
    st.tuples(*[st.floats(-4, 4)] * 2),
    st.floats(-1, 1),
    st.floats(-1, 1),
)
def test_a_flight_of_thirty_steps_is_the_oracles(
    seed: int, actions: list[int], speed: tuple[float, float], angle: float, spin: float
) -> None:
    flight = Flight(complex(10, 12), complex(*speed), angle, spin)
    state = a_state(flight)
    state[lunar_lander.SEED] = seed
    for t, action in enumerate(actions):
        u, v = (2 * naive.uniform(seed, 2 * t + each) - 1 for each in range(2))
        flight = naive_lander.fly(OURS, flight, action, u, v)
        observation, _, ended = stepped(state, action)
        np.testing.assert_allclose(state[:6], a_state(flight)[:6], rtol=1e-9, atol=1e-9)
        assert not ended
    pad = naive_lander.HEIGHT / 4 + 18 / 30
    seen = (flight.place - complex(10, pad), flight.speed / 50)
    expected = [part * size for each in seen for part, size in zip(split(each), (0.1, 0.15), strict=True)]
    expected[2:] = [seen[1].real * 10, seen[1].imag * 20 / 3]
    np.testing.assert_allclose(observation[:6], [*expected, flight.angle, flight.spin * 0.4], atol=1e-5)
    assert observation[6:].tolist() == [0, 0]


def test_a_step_of_falling_takes_two_tenths_of_speed() -> None:
    state = a_state(Flight(complex(10, 12), 1 + 0j, 0, 0))
    for t in range(1, 4):
        stepped(state, 0)
        np.testing.assert_allclose(
            state[:6], [10 + 0.02 * t, 12 - 0.004 * sum(range(t + 1)), 1, -0.2 * t, 0, 0]
        )


def test_without_noise_the_engines_push_as_computed_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lunar_lander, "uniform", lambda key, position: 0.5)
    pushed = {}
    for action in range(4):
        state = a_state(Flight(complex(10, 12), 0j, 0, 0))
        stepped(state, action)
        pushed[action] = state[[SPEED_X, SPEED_Y, SPIN]]
    np.testing.assert_allclose(pushed[2], [0, 13 * 4 / 30 / OURS.mass - 0.2, 0], atol=1e-12)
    side, arm = 0.6 * 12 / 30, 14 / 30 - OURS.centre
    np.testing.assert_allclose(pushed[1], [-side / OURS.mass, -0.2, arm * side / OURS.inertia])
    np.testing.assert_allclose(pushed[3], [side / OURS.mass, -0.2, -arm * side / OURS.inertia])


@given(st.integers(0, 3), angles, noises, noises)
def test_the_mirrored_engine_pushes_the_mirrored_way(action: int, angle: float, u: float, v: float) -> None:
    x, y, push_x, push_y = thrust(action, math.sin(angle), math.cos(angle), u, v)
    other = thrust(MIRRORED[action], math.sin(-angle), math.cos(angle), u, -v)
    np.testing.assert_allclose(other, (-x, y, -push_x, push_y), atol=1e-14)


def mirrored(state: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a state seen in a mirror."""
    other = state.copy()
    other[X] = lunar_lander.WIDTH - state[X]
    other[[SPEED_X, ANGLE, SPIN]] *= -1
    other[LEGS], other[GROUND:] = state[LEGS][::-1], state[GROUND:][::-1]
    return other


@given(
    heights, st.integers(0, 3), st.tuples(*[st.floats(-2, 2)] * 2), st.floats(-0.5, 0.5), st.floats(-0.3, 2)
)
def test_a_mirrored_step_has_the_mirrored_outcome_in_the_air_and_on_one_leg(
    land: list[float], action: int, speed: tuple[float, float], angle: float, above: float
) -> None:
    place = complex(10.3, naive_lander.ground_height(land, 10.3) + 0.5 + above)
    state = a_state(Flight(place, complex(*speed), angle, 0.1), land)
    other = mirrored(state)
    observation, _, ended = stepped(state, action)
    assume(observation[6:].sum() < 2)  # with both, the right one is pushed first
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lunar_lander, "uniform", lambda k, at: abs(at % 2 - uniform(k, at)))  # v is the odd one
        seen, _, ended_too = stepped(other, MIRRORED[action])
    np.testing.assert_allclose(mirrored(other), state, atol=1e-9)
    np.testing.assert_allclose(
        seen * [-1, 1, -1, 1, -1, -1, 1, 1], observation[[0, 1, 2, 3, 4, 5, 7, 6]], atol=1e-6
    )
    assert ended == ended_too


@given(st.integers(0, 1), st.floats(-0.3, 0.3), st.floats(-2, 2), st.floats(-3, 0), st.floats(-1, 1))
def test_the_ground_pushes_one_foot_upwards_and_less_far_aside_and_turns_the_body_about_it(
    leg: int, tilt: float, speed_x: float, speed_y: float, spin: float
) -> None:
    angle = (-1 if leg == 0 else 1) * (0.2 + abs(tilt))  # so that the other leg is in the air
    down = naive_lander.foot_place(leg, lunar_lander.LEG_OUT) * cmath.rect(1, angle)
    state = a_state(Flight(complex(10, 0.99) - down, complex(speed_x, speed_y), angle, spin))
    observation, _, _ = stepped(state, 0)
    assert observation[6:].tolist() == [leg == 0, leg == 1]
    impulse = OURS.mass * complex(state[SPEED_X] - speed_x, state[SPEED_Y] - speed_y + 0.2)
    assert impulse.imag >= 0
    assert abs(impulse.real) <= lunar_lander.FRICTION * impulse.imag + 1e-9
    turned = naive_lander.cross(down - 1j * OURS.centre * cmath.rect(1, angle), impulse) / OURS.inertia
    assert state[SPIN] - spin == pytest.approx(turned, abs=1e-9)


def test_a_simple_pilot_lands_and_comes_to_rest_most_times() -> None:
    env = gymnasium.make(STAND_IN)
    assert [play(env, steer, seed)[1] for seed in range(20)].count(100) >= 12


def test_without_engines_it_always_crashes() -> None:
    env = gymnasium.make(STAND_IN)
    assert {play(env, lambda point: 0, seed)[1] for seed in range(30)} == {-100.0}


@pytest.mark.parametrize("direction", [-1, 1])
def test_leaving_the_picture_ends_with_a_loss(direction: int) -> None:
    env = LunarLanderStandIn()
    env.reset(seed=1)
    speed = 5.0 * direction
    for inside in (0.02, -0.001):
        env.state[:6] = (10 + direction * (10 - speed * direction * 0.02 - inside), 12, speed, 0, 0, 0)
        point, reward, ended, _, _ = env.step(0)
        assert ended == (inside < 0) == (abs(point[0]) >= 1)
        assert (reward == -100) == ended


def test_rewards_are_what_the_observations_say() -> None:
    env, actions = gymnasium.make(STAND_IN), []

    def remembered(point: Sequence[float]) -> int:
        actions.append(steer(point))
        return actions[-1]

    played, last = play(env, remembered, 1)
    assert last == 100
    assert {0, 1, 2, 3} <= set(actions)
    points = np.array(played)
    worth = 10 * points[:, 6:8].sum(1) - 100 * (
        np.hypot(points[:, 0], points[:, 1]) + np.hypot(points[:, 2], points[:, 3]) + abs(points[:, 4])
    )
    fuel = np.array([0, 0.03, 0.3, 0.03])[actions]
    np.testing.assert_allclose(points[1:-1, 8], (np.diff(worth) - fuel)[:-1], atol=1e-4)


def test_it_is_at_rest_after_half_a_second_of_stillness_without_engines() -> None:
    env: Any = LunarLanderStandIn()
    env.reset(seed=0)
    env.state[GROUND:] = 1.0
    env.state[:6] = (10, 1 - foot(0, lunar_lander.LEG_OUT)[1], 0, 0, 0, 0)
    steps = 1
    while not env.step(0)[2]:
        steps += 1
        assert steps < 200
    assert steps >= 25
    assert env.state[lunar_lander.STILL] == 25
    env.state[lunar_lander.STILL] = 24
    assert not env.step(1)[2]
    assert env.state[lunar_lander.STILL] == 0


def test_the_same_seed_gives_the_same_episode_and_another_another() -> None:
    env = gymnasium.make(STAND_IN)
    first, again, other = (play(env, steer, seed)[0] for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_compiled_steps_have_the_bits_of_the_environment() -> None:
    checked = check_twin(STAND_IN, steps=20_000)
    assert checked.steps == 20_000
    assert checked.terminated > 5


def real_lander() -> Any:
    """Return Gymnasium's own environment, or skip the test where it cannot be made."""
    pytest.importorskip("Box2D")
    return gymnasium.make("LunarLander-v3")


def test_spaces_and_time_limit_are_lunar_landers() -> None:
    real, own = real_lander(), gymnasium.make(STAND_IN)
    assert own.observation_space == real.observation_space
    assert own.action_space == real.action_space
    assert own.spec is not None
    assert own.spec.max_episode_steps == real.spec.max_episode_steps


def test_it_falls_as_the_real_one_does_over_the_same_ground() -> None:
    real, own = real_lander(), LunarLanderStandIn()
    for seed in range(40):
        points = [env.reset(seed=seed)[0] for env in (real, own)]
        heights_there = [polygon[0][1] for polygon in real.unwrapped.sky_polys]
        np.testing.assert_allclose(own.state[GROUND:-1], heights_there)
        for _ in range(30):
            points = [env.step(0)[0] for env in (real, own)]
        np.testing.assert_allclose(points[1][:5], points[0][:5], atol=1e-2)


class Calm:
    """Random numbers that are all the middle of their range."""

    def uniform(self, low: float, high: float) -> float:
        return (low + high) / 2


def test_engines_without_noise_push_it_as_they_push_the_real_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lunar_lander, "uniform", lambda key, position: 0.5)
    real, own = real_lander(), gymnasium.make(STAND_IN)
    for seed in range(20):
        points = [env.reset(seed=seed)[0] for env in (real, own)]
        real.unwrapped.np_random = Calm()
        for action in np.random.default_rng(seed).integers(0, 4, 30).tolist():
            points = [env.step(action)[0] for env in (real, own)]
        np.testing.assert_allclose(points[1][:6], points[0][:6], atol=1e-2)
