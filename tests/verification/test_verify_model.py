"""What verification says about where a policy leads, and what it costs, equals brute force on the task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import DecisionList, Feature, TabularTask, evaluate, frozen_lake
from ifthen.verification import graph as graph_module
from ifthen.verification import verify
from ifthen.verification.findings import Result
from ifthen.verification.graph import ending_chances, safe_states
from ifthen.verification.properties import judge, parse
from tests import naive, naive_explain
from tests.verification.verified import (
    TASKS,
    cases,
    check_path,
    close,
    of_kind,
    only,
    prepared,
    two_endings,
    values,
)
from tests.worlds import chain, random_task


@given(cases())
@settings(max_examples=80)
def test_visited_states_and_those_that_cannot_reach_the_goal_equal_a_search(case: Any) -> None:
    task, policy, decisions, starts, report = prepared(case)
    visited = naive_explain.reachable(task, policy, starts)
    never = decisions - visited
    assert [set(f.data["never"]) for f in of_kind(report, "unvisited")] == ([never] if never else [])
    goal = naive_explain.best_ending(task, decisions)
    stuck = {s for s in decisions if goal not in naive_explain.endings_met(task, policy, s)}
    assert report.properties["goal-reachable"] is (not stuck & set(starts))
    assert len(of_kind(report, "goal-unreachable")) == bool(stuck)
    for finding in of_kind(report, "goal-unreachable"):
        assert set(finding.data["states"]) == stuck
        assert set(finding.data["visited"]) == stuck & visited
        assert set(finding.data["initial_states"]) == stuck & set(starts)
        assert finding.severity == ("problem" if stuck & visited else "note")
        possible = check_path(task, policy, finding.data["path"])
        assert possible[-1] & stuck
        if stuck & visited:
            assert possible[0] & set(starts)
            assert len(possible) - 1 == naive_explain.steps_to(task, policy, starts, stuck)


@given(cases())
@settings(max_examples=80)
def test_chances_of_the_goal_equal_repeated_substitution(case: Any) -> None:
    task, policy, decisions, starts, report = prepared(case)
    goal = naive_explain.best_ending(task, decisions)
    chance = naive_explain.ending_chance(task, policy, lambda reward: reward == goal)
    data = only(report, "goal-probability").data
    assert data["initial_states"] == starts
    assert all(close(a, chance[s]) for a, s in zip(data["probabilities"], starts, strict=True))
    assert close(data["worst"], min(chance[s] for s in starts))
    worst = {tuple(task.state_features[s].tolist()) for s in starts if close(chance[s], data["worst"])}
    assert values(only(report, "goal-probability").witness or {}) in worst
    assert close(float(report.properties["goal-probability"] or 0), data["worst"])
    certain = all(
        naive_explain.endings_met(task, policy, s) == {goal}
        for s in naive_explain.reachable(task, policy, starts)
    )
    assert report.properties["goal-certain"] is certain
    assert certain is (data["worst"] == 1)


@given(cases())
@settings(max_examples=80)
def test_sets_of_states_that_are_never_left_equal_brute_force_and_their_cycles_can_be_walked(
    case: Any,
) -> None:
    task, policy, decisions, starts, report = prepared(case)
    endless = naive_explain.endless_sets(task, policy, decisions)
    visited = naive_explain.reachable(task, policy, starts)
    assert len(of_kind(report, "loop")) == bool(endless)
    for finding in of_kind(report, "loop"):
        assert {frozenset(loop["states"]) for loop in finding.data["loops"]} == endless
        assert finding.data["count"] == len(endless)
        assert finding.data["visited"] == sum(bool(states & visited) for states in endless)
        for loop in finding.data["loops"]:
            assert loop["visited"] is (set(loop["states"]) <= visited)
            cycle = check_path(task, policy, loop["cycle"])
            assert len(cycle) > 1
            assert cycle[0] & cycle[-1] & set(loop["states"])
            path = check_path(task, policy, loop["path"])
            if loop["visited"]:
                assert path[0] & set(starts)
                steps = naive_explain.steps_to(task, policy, starts, set(loop["states"]))
                assert len(path) - 1 == steps


@given(cases())
@settings(max_examples=60)
def test_costs_of_actions_that_are_not_optimal_equal_plain_value_iteration(case: Any) -> None:
    task, policy, decisions, _, report = prepared(case)
    best, q = naive.value_iteration(task)
    lost = {s: best[s] - q[s][policy[s]] for s in decisions if policy[s] >= 0}
    worse = {s for s, cost in lost.items() if cost > 1e-9}
    assert report.properties["optimal"] is (not worse and all(policy[s] >= 0 for s in decisions))
    assert len(of_kind(report, "not-optimal")) == bool(worse)
    own = naive.policy_values(task, policy)
    for finding in of_kind(report, "not-optimal"):
        listed = finding.data["states"]
        assert {item["state"] for item in listed} == worse
        costs = [item["cost"] for item in listed]
        assert costs == sorted(costs, reverse=True)
        for item in listed:
            s = item["state"]
            assert close(item["cost"], lost[s])
            assert item["action"] == task.action_names[policy[s]]
            assert values(item["vector"]) == tuple(task.state_features[s].tolist())
            assert (item["behind_optimum"] is None) is bool(np.isnan(own[s]))
            assert item["behind_optimum"] is None or close(item["behind_optimum"], best[s] - own[s])
            top = {task.action_names[a] for a, value in enumerate(q[s]) if value >= best[s] - 1e-9}
            assert set(item["optimal_actions"]) == top


@given(cases())
@settings(max_examples=40)
def test_the_exact_performance_is_that_of_evaluate(case: Any) -> None:
    ruleset, task = case
    report, found = verify(ruleset, task), evaluate(ruleset, task, "exact")
    assert report.properties["performance"] == found.performance
    assert report.properties["fraction"] == found.fraction
    data = only(report, "performance").data
    assert found.optimum is not None
    assert data["short_of_optimum"] == found.optimum - found.performance
    assert data["failed"] is found.failed


@pytest.mark.parametrize("task", [chain(), *(two_endings(seed) for seed in range(12))], ids=lambda t: t.name)
def test_states_from_which_some_policy_is_sure_of_the_goal_equal_a_trial_of_all_policies(
    task: TabularTask,
) -> None:
    states = task.decision_states.tolist()
    goal = naive_explain.best_ending(task, states)
    assert goal is not None
    found = set(task.decision_states[safe_states(task, goal, None, is_certain=True)].tolist())
    assert found == naive_explain.sure_of_goal(task, states, goal)


def test_some_of_the_tasks_tried_have_states_that_are_sure_and_states_that_are_not() -> None:
    found = [safe_states(two_endings(seed), 1.0, None, is_certain=True) for seed in range(12)]
    assert any(sure.any() and not sure.all() for sure in found)
    assert sum(len(np.unique(task.reward[task.done])) > 1 for task in TASKS) > 3


def test_a_task_that_never_ends_has_no_goal_and_that_is_said() -> None:
    task = random_task(1, done=np.zeros((6, 3, 3), dtype=np.bool_))
    ruleset = DecisionList([[[-1, 1], [5, 9]]], [0], task.features, task.action_names)
    report = verify(ruleset, task, "goal-reachable,safe")
    assert report.properties["goal-reachable"] is None
    assert report.properties["goal-certain"] is None
    assert [requirement.passed for requirement in report.requirements] == [False, False]
    assert "not decided: nothing to check, as the task has neither" in report.requirements[1].why
    assert "not decided: no transition of the task ends an episode" in report.requirements[0].why


def test_a_policy_that_walks_into_a_wall_is_told_with_the_way_there() -> None:
    task = frozen_lake(4, 0.0, enumerations=1)
    ruleset = DecisionList([[[0, 3], [0, 3]]], [0], task.features, task.action_names)
    report = verify(ruleset, task)
    assert report.properties["safe"] is False
    assert report.properties["goal-reachable"] is False
    loop = only(report, "loop").data["loops"][0]
    assert [step["action"] for step in loop["cycle"]] == ["Left", "Left"]
    text = only(report, "goal-probability").text
    assert "From 11 initial states this policy is not certain to reach it; from all of these another" in text


def test_rewards_that_are_all_negative_leave_a_goal_the_least_bad_ending() -> None:
    features = (Feature("place", 0, 1),)
    task = TabularTask(
        name="steps",
        features=features,
        action_names=("Jump", "Go"),
        state_features=np.array([[0], [1]], dtype=np.int32),
        next_state=np.ones((2, 2, 1), dtype=np.int32),
        reward=np.array([[[-9.0], [-1.0]], [[-9.0], [-1.0]]]),
        done=np.array([[[True], [False]], [[True], [True]]]),
        probability=np.array([1.0]),
        initial_states=np.array([0], dtype=np.int32),
        enumerations=1,
        gamma=0.9,
        t_max=10,
    )
    go = verify(DecisionList([[[0, 1]]], [1], features, task.action_names), task)
    jump = verify(DecisionList([[[0, 1]]], [0], features, task.action_names), task)
    assert go.properties["goal-certain"] is True
    assert go.properties["optimal"] is True
    assert jump.properties["safe"] is False
    assert jump.properties["goal-probability"] == 0
    assert "(place = 0) Jump to (place = 1)" in only(jump, "bad-ending").text
    assert go.properties["fraction"] is None
    half = verify(DecisionList([[[0, 0]]], [1], features, task.action_names), task)
    assert half.properties["optimal"] is False
    assert "and 1 has none" in half.reasons["optimal"]


@given(st.integers(0, 10**6), st.integers(1, 7))
def test_ending_chances_solve_the_linear_system(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(n + 2), n)
    steps, wanted, other = chances[:, :n], chances[:, n], chances[:, n + 1]
    expected = np.linalg.solve(np.eye(n) - steps, wanted)
    np.testing.assert_allclose(ending_chances(steps, wanted, other), expected, rtol=1e-9)


def rarely_ending(chance: float) -> TabularTask:
    """Return two states that lead to each other and end, with reward 1 or 0, each with this small chance."""
    probability = np.array([1 - 2 * chance, chance, chance])
    next_state = np.array([[[1, 0, 0]], [[0, 1, 1]]], dtype=np.int32)
    done = np.array([[[False, True, True]]] * 2)
    reward = np.array([[[0.0, 1.0, 0.0]]] * 2)
    return TabularTask(
        name="rare",
        features=(Feature("place", 0, 1),),
        action_names=("Go",),
        state_features=np.array([[0], [1]], dtype=np.int32),
        next_state=next_state,
        reward=reward,
        done=done,
        probability=probability,
        initial_states=np.array([0, 1], dtype=np.int32),
        enumerations=1,
        gamma=0.9,
        t_max=10,
    )


@pytest.mark.parametrize("chance", [0.25, 1e-9, 1e-17, 1e-200])
@pytest.mark.parametrize("most", [0, 100])
def test_endings_that_hardly_ever_come_have_exact_probabilities(
    chance: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_module, "MOST_ELIMINATED", most)
    task = rarely_ending(chance)
    rules = DecisionList([[[0, 1]]], [0], task.features, task.action_names)
    found = verify(rules, task, "goal-probability>=0.49,goal-probability<=0.51")
    assert found.properties["goal-probability"] == pytest.approx(0.5, rel=1e-6)
    assert found.passed


def test_what_is_no_number_meets_no_requirement() -> None:
    demands = parse("goal-probability<=0.1,goal-probability>=0.1")
    for demand in demands:
        assert not judge(demand, {"goal-probability": Result(float("nan"), "")}).passed


@pytest.mark.parametrize(("action", "optimal"), [(0, True), (1, False)])
def test_without_a_discount_a_policy_is_optimal_where_it_is_worth_the_optimum(
    action: int, optimal: bool
) -> None:
    task = chain(gamma=1.0, t_max=1000)
    rules = DecisionList([[[0, 2]]], [action], task.features, task.action_names)
    found = verify(rules, task, "optimal")
    assert found.properties["optimal"] is optimal
    assert found.passed is optimal
    assert len([f for f in found.findings if f.kind == "not-optimal"]) == (0 if optimal else 1)


def test_states_that_look_the_same_are_said() -> None:
    task = chain(state_features=np.zeros((3, 1), dtype=np.int32))
    rules = DecisionList([[[0, 2]]], [0], task.features, task.action_names)
    (finding,) = [f for f in verify(rules, task).findings if f.kind == "alike"]
    assert finding.data["states"] == [0, 1]
    assert not [f for f in verify(rules, chain()).findings if f.kind == "alike"]
