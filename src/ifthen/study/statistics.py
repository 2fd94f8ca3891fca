"""What the trials of a study say: summaries, comparisons of two systems, verdicts of a table.

Trials of one system on one task give a sample of n values. Two samples a and b are compared with the
two-sided Mann–Whitney U test, the p values of one task are corrected as a family, and a verdict says
whether a is above (">"), below ("<") or not told apart from ("=") b. Only finished trials have values.

Vargha and Delaney, "A critique and improvement of the CL common language effect size statistics of
McGraw and Wong", 2000; Holm, "A simple sequentially rejective multiple test procedure", 1979.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ifthen.checks import real_number, whole_number
from ifthen.study.bootstrap import LEVEL, RESAMPLES, Interval, bootstrap_intervals, middle_weights

LARGEST = 1e150
"""Values beyond ± this are refused: their squares would be infinite."""
EXACT_UP_TO = 50
MOST_WAYS = 20_000
"""The exact U test is used for samples without ties of at most this many values each."""
SHAPIRO_UP_TO = 5_000
"""SciPy's p of the Shapiro–Wilk test is accurate for at most this many values."""
HALF_A_DIGIT = 0.0005
"""How far the paper's three digits may be from the number that was rounded."""

Effect = Literal["negligible", "small", "medium", "large"]
Verdict = Literal[">", "=", "<"]


@dataclass(frozen=True)
class Summary:
    """A sample in numbers; a number that does not exist is None, and `why` says what is missing."""

    n: int
    """How many trials finished."""
    failed: int
    """How many did not, and are in none of the numbers."""
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
    """What is None and why; empty where nothing is."""


def summarise(
    values: Iterable[float],
    failed: int = 0,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Summary:
    """Return a sample in numbers.

    Args:
        values: one number per finished trial, in any order.
        failed: how many trials did not finish.
        seed: of the bootstrap.
        resamples: of the bootstrap.
        level: of the confidence intervals.
    """
    failed = whole_number("failed", failed, 0, 2**63 - 1)
    sample = np.sort(_checked("values", values))
    n = sample.size
    if n == 0:
        return Summary(0, failed, why="No trial finished: there is nothing to summarise.")
    intervals = bootstrap_intervals(sample, seed, resamples, level) if n > 1 else (None, None)
    shapiro_w, shapiro_p, why = _shapiro(sample)
    if n == 1:
        why = f"One value has no sd and no confidence intervals. {why}"
    return Summary(
        n=n,
        failed=failed,
        mean=_mean(sample),
        sd=_sd(sample) if n > 1 else None,
        median=_clamped((sample[(n - 1) // 2] + sample[n // 2]) / 2, sample),
        minimum=float(sample[0]),
        maximum=float(sample[-1]),
        iqm=interquartile_mean(sample),
        mean_interval=intervals[0],
        iqm_interval=intervals[1],
        shapiro_w=shapiro_w,
        shapiro_p=shapiro_p,
        why=why,
    )


def interquartile_mean(values: Iterable[float]) -> float:
    """Return the mean of the middle half of at least one value, those on its borders counted in part.

    The weights add up to exactly n/2. SciPy's `trim_mean(values, 0.25)`, which rliable uses, drops ⌊n/4⌋
    whole values at each end instead: the same where 4 divides n, and otherwise a little more than half
    (16 of 30 values, where this function counts 14 and two halves).

    Args:
        values: the sample, in any order.
    """
    sample = np.sort(_checked("values", values, at_least=1))
    total = math.fsum(middle_weights(sample.size) * sample)
    return _clamped(total / (2 * sample.size), sample)


@dataclass(frozen=True)
class Comparison:
    """How two samples differ; a number that does not exist is None, and `why` says what is missing."""

    n_a: int
    n_b: int
    u: float | None = None
    """Pairs in which a is greater, plus half of those that tie."""
    p: float | None = None
    """Two-sided, not corrected for other tests."""
    method: Literal["exact", "asymptotic"] | None = None
    """How p was found; None where there was nothing to compute."""
    a12: float | None = None
    """The probability that a value of a exceeds one of b, plus half of that of a tie."""
    effect: Effect | None = None
    """A12 in a word."""
    mean_difference: float | None = None
    """Mean of a − mean of b."""
    why: str = ""
    """What is None and why; empty where nothing is."""


def compare(a: Iterable[float], b: Iterable[float]) -> Comparison:
    """Return how two samples differ, with the two-sided Mann–Whitney U test.

    The test is exact where no two values of a and b together are equal and neither sample has more than
    `EXACT_UP_TO` values, and where there are so few that all ways to share them out can be tried; otherwise
    the normal approximation, corrected for ties and continuity. Where all
    values are equal, p is 1 without a test. The test needs two values in each sample, A12 and the
    difference of means need one.

    Args:
        a: one number per finished trial of the first system.
        b: likewise of the second.
    """
    first, second = _checked("a", a), _checked("b", b)
    n_a, n_b = first.size, second.size
    if not (n_a and n_b):
        why = f"A comparison needs values on both sides, not {n_a} and {n_b}."
        return Comparison(n_a, n_b, why=why)
    u = _pairs_won(first, second)
    p, method, why = _u_test(first, second)
    return Comparison(
        n_a=n_a,
        n_b=n_b,
        u=None if p is None else u,
        p=p,
        method=method,
        a12=u / (n_a * n_b),
        effect=effect_word(u / (n_a * n_b)),
        mean_difference=_mean(first) - _mean(second),
        why=why,
    )


def effect_word(a12: float) -> Effect:
    """Return A12 in Vargha and Delaney's words: from 0.56 small, 0.64 medium, 0.71 large, and mirrored.

    Args:
        a12: from 0 to 1; 0.5 where neither sample tends to be above the other.
    """
    real_number("a12", a12, 0, 1)
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
    return [None if p is None else min(1.0, len(ps) * p) for p in _checked_ps(ps)]


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Return adjusted p values of a family of tests by Holm's step-down method.

    The smallest of m p values is multiplied by m, the next by m − 1 and so on; none may fall below the one
    before it. It controls the same error rate as Bonferroni's and never gives a larger number.

    Args:
        ps: as for `bonferroni`.
    """
    known = sorted((p, place) for place, p in enumerate(_checked_ps(ps)) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    highest = 0.0
    for rank, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(ps) - rank) * p))
        adjusted[place] = highest
    return adjusted


def verdict(comparison: Comparison, p_adjusted: float | None, alpha: float = 0.05) -> Verdict | None:
    """Return ">", "=" or "<" as the paper does: direction by the larger mean; None without a test.

    Args:
        comparison: of a and b.
        p_adjusted: its p, corrected for the family of tests it belongs to.
        alpha: family-wise error rate; a difference counts where p_adjusted ≤ alpha.
    """
    return _verdict(comparison.mean_difference, p_adjusted, alpha)


def verdict_by_effect(
    comparison: Comparison, p_adjusted: float | None, alpha: float = 0.05
) -> Verdict | None:
    """Return ">", "=" or "<" with the direction by A12, which is what the U test tests.

    It differs from `verdict` where a few bad trials pull down the mean of a sample that is mostly better.

    Args:
        comparison: of a and b.
        p_adjusted: its p, corrected for the family of tests it belongs to.
        alpha: family-wise error rate; a difference counts where p_adjusted ≤ alpha.
    """
    return _verdict(None if comparison.a12 is None else comparison.a12 - 0.5, p_adjusted, alpha)


def standard_errors_apart(
    mean: float, sd: float, n: int, paper_mean: float, paper_sd: float, paper_n: int = 30
) -> float | None:
    """Return the distance of two means in standard errors of their difference.

    Where both sds are 0 there is no such unit: None if the means agree as far as the paper's three digits
    tell, infinity if not. A paper's sd of 0.000 may have been up to 0.0005, so a large distance between
    means that agree to three digits says little.

    Args:
        mean: of our trials.
        sd: their sample standard deviation.
        n: how many there are.
        paper_mean: as printed, rounded to three digits.
        paper_sd: likewise.
        paper_n: how many trials the paper ran.
    """
    ours = real_number("mean", mean, -LARGEST, LARGEST)
    distance = abs(ours - real_number("paper_mean", paper_mean, -LARGEST, LARGEST))
    unit = math.hypot(_standard_error("", sd, n), _standard_error("paper_", paper_sd, paper_n))
    if unit > 0:
        return distance / unit
    # A little more than half a digit: 0.9855 − 0.985 is 0.000500000000000056.
    return None if distance <= HALF_A_DIGIT * (1 + 1e-9) else math.inf


def _standard_error(prefix: str, sd: float, n: int) -> float:
    """Return the standard error of a mean."""
    checked = real_number(f"{prefix}sd", sd, 0, LARGEST)
    return checked / math.sqrt(whole_number(f"{prefix}n", n, 1, 2**63 - 1))


def _verdict(direction: float | None, p_adjusted: float | None, alpha: float) -> Verdict | None:
    """Return the verdict; a significant difference without a direction is none."""
    real_number("alpha", alpha, 0, 1)
    if direction is None or p_adjusted is None:
        return None
    if real_number("p_adjusted", p_adjusted, 0, 1) > alpha or direction == 0:
        return "="
    return ">" if direction > 0 else "<"


def _checked(name: str, values: Iterable[float], at_least: int = 0) -> NDArray[np.float64]:
    """Return the values as an array, or raise where one is not a finite number."""
    found = [
        real_number(f"{name}[{place}] (of finished trials only)", value, -LARGEST, LARGEST)
        for place, value in enumerate(values)
    ]
    whole_number(f"the number of {name}", len(found), at_least, 2**63 - 1)
    return np.array(found, dtype=np.float64)


def _checked_ps(ps: Sequence[float | None]) -> list[float | None]:
    """Return the p values, or raise where one is not from 0 to 1."""
    return [p if p is None else real_number(f"ps[{place}]", p, 0, 1) for place, p in enumerate(ps)]


def _clamped(value: float, sample: NDArray[np.float64]) -> float:
    """Return a mean of the sample, which rounding must not carry out of it: equal values have sd 0."""
    return float(min(max(value, sample.min()), sample.max()))


def _mean(sample: NDArray[np.float64]) -> float:
    """Return the mean of at least one value, the same for any order of them."""
    return _clamped(math.fsum(sample) / sample.size, sample)


def _sd(sample: NDArray[np.float64]) -> float:
    """Return the sample standard deviation of at least two values."""
    return math.hypot(*(sample - _mean(sample))) / math.sqrt(sample.size - 1)


def _shapiro(ordered: NDArray[np.float64]) -> tuple[float | None, float | None, str]:
    """Return W and p of the Shapiro–Wilk test of a sorted sample, or why there are none."""
    n, span = ordered.size, ordered[-1] - ordered[0]
    if n < 3:
        return None, None, f"The Shapiro–Wilk test needs at least 3 values, not {n}."
    if span == 0:
        return None, None, "The Shapiro–Wilk test needs values that differ; all are equal."
    if n > SHAPIRO_UP_TO:
        return None, None, f"The Shapiro–Wilk test is accurate up to {SHAPIRO_UP_TO:,} values, not {n:,}."
    from scipy.stats import shapiro  # type: ignore[import-untyped]  # SciPy ships no types

    # W does not change with place and scale, but SciPy takes a very small spread for none.
    found = shapiro((ordered - ordered[0]) / span)
    return float(found.statistic), float(found.pvalue), ""


def _pairs_won(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the number of pairs in which a is greater, plus half of those that tie."""
    ordered = np.sort(b)
    below = np.searchsorted(ordered, a, side="left").sum()
    not_above = np.searchsorted(ordered, a, side="right").sum()
    return float(below + not_above) / 2


def _u_test(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[float | None, Literal["exact", "asymptotic"] | None, str]:
    """Return p of the two-sided U test and how it was found, or why there is none."""
    if min(a.size, b.size) < 2:
        return None, None, f"The U test needs at least 2 values on both sides, not {a.size} and {b.size}."
    distinct = np.unique(np.concatenate((a, b))).size
    if distinct == 1:
        return 1.0, None, "All values are equal: p is 1 without a test."
    from scipy.stats import PermutationMethod, mannwhitneyu

    ways = math.comb(a.size + b.size, a.size)
    if distinct < a.size + b.size and ways <= MOST_WAYS:  # ties: every way to share the values out is tried
        every = PermutationMethod(n_resamples=ways)
        return float(mannwhitneyu(a, b, alternative="two-sided", method=every).pvalue), "exact", ""
    exact = distinct == a.size + b.size and max(a.size, b.size) <= EXACT_UP_TO
    method: Literal["exact", "asymptotic"] = "exact" if exact else "asymptotic"
    found = mannwhitneyu(a, b, alternative="two-sided", method=method, use_continuity=True)
    return float(found.pvalue), method, ""
