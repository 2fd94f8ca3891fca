from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import Feature, TabularTask
from ifthen.environments.from_table import common_outcomes
from ifthen.errors import ParameterError, RuleError, TaskError
from ifthen.tasks.table_checks import OUTCOME_LIMIT
from tests import naive
from tests.worlds import chain, random_task, small_lake

Table = dict[int, dict[int, list[tuple[float, int, float, bool]]]]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draw a transition table with irregular probabilities, some of them 0."""
    n = draw(st.integers(1, 4))
    row = st.tuples(st.integers(0, n - 1), st.sampled_from([-1.5, 0.0, 1.0]), st.booleans())
    table: Table = {}
    for s in range(n):
        table[s] = {}
        for a in range(2):
            shares = draw(st.lists(st.integers(0, 7), min_size=1, max_size=4).filter(any))
            rows = [draw(row) for _ in shares]
            table[s][a] = [(p / sum(shares), *r) for p, r in zip(shares, rows, strict=True)]
    return table


@given(tables())
def test_common_outcomes_keep_the_probability_of_everything_that_can_follow(table: Table) -> None:
    next_state, reward, done, probability = common_outcomes(table)
    assert (probability > 0).all()
    for s, actions in table.items():
        for a, outcomes in actions.items():
            found = zip(probability, next_state[s, a], reward[s, a], done[s, a], strict=True)
            assert naive.marginals(list(found)) == pytest.approx(naive.marginals(outcomes), abs=1e-9)


def test_equal_distributions_share_their_outcomes() -> None:
    table: Table = {0: {a: [(0.25, 0, 0.0, False), (0.75, 0, 1.0, True)] for a in range(3)}}
    assert common_outcomes(table)[3].tolist() == [0.25, 0.75]


def test_different_cuts_are_refined_together() -> None:
    table: Table = {
        0: {
            0: [(0.5, 0, 0.0, False), (0.5, 0, 1.0, True)],
            1: [(0.2, 0, 0.0, False), (0.8, 0, 1.0, True)],
        }
    }
    np.testing.assert_allclose(common_outcomes(table)[3], [0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    "probabilities", [[], [0.5], [0.5, 0.6], [-0.2, 1.2], [0.5, -0.2, 0.7], [float("nan")], [1.5, -0.5]]
)
def test_outcomes_that_are_no_distribution_are_refused(probabilities: list[float]) -> None:
    with pytest.raises(TaskError, match="adding up to 1"):
        common_outcomes({0: {0: [(p, 0, 0.0, False) for p in probabilities]}})


def test_more_outcomes_than_a_byte_can_tell_apart_are_refused() -> None:
    n = OUTCOME_LIMIT + 1
    with pytest.raises(TaskError, match="distinct outcome probabilities"):
        common_outcomes({0: {0: [(1 / n, 0, 0.0, False)] * n}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": 1.1}, "gamma"),
        ({"gamma": float("nan")}, "gamma"),
        ({"gamma": "0.9"}, "gamma"),
        ({"t_max": 0}, "t_max"),
        ({"t_max": 1.5}, "t_max"),
        ({"t_max": 10**7}, "t_max"),
        ({"enumerations": 0}, "enumerations"),
        ({"enumerations": True}, "enumerations"),
        ({"features": (Feature("place", 0, 1),)}, "within the ranges"),
        ({"features": (Feature("place", 0, 2_000_000),)}, "2,000,001 values"),
        ({"features": (Feature("a", 0, 2), Feature("b", 0, 2))}, "state_features"),
        ({"action_names": ("Go",)}, "next_state must have shape"),
        ({"action_names": (1, 2)}, "action_names must be a tuple of texts"),
        ({"features": ("x",)}, "features must be a tuple of Feature"),
        ({"name": None}, "name must be a text"),
        ({"origin": {"made": [1]}}, "origin must hold texts and numbers"),
        ({"preset": {"idv_size": "a"}}, "preset 'idv_size' must be a whole number"),
        ({"layout": ("S",)}, "layout must be"),
        ({"observes": "everything"}, "observes must be"),
        ({"enumerations": 10**6, "initial_states": np.zeros(11, dtype=np.int32)}, "11,000,000 episodes"),
        ({"gamma": 0.99999}, "at most 0.9999, or exactly 1"),
        ({"action_names": ("Go", "Go")}, "action names must differ"),
        ({"state_features": np.full((3, 1), 0.5)}, "state_features must hold finite numbers that int32"),
        ({"next_state": np.full((3, 2, 2), 3, dtype=np.int32)}, "states from 0 to 2"),
        ({"next_state": np.full((3, 2, 2), -1, dtype=np.int32)}, "states from 0 to 2"),
        ({"reward": np.full((3, 2, 2), np.nan)}, "finite"),
        ({"probability": np.array([0.5, 0.4])}, "add up to 1"),
        ({"probability": np.array([1.0, 0.0])}, "positive"),
        ({"initial_states": np.array([], dtype=np.int32)}, "not be empty"),
        ({"initial_states": np.array([3], dtype=np.int32)}, "states from 0 to 2"),
    ],
)
def test_impossible_tasks_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        chain(**change)


def test_an_impossible_noise_seed_is_refused() -> None:
    with pytest.raises(ParameterError, match="noise_seed"):
        chain(noise_seed=-1)


def test_features_of_the_same_name_are_refused() -> None:
    features = (Feature("u", -1, 1), Feature("u", 5, 9))
    with pytest.raises(TaskError, match="feature names must differ"):
        random_task(0, features=features)


def test_z_is_the_initial_states_as_often_as_enumerated() -> None:
    assert chain(enumerations=3).z.tolist() == [0, 1, 0, 1, 0, 1]


def test_decision_states_are_those_reached_before_the_episode_ends() -> None:
    assert chain().decision_states.tolist() == [0, 1]
    assert chain(initial_states=np.array([1], dtype=np.int32)).decision_states.tolist() == [1]


def test_decision_states_of_a_lake_are_its_frozen_cells() -> None:
    task = small_lake()
    letters = "".join(task.layout or ())
    assert task.decision_states.tolist() == [i for i, letter in enumerate(letters) if letter in "SF"]


def test_dynamics_tell_the_same_transitions_over_decision_states() -> None:
    task = random_task(3, initial_states=np.array([0], dtype=np.int32))
    model, states = task.dynamics, task.decision_states
    for d, s in enumerate(states):
        assert model.states[d].tolist() == model.points[d].tolist() == task.state_features[s].tolist()
        for a in range(task.n_actions):
            for k in range(len(task.probability)):
                follows = model.next_state[d, a, k]
                assert model.reward[d, a, k] == task.reward[s, a, k]
                assert (follows == -1) == task.done[s, a, k]
                if follows >= 0:
                    assert states[follows] == task.next_state[s, a, k]
    assert states[model.starts].tolist() == task.initial_states.tolist()


@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_the_floor_lies_below_every_return(gamma: float) -> None:
    task = random_task(1, gamma=gamma)
    horizon = task.t_max if gamma == 1 else 10_000  # exact values look beyond t_max
    worst = sum(gamma**t * min(0.0, float(task.reward.min())) for t in range(horizon))
    assert task.floor == pytest.approx(worst)


def test_arrays_are_copied_and_frozen() -> None:
    task = chain()
    reward = task.reward.copy()
    copied = replace(task, reward=reward)
    reward[:] = 9
    assert copied.reward.tolist() == task.reward.tolist()
    with pytest.raises(ValueError, match="read-only"):
        copied.reward[:] = 9


def test_state_numbers_are_looked_up_as_features() -> None:
    task = replace(small_lake(), observes="state")
    assert task.features_of(5).tolist() == task.state_features[5].tolist()
    assert task.features_of([5, 0]).tolist() == task.state_features[[5, 0]].tolist()
    for wrong in (-1, task.n_states, 0.5, [[1]], []):
        with pytest.raises(RuleError, match=task.name):
            task.features_of(wrong)


def test_the_floor_is_0_where_no_reward_is_negative() -> None:
    assert small_lake().floor == 0
    assert chain(reward=np.ones((3, 2, 2))).floor == 0


def test_the_arrays_of_a_task_cannot_be_changed() -> None:
    for name, array in chain().arrays().items():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
        assert name in TabularTask.__dataclass_fields__


def test_a_task_shows_its_sizes() -> None:
    assert repr(chain()) == (
        "<TabularTask chain: 3 states, 2 actions, |S_I| = 2, |z| = 6, gamma = 0.5, t_max = 20>"
    )
