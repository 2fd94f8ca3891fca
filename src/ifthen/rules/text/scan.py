"""Going through a line of text from left to right: numbers, names and what else rules are written with."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Sequence

from ifthen.errors import RuleError, nearest
from ifthen.rules.feature import Feature

BLANKS = re.compile(r"\s+")
NUMBER = re.compile(r"[+\-−]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\d|\.\d)")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
NAME_LIMIT = 200
COMMENT = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|(?<!\S)#')
"""A quoted name, in which # is a letter like others, or the # that a comment begins with."""


def without_comment(line: str) -> str:
    """Return a line without the comment at its end: "# …" after a blank and outside of quotation marks."""
    for match in COMMENT.finditer(line):
        if match.group() == "#":
            return line[: match.start()].rstrip()
    return line


class Scanner:
    """Goes through a line from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def skip(self) -> int:
        """Go past blanks, and return the place."""
        blanks = BLANKS.match(self.text, self.at)
        self.at = blanks.end() if blanks else self.at
        return self.at

    def take(self, pattern: re.Pattern[str]) -> str | None:
        """Return what stands here if it fits the pattern, and go past it."""
        self.skip()
        match = pattern.match(self.text, self.at)
        if match is None or not match.group():
            return None
        self.at = match.end()
        return match.group()

    def take_text(self, text: str) -> bool:
        """Go past a text, in any case, that ends where a word does; return whether it stood here."""
        self.skip()
        end = self.at + len(text)
        if not text or self.text[self.at : end].lower() != text.lower():
            return False
        ends = _ends_word(self.text, end)
        self.at = end if ends else self.at
        return ends

    def following(self) -> str:
        """Return the next character that is no blank, nothing at the end."""
        self.skip()
        return self.text[self.at : self.at + 1]

    def rest(self) -> str:
        """Return what is left, shortened for a message."""
        remaining = self.text[self.at :].strip()
        return (
            repr(remaining[:40] + "…")
            if len(remaining) > 40
            else repr(remaining)
            if remaining
            else "the end of the line"
        )

    def number(self) -> float:
        """Return the number that must stand here."""
        text = self.take(NUMBER)
        if text is None:
            raise RuleError(f"expected a number, not {self.rest()}.")
        value = float(text.replace("−", "-"))
        if not math.isfinite(value):
            raise RuleError(f"{text[:40]} is too large a number.")
        return value

    def name(self, names: Names) -> int | None:
        """Return the number of the name that stands here, None where it is none of `names`."""
        text = self.take(QUOTED)
        if text is not None:
            return names.find(unquoted(text))
        self.skip()
        name_and_end = names.at(self.text, self.at)
        if name_and_end is None:
            return None
        self.at = name_and_end[1]
        return name_and_end[0]

    def has(self, names: Names) -> bool:
        """Return whether one of `names` stands here, without going past it."""
        start = self.at
        try:
            return self.name(names) is not None
        except RuleError:
            return False
        finally:
            self.at = start


class Names:
    """Names to look for in a text, in a time that does not grow with their number.

    Args:
        names: the names.
        what: what they are names of, for messages.
    """

    def __init__(self, names: Sequence[str], label: str) -> None:
        self.names, self.label = tuple(names), label
        for name in self.names:
            if len(name) > NAME_LIMIT:
                raise RuleError(
                    f"the {label} {name[:40]!r}… has {len(name):,} characters; rules as text take names of "
                    f"at most {NAME_LIMIT}."
                )
        self._by_lower_case: dict[str, list[int]] = {}
        for number, name in enumerate(self.names):
            self._by_lower_case.setdefault(name.lower(), []).append(number)
        self._sorted = sorted(self._by_lower_case)
        self._longest = max(map(len, self._sorted), default=0)
        self._prefix_of: list[int] = []
        """For each of the sorted names, the place of the longest other that it begins with; -1 for none."""
        for position, name in enumerate(self._sorted):
            prefix = position - 1
            while prefix >= 0 and not name.startswith(self._sorted[prefix]):
                prefix = self._prefix_of[prefix]
            self._prefix_of.append(prefix)

    def __getitem__(self, number: int) -> str:
        return self.names[number]

    def at(self, text: str, start: int) -> tuple[int, int] | None:
        """Return the number of the name at a place of a text and where it ends; None where there is none.

        The name as written comes first, then a name in another case; a long name before a shorter one that it
        begins with.
        """
        any_case = None
        position = bisect_right(self._sorted, text[start : start + self._longest].lower()) - 1
        while position >= 0:  # what the text begins with, the name before it in the alphabet begins with, too
            lower = self._sorted[position]
            for number in self._by_lower_case[lower]:
                name, end = self.names[number], start + len(self.names[number])
                written = text[start:end]
                if written.lower() != lower or not _ends_word(text, end):
                    continue
                if written == name:
                    return number, end
                any_case = any_case or (number, end)
            position = self._prefix_of[position]
        return any_case

    def find(self, name: str) -> int:
        """Return a name's number, in any case where that is unambiguous, or raise with the nearest one."""
        numbers = self._numbers_of(name)
        if numbers and (len(numbers) == 1 or self.names[numbers[0]] == name):
            return numbers[0]
        raise RuleError(f"unknown {self.label} {name[:60]!r}.{nearest(name[:60], self.names)}")

    def _numbers_of(self, name: str) -> list[int]:
        """Return the numbers of the names that are the same in any case; first those as written."""
        numbers = self._by_lower_case.get(name.lower(), [])
        return numbers if len(numbers) < 2 else sorted(numbers, key=lambda number: self.names[number] != name)


def _ends_word(text: str, end: int) -> bool:
    """Return whether no word of a text goes on across a place."""
    goes_on = end < len(text) and (text[end].isalnum() or text[end] == "_")
    return not (goes_on and text[end - 1].isalnum())


def unquoted(text: str) -> str:
    """Return the name inside quotation marks."""
    try:
        name = json.loads(text)
    except ValueError:
        raise RuleError(f"{text[:40]} has an escape that cannot be read.") from None
    return str(name)


def names_in(text: str) -> list[str]:
    """Return names with commas between them, in quotation marks or not."""
    names, scanner = [], Scanner(text)
    while True:
        quoted = scanner.take(QUOTED)
        name = unquoted(quoted) if quoted is not None else (scanner.take(re.compile(r"[^,]+")) or "").strip()
        if not name and quoted is None:
            raise RuleError(f"expected a name, not {scanner.rest()}.")
        names.append(name)
        if scanner.take(re.compile(",")) is None:
            break
    scanner.skip()
    if scanner.at < len(text):
        raise RuleError(f"expected a comma between names, not {scanner.rest()}.")
    return names


def feature_in(name: str, text: str) -> Feature:
    """Return the feature that a line of the head describes.

    Such as "0 to 7 cyclic", "-0.4 to 0.4 real clipped, rad", or "0 to 2 called empty, a wall, food".
    """
    names = names_in(name)
    scanner = Scanner(text)
    low = scanner.number()
    if not scanner.take(re.compile(r"(?:to\b|\.\.\.?|…|–)", re.IGNORECASE)):
        raise RuleError(
            f"expected 'to' and the largest value, as in 'feature x: 0 to 7', not {scanner.rest()}."
        )
    high = scanner.number()
    kind = (scanner.take(re.compile(r"(?:real|integer)\b", re.IGNORECASE)) or "integer").lower()
    clips = scanner.take(re.compile(r"clipped\b", re.IGNORECASE)) is not None
    cyclic = scanner.take(re.compile(r"cyclic\b", re.IGNORECASE)) is not None
    if scanner.take(re.compile(r"called\b", re.IGNORECASE)):
        labels = tuple(names_in(text[scanner.at :].strip()))
        return Feature(names[0], _whole_number(names[0], low), _whole_number(names[0], high), labels=labels)
    unit = names_in(text[scanner.at :])[0] if scanner.take(re.compile(",")) else ""
    scanner.skip()
    if not unit and scanner.at < len(text):
        raise RuleError(f"expected 'real', 'clipped', 'cyclic', or a comma and a unit, not {scanner.rest()}.")
    if kind == "integer":
        ends = _whole_number(names[0], low), _whole_number(names[0], high)
        return Feature(names[0], *ends, "integer", unit, clips, cyclic=cyclic)
    return Feature(names[0], low, high, "real", unit, clips, cyclic=cyclic)


def _whole_number(name: str, end: float) -> int:
    """Return an end of an integer feature's range, or raise."""
    if end != int(end):
        raise RuleError(f"{name} has whole numbers unless 'real' is said, not {end}.")
    return int(end)
