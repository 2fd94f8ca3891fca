"""The errors a user can meet: each says what was expected, what came and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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


def nearest(name: str, known: Iterable[str], others: bool = True) -> str:
    """Return a ` Did you mean 'X'?` hint, or the known names, unless others=False, when nothing is near."""
    names = list(known)
    folded = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
    if close:
        return f" Did you mean {folded[close[0]]!r}?"
    return " Known: " + ", ".join(names) + "." if others else ""
