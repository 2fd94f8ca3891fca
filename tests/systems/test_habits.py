"""What users of Stable-Baselines3 expect of a model besides learning and predicting."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from ifthen import load
from ifthen.environments.make import env_task
from ifthen.errors import IfthenWarning, TaskError
from tests.envs import Walk
from tests.systems.contract import every_system, make, meadow, saved_bytes


def own_task() -> Any:
    """Return a small task whose environment only a function makes."""
    return env_task(Walk, episodes=3, t_max=12, ranges={"f0": (-5, 5), "f1": (0, 2)})


def test_steps_that_are_too_few_for_a_generation_are_said_to_be_so() -> None:
    whole = make("PPL-DL", task=own_task()).learn(epochs=0)
    took = whole.num_timesteps
    with pytest.warns(IfthenWarning, match=f"nothing was learnt.*took {took:,} steps, and 5 were asked for"):
        short = make("PPL-DL", task=own_task()).learn(total_timesteps=5)
    assert short.epoch == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", IfthenWarning)
        make("PPL-DL", task=own_task()).learn(total_timesteps=took + 1)
        make("XCSF").learn(steps=5)
        short.learn(steps=5)
    assert short.epoch == 1


@every_system
def test_steps_are_counted(name: str) -> None:
    system = make(name)
    assert system.num_timesteps == 0
    system.learn(epochs=2)
    assert system.num_timesteps == system.history["steps"][-1] > 0


@every_system
def test_verbose_prints_some_lines_and_changes_nothing(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet, talking = make(name).learn(epochs=20), make(name, verbose=1)
    assert capsys.readouterr().out == ""
    talking.learn(epochs=20)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith(f"{name}: epoch 20/20, {talking.num_timesteps:,} steps, performance ")
    assert saved_bytes(quiet, tmp_path) == saved_bytes(talking, tmp_path)


@every_system
def test_an_environment_is_set_after_loading(name: str, tmp_path: Path) -> None:
    whole = make(name, task=own_task()).learn(epochs=1)
    whole.save(tmp_path / "own.zip")
    again = load(tmp_path / "own.zip", threads=1)
    with pytest.raises(TaskError):
        again.get_env()
    again.set_env(Walk())
    assert again.learn(epochs=1).now.records == whole.learn(epochs=1).now.records
    assert again.get_env().observation_space == Walk().observation_space


def test_a_table_gives_its_environment_and_needs_none() -> None:
    system = make("PPL-DL", task=meadow()).learn(epochs=1)
    env = system.get_env()
    at, _ = env.reset(seed=0)
    assert env.step(system.predict(at)[0])[0].shape == (2,)
    assert env.unwrapped.t_max == 25
    with pytest.raises(TaskError, match="needs no environment"):
        system.set_env(env)
