"""What conditions of programs are tested on: the features, and sums of them, which become terms.

Rulesets bring features into their ranges first (`Feature.clips`); a program need not. Where one compares such
a feature with a number beyond its range, the range is made wider.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ifthen.errors import RuleError
from ifthen.rules.feature import INTEGER_LIMIT, MOST_PARTS, Feature
from ifthen.rules.programs.condition import (
    FALSE,
    TRUE,
    Condition,
    Spans,
    below,
    joined,
    negated,
    next_value,
    outside,
    previous_value,
    test,
)
from ifthen.rules.programs.program_values import Extreme, Sum, Value
from ifthen.rules.term import MOST_TERMS, term

MARGIN = 0.25
"""A range that is made wider goes beyond the number by this part of it."""
STEPS = 8
"""The floats beside a rounded quotient that are tried for the end of an interval."""
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
Addends = tuple[tuple[int, float], ...]


class Axes:
    """The features and the sums that a program compares.

    Args:
        features: those that are observed.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self.observed = tuple(features)
        self.sums: dict[Addends, int] = {}
        """The sums with the number of their axis."""
        self.names: dict[Addends, set[str]] = {}
        """What a program calls its sums."""
        self.notes: dict[str, None] = {}
        """What differs between the program and its rules."""
        self._ends: dict[int, list[float]] = {}

    def compared(self, left: Value, relation: str, right: Value, line: int) -> Condition:
        """Return that two values have a relation."""
        if relation == "==":
            bounds = (self.compared(left, bound_relation, right, line) for bound_relation in ("<=", ">="))
            return joined(bounds, True)
        if relation == "!=":
            return negated(self.compared(left, "==", right, line))
        if isinstance(left, Extreme):
            all_hold = left.largest == (relation in ("<", "<="))
            return joined((self.compared(item, relation, right, line) for item in left.items), all_hold)
        if isinstance(right, Extreme):
            return self.compared(right, TURNED[relation], left, line)
        return self._sums_compared(left, relation, right, line)

    def _sums_compared(self, left: Sum, relation: str, right: Sum, line: int) -> Condition:
        """Return that two sums have a relation other than equality."""
        if left.is_number:
            left, right, relation = right, left, TURNED[relation]
        coefficients = dict(left.addends)
        for d, coefficient in right.addends:
            coefficients[d] = coefficients.get(d, 0.0) - coefficient
        addends = tuple((d, coefficient) for d, coefficient in sorted(coefficients.items()) if coefficient)
        limit = right.constant - left.constant
        if not math.isfinite(limit):
            raise RuleError(f"line {line}: a number here is too large.")
        no_constants = not left.constant and not right.constant
        two_features = len(left.addends) == 1 == len(right.addends) and len(addends) == 2 and no_constants
        exact = left.exact and right.exact and (two_features or (right.is_number and not left.constant))
        if not addends:
            holds = {"<": limit > 0, "<=": limit >= 0, ">": limit < 0, ">=": limit <= 0}[relation]
            return TRUE if holds else FALSE
        if not exact:
            self.notes[
                f"line {line}: this sum is added up in another order than a ruleset does, so that its last "
                "bits can differ: exactly at the end of an interval the choice can be another."
            ] = None
        return self._sum_test(addends, relation, limit, left.clipped and right.clipped, line)

    def _sum_test(self, addends: Addends, relation: str, limit: float, clipped: bool, line: int) -> Condition:
        """Return that a sum without a number has a relation to a number."""
        if len(addends) == 1 and addends not in self.sums:
            (d, coefficient) = addends[0]
            is_integer = self.observed[d].is_integer
            spans = _product_spans(coefficient, relation, limit, is_integer)
            if not clipped:
                self._ends.setdefault(d, []).extend(end for span in spans for end in span)
            return test(d, spans, is_integer)
        if not clipped:
            names = [self.observed[d].name for d, _ in addends if self.observed[d].clips]
            self.notes[
                f"line {line}: beyond the ranges of {', '.join(names)} a ruleset counts values as the "
                "ranges' ends, and this sum does not."
            ] = None
        axis, turned = self._axis(addends, line)
        return test(axis, _product_spans(-1.0 if turned else 1.0, relation, limit, False), False)

    def _axis(self, addends: Addends, line: int) -> tuple[int, bool]:
        """Return the axis of a sum, and whether it is that of the sum with its signs turned."""
        if len(addends) > MOST_PARTS:
            raise RuleError(f"line {line}: a term adds up at most {MOST_PARTS} features, not {len(addends)}.")
        negative = tuple((d, -coefficient) for d, coefficient in addends)
        if negative in self.sums:
            return self.sums[negative], True
        if addends not in self.sums and len(self.sums) >= MOST_TERMS:
            raise RuleError(f"line {line}: this compares more than {MOST_TERMS} different sums.")
        return self.sums.setdefault(addends, len(self.observed) + len(self.sums)), False

    def features(self) -> tuple[Feature, ...]:
        """Return the features, in ranges that are wide enough, and a term for each sum."""
        observed = tuple(map(self._widened, range(len(self.observed)), self.observed))
        taken_names = {feature.name for feature in observed}
        all_names = [name for names in self.names.values() for name in names]
        terms = []
        for addends in self.sums:
            sum_names = self.names.get(addends, set())
            name = (
                next(iter(sum_names))
                if len(sum_names) == 1 and all_names.count(next(iter(sum_names))) == 1
                else None
            )
            new_term = term(None, {observed[d].name: coefficient for d, coefficient in addends}, observed)
            if name is not None and name not in taken_names:
                new_term = replace(new_term, name=name)
            taken_names.add(new_term.name)
            terms.append(new_term)
        return (*observed, *terms)

    def _widened(self, d: int, feature: Feature) -> Feature:
        """Return a feature whose range has values on both sides of all numbers it is compared with."""
        ends = [end for end in self._ends.get(d, ()) if math.isfinite(end)]
        if not ends or not feature.clips or (feature.is_integer and feature.width <= 2):
            return feature  # nothing is beyond a yes or no
        low, high = feature.low, feature.high
        smallest, largest = min(ends), max(ends)
        if feature.is_integer:
            limit = INTEGER_LIMIT
            low, high = max(-limit, min(low, int(smallest) - 1)), min(limit, max(high, int(largest) + 1))
        else:
            low = low if low < smallest else smallest - max(abs(smallest), 1.0) * MARGIN
            high = high if high > largest else largest + max(abs(largest), 1.0) * MARGIN
        return replace(feature, low=low, high=high)


def _product_spans(coefficient: float, relation: str, limit: float, is_integer: bool) -> Spans:
    """Return where a product with a value has a relation to a number, as floats are multiplied."""
    if coefficient < 0:
        coefficient, relation, limit = -coefficient, TURNED[relation], -limit
    included = relation in ("<=", ">")
    end = limit if coefficient == 1 else _last_below(coefficient, limit, included)
    spans = below(end + 0.0, is_integer, included if coefficient == 1 else True)
    return spans if relation in ("<", "<=") else outside(spans, is_integer)


def _last_below(coefficient: float, limit: float, included: bool) -> float:
    """Return the last value whose product with a positive number is below a limit."""

    def holds(value: float) -> bool:
        return coefficient * value <= limit if included else coefficient * value < limit

    end = limit / coefficient
    if not math.isfinite(end):
        raise RuleError(f"{limit} by {coefficient} is too large a number.")
    for _ in range(STEPS):
        end = next_value(end, False) if holds(next_value(end, False)) else end
    for _ in range(2 * STEPS):
        end = end if holds(end) else previous_value(end, False)
    return end
