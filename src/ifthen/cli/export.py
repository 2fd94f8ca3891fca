"""The command `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ifthen.cli.model import Model, MostRules, MostTests, TaskName, read_policy
from ifthen.cli.terminal import out, write_file
from ifthen.text_table import harmless


def export(
    model: Model,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="One of: text, json, python, c, sql, csv, markdown, latex, dot, mermaid, dmn, dmn-priority.",
        ),
    ],
    file: Annotated[Path | None, typer.Option("--out", help="Write to this file.  [default: print]")] = None,
    most_rules: MostRules = None,
    most_tests: MostTests = None,
    task: TaskName = None,
) -> None:
    """Write a policy as code, a table, a diagram or data that other programs read.

    Each does what the policy does: everywhere, or in the states of the task, as its head says. For example:

    - `ifthen export runs/first --to python --out policy.py`
    - `ifthen export runs/first --to dmn --out policy.dmn`
    - `ifthen export runs/first --to mermaid`
    """
    from ifthen.exports import export as exported

    policy = read_policy(model, task, rules=most_rules, tests=most_tests)
    text = exported(policy.ruleset, to, policy.task)
    if file is None:
        typer.echo((harmless(text) if out.is_terminal else text).rstrip("\n"))
        return
    write_file(file, text)
