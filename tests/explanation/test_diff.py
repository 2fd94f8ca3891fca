"""A diff names every state in which two policies differ, and what each carries of the difference."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import DecisionList, Feature, RuleSet, StrengthRules, TabularTask, evaluate
from ifthen.errors import RuleError, TaskError
from ifthen.explanation.diff import diff
from ifthen.explanation.policy_diff import SHOWN
from ifthen.simulate import scope
from ifthen.tasks.solve import value_iteration
from tests.rulesets import ACTIONS, FEATURES, all_states, rulesets
from tests.tables import table_named
from tests.worlds import chain, over_all_states, random_policies, random_task, small_lake


def two_policies(task: TabularTask, seed: int, null_share: float = 0.0) -> list[Any]:
    return [np.array(over_all_states(task, table)) for table in random_policies(task, 2, seed, null_share)]


@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.0, 0.5, 0.9, 0.99]))
def test_what_the_states_carry_adds_up_to_the_difference(seed: int, outcomes: int, gamma: float) -> None:
    task = random_task(seed, outcomes, gamma=gamma or 0.1)
    a, b = two_policies(task, seed)
    found = diff(a, b, task)
    first, second = (evaluate(policy, task, "exact").performance for policy in (a, b))
    assert found.performances == (first, second)
    assert found.difference == second - first
    carried = [state.carries for state in found.states if state.carries is not None]
    assert len(carried) == len(found.states)
    assert sum(carried) == pytest.approx(second - first, abs=1e-9)
    assert [abs(c) for c in carried] == sorted((abs(c) for c in carried), reverse=True)


@given(st.integers(0, 10**6))
def test_all_states_that_differ_are_there_with_their_optimal_values(seed: int) -> None:
    task = random_task(seed)
    a, b = two_policies(task, seed, null_share=0.2)
    found, best = diff(a, b, task, ("old", "new")), value_iteration(task)
    expected = {int(s) for s in task.decision_states if a[s] != b[s]}
    assert {state.state for state in found.states} == expected
    assert found.equal == (not expected)
    for state in found.states:
        assert state.state is not None
        for deed, policy in ((state.a, a), (state.b, b)):
            action = int(policy[state.state])
            assert deed.action == (None if action < 0 else task.action_names[action])
            assert deed.value == (None if action < 0 else best.action_values[state.state, action])
        if state.a.value is None or state.b.value is None:
            assert state.better == ""
        elif state.better:
            assert (state.better == "new") == (state.b.value > state.a.value)
    json.dumps(found.to_dict(), allow_nan=False)


@given(st.integers(0, 10**6))
def test_where_a_state_without_a_rule_can_be_met_no_part_of_the_difference_is_claimed(seed: int) -> None:
    task = random_task(seed)
    a, b = two_policies(task, seed, null_share=0.3)
    found = diff(a, b, task)
    if any(found.failed):
        assert all(state.carries is None for state in found.states)
    elif found.states and found.states[0].carries is not None:
        total = sum(state.carries or 0.0 for state in found.states)
        assert total == pytest.approx(found.difference, abs=1e-9)
    assert found.failed == tuple(evaluate(policy, task, "exact").failed for policy in (a, b))
    assert ("task's floor" in str(found)) == any(found.failed)


def test_what_a_state_carries_can_be_computed_by_hand() -> None:
    # Waiting in state 1 for ever earns nothing: V_a = 0, and going there once earns Q_a = 1/2.
    task = chain()
    found = diff(np.array([0, 1, 0]), np.array([0, 0, 0]), task)
    assert found.performances == pytest.approx((0.0, (2 / 9 + 2 / 3) / 2))
    (state,) = found.states
    assert (state.features, state.better) == ({"place": 1}, "b")
    assert state.visits == pytest.approx(8 / 9)  # d0 = 1/2 + d0/4 = 2/3; d = 1/2 + d0/4 + d/4 = 8/9
    assert state.carries == pytest.approx(8 / 9 / 2)


def test_without_discount_the_column_is_left_out_and_this_is_said() -> None:
    found = diff(np.array([0, 1, 0]), np.array([0, 0, 0]), chain(gamma=1.0))
    assert [state.carries for state in found.states] == [None]
    assert "with γ = 1" in str(found)
    assert "carries for" not in str(found)


def one_rule_per_state(task: TabularTask, actions: Any) -> DecisionList:
    boxes = np.repeat(task.dynamics.states[:, :, None], 2, axis=2)
    return DecisionList(boxes, actions, task.features, task.action_names)


def test_deciding_rules_and_rules_of_one_only_are_named() -> None:
    task = small_lake()
    best = value_iteration(task).policy[task.decision_states]
    worse = best.copy()
    worse[0] = (best[0] + 2) % 4
    a, b = one_rule_per_state(task, best), one_rule_per_state(task, worse)
    found = diff(a, b, task, ("old", "new"))
    (state,) = found.states
    assert (state.a.rule, state.b.rule) == (0, 0)
    assert (state.a.words, state.b.words) == (a.rule_in_words(0), b.rule_in_words(0))
    assert state.better == "old"
    assert found.only_a == (f"1. {a.rule_in_words(0)}",)
    assert found.only_b == (f"1. {b.rule_in_words(0)}",)
    text = str(found)
    assert "old and new differ in 1 of the 11 decision states of" in text
    assert "old is better by" in text
    assert "x = 0, y = 0" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    assert found.to_table().shape == (1, 13)
    assert found.to_table()["carries"].to_list() == pytest.approx([found.difference])


@given(
    st.integers(0, 10**6), st.integers(40, 120), st.sampled_from([("a", "b"), ("runs/a", "a/long/way/to/b")])
)
def test_no_line_is_wider_than_the_terminal(seed: int, width: int, names: tuple[str, str]) -> None:
    task = small_lake()
    a, b = (one_rule_per_state(task, table) for table in random_policies(task, 2, seed))
    text = diff(a, b, task, names).to_text(width)
    assert max(map(len, text.splitlines())) <= width
    assert str(diff(a, b, task, names)) == diff(a, b, task, names).to_text(100)


def test_states_of_many_features_fit_into_80_characters() -> None:
    task = table_named("Taxi-v4")
    whole = [[f.low, f.high] for f in task.features]
    a, b = (DecisionList([whole], [action], task.features, task.action_names) for action in (4, 5))
    text = diff(a, b, task, ("runs/the-first", "runs/the-second")).to_text(80)
    assert max(map(len, text.splitlines())) <= 80
    assert len(
        re.findall(r"^row = \d, column = \d, +Pickup \(rule 1\)  Dropoff \(rule 1\) ", text, re.M)
    ) == (
        2 * SHOWN  # Q* beside them, and below what each carries
    )


def test_the_columns_are_explained_and_what_is_carried_has_its_sign_in_words() -> None:
    task = chain()
    text = " ".join(str(diff(np.array([0, 1, 0]), np.array([0, 0, 0]), task)).split())
    assert "+0.44 gain" in text
    assert "if all went optimally afterwards" in text
    assert "how often b visits it" in text
    assert re.search(r"-0\.\d+ loss", str(diff(np.array([0, 0, 0]), np.array([0, 1, 0]), task)))


def test_rules_are_listed_only_where_some_are_shared() -> None:
    whole, left = [[-3, 4], [0, 6]], [[-3, 0], [0, 6]]
    one = DecisionList([left, whole], [0, 1], FEATURES, ACTIONS)
    near = DecisionList([left, whole], [0, 2], FEATURES, ACTIONS)
    far = DecisionList([whole], [2], FEATURES, ACTIONS)
    strong = StrengthRules([left, whole], [0, 1], FEATURES, ACTIONS, [[0, 0, 0]] * 2, [0, 0])
    assert re.search(r"Rules that only a has:\n#  rule\n─+\n2  OTHERWISE Down", str(diff(one, near)))
    assert str(diff(one, far)).endswith("\n\nThey share no rule.")
    assert diff(one, far).only_a == ("1. IF u ≤ 0 THEN Left", "2. OTHERWISE Down")
    assert "of different kinds, decision-list and strength" in str(diff(one, strong))
    assert "Rules that only" not in str(diff(one, strong)) + str(diff(one, far))


def test_equal_policies_have_no_difference() -> None:
    task = small_lake()
    a = one_rule_per_state(task, value_iteration(task).policy[task.decision_states])
    found = diff(a, a, task)
    assert found.equal
    assert (found.states, found.only_a, found.only_b, found.difference) == ((), (), (), 0.0)
    assert "do the same in the 11 decision states" in str(found)
    assert "no difference" in str(found)
    assert found.to_table().is_empty()


def test_a_rule_that_stands_twice_in_one_only_is_a_difference() -> None:
    whole = [[-3, 4], [0, 6]]
    once = DecisionList([whole], [0], FEATURES, ACTIONS)
    twice = DecisionList([whole, whole], [0, 0], FEATURES, ACTIONS)
    assert diff(once, twice).only_b == ("2. OTHERWISE Left",)
    assert diff(twice, once).only_b == ()


@given(rulesets(), rulesets())
def test_without_a_task_all_vectors_that_differ_are_listed(a: RuleSet, b: RuleSet) -> None:
    states = all_states()
    expected = states[a.predict(states) != b.predict(states)].tolist()
    found = diff(a, b)
    assert [list(state.features.values()) for state in found.states] == expected
    assert (found.equal, found.listed) == (not expected, True)
    for state in found.states:
        here = list(state.features.values())
        for deed, rules in ((state.a, a), (state.b, b)):
            assert deed.action == (None if rules.predict(here) < 0 else ACTIONS[rules.predict(here)])
            assert deed.rule is None or deed.words == rules.rule_in_words(deed.rule)
    assert len(found.to_table()) == len(expected)
    assert str(found).count("\nu = ") == min(SHOWN, len(expected))


REALS = (Feature("h", 0, 1, kind="real"), Feature("v", 0, 1, kind="real"))


def real_list(edge: float) -> DecisionList:
    bounds: Any = [[[0.0, edge], [0, 1]], [[0, 1], [0, 1]]]
    return DecisionList(bounds, [0, 1], REALS, ("Up", "Down"))


def test_lists_over_real_features_are_compared_exactly() -> None:
    near = diff(real_list(0.5), real_list(float(np.nextafter(0.5, 1))))
    assert near.equal is False
    (state,) = near.states
    assert (state.a.action, state.b.action) == ("Down", "Up")
    assert state.features["h"] == np.nextafter(0.5, 1)
    assert "For instance here:" in str(near)
    assert diff(real_list(0.5), real_list(0.5)).equal is True
    assert "do the same in the whole space" in str(diff(real_list(0.5), real_list(0.5)))


def test_a_comparison_that_gives_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from ifthen.explanation import diff as module
    from ifthen.rules.boxes.list_analysis import compare

    monkeypatch.setattr(module, "compare", lambda a, b: compare(a, b, budget=1))
    found = diff(real_list(0.5), real_list(0.6))
    assert found.equal is None
    assert "is not known: the search gave up after" in str(found)


def test_choosing_in_blocks_is_choosing_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    a = DecisionList([[[-3, 0], [0, 6]], [[-3, 4], [0, 6]]], [1, 2], FEATURES, ACTIONS)
    states = all_states().astype(np.float64)
    monkeypatch.setattr(scope, "BLOCK", 30)
    for found, expected in zip(scope.choose_at(a, states), a.choose(states), strict=True):
        assert (found == expected).all()


def test_what_cannot_be_compared_is_refused() -> None:
    strong = StrengthRules([[[0, 1], [0, 1]]], [0], REALS, ("Up", "Down"), [[0, 0, 0]], [0])
    with pytest.raises(RuleError, match="give the task"):
        diff(strong, strong)
    with pytest.raises(RuleError, match="same features and actions"):
        diff(strong, DecisionList([[[-3, 4], [0, 6]]], [0], FEATURES, ACTIONS))
    with pytest.raises(RuleError, match="must be a RuleSet"):
        diff(np.array([0]), strong)
    with pytest.raises(TaskError, match="the ruleset speaks of"):
        diff(strong, strong, small_lake())


def test_features_called_like_columns_keep_columns_of_their_own() -> None:
    features = (Feature("visits", 0, 1), Feature("better", 0, 1))
    a, b = (DecisionList([[[0, 1], [0, 1]]], [action], features, ("go", "stay")) for action in (0, 1))
    table = diff(a, b).to_table()
    assert table["feature_visits"].to_list() == [0, 0, 1, 1]
    assert table["feature_better"].to_list() == [0, 1, 0, 1]


def test_many_different_vectors_are_told_quickly_and_rightly() -> None:
    features = (Feature("u", 0, 199), Feature("v", 0, 199))
    a = DecisionList([[[0, 99], [0, 199]], [[0, 199], [0, 199]]], [0, 1], features, ("go", "stay"))
    b = DecisionList([[[0, 199], [0, 199]]], [1], features, ("go", "stay"))
    found = diff(a, b)
    assert len(found.states) == 100 * 200
    assert {(state.a.action, state.a.rule, state.b.action) for state in found.states} == {("go", 0, "stay")}
