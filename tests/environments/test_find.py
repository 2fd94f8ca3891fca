from __future__ import annotations

import pytest

from ifthen import task_by_name
from ifthen.environments.known_environments import known_names
from ifthen.errors import TaskError


@pytest.mark.parametrize("name", known_names())
def test_every_known_name_makes_a_task_of_that_name(name: str) -> None:
    if name.startswith("LunarLander"):
        pytest.importorskip("Box2D")
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
