"""Models of Stable-Baselines3 teach PPL-X, as objects and as files. `make test-optional` runs these."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import ifthen
from ifthen.errors import ParameterError
from ifthen.systems.pplx.teacher import as_teacher
from tests.envs import task_of

sb3: Any = pytest.importorskip("stable_baselines3", reason="needs stable-baselines3", exc_type=ImportError)
POINTS = np.random.default_rng(0).uniform(-0.2, 0.2, (40, 4))


def pole() -> Any:
    return ifthen.task_by_name("CartPole-v1")


def model_of(name: str, env: Any = "CartPole-v1") -> Any:
    """Return a model that has learnt nothing yet; it acts all the same."""
    made = gymnasium.make(env) if isinstance(env, str) else env
    policy = "MultiInputPolicy" if isinstance(made.observation_space, gymnasium.spaces.Dict) else "MlpPolicy"
    return getattr(sb3, name)(policy, made, seed=1, device="cpu")


@pytest.mark.parametrize("name", ["DQN", "PPO", "A2C"])
def test_a_model_and_its_file_act_as_the_model_does(name: str, tmp_path: Path) -> None:
    model = model_of(name)
    model.save(tmp_path / "model.zip")
    expected = model.predict(POINTS.astype(np.float32), deterministic=True)[0].tolist()
    for given in (model, tmp_path / "model.zip", str(tmp_path / "model.zip")):
        teacher = as_teacher(given, pole())
        assert teacher.has_values
        assert teacher.actions(POINTS).tolist() == expected
        assert teacher.name == f"{name} of Stable-Baselines3"
    values = teacher.values(POINTS)
    if name != "DQN":
        assert np.exp(values).sum(axis=1) == pytest.approx(np.ones(len(POINTS)), abs=1e-5)


@pytest.mark.parametrize("kind", ["state", "multi", "integers"])
def test_models_of_other_observations_are_asked_with_whole_ones(kind: str) -> None:
    task = task_of(kind=kind)
    model = model_of("PPO", task.make())
    points = np.clip(np.ones((5, len(task.features))), *task.ranges)
    observations = task.flat.observations(task.make().observation_space, points)
    expected = model.predict(observations, deterministic=True)[0].tolist()
    assert as_teacher(model, task).actions(points).tolist() == expected


def test_models_of_another_environment_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"CartPole-v1 has 2 actions, but PPO .* Discrete\(3\)"):
        as_teacher(model_of("PPO", "Acrobot-v1"), pole())
    with pytest.raises(ParameterError, match="which MountainCar-v0 does not give"):
        as_teacher(model_of("PPO", "Acrobot-v1"), ifthen.env_task("MountainCar-v0"))
    model_of("DQN").save(tmp_path / "dqn.zip")
    data = (tmp_path / "dqn.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[: len(data) // 2])
    with pytest.raises(ifthen.IfthenError):
        as_teacher(tmp_path / "cut.zip", pole())


def test_rules_are_learnt_from_a_model() -> None:
    found = ifthen.distil(model_of("DQN"), "CartPole-v1", steps=2_000, threads=1, tune=False, episodes=10)
    assert found.teacher == "DQN of Stable-Baselines3"
    assert max(own.on_teachers.kept for own in found.imitations) > 0.5
