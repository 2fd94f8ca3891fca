from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import ParameterError
from ifthen.randomness import stream
from ifthen.study.bootstrap import bootstrap_intervals, middle_weights, resample
from tests import naive

SAMPLES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=35)


def drawn_means(values: list[float], seed: int, resamples: int) -> NDArray[np.float64]:
    """Return mean and interquartile mean of the resamples, (resamples, 2), without any clipping."""
    out = np.empty((resamples, 2))
    weights = middle_weights(len(values))
    resample(np.sort(np.array(values)), weights, stream(seed, "bootstrap"), 0, resamples, out)
    return out


@given(SAMPLES, st.integers(0, 2**63 - 1))
def test_resampled_means_are_the_oracles(values: list[float], seed: int) -> None:
    key = naive.stream(seed, "bootstrap")
    expected = [[float(mean) for mean in naive.resampled_means(values, key, r)] for r in range(5)]
    tolerance = 1e-13 * max(map(abs, values)) + 1e-300  # of numbers so small that they have few digits
    assert drawn_means(values, seed, 5) == pytest.approx(np.array(expected), rel=1e-12, abs=tolerance)


def test_a_part_of_the_resamples_is_written_where_it_belongs_and_nothing_else() -> None:
    values = np.array([0.0, 1.0, 5.0])
    whole, part = np.full((2, 6, 2), -1.0)
    for out, first, last in ((whole, 0, 6), (part, 2, 4)):
        resample(values, middle_weights(3), stream(3, "bootstrap"), first, last, out)
    assert (part[2:4] == whole[2:4]).all()
    assert (np.delete(part, [2, 3], axis=0) == -1).all()


@pytest.mark.parametrize(
    ("n", "weights"),
    [(1, [2]), (2, [2, 2]), (3, [1, 4, 1]), (4, [0, 4, 4, 0]), (5, [0, 3, 4, 3, 0]), (6, [0, 2, 4, 4, 2, 0])],
)
def test_values_on_the_border_of_the_middle_half_count_in_part(n: int, weights: list[int]) -> None:
    assert middle_weights(n).tolist() == weights


@given(st.integers(1, 200))
def test_the_weights_are_the_middle_half(n: int) -> None:
    weights = middle_weights(n)
    assert weights.sum() == 2 * n
    assert (weights == weights[::-1]).all()


def test_of_two_values_a_quarter_of_the_resamples_is_each_extreme() -> None:
    # The mean of a resample of 0 and 1 is 0, ½ or 1 with probabilities ¼, ½ and ¼.
    means = drawn_means([0.0, 1.0], 0, 10_000)[:, 0]
    for value, share in ((0.0, 0.25), (0.5, 0.5), (1.0, 0.25)):
        assert (means == value).mean() == pytest.approx(share, abs=0.02)
    values = np.array([0.0, 1.0])
    assert bootstrap_intervals(values, level=0.95)[0] == (0.0, 1.0)
    assert bootstrap_intervals(values, level=0.4)[0] == (0.5, 0.5)


def test_the_interval_of_many_values_is_that_of_the_normal_distribution() -> None:
    # Of 0, 1, …, 99 the sd with n is 28.866, the standard error 2.887 and the half width 1.96 times that.
    mean, middle = bootstrap_intervals(np.arange(100.0))
    assert mean == pytest.approx((49.5 - 5.658, 49.5 + 5.658), abs=0.25)
    assert middle[0] < 49.5 < middle[1]


def test_intervals_are_the_quantiles_of_the_resampled_means() -> None:
    values = [0.2, 0.9, 0.95, 1.0, 0.97]
    means = np.sort(drawn_means(values, 7, 1_001), axis=0)
    found = bootstrap_intervals(np.array(values), seed=7, resamples=1_001, level=0.9)
    # Of 1,001 sorted means those at places 50 and 950, up to how 1 − 0.95 is rounded.
    assert found[0] == pytest.approx((means[50, 0], means[950, 0]), abs=1e-12)
    assert found[1] == pytest.approx((means[50, 1], means[950, 1]), abs=1e-12)


def test_golden_intervals_do_not_move() -> None:
    found = bootstrap_intervals(np.array([0.2, 0.9, 0.95, 1.0, 0.97]), seed=1)
    assert np.array(found) == pytest.approx(np.array([[0.5, 0.978], [0.41, 0.991]]), rel=1e-12)


@given(st.floats(-1e150, 1e150), st.integers(1, 40), st.floats(0, 1))
def test_the_interval_of_equal_values_is_that_value(value: float, n: int, level: float) -> None:
    found = bootstrap_intervals(np.full(n, value), resamples=20, level=level)
    assert found == ((value, value), (value, value))


@given(SAMPLES, st.randoms(use_true_random=False))
def test_the_order_of_the_values_does_not_matter_and_no_interval_leaves_the_sample(
    values: list[float], dice: Any
) -> None:
    shuffled = list(values)
    dice.shuffle(shuffled)
    found = bootstrap_intervals(np.array(values), resamples=200)
    assert found == bootstrap_intervals(np.array(shuffled), resamples=200)
    for low, high in found:
        assert min(values) <= low <= high <= max(values)


def test_another_seed_draws_other_resamples() -> None:
    values = np.array([0.2, 0.9, 0.95, 1.0, 0.97])
    assert len({bootstrap_intervals(values, seed=seed, resamples=100) for seed in range(5)}) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resamples": 0}, "resamples must be"),
        ({"resamples": 1.5}, "resamples must be"),
        ({"level": 1.2}, "level must be a number from 0 to 1"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        bootstrap_intervals(np.zeros(3), **options)  # type: ignore[arg-type]  # refused
