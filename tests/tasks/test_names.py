from __future__ import annotations

import pytest

from ifthen import TaskError, task_by_name
from ifthen.tasks.names import PAPER_TASKS, TABULAR_ENVIRONMENTS


@pytest.mark.parametrize("name", PAPER_TASKS)
def test_every_task_of_the_paper_is_known_by_its_name(name: str) -> None:
    assert task_by_name(name).name == name


@pytest.mark.parametrize("name", TABULAR_ENVIRONMENTS)
def test_every_tabular_environment_is_known_by_its_id(name: str) -> None:
    assert task_by_name(name).name == name


def test_a_random_map_is_named_by_its_seed() -> None:
    task = task_by_name("FrozenLake-5-0.25-map7")
    assert task.name == "FrozenLake-5-0.25-map7"
    assert task.origin == {"environment": "ifthen/FrozenLake-v0", "p_slip": 0.25, "map_seed": 7}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("FrozenLake-4x0.1", "Did you mean 'FrozenLake-4-0.1'"),
        ("taxi", "Did you mean 'Taxi-v4'"),
        ("FrozenLake-4-1.5", "number from 0 to 1"),
        ("FrozenLake-5-0.1", "built-in map"),
        ("Pendulum-v1", "action space must be Discrete"),
        ("no_such_package_of_mine:Env-v0", "needs the package 'no_such_package_of_mine'"),
        ("", "unknown task ''"),
    ],
)
def test_unknown_and_impossible_names_are_refused(name: str, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        task_by_name(name)
