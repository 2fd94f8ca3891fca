"""The data of the front on the explain page: one policy for each size, its rules, and how to take it."""

from __future__ import annotations

import shlex
from typing import Any

from ifthen.exports.data import to_text
from ifthen.pages.explain_tables import number
from ifthen.rules.ruleset import RuleSet
from ifthen.systems.front import Front, Point
from ifthen.tasks.task import Task

MOST_RULES = 60
"""Longer policies are drawn without their rules, so that the page stays small."""


def front_data(front: Front, task: Task, shown: RuleSet, model: str) -> dict[str, Any]:
    """Return what the page needs of a front.

    Args:
        front: the front.
        task: its task.
        shown: the policy that the page is about.
        model: how commands call what the front was found from, with its options, quoted for a shell.
    """
    return {
        "valued": front.valued,
        "optimum": None if front.optimum is None else number(front.optimum),
        "points": [_point_data(point, front, task, shown, model) for point in front.points],
    }


def _point_data(point: Point, front: Front, task: Task, shown: RuleSet, model: str) -> dict[str, Any]:
    rules, tests = point.rules, point.tests
    name = shlex.quote(f"rules-{rules}-tests-{tests}.txt")
    return {
        "rules": rules,
        "tests": tests,
        "nodes": point.nodes,
        "value": number(point.value),
        "said": point.value_in_words().replace("-", "−"),
        "ends": None if point.interval is None else [number(end) for end in point.interval],
        "knee": point is front.marked,
        "shown": point.ruleset == shown,
        "words": [point.ruleset.rule_in_words(r) for r in range(rules)] if rules <= MOST_RULES else [],
        "text": to_text(point.ruleset, task) if rules <= MOST_RULES else "",
        "command": f"ifthen prune {model} --rules {rules} --tests {tests} --out {name}",
    }
