"""Structured Text: the function chooses as the rules do, and parsers of the language take it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen import DecisionList, Feature, RuleSet, export_device
from ifthen.exports import export
from tests.explanation.policies import INTEGER_RULES, real_rules, telling_points
from tests.exports.structured_text import function_of
from tests.rules.test_cyclic import POINTS, rulesets
from tests.rulesets import all_states


@given(INTEGER_RULES)
@settings(max_examples=15)
def test_it_chooses_the_same_in_every_integer_state(ruleset: RuleSet) -> None:
    action, states = function_of(export(ruleset, "st")), all_states()
    assert [action(*state) for state in states.tolist()] == ruleset.predict(states).tolist()


@given(rulesets())
@settings(max_examples=15)
def test_it_chooses_the_same_where_intervals_wrap(ruleset: RuleSet) -> None:
    action = function_of(export(ruleset, "st"))
    assert [action(*state) for state in POINTS.tolist()] == ruleset.predict(POINTS).tolist()


@given(real_rules(kinds=(DecisionList,)))
@settings(max_examples=20)
def test_it_chooses_the_same_at_interval_ends_and_next_to_them(ruleset: RuleSet) -> None:
    action, points = function_of(export(ruleset, "st")), telling_points(ruleset, 200)
    assert [action(*point) for point in points.tolist()] == ruleset.predict(points).tolist()


def test_it_answers_nothing_outside_the_ranges() -> None:
    action = function_of(export(DecisionList([[[0, 7]]], [0], [Feature("x", 0, 7)], ["a"]), "st"))
    assert [action(x) for x in (-1, 0, 7, 8)] == [-1, 0, 0, -1]


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=8),
        min_size=1,
        max_size=5,
        unique=True,
    )
)
@settings(max_examples=40)
def test_any_names_become_inputs_that_differ_without_capitals(names: list[str]) -> None:
    features = [Feature(name, 0, 1) for name in [*names, "IF ", "if", "IfthenAction", "a__b"]]
    text = export(DecisionList([[[0, 1]] * len(features)], [0], features, ["(* go *)"]), "st")
    inputs = re.findall(r"^    (\w+) : LREAL;$", text, re.M)
    assert len({name.lower() for name in inputs}) == len(features)
    assert not {"if", "ifthenaction"} & set(inputs)
    assert all(re.fullmatch(r"[a-z]([a-z0-9]|_(?!_|$))*", name) for name in inputs)
    assert function_of(text)(*[0] * len(features)) == 0


@pytest.mark.parametrize("numbers", ["float64", "float32", "int16", "int32"])
def test_a_parser_of_the_language_takes_it(numbers: str) -> None:
    parse = pytest.importorskip("blark.parse").parse_source_code
    features = [
        Feature("x", -2.4, 2.4, "real", clips=True),
        Feature("course", 0.0, 360.0, "real", cyclic=True),
    ]
    bounds: Any = [[[1e-7, 2], [300.5, 60]], [[-2.4, 2.4], [0, 360]]]
    rules = DecisionList(bounds, [1, 0], features, ["a", "b (*"])
    for text in export_device(rules, "st", numbers).files.values():
        assert parse(text).exception is None
    with pytest.raises(Exception, match="not successfully parsed"):
        parse(export(rules, "st").replace("THEN", "TEN")).transform()
