"""A ruleset as one SQL expression that gives the action's name, NULL where no rule matches.

Databases cannot be trusted to add strengths in our order, so rules with strengths become an equivalent
decision list first. Databases also differ in how well they read long decimals (SQLite 3.40 gets one in ten
thousand wrong by a bit): a bound with many digits is written as a whole number and powers of two.
"""

from __future__ import annotations

import math
from decimal import Decimal

from ifthen.explain.domain import AnyTask
from ifthen.explain.export.parts import (
    Test,
    as_list_in_words,
    decision_list,
    ranges_in_words,
    tests_of,
    title,
)
from ifthen.rules.features import Feature, number_in_words
from ifthen.rules.ruleset import RuleSet

SAFE_DIGITS, SAFE_EXPONENT = 15, 22  # decimals within these are read exactly by the simplest correct means
LARGEST_POWER = 52  # powers of two up to this one are short whole numbers


def to_sql(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return the expression, after comments on the columns it reads."""
    rules = decision_list(ruleset, task)
    about = (title(ruleset, task), as_list_in_words(rules, ruleset, task), *ranges_in_words(ruleset))
    inside = " AND ".join(map(_in_range, rules.features))
    lines = [
        *(f"-- {line}" for line in about),
        f"CASE WHEN {inside} THEN CASE",
    ]
    for r, action in enumerate(rules.actions.tolist()):
        tests = " AND ".join(_test(rules.features[test.feature], test) for test in tests_of(rules, r))
        answer = text_literal(rules.action_names[action])
        last = 0 < r == len(rules) - 1 and not tests  # a CASE needs one WHEN
        lines.append(f"  ELSE {answer}" if last else f"  WHEN {tests or '1 = 1'} THEN {answer}")
    return "\n".join([*lines, "END END"]) + "\n"


def identifier(name: str) -> str:
    """Return a column's name, quoted as the standard says."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """Return a text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def number_literal(feature: Feature, number: float) -> str:
    """Return a number as an expression that every database computes exactly."""
    if feature.is_integer:
        return number_in_words(number)
    shortest = repr(float(number))
    _, digits, exponent = Decimal(shortest).normalize().as_tuple()
    if len(digits) <= SAFE_DIGITS and abs(int(exponent)) <= SAFE_EXPONENT:
        return shortest
    return _by_powers(float(number))


def _by_powers(number: float) -> str:
    """Return a float as a whole number times or by powers of two, one after the other."""
    fraction, exponent = math.frexp(number)
    mantissa, power = int(fraction * 2**53), exponent - 53
    while mantissa % 2 == 0:
        mantissa, power = mantissa // 2, power + 1
    steps, sign = [], "/" if power < 0 else "*"
    while power:
        step = min(abs(power), LARGEST_POWER)
        steps.append(f" {sign} {2**step}.0")
        power += step if power < 0 else -step
    return f"(CAST({mantissa} AS DOUBLE PRECISION){''.join(steps)})"


def _in_range(feature: Feature) -> str:
    if feature.clips:  # the tests that follow leave out the ends of the range: what is beyond passes them
        return f"{identifier(feature.name)} IS NOT NULL"
    return _between(feature, feature.low, feature.high)


def _between(feature: Feature, low: float, high: float) -> str:
    ends = f"{number_literal(feature, low)} AND {number_literal(feature, high)}"
    return f"{identifier(feature.name)} BETWEEN {ends}"


def _test(feature: Feature, test: Test) -> str:
    if test.low is not None and test.high is not None:
        if test.low == test.high:
            return f"{identifier(feature.name)} = {number_literal(feature, test.low)}"
        return _between(feature, test.low, test.high)
    if test.high is not None:
        return f"{identifier(feature.name)} <= {number_literal(feature, test.high)}"
    assert test.low is not None
    return f"{identifier(feature.name)} >= {number_literal(feature, test.low)}"
