"""The command `check`."""

from __future__ import annotations

from typing import Annotated

import typer

from ifthen.cli.model import JsonFile, TaskChanges, Threads
from ifthen.cli.task_names import allow_cwd_imports, located, typed_task
from ifthen.cli.terminal import out, write_json


def check(
    task: Annotated[
        str,
        typer.Argument(metavar="TASK", help="A task or a Gymnasium environment."),
    ],
    task_assignments: TaskChanges = None,
    threads: Threads = None,
    json_file: JsonFile = None,
) -> None:
    """Check a task: its features, whether seeds reproduce episodes, how long training takes.

    Training relies on this: the same reset seed and actions give the same episode, whatever was played
    before and beside it. A few random episodes show whether that holds.

    For example:

    - `ifthen check CartPole-v1`
    - `ifthen check my_package:MyEnv-v0`
    - `ifthen check my_module:MyEnv --task-set feature_names=room,outside`
    """
    from ifthen.runs.check import checked
    from ifthen.runs.settings import parse_assignments, task_with

    changes = parse_assignments(task_assignments, "--task-set")
    task = located(task)
    allow_cwd_imports(task)
    result = checked(lambda: task_with(task, changes) if changes else typed_task(task), threads)
    out.print(str(result), soft_wrap=True, highlight=False, markup=False)
    write_json(json_file, result.to_dict())
