from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from ifthen.errors import EngineError, TaskError
from ifthen.rules.batch import Intervals, RuleBatch
from ifthen.simulate import workers
from ifthen.simulate.trajectories import Episodes
from ifthen.simulate.vector_simulator import VectorSimulator
from ifthen.simulate.workers import WorkerSimulator, end_workers
from ifthen.tasks.gym_task import EnvTask
from tests.envs import Walk, random_lists, task_of

INDIVIDUALS, SEEDS = np.repeat(np.arange(9), 7), np.tile(np.arange(7), 9)
Jobs = tuple[NDArray[np.int64], NDArray[np.int64]]


def spread(task: EnvTask, rules: RuleBatch, jobs: Jobs = (INDIVIDUALS, SEEDS)) -> Episodes:
    """Play jobs in two worker processes."""
    return WorkerSimulator(task, 2).play_spread(Intervals.of(rules, task.features), *jobs)


def here(task: EnvTask, rules: RuleBatch, jobs: Jobs = (INDIVIDUALS, SEEDS)) -> Episodes:
    """Play jobs in this process."""
    return VectorSimulator(task).play_jobs(Intervals.of(rules, task.features), *jobs)


@pytest.fixture(scope="module", autouse=True)
def _no_worker_is_left() -> Iterator[None]:
    yield
    end_workers()


def same(one: Episodes, other: Episodes) -> bool:
    """Whether two plays came out the same to the last bit."""
    pairs = [(one.returns, other.returns), (one.steps, other.steps), (one.endings, other.endings)]
    return all(np.asarray(mine).tobytes() == np.asarray(yours).tobytes() for mine, yours in pairs)


@pytest.mark.parametrize("kind", ["box", "dict"])
def test_workers_play_what_one_process_plays(kind: str) -> None:
    task = task_of(kind=kind, gamma=0.97)
    rules = random_lists(task, 9)
    alone = here(task, rules)
    for _ in range(2):
        assert same(spread(task, rules), alone)
    order = np.random.default_rng(0).permutation(len(SEEDS))
    mixed = spread(task, rules, (INDIVIDUALS[order], SEEDS[order]))
    np.testing.assert_array_equal(mixed.returns, alone.returns[order])


def test_workers_know_environments_that_only_their_parent_registered() -> None:
    class Leap(Walk):
        def step(self, action: Any) -> Any:
            self.place *= 1.1
            return super().step(action)

    leap: Any = Leap
    gymnasium.register("ifthen_tests/Leap-v0", entry_point=leap)
    task = task_of("ifthen_tests/Leap-v0", t_max=20)
    rules = random_lists(task, 9)
    assert same(spread(task, rules), here(task, rules))


def test_factories_go_to_workers_where_they_can_be_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "START_SECONDS", 0.0)
    monkeypatch.setattr(workers, "SPREAD_SECONDS", 0.0)
    lock = threading.Lock()
    asked = []
    own = WorkerSimulator.play_spread

    def watched(*given: Any) -> Episodes:
        asked.append(1)
        return own(*given)

    def locked() -> Walk:
        with lock:
            return Walk(kind="multi")

    monkeypatch.setattr(WorkerSimulator, "play_spread", watched)
    free, held = task_of(factory=lambda: Walk(kind="multi")), task_of(factory=locked)
    rules, seeds = random_lists(free, 20), np.arange(7)
    alone = VectorSimulator(free).play(rules, seeds)
    assert same(WorkerSimulator(free, 2).play(rules, seeds), alone)
    assert len(asked) == 1
    assert same(WorkerSimulator(held, 2).play(rules, seeds), alone)
    assert len(asked) == 1


def test_errors_of_workers_are_those_of_one_process() -> None:
    task = task_of(wrong="nan", t_max=20)
    rules = random_lists(task, 1, gaps=False)
    jobs = np.zeros(1, dtype=np.int64), np.array([6])
    with pytest.raises(TaskError) as there:
        spread(task, rules, jobs)
    with pytest.raises(TaskError, match="nan for f0 at step 5 of the episode with reset seed 6") as alone:
        here(task, rules, jobs)
    assert str(there.value) == str(alone.value)


def test_a_worker_that_dies_is_told_and_replaced() -> None:
    class Deadly(Walk):
        def step(self, action: Any) -> Any:
            os._exit(3)

    task, deadly = task_of(kind="box", t_max=20), task_of(factory=Deadly, t_max=20)
    rules = random_lists(task, 9, gaps=False)
    with pytest.raises(EngineError, match=r"a worker process that played .* died"):
        spread(deadly, rules)
    assert spread(task, rules).steps.all()


def test_no_process_is_left_when_workers_end() -> None:
    task = task_of()
    spread(task, random_lists(task, 9))
    (crew,) = workers._executors.values()
    pids = list(crew._processes)
    assert pids
    end_workers()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
