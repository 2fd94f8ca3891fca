from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import NULL_ACTION, DecisionList, Feature, PredictionArrayRules, RuleSet, StrengthRules
from ifthen.errors import RuleError
from tests import naive
from tests.rulesets import ACTIONS, LARGEST, all_states, rulesets, voting_rules

pytestmark = pytest.mark.oracle

STATES = all_states()
POINTS = STATES.astype(np.float64)
X = (Feature("x", 0, 9),)
COLUMNS: dict[str, Any] = {
    "weights": [[0.1, 0.2], [0.0, 0.5]],
    "fitness": [0.75, 0.25],
    "errors": [0.125, 0.0],
    "numerosity": [3, 1],
    "experience": [7, 0],
}


def two(bounds: Any = ([[0, 9]], [[9, 5]]), actions: Any = (0, 1), **columns: Any) -> PredictionArrayRules:
    """Return two rules over x, their columns as above but for what is given."""
    return PredictionArrayRules(bounds, actions, X, ("a", "b", "c"), **{**COLUMNS, **columns})


def expected_array(ruleset: PredictionArrayRules, state: Any) -> list[float]:
    return naive.prediction_array(
        ruleset.bounds.tolist(),
        ruleset.actions.tolist(),
        ruleset.fitness.tolist(),
        ruleset.weights.tolist(),
        ruleset.x0,
        state,
        len(ruleset.action_names),
    )


@given(voting_rules())
def test_prediction_arrays_are_the_oracles_and_nan_where_no_rule_advocates(
    ruleset: PredictionArrayRules,
) -> None:
    found = ruleset.prediction_array(STATES)
    assert found.shape == (len(STATES), len(ACTIONS))
    np.testing.assert_array_equal(found, [expected_array(ruleset, s) for s in STATES.tolist()])
    advocated = [
        [
            any(naive.matches(box, s) for box in ruleset.bounds[ruleset.actions == a].tolist())
            for a in range(3)
        ]
        for s in STATES.tolist()
    ]
    assert (~np.isnan(found)).tolist() == advocated
    np.testing.assert_array_equal(ruleset.prediction_array(STATES[9]), found[9])


@given(voting_rules(LARGEST))
def test_the_action_predicted_to_pay_most_is_chosen_the_lowest_among_equals(
    ruleset: PredictionArrayRules,
) -> None:
    chosen, _ = ruleset.choose(POINTS)
    assert chosen.tolist() == [naive.best_predicted(expected_array(ruleset, s)) for s in STATES.tolist()]


@given(voting_rules())
def test_the_deciding_rule_is_the_fittest_advocate_the_first_among_equals(
    ruleset: PredictionArrayRules,
) -> None:
    chosen, deciders = ruleset.choose(POINTS)
    for state, action, decider in zip(STATES.tolist(), chosen.tolist(), deciders.tolist(), strict=True):
        matching = naive.match_set(ruleset.bounds.tolist(), state)
        advocates = [r for r in matching if ruleset.actions[r] == action]
        assert decider == min(advocates, key=lambda r: (-ruleset.fitness[r], r), default=-1)
        assert (action == NULL_ACTION) == (not matching)


@given(voting_rules(), st.integers(0, len(STATES) - 1))
def test_every_rule_predicts_as_the_oracle_matching_or_not(ruleset: PredictionArrayRules, s: int) -> None:
    found = ruleset.predictions(POINTS[s : s + 1])
    state = STATES[s].tolist()
    assert found[0].tolist() == [naive.prediction(w, ruleset.x0, state) for w in ruleset.weights.tolist()]


def test_a_prediction_array_by_hand() -> None:
    # At x = 6 the first rule predicts 0.1·10 + 0.2·6 = 2.2 and the second 3; at x = 2 only the first matches.
    np.testing.assert_allclose(
        two().prediction_array([[6], [2]]), [[2.2, 3.0, math.nan], [1.4] + [math.nan] * 2]
    )
    assert two().predict([[6], [2]]).tolist() == [1, 0]
    # Together for one action: (0.75·2.2 + 0.25·3)/1 = 2.4.
    np.testing.assert_allclose(two(actions=[2, 2]).prediction_array([6]), [math.nan, math.nan, 2.4])


def test_an_unfit_rule_with_a_high_prediction_does_not_outvote_a_fit_one() -> None:
    everywhere = [[[0, 9]]] * 3
    weights = [[1.0, 0.0], [0.0, 0.0], [0.2, 0.0]]  # payoffs 10, 0 and 2
    columns = {"errors": [0] * 3, "numerosity": [1] * 3, "experience": [1] * 3, "weights": weights}
    unfit = two(everywhere, [0, 0, 1], fitness=[0.1, 0.9, 0.5], **columns)  # a is worth 1
    fit = two(everywhere, [0, 0, 1], fitness=[0.9, 0.1, 0.5], **columns)  # a is worth 9
    assert [unfit.predict([5]), fit.predict([5])] == [1, 0]
    assert unfit.choose(np.array([[5.0]]))[1].tolist() == [2]


def test_where_nothing_matches_there_is_no_action_and_no_decider() -> None:
    narrow = two([[[0, 3]], [[2, 4]]])
    chosen, deciders = narrow.choose(np.array([[7.0], [4.0]]))
    assert (chosen.tolist(), deciders.tolist()) == ([NULL_ACTION, 1], [-1, 1])
    assert np.isnan(narrow.prediction_array([7])).all()


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_another_shape_or_not_finite_are_refused_by_name(name: str) -> None:
    good = np.array(COLUMNS[name], dtype=np.float64)
    for wrong in (good[:1], good[..., None], np.stack([good, good])):
        with pytest.raises(RuleError, match=rf"{name} must have shape \(2,"):
            two(**{name: wrong})
    for number in (math.nan, math.inf, -math.inf):
        bad = good.copy()
        bad.flat[-1] = number
        with pytest.raises(RuleError, match=f"{name} must be finite"):
            two(**{name: bad})
    with pytest.raises(RuleError, match=f"{name} must be numbers"):
        two(**{name: "many"})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"fitness": [0.5, 0.0]}, "fitness must be positive"),
        ({"fitness": [-0.5, 1.0]}, "fitness must be positive"),
        ({"errors": [0.0, -1e-9]}, "errors must be at least 0, not -1e-09"),
        ({"numerosity": [0, 2]}, "numerosity must be at least 1, not 0"),
        ({"experience": [3, -1]}, "experience must be at least 0, not -1"),
        ({"x0": math.nan}, "x0 must be finite"),
        ({"x0": [1.0]}, "x0 must have shape"),
    ],
)
def test_impossible_columns_are_refused_by_name(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        two(**columns)


@given(voting_rules())
def test_plain_data_through_json_gives_back_every_column(ruleset: PredictionArrayRules) -> None:
    again = RuleSet.from_dict(json.loads(json.dumps(ruleset.to_dict())))
    assert isinstance(again, PredictionArrayRules)
    assert again == ruleset
    for name in ("bounds", "actions", *COLUMNS):
        np.testing.assert_array_equal(getattr(again, name), getattr(ruleset, name), err_msg=name)
    assert again.x0 == ruleset.x0
    np.testing.assert_array_equal(again.prediction_array(POINTS), ruleset.prediction_array(POINTS))


@pytest.mark.parametrize("name", [*COLUMNS, "x0"])
def test_rulesets_that_differ_in_one_column_are_not_equal(name: str) -> None:
    other = 9.0 if name == "x0" else np.array(COLUMNS[name]) * 2
    assert two() == two()
    assert two(**{name: other}) != two()


@pytest.mark.parametrize("name", ["weights", "fitness", "error", "numerosity", "experience"])
def test_plain_data_without_one_of_a_rules_columns_is_refused_naming_it(name: str) -> None:
    data = two().to_dict()
    del data["rules"][1][name]
    with pytest.raises(RuleError, match=f"'prediction-array' needs '{name}'"):
        RuleSet.from_dict(data)


def test_plain_data_without_x0_is_refused() -> None:
    data = two().to_dict()
    del data["x0"]
    with pytest.raises(RuleError, match="needs 'x0'"):
        RuleSet.from_dict(data)


def test_a_rules_notes_are_its_least_and_largest_payoff_and_its_error() -> None:
    # From 1 + 0.2·0 to 1 + 0.2·9, and from 4.5 (at 9 or 5) to 2.5, whichever way the payoff slopes.
    assert [two().rule_notes(r) for r in range(2)] == ["1.00…2.80 ± 0.12", "2.50…4.50 ± 0.00"]
    assert str(two()).splitlines()[1] == "2. IF x ≥ 5 THEN b  (2.50…4.50 ± 0.00)"


def test_a_table_has_one_row_per_rule_with_all_it_carries() -> None:
    table = two().to_table()
    assert table.to_dict(as_series=False) == {
        "rule": [1, 2],
        "x_low": [0, 5],
        "x_high": [9, 9],
        "action": ["a", "b"],
        "weights": [[0.1, 0.2], [0.0, 0.5]],
        "fitness": [0.75, 0.25],
        "error": [0.125, 0.0],
        "numerosity": [3, 1],
        "experience": [7, 0],
    }


# Subsets, of every kind of ruleset.


@given(rulesets(), st.data())
def test_a_subset_has_the_rules_asked_for_in_the_order_given(ruleset: RuleSet, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, len(ruleset) - 1), min_size=1, max_size=12))
    some = ruleset.subset(numbers)
    whole = ruleset.to_dict()
    assert type(some) is type(ruleset)
    assert some.to_dict() == {**whole, "rules": [whole["rules"][r] for r in numbers]}


@given(rulesets())
def test_the_subset_of_all_rules_is_the_ruleset(ruleset: RuleSet) -> None:
    assert ruleset.subset(np.arange(len(ruleset))) == ruleset


ONE_OF_EACH: list[RuleSet] = [
    DecisionList([[[0, 3]], [[2, 9]]], [0, 1], X, ("a", "b")),
    StrengthRules([[[0, 3]], [[2, 9]]], [0, 1], X, ("a", "b"), np.zeros((2, 2)), [0.0, 1.0]),
    two(),
]


@pytest.mark.parametrize("ruleset", ONE_OF_EACH, ids=lambda ruleset: ruleset.kind)
@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([2], "numbered 0 to 1"),
        ([0, -1], "numbered 0 to 1"),
        ([], "numbers of some rules"),
        (np.zeros(0, dtype=np.int64), "numbers of some rules"),
        (1, "numbers of some rules"),
        ([[0, 1]], "numbers of some rules"),
        ([0.0], "numbers of some rules"),
        ([True, False], "numbers of some rules"),  # a mask, not numbers
        (["0"], "numbers of some rules"),
    ],
)
def test_a_subset_of_rules_that_do_not_exist_is_refused(ruleset: RuleSet, numbers: Any, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        ruleset.subset(numbers)


def test_subsets_of_decision_lists_decide_by_the_new_order() -> None:
    first, *_ = ONE_OF_EACH
    assert [first.predict([3]), first.subset([1, 0]).predict([3])] == [0, 1]
