"""Alleles of real and mixed features: drawn and moved as by the oracle, in range, readable."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import Feature
from ifthen.evolve.alleles import alleles_of, decimal_scales, moved_allele, random_allele, rounded
from ifthen.evolve.operators import mutate
from ifthen.randomness import fold
from ifthen.systems.pittsburgh import Population, empty_population, random_rules
from tests import naive_evolve
from tests.naive_evolve import individuals

MIXED = (Feature("h", -4.8, 4.8, "real"), Feature("n", 0, 6), Feature("v", -0.07, 0.07, "real"))
RANGES = [(f.low, f.high) for f in MIXED]
KEYS = st.integers(0, 2**64 - 1)
SHARES = st.sampled_from([0.0, 0.3, 1.0])


def drawn(key: int, p_any: float, n: int = 2, rules: int = 4) -> Population:
    population = empty_population(n, rules, len(MIXED), 1, np.float64)
    random_rules(np.uint64(key), alleles_of(MIXED, p_any=p_any), 3, population)
    return population


@given(KEYS, SHARES)
def test_first_alleles_of_mixed_features_are_drawn_as_by_the_oracle(key: int, p_any: float) -> None:
    expected = naive_evolve.random_rules(key, 2, 4, RANGES, 3, 1, p_any)
    assert individuals(*drawn(key, p_any)[:3]) == expected


@given(KEYS, SHARES, st.sampled_from([0.0, 0.2, 1.0]), st.sampled_from([0.01, 0.1, 3.0]))
def test_alleles_of_mixed_features_mutate_as_by_the_oracle(
    key: int, p_any: float, p_mut: float, sigma: float
) -> None:
    found = drawn(key, 0.2)
    expected = individuals(*found[:3])
    naive_evolve.mutate(key, p_mut, expected[1], RANGES, 3, sigma, p_any)
    mutate(np.uint64(key), p_mut, found, 1, alleles_of(MIXED, sigma, p_any), 3)
    assert individuals(*found[:3]) == expected
    for d, (low, high) in enumerate(RANGES):
        assert low <= found.bounds[:, :, d].min() <= found.bounds[:, :, d].max() <= high


@pytest.mark.oracle
@given(KEYS, st.integers(0, 99), st.integers(0, 2), st.integers(0, 1), SHARES)
def test_single_alleles_are_those_of_the_oracle(key: int, at: int, d: int, end: int, p_any: float) -> None:
    alleles, own = alleles_of(MIXED, 0.1, p_any), np.uint64(fold(np.uint64(key), 0))
    new = random_allele(np.uint64(key), own, at, d, end, alleles)
    assert new == naive_evolve.random_allele(key, int(own), at, end, RANGES[d], p_any)
    after = moved_allele(np.uint64(key), at, new, d, end, 0.5, alleles)
    assert after == naive_evolve.moved_allele(key, at, new, end, 0.5, RANGES[d], 0.1, p_any)


@given(KEYS, st.integers(0, 99), st.integers(-(2**31) + 1, 2**31 - 1))
def test_alleles_of_the_widest_integers_move_at_once_and_as_by_the_oracle(
    key: int, at: int, value: int
) -> None:
    widest = Feature("n", -(2**31) + 1, 2**31 - 1)
    after = moved_allele(np.uint64(key), at, value, 0, 0, 0.5, alleles_of([widest]))
    assert after == naive_evolve.moved_allele(key, at, value, 0, 0.5, (widest.low, widest.high), 0.1, 0.0)


def test_an_edge_comes_as_often_as_p_any_says_and_leaves_that_side_open() -> None:
    bounds = drawn(7, 0.3, n=40, rules=50).bounds
    at_low, at_high = bounds[:, :, 0, 0] == -4.8, bounds[:, :, 0, 1] == 4.8
    for share in (at_low.mean(), at_high.mean()):
        assert abs(share - 0.3) < 5 * (0.21 / at_low.size) ** 0.5


@pytest.mark.oracle
@given(st.floats(-4.8, 4.8), st.sampled_from([1.0, 10.0, 1000.0]))
def test_rounded_numbers_are_what_their_decimals_say(value: float, scale: float) -> None:
    found = rounded(value, scale)
    assert found == naive_evolve.rounded(value, scale)
    assert len(repr(found).partition(".")[2]) <= max(1, len(str(int(scale))) - 1)
    assert not (found == 0 and np.signbit(found))


def test_a_range_has_200_to_2000_steps_unless_it_is_wide_or_whole() -> None:
    features = [Feature("f", 0.0, width, "real") for width in (1e-3, 0.14, 0.2, 2.0, 9.6, 199.0)]
    steps = decimal_scales(features) * [f.high for f in features]
    assert ((steps >= 200) & (steps < 2000 + 1e-6)).all()
    assert decimal_scales([Feature("f", 0, 1), Feature("g", 0.0, 1e6, "real")]).tolist() == [1, 1]
    scales = [naive_evolve.decimal_scale(0.0, f.high) for f in features]
    assert decimal_scales(features).tolist() == scales
