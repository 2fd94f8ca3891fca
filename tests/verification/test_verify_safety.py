"""What verification says about bad endings and costly steps equals brute force on the task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from ifthen import DecisionList, TabularTask, frozen_lake
from ifthen.verification import verify
from ifthen.verification.case import Case
from ifthen.verification.graph import safe_states
from tests import naive_explain
from tests.tables import table_named
from tests.verification.verified import (
    TASKS,
    cases,
    check_path,
    close,
    costly_steps,
    of_kind,
    only,
    prepared,
    values,
)
from tests.worlds import chain

Harm = Callable[[float, bool], bool]


def only_failures(seed: int) -> TabularTask:
    """Return a task in which nothing pays but failing, which costs 1 and is the only ending."""
    failing = np.random.default_rng(seed).random((6, 3, 2)) < 0.4
    return costly_steps(seed, reward=np.where(failing, -1.0, 0.0), done=failing)


def many_costs(seed: int) -> TabularTask:
    """Return a task that never ends and in which many steps cost 5, all others 1."""
    reward = np.where(np.random.default_rng(seed).random((6, 3, 2)) < 0.35, -5.0, -1.0)
    return costly_steps(seed, reward=reward, done=np.zeros((6, 3, 2), dtype=np.bool_))


MORE = [
    *TASKS,
    many_costs(3),
    many_costs(5),
    only_failures(5),
    only_failures(6),
]


def harms_of(task: TabularTask) -> dict[str, Harm]:
    """Return what is bad in a task, by the kind of finding that tells it, by plain Python."""
    states = task.decision_states.tolist()
    goal, costly = naive_explain.best_ending(task, states), naive_explain.costly_reward(task, states)
    return {
        "bad-ending": lambda reward, done: done and reward != goal,
        "costly-step": lambda reward, done: reward == costly and not (done and reward != goal),
    }


def always(task: TabularTask, action: int) -> DecisionList:
    """Return a list that takes one action everywhere."""
    whole = [[[feature.low, feature.high] for feature in task.features]]
    return DecisionList(whole, [action], task.features, task.action_names)


@given(cases(MORE))
@settings(max_examples=120)
def test_what_bad_can_be_met_and_how_likely_equals_brute_force(case: Any) -> None:
    task, policy, decisions, starts, report = prepared(case)
    harms, actions = harms_of(task), range(task.n_actions)
    every = {outcome for a in actions for s in decisions for outcome in outcomes_in(task, s, a)}
    met = {s: naive_explain.outcomes_met(task, policy, s) for s in starts}
    unsafe = {kind: [s for s in starts if any(harm(*o) for o in met[s])] for kind, harm in harms.items()}
    possible = any(harm(*outcome) for harm in harms.values() for outcome in every)
    assert report.properties["safe"] is (not any(unsafe.values()) if possible else None)
    for kind, harm in harms.items():
        assert len(of_kind(report, kind)) == bool(unsafe[kind])
        for finding in of_kind(report, kind):
            data, chance = finding.data, naive_explain.outcome_chance(task, policy, harm)
            assert data["initial_states"] == unsafe[kind]
            every_met = {s: naive_explain.outcomes_met(task, policy, s) for s in decisions}
            assert data["states"] == [s for s in decisions if any(harm(*o) for o in every_met[s])]
            assert close(data["worst"], max(chance[s] for s in starts))
            assert close(chance[data["worst_initial_state"]], data["worst"])
            assert close(data["mean"], sum(chance[s] for s in starts) / len(starts))
            check_way(task, policy, starts, harm, data)


def outcomes_in(task: TabularTask, state: int, action: int) -> list[tuple[float, bool]]:
    """Return reward and done of all outcomes of an action."""
    rewards, done = task.reward[state, action].tolist(), task.done[state, action].tolist()
    return list(zip(rewards, done, strict=True))


def check_way(task: TabularTask, policy: list[int], starts: list[int], harm: Harm, data: Any) -> None:
    """Check that a shortest way leads to a harm, and enters the state that is told, by a slip or not."""
    ends = {
        s
        for s in task.decision_states.tolist()
        if policy[s] >= 0 and any(harm(*outcome) for outcome in outcomes_in(task, s, policy[s]))
    }
    path = check_path(task, policy, data["path"])
    assert path[0] & set(starts)
    assert path[-1] & ends
    assert len(path) - 1 == naive_explain.steps_to(task, policy, starts, ends)
    told = set()
    for s in path[-1] & ends:
        likeliest = naive_explain.likeliest_steps(task, s, policy[s])
        for (reward, done), after in zip(
            outcomes_in(task, s, policy[s]), task.next_state[s, policy[s]].tolist(), strict=True
        ):
            if harm(reward, done):
                vector = tuple(task.state_features[after].tolist())
                told.add((vector, (after, reward, done) not in likeliest))
    assert (values(data["entered"]), data["slip"]) in told


@pytest.mark.parametrize("task", MORE, ids=lambda task: task.name)
def test_what_is_costly_is_the_lowest_reward_if_negative_and_below_that_of_most_steps(
    task: TabularTask,
) -> None:
    assert Case(always(task, 0), task).model.costly == naive_explain.costly_reward(
        task, task.decision_states.tolist()
    )


def test_some_of_the_tasks_tried_hold_costly_steps_and_some_do_not() -> None:
    costly = [naive_explain.costly_reward(task, task.decision_states.tolist()) for task in MORE]
    assert {-5.0, -1.0, None} == set(costly)
    safe = {verify(always(task, a), task).properties["safe"] for task in MORE for a in range(task.n_actions)}
    assert safe == {True, False, None}
    for task in MORE[-4:]:
        goal = naive_explain.best_ending(task, task.decision_states.tolist())
        harmless = safe_states(task, goal, -5.0 if goal is None else -1.0, is_certain=False)
        assert harmless.any()
        assert not harmless.all()


@pytest.mark.parametrize(
    "task", [*(costly_steps(seed) for seed in range(5)), *MORE[-4:]], ids=lambda t: t.name
)
def test_where_another_policy_is_safe_equals_a_trial_of_all_policies(task: TabularTask) -> None:
    states, harms = task.decision_states.tolist(), harms_of(task)
    goal, costly = naive_explain.best_ending(task, states), naive_explain.costly_reward(task, states)
    bad: Harm = lambda *outcome: any(harm(*outcome) for harm in harms.values())  # noqa: E731
    sure = set(task.decision_states[safe_states(task, goal, costly, is_certain=True)].tolist())
    assert sure == (set() if goal is None else naive_explain.sure_of_goal(task, states, goal, bad))
    harmless = set(task.decision_states[safe_states(task, goal, costly, is_certain=False)].tolist())
    assert harmless == naive_explain.never_harmed(task, states, bad)
    avoidable = harmless if goal is None or goal == costly else sure
    for action in range(task.n_actions):
        for finding in verify(always(task, action), task).findings:
            if finding.kind in harms:
                assert set(finding.data["avoidable_from"]) == avoidable & set(finding.data["initial_states"])
                assert finding.severity == ("problem" if finding.data["avoidable_from"] else "note")


def test_walking_off_the_cliff_at_every_step_is_not_safe_and_the_report_says_what_is_meant() -> None:
    task = table_named("CliffWalking-v1")
    report = verify(always(task, task.action_names.index("Right")), task, "safe")
    assert not report
    assert "a costly step (reward -100, the lowest of the task, where most steps have -1)" in str(report)
    finding = only(report, "costly-step")
    assert finding.severity == "problem"
    assert "A shortest path: (x = 0, y = 3) Right, staying there." in finding.text
    assert verify(always(task, task.action_names.index("Up")), task, "safe")


def test_calling_for_a_passenger_who_is_elsewhere_is_not_safe() -> None:
    task = table_named("Taxi-v4")
    report = verify(always(task, task.action_names.index("Pickup")), task)
    assert report.properties["safe"] is False
    assert "reward -10, the lowest of the task, where most steps have -1" in report.reasons["safe"]


def test_a_task_in_which_nothing_bad_can_happen_gets_no_tick_for_safety() -> None:
    report = verify(always(chain(), 0), chain(), "safe")
    assert report.properties["safe"] is None
    assert "? safe" in str(report)
    assert not report.passed


def test_what_a_bad_ending_is_and_that_it_is_met_by_a_slip_is_said() -> None:
    task = frozen_lake(4, 0.3)
    text = only(verify(always(task, task.action_names.index("Right")), task), "bad-ending").text
    assert "(x = 1, y = 0) Right, slipping to (x = 1, y = 1)" in text
    even = table_named("FrozenLake-v1")  # all three directions are as likely
    text = only(verify(always(even, even.action_names.index("Right")), even), "bad-ending").text
    assert "Right, by chance to (x = 1, y = 1)" in text
    sure = frozen_lake(4, 0.0)
    text = only(verify(always(sure, sure.action_names.index("Right")), sure), "bad-ending").text
    assert "(x = 0, y = 1) Right to (x = 1, y = 1)" in text
