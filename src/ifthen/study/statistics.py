"""The statistics of a study: summaries of samples, comparisons of two samples, verdicts.

Trials of one system on one task give a sample of n values. Two samples a and b are compared with the
two-sided Mann–Whitney U test, the p values of one task are corrected as a family, and a verdict says
whether a is above (">"), below ("<") or not told apart from ("=") b. Only finished trials have values.

Vargha and Delaney, "A critique and improvement of the CL common language effect size statistics of
McGraw and Wong", 2000; Holm, "A simple sequentially rejective multiple test procedure", 1979.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ifthen.checks import real_number
from ifthen.rules.arrays import Floats

RESAMPLES = 10_000
"""The number of resamples of the percentile bootstrap."""
LEVEL = 0.95
"""The confidence level of the percentile bootstrap."""
EXACT_UP_TO = 50
"""The exact U test is used for samples without ties of at most this many values each."""
MOST_WAYS = 20_000
"""With ties, every way to share the values out is tried where there are at most this many ways."""
SHAPIRO_UP_TO = 5_000
"""SciPy's p of the Shapiro–Wilk test is accurate for at most this many values."""
HALF_A_DIGIT = 0.0005
"""The paper's three digits may be this far from the number that was rounded."""
LARGEST = 1e150
"""Larger values are refused: their squares would be infinite."""

Interval = tuple[float, float]
Effect = Literal["negligible", "small", "medium", "large"]
Verdict = Literal[">", "=", "<"]
UMethod = Literal["exact", "asymptotic"]


@dataclass(frozen=True)
class Summary:
    """A sample in numbers; a number that does not exist is None, and `why` says what is missing."""

    n: int
    """How many trials finished."""
    failed: int
    """How many trials did not finish; they are in none of the numbers."""
    mean: float | None = None
    sd: float | None = None
    """Sample standard deviation, with n − 1."""
    median: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    iqm: float | None = None
    """Interquartile mean; see `interquartile_mean`."""
    mean_interval: Interval | None = None
    """Percentile bootstrap of the mean."""
    iqm_interval: Interval | None = None
    shapiro_w: float | None = None
    shapiro_p: float | None = None
    """Small where the values do not look normally distributed."""
    why: str = ""
    """Why some numbers are None; empty where none is."""


def summarise(values: Iterable[float], failed: int = 0, seed: int = 0, resamples: int = RESAMPLES) -> Summary:
    """Return a sample in numbers: of one value per finished trial, in any order."""
    sample = np.sort(_checked("values", values))
    n, numbers = sample.size, sample.tolist()
    if n == 0:
        return Summary(0, failed, why="No trial finished: there is nothing to summarise.")
    shapiro_w, shapiro_p, why = _shapiro(sample)
    if n == 1:
        why = f"One value has no sd and no confidence intervals. {why}"
    return Summary(
        n=n,
        failed=failed,
        mean=statistics.mean(numbers),
        sd=statistics.stdev(numbers) if n > 1 else None,
        median=statistics.median(numbers),
        minimum=numbers[0],
        maximum=numbers[-1],
        iqm=interquartile_mean(sample),
        mean_interval=_interval(sample, np.mean, seed, resamples),
        iqm_interval=_interval(sample, _middle_means, seed, resamples),
        shapiro_w=shapiro_w,
        shapiro_p=shapiro_p,
        why=why,
    )


def interquartile_mean(values: Iterable[float]) -> float:
    """Return the mean of the middle half of at least one value; values on its borders count in part.

    The weights add up to exactly n/2. SciPy's `trim_mean(values, 0.25)`, which rliable uses, drops ⌊n/4⌋
    whole values at each end instead: the same where 4 divides n, and otherwise a little more than half
    (16 of 30 values, where this function counts 14 and two halves).
    """
    sample = _checked("values", values)
    if not sample.size:
        raise ValueError("an interquartile mean needs at least one value")
    return float(np.clip(_middle_means(sample), sample.min(), sample.max()))


def _middle_means(samples: Floats, axis: int = -1) -> Floats:
    """Return the interquartile means of samples along an axis."""
    n = samples.shape[axis]
    # The value at place i covers [i, i + 1] of a line of length n, whose middle half is [n/4, 3n/4].
    positions = np.arange(n)
    weights = np.minimum(positions + 1, 0.75 * n) - np.maximum(positions, 0.25 * n)
    ordered = np.moveaxis(np.sort(samples, axis=axis), axis, -1)
    return np.asarray(ordered @ weights.clip(min=0) / (n / 2))


def _interval(sample: Floats, statistic: Callable[..., Any], seed: int, resamples: int) -> Interval | None:
    """Return the percentile bootstrap's confidence interval of a statistic; None for a single value."""
    if sample.size < 2:
        return None
    from scipy.stats import bootstrap  # type: ignore[import-untyped]  # SciPy ships no types

    result = bootstrap(
        (sample,),
        statistic,
        n_resamples=resamples,
        confidence_level=LEVEL,
        method="percentile",
        vectorized=True,
        rng=seed,
    )
    # Rounding must not carry a mean out of its sample: of equal values the mean is that value.
    low, high = np.clip(result.confidence_interval, sample[0], sample[-1]).tolist()
    return low, high


@dataclass(frozen=True)
class Comparison:
    """How two samples differ; a number that does not exist is None, and `why` says what is missing."""

    n_a: int
    n_b: int
    u: float | None = None
    """Pairs in which a is greater, plus half of the ties."""
    p: float | None = None
    """Two-sided, not corrected for other tests."""
    method: UMethod | None = None
    """How p was found; None where there was nothing to compute."""
    a12: float | None = None
    """The probability that a value of a exceeds one of b, plus half of that of a tie."""
    effect: Effect | None = None
    """A12 in a word."""
    mean_difference: float | None = None
    """Mean of a − mean of b."""
    why: str = ""
    """Why some numbers are None; empty where none is."""


def compare(a: Iterable[float], b: Iterable[float]) -> Comparison:
    """Return how two samples differ, with the two-sided Mann–Whitney U test.

    The test is exact for at most `EXACT_UP_TO` values in each sample, all different, and wherever all ways to
    share the values out can be tried; otherwise it is the normal approximation, corrected for ties and
    continuity. Where all values are equal, p is 1 without a test. The test needs two values in each sample,
    A12 and the difference of means need one.
    """
    first, second = _checked("a", a), _checked("b", b)
    n_a, n_b = first.size, second.size
    if not (n_a and n_b):
        return Comparison(n_a, n_b, why=f"A comparison needs values on both sides, not {n_a} and {n_b}.")
    greater, equal = first[:, None] > second, first[:, None] == second
    u = float(greater.sum() + equal.sum() / 2)
    p, method, why = _u_test(first, second)
    return Comparison(
        n_a=n_a,
        n_b=n_b,
        u=None if p is None else u,
        p=p,
        method=method,
        a12=u / (n_a * n_b),
        effect=effect_word(u / (n_a * n_b)),
        mean_difference=statistics.mean(first.tolist()) - statistics.mean(second.tolist()),
        why=why,
    )


def effect_word(a12: float) -> Effect:
    """Return A12 in Vargha and Delaney's words: from 0.56 small, 0.64 medium, 0.71 large; alike below 0.5."""
    larger = max(a12, 1 - a12)
    if larger < 0.56:
        return "negligible"
    return "small" if larger < 0.64 else "medium" if larger < 0.71 else "large"


def bonferroni(ps: Sequence[float | None]) -> list[float | None]:
    """Return adjusted p values of a family of tests: each times their number, at most 1.

    Args:
        ps: one p value per planned test. None, a test that could not be made, stays None and counts in
            the family's size, so that a missing sample makes no other verdict easier.
    """
    return [None if p is None else min(1.0, len(ps) * p) for p in ps]


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Return adjusted p values of a family of tests, as for `bonferroni`, by Holm's step-down method.

    The smallest of m p values is multiplied by m, the next by m − 1 and so on; none may fall below the one
    before it. It controls the same error rate as Bonferroni's and never gives a larger number.
    """
    ranked = sorted((p, index) for index, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    highest = 0.0
    for rank, (p, index) in enumerate(ranked):
        highest = max(highest, min(1.0, (len(ps) - rank) * p))
        adjusted[index] = highest
    return adjusted


def verdict(direction: float | None, p_adjusted: float | None, alpha: float = 0.05) -> Verdict | None:
    """Return ">", "=" or "<"; None without a test.

    Args:
        direction: positive where a is above b. The paper goes by the difference of means; the U test itself
            tests A12 − 0.5. They differ where a few bad trials pull down the mean of a sample that is mostly
            better.
        p_adjusted: p, corrected for the family of tests it belongs to.
        alpha: family-wise error rate; a difference counts where p_adjusted ≤ alpha.
    """
    if direction is None or p_adjusted is None:
        return None
    if p_adjusted > alpha or direction == 0:
        return "="
    return ">" if direction > 0 else "<"


def standard_errors_apart(
    mean: float, sd: float, n: int, paper_mean: float, paper_sd: float, paper_n: int = 30
) -> float | None:
    """Return the distance of our mean of `n` trials from the paper's in standard errors of the difference.

    Where both sds are 0 there is no such unit: None if the means agree as far as the paper's three digits
    tell, infinity if not. A paper's sd of 0.000 may have been up to 0.0005, so a large distance between
    means that agree to three digits says little.
    """
    distance, unit = abs(mean - paper_mean), math.hypot(sd / math.sqrt(n), paper_sd / math.sqrt(paper_n))
    if unit > 0:
        return distance / unit
    # A little more than half a digit: 0.9855 − 0.985 is 0.000500000000000056.
    return None if distance <= HALF_A_DIGIT * (1 + 1e-9) else math.inf


def _checked(name: str, values: Iterable[float]) -> Floats:
    """Return the values as an array, or raise where one is not a finite number."""
    label = "{}[{}] (of finished trials only)"
    numbers = [real_number(label.format(name, i), value, -LARGEST, LARGEST) for i, value in enumerate(values)]
    return np.array(numbers, dtype=np.float64)


def _shapiro(ordered: Floats) -> tuple[float | None, float | None, str]:
    """Return W and p of the Shapiro–Wilk test of a sorted sample, or why there are none."""
    n, span = ordered.size, ordered[-1] - ordered[0]
    if n < 3:
        return None, None, f"The Shapiro–Wilk test needs at least 3 values, not {n}."
    if span == 0:
        return None, None, "The Shapiro–Wilk test needs values that differ; all are equal."
    if n > SHAPIRO_UP_TO:
        return None, None, f"The Shapiro–Wilk test is accurate up to {SHAPIRO_UP_TO:,} values, not {n:,}."
    from scipy.stats import shapiro

    # W does not change with place and scale, but SciPy takes a very small spread for none.
    result = shapiro((ordered - ordered[0]) / span)
    return float(result.statistic), float(result.pvalue), ""


def _u_test(a: Floats, b: Floats) -> tuple[float | None, UMethod | None, str]:
    """Return p of the two-sided U test and how it was found, or why there is none."""
    if min(a.size, b.size) < 2:
        return None, None, f"The U test needs at least 2 values on both sides, not {a.size} and {b.size}."
    distinct = np.unique(np.concatenate((a, b))).size
    if distinct == 1:
        return 1.0, None, "All values are equal: p is 1 without a test."
    from scipy.stats import PermutationMethod, mannwhitneyu

    n_splits, ties = math.comb(a.size + b.size, a.size), distinct < a.size + b.size
    if ties and n_splits <= MOST_WAYS:
        permutations = PermutationMethod(n_resamples=n_splits)
        return float(mannwhitneyu(a, b, alternative="two-sided", method=permutations).pvalue), "exact", ""
    method: UMethod = "exact" if not ties and max(a.size, b.size) <= EXACT_UP_TO else "asymptotic"
    result = mannwhitneyu(a, b, alternative="two-sided", method=method, use_continuity=True)
    return float(result.pvalue), method, ""
