"""The command `verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from ifthen.cli.model import JsonFile, Model, MostRules, MostTests, TaskChanges, TaskName, read_policy
from ifthen.cli.terminal import out, write_json
from ifthen.errors import ParameterError

UNMET = 1


def verify(
    model: Model,
    most_rules: MostRules = None,
    most_tests: MostTests = None,
    task: TaskName = None,
    task_assignments: TaskChanges = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROPERTIES",
            help="What must hold, such as 'complete,fraction>=0.95': complete, no-dead-rules, no-conflicts, "
            "no-redundant-rules, goal-reachable, goal-certain, safe, optimal; and the numbers rules, "
            "performance (in environments on test seeds), fraction (of the optimum), goal-probability, and "
            "in environments training-performance, with >=, <=, >, < or =.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print a few lines only.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Check a policy and show a witness for everything that was found.

    Exits with 1 where a required property does not hold or could not be decided, with 0 otherwise.
    For example:

    - `ifthen verify runs/first`
    - `ifthen verify runs/first --require "complete,goal-reachable,performance>=0.3"`
    - `ifthen verify rules.txt --task FrozenLake-8-0.3 --json verified.json`
    - `ifthen verify runs/cartpole --require "complete,performance>=475"`
    """
    from ifthen.verification import verify as verified
    from ifthen.verification.properties import parse

    if require is not None and not all(text.strip(" ,") for text in require):
        raise ParameterError("--require is empty: name what must hold, such as --require complete.")
    demands = ",".join(require or [])
    parse(demands, True)  # mistakes are found before any file is read
    policy = read_policy(model, task, task_assignments, rules=most_rules, tests=most_tests)
    found = verified(policy.ruleset, policy.task, demands)
    out.print(found.summary() if quiet else found.to_text(out.width))
    write_json(json_file, found.to_dict())
    if not found.passed:
        raise typer.Exit(UNMET)
