"""Fitness on tables and in environments: means of single episodes, each distinct policy played once."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.rules.batch import LIST, RuleBatch
from ifthen.simulate import table_simulator as table
from ifthen.simulate.env_simulator import EnvSimulator, means
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.simulator import Budget, Measured
from ifthen.simulate.table_play import play
from ifthen.simulate.table_simulator import TableSimulator
from ifthen.simulate.trajectories import NO_RULE, TERMINATED, TRUNCATED, Episodes
from ifthen.simulate.vector_simulator import VectorSimulator
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.solve import exact_performances
from tests import naive_envs
from tests.envs import choosers, random_lists, task_of
from tests.worlds import random_policies, small_lake

TASKS = {
    "walk": task_of(episodes=6),
    "discounted": task_of(episodes=6, gamma=0.9, t_max=9),
    "cart pole": task_of("CartPole-v1", episodes=6, t_max=60),
    "blackjack": task_of("Blackjack-v1", episodes=6),
}


def same(one: Measured, other: Measured) -> bool:
    """Return whether two measurements are equal to the last bit."""
    pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(Measured)]
    return all(np.array_equal(a, b) for a, b in pairs)


# Tables


def test_each_distinct_policy_table_is_played_once() -> None:
    task, played = small_lake(), list[int]()
    tables = random_policies(task, 5, 0)

    def count(task: Any, tables: Any, noise: Any, threads: int) -> Any:
        played.append(len(tables))
        return play(task, tables, noise, threads)

    simulator = TableSimulator(task)
    with mock.patch.object(table, "play", count):
        for _ in range(2):
            simulator.measure(np.concatenate([tables, tables[:3]]))
    assert played == [5]


def test_forgetting_changes_no_result() -> None:
    task = small_lake()
    tables = random_policies(task, 6, 0, null_share=0.02)
    expected, simulator = play(task, tables), TableSimulator(task)
    with mock.patch.object(table, "REMEMBERED", 4):
        for part in (tables[:3], tables[2:5], tables, tables[::-1]):
            found = simulator.measure(part)
    assert found.performance.tolist() == expected.performance[::-1].tolist()
    assert found.steps.tolist() == expected.steps[::-1].tolist()
    assert found.truncated.tolist() == expected.truncated[::-1].tolist()
    assert found.failed.tolist() == expected.failed[::-1].tolist()


@pytest.mark.parametrize("noise", ["aligned", "stream"])
def test_sampled_fitness_is_performance_on_z(noise: Any) -> None:
    task = small_lake()
    tables = random_policies(task, 8, 0, null_share=0.02)
    found = TableSimulator(task, 2, "sampled", noise).measure(tables)
    assert found.performance.tolist() == play(task, tables, noise).performance.tolist()
    assert found.episodes.tolist() == np.where(found.failed, 0, 22).tolist()
    assert found.counted.all()


def test_exact_fitness_is_the_exact_performance_or_the_floor_and_takes_no_episodes() -> None:
    task = small_lake()
    tables = random_policies(task, 30, 0, null_share=0.05)
    found = TableSimulator(task, 1, "exact").measure(tables)
    exact = exact_performances(task, tables)
    assert found.failed.tolist() == np.isnan(exact).tolist()
    assert 0 < found.failed.sum() < 30
    assert found.performance.tolist() == np.nan_to_num(exact, nan=task.floor).tolist()
    assert not found.episodes.any()


# Environments


@pytest.mark.parametrize("name", TASKS)
def test_fitness_is_the_mean_of_single_episodes_and_the_floor_of_who_meets_no_rule(name: str) -> None:
    task = TASKS[name]
    rules = random_lists(task, 8)
    found = environment_simulator(task).fitness(rules)
    for i, choose in enumerate(choosers(task, rules)):
        alone = [naive_envs.episode(task, choose, seed) for seed in task.z.tolist()]
        assert found.performance[i] == pytest.approx(naive_envs.performance(task, choose, task.z.tolist()))
        assert found.failed[i] == any(played.ending == NO_RULE for played in alone)
        assert found.counted[i] == (not found.failed[i])
        assert found.episodes[i] == task.episodes
        assert found.steps[i] == sum(len(played.actions) for played in alone)
        assert found.truncated[i] == sum(played.ending == TRUNCATED for played in alone)
    assert (found.performance[found.failed] == task.floor).all()
    assert (found.performance[~found.failed] > task.floor).all()
    assert len(np.unique(found.performance)) > 1


def test_a_default_action_answers_where_no_rule_matches() -> None:
    task = TASKS["walk"]
    simulator = environment_simulator(task)
    assert simulator.fitness(random_lists(task, 20)).failed.any()
    assert not simulator.fitness(random_lists(task, 20, default=1)).failed.any()


def test_memory_changes_nothing_and_equal_rules_are_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    task, played = TASKS["walk"], list[int]()
    own = VectorSimulator.play

    def counted(self: Any, rules: RuleBatch, seeds: NDArray[np.int64]) -> Episodes:
        played.append(len(rules.actions) * len(seeds))
        return own(self, rules, seeds)

    monkeypatch.setattr(VectorSimulator, "play", counted)
    rules = random_lists(task, 6)
    remembering = environment_simulator(task)
    first = remembering.fitness(rules)
    assert played == [6 * 6]
    assert same(remembering.fitness(rules, 1), first)
    assert played == [36]
    mixed = rules.take(np.array([5, 0, 0, 3, 5]))
    assert same(remembering.fitness(mixed, 2), environment_simulator(task).fitness(mixed))
    assert played == [36, 3 * 6]  # by the second, which knows nothing
    other = random_lists(task, 6, seed=1)
    assert same(remembering.fitness(other, 3), environment_simulator(task).fitness(other))


BUDGETS = [
    Budget(windows=2),
    Budget(first_episodes=1, double_every=1),
    Budget(racing=True),
    Budget(windows=2, first_episodes=2, double_every=2, racing=True),
]


@pytest.mark.parametrize("budget", BUDGETS)
def test_memory_changes_nothing_under_any_budget(budget: Budget) -> None:
    task = task_of(episodes=16)
    remembering = environment_simulator(task, 1, budget)
    for epoch in range(4):
        rules = random_lists(task, 8, seed=epoch // 2)
        fresh = environment_simulator(task, 1, budget)
        assert same(remembering.fitness(rules, epoch), fresh.fitness(rules, epoch))


@pytest.mark.parametrize("name", ["walk", "cart pole"])
def test_threads_change_nothing(name: str) -> None:
    task, rules = TASKS[name], random_lists(TASKS[name], 8)
    one, two = (environment_simulator(task, threads).fitness(rules) for threads in (1, 2))
    assert same(one, two)


def test_a_window_measures_on_its_own_episodes() -> None:
    task = task_of(episodes=10)
    rules = random_lists(task, 4, gaps=False)
    simulator = environment_simulator(task, 1, Budget(windows=3))
    for epoch in (0, 1, 2, 3, 5):
        found = simulator.fitness(rules, epoch)
        seeds = task.z[epoch % 3 :: 3].tolist()
        for i, choose in enumerate(choosers(task, rules)):
            assert found.performance[i] == pytest.approx(naive_envs.performance(task, choose, seeds))
            assert found.episodes[i] == len(seeds)


def test_more_and_more_episodes_are_measured_on() -> None:
    task = task_of(episodes=10)
    rules = random_lists(task, 2, gaps=False)
    simulator = environment_simulator(task, 1, Budget(first_episodes=3, double_every=2))
    episodes = [simulator.fitness(rules, epoch).episodes.tolist() for epoch in range(5)]
    assert episodes == [[3, 3], [3, 3], [6, 6], [6, 6], [10, 10]]


# Races


def raced(task: EnvTask, rules: RuleBatch) -> tuple[Measured, Measured]:
    """Return what a race measured, and full play."""
    race = environment_simulator(task, 1, Budget(racing=True)).fitness(rules)
    return race, environment_simulator(task).fitness(rules)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 21])
@pytest.mark.parametrize("seed", [0, 1])
def test_who_drops_out_of_a_race_ranks_below_all_who_went_on_without_failing(n: int, seed: int) -> None:
    task = task_of(episodes=16)
    race, full = raced(task, random_lists(task, n, rules=3, seed=seed))
    order = np.unique(race.episodes)
    assert order.max() == 16
    for fewer, more in pairwise(order):
        went_on = race.performance[(race.episodes >= more) & ~race.failed]
        dropped = race.performance[race.episodes == fewer]
        if len(went_on):
            assert dropped.max() < went_on.min()
    finished = race.episodes == 16
    np.testing.assert_array_equal(race.performance[finished], full.performance[finished])
    assert not (race.failed & ~full.failed).any()


def test_half_of_the_different_individuals_drop_out_before_each_heat() -> None:
    task = task_of(episodes=80)
    rules = random_lists(task, 16, gaps=False)
    race, _ = raced(task, rules)
    assert len(set(rules.digests())) == 16
    assert sorted(race.episodes.tolist()) == [10] * 8 + [20] * 4 + [40] * 2 + [80] * 2


def scripted(returns: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[EnvTask, RuleBatch]:
    """Return a task and rules, individual i of which gets row i; NaN stands for a state without a rule."""
    rows = np.asarray(returns, dtype=float)

    def play(self: EnvSimulator, rules: RuleBatch, seeds: NDArray[np.int64]) -> Episodes:
        got = rows[rules.actions[:, 0]][:, seeds]
        null = np.isnan(got)
        endings = np.where(null, NO_RULE, TERMINATED).astype(np.int8)
        return Episodes(np.where(null, 0.0, got), np.ones(got.shape, dtype=np.int64), endings)

    monkeypatch.setattr(VectorSimulator, "play", play)
    n = len(rows)
    actions = np.arange(n, dtype=np.int32)[:, None]
    everywhere = np.broadcast_to(np.array([-5.0, 5.0]), (n, 1, 2, 2))
    rules = RuleBatch(LIST, everywhere, actions, np.zeros((n, 1, 0)), np.ones(n, dtype=np.int64))
    return task_of(episodes=rows.shape[1]), rules


def test_the_fittest_of_a_race_played_it_to_the_end_even_where_another_began_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The first is second best after the first heat, with 9, which is more than the best gets in the end.
    task, rules = scripted([[9.0] + [0.0] * 7, [10.0] + [1.0] * 7], monkeypatch)
    race, full = raced(task, rules)
    assert race.episodes.tolist() == [1, 8]
    assert race.performance.argmax() == full.performance.argmax() == 1
    assert race.performance[0] < race.performance[1] == full.performance[1]


def test_a_policy_that_failed_late_in_a_race_pulls_nobody_down_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task, rules = scripted([[5.0] * 8, [9.0] * 7 + [np.nan]], monkeypatch)
    race, _ = raced(task, rules)
    assert race.performance.tolist() == [5.0, task.floor]
    assert race.episodes.tolist() == [1, 8]


def test_who_leads_in_every_heat_wins_as_in_full_play(monkeypatch: pytest.MonkeyPatch) -> None:
    returns = np.random.default_rng(5).normal(size=(12, 16))
    returns[7] += 100
    task, rules = scripted(returns, monkeypatch)
    race, full = raced(task, rules)
    assert race.performance.argmax() == full.performance.argmax() == 7
    assert race.performance[7] == full.performance[7]


# Floors and measures


def test_a_mean_that_is_not_above_the_floor_is_refused_with_what_to_do() -> None:
    task = replace(TASKS["walk"], floor=-0.5)
    with pytest.raises(TaskError, match=r"got -\d.*not above the floor -0.5 .*env_task\(…, floor=…\)"):
        environment_simulator(task).fitness(random_lists(task, 4, gaps=False))
    exact = Episodes(np.full((1, 2), -0.5), np.ones((1, 2), dtype=np.int64), np.zeros((1, 2), dtype=np.int8))
    with pytest.raises(TaskError, match="not above the floor"):
        means(task, exact)


def test_the_fittest_ruleset_is_measured_on_all_of_z_and_on_other_seeds() -> None:
    task = task_of(episodes=10)
    rules = random_lists(task, 3, gaps=False)
    found = environment_simulator(task, 1, Budget(windows=5)).measures(rules, 2)
    choose = choosers(task, rules)[2]
    assert found["performance"] == pytest.approx(naive_envs.performance(task, choose, task.z.tolist()))
    unseen = naive_envs.performance(task, choose, task.validation.tolist())
    assert found["unseen_performance"] == pytest.approx(unseen)
    assert not set(task.validation.tolist()) & set(task.z.tolist())
