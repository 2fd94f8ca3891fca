"""Rules as tables: CSV for programs, Markdown for pages, LaTeX for papers; one row per rule, in order.

What rules carry besides (weights, variances …) is written in full: every number reads back exactly.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from ifthen.explain.export.parts import tests_of, title
from ifthen.rules.features import Feature, number_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular import TabularTask

LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: "\\" + mark for mark in "&%$#_"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}


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
    rows = [["rule", "if", "then", *learnt], ["---:", "---", "---", *("---:" for _ in learnt)]]
    for r, action in enumerate(ruleset.actions.tolist()):
        numbers = [number_in_words(column[r]) for column in learnt.values()]
        words = ruleset.condition_in_words(r) or "always"
        rows.append([str(r + 1), _cell(words), _cell(ruleset.action_names[action]), *numbers])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(text: str) -> str:
    """Return text that stays in its cell and is not taken for marks of Markdown or HTML."""
    plain = " ".join(text.splitlines())
    for mark in "\\`*_{}[]#|~":
        plain = plain.replace(mark, "\\" + mark)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def to_latex(ruleset: RuleSet, task: TabularTask | None = None) -> str:
    r"""Return a `tabular` for the package booktabs (\usepackage{booktabs})."""
    learnt = learnt_columns(ruleset)
    head = ["Rule", "Condition", "Action", *(latex_text(name) for name in learnt)]
    lines = [
        f"% {title(ruleset, task)}",
        f"\\begin{{tabular}}{{rll{'r' * len(learnt)}}}",
        "\\toprule",
        " & ".join(head) + r" \\",
        "\\midrule",
    ]
    for r, action in enumerate(ruleset.actions.tolist()):
        numbers = [f"${_latex_number(column[r])}$" for column in learnt.values()]
        name = latex_text(ruleset.action_names[action])
        lines.append(" & ".join([str(r + 1), _latex_condition(ruleset, r), name, *numbers]) + r" \\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def latex_text(text: str) -> str:
    """Return text with LaTeX's special characters escaped."""
    return "".join(LATEX.get(c, c if c.isprintable() else " ") for c in text)


def _latex_number(number: float) -> str:
    """Return a number for mathematical mode."""
    mantissa, _, exponent = number_in_words(number).partition("e")
    return rf"{mantissa} \times 10^{{{int(exponent)}}}" if exponent else mantissa


def _latex_condition(ruleset: RuleSet, rule: int) -> str:
    r"""Return a condition as formulas, such as $x \le 3$, "always" where it matches everything."""
    formulas = []
    for test in tests_of(ruleset, rule):
        feature = ruleset.features[test.feature]
        name, unit = _latex_name(feature), rf"\,\textrm{{{latex_text(feature.unit)}}}" if feature.unit else ""
        if test.low is None or test.high is None or test.low == test.high:
            relation, end = ("=", test.low) if test.low == test.high else (r"\ge", test.low)
            relation, end = (r"\le", test.high) if test.low is None else (relation, end)
            assert end is not None
            formulas.append(f"${name} {relation} {_latex_number(end)}{unit}$")
        else:
            ends = f"{_latex_number(test.low)}, {_latex_number(test.high)}"
            formulas.append(rf"${name} \in [{ends}]{unit}$")
    return " and ".join(formulas) or "always"


def _latex_name(feature: Feature) -> str:
    """Return a feature's name for mathematical mode."""
    single = len(feature.name) == 1 and feature.name.isascii() and feature.name.isalpha()
    return feature.name if single else rf"\textit{{{latex_text(feature.name)}}}"
