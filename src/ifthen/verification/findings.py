"""Findings, each with a witness, and the result of checking a property.

The functions at the end say numbers, parts and vectors in words, for the findings' texts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ifthen.digits import plural, values_in_words
from ifthen.rules.feature import Feature

Severity = Literal["problem", "note"]
Value = bool | int | float | None
"""A property's value; None where it could not be decided."""
Vector = dict[str, int | float]
"""A feature vector by the features' names."""


@dataclass(frozen=True)
class Finding:
    """One finding, and its proof.

    Args:
        kind: its subject, such as "uncovered" or "dead-rule".
        severity: "problem" or "note".
        text: the finding in words; rules count from 1.
        rules: the rules it is about, from 0.
        witness: a feature vector at which it can be seen, where there is one.
        data: the same and more as plain data; rules count from 0.
        about: the properties that it bears on; it is printed with the first.
    """

    kind: str
    severity: Severity
    text: str
    rules: tuple[int, ...] = ()
    witness: Vector | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    about: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        plain = {**vars(self), "rules": list(self.rules), "data": dict(self.data)}
        del plain["about"]
        return plain


def severity(is_problem: bool) -> Severity:
    """Return "problem" or "note"."""
    return "problem" if is_problem else "note"


class Result(NamedTuple):
    """The result of checking one property: its value, the reason in words, and findings."""

    value: Value
    why: str
    findings: tuple[Finding, ...] = ()
    interval: tuple[float, float] | None = None
    """Where the value is a mean of episodes, its 95 % confidence interval."""


class Requirement(NamedTuple):
    """One requirement, whether it is met, and the reason."""

    text: str
    passed: bool
    why: str
    how: str = ""
    """For requirements in words: "proved", "by the model", or "by play at 95 % confidence"; "" if unknown."""


class Decided(NamedTuple):
    """A requirement in words that was decided, and what was found if it is not met."""

    requirement: Requirement
    findings: tuple[Finding, ...] = ()


def decided(text: str, met: bool | None, why: str, how: str) -> Decided:
    """Return a requirement that was decided; one that could not be (None) is not met."""
    return Decided(Requirement(text, met is True, why, how))


def not_met(
    text: str, why: str, how: str, witness: Vector, data: Mapping[str, Any], rules: tuple[int, ...] = ()
) -> Decided:
    """Return a requirement that is not met, with a point at which that can be seen; see `Finding`."""
    message, all_data = f"{text}: {why}.", {"requirement": text, **data}
    finding = Finding("requirement", "problem", message, rules, witness, all_data, ("requirement",))
    return Decided(Requirement(text, False, why, how), (finding,))


SHOWN = 3
"""How many items of a list are named in a text before it says how many more there are."""


def vector_in_words(
    vector: dict[str, int | float], features: Sequence[Feature], tested: Collection[str] = ()
) -> str:
    """Return a feature vector as "x = 3, y = 2"; of many features, those that rules test."""
    named = {feature.name: feature for feature in features}
    return values_in_words({n: named[n].value_in_words(value) for n, value in vector.items()}, tested)


def some_of(texts: Sequence[str], total: int | None = None, joint: str = "; ") -> str:
    """Return the first few texts joined, and how many more there are of `total`."""
    shown = list(texts[:SHOWN])
    more = (len(texts) if total is None else total) - len(shown)
    return joint.join([*shown, f"and {more:,} more"] if more > 0 else shown)


def part(number: int, total: int, noun: str) -> str:
    """Return "3 of 53 states", "all 53 states", or "the only state"."""
    return all_of(total, noun) if number == total else f"{number:,} of {plural(total, noun)}"


def all_of(total: int, noun: str, words: str = "all") -> str:
    """Return "all 3 rules", with other words "any of 3 rules", or "the only rule"."""
    return f"{words} {plural(total, noun)}" if total > 1 else f"the only {noun}"


def share_in_words(share: float) -> str:
    """Return a share in percent, never rounded to 0 or 100 % if it is neither."""
    percent = 100 * share
    if 0 < percent < 0.01 or 99.99 < percent < 100:
        return f"{'less than 0.01' if percent < 1 else 'more than 99.99'} %"
    return f"{percent:.4g} %"


def number(value: float) -> str:
    """Return a measured number with four digits, never rounded to 0 or 1 if it is neither."""
    if math.isfinite(value) and value not in (0, 1) and f"{value:.4g}" in ("0", "1"):
        return f"{value:.17g}".rstrip("0")
    return f"{value:.4g}"


def sentence(text: str) -> str:
    """Return a text with a capital first letter."""
    return f"{text[0].upper()}{text[1:]}"
