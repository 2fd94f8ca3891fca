"""XCSF in environments that fail: whose fault it is is said, and nothing stays open."""

from __future__ import annotations

import gc
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from ifthen import XCSF
from ifthen.environments.make import env_task
from ifthen.environments.twin_registry import register_twin, twin_of
from ifthen.errors import ParameterError, TaskError
from ifthen.tasks.twin import Twin, twin_step
from tests.envs import Walk, task_of
from tests.systems.xcsf.populations import walk

SMALL: dict[str, Any] = {"seed": 7, "threads": 1, "pop_limit": 60, "ga_per_epoch": 8, "theta_ga": 8}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            "crash",
            r"raised RuntimeError in step \(step 5 of .* reset seed 1000\d\d\d\): a wheel",
        ),
        ("reset", r"raised RuntimeError in reset \(step 0 of .* seed 1000\d\d\d\): no way to begin"),
    ],
)
def test_what_an_environment_raises_is_told_with_step_and_seed(wrong: str, message: str) -> None:
    system = XCSF(walk(kind="box", wrong=wrong, features=None), **SMALL)
    with pytest.raises(TaskError, match=message) as raised:
        system.learn(epochs=1)
    assert isinstance(raised.value.__cause__, RuntimeError)
    assert system.epoch == 0


class Counted(Walk):
    """A walk that knows how many of it are open."""

    opened = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).opened += 1

    def close(self) -> None:
        type(self).opened -= 1


def test_the_environment_is_closed_with_the_system() -> None:
    task = env_task(Counted, episodes=2, t_max=12, player="sync")
    before = Counted.opened
    system = XCSF(task, **SMALL).learn(episodes=2)
    assert Counted.opened > before
    learner: Any = system._learner
    assert learner.simulator.lane.unwrapped.time > 0
    del system, learner
    gc.collect()
    assert Counted.opened == before


def test_a_default_action_is_refused() -> None:
    with pytest.raises(ParameterError, match="XCSF's rules have no order: use a system of decision lists"):
        XCSF(env_task("CartPole-v1", default_action="push left"))


class Strange(gymnasium.Env[Any, Any]):
    """What the twins below are twins of, but for what is wrong with them; as many features as CartPole."""

    observation_space = spaces.Box(-10, 10, (4,), np.float64)
    action_space = spaces.Discrete(2)
    state: Any = np.zeros(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.state = np.array([float(self.np_random.uniform()), 0.0])
        return np.array([*self.state, 0.0, 0.0]), {}


def strange_step(wrong: float, wrong_reward: float) -> Any:
    @twin_step
    def step(state: Any, action: int, observation: Any, reward: Any) -> int:
        state[1] += 1
        observation[0] = state[0]
        observation[1] = state[1]
        observation[2] = observation[3] = 0.0
        reward[0] = 1.0
        if state[1] == 4:
            observation[1] = state[1] + wrong
            reward[0] = 1.0 + wrong_reward
        return 0

    return step


@pytest.mark.parametrize(
    ("wrong", "numbers", "message"),
    [
        ("nan", (np.nan, 0.0), r"observed nan for f1 at step 4 of the episode with reset seed 1000\d\d\d"),
        ("infinite", (np.inf, 0.0), r"observed inf for f1 at step 4 .*seed 1000\d\d\d"),
        ("reward", (0.0, np.nan), r"gave the reward nan at step 4 .*seed 1000\d\d\d"),
    ],
)
def test_numbers_of_twins_that_are_not_finite_stop_learning(
    wrong: str, numbers: tuple[float, float], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, made = f"ifthen_tests/Strange-{wrong}-v0", Strange
    if name not in gymnasium.registry:
        entry: Any = made
        gymnasium.register(name, entry_point=entry, disable_env_checker=True)
    task = task_of(name, t_max=9)
    register_twin(name, Twin(f"strange {wrong}", 2, strange_step(*numbers)))
    monkeypatch.setattr("ifthen.environments.twin_registry.compare", lambda *_: None)
    assert twin_of(task) is not None
    system = XCSF(task, **SMALL)
    with pytest.raises(TaskError, match=message):
        system.learn(epochs=1)
    assert system.epoch == 0
