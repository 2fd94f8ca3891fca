"""Models of Stable-Baselines3 as teachers: a DQN by its action values, others by log-probabilities.

Reading a file of Stable-Baselines3 can run what is in it, as pickles do: only a file that the user has named
is ever read. The package is not needed otherwise.
"""

from __future__ import annotations

import importlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError, shown
from ifthen.rules.arrays import Floats
from ifthen.systems.pplx.teacher import Teacher
from ifthen.tasks.gym_task import EnvTask

INSTALL = "pip install stable-baselines3"
LARGEST_HEAD = 100_000_000
"""Archives with more bytes of settings than this are refused."""
PACKAGE = "stable_baselines3"
BY_SETTING = {"exploration_final_eps": "DQN", "clip_range": "PPO", "vf_coef": "A2C"}
"""The algorithm by a setting that it has and those after it do not."""


def read_sb3(path: Path) -> Any:
    """Return the model in an archive of Stable-Baselines3."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo("data").file_size > LARGEST_HEAD:
                raise ParameterError(f"the settings in {path} are larger than {LARGEST_HEAD:,} bytes.")
            settings = json.loads(archive.read("data"))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as problem:
        raise ParameterError(f"{path} is no model of Stable-Baselines3: {problem}.") from None
    if not isinstance(settings, dict):
        raise ParameterError(f"{path} is no model of Stable-Baselines3: its settings are no mapping.")
    class_name = next((algorithm for setting, algorithm in BY_SETTING.items() if setting in settings), None)
    if class_name is None or not _is_core_policy(settings.get("policy_class")):
        raise ParameterError(
            f"{path} holds a model of an algorithm that is not known here. Load it in Python, and give the "
            "model as the teacher."
        )
    try:
        model_class = getattr(importlib.import_module(PACKAGE), class_name)
    except ImportError:
        raise ParameterError(
            f"{path} is a model of Stable-Baselines3, which is not installed: {INSTALL}."
        ) from None
    try:
        return model_class.load(path, device="cpu")
    except Exception as problem:  # whatever torch or a pickle raises
        raise ParameterError(
            f"{path} cannot be loaded as {class_name}: {type(problem).__name__}: {problem}"
        ) from problem


def _is_core_policy(policy: object) -> bool:
    """Return whether a policy, as an archive describes it, is not that of another package's algorithm."""
    module = policy.get("__module__") if isinstance(policy, dict) else None
    return not str(module).startswith("sb3_contrib")


def sb3_teacher(model: Any, task: EnvTask, to_observations: Callable[[Floats], Any]) -> Teacher:
    """Return the teacher that a model is.

    Args:
        model: the model.
        task: the environment.
        to_observations: puts observations together from points.
    """
    name, n_actions = f"{type(model).__name__} of Stable-Baselines3", task.n_actions
    if getattr(model.action_space, "n", None) != n_actions:
        raise ParameterError(
            f"{task.name} has {n_actions} actions, but {name} chooses from {model.action_space}."
        )
    if hasattr(model.policy, "lstm_actor"):
        raise ParameterError(f"{name} has a memory, and rules have none: it cannot be imitated.")
    value_network = _values_of(model)
    if value_network is None:
        start = task.action_start

        def predicted_actions(points: Floats) -> NDArray[Any]:
            return np.asarray(model.predict(to_observations(points), deterministic=True)[0]) - start

        teacher = Teacher(name, predicted_actions, n_actions, False)
    else:
        torch: Any = importlib.import_module("torch")
        network = value_network

        def network_values(points: Floats) -> NDArray[Any]:
            with torch.no_grad():
                tensor, _ = model.policy.obs_to_tensor(to_observations(points))
                return np.asarray(network(tensor).cpu().numpy())

        model.policy.set_training_mode(False)
        teacher = Teacher(name, network_values, n_actions, True)
    probe = np.clip(np.zeros((3, len(task.features))), *task.ranges)
    try:
        teacher.actions(probe)
    except Exception as problem:  # whatever torch raises where shapes do not fit
        raise ParameterError(
            f"{name} observes {shown(model.observation_space)}, which {task.name} does not give: "
            f"{type(problem).__name__}: {problem}"
        ) from problem
    return teacher


def _values_of(model: Any) -> Callable[[Any], Any] | None:
    """Return the function that gives a model's action values or log-probabilities; None if it has neither."""
    if hasattr(model, "q_net"):
        network: Callable[[Any], Any] = model.q_net
        return network
    if hasattr(model, "quantile_net"):
        return lambda tensor: model.quantile_net(tensor).mean(dim=1)
    if hasattr(model.policy, "get_distribution"):
        return lambda tensor: model.policy.get_distribution(tensor).distribution.logits
    return None
