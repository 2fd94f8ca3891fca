"""Tables on a GPU give the CPU's bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ifthen import PPLDL, PPLST, XCSF
from ifthen.randomness import stream
from ifthen.rules.batch import LIST, STRENGTH
from ifthen.simulate import gpu
from ifthen.simulate.evaluate import simulator_of
from ifthen.simulate.gpu import Backend
from ifthen.simulate.gpu_table import GpuTableSimulator
from ifthen.simulate.simulator import Reinforcement
from ifthen.systems.pittsburgh_gpu import Trials, objection
from ifthen.tasks.task import Noise
from tests.cuda.cases import population, same
from tests.worlds import chain, random_task, small_lake

BACKENDS: tuple[Backend, ...] = ("cpu", "cuda")
N = 7 if gpu.simulated() else 3001
TASKS = {
    "lake": small_lake(0.3, t_max=20, enumerations=3),
    "lake without slipping": small_lake(0.0, t_max=20),
    "chain": chain(),
    "random": random_task(3),
}


@pytest.mark.parametrize("noise", ["aligned", "stream"])
@pytest.mark.parametrize("how", [LIST, STRENGTH])
@pytest.mark.parametrize("name", TASKS)
def test_a_population_is_measured_to_the_same_bits(name: str, how: int, noise: Noise) -> None:
    task = TASKS[name]
    rules = population(task, how, N, 5, seed=1)
    rules.learnt[:] = np.random.default_rng(0).normal(size=rules.learnt.shape) ** 2
    by = [simulator_of(task, noise=noise, backend=backend) for backend in BACKENDS]
    assert isinstance(by[1], GpuTableSimulator)
    cpu, cuda = (simulator.fitness(rules, 0) for simulator in by)
    assert same(cpu, cuda)
    assert not cuda.failed.all()


@pytest.mark.parametrize("paper_payoff", [False, True])
@pytest.mark.parametrize("name", TASKS)
def test_rules_learn_the_same_numbers(name: str, paper_payoff: bool) -> None:
    task = TASKS[name]
    lesson = Reinforcement(stream(2, "reinforce", 1), N - 2, 4, 0.1, paper_payoff)
    before = np.random.default_rng(1).normal(size=population(task, STRENGTH, N, 5).learnt.shape) ** 2
    learnt, steps = [], []
    for backend in BACKENDS:
        rules = population(task, STRENGTH, N, 5, seed=2)
        rules.learnt[:] = before
        steps.append(simulator_of(task, backend=backend).reinforce(rules, lesson))
        learnt.append(rules.learnt)
    assert learnt[0].tobytes() == learnt[1].tobytes()
    assert (learnt[0] != before).any(axis=(1, 2)).sum() > N // 2
    assert (learnt[0][N - 2 :] == before[N - 2 :]).all()
    assert steps[0] == steps[1] > 0


@pytest.mark.parametrize("how", [LIST, STRENGTH])
def test_populations_that_do_not_fit_into_memory_are_played_in_parts(
    how: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, lesson = TASKS["lake"], Reinforcement(stream(2, "reinforce", 1), 5, 2, 0.1, False)
    found = []
    for room in (gpu.SCRATCH_BYTES, 20_000):
        monkeypatch.setattr(gpu, "SCRATCH_BYTES", room)
        simulator, rules = simulator_of(task, backend="cuda"), population(task, how, 7, 4, seed=3)
        steps = simulator.reinforce(rules, lesson) if how == STRENGTH else 0
        found.append((simulator.fitness(rules, 0), rules.learnt.tobytes(), steps))
    assert same(found[0][0], found[1][0])
    assert found[0][1:] == found[1][1:]
    assert len(list(gpu.memory_slices(7, 3000))) == 2


@pytest.mark.parametrize("system", [PPLDL, PPLST])
def test_learning_gives_the_same_population_and_history(system: Any) -> None:
    task = small_lake(0.3, t_max=15, enumerations=2)
    size = {"pop_size": 6, "idv_size": 4} if gpu.simulated() else {"pop_size": 300, "idv_size": 9}
    cpu, cuda = (system(task, seed=4, backend=backend, **size).learn(epochs=2) for backend in BACKENDS)
    for ours, theirs in zip(cpu.now.population, cuda.now.population, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert [*cpu.now.records] == [*cuda.now.records]


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_exact_fitness_of_a_population_has_the_same_bits(name: str, gamma: float) -> None:
    task = replace(TASKS[name], gamma=gamma)
    rules = population(task, LIST, N, 4)
    cpu, cuda = (simulator_of(task, method="exact", backend=each) for each in BACKENDS)
    one = cpu.fitness(rules, 0)
    assert same(one, cuda.fitness(rules, 0))
    assert not one.failed.all()


def test_trials_whose_policies_are_too_large_for_fast_memory_stay_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system = PPLDL(TASKS["lake"])
    assert objection(system) == ""
    monkeypatch.setattr(gpu, "FAST_BYTES", 8)
    assert "a large one" in objection(system)


@pytest.mark.parametrize("noise", ["aligned", "stream"])
@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("system", [PPLDL, PPLST])
def test_trials_side_by_side_learn_what_each_learns_alone(system: Any, name: str, noise: Noise) -> None:
    size = {"pop_size": 6, "idv_size": 4} if gpu.simulated() else {"pop_size": 300, "idv_size": 9}
    made: list[list[Any]] = [
        [system(TASKS[name], seed=seed, threads=1, noise=noise, p_mut=0.1, **size) for seed in (3, 8)]
        for _ in BACKENDS
    ]
    alone, together = made
    for learner in alone:
        learner.learn(epochs=3)
    for target in (1, 3):  # the second time from populations of the CPU
        trials = Trials(together)
        assert trials.epoch == (-1 if target == 1 else 1)
        while trials.epoch < target:
            trials.advance(target)
    for one, other in zip(alone, together, strict=True):
        assert one.epoch == other.epoch == 3
        for ours, theirs in zip(one.now.population, other.now.population, strict=True):
            assert ours.dtype == theirs.dtype
            assert ours.tobytes() == theirs.tobytes()
        # Text, as files hold it: whole numbers stay whole, and columns keep their order.
        assert repr(one.now.records.columns()) == repr(other.now.records.columns())


def test_what_cannot_learn_side_by_side_is_named() -> None:
    lake = TASKS["lake"]
    assert objection(PPLDL(lake)) == ""
    assert "XCSF learns on the CPU" in objection(XCSF(lake))
    assert "no table" in objection(PPLDL("CartPole-v1"))
    assert "elites" in objection(PPLDL(lake, elites=1))
    assert "requirements" in objection(PPLDL(lake, require="never Up when x >= 2"))
