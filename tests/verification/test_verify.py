"""What verification says about rules equals brute force over every point, and every witness shows it."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import DecisionList, Feature, PredictionArrayRules, RuleSet, StrengthRules
from ifthen.errors import ParameterError, RuleError, TaskError
from ifthen.simulate.simulator import described
from ifthen.verification import PROPERTIES, Verification, verify
from ifthen.verification.case import beating_set, grounds
from ifthen.verification.findings import Result
from ifthen.verification.properties import compares, judge, parse
from tests import naive_explain
from tests.rulesets import ACTIONS, FEATURES, all_states
from tests.verification.verified import (
    HOLDS,
    Point,
    cases,
    choose,
    default_of,
    key_at,
    match_set,
    of_kind,
    only,
    rulesets_on,
    values,
)
from tests.worlds import chain, small_lake


def check_rules(ruleset: RuleSet, points: list[Point], report: Verification) -> None:
    """Compare all that is said about rules with brute force at every point."""
    match_sets = [match_set(ruleset, point) for point in points]
    everything = list(range(len(ruleset)))
    check_holes(points, match_sets, report)
    check_dead(ruleset, points, match_sets, report)
    check_conflicts(ruleset, points, match_sets, report)
    needed = naive_explain.needed_alone(len(ruleset), points, lambda kept, p: choose(ruleset, kept, p))
    redundant = tuple(r for r in everything if r not in needed)
    assert report.properties["no-redundant-rules"] is (not redundant)
    assert not redundant or only(report, "redundant").rules == redundant


def check_holes(points: list[Point], match_sets: list[list[int]], report: Verification) -> None:
    bare = [point for point, matching in zip(points, match_sets, strict=True) if not matching]
    assert report.properties["complete"] is (not bare)
    if bare:
        finding = only(report, "uncovered")
        assert finding.data["amount"] == len(bare)
        assert finding.data["total"] == len(points)
        assert values(finding.witness or {}) in [tuple(point) for point in bare]
        assert all(values(hole["witness"]) in [tuple(p) for p in bare] for hole in finding.data["holes"])


def check_dead(
    ruleset: RuleSet, points: list[Point], match_sets: list[list[int]], report: Verification
) -> None:
    keys = [
        {r: key_at(ruleset, r, p) for r in matching} for p, matching in zip(points, match_sets, strict=True)
    ]
    beaten = naive_explain.beaten_rules(match_sets, keys)
    votes = isinstance(ruleset, PredictionArrayRules)
    alive = {r for r, beaters in beaten.items() if votes or not all(beaters)}
    found = {finding.rules[0]: finding for finding in of_kind(report, "dead-rule")}
    assert set(found) == set(range(len(ruleset))) - alive
    assert report.properties["no-dead-rules"] is (not found)
    for r, finding in found.items():
        winners = set(finding.data["beaten_by"])
        everywhere = beaten.get(r, [])
        assert (finding.data["reason"] == "matches-nothing") is (not everywhere)
        assert all(winners & at_point for at_point in everywhere)
        for left_out in winners:
            assert not all((winners - {left_out}) & at_point for at_point in everywhere)
        assert (finding.data["reason"] == "subsumed") is (len(winners) == 1)


def check_conflicts(
    ruleset: RuleSet, points: list[Point], match_sets: list[list[int]], report: Verification
) -> None:
    taken = [choose(ruleset, list(range(len(ruleset))), point) for point in points]
    expected = {}
    for a, b in itertools.combinations(range(len(ruleset)), 2):
        shared = [i for i, matching in enumerate(match_sets) if a in matching and b in matching]
        if shared and ruleset.actions[a] != ruleset.actions[b] and b != default_of(ruleset):
            wins = [sum(taken[i] == ruleset.actions[r] for i in shared) for r in (a, b)]
            expected[a, b] = (len(shared), wins)
    assert report.properties["no-conflicts"] is (not expected)
    if expected:
        listed = only(report, "conflicts").data["listed"]
        assert {tuple(p["rules"]): (p["amount"], p["taken"]) for p in listed} == expected
        assert listed[0]["amount"] == max(amount for amount, _ in expected.values())
        for pair in listed:
            assert set(pair["rules"]) <= set(match_set(ruleset, values(pair["witness"])))


@pytest.mark.oracle
@given(cases())
@settings(max_examples=80)
def test_what_is_said_about_rules_on_a_task_equals_brute_force_over_its_decision_states(case: Any) -> None:
    ruleset, task = case
    report = verify(ruleset, task)
    check_rules(ruleset, task.dynamics.points.tolist(), report)
    for finding in of_kind(report, "uncovered"):
        missing = {
            task.decision_states.tolist()[i]
            for i in np.flatnonzero(ruleset.predict(task.dynamics.points) < 0)
        }
        assert set(finding.data["states"]) == missing


@given(rulesets_on(FEATURES, ACTIONS))
@settings(max_examples=60)
def test_without_a_task_it_equals_brute_force_over_every_vector_of_the_space(ruleset: RuleSet) -> None:
    check_rules(ruleset, [tuple(p) for p in all_states().astype(float).tolist()], verify(ruleset))


@given(cases())
@settings(max_examples=60)
def test_the_box_of_a_hole_meets_no_rule_and_the_holes_hold_every_state_without_one(case: Any) -> None:
    ruleset, task = case
    for finding in of_kind(verify(ruleset, task), "uncovered"):
        holes = finding.data["holes"]
        assert sum(hole["states"] for hole in holes) == finding.data["amount"]
        for hole in holes:
            witness = dict(zip((f.name for f in task.features), values(hole["witness"]), strict=True))
            assert box_holds(hole["box"], witness)
            for point in itertools.product(*(range(f.low, f.high + 1) for f in task.features)):
                inside = box_holds(hole["box"], dict(zip(witness, point, strict=True)))
                assert not (inside and match_set(ruleset, point))


def box_holds(box: str, vector: dict[str, float]) -> bool:
    """Return whether a vector fulfils conditions in words."""
    for part in [] if box == "everywhere" else box.split(" AND "):
        name, relation, number = part.split(" ", 2)
        low, high = json.loads(number) if relation == "in" else (float(number), float(number))
        value = vector[name]
        holds = {"=": value == low, "in": low <= value <= high, "≤": value <= high, "≥": value >= low}
        if not holds[relation]:
            return False
    return True


def test_rules_that_vote_but_whose_action_is_never_taken_are_named_and_are_not_dead() -> None:
    features = (Feature("x", 0, 1),)
    ruleset = PredictionArrayRules(
        [[[0, 1]], [[0, 1]]], [0, 1], features, ("A", "B"), [[1, 0], [0, 0]], [1, 1], [0, 0], [1, 1], [0, 0]
    )
    report = verify(ruleset)
    assert report.properties["no-dead-rules"] is True
    assert only(report, "never-on-the-winning-side").rules == (1,)


def test_a_rule_shadowed_by_two_others_names_both_and_not_a_third_that_is_not_needed() -> None:
    features = (Feature("x", 0, 9),)
    ruleset = DecisionList([[[0, 4]], [[3, 6]], [[5, 9]], [[2, 8]]], [0, 1, 0, 1], features, ("A", "B"))
    (finding,) = of_kind(verify(ruleset), "dead-rule")
    assert finding.rules == (3, 0, 2)
    assert finding.data["reason"] == "shadowed"
    assert (
        "Rule 4 (IF x in [2, 8] THEN B) never decides: wherever it matches, one of rules 1 or 3"
        in finding.text
    )


def test_rules_that_beat_most_are_left_out_again_where_the_others_beat_everywhere_too() -> None:
    beaten = np.zeros((7, 3), dtype=np.bool_)
    beaten[:3, 0] = beaten[1:5, 1] = beaten[3:, 2] = True
    assert beating_set(beaten) == (0, 2)


def test_of_two_equally_strong_rules_the_one_with_the_lower_action_is_named_as_the_stronger() -> None:
    features, weights = (Feature("x", 0, 1),), [[0.0, 0.0], [0.0, 0.0]]
    ruleset = StrengthRules([[[0, 1]], [[0, 1]]], [1, 0], features, ("A", "B"), weights, [0, 0])
    (finding,) = of_kind(verify(ruleset), "dead-rule")
    assert finding.rules == (0, 1)
    assert "rule 2 is at least as strong and wins" in finding.text


# Requirements.

LAKE = small_lake(0.0)
ANY = DecisionList([[[0, 3], [0, 3]]], [2], LAKE.features, LAKE.action_names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("compleet", "Did you mean 'complete'"),
        ("qqqq", "Known: complete"),
        ("performance", "performance is a number: require it as 'performance>=0.9'"),
        ("complete>=1", "complete holds or does not"),
        ("rules<=ten", "'ten' is not a finite number"),
        ("rules<=", "'' is not a finite number"),
        ("rules>=inf", "not a finite number"),
        ("rules==3", "not a finite number"),
        ("complete,rules<=3,goal-certian", "Did you mean 'goal-certain'"),
    ],
)
def test_a_requirement_that_makes_no_sense_is_refused_before_any_work(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ifthen.verification.case.listed", lambda *_: pytest.fail("work has begun"))
    with pytest.raises(ParameterError, match=message):
        verify(ANY, LAKE, text)


def test_an_unknown_requirement_is_told_all_that_are_known() -> None:
    with pytest.raises(ParameterError) as raised:
        verify(ANY, require="complet")
    assert all(name in str(raised.value) for name in (*PROPERTIES, "hole-free"))


@pytest.mark.parametrize("name", ["goal-reachable", "hole-free", "safe", "optimal", "performance>=0.5"])
def test_what_needs_a_task_is_refused_without_one(name: str) -> None:
    with pytest.raises(ParameterError, match="needs a task"):
        verify(ANY, require=["complete", name])


def test_requirements_come_as_one_text_or_several_with_room_around() -> None:
    demands = parse([" complete , rules <= 10", "performance>0.5", ""])
    assert [(d.name, d.operator, d.number) for d in demands] == [
        ("complete", "", 0.0),
        ("rules", "<=", 10.0),
        ("performance", ">", 0.5),
    ]
    with pytest.raises(ParameterError, match="must be texts"):
        parse([3])  # type: ignore[list-item]  # the wrong type on purpose


@given(st.integers(-3, 3), st.integers(-3, 3), st.sampled_from([0.0, 1e-12]))
def test_numbers_compare_as_written_and_rounding_does_not_matter(a: int, b: int, rounding: float) -> None:
    expected = {">=": a >= b, "<=": a <= b, ">": a > b, "<": a < b, "=": a == b}
    for operator, holds in expected.items():
        for value in (a - rounding, a + rounding):
            assert compares(value, operator, b) is holds


@given(cases())
@settings(max_examples=40)
def test_a_requirement_is_met_exactly_where_its_property_holds(case: Any) -> None:
    ruleset, task = case
    names = [*HOLDS, "hole-free"]
    report = verify(ruleset, task, [*names, f"rules={len(ruleset)}", "performance>=0.4"])
    met = {requirement.text: requirement.passed for requirement in report.requirements}
    for name in names:
        assert met[name] is (report.properties["safe" if name == "hole-free" else name] is True)
    assert met[f"rules={len(ruleset)}"]
    value = report.properties["performance"]
    assert value is not None
    assert met["performance>=0.4"] is (value >= 0.4)
    assert report.passed is all(met.values())


def test_what_could_not_be_decided_is_not_met_and_said() -> None:
    requirement = judge(parse("complete", grounds(None))[0], {"complete": Result(None, "gave up")})
    assert requirement[:3] == ("complete", False, "not decided: gave up")


# The report.


def test_a_report_is_plain_data_and_reads_the_same_in_all_forms() -> None:
    report = verify(ANY, LAKE, "complete,rules<=0")
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["passed"] is False
    assert plain["properties"] == dict(report.properties)
    assert [finding["kind"] for finding in plain["findings"]] == [f.kind for f in report.findings]
    text, markdown = str(report), report.to_markdown()
    for name in HOLDS:
        assert name in text
        assert f"| {name} |" in markdown
    assert "✗ rules<=0: 1 rule" in text
    assert "- ✗ `rules<=0`: 1 rule" in markdown
    assert all(finding.text in markdown for finding in report.findings)


def test_a_long_list_is_cut_short_and_its_length_said() -> None:
    bounds = [[[0, 9]]] + [[[i, i]] for i in range(9)]
    ruleset = DecisionList(bounds, [0] * 10, (Feature("x", 0, 9),), ("A", "B"))
    text = str(verify(ruleset))
    assert "9 of 10 rules never decide" in text
    assert "… and 6 more like these." in text
    assert "rules 2, 3, 4, and 6 more" in text


def test_only_rulesets_and_tasks_that_fit_are_verified() -> None:
    with pytest.raises(RuleError, match="must be a RuleSet or a trained system"):
        verify("rules")  # type: ignore[arg-type]  # that is what is tested
    with pytest.raises(TaskError, match="unknown task 'lake'"):
        verify(ANY, "lake")
    with pytest.raises(TaskError, match="the ruleset speaks of"):
        verify(ANY, chain())


def test_of_many_features_only_some_are_told_where_they_do_not_fit_and_first_those_that_differ() -> None:
    features = [Feature(f"f{i}", 0, 9) for i in range(60)]
    other = [*features[:40], Feature("f40", 0, 8), *features[41:]]
    one, another = (
        DecisionList([[[f.low, f.high] for f in own]], [0], own, ["a", "b"]) for own in (features, other)
    )
    told = described(one, another), described(another, one)
    some = "f40 in [0, 9], f0 in [0, 9], f1 in [0, 9], f2 in [0, 9], f3 in [0, 9]"
    assert told[0] == f"{some} and 55 more and actions a, b"
    assert told[1].startswith("f40 in [0, 8], f0")
