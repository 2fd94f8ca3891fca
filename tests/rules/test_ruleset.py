from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from ifthen import DecisionList, Feature, RuleSet, StrengthRules
from ifthen.errors import RuleError
from tests import naive
from tests.rulesets import all_states, rulesets

XY = (Feature("x", 0, 3), Feature("y", 0, 3))


def two_rules() -> DecisionList:
    return DecisionList([[[3, 1], [0, 0]], [[0, 3], [0, 3]]], [1, 0], XY, ("Left", "Down"))


@given(rulesets())
def test_plain_data_round_trips_through_json(ruleset: RuleSet) -> None:
    again = RuleSet.from_dict(json.loads(json.dumps(ruleset.to_dict())))
    assert again == ruleset
    assert hash(again) == hash(ruleset)
    assert type(again) is type(ruleset)


@given(rulesets())
def test_matches_are_the_oracles_for_one_observation_and_for_a_batch(ruleset: RuleSet) -> None:
    states = all_states()
    expected = [[naive.matches(box, s) for box in ruleset.bounds.tolist()] for s in states.tolist()]
    assert ruleset.matches(states).tolist() == expected
    assert ruleset.matches(states[7]).tolist() == expected[7]


@given(rulesets())
def test_predictions_one_by_one_equal_those_of_the_batch(ruleset: RuleSet) -> None:
    states = all_states()
    batch = ruleset.predict(states)
    assert batch.shape == (len(states),)
    assert [ruleset.predict(state) for state in states] == batch.tolist()


def test_an_empty_batch_gives_no_actions() -> None:
    assert two_rules().predict(np.empty((0, 2))).shape == (0,)


def test_rules_print_as_numbered_if_then_lines() -> None:
    assert str(two_rules()).splitlines() == [
        "1. IF x ≥ 1 AND y = 0 THEN Down",
        "2. OTHERWISE Left",
    ]


def test_a_strength_rule_tells_its_payoff_after_condition_and_action() -> None:
    ruleset = StrengthRules([[[0, 1], [0, 1]]], [0], XY, ("Left", "Down"), [[0.05, 0, 0]], [0.04])
    line = str(ruleset)
    assert line.startswith("1. IF x ≤ 1 AND y ≤ 1 THEN Left  (")
    assert "0.5" in line
    assert "± 0.2" in line


REAL = (Feature("u", -1.0, 1.0, "real", "m"), Feature("n", 0, 4))


def test_rules_over_real_features_match_their_closed_intervals_and_keep_every_digit() -> None:
    bounds = np.array([[[0.1, -0.5], [1, 2]], [[-1, 1], [0, 4]]])
    ruleset = DecisionList(bounds, [1, 0], REAL, ("Left", "Down"))
    assert ruleset.predict([[-0.5, 1], [0.1, 2], [np.nextafter(0.1, 1), 2]]).tolist() == [1, 1, 0]
    assert ruleset.rule_in_words(0) == "IF u in [-0.5, 0.1] m AND n in [1, 2] THEN Down"
    assert RuleSet.from_dict(json.loads(json.dumps(ruleset.to_dict()))) == ruleset


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([[[0.0, 0.5], [0, 1.5]]], "n is an integer feature"),
        ([[[0.0, 2.0], [0, 1]]], "leaves the feature's range"),
        ([[[0.0, np.nan], [0, 1]]], "finite"),
        ([[["a", 1.0], [0, 1]]], "numbers"),
    ],
)
def test_impossible_bounds_over_real_features_are_refused(bounds: Any, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        DecisionList(bounds, [0], REAL, ("Left", "Down"))


@given(rulesets())
def test_deciding_with_the_rules_own_matches_is_choosing(ruleset: RuleSet) -> None:
    points = all_states().astype(np.float64)
    chosen, decided = ruleset.choose(points), ruleset.decide(ruleset.matches(points), points)
    assert [part.tolist() for part in chosen] == [part.tolist() for part in decided]


@given(rulesets())
def test_other_conditions_leave_actions_and_what_rules_learnt_as_they_are(ruleset: RuleSet) -> None:
    changed = ruleset.with_bounds(ruleset.bounds)
    assert changed == ruleset
    assert type(changed) is type(ruleset)


def test_a_ruleset_cannot_be_changed_through_its_arrays_or_the_callers() -> None:
    bounds = np.array([[[0, 1], [0, 1]]])
    ruleset = DecisionList(bounds, [0], XY, ("Left", "Down"))
    bounds[:] = 2
    assert ruleset.bounds.max() == 1
    for array in (ruleset.bounds, ruleset.actions):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_ruleset_cannot_be_given_other_rules() -> None:
    ruleset = two_rules()
    with pytest.raises(AttributeError, match="cannot be changed"):
        ruleset.actions = np.array([1, 1])


def test_features_that_are_only_names_are_refused() -> None:
    with pytest.raises(RuleError, match="features must be Feature objects"):
        DecisionList([[[0, 1], [0, 1]]], [0], ["x", "y"], ("Left", "Down"))  # type: ignore[list-item]  # the mistake


def test_the_table_has_one_row_per_rule_with_bounds_and_action() -> None:
    table = two_rules().to_table()
    assert table.columns == ["rule", "x_low", "x_high", "y_low", "y_high", "action"]
    assert table.row(0) == (1, 1, 3, 0, 0, "Down")


def test_the_table_of_strength_rules_has_what_they_learnt() -> None:
    ruleset = StrengthRules([[[0, 1], [0, 1]]], [0], XY, ("Left", "Down"), [[1, 2, 3]], [4.0])
    table = ruleset.to_table()
    assert table["weights"].to_list() == [[1, 2, 3]]
    assert table["variance"].to_list() == [4.0]


def test_a_feature_left_out_of_a_rule_is_unrestricted() -> None:
    data = two_rules().to_dict()
    del data["rules"][0]["if"]["x"]
    assert RuleSet.from_dict(data).bounds[0].tolist() == [[0, 3], [0, 0]]


def test_rulesets_differ_where_order_kind_or_names_differ() -> None:
    ruleset = two_rules()
    turned = DecisionList(ruleset.bounds[::-1], ruleset.actions[::-1], XY, ("Left", "Down"))
    renamed = DecisionList(ruleset.bounds, ruleset.actions, XY, ("Left", "Up"))
    strong = StrengthRules(ruleset.bounds, ruleset.actions, XY, ("Left", "Down"), np.zeros((2, 3)), [0, 0])
    assert len({ruleset, turned, renamed, strong, two_rules()}) == 4
    assert ruleset != "rules"


@pytest.mark.parametrize(
    ("bounds", "actions", "message"),
    [
        ([], [], "at least one rule"),
        ([[[0, 1]]], [0], "shape"),
        ([[[0, 1], [0, 4]]], [0], r"y in \[0, 4\] leaves"),
        ([[[-1, 1], [0, 1]]], [0], "leaves"),
        ([[[0, 1], [0, 0.5]]], [0], "whole numbers"),
        ([[[0, 1], [0, float("nan")]]], [0], "whole numbers"),
        ([[[0, 1], [0, float("inf")]]], [0], "whole numbers"),
        ([[[0, 1], [0, 2**40]]], [0], "whole numbers"),
        ([[[0, 1], [0]]], [0], "rectangular"),
        ("rules", [0], "whole numbers"),
        ([[[0, 1], [0, 1]]], [2], "actions must be 0 to 1"),
        ([[[0, 1], [0, 1]]], [-1], "actions must be 0 to 1"),
        ([[[0, 1], [0, 1]]], [0, 1], "one per rule"),
        ([[[0, 1], [0, 1]]], [True], "whole numbers"),
    ],
)
def test_impossible_rules_are_refused(bounds: Any, actions: Any, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        DecisionList(bounds, actions, XY, ("Left", "Down"))


@pytest.mark.parametrize(
    ("features", "actions"), [(XY, ("Left", "Left")), ((XY[0], XY[0]), ("Left",)), (XY, ()), ((), ("Left",))]
)
def test_missing_or_repeated_names_are_refused(features: Any, actions: Any) -> None:
    with pytest.raises(RuleError, match="names must be given and differ"):
        DecisionList([[[0, 1], [0, 1]]], [0], features, actions)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"weights": [[0.0, 0.0]]}, "weights must have shape"),
        ({"weights": [[0.0, 0.0, float("nan")]]}, "finite"),
        ({"weights": [["a", 0.0, 0.0]]}, "weights must be numbers"),
        ({"variances": [-1.0]}, "not be negative"),
        ({"variances": [0.0, 0.0]}, "variances must have shape"),
        ({"x0": float("inf")}, "x0 must be finite"),
    ],
)
def test_impossible_strengths_are_refused(extra: dict[str, Any], message: str) -> None:
    learnt: dict[str, Any] = {"weights": [[0.0, 0.0, 0.0]], "variances": [0.0], **extra}
    with pytest.raises(RuleError, match=message):
        StrengthRules([[[0, 1], [0, 1]]], [0], XY, ("Left", "Down"), **learnt)


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        ([1], "shape"),
        ([[[1, 2]]], "shape"),
        ([1, float("nan")], "finite"),
        ("here", "numeric"),
        ([1, None], "finite"),
    ],
)
def test_impossible_observations_are_refused(observation: Any, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        two_rules().predict(observation)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "descision-list"}, "Did you mean 'decision-list'"),
        ({"kind": []}, "unknown kind"),
        ({"version": 2}, "version 2; this ifthen reads 1"),
        ({"colour": "red"}, "the ruleset has an unknown name 'colour'"),
        ({"rules": [{"if": {}, "then": "Left", "comment": "mine"}]}, "rule 1 has an unknown name 'comment'"),
        ({"features": None}, "plain data"),
        ({"actions": 3}, "plain data"),
        ({"rules": None}, "plain data"),
        ({"rules": []}, "at least one rule"),
        ({"rules": ["IF"]}, "plain data"),
        ({"rules": [{"then": "Left"}]}, "needs 'if'"),
        ({"rules": [{"if": {}}]}, "needs 'then'"),
        ({"rules": [{"if": ["x"], "then": "Left"}]}, "'if' must map"),
        ({"rules": [{"if": {"X": [0, 1]}, "then": "Left"}]}, "unknown name 'X'. Did you mean 'x'"),
        ({"rules": [{"if": {}, "then": "left"}]}, "unknown action 'left'. Did you mean 'Left'"),
        ({"rules": [{"if": {"x": [0, 9]}, "then": "Left"}]}, "leaves"),
        ({"rules": [{"if": {"x": 3}, "then": "Left"}]}, "whole numbers"),
    ],
)
def test_plain_data_that_is_no_ruleset_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        RuleSet.from_dict({**two_rules().to_dict(), **change})


@pytest.mark.parametrize("data", [None, [], {}, {"features": []}, {"format": "another"}])
def test_data_of_another_format_is_refused(data: Any) -> None:
    with pytest.raises(RuleError, match="format 'ifthen-ruleset'"):
        RuleSet.from_dict(data)


def test_missing_parts_of_strength_rules_are_named() -> None:
    data = {**two_rules().to_dict(), "kind": "strength", "x0": 10.0}
    with pytest.raises(RuleError, match="needs 'weights'"):
        RuleSet.from_dict(data)
