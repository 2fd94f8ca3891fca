"""The command `stress`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ifthen.cli.model import JsonFile, NamedPolicy, Policy, Threads, of_policy
from ifthen.cli.terminal import UNMET, err, out, print_table, write_json
from ifthen.errors import ParameterError


@of_policy
def stress(
    model: NamedPolicy,
    disturb: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=STRENGTHS]",
            help="Sweep this disturbance only, such as noise or noise=0.01,0.05: noise, bias, delay, drop, "
            "action_delay, action_repeat, t_max; may be repeated.  [default: all]",
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="Sweep a parameter of the environment: unwrapped.gravity=5..15 (an attribute) or "
            "options.gravity=-12,-8 (an option of making it); may be repeated. Without --disturb, nothing "
            "else is swept.",
        ),
    ] = None,
    require: Annotated[
        str | None,
        typer.Option(
            help="What must hold, such as 'performance>=400, failed<=5%'; exits with 1 where it does not.  "
            "[default: halfway between random actions and the undisturbed policy]",
            show_default=False,
        ),
    ] = None,
    fail_below: Annotated[
        float | None,
        typer.Option(help="The return below which an episode fails.  [default: the required performance]"),
    ] = None,
    worst_start: Annotated[
        bool, typer.Option("--worst-start", help="Search for the worst starts instead, and show them.")
    ] = False,
    episodes: Annotated[
        int,
        typer.Option(help="In an environment: test seeds per strength; with --worst-start 1,000 or more."),
    ] = 100,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Write a page, the heat map and JSON here.")
    ] = None,
    threads: Threads = None,
    json_file: JsonFile = None,
) -> None:
    """Play a policy under disturbances of growing strength: noise, delays, longer episodes, other parameters.

    For example:

    - `ifthen stress runs/pole`
    - `ifthen stress runs/pole --require "performance>=475" --out stressed`
    - `ifthen stress runs/pole --disturb noise=0.02,0.05 --disturb t_max=5000`
    - `ifthen stress runs/pole --vary "unwrapped.gravity=5..15" --vary "unwrapped.length=0.25,0.5,1"`
    - `ifthen stress runs/pole --worst-start`
    """
    from ifthen.robustness.strengths import assignments
    from ifthen.robustness.stress import stress as stressed

    if require is not None and not require.strip(" ,"):
        raise ParameterError("--require is empty: name what must hold, such as --require 'performance>=400'.")
    if folder is not None:
        from ifthen.pages.explain_folder import check_folder

        check_folder(folder)
    policy = model.read()
    task = policy.known_task()
    if worst_start:
        if disturb or vary or require or fail_below is not None or folder is not None:
            raise ParameterError(
                "--worst-start looks for starts and sweeps nothing: leave out --disturb, --vary, --require, "
                "--fail-below and --out. --task-set disturbances.noise=0.05 looks for the worst starts under "
                "noise."
            )
        _print_worst(policy, max(1000, episodes), threads, json_file)
        return
    disturbances: dict[str, Any] | None = assignments(disturb) if disturb else {} if vary else None
    with err.status("playing") as status:
        result = stressed(
            policy.ruleset,
            task,
            disturbances,
            assignments(vary or []),
            episodes,
            require or "",
            fail_below,
            threads,
            progress=lambda name: status.update(f"playing with {name}"),
        )
    print_table(result.text_table())
    write_json(json_file, result.to_dict())
    if folder is not None:
        from ifthen.pages.stress_page import stress_to

        page = stress_to(folder, result, policy.title, policy.ruleset)
        out.print(f"written to {folder}; open {page}")
    if require and not result.holds:
        raise typer.Exit(UNMET)


def _print_worst(policy: Policy, episodes: int, threads: int | None, json_file: Path | None) -> None:
    """Search for the worst starts, and print the worst episode."""
    from ifthen.robustness.worst_start import worst_starts

    with err.status("looking for the worst starts"):
        worst = worst_starts(policy.ruleset, policy.known_task(), episodes, threads=threads)
    out.print(worst.to_text(out.width))
    write_json(json_file, worst.to_dict())
