"""Numbers on a printed page: minus signs, strengths in units, and whether all digits are printed."""

from __future__ import annotations

import re

from ifthen.digits import worth_showing
from ifthen.errors import IfthenError
from ifthen.explanation.read_ruleset import parse_rules
from ifthen.robustness.stress import Stress
from ifthen.rules.boxes.list_analysis import over
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.task import Task

MINUS = re.compile(r"(?<![\w.,-])-(?=\d)")
"""A hyphen that is a minus sign."""


def neat(text: str) -> str:
    """Return a text with minus signs and signs of comparison as they are printed."""
    return MINUS.sub("−", text.replace(">=", "≥").replace("<=", "≤"))


def strength_in_units(stress: Stress | None, task: Task | None) -> str:
    """Return what 1 % of every feature's range is; "" where no strength is such a share."""
    if stress is None or task is None or not {"noise", "bias"} & {sweep.name for sweep in stress.sweeps}:
        return ""
    shown = worth_showing((f.name for f in task.features), ())
    sizes = [
        f"{f.name} {(f.high - f.low) / 100:.2g}{f' {f.unit}' if f.unit else ''}"
        for f in task.features
        if f.name in shown and not f.is_integer
    ]
    return f"A strength of 0.01 of noise or bias is 1 % of each range: {', '.join(sizes)}." if sizes else ""


def printed_exactly(ruleset: RuleSet, task: Task | None) -> bool:
    """Return whether the printed rules, read again, are the same rules to the last digit."""
    if task is None or not ruleset.ordered:
        return False
    words = (ruleset.rule_in_words(r) for r in range(len(ruleset)))
    try:
        reread = parse_rules("\n".join([*ruleset.terms_in_words(), *words]), task=task)
    except IfthenError:
        return False
    return reread.ordered and over(reread, ruleset.features) == ruleset
