from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import DecisionList
from tests import naive
from tests.rulesets import ACTIONS, FEATURES, all_states, rules

STATES = all_states()
Rules = tuple[NDArray[np.int32], NDArray[np.int32]]


@given(rules())
def test_the_first_matching_rule_decides_as_in_the_oracle(drawn: Rules) -> None:
    bounds, actions = drawn
    chosen, deciders = DecisionList(bounds, actions, FEATURES, ACTIONS).choose(STATES.astype(np.float64))
    expected = [naive.first_match(bounds.tolist(), actions.tolist(), s) for s in STATES.tolist()]
    assert list(zip(chosen.tolist(), deciders.tolist(), strict=True)) == expected


@given(rules(), st.data())
def test_a_rule_behind_one_that_covers_everything_never_decides(drawn: Rules, data: st.DataObject) -> None:
    bounds, actions = drawn
    place = data.draw(st.integers(0, len(bounds) - 1))
    bounds[place] = [[f.low, f.high] for f in FEATURES]
    _, deciders = DecisionList(bounds, actions, FEATURES, ACTIONS).choose(STATES.astype(np.float64))
    assert deciders.min() >= 0
    assert deciders.max() <= place
