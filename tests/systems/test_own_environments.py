"""Systems on environments that a function makes, or whose actions have numbers below 0."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ifthen
from ifthen import NULL_ACTION, PPLDL, System, load
from ifthen.environments.make import env_task
from ifthen.errors import ModelFileError, RuleError, TaskError
from ifthen.rules.kinds import DecisionList
from ifthen.systems.registry import SYSTEMS
from tests.envs import KINDS, WALK, Walk
from tests.systems.contract import every_system, make, meadow


def own_task(**options: Any) -> Any:
    """Return a small task whose environment only a function makes."""
    return env_task(lambda: Walk(**options), episodes=3, t_max=12, ranges={"f0": (-5, 5), "f1": (0, 2)})


@every_system
@pytest.mark.parametrize("entry", ["ifthen.load", "System.load"])
def test_a_function_is_given_again_as_the_message_says(name: str, entry: str, tmp_path: Path) -> None:
    path = tmp_path / "m.zip"
    whole = make(name, task=own_task()).learn(epochs=1)
    whole.save(path)
    with pytest.raises(TaskError, match=r"Give it again, or a function .*: ifthen\.load\(path, env=…\)"):
        load(path, threads=1).learn(epochs=1)
    reader: Callable[..., System] = ifthen.load if entry == "ifthen.load" else SYSTEMS[name].load
    system = reader(path, threads=1, env=Walk).learn(epochs=1)
    assert system.now.records == whole.learn(epochs=1).now.records
    assert system.predict(Walk().reset(seed=1)[0])[0] in range(-1, 3)


@every_system
def test_a_task_cannot_be_put_in_the_place_of_another(name: str) -> None:
    system = make(name, task=own_task()).learn(epochs=1)
    with pytest.raises(AttributeError, match="task"):
        system.task = dataclasses.replace(system.task, factory=Walk)  # type: ignore[misc]


@pytest.mark.parametrize("given", [Walk, Walk(), WALK])
def test_a_saved_system_is_given_an_environment_in_any_form(given: Any, tmp_path: Path) -> None:
    whole = make("PPL-DL", task=own_task()).learn(epochs=1)
    whole.save(tmp_path / "own.zip")
    again = load(tmp_path / "own.zip", given, threads=1)
    assert again.learn(epochs=1).now.records == whole.learn(epochs=1).now.records


@every_system
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_loaded_model_predicts_without_its_environment(name: str, kind: str, tmp_path: Path) -> None:
    system = make(name, task=env_task(lambda: Walk(kind=kind, start=2), episodes=3, t_max=12)).learn(epochs=1)
    system.save(tmp_path / "own.zip")
    again = load(tmp_path / "own.zip", threads=1)
    for seed in range(5):
        observation = Walk(kind=kind).reset(seed=seed)[0]
        assert again.predict(observation)[0] == system.predict(observation)[0]


def test_an_environment_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    make("PPL-DL", task=own_task()).learn(epochs=0).save(tmp_path / "own.zip")
    PPLDL(meadow(), seed=1, threads=1, idv_size=2, pop_size=2).learn(epochs=0).save(tmp_path / "table.zip")
    with pytest.raises(TaskError, match="2 features and 3 actions, but its environment has 4 and 2"):
        load(tmp_path / "own.zip", "CartPole-v1")
    with pytest.raises(TaskError, match=r"observes the observation of shape .* but the environment"):
        load(tmp_path / "own.zip", lambda: Walk(kind="tuple"))
    with pytest.raises(TaskError, match="needs a Gymnasium environment"):
        load(tmp_path / "own.zip", 7)  # type: ignore[arg-type]  # that is what is tested
    with pytest.raises(TaskError, match=r"table of states .* leave env out"):
        load(tmp_path / "table.zip", Walk)
    with pytest.raises(ModelFileError, match="holds a PPL-DL model"):
        ifthen.XCSF.load(tmp_path / "own.zip", Walk)


def never_right(system: System) -> Any:
    """Return a system whose rules match nothing right of the middle."""
    task = system.task
    rules = DecisionList([[[-5.0, 0.0], [0.0, 2.0]]], [2], task.features, task.action_names)
    return type("Halved", (type(system),), {"ruleset": rules})(task, threads=1)


@pytest.mark.parametrize("start", [0, 4, -1, -3])
def test_no_action_is_never_taken_for_one(start: int) -> None:
    task = own_task(start=start)
    system = never_right(make("PPL-DL", task=task))
    left, right = np.array([-1.0, 0.0]), np.array([1.0, 0.0])
    assert system.predict(left)[0] == start + 2
    for seen in (right, np.stack([left, right])):
        if start < 0:
            with pytest.raises(RuleError, match=f"no rule matches .*, whose actions begin at {start}"):
                system.predict(seen)
        else:
            assert np.atleast_1d(system.predict(seen)[0])[-1] == NULL_ACTION
