from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.inference.rulebook import LIST, Rulebook
from ifthen.rollout import env_fitness, players
from ifthen.rollout.budget import Budget
from ifthen.rollout.env_fitness import EnvFitness, EnvMeasured, individual_keys, summed
from ifthen.rollout.episodes import NULL, TERMINATED, TRUNCATED, Episodes
from ifthen.tasks.env_task import EnvTask
from tests import naive_envs
from tests.envs import random_lists, task_of

TASKS = {
    "walk": task_of(episodes=6),
    "discounted": task_of(episodes=6, gamma=0.9, t_max=9),
    "cart pole": task_of("CartPole-v1", episodes=6, t_max=60),
    "blackjack": task_of("Blackjack-v1", episodes=6),
}


def same(one: EnvMeasured, other: EnvMeasured) -> bool:
    """Return whether two measurements are equal to the last bit."""
    pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(EnvMeasured)]
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("name", TASKS)
def test_fitness_is_the_mean_of_single_episodes_and_the_floor_of_who_meets_no_rule(name: str) -> None:
    task = TASKS[name]
    rules = random_lists(task, 8)
    found = EnvFitness(task, 1).measure(rules)
    for i in range(8):
        choose = partial(naive_envs.first_match, rules, i)
        alone = [naive_envs.episode(task, choose, seed) for seed in task.z.tolist()]
        assert found.performance[i] == pytest.approx(naive_envs.performance(task, choose, task.z.tolist()))
        assert found.failed[i] == any(played.ending == NULL for played in alone)
        assert found.episodes[i] == task.episodes
        assert found.steps[i] == sum(len(played.actions) for played in alone)
        assert found.truncated[i] == sum(played.ending == TRUNCATED for played in alone)
    assert (found.performance[found.failed] == task.floor).all()
    assert (found.performance[~found.failed] > task.floor).all()
    assert len(np.unique(found.performance)) > 1


def test_a_default_action_answers_where_no_rule_matches() -> None:
    task = TASKS["walk"]
    assert EnvFitness(task, 1).measure(random_lists(task, 20)).failed.any()
    assert not EnvFitness(task, 1).measure(random_lists(task, 20, default=1)).failed.any()


def test_memory_changes_nothing_and_equal_rules_are_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    task, played = TASKS["walk"], []
    play = players.play_rules

    def counted(task: EnvTask, rules: Rulebook, seeds: NDArray[np.int64], threads: int) -> Episodes:
        played.append(len(rules.actions) * len(seeds))
        return play(task, rules, seeds, threads)

    monkeypatch.setattr(env_fitness, "play_rules", counted)
    rules = random_lists(task, 6)
    fitness = EnvFitness(task, 1)
    first = fitness.measure(rules)
    assert played == [6 * 6]
    assert same(fitness.measure(rules, 1), first)
    assert played == [36]
    mixed = rules.take(np.array([5, 0, 0, 3, 5]))
    assert same(fitness.measure(mixed, 2), EnvFitness(task, 1).measure(mixed))
    assert played == [36, 3 * 6]  # by the second, which knows nothing
    other = random_lists(task, 6, seed=1)
    assert same(fitness.measure(other, 3), EnvFitness(task, 1).measure(other))


@pytest.mark.parametrize("change", [{"default": 1}, {"kind": 1}, {"x0": 7.0}])
def test_rules_that_choose_otherwise_are_not_taken_for_those_remembered(change: dict[str, Any]) -> None:
    rules = random_lists(TASKS["walk"], 3)
    assert not set(individual_keys(rules)) & set(individual_keys(rules._replace(**change)))
    assert individual_keys(rules) == individual_keys(rules.take(slice(0, 3)))


@pytest.mark.parametrize(
    "budget",
    [
        Budget(windows=2),
        Budget(first_episodes=1, double_every=1),
        Budget(racing=True),
        Budget(windows=2, first_episodes=2, double_every=2, racing=True),
    ],
)
def test_memory_changes_nothing_under_any_budget(budget: Budget) -> None:
    task = task_of(episodes=16)
    remembering = EnvFitness(task, 1, budget)
    for epoch in range(4):
        rules = random_lists(task, 8, seed=epoch // 2)
        assert same(remembering.measure(rules, epoch), EnvFitness(task, 1, budget).measure(rules, epoch))


@pytest.mark.parametrize("name", ["walk", "cart pole"])
def test_threads_change_nothing(name: str) -> None:
    task, rules = TASKS[name], random_lists(TASKS[name], 8)
    assert same(EnvFitness(task, 2).measure(rules), EnvFitness(task, 1).measure(rules))


def test_a_window_measures_on_its_own_episodes() -> None:
    task = task_of(episodes=10)
    rules = random_lists(task, 4, gaps=False)
    fitness = EnvFitness(task, 1, Budget(windows=3))
    for epoch in (0, 1, 2, 3, 5):
        found = fitness.measure(rules, epoch)
        seeds = task.z[epoch % 3 :: 3].tolist()
        for i in range(4):
            choose = partial(naive_envs.first_match, rules, i)
            assert found.performance[i] == pytest.approx(naive_envs.performance(task, choose, seeds))
            assert found.episodes[i] == len(seeds)


def test_more_and_more_episodes_are_measured_on() -> None:
    task = task_of(episodes=10)
    rules = random_lists(task, 2, gaps=False)
    fitness = EnvFitness(task, 1, Budget(first_episodes=3, double_every=2))
    episodes = [fitness.measure(rules, epoch).episodes.tolist() for epoch in range(5)]
    assert episodes == [[3, 3], [3, 3], [6, 6], [6, 6], [10, 10]]


# Races


def raced(task: EnvTask, rules: Rulebook) -> tuple[EnvMeasured, EnvMeasured]:
    """Return what a race measured, and full play."""
    race = EnvFitness(task, 1, Budget(racing=True)).measure(rules)
    return race, EnvFitness(task, 1).measure(rules)


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
    assert len(set(individual_keys(rules))) == 16
    assert sorted(race.episodes.tolist()) == [10] * 8 + [20] * 4 + [40] * 2 + [80] * 2


class Script:
    """Plays returns that are written down, `(n, |z|)`; NaN stands for a state without a rule."""

    def __init__(self, returns: Any) -> None:
        self.returns = np.asarray(returns, dtype=float)

    def __call__(self, task: EnvTask, rules: Rulebook, seeds: NDArray[np.int64], threads: int) -> Episodes:
        rows = self.returns[rules.actions[:, 0]][:, seeds]
        null = np.isnan(rows)
        endings = np.where(null, NULL, TERMINATED).astype(np.int8)
        return Episodes(np.where(null, 0.0, rows), np.ones(rows.shape, dtype=np.int64), endings)


def scripted(returns: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[EnvTask, Rulebook]:
    """Return a task and rules, individual i of which gets row i."""
    returns = np.asarray(returns, dtype=float)
    monkeypatch.setattr(env_fitness, "play_rules", Script(returns))
    task = task_of(episodes=returns.shape[1])
    actions = np.arange(len(returns), dtype=np.int32)[:, None]
    everywhere = np.broadcast_to(np.array([-5.0, 5.0]), (len(returns), 1, 2, 2))
    return task, Rulebook.of(LIST, everywhere, actions, np.zeros((len(returns), 1, 0)), task.features)


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
    draws = np.random.default_rng(5)
    returns = draws.normal(size=(12, 16))
    returns[7] += 100
    task, rules = scripted(returns, monkeypatch)
    race, full = raced(task, rules)
    assert race.performance.argmax() == full.performance.argmax() == 7
    assert race.performance[7] == full.performance[7]


# Floors


def test_a_mean_that_is_not_above_the_floor_is_refused_with_what_to_do() -> None:
    task = replace(TASKS["walk"], floor=-0.5)
    with pytest.raises(TaskError, match=r"got -\d.*not above the floor -0.5 .*env_task\(…, floor=…\)"):
        EnvFitness(task, 1).measure(random_lists(task, 4, gaps=False))
    exact = Episodes(np.full((1, 2), -0.5), np.ones((1, 2), dtype=np.int64), np.zeros((1, 2), dtype=np.int8))
    with pytest.raises(TaskError, match="not above the floor"):
        summed(task, exact)


def test_the_fittest_ruleset_is_measured_on_all_of_z_and_on_other_seeds() -> None:
    task = task_of(episodes=10)
    rules = random_lists(task, 3, gaps=False)
    fitness = EnvFitness(task, 1, Budget(windows=5))
    found = fitness.measure_ruleset(rules, 2)
    choose = partial(naive_envs.first_match, rules, 2)
    assert found.performance == pytest.approx(naive_envs.performance(task, choose, task.z.tolist()))
    unseen = naive_envs.performance(task, choose, task.validation.tolist())
    assert found.unseen_performance == pytest.approx(unseen)
    assert not set(task.validation.tolist()) & set(task.z.tolist())
