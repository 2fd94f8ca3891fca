"""The live rows of XCSF: which rules match a state that arrives, and bounds of real features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import Feature
from ifthen.evolve.operators import shift_bounds
from ifthen.systems.xcsf.index import enter, equal_rule, list_members, matched_live, rule_key, same_rule
from ifthen.systems.xcsf.turnover import cover, cover_real
from ifthen.systems.xcsf.xcsf_on_env import EnvLearner, arrive
from tests import naive, naive_xcsf
from tests.systems.xcsf.populations import World, rule, walk, world

pytestmark = pytest.mark.oracle

FEATURES = (
    Feature("whole", -4, 4, clips=True),
    Feature("place", -3.0, 3.25, "real", clips=True),
)
TASK = walk(features=FEATURES)
PLACES = st.sampled_from([-3.0, -1.27, -0.5, 0.0, 0.31, 2.0, 3.25])
WHOLES = st.integers(-4, 4)
BOX = st.tuples(st.tuples(WHOLES, WHOLES), st.tuples(PLACES, PLACES)).map(lambda b: [list(b[0]), list(b[1])])
POINT = st.tuples(st.integers(-6, 6), st.one_of(PLACES, st.floats(-4, 4)))
KEY = st.integers(0, 2**64 - 1)


def put(made: World, row: int, point: Any) -> None:
    """Let a state arrive in a row."""
    seen = np.array([point], dtype=np.float64)
    arrive(row, seen, made.own)


def action_set(made: World, row: int, a: int) -> list[int]:
    n = list_members(made.space.masks[row], np.int64(a), made.space.members)
    members: list[int] = made.space.members[:n].tolist()
    return members


@given(
    st.lists(st.tuples(BOX, st.integers(0, 2)), min_size=1, max_size=100),
    st.lists(POINT, min_size=2, max_size=4),
    st.data(),
)
def test_live_rows_hold_the_action_sets_of_their_states_while_rules_come_and_go(
    drawn: list[Any], points: list[Any], data: st.DataObject
) -> None:
    made = world(TASK, [rule(box, action) for box, action in drawn], pop_limit=150)
    assert not made.space.masks.any()  # nobody matches where nothing was seen
    rules, bounds, left = made.classifiers.rules, made.classifiers.bounds, set(range(len(drawn)))
    rows: dict[int, list[float]] = {}
    for i, point in enumerate(points):
        put(made, i % 2, point)
        rows[i % 2] = [max(f.low, min(f.high, v)) for f, v in zip(FEATURES, point, strict=True)]
        r = data.draw(st.integers(0, len(drawn) - 1))
        if r in left:
            made.remove(r)
        else:
            rules[r].numerosity = 1
            enter(r, made.classifiers, made.space, True, made.reach.lows)
        left ^= {r}
        for row, state in rows.items():
            for a in range(3):
                expected = [n for n in sorted(left) if drawn[n][1] == a and naive.matches(drawn[n][0], state)]
                assert action_set(made, row, a) == expected
    for r, (box, _) in enumerate(drawn):
        bits = sum(1 << row for row, state in rows.items() if naive.matches(box, state))
        assert matched_live(r, bounds, made.space.live) == bits


@given(st.lists(st.tuples(BOX, st.integers(0, 1)), min_size=2, max_size=30), st.booleans(), POINT)
def test_equal_rules_are_found_whether_or_not_they_match_what_is_live(
    drawn: list[Any], by_box: bool, point: Any
) -> None:
    equality = "box" if by_box else "alleles"
    rules = [rule(box, action) for box, action in drawn]
    made = world(TASK, rules[1:], pop_limit=40, equality=equality)
    put(made, 1, point)
    plain, bounds = made.classifiers.rules, made.classifiers.bounds
    child = len(bounds) - 1
    bounds[child], plain[child].action = rules[0].bounds, rules[0].action
    alike = [naive_xcsf.equal(rules[0], other, equality) for other in rules[1:]]
    key = rule_key(child, plain, bounds, by_box)
    for r, same in enumerate(alike):
        assert same_rule(r, child, plain, bounds, by_box) == same
        assert (rule_key(r, plain, bounds, by_box) == key) == same
    found = equal_rule(child, made.classifiers, made.space, by_box, made.reach.lows)
    assert found == (alike.index(True) if any(alike) else -1)


@given(KEY, st.floats(-3, 3.25), st.sampled_from([0.0, 1e-3, 0.5, 1.0]))
def test_covering_a_real_feature_matches_the_value_with_readable_bounds_within_reach(
    key: int, value: float, share: float
) -> None:
    made = world(TASK, [], pop_limit=20, r0_share=share)
    bounds = made.classifiers.bounds
    cover_real(np.uint64(key), value, bounds, 0, 1, made.reach)
    low, high = bounds[0, 1].tolist()
    assert [low, high] == naive_xcsf.cover_real(key, 1, value, (-3.0, 3.25), share * 6.25)
    assert -3 <= low <= value <= high <= 3.25
    assert max(value - low, high - value) <= share * 6.25 + 0.01
    assert all(bound in (-3.0, 3.25) or bound == round(bound, 2) for bound in (low, high))


@given(KEY, POINT)
def test_covering_matches_the_state_that_is_live(key: int, point: Any) -> None:
    made = world(TASK, [rule([[-4, 4], [-3.0, 3.25]], 2)], pop_limit=20)
    put(made, 0, point)
    cover(np.uint64(key), 0, 2, made.own)
    box = made.column("bounds", 2)[1]
    assert naive.matches(box, made.space.live[0].tolist())
    assert all(bound == int(bound) for bound in box[0])
    assert action_set(made, 0, int(made.classifiers.rules[1].action)) == [1]


@given(KEY, BOX, st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([None, 1, 99]), st.floats(1e-3, 1))
def test_bounds_of_both_kinds_move_as_by_the_oracle(
    key: int, box: Any, mu: float, m0: int | None, share: float
) -> None:
    made = world(TASK, [rule(box)], pop_limit=20, m0=m0, m0_share=share)
    reach = made.reach
    how = reach.lows, reach.highs, reach.m0, reach.real, reach.scales
    shift_bounds(np.uint64(key), mu, made.classifiers.bounds, 0, *how)
    furthest = [{None: 2, 1: 1, 99: 9}[m0], share * 6.25]
    expected = [list(pair) for pair in box]
    naive_xcsf.shift_mixed(key, mu, expected, [(-4, 4), (-3.0, 3.25)], furthest, [False, True])
    assert made.column("bounds", 1)[0] == expected
    assert not (np.signbit(made.classifiers.bounds[0]) & (made.classifiers.bounds[0] == 0)).any()


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3), POINT)
def test_weights_of_scaled_features_turn_into_weights_of_the_features(weights: Any, point: Any) -> None:
    made = world(TASK, [], pop_limit=20)
    put(made, 0, point)
    scaled = made.space.inputs[0]
    assert scaled[0] == made.parameters.x0
    assert np.abs(scaled[1:]).max() <= 1
    raw = EnvLearner(TASK, made.parameters, 0).raw(np.array([weights]))[0]
    found = raw @ [made.parameters.x0, *made.space.live[0]]
    np.testing.assert_allclose(found, scaled @ weights, rtol=1e-12, atol=1e-10)


def test_a_feature_of_one_value_is_neither_divided_by_nor_counted() -> None:
    features = (Feature("whole", 1, 1, clips=True), Feature("place", 2.0, 2.0, "real", clips=True))
    made = world(walk(features=features), [], pop_limit=20)
    put(made, 0, (7, -1.0))
    assert made.space.live[0].tolist() == [1, 2]
    assert made.space.inputs[0, 1:].tolist() == [0, 0]
