"""Checks of single values that users give."""

from __future__ import annotations

import operator
from typing import SupportsIndex, cast

from ifthen.errors import IfthenError, ParameterError


def whole_number(
    name: str, value: object, low: int, high: int, error: type[IfthenError] = ParameterError
) -> int:
    """Return `value` as an int from `low` to `high`, NumPy's integers included, or raise `error`."""
    try:
        number = None if isinstance(value, bool) else operator.index(cast(SupportsIndex, value))
    except TypeError:
        number = None
    if number is None or not low <= number <= high:
        raise error(f"{name} must be a whole number from {low:,} to {high:,}, not {value!r}.")
    return number


def real_number(
    name: str, value: object, low: float, high: float, error: type[IfthenError] = ParameterError
) -> float:
    """Return `value` as a float from `low` to `high`, or raise `error`."""
    try:
        number = None if isinstance(value, (bool, str, bytes)) else float(value)  # type: ignore[arg-type]  # caught
    except (TypeError, ValueError):
        number = None
    if number is None or not low <= number <= high:
        raise error(f"{name} must be a number from {low:g} to {high:g}, not {value!r}.")
    return number


def one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        raise ParameterError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}.")
