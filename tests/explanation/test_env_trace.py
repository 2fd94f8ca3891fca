"""A trace in an environment is an episode as it is measured, with the rule behind every step."""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ifthen import evaluate
from ifthen.environments.make import env_task
from ifthen.errors import ParameterError, TaskError
from ifthen.explanation.trace import Stretch, trace
from ifthen.explanation.trace_text import SHOWN_FIRST, SHOWN_LAST
from ifthen.pages.visits import VisitPart
from tests.envs import Walk
from tests.explanation.env_policies import a_policy, a_task, holey, some_rules


def test_returns_of_all_episodes_add_up_to_the_measured_performance() -> None:
    for name in ("CartPole-v1", "MountainCar-v0"):
        ruleset, task = a_policy(name)
        found = [trace(ruleset, task, episode=e) for e in range(len(task.z))]
        measured = evaluate(ruleset, task, seeds="training")
        assert measured.returns is not None
        assert [each.total for each in found] == pytest.approx(measured.returns.tolist())
        assert sum(len(each.steps) for each in found) == measured.steps
        assert [each.seed for each in found] == task.z.tolist()


def test_steps_name_the_rule_that_decides_and_what_it_brought() -> None:
    ruleset, task = a_policy("Blackjack-v1")
    for seed in range(12):
        found = trace(ruleset, task, seed=seed)
        assert found.episode is None
        total = 0.0
        for number, step in enumerate(found.steps):
            point = [step.features[feature.name] for feature in task.features]
            (action,), (rule,) = ruleset.choose(np.array([point], dtype=float))
            total += step.reward
            assert (step.step, step.rule, step.action) == (number, rule, task.action_names[action])
            assert step.words == ruleset.rule_in_words(rule)
            assert step.return_so_far == pytest.approx(total)
            assert all(isinstance(value, int) for value in step.features.values())
        assert found.start == found.steps[0].features
        assert found.total == pytest.approx(total)


def test_how_it_ended_is_said_in_words() -> None:
    ruleset, task = a_policy("CartPole-v1")
    kept_up = trace(ruleset, task, episode=0)
    assert kept_up.ending == "truncated"
    assert kept_up.ending_in_words == "After 500 steps: truncated, t_max = 500 is reached; return 500."
    car, hill = a_policy("MountainCar-v0")
    arrived = trace(car, hill, episode=0)
    assert arrived.ending == "terminated"
    assert f"After {len(arrived.steps)} steps: the environment ended the episode" in arrived.ending_in_words
    rules, pole = holey()
    lost = next(found for e in range(4) if (found := trace(rules, pole, episode=e)).ending == "no rule")
    assert "no rule matches, nothing can be done" in lost.ending_in_words
    assert rules.predict(list(lost.last.values())) == -1
    cut = trace(ruleset, task, episode=0, max_steps=3)
    assert (cut.ending, len(cut.steps)) == ("stopped", 3)
    assert cut.steps == kept_up.steps[:3]
    assert cut.last == kept_up.steps[3].features
    assert trace(ruleset, task, max_steps=0).last == kept_up.start


def test_who_cut_an_episode_is_said_truly() -> None:
    class Tired(Walk):
        def step(self, action: Any) -> Any:
            seen, reward, _, _, infos = super().step(action)
            return seen, reward, False, self.time == 7, infos

    task = env_task(partial(Tired, endless=True), episodes=2, t_max=20)
    rules = some_rules("decision-list", task)
    found = trace(rules, task, episode=0)
    assert found.ending == "truncated"
    assert "After 7 steps: truncated by the environment; return" in found.ending_in_words
    shown = VisitPart(task).episodes(rules)[0]["ended"]
    assert shown == "The environment has cut the episode here."
    short = env_task(partial(Tired, endless=True), episodes=2, t_max=7)
    assert "truncated, t_max = 7 is reached" in trace(rules, short, episode=0).ending_in_words
    assert "the largest number of steps" in VisitPart(short).episodes(rules)[0]["ended"]


def test_discounting_is_that_of_the_task() -> None:
    task = env_task("MountainCar-v0", episodes=2, gamma=0.9)
    rules = some_rules("decision-list", task)
    found = trace(rules, task, episode=1)
    measured = evaluate(rules, task, seeds="training").returns
    assert measured is not None
    assert found.total == pytest.approx(measured[1])
    assert found.steps[1].return_so_far == pytest.approx(-1.9)


def test_stretches_join_neighbours_with_the_same_rule() -> None:
    assert str(Stretch(11, 46, 2)) == "steps 12–47: rule 3"
    assert str(Stretch(2, 2, 0)) == "step 3: rule 1"
    ruleset, task = a_policy("MountainCar-v0")
    found = trace(ruleset, task, episode=0)
    stretches = found.stretches
    assert [rule for s in stretches for rule in [s.rule] * (s.last - s.first + 1)] == [
        step.rule for step in found.steps
    ]
    assert sum(s.last - s.first + 1 for s in stretches) == len(found.steps)
    assert all(a.rule != b.rule and a.last + 1 == b.first for a, b in pairwise(stretches))


@pytest.mark.parametrize("width", [60, 80, 100, 200])
@pytest.mark.parametrize("name", ["CartPole-v1", "Blackjack-v1", "MountainCar-v0"])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    ruleset, task = a_policy(name)
    text = trace(ruleset, task, episode=0).to_text(width)
    assert max(map(len, text.splitlines())) <= width


def test_the_middle_of_a_long_episode_is_summed_up() -> None:
    ruleset, task = a_policy("CartPole-v1")
    found = trace(ruleset, task, episode=0)
    lines = str(found).splitlines()
    assert lines[0] == "Training episode 1 in CartPole-v1, reset seed 0:"
    shown = [int(line.split()[0]) for line in lines[2:] if line.split() and line.split()[0].isdigit()]
    steps = [*range(1, SHOWN_FIRST + 1), *range(501 - SHOWN_LAST, 501)]
    assert shown[: len(steps)] == steps
    assert f"… {500 - SHOWN_FIRST - SHOWN_LAST} more steps …" in lines
    counts = {r: sum(step.rule == r for step in found.steps) for r in range(len(ruleset))}
    for rule, count in counts.items():
        said = f"{count} steps ({100 * count / 500:.0f}%): rule {rule + 1}. {ruleset.rule_in_words(rule)}"
        assert any(said in line for line in lines) == (count > 0)
    assert "When: " in str(found)
    assert "steps 1–" in str(found) or "step 1: " in str(found)


def test_a_trace_is_plain_data_and_a_table() -> None:
    ruleset, task = a_policy("MountainCar-v0")
    found = trace(ruleset, task, episode=1)
    data: Any = json.loads(json.dumps(found.to_dict()))
    assert data["episode"] == 1
    assert len(data["steps"]) == len(found.steps)
    table = found.to_table()
    assert table.columns == [
        "step",
        "position",
        "velocity",
        "rule",
        "words",
        "action",
        "reward",
        "next_position",
        "next_velocity",
        "return_so_far",
    ]
    assert table["rule"].to_list() == [(step.rule or 0) + 1 for step in found.steps]
    assert table["velocity"].to_list() == [step.features["velocity"] for step in found.steps]


def test_what_cannot_be_played_is_refused() -> None:
    ruleset, task = a_policy("MountainCar-v0")
    with pytest.raises(ParameterError, match="start where a reset seed says"):
        trace(ruleset, task, start=[0.0, 0.0])
    with pytest.raises(ParameterError, match="episode must be"):
        trace(ruleset, task, episode=4)
    with pytest.raises(TaskError, match="speaks of position"):
        trace(ruleset, a_task("CartPole-v1"))
    with pytest.raises(TaskError, match="must be a RuleSet"):
        trace([0, 1], task)
