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

    suited_task = None if task is None else typed_task(task)
    for name, system in SYSTEMS.items():
        suited_values = None if suited_task is None else system(suited_task).parameters.model_dump()
        rows, ranges = [], search_ranges(system.Parameters)
        for parameter, default, meaning in system.list_parameters():
            default_text = "by task" if default is None else toml_value(default)
            suited_cells: list[str] = []
            if suited_values is not None:
                value = suited_values[parameter]
                suited_cells = ["none" if value is None else toml_value(value) + "*" * (value != default)]
            search = str(ranges[parameter]) if parameter in ranges else ""
            rows.append((parameter, default_text, *suited_cells, search, meaning))
        headings = (
            "parameter",
            "default",
            *([f"for {task}"] if suited_task else []),
            "tuning tries",
            "meaning",
        )
        table = TextTable(f"{name}: {system.summary}", headings, tuple(rows), ("",))
        print_table(table.without_empty([""]))
    if suited_task is not None:
        out.print(f"A * marks a value that suits {task} and is not the default.")
    out.print("Set one with --set NAME=VALUE, or under [parameters] in a --config file.")
