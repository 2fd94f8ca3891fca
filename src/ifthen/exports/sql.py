"""A ruleset as one SQL expression that gives the action's name, NULL where no rule matches.

Databases cannot be trusted to add strengths in our order, so rules with strengths become an equivalent
decision list first. Databases also differ in how well they read long decimals (SQLite 3.40 gets one in ten
thousand wrong by a bit): a bound with many digits is written as a whole number and powers of two.
"""

from __future__ import annotations

import math
from decimal import Decimal

from ifthen.exports.code import Language
from ifthen.exports.parts import as_list_in_words, decision_list, ranges_in_words, title
from ifthen.rules.feature import number_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import AnyTask

SAFE_DIGITS, SAFE_EXPONENT = 15, 22  # decimals within these are read exactly by the simplest correct means
LARGEST_POWER = 52  # powers of two up to this one are short whole numbers


class SQL(Language):
    """Standard SQL, with one column for each feature."""

    both, equal, between = " AND ", "{value} = {low}", "{value} BETWEEN {low} AND {high}"

    def number(self, number: float, feature: int | None = None) -> str:
        """Return a number of a feature as an expression that every database computes exactly."""
        whole = feature is not None and self.ruleset.features[feature].is_integer
        return number_in_words(number) if whole else number_literal(float(number))

    def in_range(self, d: int) -> str:
        """Return the test that feature d lies in its range; any value passes where the feature clips."""
        clips = self.ruleset.features[d].clips
        return f"{self.values[d]} IS NOT NULL" if clips else super().in_range(d)


def to_sql(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return the expression, after comments on the columns it reads."""
    rules = decision_list(ruleset, task)
    about = (title(ruleset, task), as_list_in_words(rules, ruleset, task), *ranges_in_words(ruleset))
    code = SQL(
        rules, [identifier(f.name) for f in rules.features], [text_literal(n) for n in rules.action_names]
    )
    lines = [*(f"-- {line}" for line in about), f"CASE WHEN {code.in_ranges()} THEN CASE"]
    for r, action in enumerate(rules.actions.tolist()):
        tests, answer = code.condition(r), code.actions[action]
        last = 0 < r == len(rules) - 1 and not tests  # a CASE needs one WHEN
        lines.append(f"  ELSE {answer}" if last else f"  WHEN {tests or '1 = 1'} THEN {answer}")
    return "\n".join([*lines, "END END"]) + "\n"


def identifier(name: str) -> str:
    """Return a column's name, quoted as the standard says."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """Return a text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def number_literal(number: float) -> str:
    """Return a real number as an expression that every database computes exactly."""
    shortest = repr(number)
    _, digits, exponent = Decimal(shortest).normalize().as_tuple()
    if len(digits) <= SAFE_DIGITS and abs(int(exponent)) <= SAFE_EXPONENT:
        return shortest
    return _by_powers(number)


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
