"""A ruleset as JSON, as `RuleSet.from_dict` reads it, and the schema that says what may stand in it."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from ifthen.explain.domain import AnyTask
from ifthen.rules.ruleset import RuleSet


def to_json(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return the ruleset's plain data as JSON, with the name of the task where one is given."""
    data = ruleset.to_dict()
    head = {name: data.pop(name) for name in ("format", "version")}
    named = {} if task is None else {"task": task.name}
    return json.dumps({**head, **named, **data}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of every kind of ruleset."""
    text = (
        resources.files("ifthen.explain.export").joinpath("ruleset.schema.json").read_text(encoding="utf-8")
    )
    data: dict[str, Any] = json.loads(text)
    return data
