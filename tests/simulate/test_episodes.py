"""Episodes step by step: one type for tables and environments, equal to what is measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import DecisionList, RuleSet
from ifthen.errors import TaskError
from ifthen.rules.batch import batch_of
from ifthen.simulate.evaluate import environment_simulator, shared_simulator, simulator_of
from ifthen.simulate.simulator import Simulator
from ifthen.simulate.table_simulator import TableSimulator
from ifthen.simulate.trajectories import NO_RULE, TERMINATED, TRUNCATED, Trajectory
from tests import naive, naive_envs
from tests.envs import choosers, random_lists, random_strengths, rulesets_of, task_of
from tests.worlds import over_all_states, random_policies, random_task, small_lake


def assert_played(found: Trajectory, expected: naive.Trajectory, features: list[list[int]]) -> None:
    """Compare an episode on a table with the oracle's."""
    assert found.states is not None
    assert found.outcomes is not None
    assert found.states.tolist() == expected.states
    assert found.actions.tolist() == expected.actions
    assert found.outcomes.tolist() == expected.outcomes
    assert found.rewards.tolist() == expected.rewards
    assert found.ending == expected.ending
    points = [[float(value) for value in features[state]] for state in expected.states]
    assert found.points.tolist() == points[:-1]
    assert found.last.tolist() == points[-1]
    assert len(found.asked) == len(found.actions) + (found.ending == NO_RULE)


@pytest.mark.oracle
@given(seed=st.integers(0, 10**6), null_share=st.sampled_from([0.0, 0.2]), t_max=st.integers(1, 13))
def test_episodes_on_a_table_are_the_oracles(seed: int, null_share: float, t_max: int) -> None:
    task = random_task(seed, t_max=t_max)
    policy = over_all_states(task, random_policies(task, 1, seed, null_share)[0])
    found = TableSimulator(task).episodes(np.array(policy))
    assert len(found) == len(task.z)
    for number, episode in enumerate(found):
        assert_played(episode, naive.trajectory(task, policy, number), task.state_features.tolist())


def test_episodes_on_a_table_add_up_to_what_is_measured() -> None:
    task = small_lake()
    policy = np.array(over_all_states(task, random_policies(task, 1, 4)[0]))
    simulator = TableSimulator(task)
    episodes, measured = simulator.episodes(policy), simulator.evaluate(policy)
    gained = [(task.gamma ** np.arange(len(e.rewards)) * e.rewards).sum() for e in episodes]
    assert np.mean(gained) == pytest.approx(measured.performance, rel=1e-12)
    assert sum(len(episode.actions) for episode in episodes) == measured.steps
    shares = np.mean([episode.ending == TRUNCATED for episode in episodes])
    assert shares == measured.truncated_share
    assert {episode.ending for episode in episodes} <= {TERMINATED, TRUNCATED}


def test_some_episodes_of_a_table_can_be_asked_for_by_number() -> None:
    task = small_lake()
    policy = np.array(over_all_states(task, random_policies(task, 1, 4)[0]))
    every, some = TableSimulator(task).episodes(policy), TableSimulator(task).episodes(policy, [7, 2])
    for number, episode in zip((7, 2), some, strict=True):
        np.testing.assert_array_equal(episode.states, every[number].states)


@pytest.mark.parametrize("numbers", [[22], [-1], [0.5], [], "abc"])
def test_episodes_that_a_table_does_not_have_are_refused(numbers: Any) -> None:
    task = small_lake()
    policy = np.array(over_all_states(task, random_policies(task, 1, 4)[0]))
    with pytest.raises(TaskError, match="has training episodes 0 to 21: give a list"):
        TableSimulator(task).episodes(policy, numbers)


@pytest.mark.parametrize("environment", ["CartPole-v1", "ifthen_tests/Walk-v0"])
@pytest.mark.parametrize("strong", [False, True])
def test_episodes_of_an_environment_are_the_oracles_and_have_no_states(
    environment: str, strong: bool
) -> None:
    task, seeds = task_of(environment, t_max=25), [4, 9, 1]
    rules = random_strengths(task, 3) if strong else random_lists(task, 3)
    for ruleset, choose in zip(rulesets_of(task, rules), choosers(task, rules), strict=True):
        found = environment_simulator(task).episodes(ruleset, seeds)
        for episode, seed in zip(found, seeds, strict=True):
            alone = naive_envs.episode(task, choose, seed)
            assert (episode.states, episode.outcomes) == (None, None)
            assert episode.points.tolist() == alone.points
            assert episode.actions.tolist() == alone.actions
            assert episode.rewards.tolist() == alone.rewards
            assert (episode.ending, episode.last.tolist()) == (alone.ending, alone.last)
            assert len(episode.asked) == len(alone.points) + (alone.ending == NO_RULE)


def always(task: Any) -> RuleSet:
    """Return a list that does the same everywhere."""
    everywhere = [[[f.low, f.high] for f in task.features]]
    return DecisionList(everywhere, [1], task.features, task.action_names)


@pytest.mark.parametrize("task", [small_lake(), task_of("CartPole-v1", t_max=25), task_of(t_max=25)], ids=str)
def test_every_simulator_has_the_headline_the_history_and_a_held_out_measure(task: Any) -> None:
    simulator, ruleset = simulator_of(task), always(task)
    assert isinstance(simulator, Simulator)
    batch = batch_of(ruleset)
    assert batch is not None
    columns = simulator.measures(batch, 0)
    assert list(columns) == ["performance", task.held_out_column]
    headline = simulator.headline(ruleset, 5)
    assert len(headline) == 2
    assert list(headline.values())[1].performance == columns["performance"]
    held_out = simulator.held_out(ruleset, 5)
    if task.has_states:
        assert held_out == columns["exact_performance"] == headline["exact"].performance
    else:
        last = int(task.validation[-1])
        own = simulator.evaluate(ruleset, range(last + 1, last + 6))
        assert held_out == own.performance
        assert not set(range(last + 1, last + 6)) & set(task.test_seeds(1000).tolist())


def test_a_shared_simulator_lives_as_long_as_its_task_and_differs_by_how_it_measures() -> None:
    task = small_lake()
    assert shared_simulator(task) is shared_simulator(task)
    assert shared_simulator(task) is not shared_simulator(task, "exact")
    assert shared_simulator(task) is not shared_simulator(task, threads=2)
    assert shared_simulator(task) is not shared_simulator(small_lake())
