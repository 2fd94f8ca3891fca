"""A report says what was found in clear words, as short or wide as asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import DecisionList, Feature, PredictionArrayRules, frozen_lake
from ifthen.verification import PROPERTIES, verify
from ifthen.verification.findings import all_of
from tests import naive_explain
from tests.verification.verified import HOLDS, cases, check_path, of_kind, only, prepared
from tests.worlds import chain, small_lake

LAKE = small_lake(0.0)
ANY = DecisionList([[[0, 3], [0, 3]]], [2], LAKE.features, LAKE.action_names)
LINE = (Feature("x", 0, 9),)
ALONE = chain(
    next_state=np.array([[[2, 0], [0, 0]], [[2, 1], [1, 1]], [[2, 2], [2, 2]]], dtype=np.int32),
    done=np.array([[[1, 0], [0, 0]], [[1, 0], [0, 0]], [[1, 1], [1, 1]]], dtype=np.bool_),
    initial_states=np.array([0], dtype=np.int32),
)


@given(cases(), st.integers(60, 140))
@settings(max_examples=40)
def test_no_line_is_wider_than_asked_for(case: Any, width: int) -> None:
    ruleset, task = case
    report = verify(ruleset, task, "complete,safe,optimal,goal-probability>=0.5")
    assert all(len(line) <= width for line in report.to_text(width).splitlines())
    assert report.to_text(width).split() == str(report).split()
    assert str(report) == report.to_text(100)


def test_a_narrow_terminal_is_filled_and_an_absurd_width_does_no_harm() -> None:
    report = verify(ANY, LAKE)
    assert max(map(len, report.to_text(60).splitlines())) > 50
    assert report.to_text(0) == report.to_text(40)


@pytest.mark.parametrize(
    ("required", "met"), [("", True), ("complete", True), ("complete,rules<=0", False), ("optimal", False)]
)
def test_a_report_is_true_when_and_only_when_every_requirement_is_met(required: str, met: bool) -> None:
    report = verify(ANY, LAKE, required)
    assert bool(report) is report.passed is met


def test_a_summary_names_the_requirements_only() -> None:
    head, required = verify(ANY, LAKE, "complete,rules<=0,safe").summary().splitlines()
    assert head == "1 rule (decision-list) on the 11 decision states of FrozenLake-4-0"
    assert required == "Required: 1 of 3 met: ✓ complete  ✗ rules<=0  ✗ safe"


@given(cases())
@settings(max_examples=30)
def test_a_summary_without_requirements_has_a_line_for_each_property_that_does_not_hold(case: Any) -> None:
    report = verify(*case)
    lines = report.summary().splitlines()[1:]
    missing = [name for name in HOLDS if not report.properties[name]]
    assert [line[2:].split(":")[0] for line in lines] == (missing or [", ".join(HOLDS)])
    assert all((line[0] in "✗–?") is bool(missing) for line in lines)


def test_markdown_claims_nothing_above_its_table_but_what_was_looked_at() -> None:
    text = verify(ANY, LAKE).to_markdown()
    assert "What was checked, in the 11 decision states of FrozenLake-4-0: ✓ holds, ✗ does not" in text
    assert "Every claim holds" not in text


# States without a rule.


@given(cases())
@settings(max_examples=80)
def test_whether_a_state_without_a_rule_can_be_met_equals_a_search(case: Any) -> None:
    task, policy, decisions, starts, report = prepared(case)
    bare = {s for s in decisions if policy[s] < 0}
    met = bare & naive_explain.reachable(task, policy, starts)
    for finding in of_kind(report, "uncovered"):
        assert set(finding.data["visited"]) == met
        steps = naive_explain.steps_to(task, policy, starts, bare)
        assert len(finding.data["path"]) - 1 == steps
        why = report.reasons["complete"]
        assert ("; no episode can meet" in why) is (not met)
        assert ("; an episode can begin in" in why) is (steps == 0)
        assert ("; the policy can meet" in why) is (steps > 0)
        if met:
            possible = check_path(task, policy, finding.data["path"])
            assert possible[0] & set(starts)
            assert possible[-1] & bare


def test_the_way_to_a_state_without_a_rule_is_told() -> None:
    task = chain(initial_states=np.array([0], dtype=np.int32))
    go = DecisionList([[[0, 0]]], [0], task.features, task.action_names)
    report = verify(go, task)
    why = "1 of the 2 decision states of chain has no rule; the policy can meet it from (place = 0)"
    assert report.reasons["complete"] == why
    text = only(report, "uncovered").text
    assert text.endswith("A shortest path to one: (place = 0) Go → (1) no rule.")
    wait = DecisionList([[[0, 0]]], [1], task.features, task.action_names)
    assert verify(wait, task).reasons["complete"].endswith("; no episode can meet it")


# OTHERWISE.


def test_the_last_rule_of_a_list_that_matches_everything_conflicts_with_none() -> None:
    ruleset = DecisionList([[[0, 3]], [[5, 6]], [[0, 9]]], [0, 1, 2], LINE, ("A", "B", "C"))
    report = verify(ruleset, require="no-conflicts")
    assert report.passed
    assert "OTHERWISE, the last, is not counted" in report.reasons["no-conflicts"]
    assert "OTHERWISE" in PROPERTIES["no-conflicts"].meaning
    alone = DecisionList([[[0, 9]]], [0], LINE, ("A", "B", "C"))
    assert "OTHERWISE" not in verify(alone).reasons["no-conflicts"]
    nearly = DecisionList([[[0, 3]], [[5, 6]], [[0, 8]]], [0, 1, 2], LINE, ("A", "B", "C"))
    assert only(verify(nearly), "conflicts").data["pairs"] == 2


def test_other_overlaps_are_still_counted_beside_otherwise() -> None:
    ruleset = DecisionList([[[0, 3]], [[3, 6]], [[0, 9]]], [0, 1, 2], LINE, ("A", "B", "C"))
    report = verify(ruleset)
    assert only(report, "conflicts").data["pairs"] == 1
    assert report.reasons["no-conflicts"] == "1 pair of rules overlaps and proposes different actions"
    assert "OTHERWISE, the last, is not counted." in only(report, "conflicts").text


def test_a_rule_for_the_rest_of_a_list_is_called_otherwise_where_it_is_quoted() -> None:
    ruleset = DecisionList([[[0, 4]], [[5, 9]], [[0, 9]]], [0, 1, 2], LINE, ("A", "B", "C"))
    assert only(verify(ruleset), "dead-rule").text.startswith("Rule 3 (OTHERWISE C) never decides")
    first = DecisionList([[[0, 9]], [[5, 9]]], [0, 1], LINE, ("A", "B"))
    assert "rules 1 (ALWAYS A) and 2 (IF x ≥ 5 THEN B)" in only(verify(first), "conflicts").text


# Slips, and one of a thing.


def test_a_step_of_a_way_that_is_not_the_likeliest_is_called_a_slip() -> None:
    task = replace(frozen_lake(4, 0.3), initial_states=np.array([0], dtype=np.int32))
    left = DecisionList(
        [[[0, 3], [0, 3]]], [task.action_names.index("Left")], LAKE.features, LAKE.action_names
    )
    way = "(x = 0, y = 0) Left, slipping → (0, 1) Left, slipping → (0, 2) Left, slipping to (x = 0, y = 3)"
    assert f"A shortest path: {way}." in only(verify(left, task), "bad-ending").text
    sure = replace(small_lake(0.0), initial_states=np.array([0], dtype=np.int32))
    down = DecisionList(
        [[[0, 3], [0, 3]]], [sure.action_names.index("Down")], LAKE.features, LAKE.action_names
    )
    way = "(x = 0, y = 0) Down → (0, 1) Down → (0, 2) Down to (x = 0, y = 3)"
    assert f"A shortest path: {way}." in only(verify(down, sure), "bad-ending").text


def test_one_thing_is_not_called_one_of_one() -> None:
    assert all_of(1, "rule") == all_of(1, "rule", "any of") == "the only rule"
    assert all_of(2, "rule", "every one of the") == "every one of the 2 rules"
    one = (Feature("x", 0, 1),)
    ruleset = PredictionArrayRules(
        [[[0, 1]], [[0, 1]]], [0, 1], one, ("A", "B"), [[1, 0], [0, 0]], [1, 1], [0, 0], [1, 1], [0, 0]
    )
    text = only(verify(ruleset), "never-on-the-winning-side").text
    assert text.startswith("Rule 2 is never on the winning side: it matches")
    report = verify(DecisionList([[[0, 0]]], [0], ALONE.features, ALONE.action_names), ALONE)
    for text in (str(report), report.to_markdown()):
        assert "the 1 " not in text
        assert "of 1 " not in text
