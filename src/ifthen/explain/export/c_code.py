"""A ruleset as one self-contained C99 file.

Numbers are hexadecimal floats, which are exact, and sums are taken in the order of `ifthen.inference`.
Choices are then equal to the last bit, as long as the compiler does not fuse products and
sums: GCC does not with `-std=c99`, Clang is told so in the file.
"""

from __future__ import annotations

import math
from decimal import Decimal

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
from ifthen.explain.export.python_code import products
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.inference.strength import StrengthRules
from ifthen.rules.ruleset import RuleSet

FEW_DIGITS = 9


def to_c(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return the file's text."""
    enum = enum_names(ruleset)
    inside = " && ".join(
        f"s[{d}] >= {_exact(f.low)} && s[{d}] <= {_exact(f.high)}" for d, f in enumerate(ruleset.features)
    )
    words = [f"   s[{d}]: {line}" for d, line in enumerate(ranges_in_words(ruleset))]
    body = {StrengthRules.kind: _strongest, PredictionArrayRules.kind: _best_predicted}.get(
        ruleset.kind, _first_match
    )(ruleset)
    clips = any(feature.clips for feature in ruleset.features)
    argument = f"const double {'given' if clips else 's'}[IFTHEN_FEATURES]"
    outside = " or a value lies outside its range" if not all(f.clips for f in ruleset.features) else ""
    lines = [
        f"/* {title(ruleset, task)}:",
        f"   {EXACT}.",
        "   Compile with -std=c99 or -ffp-contract=off: choices are then those of ifthen to the last bit.",
        *words,
        f"   Returns an action, or -1 where no rule matches{outside or ' or a value is NaN'}. */",
        "",
        "#if defined(__clang__)",
        "#pragma STDC FP_CONTRACT OFF",
        "#endif",
        "",
        f"enum {{ IFTHEN_FEATURES = {len(ruleset.features)}, IFTHEN_ACTIONS = {len(enum)} }};",
        "enum {",
        *(
            f"    {name} = {number}, /* {one_line(label)} */"
            for number, (name, label) in enumerate(zip(enum, ruleset.action_names, strict=True))
        ),
        "    IFTHEN_NONE = -1",
        "};",
        "",
        f"int ifthen_action({argument});",
        "",
        f"int ifthen_action({argument})",
        "{",
        *(_clipped(ruleset) if clips else []),
        f"    if (!({inside}))",
        "        return IFTHEN_NONE;",
        *(f"    {line}" for line in body),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _clipped(ruleset: RuleSet) -> list[str]:
    """Return lines that put values beyond the ranges of features that clip at their ends."""
    lines = ["    double s[IFTHEN_FEATURES];"]
    for d, feature in enumerate(ruleset.features):
        low, high, given = _exact(feature.low), _exact(feature.high), f"given[{d}]"
        value = f"{given} < {low} ? {low} : {given} > {high} ? {high} : {given}" if feature.clips else given
        lines.append(f"    s[{d}] = {value};")
    return lines


def enum_names(ruleset: RuleSet) -> list[str]:
    """Return the actions' names for the enum, different also in capitals."""
    capitals = [name.upper() for name in ruleset.action_names]
    return [f"IFTHEN_{name}" for name in identifiers(capitals, "ACTION", ("NONE", "FEATURES", "ACTIONS"))]


def _exact(number: float) -> str:
    """Return a number as a C constant: decimal where a few digits are exact, hexadecimal otherwise."""
    value = float(number)
    return repr(value) if len(Decimal(value).as_tuple().digits) <= FEW_DIGITS else value.hex()


def _condition(ruleset: RuleSet, rule: int) -> str:
    return " && ".join(_test(test) for test in tests_of(ruleset, rule)) or "1"


def _test(test: Test) -> str:
    name = f"s[{test.feature}]"
    if test.low is not None and test.low == test.high:
        return f"{name} == {_exact(test.low)}"
    low = [] if test.low is None else [f"{name} >= {_exact(test.low)}"]
    high = [] if test.high is None else [f"{name} <= {_exact(test.high)}"]
    return " && ".join(low + high)


def _first_match(ruleset: RuleSet) -> list[str]:
    lines: list[str] = []
    names = enum_names(ruleset)
    for r, action in enumerate(ruleset.actions.tolist()):
        if r == len(ruleset) - 1 and not tests_of(ruleset, r):
            return [*lines, f"/* {rule_comment(ruleset, r)} */", f"return {names[action]};"]
        lines += [
            f"/* {rule_comment(ruleset, r)} */",
            f"if ({_condition(ruleset, r)})",
            f"    return {names[action]};",
        ]
    return [*lines, "return IFTHEN_NONE;"]


def _prediction(ruleset: StrengthRules | PredictionArrayRules, rule: int) -> str:
    constant, others = products(ruleset.weights[rule], ruleset.x0)
    return " + ".join([_exact(constant), *(f"{_exact(w)} * s[{d}]" for d, w in enumerate(others))])


def _strongest(ruleset: RuleSet) -> list[str]:
    assert isinstance(ruleset, StrengthRules)
    lines = ["int best = IFTHEN_NONE;", "double top = 0.0, strength;"]
    for r, action in enumerate(ruleset.actions.tolist()):
        deviation = math.sqrt(float(ruleset.variances[r]))
        better = f"best < 0 || strength > top || (strength == top && {action} < best)"
        lines += [
            f"/* {rule_comment(ruleset, r)} */",
            f"if ({_condition(ruleset, r)}) {{",
            f"    strength = {_prediction(ruleset, r)} - {_exact(deviation)};",
            f"    if ({better}) {{ best = {action}; top = strength; }}",
            "}",
        ]
    return [*lines, "return best;"]


def _best_predicted(ruleset: RuleSet) -> list[str]:
    assert isinstance(ruleset, PredictionArrayRules)
    lines = [
        "int best = IFTHEN_NONE, a;",
        "double top = 0.0, sums[IFTHEN_ACTIONS] = {0.0}, totals[IFTHEN_ACTIONS] = {0.0};",
    ]
    for r, action in enumerate(ruleset.actions.tolist()):
        fitness = _exact(float(ruleset.fitness[r]))
        lines += [
            f"/* {rule_comment(ruleset, r)} */",
            f"if ({_condition(ruleset, r)}) {{",
            f"    sums[{action}] += {fitness} * ({_prediction(ruleset, r)});",
            f"    totals[{action}] += {fitness};",
            "}",
        ]
    return [
        *lines,
        "for (a = 0; a < IFTHEN_ACTIONS; a++)",
        "    if (totals[a] > 0.0 && (best < 0 || sums[a] / totals[a] > top)) {",
        "        best = a;",
        "        top = sums[a] / totals[a];",
        "    }",
        "return best;",
    ]
