"""Commands that make fewer rules of a policy: prune, shortest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from ifthen.checks import one_of, real_number
from ifthen.cli.models import Policy, PolicyPath, TaskName, Threads, read_policy
from ifthen.cli.packages import typed_task
from ifthen.cli.terminal import err, out
from ifthen.cli.writing import write_rules
from ifthen.errors import ParameterError

if TYPE_CHECKING:
    from ifthen.explain.domain import AnyTask
    from ifthen.rules.ruleset import RuleSet
    from ifthen.tasks.tabular import TabularTask

EffortName = Annotated[str, typer.Option(help="How long to search: quick, normal or thorough.")]
RulesFile = Annotated[Path | None, typer.Option("--out", help="Write the rules to this .json or .txt file.")]


def prune(
    model: PolicyPath,
    file: RulesFile = None,
    task: TaskName = None,
    as_list: Annotated[
        bool, typer.Option("--list", help="Make it a decision list, as short as can be found.")
    ] = False,
    intervals: Annotated[
        str, typer.Option(help="short (fewest words), tight (smallest boxes) or keep.")
    ] = "short",
    rules: Annotated[
        int | None, typer.Option(help="At most so many rules, for what performance it costs.")
    ] = None,
    performance: Annotated[
        float | None, typer.Option(help="As few rules as this exact performance allows.")
    ] = None,
    ladder: Annotated[
        bool, typer.Option("--ladder", help="Show performance for every number of rules.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the ladder to this .png, .pdf or .svg file.")
    ] = None,
    polish: Annotated[
        bool, typer.Option("--polish", help="On the ladder, also tune the rules that are left.")
    ] = False,
    effort: EffortName = "quick",
    loss: Annotated[
        float | None, typer.Option(help="In an environment: how much less the mean return may be.")
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(help="In an environment: episodes to play beside z.  [default: 100]")
    ] = None,
    threads: Threads = None,
) -> None:
    """Say the same with fewer and shorter rules; or nearly the same with fewer still.

    Without further options no action changes in any state of the task, which is checked in every one.
    With --rules, --performance or --ladder, performance is traded for fewer rules.
    Environments have no states to list: there rules are pruned by playing, see --loss. For example:

    - `ifthen prune runs/first --out short.txt`
    - `ifthen prune runs/first --list`
    - `ifthen prune runs/first --ladder --polish --plot ladder.png`
    - `ifthen prune runs/first --performance 0.29 --out small.json`
    - `ifthen prune runs/cartpole --loss 5 --out small.txt`
    """
    from ifthen.cli.playing import prune_by_playing, refuse_options
    from ifthen.explain.shortest import Effort

    if file is not None and file.suffix.lower() not in (".json", ".txt"):
        raise ParameterError(f"--out writes .json or .txt, not {file.name}.")
    if rules is not None and performance is not None:
        raise ParameterError("--rules and --performance each choose a rung of the ladder: give one of them.")
    one_of("--effort", effort, get_args(Effort))
    if rules is not None and rules < 1:
        raise ParameterError(f"--rules must be at least 1, not {rules}.")
    if performance is not None:
        real_number("--performance", performance, -1e300, 1e300)
    lossy = ladder or rules is not None or performance is not None or plot is not None or polish
    if lossy and as_list:
        raise ParameterError("--list changes no action and the ladder does: its policies are lists already.")
    if lossy and file is not None and rules is None and performance is None:
        raise ParameterError("--out writes one rung of the ladder: say which with --rules or --performance.")
    policy = read_policy(model, task)
    given = {
        "--list": as_list,
        "--intervals": intervals != "short",
        "--rules": rules is not None,
        "--performance": performance is not None,
        "--ladder": ladder,
        "--plot": plot is not None,
        "--polish": polish,
        "--effort": effort != "quick",
    }
    found: RuleSet | None
    if refuse_options(policy, given, {"--loss": loss is not None, "--episodes": episodes is not None}):
        found = prune_by_playing(policy, loss, episodes, threads)
    elif lossy:
        found = _from_ladder(policy, rules, performance, polish, plot, threads)
    else:
        found = _same(policy, as_list, intervals, effort)
    if found is None:
        return
    out.print(_words(found, policy.task))
    if file is not None:
        write_rules(file, found, policy.task)


def _same(policy: Policy, as_list: bool, intervals: str, effort: str) -> RuleSet:
    """Return a simpler ruleset that chooses the same, and say what was done."""
    from ifthen.explain.domain import where_in_words
    from ifthen.explain.fewer.simplify import equivalent_list, simplify

    kind: Any = intervals
    how: Any = effort
    if as_list:
        found, known = equivalent_list(policy.ruleset, policy.task, how)
        where = where_in_words(policy.ruleset, policy.task)
        lengths = f"{len(policy.ruleset)} rules became a decision list of {len(found)}"
        out.print(f"{lengths} that does the same at {where}. {known}")
        return found
    simplified = simplify(policy.ruleset, policy.task, kind)
    out.print(str(simplified))
    return simplified.ruleset


def _from_ladder(
    policy: Policy,
    rules: int | None,
    performance: float | None,
    polish: bool,
    plot: Path | None,
    threads: int | None,
) -> RuleSet | None:
    """Print and draw the ladder; return the rung that was asked for, if one was."""
    from ifthen.explain.fewer.ladder import ladder as all_rungs
    from ifthen.figure_style import write_as
    from ifthen.systems.base import checked_threads

    form: Any = None if plot is None else plot.suffix.lower().removeprefix(".")
    if form not in (None, "png", "pdf", "svg"):
        raise ParameterError(f"--plot draws a .png, .pdf or .svg, not {plot}.")
    with err.status("looking for fewer rules") as status:
        steps = all_rungs(
            policy.ruleset,
            policy.table_task("the ladder"),
            polish,
            checked_threads(threads),
            lambda n: status.update(f"looking for fewer rules: {n} left"),
        )
    out.print(str(steps))
    if plot is not None:
        written = write_as(plot.with_suffix(""), steps.figure(), form)
        out.print(f"drawn to {written}")
    if rules is None and performance is None:
        return None
    rung = steps.with_rules(rules) if rules is not None else steps.with_performance(performance or 0.0)
    out.print(f"\n{rung}")
    return rung.ruleset


def shortest(
    task: Annotated[str, typer.Argument(help="What to solve: see `ifthen tasks`.")],
    effort: EffortName = "normal",
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    check: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="Also ask an integer program so long whether a rule less would do."
        ),
    ] = 0.0,
    file: RulesFile = None,
) -> None:
    """Find the shortest decision list for an optimal policy of a task: the limit that learnt ones have.

    For example:

    - `ifthen shortest FrozenLake-4-0.1 --check 60`
    - `ifthen shortest FrozenLake-8-0.3 --effort thorough --out shortest.txt`
    """
    from ifthen.explain.domain import tabular
    from ifthen.explain.shortest import shortest_decision_list

    if file is not None and file.suffix.lower() not in (".json", ".txt"):
        raise ParameterError(f"--out writes .json or .txt, not {file.name}.")
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
    out.print(_words(found.rules, wanted))
    out.print()
    out.print(found.how)
    if check > 0:
        out.print(_second_opinion(wanted, len(found.rules) - 1, check))
    if file is not None:
        write_rules(file, found.rules, wanted)


def _second_opinion(task: TabularTask, rules: int, seconds: float) -> str:
    """Return what an integer program says of a list with so many rules."""
    from ifthen.explain.shortest import list_exists
    from ifthen.explain.shortest.lists import optimal_table

    with err.status("solving an integer program"):
        answer = list_exists(*optimal_table(task), rules, seconds) if rules else False
    told = {True: "there is one", False: "there is none", None: f"not known after {seconds:g} seconds"}
    return f"Asked for a list of {rules} by integer programming (HiGHS): {told[answer]}."


def _words(ruleset: RuleSet, task: AnyTask | None) -> str:
    """Return the rules as they are read in this terminal."""
    from ifthen.explain.words import read_rules

    return read_rules(ruleset, task).to_text(out.width)
