from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import DecisionList, Feature, parse_rules
from ifthen.errors import RuleError
from ifthen.rules.feature import lows_and_highs, number_in_words
from ifthen.rules.text.rule import RuleReader
from ifthen.rules.text.rules_text import rules_text


def test_width_counts_both_ends() -> None:
    assert Feature("x", -2, 3).width == 6


def test_plain_data_round_trips() -> None:
    feature = Feature("x", -2, 3)
    assert Feature.from_dict(feature.to_dict()) == feature


def test_real_features_and_units_round_trip_as_plain_data() -> None:
    feature = Feature("angle", -0.5, 0.25, "real", "rad")
    assert Feature.from_dict(json.loads(json.dumps(feature.to_dict()))) == feature


def test_the_values_of_a_real_feature_cannot_be_counted() -> None:
    with pytest.raises(RuleError, match="cannot be counted"):
        _ = Feature("angle", -0.5, 0.25, "real").width


@pytest.mark.parametrize("bound", [float("nan"), float("inf"), "1", None, 1e301])
def test_bounds_of_a_real_feature_are_finite_numbers(bound: Any) -> None:
    with pytest.raises(RuleError, match="must be a number from"):
        Feature("angle", -0.5, bound, "real")


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0, 9, ""),
        (0, 3, "x ≤ 3 m"),
        (2, 9, "x ≥ 2 m"),
        (4, 4, "x = 4 m"),
        (0, 0, "x = 0 m"),
        (2, 5, "x in [2, 5] m"),
    ],
)
def test_intervals_name_only_the_bounds_that_are_not_the_features_edge(
    low: int, high: int, words: str
) -> None:
    assert Feature("x", 0, 9, unit="m").interval_in_words(low, high) == words
    assert Feature("x", 0, 9, "real", "m").interval_in_words(low, high) == words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(-1, -1, "v ≤ -1 m"), (1, 1, "v ≥ 1 m"), (0, 0, "v = 0 m"), (-1, 1, ""), (-1, 0, "v ≤ 0 m")],
)
def test_an_edge_that_values_beyond_count_as_is_said_as_an_open_side(low: int, high: int, words: str) -> None:
    assert Feature("v", -1, 1, "real", "m", clips=True).interval_in_words(low, high) == words
    assert Feature("v", -1, 1, "integer", "m", clips=True).interval_in_words(low, high) == words
    if words:
        reader = RuleReader([Feature("v", -1, 1, "real", "m", clips=True)], ["a"])
        assert reader.read(f"IF {words} THEN a").bounds == {0: [low, high]}


def test_a_yes_or_no_stays_one_value() -> None:
    assert Feature("ace", 0, 1, clips=True).interval_in_words(1, 1) == "ace = 1"


@given(st.floats(-1e300, 1e300))
def test_numbers_in_words_are_exact(value: float) -> None:
    assert float(number_in_words(value)) == value
    assert not number_in_words(value).endswith(".0")


def test_lows_and_highs_come_feature_by_feature() -> None:
    lows, highs = lows_and_highs((Feature("x", -2, 3), Feature("y", 0, 0)))
    assert (lows.tolist(), highs.tolist()) == ([-2, 0], [3, 0])


@pytest.mark.parametrize(
    ("name", "low", "high", "message"),
    [
        ("", 0, 1, "name"),
        (7, 0, 1, "name"),
        ("x", 2, 1, "must not exceed"),
        ("x", 0.0, 1, "whole number"),
        ("x", 0, True, "whole number"),
        ("x", 0, 2**31, "whole number from"),
        ("x", float("nan"), 1, "whole number"),
    ],
)
def test_impossible_features_are_refused(name: Any, low: Any, high: Any, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        Feature(name, low, high)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"name": "x", "kind": "integer", "low": 0},
        {"name": "x", "kind": "complex", "low": 0, "high": 1},
        {"name": "x", "kind": "integer", "low": 0, "high": 1, "unit": 3},
        {"name": "x", "kind": "integer", "low": 0, "high": 1, "step": 1},
    ],
)
def test_plain_data_that_is_no_feature_is_refused(data: Any) -> None:
    with pytest.raises(RuleError):
        Feature.from_dict(data)


WALLS = Feature("north", 0, 2, labels=("empty", "a wall", "food"))


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0, 2, ""),
        (0, 0, "north is empty"),
        (1, 1, "north is a wall"),
        (0, 1, "north is not food"),
        (1, 2, "north is not empty"),
    ],
)
def test_values_with_names_are_said_by_name_and_read_back(low: int, high: int, words: str) -> None:
    assert WALLS.interval_in_words(low, high) == words
    if words:
        read = RuleReader([WALLS], ["go"]).read(f"IF {words} THEN go")
        assert read.bounds[0] == [low, high]


def test_several_names_are_joined_by_or() -> None:
    feature = Feature("sky", 1, 4, labels=("clear", "grey", "rain", "snow"))
    assert feature.interval_in_words(1, 2) == "sky is clear or grey"
    reader = RuleReader([feature], ["go"])
    assert reader.read("IF sky is rain or snow THEN go").bounds[0] == [3, 4]
    assert reader.read("IF sky = grey THEN go").bounds[0] == [2, 2]
    assert reader.read("IF sky <= rain AND sky >= 2 THEN go").bounds[0] == [2, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("IF north is a tree THEN go", "north is empty or a wall or food, not 'a tree"),
        ("IF north is empty or food THEN go", "an interval of empty, a wall, food"),
        ("IF north is not a wall THEN go", "an interval of empty, a wall, food"),
    ],
)
def test_names_of_values_that_make_no_interval_are_refused(line: str, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        RuleReader([WALLS], ["go"]).read(line)


@pytest.mark.parametrize(
    "wrong",
    [
        {"labels": ("empty",)},
        {"labels": ("empty", "a wall", "A wall")},
        {"labels": ("empty", "a wall", "")},
        {"labels": "abc"},
        {"labels": ("a", "b", "c"), "unit": "m"},
        {"labels": ("a", "b", "c"), "clips": True},
        {"labels": ("a", "b", "c"), "kind": "real"},
    ],
)
def test_labels_are_one_text_for_each_value(wrong: dict[str, Any]) -> None:
    with pytest.raises(RuleError, match="labels of feature 'north'"):
        Feature("north", 0, 2, **wrong)


@pytest.mark.parametrize("label", [" wall", "wall ", "a\nwall", "not here", "rain or snow", "what IS"])
def test_labels_that_would_read_as_parts_of_a_condition_are_refused(label: str) -> None:
    with pytest.raises(RuleError, match="of feature 'north' must have no outer blanks"):
        Feature("north", 0, 2, labels=("empty", label, "food"))


def test_labels_round_trip_as_plain_data_and_as_text() -> None:
    assert Feature.from_dict(json.loads(json.dumps(WALLS.to_dict()))) == WALLS
    odd = Feature("sky is", 0, 2, labels=("nothing", "to, do", "orange"))
    rules = DecisionList([[[0, 1]], [[1, 2]], [[1, 1]]], [0, 0, 0], [odd], ["go"])
    assert parse_rules(rules_text(rules)) == rules
