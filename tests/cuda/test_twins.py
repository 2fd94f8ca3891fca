"""Twins on a GPU play the CPU's episodes, but for the last bits of sines and cosines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ifthen import PPLDL, PPLST, EnvTask, env_task
from ifthen.randomness import stream
from ifthen.rules.batch import LIST, STRENGTH
from ifthen.simulate import gpu, gpu_twin
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.gpu_twin import GpuTwinSimulator
from ifthen.simulate.simulator import Budget, Reinforcement
from tests.cuda.cases import population, same

N = 5 if gpu.simulated() else 2001
STEPS = 30 if gpu.simulated() else 200
NAMES = ("CartPole-v1", "MountainCar-v0", "Acrobot-v1")
CLOSE = 0.0 if gpu.simulated() else 0.01
"""The share of rulesets whose episodes may differ: those where a last bit decides."""


def task_of(name: str) -> EnvTask:
    return env_task(name, episodes=3, t_max=STEPS)


@pytest.mark.parametrize("how", [LIST, STRENGTH])
@pytest.mark.parametrize("name", NAMES)
def test_a_population_gets_the_same_returns(name: str, how: int) -> None:
    task = task_of(name)
    rules = population(task, how, N, 6, p_any=0.7)
    rules.learnt[:] = np.random.default_rng(0).normal(size=rules.learnt.shape) ** 2
    cpu, cuda = environment_simulator(task), environment_simulator(task, backend="cuda")
    assert isinstance(cuda, GpuTwinSimulator)
    one, other = cpu.fitness(rules, 0), cuda.fitness(rules, 0)
    differs = (one.performance != other.performance) | (one.steps != other.steps)
    assert differs.mean() <= CLOSE
    assert one.performance.std() > 0 or name != "CartPole-v1"
    played, again = cpu.play(rules, task.z), cuda.play_population(rules, task.z)
    assert (played.steps != again.steps).any(axis=1).mean() <= CLOSE
    assert (played.endings != again.endings).any(axis=1).mean() <= CLOSE


@pytest.mark.parametrize("rules", [1, 8, 9])
def test_lists_with_terms_get_the_same_returns(rules: int) -> None:
    task, draws = task_of("CartPole-v1"), np.random.default_rng(rules)
    plain = population(task, LIST, N, rules, p_any=0.9)
    coefficients = draws.choice([0.0, 1.0, -0.5], (N, 2, len(task.features)))
    ends = draws.uniform(0.0, 0.5, (N, rules, 2, 2)) * [-1.0, 1.0]
    batch = plain._replace(bounds=np.concatenate([plain.bounds, ends], axis=2), terms=coefficients)
    cpu, cuda = environment_simulator(task), environment_simulator(task, backend="cuda")
    played, again = cpu.play(batch, task.z), cuda.play_population(batch, task.z)
    assert (played.steps != again.steps).any(axis=1).mean() <= CLOSE
    assert (played.endings != again.endings).any(axis=1).mean() <= CLOSE
    assert played.steps.std() > 0


def test_a_population_is_played_in_parts_that_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of("CartPole-v1")
    rules = population(task, LIST, N, 6, p_any=0.7)
    whole = environment_simulator(task, backend="cuda").fitness(rules, 0)
    monkeypatch.setattr(gpu, "SCRATCH_BYTES", 1000 * N // 3)
    simulator = environment_simulator(task, backend="cuda")
    assert isinstance(simulator, GpuTwinSimulator)
    assert len(list(simulator._parts(rules, len(task.z)))) > 1
    assert same(whole, simulator.fitness(rules, 0))


@pytest.mark.parametrize("name", NAMES)
def test_rules_learn_the_same_numbers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_twin, "FEWEST_LEARNERS", 1)
    task = task_of(name)
    lesson = Reinforcement(stream(2, "reinforce", 1), N - 1, 2, 0.1, False)
    learnt, steps = [], []
    for simulator in (environment_simulator(task), environment_simulator(task, backend="cuda")):
        rules = population(task, STRENGTH, N, 6, p_any=0.7, seed=2)
        steps.append(simulator.reinforce(rules, lesson))
        learnt.append(rules.learnt)
    differs = ~np.isclose(learnt[0], learnt[1], rtol=1e-9, atol=1e-12).all(axis=(1, 2))
    assert differs.mean() <= CLOSE
    assert learnt[0][: N - 1].any()
    assert not learnt[1][N - 1].any()
    assert abs(steps[0] - steps[1]) <= CLOSE * steps[0]


def test_the_fittest_is_measured_on_the_cpu() -> None:
    task = task_of("CartPole-v1")
    rules = population(task, LIST, N, 6, p_any=0.7)
    cpu, cuda = environment_simulator(task), environment_simulator(task, backend="cuda")
    assert cpu.measures(rules, 2) == cuda.measures(rules, 2)


def test_budgets_are_spent_as_on_the_cpu() -> None:
    task, budget = task_of("CartPole-v1"), Budget(windows=2)
    rules = population(task, LIST, N, 6, p_any=0.7)
    cpu = environment_simulator(task, 1, budget).fitness(rules, 1)
    cuda = environment_simulator(task, 1, budget, 0, "cuda").fitness(rules, 1)
    assert (cpu.episodes == cuda.episodes).all()
    assert (cpu.performance != cuda.performance).mean() <= CLOSE


@pytest.mark.parametrize("system", [PPLDL, PPLST])
def test_learning_twice_gives_the_same_bytes(system: Any) -> None:
    size = {"pop_size": 6, "idv_size": 4} if gpu.simulated() else {"pop_size": 300, "idv_size": 9}
    one, other = (
        system(task_of("CartPole-v1"), seed=4, backend="cuda", **size).learn(epochs=1) for _ in range(2)
    )
    for ours, theirs in zip(one.now.population, other.now.population, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert [*one.now.records] == [*other.now.records]
