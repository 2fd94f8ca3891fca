"""The command `systems`."""

from __future__ import annotations

from typing import Annotated

import typer

from ifthen.cli.task_names import typed_task
from ifthen.cli.terminal import out, print_table
from ifthen.text_table import TextTable


def systems(
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="TASK", help="Also list the values that suit this task."),
    ] = None,
) -> None:
    """List the learners and their parameters.

    For example:

    - `ifthen systems`
    - `ifthen systems --task CartPole-v1`
    """
    from ifthen.runs.settings import toml_value
    from ifthen.systems.parameters import search_ranges
    from ifthen.systems.registry import SYSTEMS

    wanted = None if task is None else typed_task(task)
    for name, system in SYSTEMS.items():
        used = None if wanted is None else system(wanted).parameters.model_dump()
        rows, tried = [], search_ranges(system.Parameters)
        for parameter, default, meaning in system.list_parameters():
            said = "by task" if default is None else toml_value(default)
            own: list[str] = []
            if used is not None:
                value = used[parameter]
                own = ["none" if value is None else toml_value(value) + "*" * (value != default)]
            search = str(tried[parameter]) if parameter in tried else ""
            rows.append((parameter, said, *own, search, meaning))
        headings = ("parameter", "default", *([f"for {task}"] if wanted else []), "tuning tries", "meaning")
        table = TextTable(f"{name}: {system.summary}", headings, tuple(rows), ("",))
        print_table(table.without_empty([""]))
    if wanted is not None:
        out.print(f"A * marks a value that suits {task} and is not the default.")
    out.print("Set one with --set NAME=VALUE, or under [parameters] in a --config file.")
