"""Decision lists as boxes: who decides where, who never does, and whether two lists do the same."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import DecisionList, Feature
from ifthen.rules.boxes.cover import coverage
from ifthen.rules.boxes.list_analysis import Difference, Reach, compare, first_match, overlaps
from tests import naive_explain
from tests.box_spaces import ACTIONS, SHARE, Boxes, axes_of, lies_in, lists, only, plain


@pytest.mark.oracle
@given(lists())
def test_rules_decide_where_every_cell_says(drawn: tuple[DecisionList, Boxes]) -> None:
    ruleset, _ = drawn
    decided = naive_explain.decided_shares(axes_of(ruleset.features, []), plain(ruleset))
    for reach in first_match(ruleset):
        cells, share = decided.get(reach.rule, (0, 0))
        assert reach.decides is (cells > 0)
        assert reach.share == pytest.approx(float(share), abs=SHARE)
        check_witness(ruleset, reach)


def check_witness(ruleset: DecisionList, reach: Reach) -> None:
    if reach.decides:
        assert reach.witness is not None
        _, deciders = ruleset.choose(np.array([reach.witness], dtype=np.float64))
        assert deciders.tolist() == [reach.rule]
    else:
        assert reach.witness is None


def reach_all(ruleset: DecisionList) -> list[tuple[float, float]]:
    return [(feature.low, feature.high) for feature in ruleset.features]


@given(lists())
def test_a_dead_rule_is_covered_by_those_that_shadow_it_and_by_no_fewer(
    drawn: tuple[DecisionList, Boxes],
) -> None:
    ruleset, _ = drawn
    for reach in first_match(ruleset):
        if reach.decides:
            assert reach.shadowed_by == ()
            continue
        assert reach.shadowed_by
        assert max(reach.shadowed_by) < reach.rule
        box, shadow = ruleset.bounds[reach.rule], ruleset.bounds[list(reach.shadowed_by)]
        assert coverage(shadow, ruleset.features, within=box).complete is True
        for left_out in range(len(shadow)):
            fewer = np.delete(shadow, left_out, axis=0)
            assert coverage(fewer, ruleset.features, within=box).complete is False


@given(lists(), st.integers(1, 60))
def test_rules_are_called_dead_or_alive_only_where_it_is_known(
    drawn: tuple[DecisionList, Boxes], budget: int
) -> None:
    ruleset, _ = drawn
    for exact, found in zip(first_match(ruleset), first_match(ruleset, budget=budget), strict=True):
        assert found.decides in (None, exact.decides)
        assert found.share is None or found.share == exact.share
        assert found.decides is not None or found.share is None
        if found.decides:
            check_witness(ruleset, found)
        if found.decides is False:
            shadow = ruleset.bounds[list(found.shadowed_by)]
            covered = coverage(shadow, ruleset.features, within=ruleset.bounds[found.rule])
            assert covered.complete is True


def middle_and_sides() -> DecisionList:
    """Return a list whose last rule is dead by its second and third; the first fills most of it."""
    bounds = [[[2, 7]], [[0, 4]], [[5, 9]], [[0, 9]]]
    return DecisionList(bounds, [0, 1, 2, 0], (Feature("x", 0, 9),), ACTIONS)


def test_a_rule_that_a_proof_used_but_does_not_need_is_left_out() -> None:
    last = first_match(middle_and_sides())[-1]
    assert (last.decides, last.shadowed_by) == (False, (1, 2))


def test_a_shadow_holds_all_needed_rules_at_any_budget() -> None:
    for budget in range(1, 200):
        last = first_match(middle_and_sides(), budget=budget)[-1]
        assert last.decides is None or {1, 2} <= set(last.shadowed_by)


def check_difference(a: DecisionList, b: DecisionList, within: Boxes, found: Difference) -> None:
    if found.equal is False:
        assert found.witness is not None
        assert a.predict(found.witness) != b.predict(found.witness)
        assert naive_explain.first_box_at(found.witness, within or [reach_all(a)]) == 0
    else:
        assert found.witness is None


@pytest.mark.oracle
@given(lists(2))
def test_lists_are_equal_where_every_cell_says_so(drawn: tuple[DecisionList, DecisionList, Boxes]) -> None:
    a, b, within = drawn
    found = compare(a, b, within=only(within))
    axes = axes_of(a.features, within)
    equal = naive_explain.same_everywhere(axes, plain(a), a.actions.tolist(), plain(b), b.actions.tolist())
    assert found.equal is equal
    check_difference(a, b, within, found)


@given(lists(), st.randoms(use_true_random=False), st.integers(1, 40))
def test_a_list_equals_its_own_rewriting_but_not_a_change_that_matters(
    drawn: tuple[DecisionList, Boxes], random: Any, budget: int
) -> None:
    ruleset, _ = drawn
    reaches = first_match(ruleset)
    alive = [reach.rule for reach in reaches if reach.decides]
    slim = ruleset.subset(alive)
    assert compare(ruleset, slim).equal is True
    assert compare(ruleset, slim, budget=budget).equal in (True, None)
    changed = random.choice(alive)
    actions = ruleset.actions.copy()
    actions[changed] = (actions[changed] + 1) % len(ACTIONS)
    other = DecisionList(ruleset.bounds, actions, ruleset.features, ACTIONS)
    found = compare(ruleset, other)
    assert found.equal is False
    check_difference(ruleset, other, [], found)
    assert compare(ruleset, other, budget=budget).equal in (False, None)


@pytest.mark.parametrize(("d", "end"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_one_bound_of_one_rule_makes_a_difference(d: int, end: int) -> None:
    features = (Feature("x", 0, 9), Feature("y", 0, 9, "real"))
    bounds = np.array([[[2.0, 6.0], [2.0, 6.0]], [[0.0, 9.0], [0.0, 4.0]]])
    a = DecisionList(bounds, [0, 1], features, ACTIONS)
    bounds[0, d, end] += 1
    b = DecisionList(bounds, [0, 1], features, ACTIONS)
    found = compare(a, b)
    assert found.equal is False
    check_difference(a, b, [], found)


def test_a_comparison_that_gives_up_says_so() -> None:
    features = (Feature("x", 0, 9), Feature("y", 0, 9))
    quarters = [[[x, x + 4], [y, y + 4]] for x in (0, 5) for y in (0, 5)]
    a = DecisionList(quarters, [0, 1, 2, 0], features, ACTIONS)
    b = a.subset([3, 2, 1, 0])
    assert compare(a, b).equal is True
    assert compare(a, b, budget=2).equal is None


@given(lists())
def test_overlaps_are_all_pairs_that_meet_and_disagree(drawn: tuple[DecisionList, Boxes]) -> None:
    ruleset, _ = drawn
    points = [p for p, _ in naive_explain.all_cells(axes_of(ruleset.features, []), plain(ruleset))]
    matching = ruleset.matches(np.array(points, dtype=np.float64))
    expected = {
        (i, j)
        for i, j in itertools.combinations(range(len(ruleset)), 2)
        if ruleset.actions[i] != ruleset.actions[j] and (matching[:, i] & matching[:, j]).any()
    }
    found = overlaps(ruleset)
    assert set(found) == expected
    for pair, region in found.items():
        assert ruleset.matches(region.witness)[list(pair)].all()
        common = matching[:, pair].all(axis=1)
        assert [lies_in(point, region.box) for point in points] == common.tolist()
