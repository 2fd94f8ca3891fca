"""Visited states are those of the episodes that evaluations play, with the rule that decides in each."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ifthen import RuleSet, evaluate
from ifthen.errors import TaskError
from ifthen.simulate.scope import median_point, recorded_episodes, visited_states
from ifthen.simulate.trajectories import NO_RULE
from ifthen.tasks.gym_task import EnvTask
from tests.explanation.env_policies import KINDS, a_policy, a_task, holey, some_rules


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
    met = visited_states(ruleset, task, [3, 5])
    points = np.clip(naive_visits(ruleset, task, [3, 5]), *task.ranges)
    assert np.array_equal(met.points, points)
    actions, deciders = ruleset.choose(points)
    assert np.array_equal(met.actions, actions)
    assert np.array_equal(met.deciders, deciders)


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_states_are_met_as_steps_are_measured(kind: str) -> None:
    task = a_task("CartPole-v1")
    rules = some_rules(kind, task)
    assert len(visited_states(rules, task).points) == evaluate(rules, task, seeds="training").steps


def test_a_state_without_a_rule_is_met_too() -> None:
    ruleset, task = holey()
    met, measured = visited_states(ruleset, task), evaluate(ruleset, task, seeds="training")
    ended = [episode.ending == NO_RULE for episode in recorded_episodes(ruleset, task)]
    assert sum(ended) == round((measured.failed_share or 0) * len(task.z)) > 0
    assert (met.deciders < 0).sum() == (met.actions < 0).sum() == sum(ended)
    assert len(met.points) == measured.steps + sum(ended)
    assert visited_states(ruleset, task).shares.sum() == pytest.approx(1 - sum(ended) / len(met.points))
    first = recorded_episodes(ruleset, task)[0]
    assert len(first.asked) == len(first.points) + ended[0]


def test_shares_count_the_states_that_each_rule_decides() -> None:
    ruleset, task = a_policy("Blackjack-v1", 50)
    met = visited_states(ruleset, task)
    expected = [(met.deciders == r).mean() for r in range(len(ruleset))]
    assert visited_states(ruleset, task).shares == pytest.approx(expected)
    assert all(share > 0 for share in expected)


def test_plays_are_remembered_by_rules_and_seeds() -> None:
    ruleset, task = a_policy("MountainCar-v0")
    first = recorded_episodes(ruleset, task)
    assert recorded_episodes(ruleset.subset(range(len(ruleset))), task) is first
    other = recorded_episodes(ruleset, task, [7])
    assert len(other) == 1
    assert recorded_episodes(ruleset, task, [7]) is other
    assert not np.array_equal(other[0].points[0], first[0].points[0])


def test_the_middle_is_a_value_that_occurs() -> None:
    assert median_point(np.array([[1.0, 9.0], [2.0, 7.0], [4.0, 8.0], [8.0, 1.0]])).tolist() == [2.0, 7.0]


def test_rules_of_another_task_are_refused() -> None:
    ruleset, _ = a_policy("MountainCar-v0")
    with pytest.raises(TaskError, match="speaks of position"):
        visited_states(ruleset, a_task("CartPole-v1"))
