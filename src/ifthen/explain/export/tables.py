"""Rules as tables: CSV for programs, Markdown for pages, LaTeX for papers; one row per rule, in order.

CSV holds what rules carry besides (weights, variances …) in full: every number reads back exactly. The tables
for people are those of `read_rules`, with its rounded measures.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ifthen.explain.domain import AnyTask
from ifthen.explain.export.parts import title
from ifthen.rules.features import number_in_words
from ifthen.rules.ruleset import RuleSet

if TYPE_CHECKING:
    from ifthen.explain.words.reading import Reading


def learnt_columns(ruleset: RuleSet) -> dict[str, list[float]]:
    """Return what rules carry besides as one column of numbers each; weights are numbered from 0 (of x0)."""
    columns: dict[str, list[float]] = {}
    for name, column in ruleset.extra_columns().items():
        if column.ndim == 1:
            columns[name] = column.tolist()
        else:
            columns |= {f"{name}_{i}": column[:, i].tolist() for i in range(column.shape[1])}
    return columns


def to_csv(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return a row per rule: its number, both bounds of each feature, its action, and what it carries."""
    learnt = learnt_columns(ruleset)
    bounds = [f"{feature.name}_{end}" for feature in ruleset.features for end in ("low", "high")]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["rule", *bounds, "action", *learnt])
    for r, action in enumerate(ruleset.actions.tolist()):
        ends: list[Any] = [number_in_words(end) for end in ruleset.bounds[r].ravel().tolist()]
        numbers = [number_in_words(column[r]) for column in learnt.values()]
        writer.writerow([r + 1, *ends, ruleset.action_names[action], *numbers])
    return out.getvalue()


def to_markdown(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return a sentence on how the rules choose, and a table of them."""
    return _in_order(ruleset, task).to_markdown()


def to_latex(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return a `tabular` for the packages booktabs and amsmath."""
    return f"% {title(ruleset, task)}\n{_in_order(ruleset, task).to_latex()}"


def _in_order(ruleset: RuleSet, task: AnyTask | None) -> Reading:
    """Return the reading with the rules in their own order, so that a row is found by its number."""
    from ifthen.explain.words import read_rules

    reading = read_rules(ruleset, task)
    return replace(reading, rules=tuple(sorted(reading.rules, key=lambda rule: rule.rule)))
