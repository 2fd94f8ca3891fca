"""Numbers as they are shown to people: as many digits as say something, in the task's own units."""

from __future__ import annotations

HUGE = 1e7


def in_units(value: float, like: float | None = None) -> str:
    """Return a performance, such as 0.7312, 12.34, 500.0, -1,110.3 or -1e+12.

    Fractions need four digits after the point and returns of many steps one; what is beyond all returns, such
    as a floor, is rounded to three digits in all.

    Args:
        value: the performance.
        like: another number that tells how many digits; the performance itself where None.
    """
    size = abs(value if like is None else like)
    if size >= HUGE:
        return f"{value:.3g}"
    return f"{value:,.1f}" if size >= 100 else f"{value:.2f}" if size >= 10 else f"{value:.4f}"


def mean_and_sd(mean: float, sd: float | None) -> str:
    """Return a mean and its deviation with digits that fit each other; the mean alone without one."""
    if sd is None or sd != sd:
        return in_units(mean)
    larger = max(abs(mean), sd)
    return f"{in_units(mean, larger)} ± {in_units(sd, larger)}"
