"""A trace is an episode as the rollouts play it, with the rule behind every step."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import PPLDL, DecisionList, Feature, TabularTask, evaluate, frozen_lake
from ifthen.errors import ParameterError, TaskError
from ifthen.explanation.trace import Trace, trace
from ifthen.explanation.trace_text import SHOWN_FIRST, SHOWN_LAST
from ifthen.simulate.table_noise import plan
from ifthen.simulate.table_play import play
from ifthen.tasks.solve import value_iteration
from tests.tables import table_named
from tests.worlds import chain, over_all_states, random_policies, random_task, small_lake

TAXI = table_named("Taxi-v4")


def one_rule_per_state(task: TabularTask, actions: Any) -> DecisionList:
    boxes = np.repeat(task.dynamics.states[:, :, None], 2, axis=2)
    return DecisionList(boxes, actions, task.features, task.action_names)


def episodes(policy: Any, task: TabularTask) -> list[Trace]:
    return [trace(policy, task, episode=e) for e in range(len(task.z))]


@given(st.integers(0, 10**6), st.integers(1, 4))
@settings(max_examples=30)
def test_returns_of_all_episodes_add_up_to_the_measured_performance(seed: int, outcomes: int) -> None:
    task = random_task(seed, outcomes)
    table = random_policies(task, 1, seed)[0]
    policy = np.array(over_all_states(task, table))
    played, measured = episodes(policy, task), evaluate(policy, task)
    if plan(task).block == 1:  # the same sums in the same order
        assert sum(each.total for each in played) / len(played) == measured.performance
    assert sum(each.total for each in played) / len(played) == pytest.approx(measured.performance, rel=1e-12)
    assert sum(len(each.steps) for each in played) == measured.steps
    truncated = np.mean([each.ending == "truncated" for each in played])
    assert truncated == measured.truncated_share


def test_episodes_of_a_lake_are_those_that_were_measured() -> None:
    task = small_lake()
    policy = value_iteration(task).policy
    ruleset = one_rule_per_state(task, policy[task.decision_states])
    played, measured = episodes(ruleset, task), evaluate(ruleset, task)
    assert sum(each.total for each in played) / len(played) == pytest.approx(measured.performance, rel=1e-12)
    assert {each.ending for each in played} >= {"goal", "hole"}
    for each in played:
        assert (each.ending == "goal") == (each.total > 0)


def test_steps_follow_each_other_and_name_the_rule_that_decides() -> None:
    task = small_lake(noise_seed=5)
    ruleset = one_rule_per_state(task, value_iteration(task).policy[task.decision_states])
    for episode in range(len(task.z)):
        found = trace(ruleset, task, episode=episode)
        assert found.steps[0].state == task.z[episode]
        for step, after in zip(found.steps, [*found.steps[1:], None], strict=True):
            assert after is None or after.state == step.next_state
            assert step.rule is not None
            assert step.words == ruleset.rule_in_words(step.rule)
            assert step.action == task.action_names[ruleset.predict(list(step.features.values()))]
            assert step.features == dict(zip("xy", task.state_features[step.state].tolist(), strict=True))


def test_one_slips_only_away_from_the_cell_that_was_meant() -> None:
    task = frozen_lake(desc=["SFF", "FFF", "FFG"], p_slip=0.5)
    ruleset = DecisionList([[[0, 2], [0, 2]]], [2], task.features, task.action_names)  # Right
    seen = set()
    for seed in range(60):
        step = trace(ruleset, task, start={"x": 0, "y": 1}, seed=seed, max_steps=1).steps[0]
        assert step.expected_next == 4
        assert step.slipped == (step.next_state != 4)
        seen.add(step.next_state)
    assert seen == {0, 4, 6}


def test_nothing_is_called_slipping_where_no_outcome_is_the_likeliest() -> None:
    task = frozen_lake(desc=["SFF", "FFF", "FFG"], p_slip=2 / 3)
    ruleset = DecisionList([[[0, 2], [0, 2]]], [2], task.features, task.action_names)
    steps = [trace(ruleset, task, start=3, seed=seed, max_steps=1).steps[0] for seed in range(20)]
    assert {step.next_state for step in steps} == {0, 4, 6}
    assert not any(step.slipped for step in steps)
    assert all(step.expected_next is None for step in steps)


def test_reaching_the_cell_that_was_meant_is_no_slip_even_where_staying_is_likelier() -> None:
    task = frozen_lake(desc=["SFFG"], p_slip=0.6)
    ruleset = DecisionList([[[0, 3], [0, 0]]], [2], task.features, task.action_names)
    steps = [trace(ruleset, task, start=0, seed=seed, max_steps=1).steps[0] for seed in range(20)]
    assert {(step.next_state, step.expected_next) for step in steps} == {(0, 0), (1, 0)}
    assert not any(step.slipped for step in steps)


@pytest.mark.parametrize(
    ("desc", "rule", "ending", "words"),
    [
        (["SG"], 2, "goal", "After 1 step: reached the goal; return 1."),
        (["SFG", "HHH"], 1, "hole", "After 1 step: fell into a hole; return 0."),
        (["SFG"], 0, "truncated", "After 7 steps: truncated, t_max = 7 is reached; return 0."),
    ],
)
def test_the_ending_is_named(desc: list[str], rule: int, ending: str, words: str) -> None:
    task = frozen_lake(desc=desc, t_max=7)
    ruleset = DecisionList(
        [[[f.low, f.high] for f in task.features]], [rule], task.features, task.action_names
    )
    found = trace(ruleset, task, start=0)
    assert (found.ending, found.ending_in_words) == (ending, words)


def test_a_state_without_a_rule_ends_the_trace() -> None:
    task = frozen_lake(desc=["SFFG"])
    ruleset = DecisionList([[[0, 0], [0, 0]]], [2], task.features, task.action_names)
    found = trace(ruleset, task, start=0)
    assert (found.ending, len(found.steps), found.total) == ("no rule", 1, 0.0)
    nothing = trace(ruleset, task, start=1)
    assert str(nothing).splitlines() == [
        f"An episode in {task.name}, from x = 1, y = 0:",
        "After 0 steps: no rule matches, nothing can be done; return 0. Last observation: x = 1, y = 0.",
    ]
    assert trace(ruleset, task, start=0, max_steps=0).ending == "stopped"


def test_other_tasks_end_with_their_reward() -> None:
    found = trace(np.array([0, 0, 0]), chain(), start=0, seed=1)
    assert found.ending == "ended"
    assert "ended with reward 1" in found.ending_in_words
    assert all(step.rule is None and step.words == "" for step in found.steps)


def test_the_same_seed_gives_the_same_episode_and_others_differ() -> None:
    task = small_lake(0.5)
    policy = value_iteration(task).policy
    assert trace(policy, task, seed=3) == trace(policy, task, seed=3)
    assert len({trace(policy, task, seed=seed).to_text() for seed in range(10)}) > 5
    assert len({tuple(trace(policy, task, seed=seed).start.values()) for seed in range(30)}) > 5


def test_texts_tables_and_data_hold_every_step() -> None:
    task = small_lake()
    ruleset = one_rule_per_state(task, np.full(len(task.decision_states), 3))  # Up, for a long time
    found = next(t for t in episodes(ruleset, task) if len(t.steps) == 30)
    table = found.to_table()
    assert table["step"].to_list() == list(range(1, 31))
    assert table["rule"].to_list() == [(s.rule or 0) + 1 for s in found.steps]
    assert table["return_so_far"][-1] == found.total
    assert json.loads(json.dumps(found.to_dict()))["steps"][29]["step"] == 29
    lines = str(found).partition("After")[0].splitlines()[2:]
    shown = [re.match(r" *(\d+)(?:–(\d+))?  ", line) for line in lines]
    spans = [range(int(m[1]), int(m[2] or m[1]) + 1) for m in shown if m]
    assert [step for span in spans for step in span] == list(range(1, 31))


def test_the_middle_of_a_long_episode_is_left_out_of_the_text() -> None:
    task = frozen_lake(desc=["SFG"], t_max=100)
    found = trace(np.array([2, 0, 0]), task, start=0)  # to and fro
    lines = str(found).splitlines()
    assert lines[2 + SHOWN_FIRST] == f"… {100 - SHOWN_FIRST - SHOWN_LAST} more steps …"
    assert len(lines) == 3 + SHOWN_FIRST + 1 + SHOWN_LAST


def test_steps_that_repeat_the_one_before_are_one_line() -> None:
    task = frozen_lake(desc=["SFFG"], t_max=100)
    found = trace(np.array([2, 2, 1, 0]), task, start=0)  # twice Right, and then against the wall
    assert [line.split() for line in str(found).splitlines()[4:6]] == [
        ["3", "2", "0", "Down", "0", "0"],
        ["4–100", "the", "same,", "97", "times;", "return", "0"],
    ]
    assert len(str(found).splitlines()) == 7
    assert len(found.steps) == 100


@given(st.integers(0, 20), st.integers(40, 120))
@settings(max_examples=25, deadline=None)
def test_no_line_is_wider_than_the_terminal(episode: int, width: int) -> None:
    task = TAXI
    boxes = [[[0, 1], [1, 3], [0, 3], [1, 2]], [[4, 4], [0, 4], [0, 4], [0, 3]], [[0, 4]] * 3 + [[0, 3]]]
    rules = DecisionList(boxes, [0, 1, 0], task.features, task.action_names)  # down, then up and down
    found = trace(rules, task, episode=episode)
    text = found.to_text(width)
    assert max(map(len, text.splitlines())) <= width
    assert "OTHERWISE South" in " ".join(text.split())
    assert str(found) == found.to_text(100)


def test_a_policy_that_plays_longer_in_memory_plays_the_same() -> None:
    # More episodes than entries: several steps are then played at a time.
    task = frozen_lake(desc=["SF", "FG"], p_slip=0.3, enumerations=100)
    assert plan(task).block > 1
    table = value_iteration(task).policy
    total = float(play(task, table[task.decision_states].astype(np.int16)[None]).performance[0])
    assert np.mean([each.total for each in episodes(table, task)]) == pytest.approx(total, rel=1e-12)


def test_what_cannot_be_traced_is_refused() -> None:
    task = small_lake()
    policy = value_iteration(task).policy
    for options, error, message in (
        ({"episode": 0, "start": 0}, ParameterError, "either start or episode"),
        ({"episode": len(task.z)}, ParameterError, "episode"),
        ({"max_steps": 31}, ParameterError, "max_steps"),
        ({"start": 15}, TaskError, "no decision state has 15"),
        ({"start": [0, 9]}, TaskError, "no decision state"),
        ({"start": [0]}, TaskError, "no decision state"),
        ({"start": {"x": 0}}, TaskError, "must give the features x, y"),
    ):
        with pytest.raises(error, match=message):
            trace(policy, task, **options)
    with pytest.raises(TaskError, match="lake"):
        trace(policy, "lake")


def test_the_task_of_a_trained_system_need_not_be_given() -> None:
    task = small_lake()
    system = PPLDL(task, pop_size=4).learn(epochs=1)
    assert trace(system, episode=2) == trace(system.ruleset, task, episode=2)
    with pytest.raises(TaskError, match="give the task"):
        trace(system.ruleset, episode=2)


def test_features_called_like_columns_keep_columns_of_their_own() -> None:
    task = chain(features=(Feature("reward", 0, 2),))
    rules = DecisionList([[[0, 2]]], [0], task.features, task.action_names)
    table = trace(rules, task, episode=0).to_table()
    assert table["feature_reward"][0] == int(task.state_features[task.z[0], 0])
    assert table["reward"].to_list() == [step.reward for step in trace(rules, task, episode=0).steps]
