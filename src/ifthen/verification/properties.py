"""All properties that can be verified, and requirements as texts: "complete,performance>=0.95".

A new property is one function and one entry in `PROPERTIES`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from typing import NamedTuple

from ifthen.digits import in_units, plural
from ifthen.errors import ParameterError, nearest
from ifthen.rules.text.constraint_text import requirements_in
from ifthen.verification.case import ANY_TASK, Case, Needs
from ifthen.verification.coverage import complete, complete_in_task
from ifthen.verification.endings import goal_certain, goal_probability, goal_reachable, safe, unvisited
from ifthen.verification.findings import Finding, Requirement, Result
from ifthen.verification.performance import (
    alike,
    exact_performance,
    fraction_of_optimum,
    never_decided,
    optimal,
    performance,
    training_performance,
)
from ifthen.verification.rules import no_conflicts, no_dead_rules, no_redundant_rules


class Property(NamedTuple):
    """A property that can be verified; the docstring of its check says what it means."""

    name: str
    needs: Needs
    check: Callable[[Case], Result]
    is_number: bool = False
    """Whether it is a number, to be compared with another, rather than true or false."""
    in_model: Callable[[Case], Result] | None = None
    """The check where the task has a table of states, if that is another one."""

    def check_on(self, available: set[Needs]) -> Callable[[Case], Result]:
        """Return the check to make on some grounds."""
        return self.in_model if self.in_model is not None and "table" in available else self.check

    @property
    def meaning(self) -> str:
        """Its meaning, in one sentence."""
        return self.check.__doc__ or ""


def number_of_rules(case: Case) -> Result:
    """The number of rules."""
    return Result(len(case.ruleset), plural(len(case.ruleset), "rule"))


PROPERTIES = {
    entry.name: entry
    for entry in (
        Property("complete", "rules", complete, in_model=complete_in_task),
        Property("no-dead-rules", "rules", no_dead_rules),
        Property("no-conflicts", "rules", no_conflicts),
        Property("no-redundant-rules", "rules", no_redundant_rules),
        Property("goal-reachable", "table", goal_reachable),
        Property("goal-certain", "table", goal_certain),
        Property("safe", "table", safe),
        Property("optimal", "table", optimal),
        Property("rules", "rules", number_of_rules, is_number=True),
        Property("performance", "task", performance, True, exact_performance),
        Property("fraction", "table", fraction_of_optimum, is_number=True),
        Property("goal-probability", "table", goal_probability, is_number=True),
        Property("training-performance", "environment", training_performance, is_number=True),
    )
}
"""Every property by its name, in the order of reports."""
ALIASES = {"hole-free": "safe", "unseen-performance": "performance"}


def left_out(case: Case) -> tuple[Finding, ...]:
    """Say which properties an environment leaves undecided."""
    names = [entry.name for entry in PROPERTIES.values() if entry.needs == "table"]
    text = (
        f"{', '.join(names)} need a table of states. An environment has none, so they are left out. "
        "Performances are measured by playing, and say nothing about other episodes."
    )
    return (Finding("left-out", "note", text, data={"properties": names}),)


NOTES: tuple[tuple[Needs, Callable[[Case], tuple[Finding, ...]]], ...] = (
    ("table", unvisited),
    ("table", alike),
    ("environment", never_decided),
    ("environment", left_out),
)
"""Findings that bear on no property."""


def names_for(available: Set[Needs]) -> list[str]:
    """Return the names of the properties that can be checked on some grounds."""
    return [entry.name for entry in PROPERTIES.values() if entry.needs in available]


OPERATORS = (">=", "<=", ">", "<", "=")
EQUAL = 1e-9
"""Measured numbers that differ by less than this count as equal, because floats are rounded."""


class Demand(NamedTuple):
    """One requirement, parsed: a property and, for a number, the comparison."""

    text: str
    name: str
    operator: str
    number: float


def parse(require: str | Sequence[str], available: Set[Needs] = ANY_TASK) -> tuple[Demand, ...]:
    """Return the requirements in texts such as "complete,rules<=10", or raise at the first wrong one.

    Args:
        require: one text or several, each of one or more requirements separated by commas.
        available: what checks can rest on; some properties need a task, or a table of states.
    """
    demands = tuple(_parsed(text) for text in requirements_in(require))
    for demand in demands:
        if PROPERTIES[demand.name].needs not in available:
            raise ParameterError(_out_of_place(demand, available))
    return demands


def _out_of_place(demand: Demand, available: Set[Needs]) -> str:
    """Return why a property cannot be checked here, and which properties can."""
    available_names = ", ".join(names_for(available))
    if "task" not in available:
        return f"{demand.text!r} needs a task; give one. Without a task there are: {available_names}."
    if "environment" in available:
        return (
            f"{demand.text!r} needs a table of states, and an environment has none. In an environment there "
            f"are: {available_names}."
        )
    return (
        f"{demand.text!r} is for environments. This task has a table of states: its 'performance' is exact."
    )


def _parsed(text: str) -> Demand:
    """Return one requirement, or raise where it is not one."""
    name, operator, number = (piece.strip() for piece in re.split(r"(>=|<=|>|<|=|$)", text, maxsplit=1))
    name = ALIASES.get(name, name)
    if name not in PROPERTIES:
        names = (*PROPERTIES, *ALIASES)
        hint = nearest(name, names)
        listed = "" if hint.startswith(" Known") else f" Known: {', '.join(names)}."
        words = " Or in words, such as 'never ACTION when CONDITION'."
        raise ParameterError(f"cannot require {text!r}: there is no property {name!r}.{hint}{listed}{words}")
    if operator and not PROPERTIES[name].is_number:
        raise ParameterError(f"{name} holds or does not: require it as {name!r}, not {text!r}.")
    if PROPERTIES[name].is_number and not operator:
        raise ParameterError(
            f"{name} is a number: require it as '{name}>=0.9', not {text!r}. On a command line put it into "
            "quotes: shells take > and < for themselves."
        )
    try:
        wanted = float(number) if operator else 0.0
    except ValueError:
        wanted = math.nan
    if not math.isfinite(wanted):
        raise ParameterError(
            f"cannot require {text!r}: a property, an operator ({', '.join(OPERATORS)}) and a number were "
            f"expected, such as 'rules<=10', but {number!r} is not a finite number."
        )
    return Demand(text, name, operator, wanted)


def judge(demand: Demand, results: Mapping[str, Result]) -> Requirement:
    """Return whether a requirement is met, given the results of all properties."""
    value, reason, _, interval = results[demand.name]
    if value is None or math.isnan(value):
        return Requirement(demand.text, False, f"not decided: {reason}" if reason else "not decided")
    if not demand.operator:
        return Requirement(demand.text, bool(value), reason)
    met = compares(float(value), demand.operator, demand.number)
    if interval is not None:
        agree = all(compares(end, demand.operator, demand.number) == met for end in interval)
        wanted = in_units(demand.number)
        certainty = f"the whole interval is {'above' if interval[0] > demand.number else 'below'} {wanted}"
        if interval[0] <= demand.number <= interval[1]:
            certainty = f"the interval ends at {wanted}"
        doubt = (
            f"{'met' if met else 'missed'} by the mean; {wanted} lies inside the interval, so more episodes "
            "may say otherwise"
        )
        reason += f"; {certainty if agree else doubt}"
    return Requirement(demand.text, met, reason)


def compares(value: float, operator: str, number: float) -> bool:
    """Return whether a measured value compares with a number as required; `EQUAL` numbers are equal."""
    if abs(value - number) <= EQUAL:
        return "=" in operator
    return operator[0] == (">" if value > number else "<")
