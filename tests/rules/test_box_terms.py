"""Reasoning about boxes of features and terms: answers hold, or say that rounding decides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import DecisionList, Feature, diff, parse_rules, verify
from ifthen.rules.boxes.cover import coverage
from ifthen.rules.boxes.feasible import observation_in
from ifthen.rules.boxes.list_analysis import compare, first_match, over_the_same_terms, overlaps, point_of
from ifthen.rules.boxes.rank_space import spread_out
from tests.rules.test_terms import ACTIONS, FEATURES, lists_with_terms, points

SMALL = (Feature("a", 0, 4), Feature("b", -2, 2), Feature("c", 0, 2))
GRID = np.array([[a, b, c] for a in range(5) for b in range(-2, 3) for c in range(3)], dtype=np.float64)


@given(lists_with_terms(SMALL))
@settings(max_examples=60)
def test_answers_over_whole_numbers_are_those_of_asking_at_every_point(rules: DecisionList) -> None:
    actions, deciders = rules.choose(GRID)
    found = coverage(rules.bounds, rules.features)
    assert found.complete is None or found.complete == bool((actions >= 0).all())
    for hole in found.holes:
        assert rules.predict(hole.witness) == -1
    for reach in first_match(rules):
        assert reach.decides is None or reach.decides == bool((deciders == reach.rule).any())
        if reach.decides:
            assert reach.witness is not None
            assert rules.choose(reach.witness)[1][0] == reach.rule
    matches = rules.matches(GRID)
    met = {
        (i, j)
        for i in range(len(rules))
        for j in range(i + 1, len(rules))
        if rules.actions[i] != rules.actions[j] and (matches[:, i] & matches[:, j]).any()
    }
    assert set(overlaps(rules)) <= met


@given(lists_with_terms(SMALL), lists_with_terms(SMALL))
@settings(max_examples=40)
def test_lists_with_different_terms_are_compared_as_at_every_point(a: DecisionList, b: DecisionList) -> None:
    same = bool((a.predict(GRID) == b.predict(GRID)).all())
    found = compare(a, b)
    assert found.equal is None or found.equal == same
    if found.equal is False:
        assert found.witness is not None
        assert a.predict(found.witness) != b.predict(found.witness)
    assert compare(a, a).equal is True


@given(lists_with_terms())
@settings(max_examples=40)
def test_no_observation_contradicts_an_answer_over_real_numbers(rules: DecisionList) -> None:
    asked = points(3000)
    actions, deciders = rules.choose(asked)
    found = coverage(rules.bounds, rules.features)
    assert found.complete is not True or (actions >= 0).all()
    for hole in found.holes:
        assert rules.predict(hole.witness) == -1
    for reach in first_match(rules):
        assert reach.decides is not False or not (deciders == reach.rule).any()
        if reach.decides:
            assert reach.witness is not None
            assert rules.choose(reach.witness)[1][0] == reach.rule
    for (i, j), region in overlaps(rules).items():
        assert rules.matches(region.witness)[[i, j]].all()


@given(lists_with_terms(), st.integers(0, 99))
@settings(max_examples=30)
def test_the_same_rules_over_more_terms_choose_the_same(rules: DecisionList, seed: int) -> None:
    other = parse_rules("LET more = x - x speed\nIF more >= 0 THEN Left\nOTHERWISE Right", FEATURES, ACTIONS)
    asked = points(50, seed)
    for before, after in zip((rules, other), over_the_same_terms(rules, other), strict=True):
        assert after.predict(asked).tolist() == before.predict(asked).tolist()


def boxed(*ends: tuple[float, float]) -> np.ndarray:
    return np.array(ends, dtype=np.float64)


BOTH = np.array([[1.0, 1.0], [1.0, -1.0]])
REAL = np.array([False, False])


def test_boxes_are_empty_full_or_touched_by_rounding() -> None:
    inside = observation_in(boxed((0, 1), (0, 1), (0.5, 0.6), (0.2, 0.3)), BOTH, REAL)
    assert not isinstance(inside, str)
    # Each term alone can be reached, both together cannot: a + b ≥ 1.5 and a − b ≥ 0.9.
    assert observation_in(boxed((0, 1), (0, 1), (1.5, 2), (0.9, 1)), BOTH, REAL) == "empty"
    assert observation_in(boxed((0, 1), (0, 1), (2.5, 3), (-1, 1)), BOTH, REAL) == "empty"
    corner = observation_in(boxed((0, 1), (0, 1), (2, 2), (-1, 1)), BOTH, REAL)
    assert not isinstance(corner, str)
    assert corner.tolist() == [1.0, 1.0]
    whole = np.array([True, True])
    assert observation_in(boxed((0, 3), (0, 3), (2.2, 2.8), (-3, 3)), BOTH, whole) == "empty"
    # 0.1 + 0.2 is not 0.3 in double precision: only rounding tells what is between.
    sums = np.array([[0.1, 0.2]])
    narrow = boxed((1, 1), (1, 1), (0.3, 0.3))
    assert observation_in(narrow, sums, REAL) == "empty"


def test_one_value_of_a_term_is_found_by_moving_one_feature() -> None:
    found = observation_in(boxed((0, 1), (0, 1), (0.7, 0.7), (-1, 1)), BOTH, REAL)
    assert not isinstance(found, str)
    assert found[0] + found[1] == 0.7


def test_a_rule_that_no_observation_matches_is_dead_and_the_text_says_why() -> None:
    text = "IF x + n >= 5 AND x <= 0 AND n <= 3 THEN Left\nIF x - n <= 0 THEN Wait\nOTHERWISE Right"
    rules = parse_rules(text, FEATURES, ACTIONS)
    assert point_of(rules, 0) is None
    found = verify(rules)
    assert "Rule 1 (IF x ≤ 0 m AND n ≤ 3 AND x + n ≥ 5 THEN Left) matches no point." in str(found).replace(
        "\n                      ", " "
    )


def test_differences_of_lists_with_terms_have_witnesses() -> None:
    a = parse_rules("LET e = x + 2*n\nIF e <= 3 THEN Left\nOTHERWISE Right", FEATURES, ACTIONS)
    b = parse_rules("IF x + 2*n <= 3 THEN Left\nOTHERWISE Right", FEATURES, ACTIONS)
    assert diff(a, b).equal is True
    c = parse_rules("IF x + 2*n <= 3.5 THEN Left\nOTHERWISE Right", FEATURES, ACTIONS)
    found = diff(a, c)
    assert found.equal is False
    assert found.only_a == ("1. IF e ≤ 3 THEN Left",)
    state = list(found.states[0].features.values())
    assert a.predict(state) != c.predict(state)


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_points_are_spread_evenly(dimensions: int) -> None:
    spread = spread_out(4000, dimensions)
    assert spread.shape == (4000, dimensions)
    halves = (spread < 0.5).all(axis=1).mean()
    assert abs(halves - 0.5**dimensions) < 0.01


def test_where_boxes_only_touch_the_text_says_that_rounding_decides() -> None:
    features = tuple(Feature(name, -10.0, 10.0, "real", clips=True) for name in "ab")
    text = "LET s = 0.1*a + 0.7*b\nLET d = 0.3*a - 0.3*b\nIF s = 0.3 AND d = 0.1 THEN Left\nOTHERWISE Right"
    rules = parse_rules(text, features, ("Left", "Right"))
    assert [reach.decides for reach in first_match(rules)] == [None, True]
    assert "1 other could not be decided" in str(verify(rules))
    found = diff(rules, rules.subset([1]))
    assert found.equal is None
    assert "at 1 facet only the rounding of sums decides" in str(found).replace("\n", " ")
