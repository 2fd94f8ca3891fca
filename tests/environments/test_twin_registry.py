from __future__ import annotations

import ctypes
import math
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.classic_control import AcrobotEnv
from numba.core import config

from ifthen.environments.cart_pole import CartPole
from ifthen.environments.twin_registry import (
    Checked,
    check_twin,
    register_twin,
    registered_twin,
    twin_of,
    unlike,
)
from ifthen.errors import ParameterError, TaskError
from ifthen.tasks.twin import PROTOTYPE, StepFunction, Twin, call_step, twin_step
from tests import naive_envs
from tests.envs import task_of

CLASSIC = ("CartPole-v1", "MountainCar-v0", "Acrobot-v1")
settings: Any = config


class Drift(gymnasium.Env[Any, Any]):
    """A point that is pushed about on a line and leaves it at 3; its state has a name of its own."""

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it

    def __init__(self, first: int = 0, wind: float = 0.0, tires: int = 0) -> None:
        self.observation_space = spaces.Box(-10, 10, (1,), np.float64)
        self.action_space = spaces.Discrete(2, start=first)
        self.first, self.wind, self.tires, self.place, self.time = first, wind, tires, 0.0, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.place, self.time = float(self.np_random.uniform()), 0
        return np.array([self.place]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        self.place = 0.9 * self.place + (0.5 if action == self.first + 1 else -0.25) + self.wind
        return np.array([self.place]), -self.place, self.place > 3, self.time == self.tires, {}


def where(env: Any) -> list[float]:
    """Return the state of a Drift."""
    return [env.unwrapped.place]


class DriftInPlace(Drift):
    """A Drift whose state is one array for ever, changed in place."""

    def __init__(self) -> None:
        super().__init__()
        self.state = np.zeros(1)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        observation, told = super().reset(seed=seed)
        self.state[:] = self.place
        return observation, told

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.state *= 0.9
        self.state += 0.5 if action == 1 else -0.25
        return self.state.copy(), -float(self.state[0]), bool(self.state[0] > 3), False, {}


@twin_step
def drift(state: Any, action: int, observation: Any, reward: Any) -> int:
    state[0] = 0.9 * state[0] + (0.5 if action == 1 else -0.25)
    observation[0] = state[0]
    reward[0] = -state[0]
    return int(state[0] > 3)


@twin_step
def nearly_drift(state: Any, action: int, observation: Any, reward: Any) -> int:
    state[0] = (0.5 if action == 1 else -0.25) + state[0] - 0.1 * state[0]
    observation[0] = state[0]
    reward[0] = -state[0]
    return int(state[0] > 3)


def drift_id(name: str, twin: Twin | None = None, **options: Any) -> str:
    """Register a Drift, and a twin for it, under a name of its own."""
    environment = f"ifthen_tests/{name}-v0"
    gymnasium.register(
        environment,
        entry_point="tests.environments.test_twin_registry:Drift",
        max_episode_steps=40,
        kwargs=options,
    )
    if twin is not None:
        register_twin(environment, twin)
    return environment


# `python benchmarks/twins_equal.py` compares a million steps of each.
@pytest.mark.parametrize(
    ("environment", "steps"), [("CartPole-v1", 100_000), ("MountainCar-v0", 100_000), ("Acrobot-v1", 40_000)]
)
def test_a_twin_has_the_bits_of_gymnasiums_own_at_every_step(environment: str, steps: int) -> None:
    checked = check_twin(environment, steps)
    assert checked.steps == steps
    assert checked.terminated > 5


@pytest.mark.oracle
@pytest.mark.parametrize("environment", CLASSIC)
def test_steps_by_address_give_what_the_environment_gave(environment: str) -> None:
    env: Any = gymnasium.make(environment).unwrapped
    twin = registered_twin(environment)
    assert twin is not None
    for seed in range(5):
        actions = np.random.default_rng(seed).integers(0, env.action_space.n, 150).tolist()
        real = naive_envs.real_steps(env, actions, seed)
        env.reset(seed=seed)
        state, point, reward = twin.state_of(env)[None], np.empty((1, len(real.points[0]))), np.empty(1)
        for action, *theirs in zip(actions, *real, strict=False):
            ended = call_step(twin.step, state, 0, action, point, reward) != 0
            assert [state[0].tolist(), point[0].tolist(), reward[0], ended] == theirs


@pytest.mark.parametrize("environment", CLASSIC)
def test_a_step_is_the_same_where_nothing_is_compiled(environment: str) -> None:
    env: Any = gymnasium.make(environment)
    twin = registered_twin(environment)
    assert twin is not None
    assert isinstance(twin.function, StepFunction)
    env.reset(seed=1)
    state = twin.state_of(env)
    observation, reward = np.empty(env.observation_space.shape), np.empty(1)
    for action in (1, 0, 1):
        met, gained, ended, _, _ = env.step(action)
        assert twin.function(state, action, observation, reward) == ended
        np.testing.assert_array_equal(observation, met)
        np.testing.assert_array_equal(state, twin.state_of(env))
        assert reward[0] == gained


def test_one_wrong_bit_is_found_and_named() -> None:
    environment = drift_id("WrongBit")
    with pytest.raises(
        TaskError, match=r"reset seed \d+, state\[0\] after step \d+ is .*, but the twin's is"
    ):
        check_twin(environment, 500, twin=Twin("Drift", 1, nearly_drift, where))
    assert check_twin(environment, 500, twin=Twin("Drift", 1, drift, where)).steps == 500


def test_an_environment_may_change_its_state_in_place() -> None:
    environment = "ifthen_tests/InPlace-v0"
    gymnasium.register(
        environment, entry_point="tests.environments.test_twin_registry:DriftInPlace", max_episode_steps=40
    )
    checked = check_twin(environment, 500, twin=Twin("Drift", 1, drift))
    assert checked.steps == 500
    assert checked.terminated > 0


def test_an_end_that_differs_is_found() -> None:
    @twin_step
    def endless(state: Any, action: int, observation: Any, reward: Any) -> int:
        state[0] = 0.9 * state[0] + (0.5 if action == 1 else -0.25)
        observation[0] = state[0]
        reward[0] = -state[0]
        return 0

    with pytest.raises(TaskError, match=r"terminated after step .* is True, but the twin's is False"):
        check_twin(drift_id("Endless"), 2000, twin=Twin("Drift", 1, endless, where))


def test_an_environment_that_truncates_by_itself_can_have_no_twin() -> None:
    with pytest.raises(TaskError, match="truncated the episode at step 7"):
        check_twin(drift_id("Tiring", tires=7), 500, twin=Twin("Drift", 1, drift, where))


def test_checking_needs_a_twin_an_environment_and_a_number() -> None:
    with pytest.raises(TaskError, match="Pendulum-v1 has no twin"):
        check_twin("Pendulum-v1", 10)
    with pytest.raises(TaskError, match="cannot be made"):
        check_twin("NoSuchThing-v0", 10, twin=CartPole.twin)
    with pytest.raises(ParameterError, match="steps"):
        check_twin("CartPole-v1", 0)
    with pytest.raises(TaskError, match=r"cannot be made: .*nonsense"):
        check_twin("CartPole-v1", 10, nonsense=3)
    with pytest.raises(TaskError, match=r"state of 3 numbers.*shape \(1,\)"):
        check_twin(drift_id("Sizes"), 10, twin=Twin("Drift", 3, drift, where))


@pytest.mark.parametrize("environment", CLASSIC)
def test_stock_environments_are_played_by_their_twin(environment: str) -> None:
    twin = twin_of(task_of(environment))
    assert twin is not None
    assert twin is registered_twin(environment)


def test_options_that_change_the_dynamics_rule_a_twin_out() -> None:
    assert twin_of(task_of("CartPole-v1", sutton_barto_reward=False)) is CartPole.twin
    assert twin_of(task_of("CartPole-v1", sutton_barto_reward=True)) is None
    assert twin_of(task_of("MountainCar-v0", goal_velocity=0.01)) is None


def test_changed_attributes_rule_a_twin_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AcrobotEnv, "book_or_nips", "nips")
    assert twin_of(task_of("Acrobot-v1")) is None
    with pytest.raises(
        TaskError, match="book_or_nips of its environment is 'nips', where the twin assumes 'book'"
    ):
        twin_of(task_of("Acrobot-v1", player="twin"))
    monkeypatch.setattr(AcrobotEnv, "book_or_nips", "book")
    monkeypatch.setattr(AcrobotEnv, "torque_noise_max", 0.1)
    assert twin_of(task_of("Acrobot-v1")) is None


def test_arrays_that_a_twin_assumes_are_compared_too() -> None:
    env: Any = gymnasium.make("CartPole-v1")
    env.unwrapped.masses = np.array([1.0, 2.0])
    assumed = {"masses": np.array([1.0, 2.0])}
    assert not unlike(env, Twin("Drift", 1, drift, where, assumes=assumed))
    env.unwrapped.masses = np.array([1.0, 2.5])
    assert "masses of its environment is" in unlike(env, Twin("Drift", 1, drift, where, assumes=assumed))
    scalar = Twin("Drift", 1, drift, where, assumes={"masses": 1.0})
    assert "where the twin assumes 1.0" in unlike(env, scalar)


def test_wrappers_and_other_classes_rule_a_twin_out() -> None:
    class Other(gymnasium.envs.classic_control.CartPoleEnv):
        pass

    def wrapped() -> Any:
        return gymnasium.wrappers.ClipReward(gymnasium.make("CartPole-v1"), 0, 0.5)

    assert twin_of(task_of("CartPole-v1", factory=wrapped)) is None
    assert twin_of(task_of("CartPole-v1", factory=Other)) is None
    with pytest.raises(TaskError, match="wrapped with ClipReward"):
        twin_of(task_of("CartPole-v1", factory=wrapped, player="twin"))
    with pytest.raises(
        TaskError, match=r"its environment is tests\.environments\.test_twin_registry:.*Other"
    ):
        twin_of(task_of("CartPole-v1", factory=Other, player="twin"))


def test_the_player_decides_whether_a_twin_may_play() -> None:
    assert twin_of(task_of("CartPole-v1", player="twin")) is CartPole.twin
    assert twin_of(task_of("CartPole-v1", player="sync")) is None
    with pytest.raises(TaskError, match="there is none for"):
        twin_of(task_of(player="twin"))


def test_a_twin_that_differs_is_not_used_and_said_once() -> None:
    environment = drift_id("Falling", Twin("Drift", 1, nearly_drift, where))
    with pytest.warns(
        RuntimeWarning, match="twin of Drift is not equal to its environment.*through Gymnasium"
    ):
        assert twin_of(task_of(environment)) is None
    assert twin_of(task_of(environment)) is None  # a second warning would be an error
    with pytest.raises(TaskError, match="it differs: with reset seed"):
        twin_of(task_of(environment, player="twin"))


def test_options_are_compared_each_for_itself() -> None:
    environment = drift_id("Windy", Twin("Drift", 1, drift, where))
    assert twin_of(task_of(environment)) is not None
    with pytest.warns(RuntimeWarning, match="not equal"):
        assert twin_of(task_of(environment, wind=0.125)) is None


def test_a_registered_twin_plays_wherever_actions_begin() -> None:
    twin = Twin("Drift", 1, drift, where)
    assert twin_of(task_of(drift_id("Shifted", twin, first=5))) is twin


def test_a_later_registration_replaces_an_earlier_one() -> None:
    first, second = Twin("Drift", 1, drift, where), Twin("Drift", 1, drift, where)
    environment = drift_id("Twice", first)
    task = task_of(environment)
    assert twin_of(task) is first
    register_twin(environment, second)
    assert twin_of(task) is second


def test_the_address_of_any_c_function_is_a_step() -> None:
    def step(state: Any, action: int, observation: Any, reward: Any) -> int:
        return drift(state, action, observation, reward)

    callback = PROTOTYPE(step)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    checked = check_twin(drift_id("FromC"), 300, twin=Twin("Drift", 1, address, where))
    assert isinstance(checked, Checked)


@pytest.mark.parametrize("wrong", [None, drift, "CartPole"])
def test_only_twins_can_be_registered(wrong: Any) -> None:
    with pytest.raises(TaskError, match="must be a Twin"):
        register_twin("CartPole-v1", wrong)
    with pytest.raises(TaskError, match="environment's id"):
        register_twin("", CartPole.twin)


@pytest.mark.skipif(settings.DISABLE_JIT, reason="nothing is compiled")
def test_a_step_in_a_file_is_compiled_once_and_kept() -> None:
    assert drift.address
    again = StepFunction(drift.function)
    assert again.address
    assert again._callback.cache_hits == 1


def test_a_step_without_a_file_works_too() -> None:
    names: dict[str, Any] = {"math": math}
    exec("def step(s, a, o, r):\n    o[0] = s[0] = math.sin(s[0])\n    r[0] = a\n    return 0", names)
    state, point, reward = np.array([[0.5]]), np.empty((1, 1)), np.empty(1)
    call_step(twin_step(names["step"]).address, state, 0, 4, point, reward)
    assert (point.item(), reward.item()) == (math.sin(0.5), 4)
