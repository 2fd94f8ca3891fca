"""The tables of the explain page: numbers of policies, a ladder, and a verification in a reviewer's order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ifthen.errors import ParameterError
from ifthen.verification.findings import Finding
from ifthen.verification.report import LEGEND, Verification

URGENT = ("uncovered", "goal-unreachable", "loop", "bad-ending", "costly-step", "goal-probability")
"""Kinds of findings that come first; the others follow in the order in which they were found."""
FOLDED = {"dead-rule": "rules never decide"}
"""Kinds with many similar findings: two or more of them are folded below one line."""


def number(value: float) -> float | None:
    """Return a number with six digits, None for NaN."""
    return None if math.isnan(value) else float(f"{value:.6g}") + 0.0


def numbers(values: Iterable[float]) -> list[float | None]:
    """Return numbers with six digits, None for NaN."""
    return [number(value) for value in values]


class Column(NamedTuple):
    """One number of every policy.

    Args:
        name: the heading.
        spec: how a number is written, such as ".4f".
        values: one for each policy.
        optimum: that of an optimal policy; None where it is not known or means nothing.
        compared: whether the difference of two policies is shown.
    """

    name: str
    spec: str
    values: list[Any]
    optimum: float | None = None
    compared: bool = True

    def text(self, value: float | None, sign: str = "") -> str:
        """Return a number as it is shown, with − for minus; a dash for none."""
        if value is None or value != value:
            return "–"
        return format(value, sign + self.spec).replace("-", "−")

    @property
    def difference(self) -> str:
        """The second policy less the first."""
        if not self.compared:
            return ""
        gained = self.values[1] - self.values[0]
        if self.spec.endswith("%"):
            return f"{100 * gained:+.1f} points".replace("-", "−")
        return self.text(gained, "+") if gained else "0"


class FactRow(NamedTuple):
    """One row: the name of a policy, a warning beside it, and its numbers."""

    name: str
    warning: str
    texts: list[str]


def fact_rows(columns: list[Column], names: list[str], warnings: list[str]) -> list[FactRow]:
    """Return a row for each policy, one for their difference, and one for the optimum where it is known."""
    rows = [
        FactRow(name, warning, [column.text(column.values[i]) for column in columns])
        for i, (name, warning) in enumerate(zip(names, warnings, strict=True))
    ]
    if len(names) == 2:
        rows.append(FactRow("difference", "", [column.difference for column in columns]))
    if any(column.optimum is not None for column in columns):
        best = ["" if column.optimum is None else column.text(column.optimum) for column in columns]
        rows.append(FactRow("optimum", "", best))
    return rows


def ladder_rows(ladder: Any) -> list[dict[str, Any]]:
    """Return rungs as rows with `rules`, `performance`, `fraction` and a bar, the fewest rules first.

    Args:
        ladder: a Ladder, or rows with `rules`, `performance` and `fraction`; None for none.
    """
    rows: list[dict[str, Any]] = []
    for rung in getattr(ladder, "rungs", ladder or ()):
        row = rung if isinstance(rung, Mapping) else {**vars(rung), "rules": len(rung.ruleset)}
        if not {"rules", "performance", "fraction"} <= set(row):
            raise ParameterError(
                f"a row of a ladder needs rules, performance and fraction, not {', '.join(map(str, row))}."
            )
        fraction = None if row["fraction"] is None else number(row["fraction"])
        rows.append(
            {"rules": int(row["rules"]), "performance": float(row["performance"]), "fraction": fraction}
        )
    ends = [0.0, *(row["performance"] for row in rows)]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0
    for row in rows:  # from 0 to the performance, in per cent of the width
        first, last = sorted((0.0, row["performance"]))
        row["from"], row["wide"] = round(100 * (first - low) / span, 1), round(100 * (last - first) / span, 1)
    return sorted(rows, key=lambda row: row["rules"])


class PropertyRow(NamedTuple):
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


def verified(verification: Verification | None) -> dict[str, Any]:
    """Return what the template shows of a verification: every property with its mark, and the findings."""
    if verification is None:
        return {"verification": None}
    looks, rows = {"✓": "passed", "✗": "failed"}, []
    for name in verification.properties:
        mark = verification.sign(name)
        rows.append(PropertyRow(mark, looks.get(mark, "soft"), name, verification.reasons[name]))
    groups = finding_groups(verification)
    return {"verification": verification, "properties": rows, "groups": groups, "marks": LEGEND}


def finding_groups(report: Verification) -> list[Group]:
    """Return the findings, problems first, and of these the most urgent; many alike stand in one group."""
    groups: dict[Any, list[tuple[int, Finding]]] = {}
    for number_, finding in sorted(enumerate(report.findings), key=lambda pair: _rank(pair[1])):
        key = (finding.kind, finding.severity) if finding.kind in FOLDED else number_
        groups.setdefault(key, []).append((number_, finding))
    return [_group(alike) for alike in groups.values()]


def _group(alike: list[tuple[int, Finding]]) -> Group:
    finding = alike[0][1]
    title = f"{len(alike)} {FOLDED[finding.kind]}" if len(alike) > 1 else ""
    return Group(title, finding.severity, tuple(alike))


def _rank(finding: Finding) -> tuple[bool, int]:
    urgent = finding.kind in URGENT
    return finding.severity != "problem", URGENT.index(finding.kind) if urgent else len(URGENT)
