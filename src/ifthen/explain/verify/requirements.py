"""What can be required of a ruleset, and how it is written: "complete,goal-reachable,performance>=0.95"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ifthen.errors import ParameterError, nearest

HOLDS = {
    "complete": "no state without a rule",
    "no-dead-rules": "every rule decides somewhere",
    "no-conflicts": "no two rules that overlap propose different actions, a last OTHERWISE not counted",
    "no-redundant-rules": "no single rule can be left out without changing an action",
    "goal-reachable": "the goal can be reached from every initial state",
    "goal-certain": "the goal is reached with probability 1 from every initial state",
    "safe": "no bad ending and no costly step can be met from any initial state",
    "optimal": "the action in every decision state is optimal",
}
"""Properties that hold or do not."""
MEASURES = {
    "rules": "the number of rules",
    "performance": "the exact performance; in an environment the mean return over z",
    "fraction": "the exact performance as a fraction of the optimum",
    "goal-probability": "the probability of reaching the goal from the worst initial state",
    "unseen-performance": "the mean return over 100 episodes of an environment that nothing was learnt from",
}
"""Numbers, to be compared with one of `OPERATORS`."""
ALIASES = {"hole-free": "safe"}
WITHOUT_TASK = ("complete", "no-dead-rules", "no-conflicts", "no-redundant-rules", "rules")
OF_ENVIRONMENTS = (*WITHOUT_TASK, "performance", "unseen-performance")
"""What can be said of a policy in an environment, which has no table of states."""
OPERATORS = (">=", "<=", ">", "<", "=")
EQUAL = 1e-9
"""Measured numbers that differ by less count as equal: they are rounded as floats are."""

Value = bool | int | float | None
"""A property's value; None where it could not be decided."""


class Demand(NamedTuple):
    """One requirement as it was understood: a property, and for a measure the comparison."""

    text: str
    name: str
    operator: str
    number: float


class Requirement(NamedTuple):
    """One requirement and whether it is met; `why` says on what grounds."""

    text: str
    passed: bool
    why: str


def parse(
    require: str | Sequence[str], has_task: bool, environment: bool | None = None
) -> tuple[Demand, ...]:
    """Return the requirements in texts such as "complete,rules<=10", or raise at the first that is wrong.

    Args:
        require: one text or several, each of one or more requirements separated by commas.
        has_task: whether a task is given; some properties need one.
        environment: whether that is an environment; None where it is not known yet.
    """
    texts = [require] if isinstance(require, str) else list(require)
    if not all(isinstance(text, str) for text in texts):
        raise ParameterError(f"requirements must be texts, such as 'complete,rules<=10', not {require!r}.")
    parts = [part.strip() for text in texts for part in text.split(",")]
    demands = tuple(_parsed(part, has_task) for part in parts if part)
    for demand in demands:
        _check_ground(demand, environment)
    return demands


def _check_ground(demand: Demand, environment: bool | None) -> None:
    """Raise where what is required makes no sense in an environment, or makes sense in one only."""
    if environment and demand.name not in OF_ENVIRONMENTS:
        raise ParameterError(
            f"{demand.text!r} needs a table of states, which an environment has not. In one there are: "
            f"{', '.join(OF_ENVIRONMENTS)}."
        )
    if environment is False and demand.name == "unseen-performance":
        raise ParameterError(
            f"{demand.text!r} is for environments: this task has a table of states, so that 'performance' is "
            "exact."
        )


def _parsed(text: str, has_task: bool) -> Demand:
    name, operator, number = (part.strip() for part in re.split(r"(>=|<=|>|<|=|$)", text, maxsplit=1))
    name = ALIASES.get(name, name)
    known = (*HOLDS, *ALIASES, *MEASURES)
    if name not in known:
        hint = nearest(name, known)
        listed = "" if hint.startswith(" Known") else f" Known: {', '.join(known)}."
        raise ParameterError(f"cannot require {text!r}: there is no property {name!r}.{hint}{listed}")
    if name in HOLDS and operator:
        raise ParameterError(f"{name} holds or does not: require it as {name!r}, not {text!r}.")
    if name in MEASURES and not operator:
        raise ParameterError(
            f"{name} is a number: require it as '{name}>=0.9', not {text!r}. On a command line put it into "
            "quotes: shells take > and < for themselves."
        )
    if name not in WITHOUT_TASK and not has_task:
        alone = ", ".join(WITHOUT_TASK)
        raise ParameterError(f"{text!r} needs a task; give one. Without a task there are: {alone}.")
    return Demand(text, name, operator, _number(text, number) if operator else 0.0)


def _number(text: str, written: str) -> float:
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(
            f"cannot require {text!r}: a property, an operator ({', '.join(OPERATORS)}) and a number were "
            f"expected, such as 'rules<=10', but {written!r} is not a finite number."
        )
    return number


def judge(demand: Demand, properties: Mapping[str, Value], reasons: Mapping[str, str]) -> Requirement:
    """Return whether a requirement is met, given every property's value and the words for it."""
    value, reason = properties.get(demand.name), reasons.get(demand.name, "")
    if value is None or math.isnan(value):
        return Requirement(demand.text, False, f"not decided: {reason}" if reason else "not decided")
    if not demand.operator:
        return Requirement(demand.text, bool(value), reason)
    return Requirement(demand.text, compares(float(value), demand.operator, demand.number), reason)


def compares(value: float, operator: str, number: float) -> bool:
    """Return whether a measured value compares with a number as demanded, up to `EQUAL`."""
    if abs(value - number) <= EQUAL:
        return "=" in operator
    return operator[0] == (">" if value > number else "<")
