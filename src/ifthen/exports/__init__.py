"""Rulesets for other programs: data, code, tables, diagrams. What a format cannot hold is refused.

Code and tables of rules choose exactly as the ruleset does, on its domain: the decision states of a task or,
without one, the whole bounded feature space. Where a feature clips, values beyond its range are taken as its
ends, as the ruleset takes them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError, RuleError, nearest
from ifthen.exports.code import to_c, to_python, to_sql
from ifthen.exports.data import schema, to_csv, to_json, to_latex, to_markdown, to_text
from ifthen.exports.decision_tree import to_dot, to_mermaid
from ifthen.exports.device import DeviceExport, export_device
from ifthen.exports.device.st import to_st
from ifthen.exports.dmn import to_dmn, to_dmn_priority
from ifthen.rules.ruleset import PolicyLike, RuleSet
from ifthen.rules.text.rules_text import rules_text
from ifthen.simulate.scope import check_fits, policy_and_task
from ifthen.tasks.task import Task

__all__ = ["FORMATS", "DeviceExport", "export", "export_device", "rules_text", "schema"]


FORMATS: dict[str, Callable[[RuleSet, Task | None], str]] = {
    "text": to_text,
    "json": to_json,
    "python": to_python,
    "c": to_c,
    "st": to_st,
    "sql": to_sql,
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
    "dot": to_dot,
    "mermaid": to_mermaid,
    "dmn": to_dmn,
    "dmn-priority": to_dmn_priority,
}


def export(policy: PolicyLike, format: str, task: TaskLike | None = None) -> str:
    """Return a ruleset written in another format.

    Args:
        policy: a ruleset of any kind, or a trained system.
        format: one of `FORMATS`.
        task: a system's own task where None. A ruleset that must be turned into a list or a tree chooses the
            same in its decision states; without one, and in an environment, in the whole feature space.
    """
    ruleset, task = policy_and_task(policy, task)
    if not isinstance(format, str) or format not in FORMATS:
        raise ParameterError(f"unknown format {format!r}.{nearest(str(format), FORMATS)}")
    check_fits(ruleset, task)
    scoring = ruleset.scoring
    if scoring is not None and not np.isfinite(scoring.constants).all():
        raise RuleError("cannot write rules whose weights are too large to be multiplied by x0.")
    try:
        return FORMATS[format](ruleset, task)
    except RuleError as problem:
        raise RuleError(f"cannot write {format!r}: {problem}") from None
