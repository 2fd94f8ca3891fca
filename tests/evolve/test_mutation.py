from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import Feature
from ifthen.evolve.alleles import alleles_of, geometric, geometric_tail, moved
from ifthen.evolve.operators import mutate, mutate_action, shift_bounds
from ifthen.randomness import draw, stream, uniform
from ifthen.systems.pittsburgh import Population
from tests import naive_evolve
from tests.evolve.populations import FEATURES, HIGHS, LOWS, N_ACTIONS, RANGES, copied, random_population
from tests.naive_evolve import individuals

KEYS = st.integers(0, 2**64 - 1)
RATES = st.sampled_from([0.0, 0.01, 0.2, 1.0])
SEEDS = st.integers(0, 10**6)
ALLELES = alleles_of(FEATURES)


def mutated(key: int, p_mut: float, before: Population, n_actions: int = N_ACTIONS) -> Population:
    after = copied(before)
    mutate(np.uint64(key), p_mut, after, 1, ALLELES, n_actions)
    return after


@pytest.mark.oracle
@pytest.mark.parametrize("ragged", [False, True])
@given(KEYS, RATES, SEEDS)
def test_alleles_mutate_as_by_the_oracle(ragged: bool, key: int, p_mut: float, seed: int) -> None:
    before = random_population(seed, ragged=ragged)
    expected, length = individuals(*before[:3], before.lengths), int(before.lengths[1])
    naive_evolve.mutate(key, p_mut, expected[1], RANGES, N_ACTIONS)
    after = mutated(key, p_mut, before)
    assert individuals(*after[:3], after.lengths) == expected
    assert (after.bounds[1, length:] == before.bounds[1, length:]).all()
    assert (after.actions[1, length:] == before.actions[1, length:]).all()


def shifted(key: int, p_mut: float, before: Population, reach: list[int]) -> NDArray[np.int32]:
    """Return the conditions of the second individual, number 2 of which was mutated evenly."""
    after: NDArray[np.int32] = before.bounds[1].copy()
    whole = np.zeros(len(FEATURES), dtype=np.bool_), np.ones(len(FEATURES))
    shift_bounds(np.uint64(key), p_mut, after, 2, LOWS, HIGHS, np.array(reach, dtype=np.int32), *whole)
    return after


REACHES = st.lists(st.integers(1, 9), min_size=len(FEATURES), max_size=len(FEATURES))


@given(KEYS, RATES, SEEDS, REACHES)
def test_bounds_are_shifted_as_by_the_oracle(key: int, p_mut: float, seed: int, reach: list[int]) -> None:
    before = random_population(seed)
    expected = before.bounds[1].tolist()
    naive_evolve.shift_bounds(key, p_mut, expected[2], RANGES, reach)
    assert shifted(key, p_mut, before, reach).tolist() == expected


@given(KEYS, SEEDS, REACHES)
def test_bounds_are_shifted_by_1_up_to_their_reach_and_stay_in_range(
    key: int, seed: int, reach: list[int]
) -> None:
    before = random_population(seed)
    after = shifted(key, 1.0, before, reach)[2]
    far = np.abs(after - before.bounds[1, 2])
    at_edge = (after == LOWS[:, None]) | (after == HIGHS[:, None])
    assert ((far >= 1) | at_edge).all()
    assert (far <= np.array(reach)[:, None]).all()
    assert (after >= LOWS[:, None]).all()
    assert (after <= HIGHS[:, None]).all()


def test_bounds_are_shifted_by_each_distance_equally_often_both_ways() -> None:
    before = random_population(0)
    before.bounds[1, 2, 1] = 3
    shifts = [
        int(shifted(int(draw(stream(1, "test"), i)), 1.0, before, [2, 3, 1])[2, 1, 0]) - 3
        for i in range(4000)
    ]
    values, times = np.unique(shifts, return_counts=True)
    assert values.tolist() == [-3, -2, -1, 1, 2, 3]
    np.testing.assert_allclose(times / 4000, 1 / 6, atol=5 * (5 / 36 / 4000) ** 0.5)


@given(KEYS, st.integers(0, 50), st.integers(-3, 4), st.integers(1, 20))
def test_a_bound_moves_as_by_the_oracle(key: int, at: int, value: int, far: int) -> None:
    found = moved(np.uint64(key), at, value, far, -3, 4)
    assert found == naive_evolve.moved(key, at, value, far, -3, 4)
    assert found in (max(-3, value - far), min(4, value + far))


@given(KEYS, st.integers(0, 50), RATES, st.integers(1, 5), st.data())
def test_an_action_mutates_as_by_the_oracle(
    key: int, at: int, p_mut: float, n_actions: int, data: st.DataObject
) -> None:
    action = data.draw(st.integers(0, n_actions - 1))
    found = mutate_action(np.uint64(key), at, p_mut, action, n_actions)
    assert found == naive_evolve.mutate_action(key, at, p_mut, action, n_actions)
    if p_mut == 1 and n_actions > 1:
        assert found != action


@given(KEYS, RATES, SEEDS)
def test_mutation_stays_in_range_and_leaves_other_individuals_and_what_was_learnt_alone(
    key: int, p_mut: float, seed: int
) -> None:
    before = random_population(seed)
    after = mutated(key, p_mut, before)
    assert (after.bounds >= LOWS[:, None]).all()
    assert (after.bounds <= HIGHS[:, None]).all()
    assert after.actions.min() >= 0
    assert after.actions.max() < N_ACTIONS
    assert (after.bounds[0] == before.bounds[0]).all()
    assert (after.actions[0] == before.actions[0]).all()
    assert (after.learnt == before.learnt).all()


@given(KEYS, SEEDS)
def test_a_mutated_action_is_always_another_one(key: int, seed: int) -> None:
    before = random_population(seed)
    assert (mutated(key, 1.0, before).actions[1] != before.actions[1]).all()


@given(KEYS, SEEDS)
def test_a_mutated_bound_moves_unless_it_is_clipped(key: int, seed: int) -> None:
    before = random_population(seed)
    after = mutated(key, 1.0, before)
    still = after.bounds[1] == before.bounds[1]
    at_edge = (before.bounds[1] == LOWS[:, None]) | (before.bounds[1] == HIGHS[:, None])
    assert (at_edge | ~still).all()


@given(KEYS, SEEDS)
def test_nothing_mutates_with_rate_0(key: int, seed: int) -> None:
    before = random_population(seed)
    assert individuals(*mutated(key, 0.0, before)[:3]) == individuals(*before[:3])


@given(KEYS)
def test_a_single_action_has_nothing_to_mutate_to(key: int) -> None:
    before = random_population(0)
    before.actions[:] = 0
    assert (mutated(key, 1.0, before, n_actions=1).actions == 0).all()


@pytest.mark.oracle
@given(st.floats(0, 1, exclude_max=True), st.sampled_from(FEATURES), st.integers(1, 20))
def test_geometric_variates_equal_their_oracle_up_to_the_cap(u: float, feature: Feature, most: int) -> None:
    p_geo = naive_evolve.p_geo(feature.width)
    expected = math.inf if u == 0 else naive_evolve.geometric(u, p_geo)
    assert geometric(u, 1 - p_geo, most) == min(expected, most)


@given(st.floats(0, 1, exclude_max=True), st.sampled_from([10_001, 10**6, 2**31, 2**32 - 1]))
def test_moves_of_wide_features_equal_their_oracle(u: float, width: int) -> None:
    p_geo = naive_evolve.p_geo(width)
    assert geometric(u, 1 - p_geo, width) == min(naive_evolve.geometric(u, p_geo, width), width)


@pytest.mark.parametrize("u", [1e-4, 0.02, 0.3, 0.77, 0.99999])
def test_moves_by_logarithms_are_those_that_are_counted(u: float) -> None:
    p_geo = naive_evolve.p_geo(10_001)
    assert abs(geometric(u, 1 - p_geo, 10_001) - naive_evolve.geometric(u, p_geo)) <= 1
    assert geometric(0.0, 1 - p_geo, 10_001) == 10_001
    assert geometric(1 - 2**-53, 1 - p_geo, 10_001) == 1


@pytest.mark.parametrize("width", [4, 8, 12, 100])
def test_99_percent_of_the_geometric_mass_lies_within_half_of_the_width(width: int) -> None:
    tail = geometric_tail(Feature("x", 0, width - 1))
    assert 1 - tail ** (width // 2) == pytest.approx(0.99)
    assert 1 - tail == pytest.approx(naive_evolve.p_geo(width))


def test_geometric_variates_have_the_mean_of_their_distribution() -> None:
    p_geo, key = naive_evolve.p_geo(12), stream(0, "test")
    numbers = [geometric(uniform(key, i), 1 - p_geo, 1000) for i in range(4000)]
    deviation = (1 - p_geo) ** 0.5 / p_geo
    assert abs(np.mean(numbers) - 1 / p_geo) < 5 * deviation / 4000**0.5


def test_alleles_mutate_as_often_as_the_rate_says_both_ways() -> None:
    before = random_population(0, rules=3000)
    before.bounds[1, :, 0], before.bounds[1, :, 1] = 0, 3
    after = mutated(9, 0.2, before)
    shifts = after.bounds[1, :, 0] - 0
    assert abs((shifts != 0).mean() - 0.2) < 5 * 0.4 / shifts.size**0.5
    assert abs((shifts[shifts != 0] > 0).mean() - 0.5) < 5 * 0.5 / (shifts != 0).sum() ** 0.5
    assert abs((after.actions[1] != before.actions[1]).mean() - 0.2) < 5 * 0.4 / 3000**0.5


def test_a_mutated_action_is_each_of_the_others_equally_often() -> None:
    before = random_population(0, rules=3000)
    before.actions[1] = 2
    times = np.bincount(mutated(4, 1.0, before).actions[1], minlength=4)
    assert times[2] == 0
    np.testing.assert_allclose(times[[0, 1, 3]] / 3000, 1 / 3, atol=5 * (2 / 9 / 3000) ** 0.5)
