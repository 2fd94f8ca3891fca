"""What verification says over a whole space holds in every elementary cell of it, enumerated or reasoned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import DecisionList, Feature, RuleSet, StrengthRules
from ifthen.rules.boxes.differences import BUDGET
from ifthen.verification import PROPERTIES, verify
from ifthen.verification import case as cases
from ifthen.verification.case import Case
from ifthen.verification.findings import Result
from tests import naive_explain
from tests.rulesets import ACTIONS, FEATURES, all_states
from tests.verification.verified import choose, default_of, match_set, of_kind, only, rulesets_on, values

REAL = (Feature("u", -1.0, 1.0, "real", "m"), Feature("v", 0, 4), Feature("w", 0.0, 2.0, "real"))
AXES = [(f.kind, f.low, f.high) for f in REAL]
EDGES: dict[str, list[float]] = {
    "u": [-1.0, -0.5, 0.0, 0.25, 1.0],
    "v": [0, 1, 2, 4],
    "w": [0.0, 0.5, 1.5, 2.0],
}


@st.composite
def real_lists(draw: st.DrawFn, largest: int = 6) -> DecisionList:
    """Draw a decision list over real and integer features whose edges often meet."""
    n = draw(st.integers(1, largest))
    bounds = [
        [draw(st.lists(st.sampled_from(EDGES[f.name]), min_size=2, max_size=2)) for f in REAL]
        for _ in range(n)
    ]
    actions = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    return DecisionList(bounds, actions, REAL, ACTIONS)


def check_cells(ruleset: DecisionList, properties: Any, findings: Any) -> None:
    """Compare all that is said about a decision list with every elementary cell."""
    boxes = ruleset.bounds.tolist()
    cells = naive_explain.all_cells(AXES, boxes)
    points = [point for point, _ in cells]
    bare = [point for point in points if not match_set(ruleset, point)]
    assert properties["complete"] is (not bare)
    for finding in findings["uncovered"]:
        for hole in finding.data["holes"]:
            assert match_set(ruleset, values(hole["witness"])) == []
        assert match_set(ruleset, values(finding.witness)) == []
    first = {naive_explain.first_box_at(point, boxes) for point in points}
    dead = set(range(len(ruleset))) - first
    assert {finding.rules[0] for finding in findings["dead-rule"]} == dead
    assert properties["no-dead-rules"] is (not dead)
    for finding in findings["dead-rule"]:
        mine = [p for p in points if finding.rules[0] in match_set(ruleset, p)]
        by = set(finding.data["beaten_by"])
        assert all(by & set(match_set(ruleset, p)) for p in mine)
        assert all(q < finding.rules[0] for q in by)
    conflicts = {
        (a, b)
        for p in points
        for a in match_set(ruleset, p)
        for b in match_set(ruleset, p)
        if a < b and ruleset.actions[a] != ruleset.actions[b] and b != default_of(ruleset)
    }
    assert properties["no-conflicts"] is (not conflicts)
    for finding in findings["conflicts"]:
        assert {tuple(pair["rules"]) for pair in finding.data["listed"]} == conflicts
        for pair in finding.data["listed"]:
            assert set(pair["rules"]) <= set(match_set(ruleset, values(pair["witness"])))
    needed = naive_explain.needed_alone(len(ruleset), points, lambda kept, p: choose(ruleset, kept, p))
    redundant = [r for r in range(len(ruleset)) if r not in needed]
    assert properties["no-redundant-rules"] is (not redundant)
    assert [list(finding.rules) for finding in findings["redundant"]] == ([redundant] if redundant else [])


def without_listing(ruleset: RuleSet, budget: int = BUDGET) -> dict[str, Result]:
    """Return the results of all checks of rules that do not look at points one by one."""
    case = Case(ruleset, budget=budget)
    case.__dict__["scope"] = None
    return {name: entry.check(case) for name, entry in PROPERTIES.items() if entry.needs == "rules"}


def by_kind(found: list[Any]) -> dict[str, list[Any]]:
    """Return findings by their kind, every kind a key."""
    kinds = ("uncovered", "dead-rule", "conflicts", "redundant")
    return {kind: [finding for finding in found if finding.kind == kind] for kind in kinds}


@given(real_lists())
@settings(max_examples=60)
def test_a_decision_list_over_real_features_is_judged_as_in_all_elementary_cells(
    ruleset: DecisionList,
) -> None:
    report = verify(ruleset)
    check_cells(ruleset, report.properties, by_kind(list(report.findings)))
    for finding in of_kind(report, "uncovered"):
        cells = naive_explain.all_cells(AXES, ruleset.bounds.tolist())
        share = sum(float(share) for point, share in cells if not match_set(ruleset, point))
        assert finding.data["amount"] == pytest.approx(share, abs=1e-12)


@given(real_lists())
@settings(max_examples=60)
def test_reasoning_about_boxes_says_the_same_as_all_elementary_cells(ruleset: DecisionList) -> None:
    found = without_listing(ruleset)
    properties = {name: result.value for name, result in found.items()}
    check_cells(ruleset, properties, by_kind([f for result in found.values() for f in result.findings]))


@given(rulesets_on(FEATURES, ACTIONS))
@settings(max_examples=60)
def test_what_is_proven_about_any_ruleset_without_enumeration_is_true_of_every_vector(
    ruleset: RuleSet,
) -> None:
    found = without_listing(ruleset)
    findings = [finding for result in found.values() for finding in result.findings]
    exact = verify(ruleset)
    for name in ("complete", "no-dead-rules", "no-conflicts", "no-redundant-rules"):
        assert found[name].value in (exact.properties[name], None)
    assert found["complete"].value is not None
    dead = {finding.rules[0] for finding in of_kind(exact, "dead-rule")}
    proven = {finding.rules[0] for finding in findings if finding.kind == "dead-rule"}
    assert proven <= dead
    redundant = {r for finding in of_kind(exact, "redundant") for r in finding.rules}
    assert {r for f in findings if f.kind == "redundant" for r in f.rules} <= redundant


def test_a_strength_rule_inside_a_stronger_one_is_proven_dead_over_a_real_space() -> None:
    bounds = [[[-1, 1], [0, 4], [0, 2]], [[0, 1], [1, 2], [0, 1]], [[-1, 0], [1, 2], [0, 1]]]
    weights = [[0.0, 0.0, 0.0, 0.0], [-1.0, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
    ruleset = StrengthRules(bounds, [0, 1, 1], REAL, ACTIONS, weights, [0, 0, 0], 1.0)
    report = verify(ruleset, require="no-dead-rules")
    assert [finding.rules for finding in of_kind(report, "dead-rule")] == [(1, 0)]
    assert report.properties["no-dead-rules"] is False
    assert report.properties["no-redundant-rules"] is False


def test_where_the_strongest_rule_changes_inside_a_box_it_is_said_that_nothing_was_decided() -> None:
    # Strengths are u − 0.3, 0.3 − u and 0.05: the third decides around 0.3 only, where no point is tried.
    features = (Feature("u", -1.0, 1.0, "real"),)
    bounds, weights = [[[-1.0, 1.0]], [[-1.0, 1.0]], [[-0.2, 1.0]]], [[-0.3, 1.0], [0.3, -1.0], [0.15, 0.0]]
    ruleset = StrengthRules(bounds, [0, 1, 0], features, ("A", "B"), weights, [0, 0, 0.01], 1.0)
    assert ruleset.choose(np.array([[0.3]]))[1].tolist() == [2]
    report = verify(ruleset, require="no-dead-rules,no-redundant-rules")
    assert report.properties["no-dead-rules"] is None
    assert [requirement.passed for requirement in report.requirements] == [False, False]
    assert "1 other could not be decided" in report.requirements[0].why
    assert "? no-dead-rules" in str(report)


def test_a_rule_beaten_in_parts_only_is_not_taken_for_dead() -> None:
    # Beaten at both ends and in the middle, where points are tried, it decides at 0.2 all the same.
    features, nothing = (Feature("u", 0.0, 1.0, "real"),), [0.0, 0.0]
    bounds = [[[0.0, 1.0]], [[0.0, 0.1]], [[0.4, 0.6]], [[0.9, 1.0]]]
    weights = [nothing, [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
    ruleset = StrengthRules(bounds, [0, 1, 1, 1], features, ("A", "B"), weights, [0, 0, 0, 0], 1.0)
    assert ruleset.choose(np.array([[0.2]]))[1].tolist() == [0]
    report = verify(ruleset)
    assert report.properties["no-dead-rules"] is None
    assert of_kind(report, "dead-rule") == []


def test_a_search_that_gives_up_says_so_and_claims_nothing() -> None:
    rng = np.random.default_rng(3)
    features = tuple(Feature(f"f{d}", 0.0, 1.0, "real") for d in range(6))
    low = np.where(rng.random((40, 6)) < 0.6, 0.0, rng.random((40, 6)) * 0.5)
    high = np.where(rng.random((40, 6)) < 0.6, 1.0, 0.5 + rng.random((40, 6)) * 0.5)
    ruleset = DecisionList(np.stack([low, high], axis=-1), [0] * 40, features, ("A",))
    found = without_listing(ruleset, budget=3)
    assert found["complete"].value is not True
    assert "the search gave up with" in found["complete"].why
    assert found["no-dead-rules"].value is not True


def test_a_large_space_of_voting_rules_is_not_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "MOST_VECTORS", 10)
    ruleset = StrengthRules(
        [[[-3, 4], [0, 6]], [[-3, 0], [0, 6]]], [0, 1], FEATURES, ACTIONS, [[0, 0, 0], [1, 0, 0]], [0, 0], 1.0
    )
    report = verify(ruleset)
    assert report.properties["complete"] is True
    assert report.properties["no-redundant-rules"] is None
    assert only(report, "conflicts").data["listed"][0]["share"] == pytest.approx(0.5)
    assert len(all_states()) > 10


def test_counts_of_a_huge_integer_space_are_exact() -> None:
    features = (Feature("a", 0, 999_999), Feature("b", 0, 999_999))
    ruleset = DecisionList([[[0, 999_999], [1, 999_999]]], [0], features, ("A",))
    report = verify(ruleset)
    assert only(report, "uncovered").data["amount"] == 1_000_000
    assert "1,000,000 feature vectors have no rule" in str(report)


def test_the_smallest_numbers_have_a_middle_too() -> None:
    tiny = Feature("u", 5e-324, 1.0, "real")
    rules = StrengthRules([[[5e-324, 5e-324]]], [0], [tiny], ["a"], [[0.0, 0.0]], [0.0])
    assert verify(rules).properties["complete"] is False
