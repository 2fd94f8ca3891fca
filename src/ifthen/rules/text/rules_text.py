"""Readable rules as text that reads back to an equal ruleset: a short head, then one rule per line."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np

from ifthen.rules.feature import Feature, number_in_words, whole_box
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.term import formula, has_own_name
from ifthen.rules.text.rule import SIGNS

PLAIN_NAME = re.compile(r"[^\W\d][\w'.]*(?:[ -][\w'.]+)*")
"""Names that need no quotation marks: words, with single spaces or hyphens between them."""
KEYWORDS = "if and then always otherwise else default in between from through to do real integer"
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
    lines += [_feature_line(feature) for feature in ruleset.observed_features]
    lines.append(f"actions: {', '.join(quoted(name) for name in ruleset.action_names)}")
    lines += [f"{name}: {number_in_words(value)}" for name, value in ruleset.settings().items()]
    lines.append("")
    lines += [_term_line(term, ruleset) for term in _terms_defined_first(ruleset)]
    lines += [f"{r + 1}. {_rule_line(ruleset, r)}" for r in range(len(ruleset))]
    return "\n".join(lines) + "\n"


def quoted(name: str) -> str:
    """Return a name as it stands in the text: in quotation marks where it could be misread."""
    words = {word.lower() for word in re.split(r"\W+", name)}
    is_plain = PLAIN_NAME.fullmatch(name) and words.isdisjoint(KEYWORDS.split())
    return name if is_plain else json.dumps(name, ensure_ascii=not name.isprintable())


def _feature_line(feature: Feature) -> str:
    ends = f"{number_in_words(feature.low)} to {number_in_words(feature.high)}"
    flags = (not feature.is_integer, " real"), (feature.clips, " clipped"), (feature.cyclic, " cyclic")
    kind = "".join(flag for is_set, flag in flags if is_set)
    labels = f" called {', '.join(map(_quoted_label, feature.labels))}" if feature.labels else ""
    return f"feature {quoted(feature.name)}: {ends}{kind}{labels}{_unit(feature)}"


def _quoted_label(label: str) -> str:
    """Return the name of a value as it stands in the text."""
    keywords = {"is", "not", "or"} & set(label.lower().split())
    return json.dumps(label) if keywords else quoted(label)


def _unit(feature: Feature) -> str:
    """Return a comma and the unit, where there is one."""
    is_plain = (
        feature.unit.isprintable()
        and feature.unit == feature.unit.strip()
        and not set(feature.unit) & set('",#')
    )
    return f", {feature.unit if is_plain else json.dumps(feature.unit)}" if feature.unit else ""


def _terms_defined_first(ruleset: RuleSet) -> list[Feature]:
    """Return the terms that stand before the rules.

    A term that is called by its formula is simply written out where rules speak of it, unless it would be
    lost there: it has a unit, or reading would find the terms in another order.
    """
    full_box = whole_box(ruleset.features)
    restricts = (ruleset.bounds != full_box).any(axis=2)
    tested = [ruleset.features[d] for d in dict.fromkeys(np.argwhere(restricts)[:, 1].tolist())]
    defined = [term for term in ruleset.terms if has_own_name(term) or term.unit]
    reading_order = defined + [feature for feature in tested if feature.is_term and feature not in defined]
    return defined if tuple(reading_order) == ruleset.terms else list(ruleset.terms)


def _term_line(term: Feature, ruleset: RuleSet) -> str:
    definition = f"{quoted(term.name)} = " if has_own_name(term) else ""
    return f"LET {definition}{_sum(term, ruleset)}{_unit(term)}"


def _sum(term: Feature, ruleset: RuleSet) -> str:
    """Return what a term adds up; names with signs in them would make any unquoted name ambiguous."""
    has_signs = any(set(feature.name) & SIGNS for feature in ruleset.observed_features)
    return formula(term, "*", "-", json.dumps if has_signs else quoted)


def _rule_line(ruleset: RuleSet, rule: int) -> str:
    """Return one rule without its number. Units are left to the head, where they cannot be misread."""
    conditions = []
    for feature, (low, high) in zip(ruleset.features, ruleset.bounds[rule].tolist(), strict=True):
        labels = tuple(map(_quoted_label, feature.labels))
        condition = replace(feature, name="_", unit="", labels=labels).interval_in_words(low, high)
        if condition:
            written_out = feature.is_term and not has_own_name(feature)
            name = _sum(feature, ruleset) if written_out else quoted(feature.name)
            conditions.append(name + condition.removeprefix("_"))
    action = quoted(ruleset.action_names[ruleset.actions[rule]])
    head = f"IF {' AND '.join(conditions)} THEN" if conditions else ruleset.head_in_words(rule)
    words = f"{head} {action}"
    for name, column in ruleset.extra_columns().items():
        words += f" | {name} {' '.join(number_in_words(n) for n in column[rule].ravel().tolist())}"
    return words
