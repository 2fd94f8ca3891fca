"""States met are those of the episodes that evaluations play, with the rule that decides in each."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ifthen import RuleSet, TaskError, evaluate
from ifthen.explain.visited import Visited, asked, met_shares, middle, played, visited
from ifthen.rollout.episodes import NULL
from ifthen.tasks.env_task import EnvTask
from tests.explain.env_policies import KINDS, a_policy, a_task, holey, some_rules


def naive_visits(ruleset: RuleSet, task: EnvTask, seeds: list[int]) -> list[NDArray[np.float64]]:
    """Play with Gymnasium itself, and return every observation at which an action was asked for."""
    met: list[NDArray[np.float64]] = []
    for seed in seeds:
        env = task.make()
        seen, _ = env.reset(seed=seed)
        for _ in range(task.t_max):
            met.append(np.asarray(seen, dtype=np.float64))
            action = int(ruleset.predict(met[-1]))
            if action < 0:
                break
            seen, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                break
        env.close()
    return met


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCar-v0"])
def test_every_state_is_met_that_gymnasium_shows(name: str) -> None:
    ruleset, task = a_policy(name)
    met = visited(ruleset, task, [3, 5])
    points = np.clip(naive_visits(ruleset, task, [3, 5]), *task.ranges)
    assert np.array_equal(met.points, points)
    actions, deciders = ruleset.choose(points)
    assert np.array_equal(met.actions, actions)
    assert np.array_equal(met.deciders, deciders)


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_states_are_met_as_steps_are_measured(kind: str) -> None:
    task = a_task("CartPole-v1")
    rules = some_rules(kind, task)
    assert len(visited(rules, task).points) == evaluate(rules, task).steps


def test_a_state_without_a_rule_is_met_too() -> None:
    ruleset, task = holey()
    met, measured = visited(ruleset, task), evaluate(ruleset, task)
    ended = [episode.ending == NULL for episode in played(ruleset, task)]
    assert sum(ended) == round(measured.failed_share * len(task.z)) > 0
    assert (met.deciders < 0).sum() == (met.actions < 0).sum() == sum(ended)
    assert len(met.points) == measured.steps + sum(ended)
    assert met_shares(ruleset, task).sum() == pytest.approx(1 - sum(ended) / len(met.points))
    assert len(asked(played(ruleset, task)[0])) == len(played(ruleset, task)[0].points) + ended[0]


def test_shares_count_the_states_that_each_rule_decides() -> None:
    ruleset, task = a_policy("Blackjack-v1", 50)
    met = visited(ruleset, task)
    expected = [(met.deciders == r).mean() for r in range(len(ruleset))]
    assert met_shares(ruleset, task) == pytest.approx(expected)
    assert all(share > 0 for share in expected)


def test_plays_are_remembered_by_rules_and_seeds() -> None:
    ruleset, task = a_policy("MountainCar-v0")
    first = played(ruleset, task)
    assert played(ruleset.subset(range(len(ruleset))), task) is first
    other = played(ruleset, task, [7])
    assert len(other) == 1
    assert played(ruleset, task, [7]) is other
    assert not np.array_equal(other[0].points[0], first[0].points[0])


def test_the_middle_is_a_value_that_occurs() -> None:
    assert middle(np.array([[1.0, 9.0], [2.0, 7.0], [4.0, 8.0], [8.0, 1.0]])).tolist() == [2.0, 7.0]


def test_rules_of_another_task_are_refused() -> None:
    ruleset, _ = a_policy("MountainCar-v0")
    with pytest.raises(TaskError, match="speaks of position"):
        visited(ruleset, a_task("CartPole-v1"))
    assert Visited._fields == ("points", "deciders", "actions")
