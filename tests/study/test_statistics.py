from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]  # SciPy ships no types
from hypothesis import given, settings
from hypothesis import strategies as st

from ifthen.errors import ParameterError
from ifthen.study.statistics import (
    EXACT_UP_TO,
    SHAPIRO_UP_TO,
    Comparison,
    bonferroni,
    compare,
    effect_word,
    holm,
    interquartile_mean,
    standard_errors_apart,
    summarise,
    verdict,
)
from tests import naive

VALUES = st.floats(-1e6, 1e6)
SAMPLES = st.lists(VALUES, min_size=1, max_size=35)
# Few different numbers, so that ties are common.
TIED = st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=12)
FEW_TIED = st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=5)
MANY_TIED = st.lists(st.integers(-3, 3).map(float), min_size=9, max_size=14)
PS = st.lists(st.floats(0, 1), min_size=1, max_size=10)


def known(ps: Sequence[float | None]) -> list[float]:
    """Return p values none of which is missing."""
    return [p for p in ps if p is not None]


def pairs_won(a: Sequence[float], b: Sequence[float]) -> Fraction:
    """Return U by its definition: all pairs, counted."""
    return sum((Fraction((x > y) - (x < y) + 1, 2) for x in a for y in b), Fraction(0))


def permutation_p(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the two-sided p of U without ties: twice the smaller tail over all ways to split the values."""
    pooled, u = [*a, *b], pairs_won(a, b)
    seen = []
    for chosen in itertools.combinations(range(len(pooled)), len(a)):
        rest = [pooled[i] for i in range(len(pooled)) if i not in chosen]
        seen.append(pairs_won([pooled[i] for i in chosen], rest))
    tail = min(sum(x <= u for x in seen), sum(x >= u for x in seen))
    return min(1.0, 2 * tail / len(seen))


def normal_p(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the two-sided p of U by the normal distribution, corrected for ties and continuity."""
    n, m, pooled = len(a), len(b), [*a, *b]
    ties = sum(pooled.count(value) ** 3 - pooled.count(value) for value in set(pooled))
    variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)))
    z = (abs(float(pairs_won(a, b)) - n * m / 2) - 0.5) / math.sqrt(variance)
    return min(1.0, math.erfc(z / math.sqrt(2)))


# Summaries.


def test_a_summary_by_hand() -> None:
    found = summarise([5.0, 1.0, 2.0, 4.0, 3.0], failed=2)
    assert (found.n, found.failed, found.mean, found.median) == (5, 2, 3.0, 3.0)
    assert (found.minimum, found.maximum, found.iqm) == (1.0, 5.0, 3.0)
    assert found.sd == pytest.approx(math.sqrt(10 / 4))
    assert found.why == ""
    assert summarise([1.0, 2.0, 4.0, 10.0]).median == 3.0


def test_the_interquartile_mean_by_hand() -> None:
    assert interquartile_mean([100.0, 0.0, 1.0, 2.0]) == 1.5
    # Of five values the outer ones of the middle three count three quarters.
    assert interquartile_mean([0.0, 1.0, 3.0, 4.0, 99.0]) == pytest.approx((0.75 * 1 + 3 + 0.75 * 4) / 2.5)
    # Wikipedia's example, "Interquartile mean", of nine values.
    assert interquartile_mean([1, 3, 5, 7, 9, 11, 13, 15, 17]) == 9.0


@given(SAMPLES)
def test_the_interquartile_mean_is_the_mean_of_the_middle_half_of_four_copies(values: list[float]) -> None:
    tolerance = 1e-13 * max(map(abs, values)) + 1e-300
    expected = float(naive.interquartile_mean(values))
    assert interquartile_mean(values) == pytest.approx(expected, rel=1e-12, abs=tolerance)


@given(st.lists(VALUES, min_size=4, max_size=9).map(lambda values: values * 4))
def test_the_interquartile_mean_is_scipys_trimmed_mean_where_four_divides_n(values: list[float]) -> None:
    expected = scipy.stats.trim_mean(values, 0.25)
    assert interquartile_mean(values) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_of_thirty_values_scipys_trimmed_mean_counts_more_than_half() -> None:
    values = [float(i * i) for i in range(30)]
    weights = [0] * 7 + [0.5] + [1] * 14 + [0.5] + [0] * 7
    assert interquartile_mean(values) == pytest.approx(np.average(values, weights=weights))
    assert scipy.stats.trim_mean(values, 0.25) == np.mean(values[7:23]) != interquartile_mean(values)


@given(st.lists(VALUES, min_size=2, max_size=35))
def test_mean_sd_and_median_are_those_of_python_which_computes_in_fractions(values: list[float]) -> None:
    found = summarise(values, resamples=10)
    tolerance = 1e-13 * max(map(abs, values)) + 1e-300  # of numbers so small that they have few digits
    assert found.mean == pytest.approx(statistics.mean(values), rel=1e-12, abs=tolerance)
    assert found.sd == pytest.approx(statistics.stdev(values), rel=1e-12, abs=tolerance)
    assert found.median == pytest.approx(statistics.median(values), rel=1e-12, abs=tolerance)


@given(SAMPLES, st.integers(0, 2**63 - 1), st.randoms(use_true_random=False))
def test_a_summary_depends_on_values_and_seed_and_not_on_order(
    values: list[float], seed: int, dice: Any
) -> None:
    found = summarise(values, seed=seed, resamples=50)
    dice.shuffle(values)
    assert summarise(values, seed=seed, resamples=50) == found
    assert summarise(np.array(values), seed=seed, resamples=50) == found


@given(st.lists(VALUES, min_size=2, max_size=35))
def test_intervals_hold_the_bulk_of_the_resampled_means_and_lie_in_the_sample(values: list[float]) -> None:
    found = summarise(values, resamples=200)
    for interval in (found.mean_interval, found.iqm_interval):
        assert interval is not None
        assert min(values) <= interval[0] <= interval[1] <= max(values)


def test_the_interval_of_a_mean_is_about_two_standard_errors_wide() -> None:
    values = np.random.default_rng(0).normal(size=400)
    found = summarise(values)
    assert found.mean_interval is not None
    width = found.mean_interval[1] - found.mean_interval[0]
    assert width == pytest.approx(2 * 1.96 * float(values.std()) / 20, rel=0.05)


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e-30, 1e140])
def test_shapiro_is_scipys_at_any_scale(scale: float) -> None:
    # Weights of men in pounds: the sample of Shapiro and Wilk's paper, whose W is 0.79.
    pounds = [148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236]
    expected = scipy.stats.shapiro(pounds)
    found = summarise([pound * scale for pound in pounds], resamples=2)
    assert found.shapiro_w == pytest.approx(0.79, abs=0.005)
    assert found.shapiro_w == pytest.approx(expected.statistic, rel=1e-9)
    assert found.shapiro_p == pytest.approx(expected.pvalue, rel=1e-6)


@given(st.lists(VALUES, min_size=3, max_size=35))
def test_shapiro_is_none_or_a_probability(values: list[float]) -> None:
    found = summarise(values, resamples=2)
    if len(set(values)) == 1:
        assert (found.shapiro_w, found.shapiro_p) == (None, None)
    else:
        assert found.shapiro_w is not None
        assert found.shapiro_p is not None
        assert 0 < found.shapiro_w <= 1 + 1e-12
        assert 0 <= found.shapiro_p <= 1


def test_without_values_nothing_is_known_but_what_failed() -> None:
    found = summarise([], failed=30)
    assert found.why == "No trial finished: there is nothing to summarise."
    fields = dataclasses.asdict(found)
    assert [name for name, value in fields.items() if value is not None] == ["n", "failed", "why"]
    assert (found.n, found.failed) == (0, 30)


def test_a_single_value_has_no_spread() -> None:
    found = summarise([0.3])
    assert (found.mean, found.median, found.minimum, found.maximum, found.iqm) == (0.3,) * 5
    assert (found.sd, found.mean_interval, found.iqm_interval, found.shapiro_w, found.shapiro_p) == (
        None,
    ) * 5
    assert found.why == (
        "One value has no sd and no confidence intervals. "
        "The Shapiro–Wilk test needs at least 3 values, not 1."
    )


def test_two_values_have_a_spread_but_no_test_of_normality() -> None:
    found = summarise([0.0, 1.0])
    assert found.sd == pytest.approx(math.sqrt(0.5))
    assert found.mean_interval == (0.0, 1.0)
    assert (found.shapiro_w, found.shapiro_p) == (None, None)
    assert found.why == "The Shapiro–Wilk test needs at least 3 values, not 2."


@given(st.floats(-1e150, 1e150), st.integers(3, 40))
def test_equal_values_have_sd_0_and_their_value_as_every_mean(value: float, n: int) -> None:
    found = summarise([value] * n, resamples=20)
    assert (found.mean, found.median, found.iqm, found.sd) == (value, value, value, 0.0)
    assert found.mean_interval == found.iqm_interval == (value, value)
    assert (found.shapiro_w, found.shapiro_p) == (None, None)
    assert found.why == "The Shapiro–Wilk test needs values that differ; all are equal."


def test_shapiro_is_not_asked_beyond_what_it_was_made_for() -> None:
    values = list(range(SHAPIRO_UP_TO + 1))
    assert summarise(values[:-1], resamples=2).shapiro_p is not None
    found = summarise(values, resamples=2)
    assert (found.shapiro_w, found.shapiro_p) == (None, None)
    assert found.why == "The Shapiro–Wilk test is accurate up to 5,000 values, not 5,001."


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e151, None, "1", True, [1.0, 2.0]])
def test_values_that_are_no_finite_numbers_are_refused(bad: Any) -> None:
    for act in (
        lambda: summarise([0.5, bad]),
        lambda: interquartile_mean([0.5, bad]),
        lambda: compare([0.5, bad], [1.0, 2.0]),
        lambda: compare([1.0, 2.0], [0.5, bad]),
    ):
        with pytest.raises(ParameterError, match=r"\[1\] \(of finished trials only\) must be a number"):
            act()


# Comparisons.


def test_a_comparison_by_hand() -> None:
    # 3 and 4 are above 1 and 2, 6 is above all: 7 pairs. Of the 20 ways to split, 4 give 7 or more.
    found = compare([3.0, 4.0, 6.0], [1.0, 2.0, 5.0])
    assert (found.n_a, found.n_b, found.u, found.a12) == (3, 3, 7.0, 7 / 9)
    assert (found.method, found.effect, found.why) == ("exact", "large", "")
    assert found.p == pytest.approx(2 * 4 / 20)
    assert found.mean_difference == pytest.approx(13 / 3 - 8 / 3)
    assert compare([4.0, 5.0, 6.0], [1.0, 2.0, 3.0]).p == pytest.approx(2 / 20)


@given(TIED, TIED)
def test_u_and_a12_count_all_pairs(a: list[float], b: list[float]) -> None:
    found = compare(a, b)
    assert found.u == pairs_won(a, b)
    assert found.u == scipy.stats.mannwhitneyu(a, b, method="asymptotic").statistic
    assert found.a12 == pytest.approx(float(pairs_won(a, b) / (len(a) * len(b))))


@given(st.permutations(range(8)), st.integers(2, 6))
def test_without_ties_p_is_that_of_all_permutations(order: list[int], n: int) -> None:
    a, b = [float(x) for x in order[:n]], [float(x) for x in order[n:]]
    found = compare(a, b)
    assert found.method == "exact"
    assert found.p == pytest.approx(permutation_p(a, b), rel=1e-9)


@given(FEW_TIED, FEW_TIED)
@settings(deadline=None, max_examples=60)
def test_few_values_with_ties_are_shared_out_in_all_ways(a: list[float], b: list[float]) -> None:
    found = compare(a, b)
    if len(set(a + b)) > 1:
        assert found.method == "exact"
        assert found.p == pytest.approx(permutation_p(a, b), rel=1e-9)


def test_samples_that_are_apart_but_tied_within_have_the_least_p() -> None:
    assert compare([-200.0] * 4, [-150.0, -149.0, -148.0, -147.0]).p == pytest.approx(2 / 70)


@given(MANY_TIED, MANY_TIED)
def test_with_ties_p_is_the_corrected_normal_approximation(a: list[float], b: list[float]) -> None:
    found = compare(a, b)
    if len(set(a + b)) > 1 and len(set(a + b)) < len(a + b):
        assert found.method == "asymptotic"
        assert found.p == pytest.approx(normal_p(a, b), rel=1e-9, abs=1e-15)


def exact_p(u: int, n: int) -> float:
    """Return the exact two-sided p of U for two samples of n values, by counting whole numbers."""
    # ways[k][s]: how many choices of k of the first ranks, as excess over the lowest k, add up to s.
    ways = [[0] * (n * n + 1) for _ in range(n + 1)]
    ways[0][0] = 1
    for rank in range(2 * n):
        for k in range(min(rank + 1, n), 0, -1):
            excess = rank - (k - 1)
            for s in range(n * n, excess - 1, -1):
                ways[k][s] += ways[k - 1][s - excess]
    tail = sum(ways[n][max(u, n * n - u) :])
    return min(1.0, float(Fraction(2 * tail, math.comb(2 * n, n))))


@pytest.mark.parametrize(("n", "shift"), [(30, 10.5), (30, 19.5), (EXACT_UP_TO, 20.5), (EXACT_UP_TO, 120.5)])
def test_large_samples_without_ties_are_tested_exactly_up_to_the_limit(n: int, shift: float) -> None:
    a = [2.0 * i for i in range(n)]
    b = [x + shift for x in a]
    found = compare(a, b)
    assert found.method == "exact"
    assert found.p == pytest.approx(exact_p(int(pairs_won(a, b)), n), rel=1e-9)


def test_beyond_the_limit_p_is_the_normal_approximation_without_ties_too() -> None:
    a = [float(i) for i in range(EXACT_UP_TO + 1)]
    for b in ([0.5, 1.5, 7.5], [x + 9.5 for x in a]):
        for first, second in ((a, b), (b, a)):
            found = compare(first, second)
            assert found.method == "asymptotic"
            assert found.p == pytest.approx(normal_p(first, second), rel=1e-9)


@given(TIED, TIED)
def test_comparing_the_other_way_round_turns_everything_round(a: list[float], b: list[float]) -> None:
    there, back = compare(a, b), compare(b, a)
    assert there.a12 is not None
    assert back.a12 is not None
    assert there.mean_difference is not None
    assert there.a12 + back.a12 == pytest.approx(1, abs=1e-15)
    assert there.p == pytest.approx(back.p, rel=1e-12)
    assert (there.method, there.effect, there.why) == (back.method, back.effect, back.why)
    assert there.mean_difference == -back.mean_difference  # type: ignore[operator]  # not None


@given(TIED, TIED)
def test_only_the_order_of_the_values_matters_to_test_and_effect(a: list[float], b: list[float]) -> None:
    plain = compare(a, b)
    for rising in (math.exp, math.atan, lambda x: x**3 - 7, lambda x: 1e-9 * x):
        bent = compare([rising(x) for x in a], [rising(x) for x in b])
        assert dataclasses.replace(bent, mean_difference=plain.mean_difference) == plain


@given(VALUES, st.integers(2, 60), st.integers(2, 60))
def test_equal_samples_have_p_1_and_no_effect(value: float, n: int, m: int) -> None:
    found = compare([value] * n, [value] * m)
    assert (found.p, found.a12, found.effect, found.mean_difference) == (1.0, 0.5, "negligible", 0.0)
    assert (found.method, found.why) == (None, "All values are equal: p is 1 without a test.")


def test_two_constants_that_differ_are_compared() -> None:
    found = compare([1.0] * 30, [0.9] * 30)
    assert (found.a12, found.effect, found.method, found.u) == (1.0, "large", "asymptotic", 900.0)
    assert found.p is not None
    assert found.p < 1e-12


@pytest.mark.parametrize(("a", "b"), [([], [1.0, 2.0]), ([1.0, 2.0], []), ([], [])])
def test_without_values_on_both_sides_there_is_nothing_to_compare(a: list[float], b: list[float]) -> None:
    why = f"A comparison needs values on both sides, not {len(a)} and {len(b)}."
    assert compare(a, b) == Comparison(len(a), len(b), why=why)


@pytest.mark.parametrize(("a", "b"), [([3.0], [1.0, 2.0]), ([3.0, 4.0], [1.0]), ([3.0], [3.0])])
def test_a_single_value_is_not_tested_but_described(a: list[float], b: list[float]) -> None:
    found = compare(a, b)
    assert (found.u, found.p, found.method) == (None, None, None)
    assert found.a12 == pairs_won(a, b) / (len(a) * len(b))
    assert found.mean_difference == sum(a) / len(a) - sum(b) / len(b)
    assert found.why == f"The U test needs at least 2 values on both sides, not {len(a)} and {len(b)}."


@pytest.mark.parametrize(
    ("a12", "word"),
    [
        (0.5, "negligible"),
        (0.5599, "negligible"),
        (0.56, "small"),
        (0.6399, "small"),
        (0.64, "medium"),
        (0.7099, "medium"),
        (0.71, "large"),
        (1.0, "large"),
    ],
)
def test_effects_have_vargha_and_delaneys_words_on_both_sides(a12: float, word: str) -> None:
    assert effect_word(a12) == effect_word(1 - a12) == effect_word(round(1 - a12, 4)) == word


# Families of tests.


def test_corrections_by_hand() -> None:
    ps = [0.01, 0.04, 0.03, 0.005]
    assert bonferroni(ps) == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert holm(ps) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert bonferroni([0.6, 0.7]) == holm([0.6, 0.7])[:1] * 2 == [1.0, 1.0]
    assert bonferroni([]) == holm([]) == []
    assert bonferroni([0.03]) == holm([0.03]) == [0.03]


@given(PS)
def test_holm_lies_between_the_raw_p_and_bonferronis_and_keeps_their_order(ps: list[float]) -> None:
    adjusted, strict = known(holm(ps)), known(bonferroni(ps))
    for raw, middle, high in zip(ps, adjusted, strict, strict=True):
        assert raw <= middle <= high <= 1
    by_raw = [middle for _, middle in sorted(zip(ps, adjusted, strict=True))]
    assert by_raw == sorted(by_raw)


@given(PS, st.floats(0.001, 0.999))
def test_holm_rejects_what_the_step_down_procedure_rejects(ps: list[float], alpha: float) -> None:
    rejected = set()
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        if (len(ps) - rank) * ps[place] > alpha:
            break
        rejected.add(place)
    assert {place for place, p in enumerate(known(holm(ps))) if p <= alpha} == rejected


@given(PS, st.randoms(use_true_random=False))
def test_corrections_do_not_depend_on_the_order_of_the_tests(ps: list[float], dice: Any) -> None:
    order = list(range(len(ps)))
    dice.shuffle(order)
    for correct in (bonferroni, holm):
        adjusted = correct(ps)
        assert correct([ps[place] for place in order]) == [adjusted[place] for place in order]


def test_a_test_that_could_not_be_made_stays_missing_and_counts_in_the_family() -> None:
    assert bonferroni([0.02, None]) == holm([0.02, None]) == [0.04, None]
    assert holm([None, 0.02, 0.01]) == [None, 0.04, 0.03]
    assert bonferroni([None, None]) == holm([None, None]) == [None, None]


# Verdicts.


def test_a_verdict_has_the_direction_where_p_is_small_enough() -> None:
    assert [verdict(direction, 0.05, 0.05) for direction in (0.1, -0.1, 0.0)] == [">", "<", "="]
    assert [verdict(direction, 0.051, 0.05) for direction in (0.1, -0.1)] == ["=", "="]
    assert verdict(None, 0.01) is verdict(0.1, None) is None


def test_the_verdicts_differ_where_one_failure_pulls_down_the_mean_as_at_12_0() -> None:
    # As in the paper: 29 of 30 XCS trials near 0.995 and one near 0, PPL-ST around 0.969.
    pplst = [0.969 + 0.001 * (i - 14.5) for i in range(30)]
    xcs = [0.994 + 0.0001 * i for i in range(29)] + [0.001]
    found = compare(pplst, xcs)
    (p, _) = bonferroni([found.p, 1.0])
    assert p is not None
    assert p < 0.001
    assert found.a12 is not None
    assert verdict(found.mean_difference, p) == ">"
    assert verdict(found.a12 - 0.5, p) == "<"


# The paper's numbers.


def test_standard_errors_by_hand() -> None:
    # Standard errors 0.3/√9 and 0.4/√16, both 0.1, so that of the difference is √0.02.
    assert standard_errors_apart(1.0, 0.3, 9, 0.8, 0.4, 16) == pytest.approx(0.2 / math.sqrt(0.02))
    assert standard_errors_apart(0.8, 0.4, 16, 1.0, 0.3, 9) == pytest.approx(0.2 / math.sqrt(0.02))
    # PPL-ST at (8, 0) of the paper's Table 1, against 30 trials one paper's sd below it.
    assert standard_errors_apart(0.959, 0.016, 30, 0.975, 0.016) == pytest.approx(math.sqrt(15))
    assert standard_errors_apart(0.9, 0.0, 30, 0.9, 0.1) == 0.0
    assert standard_errors_apart(0.9, 0.0, 1, 0.5, 0.1, 1) == pytest.approx(4)


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        (1.0, None),
        (0.9996, None),
        (0.9995, None),
        (1.0005, None),
        (0.9994, math.inf),
        (1.0006, math.inf),
        (0.5, math.inf),
    ],
)
def test_without_spread_means_agree_or_are_infinitely_far_apart(mean: float, expected: float | None) -> None:
    assert standard_errors_apart(mean, 0.0, 30, 1.0, 0.0) == expected


@given(st.integers(1, 1200), st.sampled_from([-1, 1]))
def test_every_mean_that_rounds_to_the_papers_agrees_with_it(thousandths: int, side: int) -> None:
    paper = thousandths / 1000
    assert standard_errors_apart((10 * thousandths + 5 * side) / 10_000, 0.0, 30, paper, 0.0) is None
    assert standard_errors_apart((10 * thousandths + 6 * side) / 10_000, 0.0, 30, paper, 0.0) == math.inf


def test_importing_the_module_does_not_wait_for_scipys_statistics() -> None:
    script = "import sys, ifthen.study.statistics\nassert 'scipy.stats' not in sys.modules\n"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
