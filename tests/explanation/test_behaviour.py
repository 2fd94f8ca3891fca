from __future__ import annotations

import numpy as np
import pytest

import ifthen
from ifthen.environments.make import env_task
from ifthen.explanation.behaviour import interval_of, quantities
from ifthen.rules.decision_list import DecisionList
from ifthen.simulate.scope import recorded_episodes
from ifthen.tasks.tabular_task import TabularTask
from tests.robustness.test_stress import POLE, upright


def two_ways(task: TabularTask) -> DecisionList:
    """Return rules that go down on the left and right elsewhere, with one that never decides."""
    x, y = ((feature.low, feature.high) for feature in task.features)
    bounds = [[(0, 0), y], [(0, 0), (0, 0)], [x, y]]
    return DecisionList(bounds, [1, 0, 2], task.features, task.action_names)


def test_what_is_counted_in_an_environment_is_what_its_episodes_show() -> None:
    rules, episodes = upright(POLE), 5
    found = ifthen.behaviour(rules, POLE, episodes)
    played = recorded_episodes(rules, POLE, POLE.test_seeds(episodes))
    changes = [int((np.diff(each.actions) != 0).sum()) for each in played]
    steps = sum(len(each.actions) for each in played)
    assert found.switches == pytest.approx(100 * sum(changes) / steps)
    assert found.dwell == pytest.approx(steps / (sum(changes) + episodes))
    deciders = np.concatenate([rules.choose(each.points)[1] for each in played])
    assert [own.share for own in found.rules] == pytest.approx(np.bincount(deciders) / steps)
    assert found.outside is not None
    assert found.effort is None
    first, last = found.rules
    assert first.lost is not None
    assert first.interval is not None
    assert first.interval[0] < first.lost < first.interval[1]
    alone = ifthen.evaluate(rules.subset([1]), POLE, seeds=POLE.test_seeds(episodes))
    assert first.lost == pytest.approx(500 - alone.performance)
    assert last.stuck == 1.0
    assert "all: no rule matches" in str(found)


def test_in_a_table_numbers_are_exact_and_agree_with_play() -> None:
    task = ifthen.frozen_lake(4, p_slip=0.3)
    rules = two_ways(task)
    found = ifthen.behaviour(rules, task)
    played = recorded_episodes(rules, task)
    steps = np.mean([len(each.actions) for each in played])
    changes = np.mean([(np.diff(each.actions) != 0).sum() for each in played])
    assert found.steps == pytest.approx(steps, rel=0.2)
    assert found.switches == pytest.approx(100 * changes / steps, rel=0.35)
    assert sum(own.share for own in found.rules) == pytest.approx(1)
    assert found.rules[1].share == 0
    assert found.rules[1].lost == pytest.approx(0)
    whole = ifthen.evaluate(rules, task, "exact").performance
    without = ifthen.evaluate(rules.subset([1, 2]), task, "exact").performance
    assert found.rules[0].lost == pytest.approx(whole - without)
    assert found.longest is None


def test_a_sure_path_is_counted_exactly() -> None:
    task = ifthen.frozen_lake(desc=["SFG"])
    right = DecisionList([[(0, 2), (0, 0)]], [2], task.features, task.action_names)
    found = ifthen.behaviour(right, task)
    assert found.switches == 0
    assert found.dwell == found.steps


def test_effort_is_that_of_actions_that_are_quantities() -> None:
    assert quantities(["action 0", "action 1"]) is None
    assert quantities(["left", "right"]) is None
    assert quantities(["left 45°", "right 45°"]) is None
    values = quantities(["torque −1", "torque 0", "torque +1.5"])
    assert values is not None
    assert values.tolist() == [-1, 0, 1.5]
    task = env_task("Acrobot-v1", t_max=20)
    whole = [(feature.low, feature.high) for feature in task.features]
    half = [whole[0], (0.0, task.features[1].high), *whole[2:]]
    push = DecisionList([half, whole], [2, 0], task.features, task.action_names)
    found = ifthen.behaviour(push, task, 2)
    assert found.effort == 1
    assert found.change is not None
    assert 0 < found.change <= 2


def test_intervals_are_students() -> None:
    low, high = interval_of(np.array([1.0, 2.0, 3.0])) or (0, 0)
    assert (low, high) == pytest.approx((2 - 2.4841, 2 + 2.4841), abs=1e-3)
    assert interval_of(np.array([1.0])) is None
