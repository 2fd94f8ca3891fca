"""Values of programs: numbers, sums of features with coefficients, and the larger or smaller of such.

Floats are rounded, so a sum is the same to the last bit only if it is worked out as `ifthen.rules.term` does:
one product after the other, in the order of the features. `exact` says that it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from ifthen.errors import RuleError

MOST_ITEMS = 200
"""A value is the larger or smaller of at most this many sums."""


@dataclass(frozen=True)
class Sum:
    """A sum of features with coefficients and a number; a number alone where there are no features.

    Args:
        parts: the number of each feature and its coefficient, in the order of the features.
        constant: the number that is added.
        exact: whether a program rounds it as a term is rounded.
        clipped: whether the program brings features into their ranges first, as rulesets do.
    """

    parts: tuple[tuple[int, float], ...] = ()
    constant: float = 0.0
    exact: bool = True
    clipped: bool = True

    @property
    def is_number(self) -> bool:
        """Whether no feature is in it."""
        return not self.parts


@dataclass(frozen=True)
class Extreme:
    """The largest or the smallest of some values."""

    items: tuple[Value, ...]
    largest: bool

    @cached_property
    def size(self) -> int:
        """How many sums are in it."""
        return sum(1 if isinstance(item, Sum) else item.size for item in self.items)


Value = Sum | Extreme


def number(value: float) -> Sum:
    """Return a number as a value, or raise where it is not finite."""
    if not math.isfinite(value):
        raise RuleError(f"{value} is no finite number.")
    return Sum((), float(value) + 0.0)


def feature(d: int, clips: bool) -> Sum:
    """Return the value of feature number d, as it is observed."""
    return Sum(((d, 1.0),), clipped=not clips)


def extreme(items: tuple[Value, ...], largest: bool) -> Value:
    """Return the largest or the smallest of some values."""
    flat: list[Value] = []
    for item in items:
        same = isinstance(item, Extreme) and item.largest == largest
        flat += item.items if isinstance(item, Extreme) and same else [item]
    numbers = [item.constant for item in flat if isinstance(item, Sum) and item.is_number]
    kept: list[Value] = [item for item in flat if not (isinstance(item, Sum) and item.is_number)]
    if numbers:
        kept.append(Sum((), max(numbers) if largest else min(numbers)))
    kept = list(dict.fromkeys(kept))
    made = kept[0] if len(kept) == 1 else Extreme(tuple(kept), largest)
    if isinstance(made, Extreme) and made.size > MOST_ITEMS:
        raise RuleError(f"this is the larger or smaller of more than {MOST_ITEMS} sums.")
    return made


def added(one: Value, other: Value) -> Value:
    """Return the sum of two values. Rounding keeps the order of numbers, so that extremes stay extremes."""
    if isinstance(one, Extreme):
        return extreme(tuple(added(item, other) for item in one.items), one.largest)
    if isinstance(other, Extreme):
        return extreme(tuple(added(one, item) for item in other.items), other.largest)
    if one.is_number and other.is_number:
        return number(one.constant + other.constant)
    sizes = dict(one.parts)
    for d, size in other.parts:
        sizes[d] = sizes.get(d, 0.0) + size
    parts = tuple((d, size) for d, size in sorted(sizes.items()) if size)
    in_order = not one.parts or not other.parts or one.parts[-1][0] < other.parts[0][0]
    in_order = (in_order and len(other.parts) <= 1) or len(one.parts) == 1 == len(other.parts)
    simple = not one.constant and not other.constant and len(parts) == len(one.parts) + len(other.parts)
    clipped = one.clipped and other.clipped
    total = number(one.constant + other.constant).constant
    return _checked(Sum(parts, total, one.exact and other.exact and in_order and simple, clipped))


def scaled(value: Value, by: float) -> Value:
    """Return a value times a number."""
    if isinstance(value, Extreme):
        return extreme(
            tuple(scaled(item, by) for item in value.items), value.largest if by >= 0 else not value.largest
        )
    if value.is_number:
        return number(value.constant * by)
    if by == 0:
        return number(0.0)
    parts = tuple((d, size * by) for d, size in value.parts)
    one_product = len(parts) == 1 and abs(value.parts[0][1]) == 1 and not value.constant
    exact = value.exact and (one_product or is_power_of_two(by))
    return _checked(replace(value, parts=parts, constant=value.constant * by + 0.0, exact=exact))


def divided(value: Value, by: float) -> Value:
    """Return a value by a number."""
    if by == 0:
        raise RuleError("this divides by 0.")
    if isinstance(value, Sum) and value.is_number:
        return number(value.constant / by)
    found = scaled(value, 1 / by)
    return found if is_power_of_two(by) else rounded(found)


def rounded(value: Value) -> Value:
    """Return a value that a program rounds in another way than a term is rounded."""
    if isinstance(value, Extreme):
        return Extreme(tuple(map(rounded, value.items)), value.largest)
    return replace(value, exact=value.is_number)


def is_power_of_two(value: float) -> bool:
    """Return whether a product with a number is never rounded, unless it is tiny or huge."""
    return abs(math.frexp(value)[0]) == 0.5


def _checked(value: Sum) -> Sum:
    """Return a sum, or raise where its numbers are too large or nothing."""
    if not all(math.isfinite(size) and size for _, size in value.parts) or not math.isfinite(value.constant):
        raise RuleError("this sum has a coefficient that is too large or too small.")
    return value
