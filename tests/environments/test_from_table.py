from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from ifthen import TabularTask
from ifthen.environments.from_table import table_task
from ifthen.errors import TaskError
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.tables import value_iteration
from tests import naive


def assert_same_transitions(task: TabularTask, env: Any) -> None:
    for s, actions in env.unwrapped.P.items():
        for a, outcomes in actions.items():
            arrays = (task.probability, task.next_state[s, a], task.reward[s, a], task.done[s, a])
            found = naive.marginals(list(zip(*arrays, strict=True)))
            assert found == pytest.approx(naive.marginals(outcomes), abs=1e-9)


@pytest.mark.parametrize("slippery", [False, True])
def test_cliff_walking_brings_its_table_grid_and_start(slippery: bool) -> None:
    env = gymnasium.make("CliffWalking-v1", is_slippery=slippery)
    task = table_task(env)
    assert_same_transitions(task, env)
    assert task.deterministic is not slippery
    assert [(f.name, f.low, f.high) for f in task.features] == [("x", 0, 11), ("y", 0, 3)]
    assert task.action_names == ("Up", "Right", "Down", "Left")
    assert task.state_features[task.initial_states].tolist() == [[0, 3]]
    assert task.enumerations == (30 if slippery else 1)
    assert task.t_max == 200


def test_the_best_way_along_the_cliff_takes_13_steps() -> None:
    task = table_task(gymnasium.make("CliffWalking-v1"), gamma=1.0)
    assert value_iteration(task).values[task.initial_states].tolist() == [-13.0]
    assert optimal_performance(task, "sampled") == -13.0


def test_taxi_brings_its_table_four_decoded_features_and_300_starts() -> None:
    env = gymnasium.make("Taxi-v4")
    task = table_task(env)
    assert_same_transitions(task, env)
    highs = {f.name: f.high for f in task.features}
    assert highs == {"row": 4, "column": 4, "passenger": 4, "destination": 3}
    base: Any = env.unwrapped
    for s in (0, 123, 499):
        assert task.state_features[s].tolist() == list(base.decode(s))
    assert len(task.initial_states) == 300
    assert task.t_max == 200
    assert task.name == "Taxi-v4"


def test_the_optimum_of_taxi_is_the_well_known_7_93() -> None:
    task = table_task(gymnasium.make("Taxi-v4"), gamma=1.0)
    assert optimal_performance(task) == pytest.approx(7.93, abs=0.005)


def test_options_replace_what_the_environment_brings() -> None:
    env = gymnasium.make("CliffWalking-v1")
    task = table_task(
        env,
        name="cliff",
        decode=lambda s: (s // 12,),
        feature_names=["row"],
        action_names=["N", "E", "S", "W"],
        initial_states=[0, 5],
        enumerations=2,
        gamma=0.5,
        t_max=9,
        noise_seed=4,
    )
    assert (task.name, task.gamma, task.t_max, task.noise_seed) == ("cliff", 0.5, 9, 4)
    assert (task.features[0].name, task.features[0].high) == ("row", 3)
    assert task.action_names == ("N", "E", "S", "W")
    assert task.z.tolist() == [0, 5, 0, 5]


def test_features_are_numbered_where_only_a_decoder_is_given() -> None:
    task = table_task(gymnasium.make("CliffWalking-v1"), decode=lambda s: divmod(s, 12))
    assert [f.name for f in task.features] == ["f0", "f1"]


class Coin:
    """A table-only environment of no known kind: heads wins, tails goes on."""

    action_space = gymnasium.spaces.Discrete(1)
    initial_state_distrib: Any = np.array([1.0, 0.0])

    def __init__(self) -> None:
        self.P: Any = {
            0: {0: [(0.5, 1, 1.0, True), (0.5, 0, 0.0, False)]},
            1: {0: [(1.0, 1, 0.0, True)]},
        }


def test_an_unknown_environment_with_a_table_has_the_state_as_its_feature() -> None:
    task = table_task(Coin())
    assert [(f.name, f.low, f.high) for f in task.features] == [("state", 0, 1)]
    assert task.action_names == ("Action0",)
    assert task.name == "Coin"


def test_an_environment_that_does_not_say_where_it_starts_needs_initial_states() -> None:
    coin = Coin()
    coin.initial_state_distrib = None
    with pytest.raises(TaskError, match="give initial_states"):
        table_task(coin)
    assert table_task(coin, initial_states=[0]).initial_states.tolist() == [0]


def test_our_own_environment_brings_its_time_limit_and_ruleset_size() -> None:
    env = gymnasium.make("ifthen/FrozenLake-v0", size=8, p_slip=0.3, t_max=77)
    task = table_task(env)
    assert (task.t_max, task.preset, task.observes) == (77, {"idv_size": 21}, "features")
    assert task.initial_states.tolist() == [0]
    assert table_task(gymnasium.make("FrozenLake-v1")).observes == "state"


def test_environments_without_a_table_are_refused() -> None:
    with pytest.raises(TaskError, match="CartPoleEnv has no transition table P"):
        table_task(gymnasium.make("CartPole-v1"))


def test_a_fickle_taxi_is_refused() -> None:
    with pytest.raises(TaskError, match="fickle_passenger"):
        table_task(gymnasium.make("Taxi-v4", fickle_passenger=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_names": ["x"]}, "1 feature names"),
        ({"feature_names": ["x", "x"]}, "must differ"),
        ({"action_names": ["Up"]}, "1 action names for 4 actions"),
        ({"decode": lambda s: (s / 2,)}, "whole numbers"),
        ({"t_max": 0}, "t_max"),
        ({"initial_states": []}, "initial_states"),
        ({"initial_states": [48]}, "whole number from 0 to 47"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        table_task(gymnasium.make("CliffWalking-v1"), **options)
