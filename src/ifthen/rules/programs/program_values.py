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
        addends: the number of each feature and its coefficient, in the order of the features.
        constant: the number that is added.
        exact: whether a program rounds it as a term is rounded.
        clipped: whether the program brings features into their ranges first, as rulesets do.
    """

    addends: tuple[tuple[int, float], ...] = ()
    constant: float = 0.0
    exact: bool = True
    clipped: bool = True

    @property
    def is_number(self) -> bool:
        """Whether no feature is in it."""
        return not self.addends


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
        is_nested = isinstance(item, Extreme) and item.largest == largest
        flat += item.items if isinstance(item, Extreme) and is_nested else [item]
    numbers = [item.constant for item in flat if isinstance(item, Sum) and item.is_number]
    sums: list[Value] = [item for item in flat if not (isinstance(item, Sum) and item.is_number)]
    if numbers:
        sums.append(Sum((), max(numbers) if largest else min(numbers)))
    sums = list(dict.fromkeys(sums))
    result = sums[0] if len(sums) == 1 else Extreme(tuple(sums), largest)
    if isinstance(result, Extreme) and result.size > MOST_ITEMS:
        raise RuleError(f"this is the larger or smaller of more than {MOST_ITEMS} sums.")
    return result


def added(left: Value, right: Value) -> Value:
    """Return the sum of two values. Rounding keeps the order of numbers, so that extremes stay extremes."""
    if isinstance(left, Extreme):
        return extreme(tuple(added(item, right) for item in left.items), left.largest)
    if isinstance(right, Extreme):
        return extreme(tuple(added(left, item) for item in right.items), right.largest)
    if left.is_number and right.is_number:
        return number(left.constant + right.constant)
    coefficients = dict(left.addends)
    for d, coefficient in right.addends:
        coefficients[d] = coefficients.get(d, 0.0) + coefficient
    addends = tuple((d, coefficient) for d, coefficient in sorted(coefficients.items()) if coefficient)
    in_order = not left.addends or not right.addends or left.addends[-1][0] < right.addends[0][0]
    in_order = (in_order and len(right.addends) <= 1) or len(left.addends) == 1 == len(right.addends)
    simple = (
        not left.constant and not right.constant and len(addends) == len(left.addends) + len(right.addends)
    )
    clipped = left.clipped and right.clipped
    total = number(left.constant + right.constant).constant
    return _checked(Sum(addends, total, left.exact and right.exact and in_order and simple, clipped))


def scaled(value: Value, factor: float) -> Value:
    """Return a value times a number."""
    if isinstance(value, Extreme):
        return extreme(
            tuple(scaled(item, factor) for item in value.items),
            value.largest if factor >= 0 else not value.largest,
        )
    if value.is_number:
        return number(value.constant * factor)
    if factor == 0:
        return number(0.0)
    addends = tuple((d, coefficient * factor) for d, coefficient in value.addends)
    one_product = len(addends) == 1 and abs(value.addends[0][1]) == 1 and not value.constant
    exact = value.exact and (one_product or is_power_of_two(factor))
    return _checked(replace(value, addends=addends, constant=value.constant * factor + 0.0, exact=exact))


def divided(value: Value, divisor: float) -> Value:
    """Return a value by a number."""
    if divisor == 0:
        raise RuleError("this divides by 0.")
    if isinstance(value, Sum) and value.is_number:
        return number(value.constant / divisor)
    quotient = scaled(value, 1 / divisor)
    return quotient if is_power_of_two(divisor) else rounded(quotient)


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
    if not all(
        math.isfinite(coefficient) and coefficient for _, coefficient in value.addends
    ) or not math.isfinite(value.constant):
        raise RuleError("this sum has a coefficient that is too large or too small.")
    return value
