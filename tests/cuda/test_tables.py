"""Tables on a GPU give the CPU's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ifthen import PPLDL, PPLST
from ifthen.randomness import stream
from ifthen.rules.batch import LIST, STRENGTH
from ifthen.simulate import gpu
from ifthen.simulate.evaluate import simulator_of
from ifthen.simulate.gpu import Backend
from ifthen.simulate.gpu_table import GpuTableSimulator
from ifthen.simulate.simulator import Reinforcement
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
    assert len(list(gpu.parts(7, 3000))) == 2


@pytest.mark.parametrize("system", [PPLDL, PPLST])
def test_learning_gives_the_same_population_and_history(system: Any) -> None:
    task = small_lake(0.3, t_max=15, enumerations=2)
    size = {"pop_size": 6, "idv_size": 4} if gpu.simulated() else {"pop_size": 300, "idv_size": 9}
    cpu, cuda = (system(task, seed=4, backend=backend, **size).learn(epochs=2) for backend in BACKENDS)
    for ours, theirs in zip(cpu.now.population, cuda.now.population, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert [*cpu.now.records] == [*cuda.now.records]


def test_exact_fitness_is_worked_out_as_ever() -> None:
    task = TASKS["lake"]
    rules = population(task, LIST, 5, 4)
    cpu, cuda = (simulator_of(task, method="exact", backend=each) for each in BACKENDS)
    assert same(cpu.fitness(rules, 0), cuda.fitness(rules, 0))
