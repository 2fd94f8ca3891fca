"""The command `verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from ifthen.cli.model import Episodes, JsonFile, NamedPolicy, RequireFile, all_required, of_policy
from ifthen.cli.terminal import UNMET, out, write_json


@of_policy
def verify(
    model: NamedPolicy,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROPERTIES",
            help="What must hold, such as 'complete,fraction>=0.95' or, in words, 'never heat when room "
            ">= 24'. May be repeated.",
        ),
    ] = None,
    require_file: RequireFile = None,
    episodes: Episodes = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print a few lines only.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Check a policy and show a witness for everything that was found.

    Exits with 1 where a requirement does not hold or could not be decided, with 0 otherwise. Those in
    requirements.txt of a run's folder are checked, too, unless --require-file names another file.

    Properties that can be required: `complete`, `no-dead-rules`, `no-conflicts`, `no-redundant-rules`,
    `goal-reachable`, `goal-certain`, `safe`, `optimal`. Numbers, with `>=`, `<=`, `>`, `<` or `=`: `rules`,
    `performance` (in environments on test seeds), `training-performance` (in environments), `fraction` (of
    the optimum), `goal-probability`. In words: `always brake when gap <= 5 and speed >= 10`, `switches at
    most 5 per 100 steps`, `return >= 400 at 95 %`, `never reaches x >= 2.4`.

    For example:

    - `ifthen verify runs/first`
    - `ifthen verify runs/first --require "complete,goal-reachable,performance>=0.3"`
    - `ifthen verify rules.txt --task FrozenLake-8-0.3 --json verified.json`
    - `ifthen verify runs/cartpole --require "complete,performance>=475"`
    - `ifthen verify runs/cartpole --require "never push left when pole angle >= 0.1"`
    - `ifthen verify runs/cartpole --require-file requirements.txt`
    """
    from ifthen.verification import verify as verified

    demands, run_file = all_required(model.path, require, require_file)
    if run_file is not None:
        out.print(f"with the requirements in {run_file}")
    policy = model.read()
    result = verified(policy.ruleset, policy.task, demands, episodes or 100)
    out.print(result.summary() if quiet else result.to_text(out.width))
    write_json(json_file, result.to_dict())
    if not result.passed:
        raise typer.Exit(UNMET)
