"""Simplified rulesets choose the same, everywhere that matters, and no step was left to take."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import DecisionList, Feature, PredictionArrayRules, RuleSet, StrengthRules, TabularTask
from ifthen.errors import ParameterError, RuleError
from ifthen.simplify.lossless import BY_REASONING, Draft, Intervals
from ifthen.simplify.prune import prune
from ifthen.simulate.scope import all_vectors, where_in_words
from ifthen.simulate.table_simulator import policy_table
from tests.rulesets import ACTIONS, FEATURES, all_states, rulesets
from tests.worlds import small_lake

POINTS = all_states().astype(np.float64)
REAL = (Feature("u", 0.0, 1.0, "real"), Feature("n", 0, 3))
INTERVALS = st.sampled_from(["short", "tight", "keep"])


def chosen(ruleset: RuleSet, points: Any = POINTS) -> list[int]:
    """Return the actions, one point at a time."""
    return [ruleset.predict(point) for point in np.asarray(points)]


@st.composite
def real_lists(draw: st.DrawFn) -> DecisionList:
    """Draw decision lists over a real and an integer feature, with few different edges."""
    n = draw(st.integers(1, 6))
    edges = st.sampled_from([0.0, 0.25, np.nextafter(0.25, 1), 0.5, 1.0])
    bounds = [
        [[draw(edges), draw(edges)], [draw(st.integers(0, 3)), draw(st.integers(0, 3))]] for _ in range(n)
    ]
    actions = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    return DecisionList(np.array(bounds), actions, REAL, ("a", "b"))


def real_points() -> list[tuple[float, int]]:
    """Return a point of every cell that the edges above can make."""
    cuts = [0.0, 0.25, float(np.nextafter(0.25, 1)), 0.5, 1.0]
    return list(itertools.product([*cuts, 0.1, 0.3, 0.7], range(4)))


@given(rulesets(), INTERVALS)
def test_no_action_changes_anywhere_without_a_task(ruleset: RuleSet, intervals: Intervals) -> None:
    found = prune(ruleset, intervals=intervals)
    assert chosen(found.ruleset) == chosen(ruleset)
    assert type(found.ruleset) is type(ruleset)


@given(rulesets(), INTERVALS)
def test_the_numbers_add_up_and_no_rule_is_left_that_can_be_dropped(
    ruleset: RuleSet, intervals: Intervals
) -> None:
    found = prune(ruleset, intervals=intervals)
    assert found.removed is not None
    assert found.merged is not None
    assert len(found.given) - found.removed - found.merged == len(found.ruleset) <= len(ruleset)
    for r in range(len(found.ruleset) if len(found.ruleset) > 1 else 0):
        others = [other for other in range(len(found.ruleset)) if other != r]
        if intervals != "tight":  # trimming may leave points to a rule that could then stand alone
            assert chosen(found.ruleset.subset(others)) != chosen(found.ruleset)


def test_short_intervals_drop_what_makes_no_difference_and_trim_the_rest() -> None:
    # The first rule's v makes no difference, as nobody else speaks for u ≤ 0; the last decides what is left.
    rules = DecisionList(
        [[[-3, 0], [1, 5]], [[-3, 2], [0, 6]], [[-1, 4], [0, 5]]], [1, 1, 0], FEATURES, ACTIONS
    )
    states = np.array([[u, v] for u in range(-3, 5) for v in range(6)])
    found = prune(rules, intervals="short").ruleset
    assert str(found) == "1. IF u ≤ 2 THEN Down\n2. IF v ≤ 5 THEN Left"
    assert chosen(found, states) == chosen(rules, states)


def test_tight_intervals_are_no_wider_than_what_a_rule_decides() -> None:
    rules = DecisionList([[[-3, 0], [0, 6]], [[-3, 4], [0, 5]]], [1, 0], FEATURES, ACTIONS)
    assert prune(rules, intervals="tight").ruleset.bounds.tolist() == [[[-3, 0], [0, 6]], [[1, 4], [0, 5]]]


@given(rulesets())
def test_kept_intervals_are_those_of_the_rules_or_hulls_of_them(ruleset: RuleSet) -> None:
    lows, highs = set(ruleset.bounds[..., 0].ravel()), set(ruleset.bounds[..., 1].ravel())
    found = prune(ruleset, intervals="keep").ruleset
    assert set(found.bounds[..., 0].ravel()) <= lows
    assert set(found.bounds[..., 1].ravel()) <= highs


@given(real_lists(), INTERVALS)
def test_lists_over_real_features_choose_the_same_in_every_cell(
    ruleset: DecisionList, intervals: Intervals
) -> None:
    found = prune(ruleset, intervals=intervals)
    assert chosen(found.ruleset, real_points()) == chosen(ruleset, real_points())
    assert found.proof == BY_REASONING
    assert chosen(prune(ruleset, to="list").ruleset, real_points()) == chosen(ruleset, real_points())


@pytest.mark.parametrize("kind", [DecisionList, StrengthRules, PredictionArrayRules])
@given(data=st.data())
def test_with_a_task_its_decision_states_are_what_counts(kind: type[RuleSet], data: st.DataObject) -> None:
    task = small_lake()
    ruleset = data.draw(rulesets(kind=kind, features=task.features, action_names=task.action_names))
    found = prune(ruleset, task)
    assert policy_table(found.ruleset, task).tolist() == policy_table(ruleset, task).tolist()
    assert found.where == where_in_words(ruleset, task)
    if (policy_table(ruleset, task) >= 0).any():
        converted = prune(ruleset, task, to="list").ruleset
        assert policy_table(converted, task).tolist() == policy_table(ruleset, task).tolist()
        assert isinstance(converted, DecisionList)


@given(rulesets())
def test_a_converted_list_chooses_the_same_everywhere_without_a_task(ruleset: RuleSet) -> None:
    if max(chosen(ruleset)) >= 0:
        assert chosen(prune(ruleset, to="list").ruleset) == chosen(ruleset)


def test_two_halves_are_merged_and_a_shadowed_rule_goes() -> None:
    halves = [[[-3, 0], [0, 6]], [[1, 4], [0, 6]], [[0, 2], [1, 2]]]
    found = prune(DecisionList(halves, [1, 1, 0], FEATURES, ACTIONS))
    assert str(found.ruleset) == "1. ALWAYS Down"
    assert (len(found.given), found.removed, found.merged) == (3, 1, 1)
    assert str(found) == (
        "3 rules became 1: 1 removed, 1 merged. The same is done at every observation with "
        "u from -3 to 4, v from 0 to 6 (checked at every one)."
    )


def test_pruning_that_leaves_out_no_rule_says_so() -> None:
    two = DecisionList([[[-3, 1], [0, 6]], [[-3, 4], [0, 6]]], [1, 0], FEATURES, ACTIONS)
    assert str(prune(two)) == "Nothing can be left out: 2 rules stay as before."
    loose = DecisionList([[[-3, 1], [0, 6]], [[-1, 4], [0, 6]]], [1, 0], FEATURES, ACTIONS)
    found = prune(loose)
    assert found.ruleset == two
    assert str(found) == (
        "2 rules: none can be left out or merged, only conditions changed. The same is done at every "
        "observation with u from -3 to 4, v from 0 to 6 (checked at every one)."
    )


def test_long_lists_over_large_spaces_are_reasoned_about_box_by_box() -> None:
    wide = (Feature("u", 0, 999), Feature("v", 0, 999))
    halves = [[[0, 499], [0, 999]], [[500, 999], [0, 999]], [[3, 7], [2, 900]]]
    found = prune(DecisionList(halves, [1, 1, 0], wide, ACTIONS))
    assert str(found.ruleset) == "1. ALWAYS Down"
    assert found.proof == BY_REASONING
    weights = [[0.0, 0.0, 0.0]] * 30
    many = StrengthRules([halves[0]] * 30, [0] * 30, wide, ACTIONS, weights, [0.0] * 30)
    with pytest.raises(RuleError, match="too many to look at"):
        prune(many)


def test_strengths_over_real_features_are_refused_without_a_task() -> None:
    boxes = np.array([[[0.0, 1.0], [0, 3]]] * 2)
    crossing = [[0.0, 1.0, 0.0], [0.05, 0.0, 0.0]]  # which is stronger depends on the point
    ruleset = StrengthRules(boxes, [0, 1], REAL, ("a", "b"), crossing, [0.0, 0.0])
    for form in (None, "list"):
        with pytest.raises(RuleError, match="Give the task"):
            prune(ruleset, to=form)


def test_a_ruleset_that_matches_nothing_of_a_task_cannot_be_converted(lake: TabularTask) -> None:
    hole = [[[1, 1], [1, 1]]]
    ruleset = DecisionList(hole, [0], lake.features, lake.action_names)
    assert (policy_table(ruleset, lake) < 0).all()
    with pytest.raises(RuleError, match="nothing to convert"):
        prune(ruleset, lake, to="list")


@pytest.fixture
def lake() -> TabularTask:
    return small_lake()


@given(rulesets(), st.data())
def test_a_change_is_taken_when_and_only_when_no_action_changes(
    ruleset: RuleSet, data: st.DataObject
) -> None:
    r = data.draw(st.integers(0, len(ruleset) - 1))
    box = np.array(
        [sorted(data.draw(st.tuples(*[st.integers(f.low, f.high)] * 2))) for f in ruleset.features]
    )
    draft = Draft(ruleset, POINTS)
    bounds = ruleset.bounds.copy()
    bounds[r] = box
    same = chosen(ruleset.with_bounds(bounds)) == chosen(ruleset)
    assert draft.attempt({r: box}) == same
    assert (draft.bounds[r] == (box if same else ruleset.bounds[r])).all()


def test_vectors_are_all_and_in_order_and_too_many_are_none() -> None:
    assert all_vectors((Feature("a", 0, 1), Feature("b", 3, 4))).tolist() == [[0, 3], [0, 4], [1, 3], [1, 4]]  # type: ignore[union-attr]  # few
    assert all_vectors((Feature("a", 0, 9), Feature("b", 0, 9)), max_vectors=99) is None
    assert all_vectors(REAL) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "tree"}, "to must be 'list'"),
        ({"intervals": "long"}, "intervals must be"),
        ({"effort": "huge"}, "effort must be"),
        ({"rules": 0}, "rules must be a whole number from 1"),
        ({"performance": float("nan")}, "performance must be a number"),
        ({"rules": 2, "performance": 0.5}, "rules and performance are different ways to prune"),
        ({"to": "list", "method": "greedy"}, "to and method are different ways to prune"),
        ({"tests": 2, "method": "greedy"}, "method and tests are different ways to prune"),
        ({"polish": True}, "polish belongs to rules, tests or performance on a table"),
        ({"loss": 1.0}, "loss belongs to pruning by play .* in an environment"),
        ({"rules": 2, "episodes": 3}, "episodes belongs to .* in an environment"),
        ({"rules": 2, "intervals": "keep"}, "intervals belongs to pruning that changes no action"),
        ({"to": "list", "intervals": "tight"}, "intervals belongs to .* making a decision list"),
        ({"effort": "normal"}, "effort belongs to making a decision list"),
        ({"method": "greedy", "effort": "normal"}, "effort belongs to .* method='greedy', which does not"),
        ({"rho": 0.2}, "rho belongs to method='gnmc'"),
        ({"method": "greedy", "rho": 0.2}, "rho belongs to method='gnmc'"),
        ({"to": "list", "polish": True}, "polish belongs to"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_any_work(
    options: dict[str, Any], message: str, lake: TabularTask
) -> None:
    ruleset = DecisionList([[[0, 3], [0, 3]]], [0], lake.features, lake.action_names)
    with pytest.raises(ParameterError, match=message):
        prune(ruleset, lake, **options)
