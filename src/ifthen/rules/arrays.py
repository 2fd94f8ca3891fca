"""Numbers that users give for rules, as arrays of the right type and shape, or refused saying why."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.errors import RuleError


def whole_numbers(values: ArrayLike, what: str) -> NDArray[np.int32]:
    """Return `values` as 32-bit integers, or raise if any is not a whole number in that range."""
    try:
        array = np.asarray(values)
        with np.errstate(invalid="ignore"):  # NaN and infinity come out unequal below
            exact = array.astype(np.int32)
        fits = array.dtype.kind in "iuf" and bool(np.all(exact == array))
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise RuleError(f"{what} must be whole numbers in one rectangular array, not {values!r}.")
    return exact


def real_numbers(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return `values` as finite floats, without −0.0, or raise if they are none."""
    try:
        array = np.asarray(values, dtype=np.float64) + 0.0
    except (TypeError, ValueError, OverflowError):
        raise RuleError(f"{what} must be numbers in one rectangular array, not {values!r}.") from None
    if not np.isfinite(array).all():
        raise RuleError(f"{what} must be finite, but some are NaN or infinite.")
    return array


def finite_column(values: ArrayLike, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    """Return a frozen float column of the given shape, or raise if it has another or is not finite."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise RuleError(f"{what} must be numbers of shape {shape}, not {values!r}.") from None
    if array.shape != shape:
        raise RuleError(f"{what} must have shape {shape}, not {array.shape}.")
    if not np.isfinite(array).all():
        raise RuleError(f"{what} must be finite, but some are NaN or infinite.")
    return frozen(array)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a private copy that cannot be written to."""
    copy = np.array(array, order="C")
    copy.setflags(write=False)
    return copy
