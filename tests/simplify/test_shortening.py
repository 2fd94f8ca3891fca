"""Shorter lists on a table: each is measured rightly, and no step costs more than it must."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ifthen import DecisionList, RuleSet, TabularTask, evaluate, front, prune
from ifthen.results import Front
from ifthen.simplify.lossless import decision_list_of
from ifthen.simplify.shortened import shortened
from ifthen.simplify.shortening import (
    Measure,
    down_by_rules,
    down_by_tests,
    one_rule_less,
    one_test_less,
    small_changes,
)
from ifthen.simulate.table_simulator import policy_table
from tests.rulesets import rulesets
from tests.worlds import small_lake

LAKE = small_lake()


def front_of(ruleset: RuleSet, polish: bool = False) -> Front:
    assume((policy_table(ruleset, LAKE) >= 0).any())
    return shortened(ruleset, LAKE, None, polish, 1, lambda _: None)


def measure_of(ruleset: RuleSet) -> tuple[DecisionList, Measure]:
    assume((policy_table(ruleset, LAKE) >= 0).any())
    return decision_list_of(ruleset, LAKE)[0], Measure(LAKE, policy_table(ruleset, LAKE), 1)


def exact(ruleset: RuleSet) -> float:
    return evaluate(ruleset, LAKE, "exact").performance


@settings(max_examples=12)
@given(rulesets(features=LAKE.features, action_names=LAKE.action_names), st.booleans())
def test_every_policy_has_the_score_that_evaluation_gives_it_and_none_is_lost(
    ruleset: RuleSet, polish: bool
) -> None:
    found = front_of(ruleset, polish)
    for point in found.points:
        assert point.score == pytest.approx(exact(point.ruleset), abs=1e-12)
    assert found.best.score >= exact(ruleset) - 1e-12
    assert found.points[0].tests == 0
    assert found.optimum == pytest.approx(evaluate(ruleset, LAKE, "exact").optimum)


@settings(max_examples=30)
@given(rulesets(features=LAKE.features, action_names=LAKE.action_names))
def test_going_down_by_rules_begins_with_the_same_actions_and_takes_one_rule_a_step(ruleset: RuleSet) -> None:
    start, measure = measure_of(ruleset)
    lists = list(down_by_rules(start, measure))
    np.testing.assert_array_equal(policy_table(lists[0], LAKE), policy_table(ruleset, LAKE))
    assert [len(rules) for rules in lists] == list(range(len(start), 0, -1))


@settings(max_examples=20)
@given(rulesets(DecisionList, LAKE.features, LAKE.action_names))
def test_no_other_way_to_take_a_rule_or_a_test_away_would_have_been_better(ruleset: RuleSet) -> None:
    start, measure = measure_of(ruleset)
    for above, below in itertools.pairwise(down_by_rules(start, measure)):
        assert exact(below) == pytest.approx(max(map(exact, one_rule_less(above))), abs=1e-12)
    for above, below in itertools.pairwise(down_by_tests(start, measure)):
        assert below.tests < above.tests
        assert exact(below) == pytest.approx(max(map(exact, one_test_less(above))), abs=1e-12)


@settings(max_examples=10)
@given(rulesets(DecisionList, LAKE.features, LAKE.action_names))
def test_no_small_change_improves_a_polished_list(ruleset: RuleSet) -> None:
    for rules in down_by_rules(*measure_of(ruleset), polish=True):
        assert max(map(exact, small_changes(rules))) <= exact(rules) + 1e-12


def some_list() -> DecisionList:
    whole = [[0, 3], [0, 3]]
    bounds = [[[0, 0], [0, 1]], [[2, 3], [2, 2]], whole]
    return DecisionList(bounds, [1, 1, 2], LAKE.features, LAKE.action_names)


def test_ways_to_take_one_rule_away_are_drops_and_merges_and_a_last_rule_stays_for_the_rest() -> None:
    shorter = {tuple(str(other).splitlines()) for other in one_rule_less(some_list())}
    assert shorter == {
        ("1. IF x ≥ 2 AND y = 2 THEN Down", "2. OTHERWISE Right"),
        ("1. IF x = 0 AND y ≤ 1 THEN Down", "2. OTHERWISE Right"),
        ("1. IF x = 0 AND y ≤ 1 THEN Down", "2. OTHERWISE Down"),
        ("1. IF y ≤ 2 THEN Down", "2. OTHERWISE Right"),
    }


def test_ways_to_take_a_test_away_all_have_fewer_tests() -> None:
    rules = some_list()
    assert rules.tests == 4
    found = list(one_test_less(rules))
    assert {other.tests for other in found} <= {1, 2, 3}
    assert "IF x = 0 THEN Down" in {other.rule_in_words(0) for other in found}
    assert "IF y ≤ 1 THEN Down" in {other.rule_in_words(0) for other in found}


def optimal(task: TabularTask) -> DecisionList:
    from ifthen.simplify.shortest.shortest_list import shortest_decision_list

    return shortest_decision_list(task, "quick").rules


def test_pruning_takes_the_best_of_the_front_within_rules_and_tests() -> None:
    rules = optimal(LAKE)
    found = front(rules, LAKE)
    for most in (1, 2, len(rules)):
        taken = prune(rules, LAKE, rules=most)
        assert len(taken.ruleset) <= most
        assert taken.performance == pytest.approx(found.at(rules=most).score)
        assert taken.performance_given == pytest.approx(exact(rules))
        assert str(taken).startswith(f"{len(taken.ruleset)} rule")
    for most in (0, 3):
        taken = prune(rules, LAKE, tests=most)
        assert taken.ruleset.tests <= most
        assert taken.performance == pytest.approx(found.at(tests=most).score)
    third = found.points[2]
    assert prune(rules, LAKE, performance=third.score).ruleset.tests <= third.tests
    assert len(prune(rules, LAKE, rules=2, tests=1).ruleset) <= 2


def test_a_front_on_a_table_is_measured_exactly_and_lays_a_tree_beside_each_list() -> None:
    found = front(optimal(LAKE), LAKE)
    assert found.valued == "exact performance"
    for point in found.points:
        assert point.value == pytest.approx(point.score)
        assert point.interval is None
        assert point.nodes is not None
        assert point.nodes % 2 == 1  # a tree with k questions has k + 1 leaves
    assert found.points[0].nodes == 1
    assert found.marked in found.points
    assert "of the optimum" in str(found)
