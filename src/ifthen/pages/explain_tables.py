"""The tables of the explain page: numbers of policies, and a verification in a reviewer's order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from ifthen.digits import in_units
from ifthen.explanation.trace import Ending
from ifthen.verification.findings import Finding
from ifthen.verification.verification import LEGEND, Verification

URGENT = ("uncovered", "goal-unreachable", "loop", "bad-ending", "costly-step", "goal-probability")
"""Kinds of findings that come first; the others follow in the order in which they were found."""
FOLDED = {"dead-rule": "rules never decide"}
"""Kinds with many similar findings: two or more of them are folded below one line."""
ENDINGS: dict[Ending, str] = {
    "goal": "It has reached the goal.",
    "hole": "It has fallen into a hole.",
    "ended": "The episode is over.",
    "terminated": "The environment has ended the episode.",
    "truncated": "The episode is cut here: it has reached the largest number of steps.",
    "no rule": "No rule matches: nothing can be done.",
}


def number(value: float) -> float | None:
    """Return a number with six digits, None for NaN."""
    return None if math.isnan(value) else float(f"{value:.6g}") + 0.0


def limit_in_words(t_max: int, longest: int | None) -> str:
    """Return how long episodes may be, and how long the longest was where none was as long as that."""
    longest_seen = "" if longest is None or longest >= t_max else f" (the longest was {longest:,})"
    return f"at most {t_max:,} steps{longest_seen}"


def numbers(values: Iterable[float]) -> list[float | None]:
    """Return numbers with six digits, None for NaN."""
    return [number(value) for value in values]


class Column(NamedTuple):
    """One number of every policy.

    Args:
        name: the heading.
        spec: how a number is written, such as ".4f"; "" in the units of returns.
        values: one for each policy.
        optimum: that of an optimal policy; None where it is not known or means nothing.
        compared: whether the difference of two policies is shown.
    """

    name: str
    spec: str
    values: list[Any]
    optimum: float | None = None
    compared: bool = True

    def text(self, value: float | str | None, sign: str = "") -> str:
        """Return a number or a text as it is shown, with − for minus; a dash for none."""
        if value is None or value != value or isinstance(value, str):
            return value if isinstance(value, str) and value else "–"
        plus = "+" if sign and value > 0 else ""
        formatted = format(value, sign + self.spec) if self.spec else plus + in_units(value)
        return formatted.replace("-", "−")

    @property
    def difference(self) -> str:
        """The second policy less the first."""
        if not self.compared:
            return ""
        gained = self.values[1] - self.values[0]
        if self.spec.endswith("%"):
            return f"{100 * gained:+.1f} points".replace("-", "−")
        return self.text(gained, "+") if gained else "0"


def fact_rows(
    columns: list[Column], names: list[str], warnings: list[str]
) -> list[tuple[str, str, list[str]]]:
    """Return a row for each policy, one for their difference, and one for the optimum where it is known.

    A row is a name, a warning beside it, and numbers.
    """
    rows = [
        (name, warning, [column.text(column.values[i]) for column in columns])
        for i, (name, warning) in enumerate(zip(names, warnings, strict=True))
    ]
    if len(names) == 2:
        rows.append(("difference", "", [column.difference for column in columns]))
    if any(column.optimum is not None for column in columns):
        best = ["" if column.optimum is None else column.text(column.optimum) for column in columns]
        rows.append(("optimum", "", best))
    return rows


def verified(verification: Verification | None) -> dict[str, Any]:
    """Return what the template shows of a verification: every property with its mark, and the findings."""
    if verification is None:
        return {"verification": None}
    styles, rows = {"✓": "passed", "✗": "failed"}, []
    for name, why in verification.reasons.items():
        mark = verification.sign(name)
        rows.append((mark, styles.get(mark, "soft"), name, why))
    groups = finding_groups(verification)
    return {"verification": verification, "properties": rows, "groups": groups, "marks": LEGEND}


def finding_groups(report: Verification) -> list[tuple[str, list[tuple[int, Finding]]]]:
    """Return the findings with their numbers, problems first, and of these the most urgent.

    Many alike are in one group, which then has a title.
    """

    def rank(numbered: tuple[int, Finding]) -> tuple[bool, int]:
        _, finding = numbered
        return finding.severity != "problem", (*URGENT, finding.kind).index(finding.kind)

    groups: dict[Any, list[tuple[int, Finding]]] = {}
    for number_, finding in sorted(enumerate(report.findings), key=rank):
        key = (finding.kind, finding.severity) if finding.kind in FOLDED else number_
        groups.setdefault(key, []).append((number_, finding))
    titled = []
    for alike in groups.values():
        _, finding = alike[0]
        titled.append((f"{len(alike)} {FOLDED[finding.kind]}" if len(alike) > 1 else "", alike))
    return titled
