from __future__ import annotations

import numpy as np
import pytest

import ifthen
from ifthen.environments.make import env_task
from ifthen.environments.twin_registry import registered_twin
from ifthen.robustness.worst_start import _searched
from ifthen.rules.decision_list import DecisionList
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.twin_simulator import TwinSimulator
from ifthen.tasks.gym_task import EnvTask
from tests.robustness.test_stress import POLE, upright


def leaning(task: EnvTask) -> DecisionList:
    """Return two rules that look at the pole's angle alone, and fall sooner or later."""
    whole = [(feature.low, feature.high) for feature in task.features]
    left = [*whole[:2], (task.features[2].low, 0.0), whole[3]]
    return DecisionList([left, whole], [0, 1], task.features, task.action_names)


def test_a_search_among_states_finds_worse_starts_than_its_seeds() -> None:
    found = ifthen.worst_starts(leaning(POLE), POLE, 50)
    seeds = [start for start in found.starts if start.found == "reset seed"]
    states = [start for start in found.starts if start.found == "state"]
    assert min(state.total for state in states) <= min(seed.total for seed in seeds)
    assert found.worst.total == len(found.worst.episode.steps)
    assert seeds[0].total == ifthen.evaluate(leaning(POLE), POLE, seeds=POLE.searching(50)).least
    # Starts lie in the box around those of the seeds.
    starts = np.array([list(state.episode.start.values()) for state in states])
    assert (np.abs(starts) <= 0.05).all()
    assert "an evolution strategy) tried 3,840 states in this box" in " ".join(str(found).split())
    assert found.to_dict()["starts"][0]["return"] == seeds[0].total


def test_the_box_of_the_starts_is_told_in_numbers() -> None:
    found = ifthen.worst_starts(upright(POLE), POLE, 20)
    rows = np.array([POLE.make().reset(seed=int(seed))[0] for seed in POLE.searching(20)])
    ends = f"pole angle {rows[:, 2].min():.3g} to {rows[:, 2].max():.3g} rad"
    assert ends in found.box
    assert f"The starts lie in the box {found.box}." in " ".join(str(found).split())
    assert found.played == (20, 500.0, 500.0)
    assert found.all_alike
    assert len(found.text_table().rows) == 1


def test_starts_that_are_all_alike_are_played_and_not_searched() -> None:
    simulator = environment_simulator(POLE)
    assert isinstance(simulator, TwinSimulator)
    states = simulator.starts(np.zeros(3, np.int64)).states
    total, state = _searched(simulator, leaning(POLE), states, 1, 0)
    assert total == simulator.play_from(leaning(POLE), simulator.starts_in(states)).returns.min()
    assert state.tolist() == states[0].tolist()


def test_without_a_twin_only_seeds_are_searched() -> None:
    task = POLE.replaced(player="sync")
    found = ifthen.worst_starts(leaning(task), task, 5)
    assert {start.found for start in found.starts} == {"reset seed"}
    assert "states cannot be set" in str(found)


def test_the_worst_initial_states_of_a_table_are_exact() -> None:
    task = ifthen.frozen_lake(4)
    whole = [(feature.low, feature.high) for feature in task.features]
    ever = DecisionList([whole], [1], task.features, task.action_names)
    found = ifthen.worst_starts(ever, task)
    values = [start.total for start in found.starts]
    assert values == sorted(values)
    assert "exact" in str(found)


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCar-v0", "Acrobot-v1"])
def test_twins_observe_a_state_as_their_environments_do(name: str) -> None:
    task, twin = env_task(name), registered_twin(name)
    assert twin is not None
    assert twin.observe is not None
    env = task.make()
    for seed in range(3):
        observation, _ = env.reset(seed=seed)
        assert np.array_equal(twin.observe(twin.state_of(env)), task.flat.row(observation))


def test_starts_in_states_play_what_starts_from_seeds_play() -> None:
    task = POLE.disturbed("noise", 0.05)
    simulator = environment_simulator(task)
    assert isinstance(simulator, TwinSimulator)
    seeds = task.searching(1)
    there = simulator.starts_in(simulator.real_states(seeds))
    expected = simulator.play_ruleset(upright(task), seeds)
    assert simulator.play_from(upright(task), there).returns == expected.returns
    assert len(simulator.record_from(upright(task), there)[0].actions) == expected.steps[0, 0]
