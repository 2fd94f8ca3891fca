from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import PPLDL, env_task, evaluate
from ifthen.environments import evasion
from ifthen.environments.evasion import EvasiveManeuvers, fly, nearest_approach, nearest_step, observe
from ifthen.environments.twin_registry import check_twin, twin_of
from ifthen.errors import TaskError
from ifthen.randomness import stream
from ifthen.simulate.evaluate import simulator_of
from tests import naive, naive_evasion
from tests.naive_evasion import Flight, course_of, direction

VARIABLE, FIXED, NOISY = EvasiveManeuvers.ids
STRAIGHT = 4
KEY = stream(7, "evasion")
angles, places = st.floats(-180, 180), st.floats(-3000, 3000)
flights = st.builds(
    Flight, st.builds(complex, places, places), angles, st.builds(complex, places, places), angles,
    st.floats(260, 700),
)  # fmt: skip


def a_state(flight: Flight, noise: float = 0.0) -> NDArray[np.float64]:
    """Return the environment's state in a flight."""
    vectors = flight.plane, direction(flight.course), flight.missile, direction(flight.aim)
    numbers = [part for vector in vectors for part in (vector.real, vector.imag)]
    return np.array([*numbers, flight.speed, 0.0, 3.0, noise, evasion.SURVIVED, 12345.0])


def numbers_of(flight: Flight) -> list[float]:
    """Return places, directions and speed of a flight."""
    return [float(number) for number in a_state(flight)[: evasion.SPEED + 1]]


@pytest.mark.oracle
@given(st.floats(-500, 4000), st.sampled_from([(100.0, 3000.0), (50.0, 1000.0)]))
def test_a_reading_is_the_nearest_step_within_the_sensors_range(
    value: float, sensor: tuple[float, float]
) -> None:
    step, high = sensor
    assert nearest_step(value, step, 0.0, high) == naive_evasion.reading(value, step, 0.0, high)


@pytest.mark.oracle
@given(places, places, places, places)
def test_the_nearest_approach_is_that_of_all_points_on_the_way(
    x: float, y: float, u: float, v: float
) -> None:
    plain = naive_evasion.approach(complex(x, y), complex(u, v))
    assert math.sqrt(nearest_approach(x, y, u, v)) == pytest.approx(plain, abs=1e-3)


@pytest.mark.oracle
@given(flights, angles)
def test_the_missile_turns_at_most_3_6_degrees_and_pays_for_it(flight: Flight, to: float) -> None:
    assume(abs(abs((to - flight.aim) % 360) - 180) > 1e-6)
    state, toward = a_state(flight), 100 * direction(to)
    evasion.steer(state, toward.real, toward.imag)
    aim, turned = naive_evasion.steered(flight.aim, toward)
    assert state[evasion.SPEED] == pytest.approx(flight.speed - turned)
    np.testing.assert_allclose([state[evasion.AIM], state[evasion.AIM + 1]], split(direction(aim)), atol=1e-9)


def split(vector: complex) -> list[float]:
    """Return east and north."""
    return [vector.real, vector.imag]


@pytest.mark.oracle
@given(flights, st.floats(-190, 190), st.floats(160, 333))
def test_a_decision_is_ten_sub_steps(flight: Flight, turn: float, speed: float) -> None:
    assume(abs(flight.plane - flight.missile) > 1)
    state = a_state(flight)
    plain, ending = naive_evasion.flown(flight, turn, speed)
    # Where the missile looks straight away from its aim, or a hit is close, the last bits may decide.
    again, same = naive_evasion.flown(flight._replace(aim=flight.aim + 1e-7), turn, speed)
    assume(ending == same)
    assume(np.allclose(numbers_of(plain), numbers_of(again), atol=1e-2))
    assert fly(state, turn, speed) == ending
    np.testing.assert_allclose(state[: evasion.SPEED + 1], numbers_of(plain), atol=1e-2)


@pytest.mark.oracle
@given(flights, st.sampled_from([0.0, 0.1]))
def test_sensors_show_the_missile_as_the_pilot_sees_it(flight: Flight, noise: float) -> None:
    state, observation = a_state(flight, noise), np.zeros(evasion.SENSORS)
    key, at = np.uint64(12345), 10 * 3 + 2
    drawn = [
        naive.normal(int(key), at + 2 * i) * noise * width for i, width in enumerate((3000, 360, 360, 1000))
    ]
    sensed = naive_evasion.sensed(flight, drawn)
    parts = [value / step for value, step in zip(sensed, (100, 30, 10, 50), strict=True)]
    assume(all(abs(part % 1 - 0.5) > 1e-6 for part in parts))
    assume(abs(flight.missile - flight.plane) > 1e-3)
    observe(state, observation)
    assert observation.tolist() == [0.0, 3.0, *naive_evasion.shown(sensed)]


def test_bearing_is_the_hour_and_heading_0_is_aimed_at_the_plane() -> None:
    for bearing, hour in ((0, 12), (90, 3), (180, 6), (-90, 9), (-14, 12), (16, 1)):
        missile = 1500 * direction(bearing + 40)
        observation = np.zeros(evasion.SENSORS)
        observe(a_state(Flight(0j, 40, missile, course_of(-missile), 600)), observation)
        assert observation[2:].tolist() == [1500, hour, 0, 600]
        observe(a_state(Flight(0j, 40, missile, course_of(-missile) - 20, 600)), observation)
        assert observation[4] == 340


@pytest.mark.parametrize("environment", EvasiveManeuvers.ids)
def test_the_twin_has_the_environments_bits_at_every_step(environment: str) -> None:
    checked = check_twin(environment, 3000)
    assert checked.terminated > 100
    task = env_task(environment)
    assert twin_of(task) is EvasiveManeuvers.twin


def evaded(environment: str, actions: tuple[int, ...], episodes: int = 4000) -> float:
    """Return how often the plane evades with even draws of some actions."""
    task = env_task(environment, options={"partial_credit": False})
    random = np.random.default_rng(1)
    simulator: Any = simulator_of(task)
    played = simulator.play_policy(lambda points: random.choice(actions, len(points)), np.arange(episodes))
    assert set(np.unique(played.returns)) <= {0.0, 1.0}
    assert played.steps.max() <= evasion.DECISIONS
    return float(played.returns.mean())


def test_a_random_walk_evades_as_often_as_published_and_straight_flight_hardly_ever() -> None:
    every = tuple(range(9))
    assert evaded(VARIABLE, every) == pytest.approx(0.31, abs=0.02)
    assert evaded(FIXED, every) == pytest.approx(0.29, abs=0.02)
    assert evaded(NOISY, every) == pytest.approx(0.31, abs=0.02)
    assert evaded(VARIABLE, (STRAIGHT,)) == pytest.approx(0.013, abs=0.006)
    assert evaded(FIXED, (STRAIGHT,), 100) == 0


def test_evading_pays_1_and_a_hit_a_hundredth_for_each_decision() -> None:
    env: Any = gymnasium.make(VARIABLE)
    seen = set()
    for seed in range(40):
        env.reset(seed=seed)
        env.action_space.seed(seed)
        rewards, ended = [], False
        while not ended:
            _, reward, ended, _, _ = env.step(env.action_space.sample())
            rewards.append(float(reward))
        assert not any(rewards[:-1])
        assert rewards[-1] in (1.0, pytest.approx(0.01 * len(rewards)))
        seen.add(rewards[-1] == 1.0)
    assert seen == {True, False}


def test_fixed_starts_are_equal_and_variable_ones_lie_in_their_ranges() -> None:
    fixed, variable = gymnasium.make(FIXED), gymnasium.make(VARIABLE)
    assert len({tuple(fixed.reset(seed=seed)[0].tolist()) for seed in range(5)}) == 1
    assert fixed.reset(seed=0)[0].tolist() == [0, 0, 2000, 6, 0, 600]
    starts = np.array([variable.reset(seed=seed)[0] for seed in range(300)])
    assert starts[:, 2].min() == 1000
    assert starts[:, 2].max() == 3000
    assert set(starts[:, 3].tolist()) == set(range(1, 13))
    assert starts[:, 5].min() == 500
    assert starts[:, 5].max() == 700
    assert set(starts[:, 4].tolist()) == {0}


def test_options_that_make_no_sense_are_refused() -> None:
    for options, said in (
        ({"start": "anywhere"}, "variable"),
        ({"sensor_noise": 2.0}, "sensor_noise"),
        ({"partial_credit": 1}, "partial_credit"),
    ):
        with pytest.raises(TaskError, match=said):
            env_task(VARIABLE, options=options)


def test_ppl_dl_learns_to_evade() -> None:
    task = env_task(VARIABLE)
    system = PPLDL(task, seed=1, pop_size=40, idv_size=8)
    system.learn(epochs=12)
    assert evaluate(system.ruleset, task).performance > 0.45
