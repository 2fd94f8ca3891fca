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
    """Print a policy's rules in words, and draw it on its grid.

    For example:

    - `ifthen show runs/first --png policy.png`
    - `ifthen show runs/xcsf --compact gnmc --rho 0.2 --json fewer.json`
    """
    from ifthen.explain.export.data import to_json
    from ifthen.explain.fewer.compact import compact as compacted
    from ifthen.explain.pictures.grid import has_grid
    from ifthen.explain.pictures.policy import policy_figure
    from ifthen.explain.pictures.text import policy_text
    from ifthen.explain.words import readable
    from ifthen.figure_style import write_png
    from ifthen.store import write_text

    policy = read_policy(model, task)
    played = policy.known_task()
    if png is not None and png.suffix.lower() != ".png":
        raise ParameterError(f"--png writes a PNG picture: give a name that ends in .png, not {png}.")
    if png is not None and not has_grid(played):
        raise ParameterError(f"{played.name} has no grid of x and y to draw the policy on: leave --png out.")
    if compact is not None and everything:
        raise ParameterError("--compact shows fewer rules and --all every one: give one of them.")
    if rho is not None and compact != "gnmc":
        raise ParameterError("--rho belongs to --compact gnmc: give both, or leave --rho out.")
    if compact is not None:
        method: Any = compact
        ruleset: RuleSet = compacted(policy.ruleset, played, method, 0.1 if rho is None else rho)
    else:
        ruleset = policy.ruleset if everything else readable(policy.ruleset, played)
    print_rules(policy.title, ruleset, played, len(policy.ruleset))
    if json_file is not None:
        write_text(json_file, to_json(ruleset, played))
        out.print(f"written to {json_file}")
    if not has_grid(played):
        out.print("(this task has no grid to draw the policy on)")
        return
    out.print(policy_text(ruleset, played, out.width))
    if png is not None:
        title = f"{policy.title} on {played.name}"
        write_png(png, policy_figure(ruleset, played, title))
        out.print(f"drawn to {png}")
