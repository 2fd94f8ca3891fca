"""Rulesets from files, from text that people write, and from trees and programs of others.

Text is read by `ifthen.rules.text`, code by `ifthen.rules.programs`. Nothing that is read is ever executed or
imported, and sizes are bounded.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ifthen.environments.known_environments import known_names
from ifthen.environments.make import TaskLike, as_task, task_by_name
from ifthen.errors import RuleError, TaskError, nearest, warn
from ifthen.rules.feature import Feature
from ifthen.rules.programs.c_code import rules_in_c
from ifthen.rules.programs.dmn_table import rules_in_dmn
from ifthen.rules.programs.exported import exported_function, rules_in_python
from ifthen.rules.programs.python_code import chosen_function, parsed, rules_of_function
from ifthen.rules.programs.sklearn_tree import rules_of_tree
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.text.document import TEXT_LIMIT, RulesText
from ifthen.store import JSON_LIMIT, parse_json, text_of_user
from ifthen.tasks.task import Task

TABLE = re.compile(r"^\| *# *\|", re.MULTILINE)
SUFFIXES = (".json", ".txt", ".md", ".py", ".c", ".dmn")
CODE_LIMIT = 2**20
"""Python code has at most this many bytes."""


def is_rules_file(path: str | Path) -> bool:
    """Return whether a path names a file of rules, or a function in one: "policy.py:act"."""
    file = _file_and_function(path)[0]
    return file.suffix.lower() in SUFFIXES and not file.is_dir()


def rules_file(path: str | Path) -> Path:
    """Return the file of a path that may name a function in it."""
    return _file_and_function(path)[0]


def _file_and_function(path: str | Path) -> tuple[Path, str | None]:
    """Return the file and the function that a path names."""
    file, colon, function = str(path).rpartition(":")
    return (Path(file), function) if colon and file.lower().endswith(".py") else (Path(path), None)


def read_ruleset(path: str | Path, task: Task | None = None) -> tuple[RuleSet, str | None]:
    """Read a file: return the ruleset in it, and the name of the task that it says it is for, if any.

    Code is read as text, never run. What cannot be read exactly is refused; a warning says where sums are
    rounded in another way.

    Args:
        path: `.json`, as `to_dict` gives it; `.txt` or `.md`, as `rules_text` and people write it; `.py`,
            `.c` or `.dmn`, as `ifthen export` writes it; or a function of one's own, "policy.py:act".
        task: gives features and actions where the file says none; without it, the task that a text names,
            if it is one of the paper's or of Gymnasium's.
    """
    file, function = _file_and_function(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise RuleError(f"rules are read from files that end with {', '.join(SUFFIXES)}, not {file.name!r}.")
    limit = {".json": JSON_LIMIT, ".py": CODE_LIMIT}.get(suffix, TEXT_LIMIT)
    text = text_of_user(file, limit, RuleError)
    features = None if task is None else task.features
    try:
        if suffix == ".json":
            data = _parsed_json(text)
            task_name = data.get("task") if isinstance(data, dict) else None
            return RuleSet.from_dict(data), task_name if isinstance(task_name, str) else None
        if suffix == ".py":
            return _rules_in_python(text, function, task), None
        if suffix in (".c", ".dmn"):
            return (rules_in_c if suffix == ".c" else rules_in_dmn)(text, features), None
        return _rules_in_text(text, task)
    except (RuleError, OverflowError) as problem:
        raise RuleError(f"{path}: {problem}") from None


def _rules_in_text(text: str, task: Task | None) -> tuple[RuleSet, str | None]:
    """Return the rules that people wrote, and the name of the task in the head."""
    if TABLE.search(text):
        raise RuleError(
            "this is a table to look at; rules are read from lines such as 'IF x <= 3 THEN Left'."
        )
    document = RulesText(text)
    features = None if task is None or document.features else task.features
    actions = None if task is None or document.actions else task.action_names
    return document.ruleset(features, actions, None, known_task), document.task


def _rules_in_python(text: str, name: str | None, task: Task | None) -> RuleSet:
    """Return the rules of a function: one that `ifthen export` wrote, or one of the user's."""
    module = parsed(text)
    exported = exported_function(text, module)
    if exported is not None and name in (None, exported.name):
        return rules_in_python(text, module, exported, None if task is None else task.features)
    function = chosen_function(module, name)
    if task is None:
        raise RuleError("the features and actions are not known: give the task, as in --task CartPole-v1.")
    rules, notes = rules_of_function(module, function, task.features, task.action_names)
    for note in notes:
        warn(note)
    return rules


def from_function(function: Any, task: TaskLike) -> RuleSet:
    """Return the decision list of a Python function, read from its source and never called.

    It may compare its arguments or parts of an observation (`obs[0]`), and sums of them, with numbers, join
    comparisons by `and`, `or` and `not`, and return numbers or names of actions. A file is read in the same
    way: `read_ruleset("policy.py:act", task)`.

    Args:
        function: the function, or its source. Names from outside of the function are not known.
        task: gives features and actions: a task, or an environment or its id.
    """
    try:
        source = function if isinstance(function, str) else inspect.getsource(function)
    except (OSError, TypeError) as problem:
        raise RuleError(f"the source of {function!r} cannot be found: {problem}.") from None
    if len(source) > CODE_LIMIT:
        raise RuleError(f"the source has {len(source):,} characters; at most {CODE_LIMIT:,} are read.")
    task = as_task(task)
    module = parsed(textwrap.dedent(source))
    rules, notes = rules_of_function(module, chosen_function(module, None), task.features, task.action_names)
    for note in notes:
        warn(note)
    return rules


def from_tree(
    tree: Any, features: TaskLike | Sequence[Feature], action_names: Sequence[str] | None = None
) -> RuleSet:
    """Return the decision list of a fitted decision tree of scikit-learn.

    Both choose the same for float32 observations, to which scikit-learn rounds others first.

    Args:
        tree: a `DecisionTreeClassifier` whose classes are actions, by number or name, or a
            `DecisionTreeRegressor` with one output per action, of which the largest is taken.
        features: what the columns of its training data are, in order: features, or the task that has them.
        action_names: one name per action, where no task is given.
    """
    if isinstance(features, Sequence) and not isinstance(features, str):
        if not all(isinstance(feature, Feature) for feature in features) or not action_names:
            raise RuleError("give features and action_names, or a task that has both.")
        return rules_of_tree(tree, tuple(features), tuple(action_names))
    task = as_task(features)
    return rules_of_tree(tree, task.features, tuple(action_names or task.action_names))


def parse_rules(
    text: str,
    features: Sequence[Feature] | None = None,
    action_names: Sequence[str] | None = None,
    kind: str | None = None,
    *,
    task: Task | None = None,
) -> RuleSet:
    """Read a text: return the ruleset in it, or raise naming the line, what was expected and what came.

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


def _parsed_json(text: str) -> Any:
    """Return JSON data, or raise where it is none or holds NaN."""
    try:
        return parse_json(text)
    except ValueError as problem:
        raise RuleError(
            f"this is not valid JSON ({problem}). It may be cut off: write it again, with 'ifthen export'; "
            "'ifthen prune FOLDER' writes that of a run."
        ) from None
