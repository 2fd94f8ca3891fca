"""What was verified, in a reviewer's order: what holds, what is wrong, what is worth a note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ifthen.explain.verify.findings import Finding, Verification
from ifthen.explain.verify.report import sign
from ifthen.explain.verify.requirements import HOLDS, MEASURES

URGENT = ("uncovered", "goal-unreachable", "loop", "bad-ending", "costly-step", "goal-probability")
"""Kinds of findings that are told first; the others follow in the order in which they were found."""
FOLDED = {"dead-rule": "rules never decide"}
"""Kinds of which there can be many alike: if there are several, they stand folded below one line."""


class Row(NamedTuple):
    """A property: its mark ("" for a number), how it looks, its name, and why in words."""

    mark: str
    look: str
    name: str
    why: str


class Group(NamedTuple):
    """Findings that stand together; `title` is "" where there is one. Each has its number in the report."""

    title: str
    severity: str
    findings: tuple[tuple[int, Finding], ...]


def property_rows(report: Verification) -> list[Row]:
    """Return every property that was looked at, with the marks of the report for terminals."""
    looks = {"✓": "passed", "✗": "failed"}
    known = [name for name in (*HOLDS, *MEASURES) if name in report.properties]
    marks = {name: sign(report, name) if name in HOLDS else "" for name in known}
    return [Row(marks[name], looks.get(marks[name], "soft"), name, report.reasons[name]) for name in known]


def finding_groups(report: Verification) -> list[Group]:
    """Return the findings, problems first, and of these the most urgent; many alike stand in one group."""
    numbered = sorted(enumerate(report.findings), key=lambda pair: _rank(pair[1]))
    return list(_grouped(numbered))


def _rank(finding: Finding) -> tuple[bool, int]:
    urgent = finding.kind in URGENT
    return finding.severity != "problem", URGENT.index(finding.kind) if urgent else len(URGENT)


def _grouped(numbered: list[tuple[int, Finding]]) -> Iterator[Group]:
    told: set[tuple[str, str]] = set()
    for number, finding in numbered:
        key = finding.kind, finding.severity
        alike = tuple(pair for pair in numbered if (pair[1].kind, pair[1].severity) == key)
        if finding.kind not in FOLDED or len(alike) == 1:
            yield Group("", finding.severity, ((number, finding),))
        elif key not in told:
            told.add(key)
            yield Group(f"{len(alike)} {FOLDED[finding.kind]}", finding.severity, alike)
