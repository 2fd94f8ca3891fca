from __future__ import annotations

import re
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import ifthen
from ifthen import PPLDL
from ifthen.digits import duration
from tests.envs import Walk


class Room(gymnasium.Env[Any, Any]):
    """Observes a text and three numbers, one of which never changes."""

    def __init__(self) -> None:
        numbers = spaces.Box(-np.inf, np.inf, (3,), np.float64)
        self.observation_space = spaces.Dict({"mission": spaces.Text(5), "seen": numbers})
        self.action_space = spaces.Discrete(2)
        self.time = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.time = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        return self._seen(), 2.0, self.time == 10, False, {}

    def _seen(self) -> dict[str, Any]:
        return {"mission": "go", "seen": np.array([self.time, 7.0, self.np_random.random()])}


def test_a_check_tells_what_rules_see_and_what_random_actions_get() -> None:
    found = ifthen.check(Room, threads=2)
    assert found.played is not None
    assert found.played.mean_steps == 10
    assert found.played.mean_return == 20
    assert found.played.seen[:2].tolist() == [[0, 10], [7, 7]]
    left_out, still = found.notes
    assert left_out == "rules do not see mission (a text)."
    assert still.startswith("1 feature never changed in random episodes: seen[1].")
    words = str(found)
    assert "seen[0]  real" in words
    assert "seen[1]  real" not in words
    assert "probed" in words
    assert "on average, over 20 episodes of 10 steps each. Training ends longer ones after 1,000." in words
    assert "as long as the longest" not in words
    (speed,) = re.findall(r"Training plays about ([\d,]+) steps a second", words)
    assert len(speed.replace(",", "").rstrip("0")) <= 2
    assert repr(found) == words


class Leaving(Walk):
    """A walk that declares less than it observes."""

    def __init__(self, high: float) -> None:
        super().__init__()
        self.observation_space = spaces.Box(-high, high, self.observation_space.shape, np.float32)


@pytest.mark.parametrize(("high", "notes"), [(0.5, 1), (1000.0, 0)])
def test_a_check_tells_where_numbers_leave_their_declared_range(high: float, notes: int) -> None:
    told = [note for note in ifthen.check(lambda: Leaving(high)).notes if "left the range" in note]
    assert len(told) == notes
    assert all("ranges" in note for note in told)


def test_a_check_says_that_one_action_is_no_choice() -> None:
    def alone() -> Any:
        return gymnasium.wrappers.TransformAction(Walk(), lambda action: action + 1, spaces.Discrete(1))

    assert "there is one action, so that rules have nothing to choose." in ifthen.check(alone).notes


def test_the_time_of_an_epoch_is_that_of_its_episodes() -> None:
    with pytest.warns(ifthen.IfthenWarning, match="do not see"):
        system = PPLDL(Room, seed=0, threads=1).learn(epochs=1)
    found = ifthen.check(system.task, threads=2)
    assert found.played is not None
    assert found.epoch_seconds is not None
    episodes = found.epoch_seconds * found.played.steps_per_second * 2 / found.played.mean_steps
    first, second = system.now.records
    assert second["episodes"] - first["episodes"] == pytest.approx(episodes, rel=0.35)


def test_a_table_has_nothing_to_try_out() -> None:
    found = ifthen.check("FrozenLake-4-0.1")
    assert found.played is None
    assert found.epoch_seconds is None
    assert "It is a table" in str(found)
    assert [feature["name"] for feature in found.to_dict()["features"]] == ["x", "y"]


def test_what_cannot_be_trained_on_is_an_error() -> None:
    with pytest.raises(ifthen.errors.TaskError, match="must be Discrete"):
        ifthen.check("Pendulum-v1")


def test_a_compiled_twin_is_timed_itself() -> None:
    fast, slow = ifthen.check("CartPole-v1"), ifthen.check(ifthen.env_task("CartPole-v1", player="sync"))
    assert fast.played is not None
    assert slow.played is not None
    assert fast.played.steps_per_second > 10 * slow.played.steps_per_second


def test_other_warnings_are_left_alone() -> None:
    def noisy() -> Any:
        warnings.warn("from the environment", UserWarning, stacklevel=1)
        return Walk()

    with pytest.warns(UserWarning, match="from the environment"):
        ifthen.check(noisy)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0063, "0.0063 s"), (12.3, "12 s"), (89, "89 s"), (200, "3.3 min"), (7200, "2 h"), (3e5, "3.5 days")],
)
def test_durations_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words
