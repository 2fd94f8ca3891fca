"""Numbers as people read them: no more digits than say something, in the task's own units."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

NOTHING = "–"
"""Stands for a number that does not exist."""
ALL_EQUAL = "all equal"
"""Stands for the interval of a mean of returns of which no two differ."""
HUGE = 1e7


def plural(number: int, noun: str) -> str:
    """Return "1 state" or "3 states"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def in_units(value: float | None, like: float | None = None) -> str:
    """Return a performance, such as 0.7312, 12.34, 500, -1,110.3 or -1e+12.

    Fractions have four digits after the point and returns of many steps one. A whole number has none. Numbers
    beyond all returns, such as a floor, are rounded to three digits in all.

    Args:
        value: the performance; None where there is none.
        like: another number that tells how many digits; the performance itself where None.
    """
    if value is None or value != value:
        return NOTHING
    size = abs(value if like is None else like)
    if size >= HUGE:
        return f"{value:.3g}"
    if value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if size >= 100 else f"{value:.2f}" if size >= 10 else f"{value:.4f}"


def mean_and_sd(mean: float | None, sd: float | None = None, beside: int | None = None) -> str:
    """Return a mean and its standard deviation, such as 313 ± 210, 499.7 ± 0.5 or 0.985 ± 0.032.

    The deviation has two digits that count, and the mean as many after the point. Fractions have three digits
    after the point. The mean stands alone where the deviation is 0 or not known.

    Args:
        mean: the mean; None where there is none.
        sd: the standard deviation; None where there is none.
        beside: how many digits after the point, where other numbers stand beside this one.
    """
    if mean is None or not sd or sd != sd:
        is_fraction = mean is not None and mean == mean and mean != round(mean) and abs(mean) < 10
        return f"{mean:.{3 if beside is None else beside}f}" if is_fraction else in_units(mean)
    size = max(abs(mean), sd)
    if size >= HUGE:
        return f"{mean:.3g} ± {sd:.3g}"
    decimals = 1 - math.floor(math.log10(sd))
    max_decimals = 3 if size < 10 else 2 if size < 100 else 1
    n_decimals = beside if beside is not None else 3 if size < 10 else min(max_decimals, max(0, decimals))
    return f"{mean:,.{n_decimals}f} ± {round(sd, decimals) if decimals < 0 else sd:,.{n_decimals}f}"


def interval_in_words(ends: tuple[float, float] | None, beside: float) -> str:
    """Return an interval of a mean, such as 491.3 to 500, with as many digits as the mean; "" for none.

    Where no two returns differ, an interval without width would claim certainty: then it is "all equal".
    """
    if ends is None:
        return ""
    return ALL_EQUAL if ends[0] == ends[1] else " to ".join(in_units(end, beside) for end in ends)


def mean_in_words(mean: float, ends: tuple[float, float] | None) -> str:
    """Return a mean with its 95 % interval, such as 496.3 (95 % interval 491.3 to 500)."""
    if ends is not None and ends[0] == ends[1]:
        return f"{in_units(mean)}, as in every episode"
    interval = interval_in_words(ends, mean)
    return in_units(mean) + (f" (95 % interval {interval})" if interval else "")


def at_most(share: float) -> str:
    """Return an upper bound of a share in per cent, rounded up to a tenth, such as 3 % or 0.3 %."""
    return f"{math.ceil(1000 * share) / 10:g} %"


def percent(share: float) -> str:
    """Return a share in whole per cent; only an exact 0 is 0%, and only an exact 1 is 100%."""
    if 0 < share <= 0.005:
        return "<1%"
    if 0.995 <= share < 1:
        return ">99%"
    return f"{share:.0%}"


def counted_steps(mean: float) -> str:
    """Return a mean number of steps with four digits that count, such as 3.5, 198.4 or 20,000."""
    return f"{mean:,.4g}" if mean < 9_999.5 else f"{mean:,.0f}"


def counted(number: float) -> str:
    """Return a large count with three digits that say something: 609, 59,200, 1.13 billion."""
    for size, word in ((1e9, " billion"), (1e6, " million")):
        if number >= size:
            return f"{number / size:.3g}{word}"
    return f"{round(number):,}" if number < 1000 else f"{float(f'{number:.3g}'):,.0f}"


def duration(seconds: float) -> str:
    """Return a time as people say it: "0.4 s", "12 s", "3 min", "1.5 h", "2.1 days"."""
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def listed(names: Sequence[str], limit: int = 5) -> str:
    """Return the first few names, and how many more there are."""
    ending = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + ending


MANY = 20
"""With more features than this, only those that rules test are shown, and the others are counted."""


def worth_showing(names: Iterable[str], tested: Collection[str]) -> list[str]:
    """Return the features to show: all, or of many those that rules test, or the first ones if none is.

    Args:
        names: of all features.
        tested: those that rules test.
    """
    all_names = list(names)
    if len(all_names) <= MANY:
        return all_names
    return [name for name in all_names if name in tested] or all_names[:MANY]


def values_in_words(values: Mapping[str, str], tested: Collection[str] = ()) -> str:
    """Return values by name, as "x = 3, y = 2"; of many, those that rules test and the number of others."""
    shown = worth_showing(values, tested)
    n_others = len(values) - len(shown)
    words = ", ".join(f"{name} = {values[name]}" for name in shown)
    return f"{words} and {plural(n_others, 'other feature')}" if n_others else words
