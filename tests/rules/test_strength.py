from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import NULL_ACTION, Feature, StrengthRules
from ifthen.rules.strength import prediction, strengths_at
from tests import naive
from tests.rulesets import ACTIONS, FEATURES, all_states, learnt_of, rules

pytestmark = pytest.mark.oracle

STATES = all_states()
POINTS = STATES.astype(np.float64)
AXES = tuple(range(POINTS.shape[1]))
X = (Feature("x", 0, 9),)


@st.composite
def strong_rules(draw: st.DrawFn, largest: int = 8) -> StrengthRules:
    bounds, actions = draw(rules(largest))
    learnt = draw(learnt_of(len(actions)))
    return StrengthRules(bounds, actions, FEATURES, ACTIONS, learnt[:, :-1], learnt[:, -1])


def expected_actions(ruleset: StrengthRules) -> list[int]:
    learnt = np.column_stack([ruleset.weights, ruleset.variances]).tolist()
    bounds, actions = ruleset.bounds.tolist(), ruleset.actions.tolist()
    return [naive.strongest_action(bounds, actions, learnt, ruleset.x0, s) for s in STATES.tolist()]


@given(strong_rules())
def test_the_action_is_the_double_maximum_of_the_oracle(ruleset: StrengthRules) -> None:
    chosen, _ = ruleset.choose(POINTS)
    assert chosen.tolist() == expected_actions(ruleset)


@given(strong_rules())
def test_the_deciding_rule_matches_and_is_the_strongest_for_its_action(ruleset: StrengthRules) -> None:
    chosen, deciders = ruleset.choose(POINTS)
    matching, strengths = ruleset.matches(POINTS), ruleset.strengths(POINTS)
    for s in range(len(POINTS)):
        if deciders[s] < 0:
            assert chosen[s] == NULL_ACTION
            assert not matching[s].any()
        else:
            assert ruleset.actions[deciders[s]] == chosen[s]
            assert strengths[s, deciders[s]] == strengths[s][matching[s]].max()


@given(learnt_of(5), st.integers(0, len(STATES) - 1))
def test_predictions_and_strengths_equal_their_oracles(learnt: NDArray[np.float64], s: int) -> None:
    out = np.empty((1, 5))
    strengths_at(learnt, 10.0, POINTS[s : s + 1], AXES, out)
    state = STATES[s].tolist()
    assert out[0].tolist() == [naive.strength(row, 10.0, state) for row in learnt.tolist()]
    assert prediction(learnt, 3, 10.0, POINTS, s, AXES) == naive.prediction(
        learnt[3, :-1].tolist(), 10.0, state
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([-1.0, 0.0, 1.0])), min_size=1))
def test_ties_go_to_the_lowest_action_index(drawn: list[tuple[int, float]]) -> None:
    actions, strengths = [a for a, _ in drawn], [w for _, w in drawn]
    weights = [[w / 10, 0.0] for w in strengths]
    everywhere = [[[0, 9]]] * len(drawn)
    ruleset = StrengthRules(everywhere, actions, X, tuple("abcd"), weights, [0.0] * len(drawn))
    (chosen,), (decider,) = ruleset.choose(np.array([[3.0]]))
    assert chosen == naive.double_max(list(range(len(drawn))), actions, strengths)
    assert actions[decider] == chosen
    assert strengths[decider] == max(strengths)


def test_strength_by_hand_is_the_prediction_less_the_deviation() -> None:
    ruleset = StrengthRules(
        [[[0, 9]], [[0, 9]]], [0, 1], X, ("a", "b"), [[0.1, 0.2], [0.0, 0.5]], [0.25, 0.0]
    )
    # At x = 3: 0.1·10 + 0.2·3 − 0.5 = 1.1 against 0.5·3 = 1.5; at x = 1: 0.7 against 0.5.
    np.testing.assert_allclose(ruleset.strengths(np.array([[3.0], [1.0]])), [[1.1, 1.5], [0.7, 0.5]])
    assert ruleset.predict([[3], [1]]).tolist() == [1, 0]


def test_uncertain_rules_yield_to_certain_ones_with_the_same_prediction() -> None:
    ruleset = StrengthRules([[[0, 9]], [[0, 9]]], [0, 1], X, ("a", "b"), np.full((2, 2), 0.1), [0.01, 0.0])
    assert ruleset.predict([5]) == 1


def test_a_strongly_negative_rule_still_acts_where_it_matches_alone() -> None:
    for weight in (-1e300, -1e308):  # the latter predicts minus infinity
        ruleset = StrengthRules([[[0, 4]]], [1], X, ("a", "b"), [[weight, 0.0]], [0.0])
        assert ruleset.predict([[2], [7]]).tolist() == [1, NULL_ACTION]
