"""A ruleset as JSON, as `RuleSet.from_dict` reads it, and the schema that says what may stand in it."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from ifthen.errors import TaskError
from ifthen.explain.domain import AnyTask
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.names import task_by_name

SETTINGS = ("environment", "options", "gamma", "t_max", "floor", "default_action", "features", "action_names")
"""What makes the task of an environment another one: rules are worth something else there."""


def to_json(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return the ruleset's plain data as JSON, with what the task is called where one is given."""
    data = ruleset.to_dict()
    head = {name: data.pop(name) for name in ("format", "version")}
    named = {} if task is None else {"task": written_name(task)}
    return json.dumps({**head, **named, **data}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def written_name(task: AnyTask) -> str:
    """Return what files of rules call a task: its name, unless that would make another task.

    Such files hold no settings. An environment with settings of its own often still has the environment's id
    for its name; what is written then says so, and is no name, so that readers ask for the task.
    """
    if not isinstance(task, EnvTask) or ":" in task.name:  # which readers never make: see `ifthen.cli.models`
        return task.name
    try:
        usual = task_by_name(task.name)
    except TaskError:
        return task.name
    other = [name for name in SETTINGS if getattr(task, name) != getattr(usual, name, None)]
    return f"{task.name} with other {', '.join(other)}" if other else task.name


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of every kind of ruleset."""
    text = (
        resources.files("ifthen.explain.export").joinpath("ruleset.schema.json").read_text(encoding="utf-8")
    )
    data: dict[str, Any] = json.loads(text)
    return data
