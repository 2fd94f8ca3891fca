from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import wrappers

import ifthen
from ifthen.environments.make import env_task
from ifthen.environments.repeatable import repeatability_of
from ifthen.errors import IfthenWarning, TaskError
from ifthen.tasks.wrapper_statistics import restore_statistics
from tests.envs import Walk


class Careless(Walk):
    """Draws its random numbers without regard to the seed."""

    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        return observation, reward + np.random.random(), *rest  # noqa: NPY002


class Tired(Walk):
    """Gets less for every episode that it has begun."""

    begun = 0

    def reset(self, **given: Any) -> Any:
        self.begun += 1
        return super().reset(**given)

    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        return observation, reward - self.begun, *rest


class Shared(Walk):
    """All environments of a process have one clock, as simulators with global state do."""

    clock = 0

    def reset(self, **given: Any) -> Any:
        Shared.clock = 0
        return super().reset(**given)

    def step(self, action: Any) -> Any:
        Shared.clock += 1
        observation, reward, *rest = super().step(action)
        return observation, reward + 0.001 * Shared.clock, *rest


class Stuck(Walk):
    """Waits for ever for a clock that another one has put back."""

    clock = 0

    def reset(self, **given: Any) -> Any:
        Stuck.clock = self.mine = 0
        return super().reset(**given)

    def step(self, action: Any) -> Any:
        Stuck.clock += 1
        self.mine += 1
        while Stuck.clock != self.mine:
            pass
        return super().step(action)


class Lottery(Walk):
    """Draws something when it is made."""

    def __init__(self) -> None:
        super().__init__()
        self.bonus = np.random.random()  # noqa: NPY002

    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        return observation, reward + self.bonus, *rest


@pytest.mark.parametrize(
    ("kind", "words", "lanes"),
    [
        (Careless, "the same seed and actions give different episodes", 0),
        (Tired, "an episode depends on the episodes before it", 0),
        (Shared, "disturb each other", 1),
        (Lottery, "something is drawn when an environment is made", 0),
    ],
)
def test_what_training_cannot_rely_on_is_said_before_it(kind: Any, words: str, lanes: int) -> None:
    with pytest.warns(IfthenWarning, match=words) as said:
        task = env_task(kind)
    assert len(said) == 1
    assert task.lanes == lanes


@pytest.mark.parametrize("use", [env_task, ifthen.PPLDL, ifthen.XCSF, ifthen.PPLST])
def test_warnings_point_at_the_line_of_the_user(use: Any) -> None:
    with pytest.warns(IfthenWarning, match="different episodes") as said:
        use(Careless())
    assert {warning.filename for warning in said} == {__file__}


def test_an_environment_that_keeps_its_word_is_taken_without_one() -> None:
    found = repeatability_of(Walk)
    assert (found.repeats, found.alike, found.apart, found.notes) == (True, True, True, [])
    assert env_task(Walk).lanes == 0


def test_one_environment_per_process_gives_what_it_gives_alone() -> None:
    with pytest.warns(IfthenWarning, match="disturb"):
        task = env_task(Shared)
    everywhere = [[(feature.low, feature.high) for feature in task.features]]
    rules = ifthen.DecisionList(everywhere, [1], task.features, task.action_names)

    def returns(task: Any, seeds: list[int]) -> list[float]:
        found = ifthen.evaluate(rules, task, seeds=seeds, threads=1).returns
        return [] if found is None else found.tolist()

    alone = [returns(task, [seed])[0] for seed in range(5)]
    assert returns(task, [*range(5)]) == alone
    assert returns(task.replaced(lanes=8), [*range(5)]) != alone


def test_environments_that_hang_beside_each_other_are_played_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ifthen.environments.repeatable.LEAST_SECONDS", 0.2)
    with pytest.warns(IfthenWarning, match="disturb each other"):
        assert env_task(Stuck).lanes == 1


def test_the_number_of_lanes_can_be_given() -> None:
    assert env_task(Walk, lanes=3).lanes == 3
    with pytest.warns(IfthenWarning, match="disturb"):
        assert env_task(Shared, lanes=7).lanes == 7
    with pytest.raises(TaskError, match="lanes must be"):
        env_task(Walk, lanes=-1)


@pytest.mark.parametrize("wrapper", [wrappers.NormalizeObservation, wrappers.NormalizeReward])
def test_statistics_of_wrappers_stay_as_they_are(wrapper: Any) -> None:
    env = wrapper(Walk())
    env.reset(seed=0)
    for _ in range(20):
        env.step(1)
    with pytest.warns(IfthenWarning, match=f"{wrapper.__name__} would learn statistics over episodes"):
        task = env_task(env)
    everywhere = [[(feature.low, feature.high) for feature in task.features]]
    rules = ifthen.DecisionList(everywhere, [1], task.features, task.action_names)
    scores = {ifthen.evaluate(rules, task, seeds=range(4), threads=1).performance for _ in range(3)}
    assert len(scores) == 1
    made = task.make()
    for name in ("obs_rms", "return_rms"):
        if hasattr(env, name):
            np.testing.assert_array_equal(getattr(made, name).mean, getattr(env, name).mean)


def test_a_saved_system_keeps_the_statistics_of_wrappers(tmp_path: Path) -> None:
    env = wrappers.NormalizeObservation(Walk())
    for seed in range(5):
        env.reset(seed=seed)
        for _ in range(5):
            env.step(1)
    with pytest.warns(IfthenWarning, match="would learn statistics over episodes"):
        system = ifthen.PPLDL(env, seed=0, threads=1, pop_size=4, idv_size=3).learn(epochs=1)
    system.save(tmp_path / "m.zip")
    score = ifthen.evaluate(system).performance

    def fresh() -> Any:
        return wrappers.NormalizeObservation(Walk())

    assert ifthen.evaluate(ifthen.load(tmp_path / "m.zip", fresh, threads=1)).performance == score
    with pytest.raises(TaskError, match="but the environment that is given observes"):
        ifthen.load(tmp_path / "m.zip", Walk, threads=1)
    with pytest.raises(TaskError, match=r"in the wrappers NormalizeReward, .* this environment has none"):
        restore_statistics(Walk(), [{"wrapper": "NormalizeReward", "mean": [0.5], "var": [2.0]}])


def test_a_wrapper_that_has_seen_nothing_yet_is_called_so() -> None:
    with pytest.warns(IfthenWarning, match="has seen no data yet"):
        env_task(wrappers.NormalizeObservation(Walk()))


class Quitter(Walk):
    """Ends the process at its third step."""

    steps = 0

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.steps == 30:
            raise SystemExit(3)
        return super().step(action)


def test_an_environment_that_ends_the_process_is_an_error_that_says_so() -> None:
    with pytest.raises(TaskError, match=r"raised SystemExit\(3\) at step"):
        env_task(Quitter)
