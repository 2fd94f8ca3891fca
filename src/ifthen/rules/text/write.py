"""Readable rules as text that reads back to an equal ruleset: a short head, then one rule per line."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from ifthen.rules.feature import Feature, number_in_words
from ifthen.rules.ruleset import RuleSet

PLAIN_NAME = re.compile(r"[^\W\d][\w'.]*(?:[ -][\w'.]+)*")
"""Names that need no quotation marks: words, with single spaces or hyphens between them."""
KEYWORDS = "if and then always otherwise else default in between from to do real integer"
"""Words that a rule is written with: a name with one of them stands in quotation marks."""


def rules_text(ruleset: RuleSet, task_name: str | None = None) -> str:
    """Return the ruleset as text that `ifthen.parse_rules` reads back exactly.

    Args:
        ruleset: any kind of ruleset.
        task_name: the task it is meant for, which is put in the head.
    """
    lines = ["# ifthen rules", f"kind: {ruleset.kind}"]
    if task_name is not None:
        lines.append(f"task: {quoted(task_name)}")
    lines += [_feature_line(feature) for feature in ruleset.features]
    lines.append(f"actions: {', '.join(quoted(name) for name in ruleset.action_names)}")
    lines += [f"{name}: {number_in_words(value)}" for name, value in ruleset.settings().items()]
    lines.append("")
    lines += [f"{r + 1}. {_rule_line(ruleset, r)}" for r in range(len(ruleset))]
    return "\n".join(lines) + "\n"


def quoted(name: str) -> str:
    """Return a name as it stands in the text: in quotation marks where it could be misread."""
    words = {word.lower() for word in re.split(r"\W+", name)}
    plain = PLAIN_NAME.fullmatch(name) and words.isdisjoint(KEYWORDS.split())
    return name if plain else json.dumps(name, ensure_ascii=not name.isprintable())


def _feature_line(feature: Feature) -> str:
    ends = f"{number_in_words(feature.low)} to {number_in_words(feature.high)}"
    kind = ("" if feature.is_integer else " real") + (" clipped" if feature.clips else "")
    plain = (
        feature.unit.isprintable()
        and feature.unit == feature.unit.strip()
        and not set(feature.unit) & set('",#')
    )
    unit = f", {feature.unit if plain else json.dumps(feature.unit)}" if feature.unit else ""
    return f"feature {quoted(feature.name)}: {ends}{kind}{unit}"


def _rule_line(ruleset: RuleSet, rule: int) -> str:
    """Return one rule without its number. Units are left to the head, where they cannot be misread."""
    conditions = []
    for feature, (low, high) in zip(ruleset.features, ruleset.bounds[rule].tolist(), strict=True):
        plain = replace(feature, name="_", unit="").interval_in_words(low, high)
        if plain:
            conditions.append(quoted(feature.name) + plain.removeprefix("_"))
    action = quoted(ruleset.action_names[ruleset.actions[rule]])
    head = f"IF {' AND '.join(conditions)} THEN" if conditions else ruleset.head_in_words(rule)
    words = f"{head} {action}"
    for name, column in ruleset.extra_columns().items():
        words += f" | {name} {' '.join(number_in_words(n) for n in column[rule].ravel().tolist())}"
    return words
