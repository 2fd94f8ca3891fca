from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import NULL_ACTION, DecisionList
from ifthen.inference.decision_list import decision_tables
from ifthen.rules.features import lows_and_highs
from tests import naive
from tests.rulesets import ACTIONS, FEATURES, LARGEST, all_states, rules

STATES = all_states()
LOWS, _ = lows_and_highs(FEATURES)
Rules = tuple[NDArray[np.int32], NDArray[np.int32]]


def tables_of(bounds: NDArray[np.int32], actions: NDArray[np.int32]) -> NDArray[np.int16]:
    out = np.full((len(bounds), len(STATES)), 99, dtype=np.int16)
    widest = max(feature.width for feature in FEATURES)
    decision_tables(0, len(bounds), bounds, actions, STATES, LOWS, widest, out)
    return out


@given(rules())
def test_the_first_matching_rule_decides_as_in_the_oracle(drawn: Rules) -> None:
    bounds, actions = drawn
    chosen, deciders = DecisionList(bounds, actions, FEATURES, ACTIONS).choose(STATES.astype(np.float64))
    expected = [naive.first_match(bounds.tolist(), actions.tolist(), s) for s in STATES.tolist()]
    assert list(zip(chosen.tolist(), deciders.tolist(), strict=True)) == expected


@given(rules(LARGEST))
def test_policy_tables_equal_the_oracles_choice_for_any_number_of_rules(drawn: Rules) -> None:
    bounds, actions = drawn
    expected = [naive.first_match(bounds.tolist(), actions.tolist(), s)[0] for s in STATES.tolist()]
    assert tables_of(bounds[None], actions[None])[0].tolist() == expected


@given(rules(), st.data())
def test_a_rule_behind_one_that_covers_everything_never_decides(drawn: Rules, data: st.DataObject) -> None:
    bounds, actions = drawn
    place = data.draw(st.integers(0, len(bounds) - 1))
    bounds[place] = [[f.low, f.high] for f in FEATURES]
    _, deciders = DecisionList(bounds, actions, FEATURES, ACTIONS).choose(STATES.astype(np.float64))
    assert deciders.min() >= 0
    assert deciders.max() <= place


def test_the_first_rule_of_the_third_word_decides_where_no_earlier_one_matches() -> None:
    bounds = np.full((1, LARGEST, 2, 2), 0, dtype=np.int32)
    bounds[0, 128:] = [[f.low, f.high] for f in FEATURES]
    actions = np.zeros((1, LARGEST), dtype=np.int32)
    actions[0, 128], actions[0, 129] = 2, 1
    table = tables_of(bounds, actions)[0]
    at_origin = (STATES == 0).all(axis=1)
    assert set(table[at_origin].tolist()) == {0}
    assert set(table[~at_origin].tolist()) == {2}


def test_only_the_tables_of_the_slice_are_written() -> None:
    bounds = np.zeros((3, 1, 2, 2), dtype=np.int32)
    actions = np.ones((3, 1), dtype=np.int32)
    out = np.full((3, len(STATES)), 99, dtype=np.int16)
    decision_tables(1, 2, bounds, actions, STATES, LOWS, 8, out)
    assert (out[[0, 2]] == 99).all()
    assert set(out[1].tolist()) == {NULL_ACTION, 1}
