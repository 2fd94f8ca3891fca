"""What every known environment must keep to, and what registering one does."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium
import pytest
from gymnasium import wrappers
from gymnasium.envs.classic_control import CartPoleEnv

from ifthen import PPLDL, env_task, task_by_name
from ifthen.environments import OWN
from ifthen.environments import known_environments as registry
from ifthen.environments.cart_pole import CartPole
from ifthen.environments.known_environments import (
    KnownEnvironment,
    KnownFeature,
    about,
    known_by_id,
    known_class,
    known_environments,
    presets_of,
)
from ifthen.environments.twin_registry import registered_twin
from ifthen.systems.registry import SYSTEMS
from tests.envs import WALK, Walk

every_known = pytest.mark.parametrize("known", known_environments(), ids=lambda known: known.__name__)


def made(name: str) -> Any:
    """Return an environment, if the package that it needs is installed."""
    if name.startswith("LunarLander"):
        pytest.importorskip("Box2D")
    return gymnasium.make(name)


@every_known
def test_ids_are_of_the_class_and_names_fit_the_spaces(known: type[KnownEnvironment]) -> None:
    for name in known.ids:
        env = made(name)
        assert registry.class_path(type(env.unwrapped)) == known.of_class
        assert known_by_id(name) is known_class(env) is known
        assert len(known.actions) == env.action_space.n
        task = task_by_name(name)
        assert task.action_names == known.actions
        assert [feature.name for feature in task.features] == [feature.name for feature in known.features]
        assert [getattr(feature, "unit", "") for feature in task.features] == [f.unit for f in known.features]


@every_known
def test_random_episodes_are_rewarded_no_less_than_the_least_reward(known: type[KnownEnvironment]) -> None:
    for name in known.ids:
        env = made(name)
        least = known.least_reward(env.unwrapped)
        if least is None:
            continue
        env.action_space.seed(0)
        for seed in range(20):
            env.reset(seed=seed)
            over = False
            while not over:
                _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
                assert float(reward) >= least
                over = terminated or truncated


@every_known
def test_presets_are_parameters_of_systems(known: type[KnownEnvironment]) -> None:
    for system, parameters in known.presets.items():
        names = {name for name, _, _ in SYSTEMS[system].list_parameters()}
        assert parameters
        assert set(parameters) <= names


@every_known
def test_a_twin_says_which_class_it_copies(known: type[KnownEnvironment]) -> None:
    if known.twin is not None:
        assert known.twin.of_class == known.of_class


def test_older_ids_and_ids_of_ones_own_have_the_twin_of_their_class_but_no_presets() -> None:
    kind: Any = CartPoleEnv
    gymnasium.register("ifthen_tests/Pole-v0", entry_point=kind, max_episode_steps=30)
    for name in ("CartPole-v0", "ifthen_tests/Pole-v0"):
        assert registered_twin(name) is CartPole.twin
        assert presets_of("PPL-DL", name) == {}
    assert presets_of("PPL-DL", "CartPole-v1") == {"p_any": 0.7}
    assert presets_of("PPL-ST", "CartPole-v1") == {}
    assert presets_of("PPL-DL", "NoSuch-v0") == {}


def test_nothing_is_known_of_unknown_or_wrapped_environments() -> None:
    assert known_class(Walk()) is KnownEnvironment
    assert known_by_id(WALK) is known_by_id("NoSuch-v0") is known_by_id("") is KnownEnvironment
    assert about(Walk()) == ((), (), None, None)
    assert about(wrappers.ClipReward(gymnasium.make("CartPole-v1"), 0, 1)) == ((), (), None, None)
    assert about(wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))).episodes == 100


@pytest.fixture
def known_walk(monkeypatch: pytest.MonkeyPatch) -> type[KnownEnvironment]:
    monkeypatch.setattr(registry, "_known", dict(registry._known))

    class KnownWalk(KnownEnvironment):
        of_class = "tests.envs:Walk"
        ids = (WALK,)
        features = (KnownFeature("place", "m", low=-4.0, high=4.0), KnownFeature("noise"))
        actions = ("left", "stay", "right")
        episodes = 7
        presets = {"PPL-DL": {"idv_size": 3}}  # noqa: RUF012  # a constant

        @staticmethod
        def least_reward(env: Any) -> float:
            return -9.0 if env.endless else -6.0

    return KnownWalk


def test_one_class_is_all_that_a_new_environment_needs(known_walk: type[KnownEnvironment]) -> None:
    task = env_task(WALK)
    assert [(f.name, f.unit) for f in task.features] == [("place", "m"), ("noise", "")]
    assert (task.features[0].low, task.features[0].high) == (-4.0, 4.0)
    assert (task.action_names, task.episodes) == (("left", "stay", "right"), 7)
    assert task.floor == -6.0 * task.t_max - 1
    assert env_task(WALK, options={"endless": True}).floor == -9.0 * task.t_max - 1
    assert task.origin["ranges"].split()[0] == "known"
    assert PPLDL(task).parameters.idv_size == 3
    assert WALK in registry.listed_ids(table=False)


def test_importing_ifthen_registers_our_environments_and_imports_no_file_of_one() -> None:
    code = (
        "import sys, gymnasium, ifthen; "
        f"assert set({list(OWN)!r}) <= set(gymnasium.registry); "
        "assert [m for m in sys.modules if m.startswith('ifthen.environments')] == ['ifthen.environments']; "
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
