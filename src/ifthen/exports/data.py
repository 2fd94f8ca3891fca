"""Rulesets as data: JSON with its schema, and tables of rules: CSV, Markdown for pages, LaTeX for papers.

CSV holds what rules carry besides (weights, variances …) in full: every number reads back exactly. The tables
for people are those of `read_rules`, with its rounded measures; rules keep their own order.
"""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from typing import Any

from ifthen.environments.written_name import written_name
from ifthen.explanation.reading import Reading, read_rules
from ifthen.exports.parts import one_line, shown_columns, title
from ifthen.rules.feature import number_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.term import formula, has_own_name
from ifthen.rules.text.rules_text import rules_text
from ifthen.tasks.task import Task
from ifthen.text_table import TextTable


def to_json(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return the ruleset's plain data as JSON, with what the task is called where one is given."""
    data = ruleset.to_dict()
    head = {name: data.pop(name) for name in ("format", "version")}
    task_entry = {} if task is None else {"task": written_name(task)}
    return json.dumps({**head, **task_entry, **data}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def to_text(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return the rules as people write them, with what the task is called where one is given."""
    return rules_text(ruleset, None if task is None else written_name(task))


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of every kind of ruleset."""
    text = resources.files("ifthen.exports").joinpath("ruleset.schema.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def to_csv(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return a row per rule: its number, both bounds of each feature, its action, and what it carries.

    Of many features, those that rules test have columns.
    """
    extras: dict[str, list[float]] = {}
    for name, column in ruleset.extra_columns().items():  # weights are numbered from 0, that of x0
        names = [name] if column.ndim == 1 else [f"{name}_{i}" for i in range(column.shape[1])]
        extras |= dict(zip(names, column.reshape(len(column), -1).T.tolist(), strict=True))
    columns = shown_columns(ruleset)
    features = [ruleset.features[d] for d in columns]
    names = [f"{f.name} = {formula(f)}" if has_own_name(f) else f.name for f in features]
    bounds = [f"{name}_{end}" for name in names for end in ("low", "high")]
    rows = []
    for r in range(len(ruleset)):
        ends = map(number_in_words, ruleset.bounds[r, columns].ravel().tolist())
        numbers = (number_in_words(column[r]) for column in extras.values())
        rows.append((str(r + 1), *ends, ruleset.action_of(r), *numbers))
    return TextTable("", ("rule", *bounds, "action", *extras), tuple(rows)).to_csv()


def to_markdown(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return a sentence on how the rules choose, and a table of them."""
    return _in_order(ruleset, task).to_markdown()


def to_latex(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return a `tabular` for the packages booktabs and amsmath."""
    about = [title(ruleset, task), *map(one_line, ruleset.terms_in_words())]
    return "".join(f"% {line}\n" for line in about) + _in_order(ruleset, task).to_latex()


def _in_order(ruleset: RuleSet, task: Task | None) -> Reading:
    """Return the reading with the rules in their own order, so that a row is found by its number."""
    reading = read_rules(ruleset, task)
    return replace(reading, rules=reading.in_order)
