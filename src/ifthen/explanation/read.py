"""Rulesets from files, and from text that people write (`ifthen.rules.text`).

Nothing that is read is ever executed, and sizes are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ifthen.environments.make import task_by_name
from ifthen.environments.registry import known_names
from ifthen.errors import RuleError, TaskError, nearest
from ifthen.rules.feature import Feature
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.text.document import TEXT_LIMIT, RulesText
from ifthen.store import JSON_LIMIT, parse_json
from ifthen.tasks.task import Task

TABLE = re.compile(r"^\| *# *\|", re.MULTILINE)
SUFFIXES = (".json", ".txt", ".md")


def read_ruleset(path: str | Path, task: Task | None = None) -> tuple[RuleSet, str | None]:
    """Return the ruleset in a file, and the name of the task that the file says it is for, if any.

    Args:
        path: `.json`, as `to_dict` gives it, or `.txt` or `.md`, as `rules_text` and people write it.
        task: gives features and actions where the text says none; without it, the task that the text names,
            if it is one of the paper's or of Gymnasium's.
    """
    file = Path(path)
    if file.suffix.lower() not in SUFFIXES:
        raise RuleError(f"rules are read from files that end with {', '.join(SUFFIXES)}, not {file.name!r}.")
    text = _file_text(file, JSON_LIMIT if file.suffix.lower() == ".json" else TEXT_LIMIT)
    try:
        if file.suffix.lower() == ".json":
            data = _json(text)
            named = data.get("task") if isinstance(data, dict) else None
            return RuleSet.from_dict(data), named if isinstance(named, str) else None
        if TABLE.search(text):
            raise RuleError(
                "this is a table to look at; rules are read from lines such as 'IF x <= 3 THEN Left'."
            )
        read = RulesText(text)
        features = None if task is None or read.features else task.features
        actions = None if task is None or read.actions else task.action_names
        return read.ruleset(features, actions, None, known_task), read.task
    except (RuleError, OverflowError) as problem:
        raise RuleError(f"{path}: {problem}") from None


def parse_rules(
    text: str,
    features: Sequence[Feature] | None = None,
    action_names: Sequence[str] | None = None,
    kind: str | None = None,
    *,
    task: Task | None = None,
) -> RuleSet:
    """Return the ruleset that a text describes, or raise naming the line, what was expected and what came.

    Args:
        text: the rules, one per line, with or without a head.
        features: of the rules, where neither the head nor a task gives them.
        action_names: of the rules, where neither the head nor a task gives them.
        kind: of the ruleset; a decision list where neither this nor the head says.
        task: gives features and actions where the head says none; without it, the task that the head names,
            if it is one of the paper's or of Gymnasium's.
    """
    if isinstance(features, Task):
        raise TaskError("give a task by keyword: parse_rules(text, task=task).")
    if task is not None:
        if not isinstance(task, Task):
            raise TaskError(f"task must be a Task, such as ifthen.frozen_lake(4), not {task!r}.")
        if features is not None or action_names is not None:
            raise TaskError("give features and action_names, or a task that has them, not both.")
        features, action_names = task.features, task.action_names
    return RulesText(text).ruleset(features, action_names, kind, known_task)


def known_task(name: str) -> Task:
    """Return the task that a text names, or raise where making it could take long or run somebody's code."""
    known = known_names()
    if name not in known:
        raise RuleError(
            f"unknown task {name[:60]!r}.{nearest(name[:60], known)} Rules for another task need its "
            "features and actions in the head ('feature x: 0 to 7', 'actions: Left, Right'), or the task "
            "itself."
        )
    return task_by_name(name)


def _file_text(file: Path, limit: int) -> str:
    """Return a file's text, never reading more than the limit."""
    try:
        with file.open("rb") as opened:
            data = opened.read(limit + 1)
    except OSError as problem:
        raise RuleError(f"cannot read {file}: {problem.strerror or problem}.") from None
    if len(data) > limit:
        raise RuleError(f"{file} is larger than {limit:,} bytes, which is more than rules need.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RuleError(f"{file} is not text in UTF-8.") from None


def _json(text: str) -> Any:
    """Return JSON data, or raise where it is none or holds NaN."""
    try:
        return parse_json(text)
    except ValueError as problem:
        raise RuleError(
            f"this is not valid JSON ({problem}). It may be cut off: write it again, with 'ifthen export'."
        ) from None
