"""Reading the tests of one feature: "≤ 3", "in [2, 5]", "from 300 through 0 to 60", "is empty or a wall"."""

from __future__ import annotations

import math
import re

from ifthen.errors import RuleError
from ifthen.rules.feature import Feature, number_in_words
from ifthen.rules.text.scan import NUMBER, Names, Scanner

RELATION = re.compile(r"<=|>=|==|=<|=>|≤|≥|<|>|=|≠|!=")
GOES_ON = re.compile(r"(?:and|then)\b|[,;\]&∧→⇒…–|]|\.\.|->", re.IGNORECASE)
BETWEEN_ENDS = re.compile(r",|;|\.\.\.?|…|–|(?:to|and)\b", re.IGNORECASE)
THROUGH = re.compile(r"through\b", re.IGNORECASE)
NOT = re.compile(r"not\b", re.IGNORECASE)
OR = re.compile(r"or\b", re.IGNORECASE)
CLOSING = re.compile(r"\]")
IN_ROUND = re.compile(rf"\(\s*({NUMBER.pattern})\s*[,;]\s*({NUMBER.pattern})")
AROUND = "an interval of {0} goes round the end of the range: no other test of {0} can stand beside it."
SAME = {"≤": "<=", "=<": "<=", "≥": ">=", "=>": ">=", "==": "=", "≠": "!="}


class IntervalReader:
    """Reads tests of one feature, and narrows its interval by them.

    Args:
        scanner: stands where a test begins.
        feature: what is tested.
        bounds: the interval so far; it is changed.
    """

    def __init__(self, scanner: Scanner, feature: Feature, bounds: list[float]) -> None:
        self._scanner, self._feature, self._bounds = scanner, feature, bounds

    def relation(self) -> str:
        """Return the relation that must stand here, one way of writing each."""
        relation = self._scanner.take(RELATION)
        if relation is None:
            raise RuleError(f"expected ≤, ≥, = or in after {self._feature.name}, not {self._scanner.rest()}.")
        return SAME.get(relation, relation)

    def number(self) -> float:
        """Return the number that must stand here, past its unit; a value may be called by its label."""
        if self._feature.labels:
            label = self._scanner.name(Names(self._feature.labels, "value"))
            if label is not None:
                return float(self._feature.low + label)
        number = self._scanner.number()
        self.unit()
        return number

    def unit(self) -> None:
        """Go past the feature's unit, where it is written. A word that goes on with the rule is no unit."""
        if not GOES_ON.match(self._feature.unit):
            self._scanner.take_text(self._feature.unit)

    def two_ends(self, bracket: bool) -> None:
        """Narrow by two ends: "2, 5]" behind an open bracket, or "2 to 5"."""
        scanner = self._scanner
        if scanner.following() == "(":
            ends_match = IN_ROUND.match(scanner.text, scanner.at)
            low, high = ("2", "5") if ends_match is None else ends_match.groups()
            raise RuleError(
                f"an interval has its ends: write [{low[:40]}, {high[:40]}], not {scanner.rest()}."
            )
        first = self.number()
        through = self.number() if scanner.take(THROUGH) else None
        if not scanner.take(BETWEEN_ENDS):
            raise RuleError(
                f"expected two numbers, as in {self._feature.name} in [2, 5], not {scanner.rest()}."
            )
        self.between(first, through, self.number())
        if bracket and not scanner.take(CLOSING):
            raise RuleError(f"expected ], not {scanner.rest()}.")
        self.unit()

    def between(self, first: float, through: float | None, last: float) -> None:
        """Keep the values of an interval; of a cyclic feature it wraps where it begins above its end.

        Args:
            first: where it begins.
            through: a value between, where one is written: "from 300 through 0 to 60".
            last: where it ends.
        """
        name, wraps = self._feature.name, self._feature.cyclic and first > last
        if through is not None and (through >= first) + (through <= last) + wraps < 2:
            ends = f"{number_in_words(first)} to {number_in_words(last)}"
            raise RuleError(f"{name} from {ends} does not go through {number_in_words(through)}.")
        if not wraps:
            self.narrow(">=", first)
            self.narrow("<=", last)
            return
        if self._bounds != [self._feature.low, self._feature.high]:
            raise RuleError(AROUND.format(name))
        self._bounds[:] = [self._checked(">=", first), self._checked("<=", last)]

    def to_labels(self, features: Names) -> None:
        """Keep the values that are named here: "a wall", "empty or a wall", "not food".

        Before the name of a feature, OR goes on with another condition.
        """
        feature, labels = self._feature, Names(self._feature.labels, "value")
        negated = self._scanner.take(NOT) is not None
        named_values: list[int] = []
        start = self._scanner.at
        while not named_values or self._scanner.take(OR):
            if named_values and not self._scanner.has(labels) and self._scanner.has(features):
                self._scanner.at = start
                break
            label = self._scanner.name(labels)
            if label is None:
                raise RuleError(
                    f"{feature.name} is {' or '.join(feature.labels)}, not {self._scanner.rest()}."
                )
            named_values.append(label)
            start = self._scanner.at
        kept_values = [i for i in range(feature.width) if (i in named_values) != negated]
        if not kept_values or kept_values[-1] - kept_values[0] >= len(kept_values):
            raise RuleError(
                f"a condition is an interval of {', '.join(feature.labels)}, in this order: for others, "
                "write two rules."
            )
        self.narrow(">=", feature.low + kept_values[0])
        self.narrow("<=", feature.low + kept_values[-1])

    def narrow(self, relation: str, number: float) -> None:
        """Keep the values that have this relation to the number."""
        if self._bounds[0] > self._bounds[1]:
            raise RuleError(AROUND.format(self._feature.name))
        number = self._checked(relation, number)
        if relation in ("=", ">=", ">"):
            self._bounds[0] = max(self._bounds[0], number)
        if relation in ("=", "<=", "<"):
            self._bounds[1] = min(self._bounds[1], number)
        if self._bounds[0] > self._bounds[1]:
            low, high = self._bounds
            raise RuleError(f"no {self._feature.name} can be ≥ {low} and ≤ {high}: this never matches.")

    def _checked(self, relation: str, number: float) -> float:
        """Return the end of an interval that a number in this relation is, or raise."""
        name, end = self._feature.name, number_in_words(number)
        if relation == "!=":
            raise RuleError(f"a condition is an interval: {name} ≠ {end} takes two rules, one for each side.")
        if self._feature.is_integer:
            if number != math.floor(number):
                raise RuleError(f"{name} takes whole numbers, not {end}.")
            number = int(number) + {"<": -1, ">": 1}.get(relation, 0)
        elif relation in "<>":
            raise RuleError(f"intervals of the real feature {name} have their ends: write {relation}= {end}.")
        low, high = self._feature.low, self._feature.high
        if not low <= number <= high:
            raise RuleError(f"{name} {relation} {end} leaves the range of {name}, {low} to {high}.")
        return number
