"""The command `show`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ifthen.cli.model import JsonFile, NamedPolicy, front_of, of_policy
from ifthen.cli.terminal import out, print_reading, print_rules, print_table, write_file, write_json
from ifthen.errors import ParameterError


@of_policy
def show(
    model: NamedPolicy,
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
    everything: Annotated[bool, typer.Option("--all", help="Show every rule as it was learnt.")] = False,
    front: Annotated[
        bool, typer.Option("--front", help="Of a PPL-X model, list the best list of each length, and stop.")
    ] = False,
    json_file: JsonFile = None,
) -> None:
    """Print a policy's rules in words, and draw it: on its grid or, in an environment, over two features.

    For example:

    - `ifthen show runs/first --png policy.png`
    - `ifthen show runs/front --front`, then `ifthen show runs/front --rules 5`
    - `ifthen show runs/xcsf --compact gnmc --rho 0.2 --json fewer.json`
    """
    from ifthen.explanation.pictures.policy_grid import policy_text
    from ifthen.explanation.pictures.write_pictures import policy_picture
    from ifthen.explanation.reading import readable
    from ifthen.exports.data import to_json
    from ifthen.figure_style import write_png
    from ifthen.simplify.prune import prune
    from ifthen.simulate.scope import tabular

    if front:
        if model.rules is not None or model.tests is not None:
            raise ParameterError("--front lists all, and --rules and --tests take one: leave one out.")
        if png is not None:
            raise ParameterError("--front prints a table, and --png draws one list: leave one out.")
        write_json(json_file, {"front": front_of(model.path).to_table().to_dicts()})
        title = f"The best list of each length in {model.path}; --rules and --tests take one"
        print_table(replace(front_of(model.path).text_table(), title=title))
        return
    as_pruned = compact is None and not everything
    policy = model.read(as_pruned)
    if not policy.played and compact is None and png is None:
        print_reading(policy.ruleset, None)
        out.print("(nothing was played: with --task, shares are of the states that the policy visits)")
        if json_file is not None:
            write_file(json_file, to_json(policy.ruleset, policy.task))
        return
    task = policy.known_task()
    if png is not None and png.suffix.lower() != ".png":
        raise ParameterError(f"--png writes a PNG picture: give a name that ends in .png, not {png}.")
    if compact is not None and everything:
        raise ParameterError("--compact shows fewer rules and --all every one: give one of them.")
    if rho is not None and compact != "gnmc":
        raise ParameterError("--rho belongs to --compact gnmc: give both, or leave --rho out.")
    if compact is not None:
        method: Any = compact
        share = 0.1 if rho is None else rho
        ruleset = prune(policy.ruleset, task, method=method, rho=share).ruleset
    else:
        ruleset = policy.ruleset if everything else readable(policy.ruleset, task)
    picture = None if png is None else policy_picture(ruleset, task)
    if png is not None and picture is None:
        raise ParameterError(f"{task.name} has no grid of x and y to draw the policy on: leave --png out.")
    print_rules(policy.title, ruleset, task, len(policy.ruleset), "" if everything else "--all shows them")
    if json_file is not None:
        write_file(json_file, to_json(ruleset, task))
    if task.on_grid:
        out.print(policy_text(ruleset, tabular(task, "the drawing"), out.width))
    elif picture is None:
        out.print("(there is no grid to draw the policy on)")
    if png is not None and picture is not None:
        write_png(png, picture)
        out.print(f"drawn to {png}")
