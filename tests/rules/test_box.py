from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen.rules.box import contains, decode, lowest_bit, match_masks, matches, words_for
from ifthen.rules.feature import lows_and_highs
from tests import naive
from tests.rulesets import FEATURES, LARGEST, all_states, bounds_of

pytestmark = pytest.mark.oracle

LOWS, _ = lows_and_highs(FEATURES)
STATES = all_states()


def matching(bounds: NDArray[np.int32], observations: NDArray[np.float64]) -> NDArray[np.bool_]:
    out = np.empty((len(observations), len(bounds)), dtype=np.bool_)
    matches(decode(bounds), observations, out)
    return out


def masks(bounds: NDArray[np.int32], individual: int = 0, length: int | None = None) -> NDArray[np.uint64]:
    rules = bounds.shape[1]
    words = words_for(rules)
    scratch = np.empty((len(FEATURES), max(f.width for f in FEATURES), words), dtype=np.uint64)
    out = np.empty((len(STATES), words), dtype=np.uint64)
    match_masks(
        bounds,
        individual,
        rules if length is None else length,
        STATES,
        LOWS,
        np.zeros(0, dtype=np.int64),
        scratch,
        out,
    )
    return out


@given(st.integers(1, 6).flatmap(bounds_of))
def test_boxes_match_as_the_oracle_says_in_every_state(bounds: list[list[list[int]]]) -> None:
    found = matching(np.array(bounds, dtype=np.int32), STATES.astype(np.float64))
    expected = [[naive.matches(box, state) for box in bounds] for state in STATES.tolist()]
    assert found.tolist() == expected


@given(bounds_of(1), st.floats(-10, 10), st.floats(-10, 10))
def test_boxes_match_numbers_between_the_whole_ones_too(
    bounds: list[list[list[int]]], u: float, v: float
) -> None:
    found = matching(np.array(bounds, dtype=np.int32), np.array([[u, v]]))
    assert bool(found[0, 0]) == naive.matches(bounds[0], (u, v))


@given(st.integers(1, 6).flatmap(bounds_of))
def test_the_order_of_the_two_bounds_does_not_matter(bounds: list[list[list[int]]]) -> None:
    given_, points = np.array(bounds, dtype=np.int32), STATES.astype(np.float64)
    turned = np.ascontiguousarray(given_[..., ::-1])
    assert (matching(given_, points) == matching(turned, points)).all()
    assert (masks(given_[None]) == masks(turned[None])).all()
    assert (decode(given_) == decode(turned)).all()


@given(st.integers(1, 6).flatmap(bounds_of))
def test_decoded_boxes_have_the_smaller_bound_first_and_match_the_same(
    bounds: list[list[list[int]]],
) -> None:
    given_, points = np.array(bounds, dtype=np.int32), STATES.astype(np.float64)
    decoded = decode(given_)
    assert (decoded[..., 0] <= decoded[..., 1]).all()
    assert (matching(decoded, points) == matching(given_, points)).all()


@given(bounds_of(2))
def test_a_box_contains_another_if_it_matches_all_that_the_other_matches(
    bounds: list[list[list[int]]],
) -> None:
    outer, inner = bounds
    found = contains(np.array(bounds, dtype=np.int32), 0, 1)
    assert bool(found) == naive.contains(outer, inner)
    inside = [state for state in STATES.tolist() if naive.matches(inner, state)]
    assert bool(found) == all(naive.matches(outer, state) for state in inside)


@given(bounds_of(1))
def test_a_box_contains_itself_in_any_order_of_bounds(bounds: list[list[list[int]]]) -> None:
    both = np.array([bounds[0], [pair[::-1] for pair in bounds[0]]], dtype=np.int32)
    assert contains(both, 0, 1)
    assert contains(both, 1, 0)


@given(st.integers(0, 63), st.integers(0, 2**64 - 1))
def test_lowest_bit_is_the_first_set_bit_whatever_stands_above_it(bit: int, above: int) -> None:
    mask = (above << bit | 1 << bit) & naive.BITS
    assert lowest_bit(np.uint64(mask)) == bit == naive.lowest_bit(mask)


@given(st.sampled_from([1, 5, 63, 64, 65, 128, LARGEST]).flatmap(bounds_of))
def test_mask_words_hold_the_match_set_for_any_number_of_rules(bounds: list[list[list[int]]]) -> None:
    found = masks(np.array([bounds], dtype=np.int32))
    assert found.tolist() == [naive.match_words(bounds, state) for state in STATES.tolist()]


@given(bounds_of(3), bounds_of(3))
def test_masks_are_those_of_the_individual_asked_for(
    first: list[list[list[int]]], second: list[list[list[int]]]
) -> None:
    both = np.array([first, second], dtype=np.int32)
    assert (masks(both, 1) == masks(both[1:], 0)).all()


@given(st.sampled_from([2, 64, 66]).flatmap(bounds_of), st.data())
def test_rules_behind_the_length_match_nothing(bounds: list[list[list[int]]], data: st.DataObject) -> None:
    length = data.draw(st.integers(1, len(bounds)))
    found = masks(np.array([bounds], dtype=np.int32), length=length)
    for words, state in zip(found.tolist(), STATES.tolist(), strict=True):
        expected = naive.match_words(bounds[:length], state)
        assert words == expected + [0] * (len(words) - len(expected))


def test_a_mask_has_one_word_for_every_64_rules() -> None:
    assert [words_for(n) for n in (1, 64, 65, 128, 129)] == [1, 1, 2, 2, 3]
