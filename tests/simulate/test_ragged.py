"""Rulesets of different lengths play as one batch exactly as each of them alone, in every simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ifthen import DecisionList, RuleSet, StrengthRules, TabularTask
from ifthen.rules.batch import Intervals, RuleBatch, batch_of, stacked
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.simulator import Reinforcement, Simulator
from ifthen.simulate.table_simulator import TableSimulator
from ifthen.simulate.trajectories import Episodes
from ifthen.simulate.twin_simulator import TwinSimulator
from ifthen.simulate.vector_simulator import VectorSimulator
from ifthen.simulate.workers import WorkerSimulator, end_workers
from ifthen.tasks.gym_task import EnvTask
from tests import naive, naive_envs
from tests.envs import choosers, random_lists, random_strengths, rulesets_of, task_of
from tests.worlds import random_task, small_lake

MAKERS: dict[str, Callable[..., RuleBatch]] = {"lists": random_lists, "strengths": random_strengths}
TASKS = {
    "twin": task_of("CartPole-v1", t_max=50, episodes=4),
    "vector": task_of(kind="dict", episodes=4),
    "integers": task_of("Blackjack-v1", episodes=4),
}
every_kind = pytest.mark.parametrize("kind", MAKERS)
every_task = pytest.mark.parametrize("name", TASKS)


@pytest.fixture(scope="module", autouse=True)
def _no_worker_is_left() -> Iterator[None]:
    yield
    end_workers()


def batch(kind: str, task: EnvTask, n: int = 9) -> RuleBatch:
    """Return rulesets of one to five rules, behind which stand rules that must never be read."""
    found = MAKERS[kind](task, n, 5, 3, ragged=True)
    assert len(set(found.lengths.tolist())) > 2
    return found


def assert_same(one: Any, other: Any) -> None:
    """Fail where two tuples of arrays differ in a bit."""
    for mine, yours in zip(one, other, strict=True):
        assert np.asarray(mine).tobytes() == np.asarray(yours).tobytes()


# Environments


@every_kind
@every_task
def test_every_ruleset_plays_as_the_oracle_plays_it(name: str, kind: str) -> None:
    task = TASKS[name]
    rules, simulator = batch(kind, task), environment_simulator(task)
    assert isinstance(simulator, TwinSimulator if name == "twin" else VectorSimulator)
    found = simulator.play(rules, task.z)
    for i, choose in enumerate(choosers(task, rules)):
        alone = [naive_envs.episode(task, choose, seed) for seed in task.z.tolist()]
        assert found.returns[i].tolist() == [played.total for played in alone]
        assert found.steps[i].tolist() == [len(played.actions) for played in alone]
        assert found.endings[i].tolist() == [played.ending for played in alone]


@every_kind
@every_task
def test_every_ruleset_is_measured_as_alone(name: str, kind: str) -> None:
    task = TASKS[name]
    rules = batch(kind, task)
    together = environment_simulator(task).fitness(rules)
    for i, ruleset in enumerate(rulesets_of(task, rules)):
        own = batch_of(ruleset)
        assert own is not None
        alone = environment_simulator(task).fitness(own)
        assert alone.performance[0] == together.performance[i]
        assert (alone.steps[0], alone.failed[0]) == (together.steps[i], together.failed[i])


@every_kind
def test_worker_processes_play_them_too(kind: str) -> None:
    task = TASKS["vector"]
    rules = Intervals.of(batch(kind, task), task.features)
    jobs = np.repeat(np.arange(9), 7), np.tile(np.arange(7), 9)
    here: Episodes = VectorSimulator(task).play_jobs(rules, *jobs)
    assert_same(WorkerSimulator(task, 2).play_spread(rules, *jobs), here)


# Tables


def table_rulesets(task: TabularTask, kind: str, seed: int = 0) -> list[RuleSet]:
    """Return six random rulesets of 1, 3, 70, 2, 7 and 4 rules."""
    draws, found = np.random.default_rng(seed), list[RuleSet]()
    for rules in (1, 3, 70, 2, 7, 4):
        sides = [draws.integers(f.low, f.high + 1, (rules, 2)) for f in task.features]
        bounds, actions = np.stack(sides, axis=1), draws.integers(0, task.n_actions, rules)
        bounds[-1] = [[f.low, f.high] for f in task.features]
        own = bounds, actions, task.features, task.action_names
        weights, variances = draws.normal(size=(rules, len(sides) + 1)), draws.random(rules)
        found.append(DecisionList(*own) if kind == "lists" else StrengthRules(*own, weights, variances, 3.0))
    return found


@every_kind
@pytest.mark.parametrize("noise", ["aligned", "stream"])
def test_every_ruleset_plays_a_table_as_the_oracle_plays_it(noise: Any, kind: str) -> None:
    task = random_task(2)
    rulesets = table_rulesets(task, kind)
    found = TableSimulator(task, 1, "sampled", noise).fitness(stacked(rulesets))
    for i, ruleset in enumerate(rulesets):
        policy = [int(action) for action in ruleset.predict(task.state_features)]
        expected = naive.play(task, policy, noise)
        assert expected is not None
        assert found.performance[i] == pytest.approx(expected.performance, rel=1e-11)
        assert (found.steps[i], found.truncated[i]) == (expected.steps, expected.truncated)


# Reinforcement: steps of one rollout depend on the ruleset's number, so each is compared at its own place.


def taught_alone(simulator: Simulator, rules: RuleBatch, i: int, lesson: Any) -> np.ndarray:
    """Return what ruleset i learns in a batch in which all others have a single rule."""
    lengths = np.ones_like(rules.lengths)
    lengths[i] = rules.lengths[i]
    own = rules._replace(lengths=lengths, learnt=rules.learnt.copy())
    simulator.reinforce(own, lesson)
    found: np.ndarray = own.learnt[i]
    return found


@pytest.mark.parametrize("where", ["table", *TASKS])
def test_every_ruleset_learns_as_alone(where: str) -> None:
    if where == "table":
        task = small_lake()
        simulator: Simulator = TableSimulator(task)
        rules = stacked(table_rulesets(task, "strengths"))
    else:
        simulator = environment_simulator(TASKS[where])
        rules = batch("strengths", TASKS[where], 6)
    lesson = Reinforcement(np.uint64(77), 6, 3, 0.2, False)
    before = rules.learnt.copy()
    alone = [taught_alone(simulator, rules, i, lesson) for i in range(6)]
    assert (rules.learnt == before).all()
    simulator.reinforce(rules, lesson)
    for i in range(6):
        assert rules.learnt[i].tobytes() == alone[i].tobytes()
    assert (rules.learnt != before).any()
