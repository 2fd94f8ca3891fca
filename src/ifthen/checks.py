"""Checks of single values that users give."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex, cast

from ifthen.errors import IfthenError, ParameterError, shown


def whole_number(
    name: str, value: object, low: int, high: int, error: type[IfthenError] = ParameterError
) -> int:
    """Return `value` as an int from `low` to `high`, NumPy's integers included, or raise `error`."""
    try:
        number = None if isinstance(value, bool) else operator.index(cast(SupportsIndex, value))
    except TypeError:
        number = None
    if number is None or not low <= number <= high:
        raise error(f"{name} must be a whole number from {low:,} to {high:,}, not {shown(value)}.")
    return number


def real_number(
    name: str, value: object, low: float, high: float, error: type[IfthenError] = ParameterError
) -> float:
    """Return `value` as a float from `low` to `high`, or raise `error`."""
    try:
        number = None if isinstance(value, (bool, str, bytes)) else float(value)  # type: ignore[arg-type]  # caught
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not low <= number <= high:
        raise error(f"{name} must be a number from {low:g} to {high:g}, not {shown(value)}.")
    return number


def one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        raise ParameterError(f"{name} must be {' or '.join(map(repr, choices))}, not {shown(value)}.")


def refuse_nul(label: str, names: Iterable[str], error: type[IfthenError]) -> None:
    """Raise where a name has a NUL in it, which ends texts in databases and in C."""
    for name in names:
        if "\0" in name:
            raise error(f"{label} must not have the character NUL in it: {shown(name)}.")


def has_more_values(data: Any, limit: int) -> bool:
    """Return whether plain data of any depth holds more than `limit` values."""
    remaining, count = [data], 0
    while remaining and count <= limit:
        item = remaining.pop()
        count += 1
        if isinstance(item, dict | list | tuple) and len(item) <= limit:
            remaining += item.values() if isinstance(item, dict) else item
        elif isinstance(item, dict | list | tuple):
            return True
    return count > limit
