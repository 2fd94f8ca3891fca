"""The strengths of a stress test as users give them: "noise=0.01,0.05", "unwrapped.gravity=5..15"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from ifthen.errors import ParameterError
from ifthen.simulate.evaluate import policy_tester
from ifthen.tasks.task import Task

STEPS_OF_A_RANGE = 5
"""A range such as 5..15 stands for this many strengths."""
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
RANGE = re.compile(rf"({NUMBER})\.\.({NUMBER})")
MOST_STRENGTHS = 100
"""A sweep has at most this many strengths."""
Strengths = Sequence[float] | str | None
"""Strengths to try: numbers, a text such as "0.01,0.05" or "5..15", or None for the usual ones."""


def planned(
    task: Task,
    disturb: Mapping[str, Strengths] | Sequence[str] | None,
    vary: Mapping[str, Strengths] | None,
) -> dict[str, tuple[float, ...]]:
    """Return the strengths to play by name, or raise before anything is played."""
    usual = task.sweeps
    if disturb is None:
        wanted: dict[str, Strengths] = dict.fromkeys(usual)
    else:
        wanted = dict(disturb) if isinstance(disturb, Mapping) else dict.fromkeys(disturb)
    found: dict[str, tuple[float, ...]] = {}
    for name, given in {**wanted, **(vary or {})}.items():
        if given is None and name not in usual:
            policy_tester(task, name, 1)  # which says what there is
            raise ParameterError(f"{name} has no usual values: give some, such as {name}=5..15.")
        values = usual[name] if given is None else numbers(given) if isinstance(given, str) else tuple(given)
        if not values or len(values) > MOST_STRENGTHS:
            raise ParameterError(f"{name} needs 1 to {MOST_STRENGTHS} strengths, not {len(values)}.")
        found[name] = tuple(sorted(values))
        policy_tester(task, name, found[name][0])
        policy_tester(task, name, found[name][-1])
    return found


def numbers(text: str) -> tuple[float, ...]:
    """Return the numbers in "0.01,0.05", or five from the first to the last of "5..15"."""
    ends = RANGE.fullmatch(text.replace(" ", ""))
    if ends:
        low, high = float(ends[1]), float(ends[2])
        step = (high - low) / (STEPS_OF_A_RANGE - 1)
        return tuple(plain(round(low + i * step, 12)) for i in range(STEPS_OF_A_RANGE))
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = [math.nan]
    if not all(map(math.isfinite, found)):
        raise ParameterError(
            f"strengths are numbers, such as 0.01,0.05, or a range, such as 5..15, not {text!r}."
        )
    return tuple(map(plain, found))


def plain(value: float) -> float:
    """Return a whole number as an int, as tasks want it."""
    return int(value) if value.is_integer() else value


def assignments(texts: Sequence[str]) -> dict[str, str | None]:
    """Return names and strengths of texts such as "noise=0.01,0.05" or "noise"; None for the usual ones."""
    found: dict[str, str | None] = {}
    for text in texts:
        name, equals, given = (part.strip() for part in text.partition("="))
        if not name or (equals and not given):
            raise ParameterError(f"a disturbance is given as noise or noise=0.01,0.05, not {text!r}.")
        found[name] = given if equals else None
    return found
