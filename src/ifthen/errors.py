"""The errors a user can meet: each says what was expected, what came and what to do."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Sequence

__all__ = [
    "EngineError",
    "IfthenError",
    "IfthenWarning",
    "ModelFileError",
    "OutputError",
    "ParameterError",
    "RuleError",
    "TaskError",
]
MOST_SHOWN = 300
"""A message shows at most this many characters of a value."""
MOST_LISTED = 50
"""A message lists at most this many names."""
MOST_COMPARED = 5_000
"""A misspelt name is compared with at most this many names."""
LONGEST_NAME = 100
"""Longer names are cut in lists, and left out of comparisons."""


class IfthenError(Exception):
    """Base of every error this package raises on purpose."""


class TaskError(IfthenError, ValueError):
    """A task (map, slip probability, environment) that cannot be built."""


class ParameterError(IfthenError, ValueError):
    """A parameter, option or configuration key that is unknown or out of range."""


class RuleError(IfthenError, ValueError):
    """Rules or observations whose shape, type or values do not fit."""


class ModelFileError(IfthenError, ValueError):
    """A file that is not a model of ours, is damaged, hostile or of another version."""


class OutputError(IfthenError, OSError):
    """An output folder that cannot be used without losing something."""


class EngineError(IfthenError, RuntimeError):
    """Processes or a cluster for a study that cannot be had, or cannot run its trials."""


class IfthenWarning(RuntimeWarning):
    """Something to know: results are right, but slower to get, or not what one may expect."""


def warn(message: str) -> None:
    """Warn at the line outside of this package that led here: the user's."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "ifthen":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, IfthenWarning, stacklevel=level)


def shown(value: object) -> str:
    """Return a value for a message: what Python writes for it, cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # of whole numbers with thousands of digits
        return f"something too long to write, of type {type(value).__name__}"
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + " …"


def nearest(name: str, known_names: Iterable[str], others: bool = True) -> str:
    """Return a ` Did you mean 'X'?` hint, or the known names, unless others=False, when nothing is near."""
    names = list(known_names)
    by_lower_case = {
        candidate.lower(): candidate for candidate in names[:MOST_COMPARED] if len(candidate) <= LONGEST_NAME
    }
    close = difflib.get_close_matches(name[:LONGEST_NAME].lower(), by_lower_case, n=1, cutoff=0.5)
    if close:
        return f" Did you mean {by_lower_case[close[0]]!r}?"
    return f" Known: {listed(names)}." if others else ""


def listed(names: Sequence[str]) -> str:
    """Return names for a message, not more than a few lines of them."""
    cut_names = [
        name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…" for name in names[:MOST_LISTED]
    ]
    ending = [f"and {len(names) - MOST_LISTED:,} more"] if len(names) > MOST_LISTED else []
    return ", ".join(cut_names + ending)
