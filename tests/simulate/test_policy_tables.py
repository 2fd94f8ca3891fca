"""Policy tables hold the action of every ruleset in every state, for any number of rules and any lengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import NULL_ACTION, DecisionList, RuleSet, StrengthRules
from ifthen.rules.batch import LIST, RuleBatch, stacked
from ifthen.rules.feature import lows_and_highs
from ifthen.simulate.table_rules import fill_policy_tables, first_action, policy_tables, strongest_action
from ifthen.tasks.tabular_task import Dynamics
from tests import naive
from tests.rulesets import ACTIONS, FEATURES, LARGEST, all_states, learnt_of, rules
from tests.worlds import random_task

pytestmark = pytest.mark.oracle

STATES = all_states()
NOWHERE = np.full((len(STATES), 1, 1), -1, dtype=np.int32)
MODEL = Dynamics(
    next_state=NOWHERE,
    reward=np.zeros(NOWHERE.shape),
    probability=np.ones(1),
    starts=np.zeros(1, dtype=np.int32),
    states=STATES,
    points=STATES.astype(np.float64),
    lows=lows_and_highs(FEATURES)[0],
    cyclic=np.zeros(0, dtype=np.int64),
    widest=max(feature.width for feature in FEATURES),
    axes=tuple(range(len(FEATURES))),
)
Rules = tuple[NDArray[np.int32], NDArray[np.int32]]


def tables_of(batch: RuleBatch) -> NDArray[np.int16]:
    """Return the policy tables of a batch over all states."""
    out = np.full((len(batch.lengths), len(STATES)), 99, dtype=np.int16)
    fill_policy_tables(0, len(out), batch, MODEL, out)
    return out


def expected(ruleset: RuleSet) -> list[int]:
    """Return what the oracle does in all states."""
    bounds, actions = ruleset.bounds.tolist(), ruleset.actions.tolist()
    if not isinstance(ruleset, StrengthRules):
        return [naive.first_match(bounds, actions, state)[0] for state in STATES.tolist()]
    learnt = np.column_stack([ruleset.weights, ruleset.variances]).tolist()
    return [naive.strongest_action(bounds, actions, learnt, ruleset.x0, s) for s in STATES.tolist()]


@st.composite
def any_rules(draw: st.DrawFn, strong: bool, largest: int = LARGEST) -> RuleSet:
    """Draw a decision list or rules with strengths."""
    bounds, actions = draw(rules(largest))
    if not strong:
        return DecisionList(bounds, actions, FEATURES, ACTIONS)
    learnt = draw(learnt_of(len(actions)))
    return StrengthRules(bounds, actions, FEATURES, ACTIONS, learnt[:, :-1], learnt[:, -1])


@pytest.mark.parametrize("strong", [False, True])
@given(data=st.data())
def test_tables_are_the_oracles_for_rulesets_of_any_lengths(strong: bool, data: st.DataObject) -> None:
    rulesets = [data.draw(any_rules(strong)), data.draw(any_rules(strong, 3)), data.draw(any_rules(strong))]
    found = tables_of(stacked(rulesets))
    assert found.tolist() == [expected(ruleset) for ruleset in rulesets]


@given(data=st.data())
def test_a_default_action_stands_where_no_rule_matches(data: st.DataObject) -> None:
    ruleset = data.draw(any_rules(False, 3))
    found = tables_of(stacked([ruleset])._replace(default=2))[0]
    assert found.tolist() == [2 if action == NULL_ACTION else action for action in expected(ruleset)]


def test_tables_know_rules_that_predict_minus_infinity() -> None:
    bounds, weights = [[[0, 4], [0, 3]], [[0, 2], [0, 6]]], [[-1e308, 0.0, 0.0]] * 2
    ruleset = StrengthRules(bounds, [2, 1], FEATURES, ACTIONS, weights, [0.0, 0.0])
    found = tables_of(stacked([ruleset]))[0].tolist()
    assert found == expected(ruleset)
    assert set(found) == {NULL_ACTION, 1, 2}


def test_the_first_rule_of_the_third_word_decides_where_no_earlier_one_matches() -> None:
    bounds = np.full((LARGEST, 2, 2), 0, dtype=np.int32)
    bounds[128:] = [[f.low, f.high] for f in FEATURES]
    actions = np.zeros(LARGEST, dtype=np.int32)
    actions[128], actions[129] = 2, 1
    table = tables_of(stacked([DecisionList(bounds, actions, FEATURES, ACTIONS)]))[0]
    at_origin = (STATES == 0).all(axis=1)
    assert set(table[at_origin].tolist()) == {0}
    assert set(table[~at_origin].tolist()) == {2}


def test_only_the_tables_of_the_slice_are_written() -> None:
    bounds, actions = np.zeros((3, 1, 2, 2), dtype=np.int32), np.ones((3, 1), dtype=np.int32)
    batch = RuleBatch(LIST, bounds, actions, np.zeros((3, 1, 0)), np.ones(3, dtype=np.int64))
    out = np.full((3, len(STATES)), 99, dtype=np.int16)
    fill_policy_tables(1, 2, batch, MODEL, out)
    assert (out[[0, 2]] == 99).all()
    assert set(out[1].tolist()) == {NULL_ACTION, 1}


def test_the_choice_from_a_bit_mask_is_that_of_the_match_set() -> None:
    masks = np.array([[0b101, 0b1], [0, 0b1], [0, 0]], dtype=np.uint64)  # rules 0, 2, 64; rule 64; none
    actions = np.array([2, 0, 1] + [0] * 62, dtype=np.int32)
    learnt, points, deviations = np.zeros((65, 3)), np.array([[4.0]] * 3), np.zeros(65)

    def strongest(s: int = 0) -> int:
        return strongest_action(masks, s, actions, learnt, deviations, 10.0, points, (0,))

    assert [first_action(masks, s, actions) for s in range(3)] == [2, 0, NULL_ACTION]
    assert strongest() == 0
    deviations[64] = 0.5
    assert strongest() == 1
    learnt[0, 1] = 0.1
    assert strongest() == 2
    assert strongest(2) == NULL_ACTION


def test_threads_change_no_table() -> None:
    task = random_task(3)
    batch = stacked(
        [
            DecisionList(
                [[[-1, 1], [5, 7 + i % 3]]] * (i + 1), [i % 3] * (i + 1), task.features, task.action_names
            )
            for i in range(6)
        ]
    )
    one, two = (policy_tables(task, batch, threads) for threads in (1, 2))
    assert one.tolist() == two.tolist()
