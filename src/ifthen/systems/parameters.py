"""Parameters of systems: how they are declared, and how what a user gives is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ifthen.environments.make import env_task
from ifthen.errors import ParameterError, nearest, shown
from ifthen.tasks.task import Noise

SEARCH = "search"
"""Where a parameter's field keeps what tuning tries."""
MOST_TOLD = 10
"""An error names at most this many wrong parameters."""
OF_TASKS = frozenset(signature(env_task).parameters)
"""Settings of tasks that users often give to a system by mistake."""
SIZES = ("rules", "tests")
"""Parameters that cap the size of a list in training; lists of other systems are shortened afterwards."""
TERMS = "given_terms"
"""The parameter for sums of features that rules may test."""


@dataclass(frozen=True)
class Search:
    """The values of a parameter that `ifthen tune` tries: a range, or a few choices.

    Args:
        low: the least value.
        high: the largest value.
        log: whether small values are tried as finely as large ones, on a logarithmic scale.
        multiple: a whole number that all values of an integer range are multiples of.
        choices: the values, in place of a range.
    """

    low: float = 0
    high: float = 0
    log: bool = False
    multiple: int = 1
    choices: tuple[Any, ...] = ()

    def __str__(self) -> str:
        if self.choices:
            return ", ".join(json.dumps(choice).strip('"') for choice in self.choices)
        return f"{self.low:g}..{self.high:g}" + (" (log)" if self.log else "")


def linear(low: float, high: float) -> Search:
    """Search a range evenly."""
    return Search(low, high)


def logarithmic(low: float, high: float, multiple: int = 1) -> Search:
    """Search a range on a logarithmic scale."""
    return Search(low, high, log=True, multiple=multiple)


def either(*choices: Any) -> Search:
    """Search a few values."""
    return Search(choices=choices)


def between(default: object, low: float, high: float, meaning: str, search: Search | None = None) -> Any:
    """Declare a parameter from `low` to `high`, both included; `search` is what tuning tries."""
    return Field(default=default, ge=low, le=high, description=meaning, json_schema_extra=_extra(search))


def above(default: object, low: float, high: float, meaning: str, search: Search | None = None) -> Any:
    """Declare a parameter above `low`, up to `high`; `search` is what tuning tries."""
    return Field(default=default, gt=low, le=high, description=meaning, json_schema_extra=_extra(search))


def setting(default: object, meaning: str, search: Search | None = None) -> Any:
    """Declare a parameter whose type says all it can be; `search` is what tuning tries."""
    return Field(default=default, description=meaning, json_schema_extra=_extra(search))


def _extra(search: Search | None) -> Any:
    return None if search is None else {SEARCH: search}


def search_ranges(kind: type[Parameters]) -> dict[str, Search]:
    """Return what tuning tries by default, by the names of the parameters that have such values."""
    extras: dict[str, Any] = {name: field.json_schema_extra for name, field in kind.model_fields.items()}
    return {name: extra[SEARCH] for name, extra in extras.items() if extra and SEARCH in extra}


class Parameters(BaseModel):
    """Parameters that every system has; frozen, and unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    removed: ClassVar[Mapping[str, Any]] = {}
    """Parameters that the system had and that files may name, with the values that had no effect."""

    noise: Noise = Field(
        default="aligned",
        description="Common random numbers fixed per episode and step, or one stream (paper).",
    )


def checked_parameters(kind: type[Parameters], values: Mapping[str, Any]) -> Parameters:
    """Return the parameters, or raise naming each unknown or impossible one."""
    try:
        return kind(**{name: _plain(value) for name, value in values.items()})
    except ValidationError as problem:
        lines = []
        for error in problem.errors(include_url=False)[:MOST_TOLD]:
            name = ".".join(map(str, error["loc"])) or "parameters"
            if error["type"] == "extra_forbidden":
                lines.append(f"unknown parameter {shown(name)}.{_hint(kind, name, error['input'])}")
            else:
                message = error["msg"].removeprefix("Value error, ")
                lines.append(f"{name}: {message}, not {shown(error['input'])}.")
        raise ParameterError(" ".join(lines)) from None


def _hint(kind: type[Parameters], name: str, value: object) -> str:
    """Return what a user may have meant by a parameter that a system does not have."""
    if name in kind.removed:
        return " Earlier versions had it: leave it out."
    if name in SIZES:
        return (
            f" Only {_takers(name)} takes it (--{name} of ifthen train). Rules of other systems are "
            f"shortened after training: ifthen prune RUN --{name} {shown(value)}."
        )
    if name == TERMS:
        return f" Only {_takers(name)} takes terms (--term of ifthen train)."
    if name in OF_TASKS:
        return f" It belongs to the task: ifthen.env_task(…, {name}=…), or --task-set."
    return nearest(name, kind.model_fields)


def _takers(parameter: str) -> str:
    """Return the names of the systems that have a parameter."""
    from ifthen.systems.registry import SYSTEMS, either_of

    return either_of(name for name, kind in SYSTEMS.items() if parameter in kind.Parameters.model_fields)


def without_removed(
    kind: type[Parameters], in_file: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters in a file that a system still has, and those removed ones that had an effect."""
    present = {name: value for name, value in in_file.items() if name not in kind.removed}
    had_effect = {
        name: in_file[name]
        for name, no_effect in kind.removed.items()
        if name in in_file and in_file[name] != no_effect
    }
    return present, had_effect


def _plain(value: object) -> Any:
    """Return NumPy's numbers as Python's."""
    return value.item() if isinstance(value, np.generic) else value
