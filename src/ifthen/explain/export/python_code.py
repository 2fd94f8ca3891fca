"""A ruleset as a Python module that needs nothing but Python.

`action` returns an action's number, `policy` its name; both return None where no rule matches and where a
value lies outside its feature's range, unless the feature clips. Floats are written so that they read back
exactly, and sums are taken in the same order as in `ifthen.inference`, so that choices are equal to the last
bit.
"""

from __future__ import annotations

import keyword
import math

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.domain import AnyTask
from ifthen.explain.export.parts import (
    EXACT,
    Test,
    identifiers,
    one_line,
    ranges_in_words,
    rule_comment,
    tests_of,
    title,
)
from ifthen.inference.decision_list import DecisionList
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.inference.strength import StrengthRules
from ifthen.rules.ruleset import RuleSet

OWN = (
    *("FEATURES", "ACTIONS", "action", "policy", "best", "top", "strength", "sums", "totals", "number"),
    *("len", "range"),
)


def to_python(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return the module's source."""
    names = identifiers([f.name for f in ruleset.features], "feature", (*OWN, *keyword.kwlist))
    body = {
        DecisionList.kind: _first_match,
        StrengthRules.kind: _strongest,
        PredictionArrayRules.kind: _best_predicted,
    }[ruleset.kind](ruleset, names)
    arguments = ", ".join(names)
    inside = " and ".join(
        f"{f.low!r} <= {n} <= {f.high!r}" for f, n in zip(ruleset.features, names, strict=True)
    )
    clipped = [
        f"{n} = {f.low!r} if {n} < {f.low!r} else {f.high!r} if {n} > {f.high!r} else {n}"
        for f, n in zip(ruleset.features, names, strict=True)
        if f.clips
    ]
    lines = [
        *(f"# {line}" for line in (title(ruleset, task), EXACT, *ranges_in_words(ruleset))),
        "",
        f"FEATURES = {tuple(feature.name for feature in ruleset.features)!r}",
        f"ACTIONS = {ruleset.action_names!r}",
        "",
        "",
        f"def action({arguments}):",
        '    """Return the number of the action, None where no rule matches."""',
        *(f"    {line}" for line in clipped),
        f"    if not ({inside}):",
        "        return None",
        *(f"    {line}" for line in body),
        "",
        "",
        f"def policy({arguments}):",
        '    """Return the name of the action, None where no rule matches."""',
        f"    number = action({arguments})",
        "    return None if number is None else ACTIONS[number]",
    ]
    return "\n".join(lines) + "\n"


def _condition(ruleset: RuleSet, rule: int, names: list[str]) -> str:
    """Return a rule's condition as an expression."""
    return " and ".join(_test(test, names[test.feature]) for test in tests_of(ruleset, rule)) or "True"


def _test(test: Test, name: str) -> str:
    """Return one test as an expression."""
    if test.low == test.high:
        return f"{name} == {test.low!r}"
    if test.high is None:
        return f"{name} >= {test.low!r}"
    low = "" if test.low is None else f"{test.low!r} <= "
    return f"{low}{name} <= {test.high!r}"


def _first_match(ruleset: RuleSet, names: list[str]) -> list[str]:
    """Return statements that return the first matching rule's action."""
    lines: list[str] = []
    for r, action in enumerate(ruleset.actions.tolist()):
        answer = f"return {action}  # {one_line(ruleset.action_names[action])}"
        if r == len(ruleset) - 1 and not tests_of(ruleset, r):
            return [*lines, f"# {rule_comment(ruleset, r)}", answer]
        lines += [f"# {rule_comment(ruleset, r)}", f"if {_condition(ruleset, r, names)}:", f"    {answer}"]
    return [*lines, "return None"]


def products(weights: NDArray[np.float64], x0: float) -> tuple[float, list[float]]:
    """Return the constant w_0·x0 of a prediction, rounded as inference rounds it, and the other weights."""
    return float(weights[0]) * x0, weights[1:].tolist()


def _prediction(weights: NDArray[np.float64], x0: float, names: list[str]) -> str:
    """Return a prediction as an expression whose products are added from left to right."""
    constant, others = products(weights, x0)
    return " + ".join([repr(constant), *(f"{w!r} * {name}" for w, name in zip(others, names, strict=True))])


def _strongest(ruleset: RuleSet, names: list[str]) -> list[str]:
    """Return statements that return the action of the strongest matching rule, the lowest among equals."""
    assert isinstance(ruleset, StrengthRules)
    lines = ["best, top = None, 0.0"]
    for r, action in enumerate(ruleset.actions.tolist()):
        deviation = math.sqrt(float(ruleset.variances[r]))
        lines += [
            f"# {rule_comment(ruleset, r)}",
            f"if {_condition(ruleset, r, names)}:",
            f"    strength = {_prediction(ruleset.weights[r], ruleset.x0, names)} - {deviation!r}",
            f"    if best is None or strength > top or (strength == top and {action} < best):",
            f"        best, top = {action}, strength",
        ]
    return [*lines, "return best"]


def _best_predicted(ruleset: RuleSet, names: list[str]) -> list[str]:
    """Return statements that return the action with the highest fitness-weighted mean prediction."""
    assert isinstance(ruleset, PredictionArrayRules)
    lines = ["sums, totals = [0.0] * len(ACTIONS), [0.0] * len(ACTIONS)"]
    for r, action in enumerate(ruleset.actions.tolist()):
        fitness = float(ruleset.fitness[r])
        lines += [
            f"# {rule_comment(ruleset, r)}",
            f"if {_condition(ruleset, r, names)}:",
            f"    sums[{action}] += {fitness!r} * ({_prediction(ruleset.weights[r], ruleset.x0, names)})",
            f"    totals[{action}] += {fitness!r}",
        ]
    return [
        *lines,
        "best, top = None, 0.0",
        "for number in range(len(ACTIONS)):",
        "    if totals[number] > 0 and (best is None or sums[number] / totals[number] > top):",
        "        best, top = number, sums[number] / totals[number]",
        "return best",
    ]
