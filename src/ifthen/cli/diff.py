"""The command `diff`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ifthen.cli.model import JsonFile, TaskChanges, TaskName, read_policy
from ifthen.cli.terminal import out, write_json
from ifthen.errors import ParameterError


def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="A policy: model, run folder or rules.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another policy for the same task.")],
    task: TaskName = None,
    task_assignments: TaskChanges = None,
    json_file: JsonFile = None,
) -> None:
    """Show where two policies act differently, and what that does to the performance.

    For example:

    - `ifthen diff runs/first runs/second`
    - `ifthen diff runs/first edited.txt --task FrozenLake-8-0.3`
    """
    from ifthen.explanation.diff import diff as difference

    a, b = read_policy(first, task, task_assignments), read_policy(second, task, task_assignments)
    if a.task is not None and b.task is not None and a.task.name != b.task.name:
        raise ParameterError(
            f"{first} is for {a.task.name} and {second} for {b.task.name}: give --task to compare in."
        )
    result = difference(a.ruleset, b.ruleset, a.task or b.task, (str(first), str(second)))
    out.print(result.to_text(out.width))
    write_json(json_file, result.to_dict())
