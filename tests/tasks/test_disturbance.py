from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.environments.make import env_task
from ifthen.errors import TaskError
from ifthen.explanation.pictures.film import play
from ifthen.randomness import stream
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.twin_simulator import TwinSimulator
from ifthen.tasks.disturbance import (
    ACTION_DELAY,
    HEAD,
    actions_at,
    checked_disturbances,
    commanded,
    first_memory,
    sense,
)
from ifthen.tasks.gym_task import EnvTask
from tests import naive_disturbance
from tests.naive import uniform

ALL = {"noise": 0.02, "bias": 0.01, "delay": 2, "drop": 0.3, "action_delay": 1, "action_repeat": 2}
FEATURES = (Feature("a", -1.0, 3.0, "real"), Feature("b", 0, 9))
STRENGTHS = st.fixed_dictionaries(
    {},
    optional={
        "noise": st.sampled_from([0.01, 0.5]),
        "bias": st.sampled_from([0.01, 0.5]),
        "delay": st.integers(1, 3),
        "drop": st.sampled_from([0.3, 1.0]),
        "action_delay": st.integers(1, 3),
        "action_repeat": st.integers(2, 3),
    },
)


@pytest.mark.oracle
@given(STRENGTHS, st.integers(0, 99))
def test_readings_and_actions_are_those_of_the_oracle(strengths: Mapping[str, float], seed: int) -> None:
    key, steps = int(stream(seed, "disturbance")) >> 11, 7
    shown = [[uniform(seed, 2 * t), float(t % 10)] for t in range(steps + 1)]
    chosen = [t * t % 5 for t in range(steps)]
    memory, readings, taken = first_memory(strengths, FEATURES, seed), [], []
    with np.errstate(over="ignore"):
        for t, row in enumerate(shown):
            point = np.array(row)
            sense(memory, point)
            readings.append(point.tolist())
            if t < steps:
                taken.append(commanded(memory, chosen[t]))
    expected = naive_disturbance.read(strengths, key, shown, [4.0, 9.0], [False, True])
    assert taken == naive_disturbance.told(strengths, chosen)
    assert np.allclose(readings, expected, rtol=0, atol=1e-12)
    assert actions_at(memory) + memory[ACTION_DELAY] + 1 == len(memory)
    assert len(memory) > HEAD


def upright(task: EnvTask) -> DecisionList:
    """Return two rules that push a cart to where its pole leans."""
    whole = [(feature.low, feature.high) for feature in task.features]
    left = [*whole[:2], (task.features[2].low, 0.0), whole[3]]
    return DecisionList([left, whole], [0, 1], task.features, task.action_names)


@pytest.mark.oracle
@pytest.mark.parametrize("strengths", [{"noise": 0.05}, ALL])
def test_a_disturbed_twin_plays_what_the_disturbed_environment_plays(strengths: dict[str, float]) -> None:
    task = env_task("CartPole-v1", disturbances=strengths)
    simulators = [environment_simulator(each) for each in (task, task.replaced(player="sync"))]
    assert [isinstance(each, TwinSimulator) for each in simulators] == [True, False]
    with np.errstate(over="ignore"):
        ours, theirs = ([*each.episodes(upright(task), [3, 4])] for each in simulators)
    for seed, one, other in zip([3, 4], ours, theirs, strict=True):
        for a, b in zip(one[:3], other[:3], strict=True):
            assert np.array_equal(a, b)
        # Without disturbances the actions that arrive lead through the same states.
        env = task.make()
        states = [env.reset(seed=seed)[0]]
        states += [env.step(each)[0] for each in naive_disturbance.told(strengths, one.actions.tolist())]
        assert np.array_equal(one.true_points, np.array(states, dtype=np.float64))
        assert np.array_equal(one.true_points, other.true_points)
    # What is read is not what is shown.
    plain = environment_simulator(task.undisturbed).episodes(upright(task), [3])[0]
    assert not np.array_equal(plain.points[0], ours[0].points[0])


def test_disturbances_are_part_of_what_a_task_is() -> None:
    task = env_task("CartPole-v1", disturbances={"delay": 2.0, "noise": 0})
    plain = task.undisturbed
    assert task.disturbances == {"delay": 2}
    assert task.identity() != plain.identity()
    assert task.settings["disturbances"] == {"delay": 2}
    assert not {"disturbances"} & (plain.settings.keys() | plain.to_dict().keys())
    assert plain.undisturbed is plain


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"nois": 0.1}, "Did you mean 'noise'"),
        ({"delay": 1.5}, "delay must be a whole number"),
        ({"drop": 2}, "drop must be a number from 0 to 1"),
        (["noise"], "strengths by name"),
    ],
)
def test_wrong_disturbances_are_refused(given_: Any, told: str) -> None:
    with pytest.raises(TaskError, match=told):
        checked_disturbances(given_)


def test_a_parameter_of_an_environment_is_varied_and_its_twin_does_not_play_it() -> None:
    task = env_task("CartPole-v1")
    heavy = task.disturbed("unwrapped.gravity", 20.0)
    assert task.nominal("unwrapped.gravity") == 9.8
    assert heavy.make().unwrapped.gravity == 20.0
    assert not isinstance(environment_simulator(heavy), TwinSimulator)
    with pytest.raises(TaskError, match="Did you mean 'gravity'"):
        task.nominal("unwrapped.gravty")
    with pytest.raises(TaskError, match="must be a number"):
        task.nominal("unwrapped.kinematics_integrator")
    with pytest.raises(TaskError, match="Did you mean 'noise'"):
        task.disturbed("noisy", 1)


@pytest.mark.parametrize("gamma", [1.0, 0.999, 0.9])
def test_the_floor_of_longer_episodes_is_below_what_they_can_lose(gamma: float) -> None:
    longer = env_task("MountainCar-v0", gamma=gamma).disturbed("t_max", 1000)
    least = -sum(gamma**t for t in range(1000))
    assert longer.floor < least
    assert longer.floor >= 2 * least - 1


def test_longer_episodes_reach_environments_that_a_function_makes() -> None:
    import gymnasium

    for given_ in ("CartPole-v1", lambda: gymnasium.make("CartPole-v1")):
        longer = env_task(given_, player="sync").disturbed("t_max", 600)
        best = environment_simulator(longer)
        whole = [(feature.low, feature.high) for feature in longer.features]
        tilt = [*whole[:2], (longer.features[2].low, 0.0), whole[3]]
        rules = DecisionList([tilt, whole], [0, 1], longer.features, longer.action_names)
        assert longer.t_max == 600
        assert best.evaluate(rules, [0]).steps < 600
        env = longer.make()
        limits = []
        while hasattr(env, "env"):
            limits += [env._max_episode_steps] if hasattr(env, "_max_episode_steps") else []
            env = env.env
        assert limits == [600]


def test_an_episode_that_is_watched_is_disturbed_as_it_is_when_played() -> None:
    task, said = env_task("CartPole-v1", disturbances=ALL), list[str]()
    play(upright(task), task, task.make(), 3, said.append)
    played = environment_simulator(task).episodes(upright(task), [3])[0]
    rules = upright(task).choose(played.points)[1] + 1
    assert [text.partition(":")[0] for text in said[:-1]] == [
        f"step {t}, rule {rule}" for t, rule in enumerate(rules, 1)
    ]
