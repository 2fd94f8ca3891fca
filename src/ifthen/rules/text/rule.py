"""Reading one rule as people type it: "IF x <= 3 and 2 ≤ y ≤ 5 THEN Down"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ifthen.errors import RuleError, listed, nearest
from ifthen.rules.feature import Feature
from ifthen.rules.term import MOST_TERMS, observed_of, term
from ifthen.rules.text.interval import RELATION, SAME, IntervalReader
from ifthen.rules.text.scan import NUMBER, QUOTED, Names, Scanner, names_in

WORD = re.compile(r"[^\s,|<>=≤≥\[\]()]+")
NEEDS_IF = re.compile(r"(?:else\s+)?if\b", re.IGNORECASE)
NEEDS_NOTHING = re.compile(r"(?:always|otherwise|else|default)\b", re.IGNORECASE)
THEN = re.compile(r"(?:,\s*)?(?:then\b|->|→|⇒)\s*(?:do\b)?", re.IGNORECASE)
AND = re.compile(r"(?:,\s*)?and\b|,|&&?|∧", re.IGNORECASE)
NUMBER_BEFORE = re.compile(r"(?:[-*•]\s+)?(?:\d{1,9}\s*[.):]\s*)?")
RANGE = re.compile(r"(?:in|between|from)\b\s*\[?", re.IGNORECASE)
IS = re.compile(r"is\b", re.IGNORECASE)
COMMA = re.compile(",")
OPEN, CLOSE = re.compile(r"\("), re.compile(r"\)")
MARKS = re.compile(r"[:;,]")
LET_WORD = re.compile(r"\Alet\b\s*", re.IGNORECASE)
NAMED = re.compile(rf'({QUOTED.pattern}\s*|[^="\[]+)(?:\[([^="\]]*)\]\s*)?=')
"""The name that a term gets, and its unit in brackets."""
PLUS_OR_MINUS, TIMES = re.compile(r"[+\-−]"), re.compile(r"[*·×]")
COEFFICIENT = re.compile(rf"(?:{NUMBER.pattern})\s*[*·×]")
SIGNS = set("+-−*·×")
TURNED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "=": "=", "!=": "!="}


class ReadRule(NamedTuple):
    """A rule that was read: its intervals by feature's number, its action, and its other numbers by name."""

    bounds: dict[int, list[float]]
    action: int
    extras: dict[str, list[float]]


class RuleReader:
    """Reads rules over the same features and actions.

    Conditions may speak of sums of features, which become terms.

    Args:
        features: name and range of each feature; terms last.
        action_names: one name per action.
    """

    def __init__(self, features: Sequence[Feature], action_names: Sequence[str]) -> None:
        self.features = list(features)
        """The features given, and behind them the terms that were read."""
        self.observed = Names([feature.name for feature in observed_of(features)], "feature")
        self.names = Names([feature.name for feature in features], "feature")
        self.actions = Names(action_names, "action")

    def define(self, line: str) -> None:
        """Read the definition of a term, or raise.

        Args:
            line: such as "LET tilt error [rad] = 0.5*x + x velocity - angle", or without name and unit. The
                unit may stand at the end instead, behind a comma. LET may be left out.
        """
        text = LET_WORD.sub("", line.strip())
        name_match = NAMED.match(text)
        name, unit = (
            (None, "") if name_match is None else (_one_name(name_match[1]), (name_match[2] or "").strip())
        )
        scanner = Scanner(text if name_match is None else text[name_match.end() :])
        if not scanner.following():
            raise RuleError("expected a name and a sum of features, as in 'LET error = 0.5*x - y'.")
        new_term = self._term(name, self._sum(scanner))
        if not unit and scanner.take(COMMA):
            unit = _one_name(scanner.text[scanner.at :])
        elif scanner.following():
            raise RuleError(f"expected +, - or the end of the line, not {scanner.rest()}.")
        if new_term.name in self.names.names:
            raise RuleError(f"there are two features called {new_term.name!r}.")
        self._add(replace(new_term, unit=unit))

    def is_sum(self, text: str) -> bool:
        """Return whether a text reads as a sum of features."""
        scanner = Scanner(text)
        try:
            return bool(self._sum(scanner)) and not scanner.following()
        except RuleError:
            return False

    def _add(self, new_term: Feature) -> int:
        """Add a term; return its number."""
        if len(self.features) - len(self.observed.names) >= MOST_TERMS:
            # What a sum takes to read grows with the number of those before.
            raise RuleError(f"the rules speak of more than {MOST_TERMS} different sums.")
        self.features.append(new_term)
        self.names = Names([feature.name for feature in self.features], "feature")
        return len(self.features) - 1

    def _term(self, name: str | None, addends: Sequence[tuple[int, float]]) -> Feature:
        coefficients = {self.observed[d]: coefficient for d, coefficient in addends}
        if len(coefficients) < len(addends):
            raise RuleError("a sum has every feature once.")
        return term(name, coefficients, self.features)

    def _sum(self, scanner: Scanner) -> list[tuple[int, float]]:
        """Return the features of a sum that must stand here, by number, with their coefficients."""
        addends, sign = [], scanner.take(PLUS_OR_MINUS)
        while True:
            coefficient = 1.0
            if COEFFICIENT.match(scanner.text, scanner.skip()):
                coefficient = scanner.number()
                scanner.take(TIMES)
            d = scanner.name(self.observed)
            if d is None:
                raise RuleError(
                    f"a sum adds up features ({listed(self.observed.names)}), as in 0.5*{self.observed[0]}, "
                    f"not {scanner.rest()}."
                )
            addends.append((d, -coefficient if sign in ("-", "−") else coefficient))
            sign = scanner.take(PLUS_OR_MINUS)
            if sign is None:
                return addends

    def _feature(self, scanner: Scanner) -> int | None:
        """Return the number of the feature, term or sum that stands here; None where there is none."""
        start = scanner.skip()
        d = scanner.name(self.names) if not COEFFICIENT.match(scanner.text, start) else None
        signed = PLUS_OR_MINUS.match(scanner.text, start) and not NUMBER.match(scanner.text, start)
        if d is not None and not PLUS_OR_MINUS.match(scanner.text, scanner.skip()):
            return d
        if d is None and not signed and not COEFFICIENT.match(scanner.text, start):
            return None
        scanner.at = start
        new_term = self._term(None, self._sum(scanner))
        same_sum = [i for i, feature in enumerate(self.features) if feature.of == new_term.of]
        return same_sum[0] if same_sum else self._add(new_term)

    def read(self, line: str) -> ReadRule:
        """Return the rule that a line holds, or raise saying what was expected and what came.

        Args:
            line: such as "1. IF x ≤ 3 AND y in [2, 5] THEN Down | weights 0.5 0 1".
        """
        scanner = Scanner(line)
        scanner.take(NUMBER_BEFORE)
        bounds: dict[int, list[float]] = {}
        if scanner.take(NEEDS_IF):
            self._condition(scanner, bounds)
        elif scanner.take(NEEDS_NOTHING):
            scanner.take(re.compile(r"[:,]"))
            scanner.take(THEN)
        else:
            raise RuleError(f"a rule begins with IF, ALWAYS or OTHERWISE, not {scanner.rest()}.")
        return ReadRule(bounds, self._action(scanner), _read_extras(scanner))

    def _condition(self, scanner: Scanner, bounds: dict[int, list[float]]) -> None:
        """Narrow the bounds by all tests up to THEN. Parentheses change nothing, as all tests must hold."""
        opened = 0
        while True:
            while not scanner.has(self.names) and scanner.take(OPEN):
                opened += 1
            self.test(scanner, bounds)
            while scanner.following() == ")":
                if not opened:
                    raise RuleError(f"there is no ( for {scanner.rest()}.")
                scanner.take(CLOSE)
                opened -= 1
            if scanner.take(THEN):
                break
            start = scanner.at
            if not scanner.take(AND):
                scanner.take(MARKS)
                if scanner.has(self.actions):
                    raise RuleError(f"THEN is missing before {scanner.rest()}.")
                scanner.at = start
                raise RuleError(f"expected AND or THEN, not {scanner.rest()}; for OR, write two rules.")
            if not scanner.has(self.names) and scanner.has(self.actions):
                raise RuleError(f"THEN is missing before {scanner.rest()}.")
        if opened:
            raise RuleError("a ( is not closed before THEN; tests need no parentheses.")

    def _action(self, scanner: Scanner) -> int:
        """Return the action that stands here."""
        action = scanner.name(self.actions)
        scanner.take(re.compile(r"[.;]"))
        if action is not None and scanner.following() in ("", "|"):
            return action
        if action is not None:
            found_text = scanner.rest()
            raise RuleError(f"expected the end of the rule after {self.actions[action]!r}, not {found_text}.")
        found_text = scanner.text[scanner.at :].split("|")[0].strip()[:60]
        if found_text:
            raise RuleError(f"unknown action {found_text!r}.{nearest(found_text, self.actions.names)}")
        valid_actions = listed(self.actions.names)
        raise RuleError(f"a rule must end with its action: THEN and one of {valid_actions}.")

    def test(self, scanner: Scanner, bounds: dict[int, list[float]]) -> None:
        """Narrow the bounds by one test: "x ≤ 3", "x in [2, 5]", "x = 2", "2 ≤ x ≤ 5", "x is food"."""
        d = self._feature(scanner)
        if d is None:
            self._turned_test(scanner, bounds)
            return
        interval = self._interval_reader(scanner, d, bounds)
        if self.features[d].labels and scanner.take(IS):
            interval.to_labels(self.names)
            return
        range_words = scanner.take(RANGE)
        if range_words is None:
            interval.narrow(interval.relation(), interval.number())
        else:
            interval.two_ends(range_words.endswith("["))

    def _interval_reader(self, scanner: Scanner, d: int, bounds: dict[int, list[float]]) -> IntervalReader:
        """Return what narrows the interval of feature number d, as far as it has been narrowed already."""
        feature = self.features[d]
        return IntervalReader(scanner, feature, bounds.setdefault(d, [feature.low, feature.high]))

    def _turned_test(self, scanner: Scanner, bounds: dict[int, list[float]]) -> None:
        """Narrow the bounds by a test that begins with a number."""
        start, example = scanner.at, self.names[0]
        if scanner.take(NUMBER) is None:
            word = scanner.take(WORD) or ""
            if word.upper() in ("AND", "THEN", ""):
                position = f" before {word}" if word else " at the end"
                raise RuleError(f"a condition such as '{example} <= 3' is missing{position}.")
            raise RuleError(f"unknown feature {word[:60]!r}.{nearest(word[:60], self.names.names)}")
        relation_at = RELATION.search(scanner.text, scanner.at)
        scanner.at = scanner.at if relation_at is None else relation_at.start()
        before_relation = Scanner(scanner.text)
        before_relation.at = start
        relation = scanner.take(RELATION)
        d = self._feature(scanner) if relation else None
        if relation is None or d is None:
            valid_names = listed(self.names.names)
            raise RuleError(
                f"expected a feature ({valid_names}), as in 2 <= {example} <= 5, not {scanner.rest()}."
            )
        interval = self._interval_reader(before_relation, d, bounds)
        interval.narrow(TURNED[SAME.get(relation, relation)], interval.number())
        before_relation.skip()
        if not before_relation.text.startswith(relation, before_relation.at):
            raise RuleError(f"expected {relation}, not {before_relation.rest()}.")
        second_relation = scanner.take(RELATION)
        if second_relation is not None:
            interval = self._interval_reader(scanner, d, bounds)
            interval.narrow(SAME.get(second_relation, second_relation), interval.number())


def _one_name(text: str) -> str:
    """Return the only name in a text, or raise."""
    names = names_in(text)
    if len(names) > 1:
        raise RuleError(f"expected one name, not {listed(names)}: quote a name with a comma.")
    return names[0]


def _read_extras(scanner: Scanner) -> dict[str, list[float]]:
    """Return the numbers after the action: "| name number number …", as often as there are."""
    extras: dict[str, list[float]] = {}
    while scanner.take(re.compile(r"\|")):
        name = scanner.take(WORD)
        if name is None or name.lower() in extras:
            raise RuleError(
                f"expected the name of numbers that were not given yet, not {name or scanner.rest()}."
            )
        numbers = []
        scanner.take(re.compile(r"[:=]"))
        while scanner.following() not in ("", "|"):
            numbers.append(scanner.number())
            scanner.take(COMMA)
        extras[name.lower()] = numbers
    return extras
