"""Going through a line of text from left to right: numbers, names and what else rules are written with."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

from ifthen.errors import RuleError, nearest
from ifthen.rules.features import Feature

NUMBER = re.compile(r"[+\-−]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\d|\.\d)")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
COMMENT = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|(?<!\S)#')
"""A quoted name, in which # is a letter like others, or the # that a comment begins with."""


def without_comment(line: str) -> str:
    """Return a line without the comment at its end: "# …" after a blank and outside of quotation marks."""
    for found in COMMENT.finditer(line):
        if found.group() == "#":
            return line[: found.start()].rstrip()
    return line


class Scanner:
    """Goes through a line from left to right.

    Args:
        text: the line.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def skip(self) -> None:
        """Go past blanks."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def take(self, pattern: re.Pattern[str]) -> str | None:
        """Return what stands here if it fits the pattern, and go past it."""
        self.skip()
        found = pattern.match(self.text, self.at)
        if found is None or not found.group():
            return None
        self.at = found.end()
        return found.group()

    def take_text(self, text: str) -> bool:
        """Go past a text, in any case, that ends where a word does; return whether it stood here."""
        self.skip()
        end = self.at + len(text)
        if not text or self.text[self.at : end].lower() != text.lower():
            return False
        joined = (
            text[-1].isalnum()
            and end < len(self.text)
            and (self.text[end].isalnum() or self.text[end] == "_")
        )
        self.at = self.at if joined else end
        return not joined

    def following(self) -> str:
        """Return the next character that is no blank, nothing at the end."""
        self.skip()
        return self.text[self.at : self.at + 1]

    def rest(self) -> str:
        """Return what is left, shortened for a message."""
        left = self.text[self.at :].strip()
        return repr(left[:40] + "…") if len(left) > 40 else repr(left) if left else "the end of the line"

    def number(self) -> float:
        """Return the number that must stand here."""
        text = self.take(NUMBER)
        if text is None:
            raise RuleError(f"expected a number, not {self.rest()}.")
        value = float(text.replace("−", "-"))
        if not math.isfinite(value):
            raise RuleError(f"{text[:40]} is too large a number.")
        return value

    def name(self, names: Sequence[str], what: str) -> int | None:
        """Return the number of the name that stands here, None where it is none of `names`."""
        start, text = self.at, self.take(QUOTED)
        if text is not None:
            return find_name(unquoted(text), names, what)
        # The name as written comes first, and a long one before a shorter one that it begins with.
        order = sorted(range(len(names)), key=lambda number: -len(names[number]))
        for number in order:
            if self.take_text(names[number]) and self.text[start : self.at].strip() == names[number]:
                return number
            self.at = start
        return next((number for number in order if self.take_text(names[number])), None)


def unquoted(text: str) -> str:
    """Return the name inside quotation marks."""
    try:
        name = json.loads(text)
    except ValueError:
        raise RuleError(f"{text[:40]} has an escape that cannot be read.") from None
    return str(name)


def find_name(name: str, names: Sequence[str], what: str) -> int:
    """Return a name's number, in any case where that is unambiguous, or raise with the nearest one."""
    if name in names:
        return list(names).index(name)
    folded = [number for number, known in enumerate(names) if known.lower() == name.lower()]
    if len(folded) == 1:
        return folded[0]
    raise RuleError(f"unknown {what} {name[:60]!r}.{nearest(name[:60], names)}")


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
    """Return the feature that a line of the head describes: "0 to 7" or "-0.4 to 0.4 real clipped, rad"."""
    label = names_in(name)
    scanner = Scanner(text)
    low = scanner.number()
    if not scanner.take(re.compile(r"(?:to\b|\.\.\.?|…|–)", re.IGNORECASE)):
        raise RuleError(
            f"expected 'to' and the largest value, as in 'feature x: 0 to 7', not {scanner.rest()}."
        )
    high = scanner.number()
    kind = (scanner.take(re.compile(r"(?:real|integer)\b", re.IGNORECASE)) or "integer").lower()
    clips = scanner.take(re.compile(r"clipped\b", re.IGNORECASE)) is not None
    unit = names_in(text[scanner.at :])[0] if scanner.take(re.compile(",")) else ""
    scanner.skip()
    if not unit and scanner.at < len(text):
        raise RuleError(f"expected 'real', 'clipped', or a comma and a unit, not {scanner.rest()}.")
    if kind == "integer":
        if low != int(low) or high != int(high):
            raise RuleError(f"{label[0]} has whole numbers unless 'real' is said, not {low} to {high}.")
        return Feature(label[0], int(low), int(high), "integer", unit, clips)
    return Feature(label[0], low, high, "real", unit, clips)
