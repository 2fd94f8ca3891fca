"""Collecting what is wrong with a text, so that people need not run into one mistake after the other."""

from __future__ import annotations

from ifthen.errors import RuleError

MOST_MISTAKES = 5


class Mistakes:
    """The mistakes found so far, each with its line, to be raised together."""

    def __init__(self) -> None:
        self._found: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._found)

    def note(self, line: int, problem: RuleError) -> None:
        """Keep a mistake on a line, numbered from 1."""
        self._found.append((line, str(problem)))

    def raise_any(self, at_least: int = 1) -> None:
        """Raise what was found, in the order of the lines, where it is `at_least` so many mistakes."""
        lines = [f"line {number}: {problem}" for number, problem in sorted(self._found)]
        if len(lines) < at_least:
            return
        stopped = ", and reading stopped there" if len(lines) >= MOST_MISTAKES else ""
        told = [f"{len(lines)} mistakes{stopped}:", *(f"  {line}" for line in lines)]
        raise RuleError("\n".join(told) if len(lines) > 1 else lines[0])

    def raise_many(self) -> None:
        """Raise what was found where it is enough to be told at once."""
        self.raise_any(MOST_MISTAKES)
