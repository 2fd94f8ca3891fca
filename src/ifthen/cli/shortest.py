"""The command `shortest`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ifthen.cli.model import check_rules_file
from ifthen.cli.prune import EffortName, RulesFile
from ifthen.cli.task_names import typed_task
from ifthen.cli.terminal import err, out, print_reading, write_rules

if TYPE_CHECKING:
    from ifthen.tasks.tabular_task import TabularTask


def shortest(
    task: Annotated[str, typer.Argument(help="What to solve: see `ifthen tasks`.")],
    effort: EffortName = "normal",
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    check: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="Also let an integer program look for one rule less, for this long.",
        ),
    ] = 0.0,
    file: RulesFile = None,
) -> None:
    """Find the shortest decision list for an optimal policy of a task: a lower limit for learnt lists.

    For example:

    - `ifthen shortest FrozenLake-4-0.1 --check 60`
    - `ifthen shortest FrozenLake-8-0.3 --effort thorough --out shortest.txt`
    """
    from ifthen.simplify.shortest.shortest_list import shortest_decision_list
    from ifthen.simulate.scope import tabular

    check_rules_file(file)
    wanted, how = tabular(typed_task(task), "the shortest list of an optimal policy"), cast(Any, effort)
    with err.status("searching") as status:
        found = shortest_decision_list(
            wanted,
            how,
            seed,
            lambda rules, least: status.update(
                f"searching: {rules} rules found, {least} proven to be needed"
            ),
        )
    print_reading(found.rules, wanted)
    out.print()
    out.print(found.how)
    if check > 0:
        out.print(_second_opinion(wanted, len(found.rules) - 1, check))
    write_rules(file, found.rules, wanted)


def _second_opinion(task: TabularTask, rules: int, seconds: float) -> str:
    """Return what an integer program says of a list with this number of rules."""
    from ifthen.simplify.shortest.program import list_exists
    from ifthen.simplify.shortest.shortest_list import optimal_table

    with err.status("solving an integer program"):
        answer = list_exists(*optimal_table(task), rules, seconds) if rules else False
    told = {True: "there is one", False: "there is none", None: f"not known after {seconds:g} seconds"}
    return f"Asked for a list of {rules} by integer programming (HiGHS): {told[answer]}."
