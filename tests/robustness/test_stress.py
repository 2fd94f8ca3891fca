from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ifthen
from ifthen.environments.make import env_task
from ifthen.errors import ParameterError, TaskError
from ifthen.pages.stress_page import stress_to
from ifthen.robustness.requirement import Demands, ReturnScale, parse, required
from ifthen.robustness.strengths import assignments, numbers
from ifthen.robustness.stress import Level, Stress, Sweep
from ifthen.rules.decision_list import DecisionList
from ifthen.tasks.gym_task import EnvTask

POLE = env_task("CartPole-v1")


def upright(task: EnvTask) -> DecisionList:
    """Return a rule that follows the pole, and one for all else."""
    lean = ifthen.term("lean", {"pole angle": 1.0, "pole velocity": 0.2}, task.features)
    features = (*task.features, lean)
    whole = [(feature.low, feature.high) for feature in features]
    return DecisionList([[*whole[:-1], (lean.low, 0.0)], whole], [0, 1], features, task.action_names)


@pytest.fixture(scope="module")
def found() -> Stress:
    plan: dict[str, Any] = {"noise": "0.01,0.3", "delay": [6], "t_max": [1000]}
    return ifthen.stress(upright(POLE), POLE, plan, episodes=10, require="performance>=450")


def test_strong_disturbances_break_what_weak_ones_leave(found: Stress) -> None:
    weak, strong = found.sweeps[0].levels
    assert found.undisturbed.performance == 500
    assert weak.holds
    assert not strong.holds
    assert weak.kept > strong.kept
    assert found.sweeps[0].breaks == (0.3,)
    assert strong.failed == 1.0
    assert not found.holds


def test_longer_episodes_are_measured_against_what_would_be_got_if_all_went_on(found: Stress) -> None:
    (longer,) = found.sweeps[2].levels
    assert longer.performance is not None
    assert longer.performance > 500
    share = (450 - found.random) / (500 - found.random)
    assert longer.required == pytest.approx(found.random + share * (1000 - found.random))


def test_the_text_says_what_was_required_and_where_it_breaks(found: Stress) -> None:
    text = str(found)
    assert "Required: a mean return of at least 450." in text
    assert "noise at 0.3, delay at 6" in text
    assert "10 test seeds" in text


def test_the_folder_has_a_page_a_heat_map_and_the_numbers(found: Stress, tmp_path: Path) -> None:
    page = stress_to(tmp_path, found, "Two <rules>", upright(POLE)).read_text()
    assert "Two &lt;rules&gt; under disturbances" in page
    assert "<svg" in page
    assert not {"<script", "<link", "<img"} & set(page.split())
    plain = json.loads((tmp_path / "stress.json").read_text())
    assert plain["sweeps"][0]["breaks"] == [0.3]
    assert (tmp_path / "stress.png").exists()
    assert "<svg" in found._repr_html_()


def test_one_thread_finds_what_two_find(found: Stress) -> None:
    one, two = (
        ifthen.stress(upright(POLE), POLE, {"noise": [0.05]}, episodes=4, threads=threads).to_dict()
        for threads in (1, 2)
    )
    assert one == two


def test_disturbances_of_training_are_left_out() -> None:
    trained = POLE.disturbed("noise", 0.3)
    there = ifthen.stress(upright(POLE), trained, {"delay": [0]}, episodes=3)
    assert there.undisturbed.performance == 500
    assert "It was trained with noise 0.3" in str(there)


def test_on_a_table_only_the_horizon_applies() -> None:
    task = ifthen.frozen_lake(4)
    whole = [(feature.low, feature.high) for feature in task.features]
    ever = DecisionList([whole], [1], task.features, task.action_names)
    longer = ifthen.stress(ever, task)
    assert [sweep.name for sweep in longer.sweeps] == ["t_max"]
    assert "on z" in str(longer)
    with pytest.raises(TaskError, match="Only t_max applies"):
        ifthen.stress(ever, task, ["noise"])


def test_the_first_broken_values_lie_on_both_sides_of_the_nominal_one() -> None:
    def level(strength: float, holds: bool) -> Level:
        return Level(strength, 1.0, None, 0.0, 1.0, 0.0, holds, None)

    held = {5.0: False, 7.5: False, 10.0: True, 12.5: False, 15.0: True}
    levels = tuple(level(*pair) for pair in held.items())
    assert Sweep("unwrapped.gravity", levels, 9.8).breaks == (7.5, 12.5)
    assert Sweep("noise", levels).breaks == (5.0,)


def test_requirements_and_strengths_are_read() -> None:
    assert parse("performance>=400, failed<=5%") == Demands(400.0, 0.05, None)
    assert required(parse("", 30), ReturnScale(0, 100)) == (30, None, 30)
    assert required(parse(""), ReturnScale(0, 100)).performance == 50
    assert required(parse(""), ReturnScale(0, -1)).performance == -1
    assert numbers("5..15") == (5, 7.5, 10, 12.5, 15)
    assert numbers("1e-2, 3") == (0.01, 3)
    assert assignments(["noise", "delay=1,2"]) == {"noise": None, "delay": "1,2"}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"require": "performance<=3"}, "performance>=400"),
        ({"require": "failed<=120%"}, "share from 0 to 1"),
        ({"disturb": ["nois"]}, "Did you mean 'noise'"),
        ({"disturb": {"noise": "a,b"}}, "such as 5..15"),
        ({"disturb": {"noise": []}}, "1 to 100 strengths"),
        ({"disturb": {"delay": [1.5]}}, "whole number"),
        ({"vary": {"unwrapped.gravity": None}}, "give some"),
        ({"vary": {"unwrapped.weight": [1]}}, "has no 'weight'"),
    ],
)
def test_mistakes_are_found_before_anything_is_played(wrong: dict[str, object], told: str) -> None:
    with pytest.raises((ParameterError, TaskError), match=told):
        ifthen.stress(upright(POLE), POLE, **wrong)  # type: ignore[arg-type]  # wrong on purpose
