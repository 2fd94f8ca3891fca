"""The ladder: every rung is measured rightly, begins with the policy itself and ends with one rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ifthen import DecisionList, ParameterError, RuleSet, TabularTask, evaluate
from ifthen.simplify.ladder import Ladder, ladder, one_rule_less, small_changes
from ifthen.simulate.table import policy_table
from tests.rulesets import rulesets
from tests.worlds import small_lake

LAKE = small_lake()


def rungs_of(ruleset: RuleSet, task: TabularTask = LAKE, polish: bool = False) -> Ladder:
    assume((policy_table(ruleset, task) >= 0).any())
    return ladder(ruleset, task, polish)


@settings(max_examples=30)
@given(rulesets(features=LAKE.features, action_names=LAKE.action_names), st.booleans())
def test_every_rung_has_the_performance_that_evaluation_gives_it(ruleset: RuleSet, polish: bool) -> None:
    found = rungs_of(ruleset, polish=polish)
    given_ = policy_table(ruleset, LAKE)
    for rung in found.rungs:
        measured = evaluate(rung.ruleset, LAKE, "exact")
        assert rung.performance == pytest.approx(measured.performance, abs=1e-12)
        assert rung.fraction == pytest.approx(measured.fraction, abs=1e-12)
        assert rung.changed == int((policy_table(rung.ruleset, LAKE) != given_).sum())


@settings(max_examples=30)
@given(rulesets(features=LAKE.features, action_names=LAKE.action_names))
def test_the_first_rung_does_the_same_and_each_has_a_rule_less(ruleset: RuleSet) -> None:
    found = rungs_of(ruleset)
    assert found.rungs[0].changed == 0
    assert found.performance == pytest.approx(found.rungs[0].performance, abs=1e-12)
    assert [len(rung.ruleset) for rung in found.rungs] == list(range(len(found.rungs[0].ruleset), 0, -1))
    assert len(found.rungs[0].ruleset) <= len(ruleset) or not isinstance(ruleset, DecisionList)


@settings(max_examples=20)
@given(rulesets(DecisionList, LAKE.features, LAKE.action_names))
def test_no_other_way_to_take_one_rule_away_would_have_been_better(ruleset: RuleSet) -> None:
    found = rungs_of(ruleset)
    for above, below in itertools.pairwise(found.rungs):
        others = [evaluate(other, LAKE, "exact").performance for other in one_rule_less(above.ruleset)]
        assert below.performance == pytest.approx(max(others), abs=1e-12)


@settings(max_examples=10)
@given(rulesets(DecisionList, LAKE.features, LAKE.action_names))
def test_no_small_change_improves_a_polished_rung(ruleset: RuleSet) -> None:
    for rung in rungs_of(ruleset, polish=True).rungs:
        best = max(evaluate(other, LAKE, "exact").performance for other in small_changes(rung.ruleset))
        assert best <= rung.performance + 1e-12


def test_ways_to_take_one_rule_away_are_drops_and_merges_and_a_last_rule_stays_for_the_rest() -> None:
    whole = [[0, 3], [0, 3]]
    rules = DecisionList(
        [[[0, 0], [0, 1]], [[2, 3], [2, 2]], whole], [1, 1, 2], LAKE.features, LAKE.action_names
    )
    shorter = {tuple(str(other).splitlines()) for other in one_rule_less(rules)}
    assert shorter == {
        ("1. IF x ≥ 2 AND y = 2 THEN Down", "2. OTHERWISE Right"),
        ("1. IF x = 0 AND y ≤ 1 THEN Down", "2. OTHERWISE Right"),
        ("1. IF x = 0 AND y ≤ 1 THEN Down", "2. OTHERWISE Down"),
        ("1. IF y ≤ 2 THEN Down", "2. OTHERWISE Right"),
    }


def shortest_ladder() -> Ladder:
    """Return the ladder of an optimal policy for the small lake."""
    from ifthen.simplify.shortest.lists import shortest_decision_list

    return ladder(shortest_decision_list(LAKE, "quick").rules, LAKE)


def test_a_rung_is_chosen_by_number_of_rules_or_by_performance() -> None:
    found = shortest_ladder()
    assert found.with_rules(99) == found.rungs[0]
    for most in range(1, len(found.rungs) + 1):
        rung = found.with_rules(most)
        assert str(rung).startswith(f"{len(rung.ruleset)} rule")
        assert len(rung.ruleset) <= most
        assert rung.performance == max(r.performance for r in found.rungs if len(r.ruleset) <= most)
    for least in [rung.performance for rung in found.rungs]:
        rung = found.with_performance(least)
        assert rung.performance >= least
        assert len(rung.ruleset) == min(len(r.ruleset) for r in found.rungs if r.performance >= least)
    with pytest.raises(ParameterError, match="at least one rule"):
        found.with_rules(0)
    with pytest.raises(ParameterError, match="no rung performs"):
        found.with_performance(2.0)


def test_table_text_and_picture_tell_the_same_numbers() -> None:
    found = shortest_ladder()
    table = found.to_table()
    assert table["rules"].to_list() == [len(rung.ruleset) for rung in found.rungs]
    lines = str(found).splitlines()[2:]
    assert [float(line.split()[1]) for line in lines] == pytest.approx(
        table["performance"].to_list(), abs=6e-5
    )
    drawn = found.figure().axes[0].lines[1]
    np.testing.assert_array_equal(drawn.get_ydata(), table["performance"].to_numpy())
    np.testing.assert_array_equal(drawn.get_xdata(), table["rules"].to_numpy())
