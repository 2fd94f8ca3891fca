from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from ifthen import Feature, RuleSet, StrengthSumRules, export, parse_rules
from ifthen.errors import RuleError
from ifthen.exports.data import to_json
from ifthen.simplify.compact import compact_at
from tests import naive
from tests.rulesets import all_states, rulesets

STATES = all_states()
POINTS = STATES.astype(np.float64)
sums = rulesets(StrengthSumRules)


def expected(ruleset: StrengthSumRules, state: list[int]) -> int:
    """Return the action with the largest sum of strengths, the first of equals, −1 for none."""
    totals: dict[int, float] = {}
    for box, action, strength in zip(
        ruleset.bounds.tolist(), ruleset.actions.tolist(), ruleset.fitness.tolist(), strict=True
    ):
        if naive.matches(box, state):
            totals[action] = totals.get(action, 0.0) + strength
    return min((-total, action) for action, total in totals.items())[1] if totals else -1


@given(sums)
def test_the_action_with_the_largest_sum_is_taken(ruleset: StrengthSumRules) -> None:
    actions = [expected(ruleset, state) for state in STATES.tolist()]
    chosen, deciders = ruleset.choose(POINTS)
    assert chosen.tolist() == ruleset.best_actions(POINTS).tolist() == actions
    for action, rule, matching in zip(actions, deciders.tolist(), ruleset.matches(POINTS), strict=True):
        if action >= 0:
            speakers = np.flatnonzero(matching & (ruleset.actions == action))
            assert rule == speakers[ruleset.fitness[speakers].argmax()]


@given(sums)
def test_compaction_keeps_the_action_everywhere(ruleset: StrengthSumRules) -> None:
    shorter = compact_at(ruleset, POINTS)
    assert shorter.best_actions(POINTS).tolist() == ruleset.best_actions(POINTS).tolist()
    assert len(shorter) <= len(ruleset)


@given(sums)
def test_the_python_policy_does_the_same(ruleset: StrengthSumRules) -> None:
    module: dict[str, object] = {}
    exec(compile(export(ruleset, "python"), "policy", "exec"), module)
    action: object = module["action"]
    assert callable(action)
    found = [action(*state) for state in STATES.tolist()]
    assert [-1 if each is None else each for each in found] == ruleset.predict(POINTS).tolist()


@given(sums)
def test_plain_data_and_text_round_trip(ruleset: StrengthSumRules) -> None:
    assert RuleSet.from_dict(ruleset.to_dict()) == ruleset
    assert parse_rules(export(ruleset, "text")) == ruleset
    assert '"strength-sum"' in to_json(ruleset)


def test_strengths_are_positive_and_are_what_is_said_of_a_rule() -> None:
    x = [Feature("x", 0, 3)]
    rules = StrengthSumRules([[[0, 3]], [[2, 3]], [[0, 3]]], [0, 1, 0], x, ["a", "b"], [2.0, 3.0, 2.0])
    assert str(rules).splitlines()[1] == "2. IF x ≥ 2 THEN b  (3.00)"
    assert rules.predict([[2]]).tolist() == [0]
    told = rules.comparison([2])
    assert told is not None
    assert told.scores == {"a": 4.0, "b": 3.0}
    with pytest.raises(RuleError, match="positive"):
        StrengthSumRules([[[0, 3]]], [0], x, ["a"], [0.0])
