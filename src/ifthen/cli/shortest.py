"""The command `shortest`."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from ifthen.cli.model import check_rules_file
from ifthen.cli.prune import EffortName, RulesFile
from ifthen.cli.task_names import typed_task
from ifthen.cli.terminal import err, out, print_reading, write_rules


def shortest(
    task: Annotated[str, typer.Argument(help="What to solve: see `ifthen tasks`.")],
    effort: EffortName = "normal",
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    file: RulesFile = None,
) -> None:
    """Find the shortest decision list for an optimal policy of a task: a lower limit for learnt lists.

    For example:

    - `ifthen shortest FrozenLake-4-0.1`
    - `ifthen shortest FrozenLake-8-0.3 --effort thorough --out shortest.txt`
    """
    from ifthen.simplify.shortest.shortest_list import shortest_decision_list
    from ifthen.simulate.scope import tabular

    check_rules_file(file)
    table_task = tabular(typed_task(task), "the shortest list of an optimal policy")
    with err.status("searching") as status:
        result = shortest_decision_list(
            table_task,
            cast(Any, effort),
            seed,
            lambda rules, proven: status.update(
                f"searching: {rules} rules found, {proven} proven to be needed"
            ),
        )
    print_reading(result.rules, table_task)
    out.print()
    out.print(result.how)
    write_rules(file, result.rules, table_task)
