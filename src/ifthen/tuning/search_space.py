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
    integer: bool
    """Whether its values are whole numbers."""

    def has(self, value: Any) -> bool:
        """Return whether a value lies in the range, or is one of the choices."""
        if self.search.choices:
            return any(value == choice and type(value) is type(choice) for choice in self.search.choices)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and self.search.low <= value <= self.search.high

    def readable(self, value: object) -> Any:
        """Return a proposed value with few digits."""
        if self.search.choices or self.integer:
            return value
        return min(max(float(f"{value:.{DIGITS}g}"), self.search.low), self.search.high)


Space = Mapping[str, Dimension]
"""The parameters that are searched, by name."""


def space_of(
    system_class: type[System],
    task: Task,
    fixed: Mapping[str, Any],
    ranges: Mapping[str, str],
    only: bool = False,
) -> dict[str, Dimension]:
    """Return what to search for a system on a task, or raise where a wish cannot be met.

    Parameters that the task does not have, such as those for environments on a table, are left out.

    Args:
        system_class: the system.
        task: the task.
        fixed: parameters that are not searched.
        ranges: ranges or choices of the user's own, by name, as text.
        only: whether nothing else is searched.
    """
    checked_parameters(system_class.Parameters, fixed)
    defaults = system_class(task, threads=1, **fixed).parameters.model_dump()
    space = {}
    for name, search in ({} if only else search_ranges(system_class.Parameters)).items():
        if name not in fixed and name not in ranges:
            fitting = _fitting(system_class, task, fixed, name, _widened(search, defaults[name]))
            if fitting is not None:
                space[name] = Dimension(fitting, _is_whole(system_class, name))
    for name, range_text in ranges.items():
        if name in fixed:
            raise ParameterError(f"{name} is both fixed by --set and searched by --search: leave one out.")
        if name not in system_class.Parameters.model_fields:
            raise ParameterError(
                f"{system_class.name} has no parameter {name!r}."
                f"{nearest(name, system_class.Parameters.model_fields)}"
            )
        space[name] = _user_dimension(system_class, task, fixed, name, range_text)
    if not space:
        raise ParameterError(
            f"{system_class.name} on {task.name} has nothing to tune: no parameter has a range, or all are "
            f"fixed. {HELP}."
        )
    return space


def _widened(search: Search, default: object) -> Search:
    """Return a declared range that holds the default, too."""
    if search.choices or not isinstance(default, int | float):
        return search
    if search.log and default <= 0:
        return search
    return replace(search, low=min(search.low, default), high=max(search.high, default))


def _fitting(
    system_class: type[System], task: Task, fixed: Mapping[str, Any], name: str, search: Search
) -> Search | None:
    """Return the part of a declared range that the task takes; None where there is nothing to choose."""
    if search.choices:
        allowed = tuple(
            choice for choice in search.choices if _objection(system_class, task, fixed, name, choice) is None
        )
        return replace(search, choices=allowed) if len(allowed) > 1 else None
    bounds = (int(bound) if _is_whole(system_class, name) else bound for bound in (search.low, search.high))
    return (
        search
        if all(_objection(system_class, task, fixed, name, bound) is None for bound in bounds)
        else None
    )


def _objection(
    system_class: type[System], task: Task, fixed: Mapping[str, Any], name: str, value: object
) -> str | None:
    """Return why a system cannot have a value of a parameter on a task; None where it can."""
    try:
        checked_parameters(system_class.Parameters, {name: value})
        system_class(task, threads=1, **{**fixed, name: value})
    except ParameterError as problem:
        return str(problem)
    return None


def _user_dimension(
    system_class: type[System], task: Task, fixed: Mapping[str, Any], name: str, range_text: str
) -> Dimension:
    """Return a range or choices that a user gave, or raise."""
    matched, integer = RANGE.fullmatch(range_text), _is_whole(system_class, name)
    values: tuple[Any, ...]
    if matched is None:
        values = tuple(parse_assignment(f"{name}={choice.strip()}")[1] for choice in range_text.split(","))
        if len(values) < 2:
            raise ParameterError(f"{HELP}, not {shown(range_text)}. --set {name}={range_text} fixes it.")
        search = Search(choices=values)
    else:
        low, high = (_number(matched[end], integer, name) for end in ("low", "high"))
        declared = search_ranges(system_class.Parameters).get(name, Search())
        multiple = declared.multiple
        if multiple > 1:
            low, high = -(-low // multiple) * multiple, high // multiple * multiple
        if low >= high:
            raise ParameterError(
                f"--search {name}={range_text}: the first number must be less than the second."
            )
        if matched["log"] is not None and low <= 0:
            raise ParameterError(f"--search {name}={range_text}: a logarithmic range begins above 0.")
        log = low > 0 and (declared.log or matched["log"] is not None)
        search, values = Search(low, high, log, multiple), (low, high)
    for value in values:
        problem = _objection(system_class, task, fixed, name, value)
        if problem is not None:
            raise ParameterError(f"--search {name}={range_text}: {problem}")
    return Dimension(search, integer)


def _number(number_text: str, integer: bool, name: str) -> Any:
    """Return an end of a range as a number, or raise."""
    value = parse_assignment(f"{name}={number_text}")[1]
    if integer and type(value) is not int:
        raise ParameterError(f"{name} takes whole numbers: {HELP}, not {shown(number_text)}.")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{HELP}, not {shown(number_text)}.")
    return value if integer else float(value)


def _is_whole(system_class: type[System], name: str) -> bool:
    """Return whether a parameter is a whole number."""
    annotation = system_class.Parameters.model_fields[name].annotation
    return int in (annotation, *get_args(annotation))
