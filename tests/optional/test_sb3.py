"""Stable-Baselines3 takes our systems for models of its own. `make test-optional` runs these."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import ifthen
from ifthen import System, evaluate, frozen_lake
from ifthen.systems.registry import SYSTEMS
from tests.systems.contract import every_system

evaluation: Any = pytest.importorskip(
    "stable_baselines3.common.evaluation", reason="needs stable-baselines3", exc_type=ImportError
)
vec_env: Any = pytest.importorskip("stable_baselines3.common.vec_env", exc_type=ImportError)
env_util: Any = pytest.importorskip("stable_baselines3.common.env_util", exc_type=ImportError)
monitor: Any = pytest.importorskip("stable_baselines3.common.monitor", exc_type=ImportError)


def trained(name: str, p_slip: float = 0.0) -> System:
    """Return a system that finds its way on the small lake from every cell."""
    system = SYSTEMS[name](frozen_lake(4, p_slip), seed=7, threads=1).learn(
        60, callback=lambda s: s.history["exact_performance"][-1] < 0.6
    )
    assert not evaluate(system, system.task, "exact").failed
    return system


def lake(**options: Any) -> Any:
    return monitor.Monitor(gymnasium.make("ifthen/FrozenLake-v0", size=4, **options))


@every_system
def test_evaluate_policy_accepts_a_system_on_a_plain_environment(name: str) -> None:
    system = trained(name)
    mean, deviation = evaluation.evaluate_policy(system, lake(), n_eval_episodes=3)
    env = lake()
    at, _ = env.reset()
    reward, over = 0.0, False
    while not over:
        at, reward, terminated, truncated, _ = env.step(system.predict(at)[0])
        over = terminated or truncated
    assert (mean, deviation) == (reward, 0.0)


@every_system
@pytest.mark.parametrize("n_envs", [1, 3])
def test_evaluate_policy_accepts_a_system_on_vector_environments(name: str, n_envs: int) -> None:
    system = trained(name)
    envs = vec_env.DummyVecEnv([lambda: lake(random_start=True)] * n_envs)
    envs.seed(5)
    rewards, lengths = evaluation.evaluate_policy(
        system, envs, n_eval_episodes=30, return_episode_rewards=True
    )
    assert len(rewards) == len(lengths) == 30
    assert set(rewards) <= {0.0, 1.0}
    # Where nothing slips the discounted return of an episode of n steps is γ to the n − 1, or 0.
    values = [r * system.task.gamma ** (n - 1) for r, n in zip(rewards, lengths, strict=True)]
    exact = evaluate(system, system.task, "exact").performance
    assert np.mean(values) == pytest.approx(exact, abs=4 * np.std(values) / np.sqrt(30) + 1e-9)


@every_system
def test_evaluate_policy_accepts_a_system_that_was_trained_on_state_numbers(name: str) -> None:
    env = gymnasium.make("CliffWalking-v1", max_episode_steps=50)
    system = SYSTEMS[name](env, seed=0, threads=1).learn(
        30, callback=lambda s: evaluate(s, s.task, "exact").failed
    )
    assert not evaluate(system, system.task, "exact").failed  # no environment accepts "no action"
    rewards, _ = evaluation.evaluate_policy(
        system, monitor.Monitor(env), n_eval_episodes=2, return_episode_rewards=True
    )
    assert rewards[0] == rewards[1] <= -13


@pytest.mark.parametrize("n_envs", [1, 4])
def test_evaluate_policy_gives_our_own_scores_in_an_environment(n_envs: int) -> None:
    system = ifthen.PPLDL("CartPole-v1", seed=0, threads=1, pop_size=40).learn(epochs=3)
    envs = env_util.make_vec_env("CartPole-v1", n_envs=n_envs)
    envs.seed(100)  # the first episode of environment i starts from seed 100 + i
    rewards, _ = evaluation.evaluate_policy(system, envs, n_eval_episodes=n_envs, return_episode_rewards=True)
    ours = evaluate(system, system.task, seeds=np.arange(100, 100 + n_envs))
    assert not ours.failed
    assert ours.returns is not None
    assert sorted(rewards) == sorted(ours.returns)
