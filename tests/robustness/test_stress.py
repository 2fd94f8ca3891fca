from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import ifthen
from ifthen.environments.make import env_task
from ifthen.errors import ParameterError, TaskError
from ifthen.pages.answers import answers
from ifthen.pages.report_page import task_in_words
from ifthen.pages.stress_page import stress_to
from ifthen.robustness.requirement import Demands, ReturnScale, parse, required
from ifthen.robustness.strengths import assignments, numbers
from ifthen.robustness.stress import Stress
from ifthen.robustness.sweep import Level, Sweep
from ifthen.rules.decision_list import DecisionList
from ifthen.simulate import disturbed_table
from ifthen.simulate.evaluate import evaluations
from ifthen.tasks.disturbance import DISTURBANCES
from ifthen.tasks.gym_task import EnvTask
from ifthen.verification.verification import verify

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
    text = " ".join(str(found).split())
    assert "Required: a mean return of at least 450." in text
    assert "noise: holds at 0.01, broken at 0.3, first failed episodes at 0.3 (100%)." in " ".join(
        text.split()
    )
    assert "10 test seeds" in text
    assert "in 10 episodes, from the same test seeds 2,000,000 to 2,000,009." in text


def test_an_interval_around_the_required_return_leaves_the_requirement_undecided(found: Stress) -> None:
    def level(mean: float, ends: tuple[float, float] | None, few: bool = True) -> Level:
        return Level(0.1, mean, ends, 0.2, 1.0, 50.0, few and mean >= 50, None, few_failed=few)

    assert level(60, (40, 80)).verdict == level(40, (20, 60)).verdict == "undecided"
    assert level(60, (50, 70)).verdict == level(60, None).verdict == level(50, (50, 50)).verdict == "holds"
    assert level(40, (30, 50)).verdict == level(60, (40, 80), few=False).verdict == "broken"
    unsure = replace(found, sweeps=(Sweep("noise", (level(60, (40, 80)), level(40, (30, 45)))),))
    assert unsure.sweeps[0].breaks == (0.1,)
    assert unsure.sweeps[0].found == "undecided at 0.1, broken at 0.1, first failed episodes at 0.1 (20%)"
    assert not unsure.sweeps[0].withstood
    verdicts = [each["verdict"] for each in unsure.to_dict()["sweeps"][0]["levels"]]
    assert verdicts == ["undecided", "broken"]
    assert "undecided" in str(unsure)
    assert unsure.figure() is not None


def test_what_is_undecided_counts_by_its_mean(found: Stress) -> None:
    def with_mean(mean: float) -> Stress:
        own = Level(0.1, mean, (40, 80), 0.2, 1.0, 50.0, mean >= 50, None)
        return replace(found, sweeps=(Sweep("noise", (own,)),))

    assert with_mean(60).holds
    assert not with_mean(45).holds


def test_what_nobody_required_is_called_a_threshold(found: Stress) -> None:
    plain = ifthen.stress(upright(POLE), POLE, {"delay": [1]}, episodes=3)
    told = "(halfway between random actions and the undisturbed policy), as no return was required."
    assert told in " ".join(str(plain).split())
    assert "Required" not in str(plain)
    assert "Threshold" not in str(found)


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
    assert "without the noise 0.3 of training" in str(there)


def test_on_a_table_all_strengths_are_exact() -> None:
    task = ifthen.frozen_lake(4, 0.1)
    whole = [(feature.low, feature.high) for feature in task.features]
    ever = DecisionList([whole], [1], task.features, task.action_names)
    found = ifthen.stress(ever, task, require="failed<=50%", fail_below=0.01)
    assert [sweep.name for sweep in found.sweeps] == [*DISTURBANCES, "options.p_slip", "t_max"]
    assert "All numbers are exact" in str(found)
    assert found.sweeps[-2].nominal == 0.1
    assert found.undisturbed.failed is not None
    assert not found.holds
    assert "95 % interval" not in str(found)


def test_a_share_of_failed_episodes_that_is_not_known_is_not_met(monkeypatch: pytest.MonkeyPatch) -> None:
    task = ifthen.frozen_lake(4, 0.1)
    whole = [(feature.low, feature.high) for feature in task.features]
    ever = DecisionList([whole], [1], task.features, task.action_names)
    monkeypatch.setattr(disturbed_table, "MOST_RETURNS", 3)
    found = ifthen.stress(ever, task, {"delay": [1]}, require="performance>=0, failed<=100%")
    assert found.undisturbed.failed is None
    assert found.undisturbed.holds is False
    assert "could not be worked out" in " ".join(str(found).split())


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


class Shift(gymnasium.Env[Any, Any]):
    """A shift of `length` steps, cut or ended by the environment itself; work brings 1, rest 0."""

    metadata = {"render_modes": []}  # noqa: RUF012  # as Gymnasium has it
    observation_space = spaces.Box(-1, 1, (1,), np.float64)
    action_space = spaces.Discrete(2)

    def __init__(self, length: int = 20, ends: bool = False) -> None:
        self.length, self.ends, self.time = length, ends, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.time = 0
        return self.np_random.uniform(-1, 1, 1), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        over = self.time >= self.length
        return self.np_random.uniform(-1, 1, 1), float(action), over and self.ends, over and not self.ends, {}


def worker(task: EnvTask) -> DecisionList:
    """Return a rule that always works."""
    whole = [(feature.low, feature.high) for feature in task.features]
    return DecisionList([whole], [1], task.features, task.action_names)


@pytest.mark.parametrize(
    ("ends", "why"),
    [
        (False, "the environment itself ends episodes at step 20"),
        (True, "every episode ends before the usual limit, at step 20 at the latest"),
    ],
)
def test_a_longer_limit_that_no_episode_reaches_is_not_tried(ends: bool, why: str, tmp_path: Path) -> None:
    task = env_task(Shift(ends=ends), t_max=100)
    plan: dict[str, Any] = {"noise": [0.01], "t_max": [50, 200, 1000]}
    found = ifthen.stress(worker(task), task, plan, episodes=4)
    assert [level.holds for level in found.sweeps[1].levels] == [True, None, None]
    assert not found.sweeps[1].breaks
    text = str(found)
    assert f"Not tried: longer episodes 200, 1,000: {why}." in " ".join(text.split())
    assert [line.split()[-2:] for line in text.splitlines() if " 1,000 " in line] == [["not", "tried"]]
    only = ifthen.stress(worker(task), task, {"t_max": [200]}, episodes=4)
    assert "holds at" not in str(only)
    assert not only.sweeps[0].withstood
    page = stress_to(tmp_path, only, "One rule", worker(task)).read_text()
    assert why in page
    plain = json.loads((tmp_path / "stress.json").read_text())["sweeps"][0]["levels"][0]
    assert plain["untried"] == why
    assert "holds" not in plain
    breaks = answers("", worker(task), task, verify(worker(task), task), {}, only, None)[-1].said
    assert breaks[0] == f"Not tried: longer episodes 200: {why}."
    assert "several disturbances at once; other parameters of the environment" in breaks[1]


def test_the_longest_episode_is_told_where_it_is_shorter_than_the_limit() -> None:
    task = env_task(Shift(), t_max=100)
    found = evaluations(worker(task), task, episodes=4)
    assert "training episodes of at most 100 steps (the longest was 20), " in task_in_words(task, found)


def test_late_readings_and_late_actions_are_the_same_to_rules_without_memory() -> None:
    late = {"delay": [2], "action_delay": [2]}
    told = "delay and action_delay are the same to these rules"
    assert told in " ".join(str(ifthen.stress(upright(POLE), POLE, late, episodes=3)).split())
    assert told not in str(ifthen.stress(upright(POLE), POLE, {"delay": [2]}, episodes=3))
