from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.evolve.operators import swap_alleles, swap_rules
from ifthen.systems.pittsburgh import Population
from tests import naive_evolve
from tests.evolve.populations import copied, random_population
from tests.naive_evolve import Individual, individuals

KEYS = st.integers(0, 2**64 - 1)
SWAPS = st.sampled_from([0.0, 0.3, 0.5, 1.0])
SEEDS = st.integers(0, 10**6)


def assert_only_rules_changed(before: Population, after: Population, expected: list[Individual]) -> None:
    """Compare with the oracle, and see that nothing behind the rules was touched."""
    assert individuals(*after[:3], after.lengths) == expected
    for name in ("bounds", "actions", "learnt"):
        one, other = getattr(before, name), getattr(after, name)
        for i, n in enumerate(after.lengths):
            assert (one[i, n:] == other[i, n:]).all()


@pytest.mark.oracle
@pytest.mark.parametrize("ragged", [False, True])
@given(KEYS, SWAPS, SEEDS)
def test_alleles_are_swapped_as_by_the_oracle(ragged: bool, key: int, p_swap: float, seed: int) -> None:
    before = random_population(seed, n=4, ragged=ragged)
    expected, found = individuals(*before[:3], before.lengths), copied(before)
    swap_alleles(np.uint64(key), p_swap, found, 3, 1)
    naive_evolve.swap_alleles(key, p_swap, expected[3], expected[1])
    assert_only_rules_changed(before, found, expected)


@pytest.mark.oracle
@pytest.mark.parametrize("ragged", [False, True])
@given(KEYS, SWAPS, SEEDS)
def test_rules_are_swapped_with_all_they_carry_as_by_the_oracle(
    ragged: bool, key: int, p_swap: float, seed: int
) -> None:
    before = random_population(seed, n=4, ragged=ragged)
    expected, found = individuals(*before[:3], before.lengths), copied(before)
    swap_rules(np.uint64(key), p_swap, found, 3, 1)
    naive_evolve.swap_rules(key, p_swap, expected[3], expected[1])
    assert_only_rules_changed(before, found, expected)


@given(KEYS, SWAPS, SEEDS)
def test_crossover_keeps_the_alleles_of_both_parents_at_every_locus(
    key: int, p_swap: float, seed: int
) -> None:
    before = random_population(seed)
    for whole in (False, True):
        after = copied(before)
        if whole:
            swap_rules(np.uint64(key), p_swap, after, 0, 1)
        else:
            swap_alleles(np.uint64(key), p_swap, after, 0, 1)
        assert (np.sort(before.bounds, axis=0) == np.sort(after.bounds, axis=0)).all()
        assert (np.sort(before.actions, axis=0) == np.sort(after.actions, axis=0)).all()
        assert (np.sort(before.learnt, axis=0) == np.sort(after.learnt, axis=0)).all()


@given(KEYS, SEEDS)
def test_swapping_everything_exchanges_the_parents_and_swapping_nothing_keeps_them(
    key: int, seed: int
) -> None:
    before = random_population(seed)
    for p_swap, order in ((1.0, [1, 0]), (0.0, [0, 1])):
        by_rule, by_allele = copied(before), copied(before)
        swap_rules(np.uint64(key), p_swap, by_rule, 0, 1)
        swap_alleles(np.uint64(key), p_swap, by_allele, 0, 1)
        assert individuals(*by_rule[:3]) == individuals(*(array[order] for array in before[:3]))
        assert (by_allele.bounds == before.bounds[order]).all()
        assert (by_allele.actions == before.actions[order]).all()


@given(KEYS, SEEDS)
def test_whole_rules_stay_together(key: int, seed: int) -> None:
    before = random_population(seed)
    after = copied(before)
    swap_rules(np.uint64(key), 0.5, after, 0, 1)
    for r in range(4):
        rules = [(b[r].tolist(), int(a[r]), w[r].tolist()) for b, a, w in zip(*before[:3], strict=True)]
        for i in range(2):
            rule = (after.bounds[i, r].tolist(), int(after.actions[i, r]), after.learnt[i, r].tolist())
            assert rule in rules


def test_crossover_by_allele_cuts_inside_rules() -> None:
    found = random_population(0)
    found.bounds[0], found.bounds[1], found.actions[0], found.actions[1] = 0, 1, 0, 1
    swap_alleles(np.uint64(1), 0.5, found, 0, 1)
    shares = [set(found.bounds[0, r].ravel().tolist()) for r in range(4)]
    assert {0, 1} in shares


def test_half_of_the_units_are_swapped() -> None:
    found = random_population(0, rules=400)
    found.bounds[0], found.bounds[1], found.actions[0], found.actions[1] = 0, 1, 0, 1
    swap_alleles(np.uint64(2), 0.5, found, 0, 1)
    assert abs(found.bounds[0].mean() - 0.5) < 5 * 0.5 / found.bounds[0].size ** 0.5
    assert abs(found.actions[0].mean() - 0.5) < 5 * 0.5 / 400**0.5
