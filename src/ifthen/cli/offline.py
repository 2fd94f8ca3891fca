"""The command `offline`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ifthen.cli.model import JsonFile, TaskChanges, Threads, check_rules_file
from ifthen.cli.prune import RulesFile
from ifthen.cli.task_names import allow_cwd_imports, located
from ifthen.cli.terminal import err, out, print_reading, print_table, write_json, write_rules
from ifthen.errors import ParameterError


def offline(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="A .csv or .parquet file with a row for each step: columns action and reward; terminated "
            "(nothing comes after), truncated (somebody stopped there) or episode where there are several "
            "episodes; and a column for each feature.",
        ),
    ],
    file: RulesFile = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            help="An environment that names features and actions, and gives their ranges. It is not played.",
        ),
    ] = None,
    task_assignments: TaskChanges = None,
    rules: Annotated[int | None, typer.Option(help="The best list with at most this many rules.")] = None,
    tests: Annotated[
        int | None, typer.Option(help="The best list with at most this many comparisons (x ≤ 3 is one).")
    ] = None,
    no_terms: Annotated[bool, typer.Option("--no-terms", help="Compare single features only.")] = False,
    actions: Annotated[
        str | None,
        typer.Option(
            "--action-names",
            metavar="A,B,…",
            help="Names of the actions in the order of their numbers; names in the log get numbers by them. "
            "[default: the log's, in alphabetical order]",
        ),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column that is no feature, such as a time. May be repeated."),
    ] = None,
    gamma: Annotated[float, typer.Option(help="The discount factor.")] = 0.99,
    caution: Annotated[
        float,
        typer.Option(help="0 trusts all values; 1 and more keep close to what the log does."),
    ] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    json_file: JsonFile = None,
    threads: Threads = None,
) -> None:
    """Learn rules from recorded steps alone: nothing is played.

    What actions are worth is learnt from the log; lists of several lengths follow from that. What the lists
    get is estimated from a fifth of the log that nothing else was learnt from. For example:

    - `ifthen offline steps.csv`
    - `ifthen offline steps.csv --rules 4 --out rules.json`, then `ifthen show rules.json`
    - `ifthen offline steps.parquet --task CartPole-v1 --out rules.json`, then `ifthen evaluate rules.json`
    """
    from ifthen.runs.learn_offline import learn_offline
    from ifthen.runs.settings import parse_assignments, task_with

    check_rules_file(file)
    if task_assignments and task is None:
        raise ParameterError("--task-set changes the task that --task names: give both, or leave it out.")
    described_by = None
    if task is not None:
        environment = located(task)
        allow_cwd_imports(environment)
        described_by = task_with(environment, parse_assignments(task_assignments, "--task-set"))
    with err.status("reading the log") as status:
        result = learn_offline(
            log,
            described_by,
            rules=rules,
            tests=tests,
            terms=not no_terms,
            action_names=None if actions is None else actions.split(","),
            leave_out=leave_out or [],
            gamma=gamma,
            caution=caution,
            seed=seed,
            threads=threads,
            progress=status.update,
        )
    for table in result.tables():
        print_table(table)
        out.print()
    print_reading(result.ruleset, described_by)
    write_json(json_file, result.to_dict())
    write_rules(file, result.ruleset, described_by)
