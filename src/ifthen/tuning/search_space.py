"""The space that tuning searches: which parameters, and which values of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from ifthen.errors import ParameterError, nearest, shown
from ifthen.runs.settings import parse_assignment
from ifthen.systems.parameters import Search, checked_parameters, search_ranges
from ifthen.systems.system import System
from ifthen.tasks.task import Task

DIGITS = 3
"""Real numbers are tried in this many digits, so that settings can be read."""
RANGE = re.compile(r"\s*(?P<low>[^,]+?)\s*\.\.\s*(?P<high>[^,]+?)\s*(?P<log>\(?log\)?)?\s*")
HELP = "--search takes name=LOW..HIGH, such as p_mut=0.01..0.2, or choices, such as tourn_size=2,3,5"


@dataclass(frozen=True)
class Dimension:
    """One parameter that is searched."""

    search: Search
    whole: bool
    """Whether its values are whole numbers."""

    def has(self, value: Any) -> bool:
        """Return whether a value lies in the range, or is one of the choices."""
        if self.search.choices:
            return any(value == choice and type(value) is type(choice) for choice in self.search.choices)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and self.search.low <= value <= self.search.high

    def readable(self, value: Any) -> Any:
        """Return a proposed value with few digits."""
        if self.search.choices or self.whole:
            return value
        return min(max(float(f"{value:.{DIGITS}g}"), self.search.low), self.search.high)


Space = Mapping[str, Dimension]
"""The parameters that are searched, by name."""


def space_of(
    kind: type[System], task: Task, fixed: Mapping[str, Any], given: Mapping[str, str], only: bool = False
) -> dict[str, Dimension]:
    """Return what to search for a system on a task, or raise where a wish cannot be met.

    Parameters that the task does not have, such as those for environments on a table, are left out.

    Args:
        kind: the system.
        task: the task.
        fixed: parameters that are not searched.
        given: ranges or choices of the user's own, by name, as text.
        only: whether nothing else is searched.
    """
    checked_parameters(kind.Parameters, fixed)
    defaults = kind(task, threads=1, **fixed).parameters.model_dump()
    space = {}
    for name, search in ({} if only else search_ranges(kind.Parameters)).items():
        if name not in fixed and name not in given:
            fitting = _fitting(kind, task, fixed, name, _around(search, defaults[name]))
            if fitting is not None:
                space[name] = Dimension(fitting, _is_whole(kind, name))
    for name, text in given.items():
        if name in fixed:
            raise ParameterError(f"{name} is both fixed by --set and searched by --search: leave one out.")
        if name not in kind.Parameters.model_fields:
            raise ParameterError(
                f"{kind.name} has no parameter {name!r}.{nearest(name, kind.Parameters.model_fields)}"
            )
        space[name] = _wished(kind, task, fixed, name, text)
    if not space:
        raise ParameterError(
            f"{kind.name} on {task.name} has nothing to tune: no parameter has a range, or all are fixed. "
            f"{HELP}."
        )
    return space


def _around(search: Search, default: Any) -> Search:
    """Return a declared range that holds the default, too."""
    if search.choices or not isinstance(default, int | float):
        return search
    if search.log and default <= 0:
        return search
    return replace(search, low=min(search.low, default), high=max(search.high, default))


def _fitting(
    kind: type[System], task: Task, fixed: Mapping[str, Any], name: str, search: Search
) -> Search | None:
    """Return the part of a declared range that the task takes; None where there is nothing to choose."""
    if search.choices:
        left = tuple(choice for choice in search.choices if _why_not(kind, task, fixed, name, choice) is None)
        return replace(search, choices=left) if len(left) > 1 else None
    ends = (int(end) if _is_whole(kind, name) else end for end in (search.low, search.high))
    return search if all(_why_not(kind, task, fixed, name, end) is None for end in ends) else None


def _why_not(kind: type[System], task: Task, fixed: Mapping[str, Any], name: str, value: Any) -> str | None:
    """Return why a system cannot have a value of a parameter on a task; None where it can."""
    try:
        checked_parameters(kind.Parameters, {name: value})
        kind(task, threads=1, **{**fixed, name: value})
    except ParameterError as problem:
        return str(problem)
    return None


def _wished(kind: type[System], task: Task, fixed: Mapping[str, Any], name: str, text: str) -> Dimension:
    """Return a range or choices that a user gave, or raise."""
    found, whole = RANGE.fullmatch(text), _is_whole(kind, name)
    values: tuple[Any, ...]
    if found is None:
        values = tuple(parse_assignment(f"{name}={part.strip()}")[1] for part in text.split(","))
        if len(values) < 2:
            raise ParameterError(f"{HELP}, not {shown(text)}. --set {name}={text} fixes it.")
        search = Search(choices=values)
    else:
        low, high = (_number(found[end], whole, name) for end in ("low", "high"))
        declared = search_ranges(kind.Parameters).get(name, Search())
        multiple = declared.multiple
        if multiple > 1:
            low, high = -(-low // multiple) * multiple, high // multiple * multiple
        if low >= high:
            raise ParameterError(f"--search {name}={text}: the first number must be less than the second.")
        if found["log"] is not None and low <= 0:
            raise ParameterError(f"--search {name}={text}: a logarithmic range begins above 0.")
        log = low > 0 and (declared.log or found["log"] is not None)
        search, values = Search(low, high, log, multiple), (low, high)
    for value in values:
        why = _why_not(kind, task, fixed, name, value)
        if why is not None:
            raise ParameterError(f"--search {name}={text}: {why}")
    return Dimension(search, whole)


def _number(text: str, whole: bool, name: str) -> Any:
    """Return an end of a range as a number, or raise."""
    value = parse_assignment(f"{name}={text}")[1]
    if whole and type(value) is not int:
        raise ParameterError(f"{name} takes whole numbers: {HELP}, not {shown(text)}.")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{HELP}, not {shown(text)}.")
    return value if whole else float(value)


def _is_whole(kind: type[System], name: str) -> bool:
    """Return whether a parameter is a whole number."""
    annotation = kind.Parameters.model_fields[name].annotation
    return int in (annotation, *get_args(annotation))
