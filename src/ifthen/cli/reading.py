"""Commands that read a policy: show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ifthen.cli.models import PolicyPath, TaskName, read_policy
from ifthen.cli.terminal import out, print_rules
from ifthen.errors import ParameterError

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet
    from ifthen.tasks.env_task import EnvTask
    from ifthen.tasks.tabular import TabularTask


def show(
    model: PolicyPath,
    png: Annotated[Path | None, typer.Option(help="Also draw the policy to this file.")] = None,
    compact: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="Show fewer rules of an XCSF: greedy (the same action in every state) or gnmc (nearly the "
            "same predictions).  [default: greedy where there are many]",
        ),
    ] = None,
    rho: Annotated[
        float | None,
        typer.Option(help="Share of each niche's fitness that gnmc may drop.  [default: 0.1]"),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every rule of an XCSF.")] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the rules shown to this file.")
    ] = None,
    task: TaskName = None,
) -> None:
    """Print a policy's rules in words, and draw it: on its grid or, in an environment, over two features.

    For example:

    - `ifthen show runs/first --png policy.png`
    - `ifthen show runs/xcsf --compact gnmc --rho 0.2 --json fewer.json`
    """
    from ifthen.explain.export.data import to_json
    from ifthen.explain.fewer.compact import compact as compacted
    from ifthen.explain.words import readable
    from ifthen.store import write_text

    policy = read_policy(model, task)
    played = policy.known_task()
    if png is not None and png.suffix.lower() != ".png":
        raise ParameterError(f"--png writes a PNG picture: give a name that ends in .png, not {png}.")
    if png is not None and not _can_be_drawn(played):
        raise ParameterError(f"{played.name} has no grid of x and y to draw the policy on: leave --png out.")
    if compact is not None and everything:
        raise ParameterError("--compact shows fewer rules and --all every one: give one of them.")
    if rho is not None and compact != "gnmc":
        raise ParameterError("--rho belongs to --compact gnmc: give both, or leave --rho out.")
    if compact is not None:
        method: Any = compact
        share = 0.1 if rho is None else rho
        ruleset: RuleSet = compacted(policy.ruleset, policy.table_task("--compact"), method, share)
    else:
        ruleset = policy.ruleset if everything else readable(policy.ruleset, played)
    print_rules(policy.title, ruleset, played, len(policy.ruleset), "" if everything else "--all shows them")
    if json_file is not None:
        write_text(json_file, to_json(ruleset, played))
        out.print(f"written to {json_file}")
    _draw(ruleset, played, f"{policy.title} on {played.name}", png)


def _can_be_drawn(task: TabularTask | EnvTask) -> bool:
    """Return whether there is a picture of a policy on this task."""
    from ifthen.explain.pictures.grid import has_grid
    from ifthen.tasks.env_task import EnvTask

    return isinstance(task, EnvTask) or has_grid(task)


def _draw(ruleset: RuleSet, task: TabularTask | EnvTask, title: str, png: Path | None) -> None:
    """Draw a policy to the terminal where it is on a grid, and to a file where one is given."""
    from ifthen.explain.pictures.env_slices import env_policy_figure
    from ifthen.explain.pictures.policy import policy_figure
    from ifthen.explain.pictures.text import policy_text
    from ifthen.figure_style import write_png
    from ifthen.tasks.env_task import EnvTask

    if not _can_be_drawn(task):
        out.print("(this task has no grid to draw the policy on)")
        return
    if not isinstance(task, EnvTask):
        out.print(policy_text(ruleset, task, out.width))
    if png is not None:
        if isinstance(task, EnvTask):
            write_png(png, env_policy_figure(ruleset, task))
        else:
            write_png(png, policy_figure(ruleset, task, title))
        out.print(f"drawn to {png}")
