from __future__ import annotations

import dataclasses
import functools
import importlib
from typing import Any

import gymnasium
import numpy as np
import pytest

from ifthen.errors import IfthenError, TaskError
from ifthen.rules.feature import Feature
from ifthen.tasks.gym_task import EnvTask
from tests.envs import KINDS, WALK, Walk, task_of
from tests.naive_envs import flatten

PLAIN: dict[str, Any] = {
    "name": "mine",
    "features": (Feature("x", -1.0, 1.0, "real", clips=True), Feature("y", 0, 3, clips=True)),
    "action_names": ("a", "b", "c"),
    "environment": WALK,
    "episodes": 7,
    "t_max": 30,
    "floor": -100.0,
}


def made(**given: Any) -> EnvTask:
    return EnvTask(**{**PLAIN, **given})


def test_lists_of_seeds_have_nothing_in_common_whatever_the_noise_seed() -> None:
    seen: set[int] = set()
    for noise_seed in (0, 1, 2, 77):
        task = made(noise_seed=noise_seed, episodes=100_000)
        for seeds in (task.z, task.pool, task.test_seeds(1000), task.validation, task.pruning(1000)):
            own = set(seeds.tolist())
            assert len(own) == len(seeds)
            assert not own & seen
            seen |= own
    assert made().z.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert made().test_seeds(3).tolist() == [2_000_000, 2_000_001, 2_000_002]


def test_the_largest_noise_seed_has_reset_seeds_and_larger_ones_are_refused() -> None:
    task = made(noise_seed=2**63 // 10_000_000 - 1)
    for seeds in (task.z, task.pool, task.test_seeds(), task.validation, task.pruning()):
        assert seeds.dtype == np.int64
        assert seeds.min() > 0
        assert np.random.default_rng(int(seeds[-1])).random() >= 0
    with pytest.raises(TaskError, match="noise_seed must be a whole number"):
        made(noise_seed=2**63 // 10_000_000)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": ""}, "name must be a text"),
        ({"name": 3}, "name must be a text"),
        ({"environment": None}, "environment must be a text"),
        ({"environment": "os:Walk-v0"}, "id without a module"),
        ({"features": ()}, "features must be a tuple of Feature"),
        ({"features": ("x",)}, "features must be a tuple of Feature"),
        ({"features": 3}, "features must be a tuple of Feature"),
        ({"features": (PLAIN["features"][0],) * 2}, "feature names must differ"),
        ({"action_names": ()}, "action_names must be a tuple of texts"),
        ({"action_names": "abc"}, "action_names must be a tuple of texts"),
        ({"action_names": ("a", 1)}, "action_names must be a tuple of texts"),
        ({"action_names": ("a", "a")}, "action names must differ"),
        ({"default_action": 3}, "default_action must be a whole number from 0 to 2"),
        ({"default_action": -1}, "default_action"),
        ({"default_action": True}, "default_action"),
        ({"options": {"x": [1]}}, "options must hold texts and numbers"),
        ({"options": [1]}, "options must hold texts and numbers"),
        ({"player": "fast"}, "player must be"),
        ({"episodes": 0}, "episodes"),
        ({"episodes": 10**9}, "episodes"),
        ({"episodes": 2.0}, "episodes"),
        ({"t_max": 0}, "t_max"),
        ({"t_max": 10**9}, "t_max"),
        ({"noise_seed": -1}, "noise_seed"),
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": 1.01}, "gamma"),
        ({"gamma": float("nan")}, "gamma"),
        ({"floor": float("nan")}, "floor"),
        ({"floor": -float("inf")}, "floor"),
    ],
)
def test_a_task_with_one_thing_wrong_is_refused_naming_it(given: dict[str, Any], message: str) -> None:
    with pytest.raises(IfthenError, match=message):
        made(**given)


def test_what_is_given_in_lists_and_numbers_of_numpys_is_kept_plain() -> None:
    task = made(
        features=list(PLAIN["features"]),
        action_names=["a", "b", "c"],
        default_action=np.int64(2),
        episodes=np.int32(3),
        gamma=np.float32(0.5),
    )
    assert task.features == PLAIN["features"]
    assert task.action_names == ("a", "b", "c")
    assert [type(n) for n in (task.default_action, task.episodes, task.gamma)] == [int, int, float]


def test_options_that_are_changed_later_do_not_change_the_task() -> None:
    options = {"kind": "integers"}
    task = made(options=options)
    options["kind"] = "bits"
    assert task.options == {"kind": "integers"}


def test_an_id_with_a_module_is_never_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("something was imported")

    monkeypatch.setattr(importlib, "import_module", forbidden)
    monkeypatch.setattr(gymnasium, "make", forbidden)
    with pytest.raises(TaskError, match="id without a module"):
        made(environment="antigravity:Env-v0")
    with pytest.raises(TaskError, match="id without a module"):
        dataclasses.replace(made(), environment="antigravity:Env-v0")


def test_environments_are_made_with_the_tasks_options_and_those_added() -> None:
    task = made(options={"kind": "integers", "start": 4})
    env = task.make(endless=True)
    assert env.unwrapped.observation_space == KINDS["integers"]
    assert (env.unwrapped.first_action, env.unwrapped.endless) == (4, True)
    assert task.make() is not task.make()


def test_options_reach_gymnasiums_make_inside_a_factory_but_no_function_of_the_users() -> None:
    spec = gymnasium.spec(WALK)
    assert made(factory=functools.partial(gymnasium.make, spec)).make(kind="bits").unwrapped.kind == "bits"
    assert made(factory=lambda: Walk("state")).make(kind="bits").unwrapped.kind == "state"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"environment": "NoSuch-v0"}, "'NoSuch-v0' cannot be made: .*Import the package that registers it"),
        ({"options": {"nonsense": 1}}, "cannot be made: .*nonsense"),
        ({"environment": ""}, "made by a function or copied from an environment"),
        ({"factory": lambda: 1 / 0}, "cannot be made: division by zero"),
        ({"options": {"kind": "dict"}}, "2 features and 3 actions, but its environment has 4 and 3"),
        ({"action_names": ("a", "b")}, "2 features and 2 actions, but its environment has 2 and 3"),
    ],
)
def test_an_environment_that_cannot_be_had_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        made(**given).features_of([0.0, 0.0])


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_features_of_observations_are_their_numbers_alone_and_in_batches(kind: str) -> None:
    task = task_of(kind=kind)
    space = KINDS[kind]
    space.seed(1)
    each = [space.sample() for _ in range(6)]
    lows, highs = task.ranges
    rows = [np.clip(flatten(space, observation), lows, highs).tolist() for observation in each]
    assert [task.features_of(observation).tolist() for observation in each] == rows
    room: Any = gymnasium.vector.utils.create_empty_array(space, len(each))
    vector = gymnasium.vector.utils.concatenate(space, each, room)
    assert task.features_of(vector).tolist() == rows


def test_values_beyond_a_range_become_its_edge() -> None:
    task = made()
    assert task.features_of([-5.0, 9.0]).tolist() == [-1.0, 3.0]
    assert task.features_of([[-5.0, 9.0], [0.5, -1.0]]).tolist() == [[-1.0, 3.0], [0.5, 0.0]]


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("batch", [False, True])
def test_numbers_that_are_not_finite_are_refused_naming_the_feature(number: float, batch: bool) -> None:
    observation: Any = [[0.0, 0.0], [0.0, number]] if batch else [0.0, number]
    with pytest.raises(TaskError, match=f"mine observed {number} for y; rules need finite"):
        made().features_of(observation)


def test_the_first_action_may_have_any_number() -> None:
    assert task_of(start=5).action_start == 5
    assert task_of().action_start == 0


def test_a_task_tells_what_it_is() -> None:
    assert repr(made(gamma=0.9)) == "<EnvTask mine: x, y; 3 actions, |z| = 7, gamma = 0.9, t_max = 30>"
