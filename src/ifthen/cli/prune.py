"""The command `prune`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ifthen.checks import real_number, whole_number
from ifthen.cli.front import find_front, print_front
from ifthen.cli.model import (
    Model,
    Policy,
    TaskChanges,
    TaskName,
    Threads,
    check_rules_file,
    kept_requirements,
    read_policy,
)
from ifthen.cli.terminal import check_plot, err, out, print_reading, print_table, write_rules
from ifthen.digits import in_units, interval_in_words
from ifthen.errors import ParameterError
from ifthen.text_table import TextTable

if TYPE_CHECKING:
    from ifthen.simplify.prune import PruneResult
    from ifthen.simulate.simulator import Evaluation

EffortName = Annotated[str, typer.Option(help="How long to search: quick, normal or thorough.")]
RulesFile = Annotated[Path | None, typer.Option("--out", help="Write the rules to this .json or .txt file.")]


def prune(
    model: Model,
    file: RulesFile = None,
    task: TaskName = None,
    task_assignments: TaskChanges = None,
    as_list: Annotated[
        bool, typer.Option("--list", help="Make it a decision list, as short as can be found.")
    ] = False,
    intervals: Annotated[
        str, typer.Option(help="short (fewest words), tight (smallest boxes) or keep.")
    ] = "short",
    rules: Annotated[
        int | None, typer.Option(help="The best policy found with at most this many rules.")
    ] = None,
    tests: Annotated[
        int | None,
        typer.Option(help="The best policy found with at most this many comparisons (x ≤ 3 is one)."),
    ] = None,
    performance: Annotated[
        float | None, typer.Option(help="As few rules as this performance allows.")
    ] = None,
    ladder: Annotated[bool, typer.Option("--ladder", hidden=True, help="What 'ifthen front' does.")] = False,
    plot: Annotated[Path | None, typer.Option(hidden=True, help="What 'ifthen front --plot' does.")] = None,
    polish: Annotated[
        bool, typer.Option("--polish", help="On a table: tune the rules that are left where rules go.")
    ] = False,
    effort: EffortName = "quick",
    loss: Annotated[
        float | None, typer.Option(help="In an environment: how much less the mean return may be.")
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(help="In an environment: how many pruning seeds to play.  [default: 100]"),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="In an environment: about how many steps to play at most; what was found by then is the "
            "result.  [default: no limit]"
        ),
    ] = None,
    threads: Threads = None,
) -> None:
    """Make a policy shorter: fewer rules and fewer conditions.

    On a table of states no action changes, which is checked in every state. In an environment rules are
    pruned by playing: the mean return falls by at most --loss. With --rules, --tests or --performance,
    performance is traded for size: one policy of the front is taken (see `ifthen front`). For example:

    - `ifthen prune runs/first --out short.txt`
    - `ifthen prune runs/first --list`
    - `ifthen prune runs/first --rules 4 --out small.txt`
    - `ifthen prune runs/first --performance 0.29 --polish --out small.json`
    - `ifthen prune runs/cartpole --loss 5 --out small.txt`
    """
    from ifthen.simplify.prune import prune as pruned

    check_rules_file(file)
    check_plot(plot)
    if rules is not None:
        whole_number("--rules", rules, 1, 1_000_000)
    if tests is not None:
        whole_number("--tests", tests, 0, 1_000_000)
    if performance is not None:
        real_number("--performance", performance, -1e300, 1e300)
    takes_one = any(limit is not None for limit in (rules, tests, performance))
    shows_all = ladder or plot is not None or (polish and not takes_one)
    if shows_all and as_list:
        raise ParameterError("--list changes no action, and fewer rules do: leave one of them out.")
    if shows_all and file is not None and not takes_one:
        raise ParameterError("--out writes one policy: say which with --rules, --tests or --performance.")
    policy = read_policy(model, task, task_assignments, pruned=False)
    list_options = {"--list": as_list, "--intervals": intervals != "short", "--effort": effort != "quick"}
    _check_states(policy, {**list_options, "--polish": polish})
    if effort != "quick" and not as_list:
        raise ParameterError("--effort belongs to --list: give both, or leave --effort out.")
    if shows_all:
        print_front(policy, find_front(policy, polish=polish, threads=threads), plot)
        if not takes_one:
            return
    choices: dict[str, Any] = {"to": "list" if as_list else None, "intervals": intervals, "effort": effort}
    with err.status("looking for fewer rules") as status:
        result = pruned(
            policy,
            policy.task,
            **choices,
            rules=rules,
            tests=tests,
            performance=performance,
            polish=polish,
            loss=loss,
            episodes=episodes,
            steps=steps,
            threads=threads,
            progress=lambda left: status.update(f"looking for fewer rules: {left} left"),
            require=kept_requirements(model) if policy.ruleset.ordered or as_list or takes_one else [],
        )
    if result.seeds is not None:
        _print_returns(result, policy.known_task(), threads)
    out.print(str(result))
    out.print()
    print_reading(result.ruleset, policy.task)
    write_rules(file, result.ruleset, policy.task)


def _check_states(policy: Policy, flags: Mapping[str, bool]) -> None:
    """Raise where an option was given that needs a list of states, and the task has none."""
    from ifthen.simulate.scope import tabular

    advice = ": it is pruned by playing. Give --loss, the allowed fall of the mean return, and --episodes"
    for name in (name for name, is_given in flags.items() if is_given and policy.task is not None):
        tabular(policy.task, name, advice)


def _print_returns(result: PruneResult, task: Any, threads: int | None) -> None:
    """Print the mean returns before and after pruning, with 95 % intervals: on test and other seeds."""
    from ifthen.simulate.evaluate import evaluate

    rows = []
    assert result.seeds is not None
    for name, seeds in (("test", task.test_seeds()), ("training", task.z), ("pruning", result.seeds)):
        evaluations = (
            evaluate(rules, task, seeds=seeds, threads=threads) for rules in (result.given, result.ruleset)
        )
        rows.append((f"on {len(seeds):,} {name} seeds", *map(returns_in_words, evaluations)))
    title = f"Pruned by playing {task.name}: mean returns and their 95 % intervals"
    print_table(TextTable(title, ("", "before", "after"), tuple(rows)))


def returns_in_words(evaluation: Evaluation) -> str:
    """Return the mean return of rules, or in how many episodes they reached a state without one."""
    if not evaluation.failed:
        interval_text = interval_in_words(evaluation.interval, evaluation.performance)
        return in_units(evaluation.performance) + (f" ({interval_text})" if interval_text else "")
    failed = round((evaluation.failed_share or 0.0) * evaluation.episodes)
    return f"a state without a rule in {failed:,} of {evaluation.episodes:,} episodes"
