"""Rules as tables: CSV for programs, Markdown for pages, LaTeX for papers; one row per rule, in order.

What rules carry besides (weights, variances …) is written in full: every number reads back exactly.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from ifthen.explain.export.parts import title
from ifthen.explain.words.typeset import (
    latex_condition,
    latex_number,
    latex_table,
    latex_text,
    markdown_table,
)
from ifthen.rules.features import number_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular import TabularTask


def learnt_columns(ruleset: RuleSet) -> dict[str, list[float]]:
    """Return what rules carry besides as one column of numbers each; weights are numbered from 0 (of x0)."""
    columns: dict[str, list[float]] = {}
    for name, column in ruleset.extra_columns().items():
        if column.ndim == 1:
            columns[name] = column.tolist()
        else:
            columns |= {f"{name}_{i}": column[:, i].tolist() for i in range(column.shape[1])}
    return columns


def to_csv(ruleset: RuleSet, task: TabularTask | None = None) -> str:
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


def to_markdown(ruleset: RuleSet, task: TabularTask | None = None) -> str:
    """Return a table with every rule's condition and action."""
    learnt = learnt_columns(ruleset)
    rows = [
        [
            str(r + 1),
            ruleset.condition_in_words(r) or "always",
            ruleset.action_names[action],
            *(number_in_words(column[r]) for column in learnt.values()),
        ]
        for r, action in enumerate(ruleset.actions.tolist())
    ]
    return markdown_table(["#", "if", "then", *learnt], rows, "rll" + "r" * len(learnt)) + "\n"


def to_latex(ruleset: RuleSet, task: TabularTask | None = None) -> str:
    """Return a `tabular` for the packages booktabs and amsmath."""
    learnt = learnt_columns(ruleset)
    rows = [
        [
            str(r + 1),
            latex_condition(ruleset, r) or "always",
            latex_text(ruleset.action_names[action]),
            *(f"${latex_number(column[r])}$" for column in learnt.values()),
        ]
        for r, action in enumerate(ruleset.actions.tolist())
    ]
    head = ["\\#", "if", "then", *map(latex_text, learnt)]
    return f"% {title(ruleset, task)}\n{latex_table(head, rows, 'rll' + 'r' * len(learnt))}\n"
