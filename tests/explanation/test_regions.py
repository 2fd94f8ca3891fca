"""When each action is taken: words and shares against points of the space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import ifthen
from ifthen.explanation.regions import action_regions
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature
from ifthen.rules.ruleset import RuleSet
from tests.explanation.policies import real_rules

X, Y = Feature("x", 0.0, 10.0, "real"), Feature("y", 0, 4)
BOXES: Any = [[[2, 3], [0, 4]], [[0, 5], [0, 1]], [[2.2, 2.8], [0, 4]], [[0, 10], [0, 4]]]
RULES = DecisionList(BOXES, [0, 1, 1, 0], [X, Y], ["rest", "work", "stop"])


def test_each_action_has_its_conditions_its_share_and_what_comes_before() -> None:
    found = action_regions(RULES, steps=[0.1, 0.2, 0.0, 0.7])
    rest, work = found.actions
    assert rest.when == ("x in [2, 3] (rule 1)", "everywhere else (rule 4)")
    assert work.when == ("x ≤ 5 AND y ≤ 1, unless rule 1 matches (rule 2)",)
    assert work.share == pytest.approx(4 / 10 * 2 / 5)
    assert rest.share == pytest.approx(1 - 4 / 10 * 2 / 5)
    assert [rest.steps, work.steps] == pytest.approx([0.8, 0.2])
    assert found.exact
    assert found.never == ("stop",)
    assert "Never taken: stop." in str(found)


@given(rules=real_rules(kinds=(DecisionList,)))
@settings(max_examples=15)
def test_exact_shares_are_those_of_many_points(rules: RuleSet) -> None:
    found = action_regions(rules)
    assert sum(own.share for own in found.actions) == pytest.approx(1.0)
    drawn = np.random.default_rng(0)
    columns = [
        drawn.integers(f.low, f.high, 20_000, endpoint=True)
        if f.is_integer
        else drawn.uniform(f.low, f.high, 20_000)
        for f in rules.features
    ]
    chosen = rules.predict(np.stack(columns, axis=1).astype(np.float64))
    for own in found.actions:
        number = rules.action_names.index(own.action) if own.action in rules.action_names else -1
        assert own.share == pytest.approx(float((chosen == number).mean()), abs=0.02)


def test_the_rest_of_one_rule_is_said_by_its_borders() -> None:
    rules = DecisionList([[[2, 3], [1, 4]], [[0, 10], [0, 4]]], [0, 1], [X, Y], ["rest", "work"])
    (work,) = [own for own in action_regions(rules).actions if own.action == "work"]
    assert work.words == "x < 2 OR x > 3 OR y < 1 (rule 2)"


def test_sums_are_drawn_and_tables_are_counted() -> None:
    tilted = ifthen.parse_rules(
        "IF x + 2*y <= 6 THEN a\nOTHERWISE b\n",
        features=[X, Feature("y", 0.0, 4.0, "real")],
        action_names=["a", "b"],
    )
    found = action_regions(tilted)
    assert not found.exact
    assert {own.action: own.share for own in found.actions}["a"] == pytest.approx(9 / 40, abs=0.01)
    assert "about" in str(found)
    lake = ifthen.frozen_lake(4)
    whole = [[(f.low, f.high) for f in lake.features]]
    counted = action_regions(DecisionList(whole, [1], lake.features, lake.action_names), lake)
    assert (counted.of, counted.exact, counted.actions[0].share) == ("decision states", True, 1.0)
    assert counted.never == ("Left", "Right", "Up")
