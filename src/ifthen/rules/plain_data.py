"""Rules as plain data, as files hold them: names are looked up, and unknown ones refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ifthen.errors import RuleError, nearest
from ifthen.rules.features import Feature


class ParsedRule:
    """One rule of the plain data, its names looked up."""

    def __init__(self, bounds: list[list[Any]], action: int, extras: Mapping[str, Any]) -> None:
        self.bounds, self.action, self.extras = bounds, action, extras

    @classmethod
    def parse(
        cls,
        number: int,
        rule: Mapping[str, Any],
        features: tuple[Feature, ...],
        actions: tuple[str, ...],
        columns: tuple[str, ...],
    ) -> ParsedRule:
        """Look up the names in a rule of the plain data, or raise naming the rule and what is unknown."""
        condition, label = rule["if"], f"rule {number + 1}"
        refuse_unknown(label, rule, ("if", "then", *columns))
        if not isinstance(condition, Mapping):
            raise RuleError(f"{label}: 'if' must map feature names to intervals, not be {condition!r}.")
        refuse_unknown(f"the condition of {label}", condition, [feature.name for feature in features])
        if rule["then"] not in actions:
            raise RuleError(
                f"{label}: unknown action {rule['then']!r}." + nearest(str(rule["then"]), actions)
            )
        bounds = [condition.get(f.name, [f.low, f.high]) for f in features]
        return cls(bounds, actions.index(rule["then"]), rule)


def refuse_unknown(what: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise if plain data holds a name that is not known."""
    for name in given:
        if name not in known:
            raise RuleError(f"{what} has an unknown name {name!r}.{nearest(str(name), known)}")
