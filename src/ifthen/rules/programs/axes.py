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
    after,
    before,
    below,
    joined,
    negated,
    outside,
    test,
)
from ifthen.rules.programs.program_values import Extreme, Sum, Value
from ifthen.rules.term import MOST_TERMS, term

MARGIN = 0.25
"""A range that is made wider goes beyond the number by this part of it."""
STEPS = 8
"""The floats beside a rounded quotient that are tried for the end of an interval."""
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
Parts = tuple[tuple[int, float], ...]


class Axes:
    """The features and the sums that a program compares.

    Args:
        features: those that are observed.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self.observed = tuple(features)
        self.sums: dict[Parts, int] = {}
        """The sums with the number of their axis."""
        self.names: dict[Parts, set[str]] = {}
        """What a program calls its sums."""
        self.notes: dict[str, None] = {}
        """What differs between the program and its rules."""
        self._ends: dict[int, list[float]] = {}

    def compared(self, one: Value, relation: str, other: Value, line: int) -> Condition:
        """Return that two values have a relation."""
        if relation == "==":
            both = (self.compared(one, way, other, line) for way in ("<=", ">="))
            return joined(both, True)
        if relation == "!=":
            return negated(self.compared(one, "==", other, line))
        if isinstance(one, Extreme):
            every = one.largest == (relation in ("<", "<="))
            return joined((self.compared(item, relation, other, line) for item in one.items), every)
        if isinstance(other, Extreme):
            return self.compared(other, TURNED[relation], one, line)
        return self._sums_compared(one, relation, other, line)

    def _sums_compared(self, one: Sum, relation: str, other: Sum, line: int) -> Condition:
        """Return that two sums have a relation other than equality."""
        if one.is_number:
            one, other, relation = other, one, TURNED[relation]
        sizes = dict(one.parts)
        for d, size in other.parts:
            sizes[d] = sizes.get(d, 0.0) - size
        parts = tuple((d, size) for d, size in sorted(sizes.items()) if size)
        limit = other.constant - one.constant
        if not math.isfinite(limit):
            raise RuleError(f"line {line}: a number here is too large.")
        plain = not one.constant and not other.constant
        apart = len(one.parts) == 1 == len(other.parts) and len(parts) == 2 and plain
        exact = one.exact and other.exact and (apart or (other.is_number and not one.constant))
        if not parts:
            holds = {"<": limit > 0, "<=": limit >= 0, ">": limit < 0, ">=": limit <= 0}[relation]
            return TRUE if holds else FALSE
        if not exact:
            self.notes[
                f"line {line}: this sum is added up in another order than a ruleset does, so that its last "
                "bits can differ: exactly at the end of an interval the choice can be another."
            ] = None
        return self._tested(parts, relation, limit, one.clipped and other.clipped, line)

    def _tested(self, parts: Parts, relation: str, limit: float, clipped: bool, line: int) -> Condition:
        """Return that a sum without a number has a relation to a number."""
        if len(parts) == 1 and parts not in self.sums:
            (d, size) = parts[0]
            whole = self.observed[d].is_integer
            spans = _single(size, relation, limit, whole)
            if not clipped:
                self._ends.setdefault(d, []).extend(end for span in spans for end in span)
            return test(d, spans, whole)
        if not clipped:
            names = [self.observed[d].name for d, _ in parts if self.observed[d].clips]
            self.notes[
                f"line {line}: beyond the ranges of {', '.join(names)} a ruleset counts values as the "
                "ranges' ends, and this sum does not."
            ] = None
        axis, turned = self._axis(parts, line)
        return test(axis, _single(-1.0 if turned else 1.0, relation, limit, False), False)

    def _axis(self, parts: Parts, line: int) -> tuple[int, bool]:
        """Return the axis of a sum, and whether it is that of the sum with its signs turned."""
        if len(parts) > MOST_PARTS:
            raise RuleError(f"line {line}: a term adds up at most {MOST_PARTS} features, not {len(parts)}.")
        negative = tuple((d, -size) for d, size in parts)
        if negative in self.sums:
            return self.sums[negative], True
        if parts not in self.sums and len(self.sums) >= MOST_TERMS:
            raise RuleError(f"line {line}: this compares more than {MOST_TERMS} different sums.")
        return self.sums.setdefault(parts, len(self.observed) + len(self.sums)), False

    def features(self) -> tuple[Feature, ...]:
        """Return the features, in ranges that are wide enough, and a term for each sum."""
        observed = tuple(map(self._widened, range(len(self.observed)), self.observed))
        taken = {feature.name for feature in observed}
        said = [name for names in self.names.values() for name in names]
        terms = []
        for parts in self.sums:
            own = self.names.get(parts, set())
            name = next(iter(own)) if len(own) == 1 and said.count(next(iter(own))) == 1 else None
            made = term(None, {observed[d].name: size for d, size in parts}, observed)
            if name is not None and name not in taken:
                made = replace(made, name=name)
            taken.add(made.name)
            terms.append(made)
        return (*observed, *terms)

    def _widened(self, d: int, feature: Feature) -> Feature:
        """Return a feature whose range has values on both sides of all numbers it is compared with."""
        ends = [end for end in self._ends.get(d, ()) if math.isfinite(end)]
        if not ends or not feature.clips or (feature.is_integer and feature.width <= 2):
            return feature  # nothing is beyond a yes or no
        low, high = feature.low, feature.high
        least, most = min(ends), max(ends)
        if feature.is_integer:
            limit = INTEGER_LIMIT
            low, high = max(-limit, min(low, int(least) - 1)), min(limit, max(high, int(most) + 1))
        else:
            low = low if low < least else least - max(abs(least), 1.0) * MARGIN
            high = high if high > most else most + max(abs(most), 1.0) * MARGIN
        return replace(feature, low=low, high=high)


def _single(size: float, relation: str, limit: float, whole: bool) -> Spans:
    """Return where a product with a value has a relation to a number, as floats are multiplied."""
    if size < 0:
        size, relation, limit = -size, TURNED[relation], -limit
    included = relation in ("<=", ">")
    end = limit if size == 1 else _last(size, limit, included)
    spans = below(end + 0.0, whole, included if size == 1 else True)
    return spans if relation in ("<", "<=") else outside(spans, whole)


def _last(size: float, limit: float, included: bool) -> float:
    """Return the last value whose product with a positive number is below a limit."""

    def holds(value: float) -> bool:
        return size * value <= limit if included else size * value < limit

    end = limit / size
    if not math.isfinite(end):
        raise RuleError(f"{limit} by {size} is too large a number.")
    for _ in range(STEPS):
        end = after(end, False) if holds(after(end, False)) else end
    for _ in range(2 * STEPS):
        end = end if holds(end) else before(end, False)
    return end
