"""Settings of tasks: from plain data to tasks, and through TOML and back."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from ifthen.errors import ParameterError
from ifthen.runs.run_report import command_of
from ifthen.runs.settings import checked_settings, parse_assignment, read_settings
from ifthen.runs.task_settings import with_settings
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.study.study_plan import checked_plan
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.tabular_task import TabularTask

CART: dict[str, Any] = {
    "environment": "CartPole-v1",
    "name": "my cart",
    "episodes": 5,
    "gamma": 0.9,
    "t_max": 100,
    "default_action": "push left",
    "noise_seed": 3,
    "ranges": {"cart velocity": [-1.5, 1.5]},
    "options": {"sutton_barto_reward": True},
}


def settings_of(task: Any) -> Any:
    return checked_settings({"system": "PPL-DL", "task": task})


def test_a_table_of_settings_makes_the_task() -> None:
    task = settings_of(CART).make_task()
    assert isinstance(task, EnvTask)
    for name in ("name", "episodes", "gamma", "t_max", "noise_seed"):
        assert getattr(task, name) == CART[name]
    assert task.default_action == 0
    velocity = task.features[1]
    assert (velocity.low, velocity.high) == (-1.5, 1.5)
    assert dict(task.options) == {"sutton_barto_reward": True}
    assert task.make().unwrapped._sutton_barto_reward


def test_where_ranges_come_from_is_known() -> None:
    told = str(settings_of(CART).make_task().origin["ranges"]).split()
    assert told[1] == "given"
    assert told[3] == "known"


def test_settings_with_tables_inside_survive_toml(tmp_path: Path) -> None:
    settings = settings_of(CART)
    (tmp_path / "run.toml").write_text(settings.to_toml(), encoding="utf-8")
    assert checked_settings(read_settings(tmp_path / "run.toml")) == settings


def test_an_environment_with_a_table_stays_tabular() -> None:
    calm = settings_of({"environment": "FrozenLake-v1", "options": {"is_slippery": False}, "gamma": 0.8})
    task = calm.make_task()
    assert isinstance(task, TabularTask)
    assert task.gamma == 0.8
    assert optimal_performance(task, "exact") == pytest.approx(0.8**5)
    with pytest.raises(ParameterError, match="episodes is no setting of FrozenLake-v1"):
        settings_of({"environment": "FrozenLake-v1", "episodes": 3}).make_task()
    with pytest.raises(ParameterError, match="enumerations is no setting of CartPole-v1"):
        settings_of({"environment": "CartPole-v1", "enumerations": 3}).make_task()


def test_changes_are_made_to_names_and_to_tables() -> None:
    assert with_settings("CartPole-v1", {}) == "CartPole-v1"
    changed = with_settings("CartPole-v1", {"episodes": 3, "options.x": 1, "ranges.a b": [0, 1]})
    assert changed == {
        "environment": "CartPole-v1",
        "episodes": 3,
        "options": {"x": 1},
        "ranges": {"a b": [0, 1]},
    }
    assert with_settings(CART, {"options.x": 1})["options"] == {"sutton_barto_reward": True, "x": 1}
    lake = with_settings("FrozenLake-8-0.3-map7", {"gamma": 0.5})
    assert lake == {"size": 8, "p_slip": 0.3, "map_seed": 7, "gamma": 0.5}
    with pytest.raises(ParameterError, match="name one"):
        with_settings(None, {"gamma": 0.5})


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"environment": "CartPole-v1", "epsodes": 3}, "'task.epsodes'. Did you mean 'episodes'"),
        ({"environment": "CartPole-v1", "name": 3}, "task.name: input should be a valid string"),
        ({"environment": "CartPole-v1", "player": "fast"}, "task.player"),
        ({"enviroment": "CartPole-v1"}, "'task.enviroment'. Did you mean 'environment'"),
        (3, "task: input should be a valid string"),
    ],
)
def test_wrong_settings_are_named(task: Any, said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        settings_of(task)
    assert said in str(caught.value)


def test_tasks_of_a_study_are_named_once_and_given_in_any_way() -> None:
    systems = [{"name": "PPL-DL"}]
    plan = checked_plan({"name": "x", "systems": systems, "tasks": ["FrozenLake-4-0", "CartPole-v1", CART]})
    assert list(plan.tasks_by_name()) == ["FrozenLake-4-0", "CartPole-v1", "my cart"]
    twice = checked_plan(
        {"name": "x", "systems": systems, "tasks": ["CartPole-v1", {"environment": "CartPole-v1"}]}
    )
    with pytest.raises(ParameterError, match="names the task CartPole-v1 twice"):
        twice.tasks_by_name()
    with pytest.raises(ParameterError, match=r"tasks.0.epsodes'. Did you mean 'episodes'"):
        checked_plan(
            {"name": "x", "systems": systems, "tasks": [{"environment": "CartPole-v1", "epsodes": 3}]}
        )


@pytest.mark.parametrize(
    "task", [CART, {"environment": "CartPole-v1", "t_max": 2000, "disturbances": {"noise": 0.02}}]
)
def test_the_command_of_a_run_names_every_setting_of_its_environment(task: dict[str, Any]) -> None:
    settings = checked_settings(
        {"system": "PPL-X", "task": task, "epochs": 3, "seed": 4, "require": ["rules<=5"]}
    )
    words = shlex.split(command_of(settings))
    assert words[:4] == ["ifthen", "train", "PPL-X", "CartPole-v1"]
    options = list(zip(words[4::2], words[5::2], strict=True))
    changes = dict(parse_assignment(text, "--task-set") for name, text in options if name == "--task-set")
    again = with_settings(words[3], changes)
    assert checked_settings({"system": "PPL-X", "task": again}).task == settings.task
    assert {("--epochs", "3"), ("--seed", "4"), ("--require", "rules<=5")} <= set(options)
