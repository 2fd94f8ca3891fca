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
        requested: dict[str, Strengths] = dict.fromkeys(usual)
    else:
        requested = dict(disturb) if isinstance(disturb, Mapping) else dict.fromkeys(disturb)
    plan: dict[str, tuple[float, ...]] = {}
    for name, strengths in {**requested, **(vary or {})}.items():
        if strengths is None and name not in usual:
            policy_tester(task, name, 1)  # which says what there is
            raise ParameterError(f"{name} has no usual values: give some, such as {name}=5..15.")
        values = (
            usual[name]
            if strengths is None
            else numbers(strengths)
            if isinstance(strengths, str)
            else tuple(strengths)
        )
        if not values or len(values) > MOST_STRENGTHS:
            raise ParameterError(f"{name} needs 1 to {MOST_STRENGTHS} strengths, not {len(values)}.")
        plan[name] = tuple(sorted(values))
        policy_tester(task, name, plan[name][0])
        policy_tester(task, name, plan[name][-1])
    return plan


def numbers(text: str) -> tuple[float, ...]:
    """Return the numbers in "0.01,0.05", or five from the first to the last of "5..15"."""
    ends = RANGE.fullmatch(text.replace(" ", ""))
    if ends:
        low, high = float(ends[1]), float(ends[2])
        step = (high - low) / (STEPS_OF_A_RANGE - 1)
        return tuple(plain(round(low + i * step, 12)) for i in range(STEPS_OF_A_RANGE))
    try:
        strengths = [float(number) for number in text.split(",")]
    except ValueError:
        strengths = [math.nan]
    if not all(map(math.isfinite, strengths)):
        raise ParameterError(
            f"strengths are numbers, such as 0.01,0.05, or a range, such as 5..15, not {text!r}."
        )
    return tuple(map(plain, strengths))


def plain(value: float) -> float:
    """Return a whole number as an int, as tasks want it."""
    return int(value) if value.is_integer() else value


def assignments(texts: Sequence[str]) -> dict[str, str | None]:
    """Return names and strengths of texts such as "noise=0.01,0.05" or "noise"; None for the usual ones."""
    by_name: dict[str, str | None] = {}
    for text in texts:
        name, equals, strengths = (piece.strip() for piece in text.partition("="))
        if not name or (equals and not strengths):
            raise ParameterError(f"a disturbance is given as noise or noise=0.01,0.05, not {text!r}.")
        by_name[name] = strengths if equals else None
    return by_name
