"""What a verification hands back: findings, each with a witness, and which properties hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ifthen.explain.verify.requirements import Requirement, Value
from ifthen.rules.features import Feature, number_in_words

Severity = Literal["problem", "note"]
Vector = dict[str, int | float]
"""A feature vector by the features' names."""
SHOWN = 3
"""How many of a list of things are named in a text before it says how many more there are."""


@dataclass(frozen=True)
class Finding:
    """One thing that was found, and what proves it.

    Args:
        kind: what it is about, such as "uncovered" or "dead-rule".
        severity: "problem" or "note".
        text: in words, for people; rules count from 1.
        rules: the rules it is about, from 0.
        witness: a feature vector at which it can be seen, where there is one.
        data: the same and more as plain data; rules count from 0.
    """

    kind: str
    severity: Severity
    text: str
    rules: tuple[int, ...] = ()
    witness: Vector | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "text": self.text,
            "rules": list(self.rules),
            "witness": self.witness,
            "data": dict(self.data),
        }


class Property(NamedTuple):
    """A property's value, None where it was not decided, and why, in words."""

    value: Value
    why: str


@dataclass
class Checked:
    """What a check has found: findings, and properties by name."""

    findings: list[Finding] = field(default_factory=list)
    properties: dict[str, Property] = field(default_factory=dict)

    def add(self, other: Checked) -> None:
        """Take over what another check has found."""
        self.findings += other.findings
        self.properties |= other.properties


@dataclass(frozen=True)
class Verification:
    """A machine-checked report about a ruleset.

    It counts as true where every requirement is met, so that `assert ruleset.verify(task, "complete,safe")`
    means what it says. Without requirements it is always true: then look at `properties`.

    Args:
        subject: what was looked at, such as "42 rules (strength)".
        domain: where every claim holds, such as "the 53 decision states of FrozenLake-8-0".
        findings: what was found.
        properties: every property that was looked at, by name; None where it could not be decided.
        reasons: why, in words, by the same names.
        requirements: what was required, whether it is met, and why.
    """

    subject: str
    domain: str
    findings: tuple[Finding, ...]
    properties: Mapping[str, Value]
    reasons: Mapping[str, str]
    requirements: tuple[Requirement, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every requirement is met."""
        return all(requirement.passed for requirement in self.requirements)

    def __bool__(self) -> bool:
        return self.passed

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data that JSON understands."""
        return {
            "subject": self.subject,
            "domain": self.domain,
            "properties": dict(self.properties),
            "reasons": dict(self.reasons),
            "requirements": [requirement._asdict() for requirement in self.requirements],
            "passed": self.passed,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        from ifthen.explain.verify.report import markdown

        return markdown(self)

    def to_text(self, width: int = 100) -> str:
        """Return the report for a terminal.

        Args:
            width: the most characters in a line; 40 where it is less.
        """
        from ifthen.explain.verify.report import plain_text

        return plain_text(self, width)

    def summary(self) -> str:
        """Return the requirements and whether each is met or, without any, what does not hold, in short."""
        from ifthen.explain.verify.report import summary

        return summary(self)

    def __str__(self) -> str:
        return self.to_text()


def vector_in_words(vector: Vector, features: Sequence[Feature]) -> str:
    """Return a feature vector as "x = 3, y = 2"."""
    units = {feature.name: f" {feature.unit}" if feature.unit else "" for feature in features}
    return ", ".join(f"{name} = {number_in_words(value)}{units[name]}" for name, value in vector.items())


def some_of(texts: Sequence[str], total: int | None = None, joint: str = "; ") -> str:
    """Return the first few texts joined, and how many more there are of `total`."""
    shown = list(texts[:SHOWN])
    more = (len(texts) if total is None else total) - len(shown)
    return joint.join([*shown, f"and {more:,} more"] if more > 0 else shown)


def plural(number: int, what: str) -> str:
    """Return "1 state" or "3 states"."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def part(number: int, total: int, what: str) -> str:
    """Return "3 of 53 states", "all 53 states", or "the only state"."""
    if number == total:
        return f"all {plural(total, what)}" if total > 1 else f"the only {what}"
    return f"{number:,} of {plural(total, what)}"


def every(total: int, what: str) -> str:
    """Return "every one of the 3 rules" or "the only rule"."""
    return f"every one of the {plural(total, what)}" if total > 1 else f"the only {what}"


def any_of(total: int, what: str) -> str:
    """Return "any of 3 states" or "the only state"."""
    return f"any of {plural(total, what)}" if total > 1 else f"the only {what}"


def share_in_words(share: float) -> str:
    """Return a share of a space in percent, never rounded to nothing or to all."""
    percent = 100 * share
    if 0 < percent < 0.01 or 99.99 < percent < 100:
        return f"{'less than 0.01' if percent < 1 else 'more than 99.99'} %"
    return f"{percent:.4g} %"


def number(value: float) -> str:
    """Return a measured number with four digits, never rounded to 0 or 1 if it is neither."""
    if math.isfinite(value) and value not in (0, 1) and f"{value:.4g}" in ("0", "1"):
        return f"{value:.17g}".rstrip("0")
    return f"{value:.4g}"
