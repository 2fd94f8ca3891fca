"""Policies beside an environment that is given as it is: names, ranges and settings come from the policy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ifthen
from ifthen import DecisionList, Feature, env_task, evaluate, load
from ifthen.environments.rebind import named_as_in, policy_and_its_task
from ifthen.errors import IfthenWarning, TaskError
from ifthen.explanation.diff import diff
from ifthen.rules.term import term
from ifthen.systems.callbacks import EvaluationCallback
from tests.envs import WALK, Walk
from tests.systems.contract import make

NAMES: dict[str, Any] = {"feature_names": ("place", "clock"), "action_names": ("left", "stay", "right")}
RANGES = {"place": (-5.0, 5.0), "clock": (0.0, 2.0)}


def system() -> Any:
    """Return a system that was trained with names, ranges and settings of its own."""
    task = env_task(Walk, **NAMES, ranges=RANGES, t_max=9, episodes=4)
    return make("PPL-DL", task=task).learn(epochs=1)


def by_hand(clips: bool = True, names: tuple[str, str] = ("place", "clock")) -> DecisionList:
    """Return rules that go back to the middle."""
    features = [Feature(names[0], -5.0, 5.0, "real", clips=clips)]
    features.append(Feature(names[1], 0.0, 2.0, "real", clips=clips))
    bounds = [[[0.0, 5.0], [0.0, 2.0]], [[-5.0, 5.0], [0.0, 2.0]]]
    return DecisionList(bounds, [0, 2], features, NAMES["action_names"])


@pytest.mark.parametrize("given", [Walk, Walk(), "tests.envs:Walk"])
def test_a_system_is_measured_in_its_own_environment_with_the_settings_of_its_training(given: Any) -> None:
    own = system()
    assert repr(evaluate(own, given)) == repr(evaluate(own))
    assert evaluate(own, given, seeds="training").performance == own.history["performance"][-1]


def test_a_loaded_system_takes_its_environment_in_every_function(tmp_path: Path) -> None:
    own = system()
    own.save(tmp_path / "model.zip")
    again = load(tmp_path / "model.zip", env=Walk)
    assert str(ifthen.verify(again, Walk())) == str(ifthen.verify(own))
    assert str(ifthen.explain(again, [1.0, 0.0], task=Walk)) == str(ifthen.explain(own, [1.0, 0.0]))
    assert repr(ifthen.trace(load(tmp_path / "model.zip"), Walk, seed=3)) == repr(ifthen.trace(own, seed=3))
    callback = EvaluationCallback(Walk, episodes=5, every=1)
    assert callback.measure(again) == EvaluationCallback(episodes=5, every=1).measure(own)


@pytest.mark.parametrize("clips", [True, False])
@pytest.mark.parametrize("given", [Walk, WALK])
def test_rules_give_an_environment_without_names_their_names_and_ranges(given: Any, clips: bool) -> None:
    expected = evaluate(by_hand(), env_task(given, **NAMES, ranges=RANGES))
    assert repr(evaluate(by_hand(clips), given)) == repr(expected)
    assert "✓ complete" in str(ifthen.verify(by_hand(clips), given))


def test_tasks_and_known_environments_keep_their_names() -> None:
    with pytest.raises(TaskError, match=r"speaks of place .* but task Walk has f0 .* feature_names"):
        evaluate(by_hand(), env_task(Walk))
    with pytest.raises(TaskError, match=r"speaks of place .* but task MountainCar-v0 has position"):
        evaluate(by_hand(), "MountainCar-v0")
    assert policy_and_its_task("no policy", Walk)[1].features[0].name == "f0"


def test_another_environment_is_played_as_it_is() -> None:
    class Other(Walk):
        """The same numbers, in another class."""

    assert policy_and_its_task(system(), Other)[1].t_max == 1000
    assert policy_and_its_task(system(), Walk)[1].t_max == 9


def test_policies_with_other_names_are_compared_in_the_order_of_features_and_says_so() -> None:
    task = env_task(Walk, **NAMES, ranges=RANGES, episodes=3)
    for given in (task, Walk):
        with pytest.warns(IfthenWarning, match=re.escape("f0 is place, f1 is clock")):
            assert diff(by_hand(), by_hand(names=("f0", "f1")), given).equal
    with pytest.raises(TaskError, match="speaks of clock"):  # the same names in another order
        diff(by_hand(), by_hand(names=("clock", "place")), task)


def test_rules_with_other_names_choose_the_same_also_with_terms() -> None:
    old = by_hand(names=("f0", "f1"))
    sums = [term(None, {"f0": 1.0, "f1": -2.0}, old.features), term("own", {"f1": 2.0}, old.features)]
    bounds: Any = [
        [[-5.0, 5.0], [0.0, 2.0], [0.5, 5.0], [0.0, 3.0]],
        [[-5.0, 5.0], [0.0, 2.0], [-9.0, 5.0], [0.0, 4.0]],
    ]
    rules = DecisionList(bounds, [1, 2], [*old.features, *sums], old.action_names)
    with pytest.warns(IfthenWarning, match="f0 is place"):
        renamed = named_as_in(env_task(Walk, **NAMES, ranges=RANGES), rules)
    assert [feature.name for feature in renamed.features] == ["place", "clock", "place − 2·clock", "own"]
    points = [[x, t] for x in (-6.0, -1.0, 0.4, 2.0, 4.9) for t in (0.0, 1.0, 2.0)]
    assert renamed.predict(points).tolist() == rules.predict(points).tolist()
