"""A file of rules never names a task that is not the one the rules are for."""

from __future__ import annotations

import json
from typing import Any, SupportsFloat

import gymnasium
import pytest
from gymnasium.wrappers import TransformReward

from ifthen import DecisionList, EnvTask, RuleSet, env_task, frozen_lake, task_by_name
from ifthen.environments.written_name import written_name
from ifthen.errors import TaskError
from ifthen.explanation.read_ruleset import known_task
from ifthen.exports import export, schema
from ifthen.rules.text.document import RulesText
from tests.exports.test_export_tables import fits

CART = "CartPole-v1"


def always(task: Any) -> DecisionList:
    """Return rules that always take the first action."""
    everything = [[feature.low, feature.high] for feature in task.features]
    return DecisionList([everything], [0], task.features, task.action_names)


def halved(reward: SupportsFloat) -> float:
    return float(reward) / 2


@pytest.mark.parametrize(
    "task",
    [
        task_by_name(CART),
        env_task(CART, episodes=7, noise_seed=3, player="sync"),  # which measure the same
        env_task(CART, name="my cart", gamma=0.9),  # which no name makes
        env_task(CART, name="cart:mine", gamma=0.9),
        frozen_lake(4, 0.1),
    ],
    ids=["stock", "other seeds", "own name", "name with a colon", "lake"],
)
def test_a_task_that_its_name_makes_is_called_by_it(task: Any) -> None:
    assert written_name(task) == task.name


@pytest.mark.parametrize(
    ("task", "other"),
    [
        (env_task(CART, gamma=0.9), "gamma"),
        (env_task(CART, t_max=40), "t_max"),
        (env_task(CART, floor=-5.0), "floor"),
        (env_task(CART, default_action=1), "default_action"),
        (env_task(CART, options={"sutton_barto_reward": True}), "options, floor"),
        (env_task(CART, ranges={"cart velocity": (-3, 3)}), "features"),
        (env_task(CART, action_names=("L", "R")), "action_names"),
        (
            env_task(lambda: TransformReward(gymnasium.make(CART), halved), name=CART, floor=-1.0),
            "environment, features, action_names",
        ),
    ],
)
@pytest.mark.parametrize("form", ["json", "text"])
def test_a_task_with_settings_of_its_own_is_called_what_no_name_makes(
    task: EnvTask, other: str, form: str
) -> None:
    written = export(always(task), form, task)
    if form == "json":
        data = json.loads(written)
        assert fits(data, schema(), schema())
        assert RuleSet.from_dict(data) == always(task)
        named = data["task"]
    else:
        read = RulesText(written)
        assert read.ruleset(None, None, None, known_task) == always(task)
        named = read.task
    assert named == f"CartPole-v1 with other {other}"
    with pytest.raises(TaskError, match="unknown task"):
        task_by_name(named)


def test_naming_a_task_imports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    task = env_task(CART, name="antigravity:CartPole-v1")
    monkeypatch.setattr("ifthen.environments.written_name.task_by_name", refuse)
    assert written_name(task) == task.name
