"""Reading the terms that a user defines: "tilt error [rad] = 0.5*x + x velocity - angle"."""

from __future__ import annotations

from collections.abc import Sequence

from ifthen.errors import RuleError, shown
from ifthen.rules.feature import Feature
from ifthen.rules.term import formula, has_own_name
from ifthen.rules.text.rule import RuleReader


def terms_in(lines: Sequence[str], features: Sequence[Feature]) -> tuple[Feature, ...]:
    """Return the terms that a user defines, or raise.

    Args:
        lines: one definition each, as `RuleReader.define` takes them.
        features: the features that are observed.
    """
    reader = RuleReader(features, ())
    for line in lines:
        try:
            reader.define(line)
            _check_last_term(reader)
        except RuleError as problem:
            raise RuleError(f"the term {shown(line)}: {problem}") from None
    return tuple(reader.features[len(features) :])


def _check_last_term(reader: RuleReader) -> None:
    """Raise where the last term is one of those before by another name, or is called like another sum."""
    *others, last_term = reader.features
    for other in others:
        if last_term.of == other.of:
            raise RuleError(f"{other.name!r} is the same sum: leave out one of them.")
    if has_own_name(last_term) and reader.is_sum(last_term.name):
        raise RuleError(f"its name is a sum too, and it is {formula(last_term)}: give it another name.")
