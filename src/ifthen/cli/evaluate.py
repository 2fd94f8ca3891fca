"""The command `evaluate`."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from ifthen.checks import one_of
from ifthen.cli.model import JsonFile, Named, Threads, of_policy
from ifthen.cli.terminal import out, print_evaluations, write_json
from ifthen.errors import ParameterError

MOST_EPISODES = 100_000


@of_policy
def evaluate(
    model: Named,
    noise: Annotated[
        str | None,
        typer.Option(help="On a table: aligned or stream; as in training by default.", show_default=False),
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(help="In an environment: how many test seeds to play.  [default: 100]")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="FIRST-LAST", help="In an environment: play these reset seeds instead."),
    ] = None,
    behaves: Annotated[
        bool,
        typer.Option(
            "--behaviour",
            help="Also say how it behaves: time per rule, changes of action, and what each rule is worth.",
        ),
    ] = False,
    threads: Threads = None,
    json_file: JsonFile = None,
) -> None:
    """Measure a policy: exactly on a table, on test seeds in an environment; and on the training episodes.

    For example:

    - `ifthen evaluate runs/first`
    - `ifthen evaluate runs/first/model.zip --task FrozenLake-8-0.1 --noise stream`
    - `ifthen evaluate runs/cartpole --episodes 1000`
    - `ifthen evaluate runs/cartpole --seeds 5000-5099`
    - `ifthen evaluate runs/cartpole --behaviour`
    """
    from ifthen.simulate.evaluate import evaluate as measure
    from ifthen.simulate.evaluate import evaluations

    policy = model.read()
    played, rules = policy.known_task(), policy.ruleset
    given = {"--noise": noise, "--episodes": episodes, "--seeds": seeds}
    for option, value in given.items():
        if value is not None and option.removeprefix("--") not in played.measured_by:
            kind = "tables of states" if option == "--noise" else "environments"
            raise ParameterError(f"{option} is for {kind}: leave it out for {played.name}.")
    if seeds is not None and episodes is not None:
        raise ParameterError("--seeds says which episodes are played: leave --episodes out.")
    how: Any = noise or policy.noise
    one_of("--noise", how, ("aligned", "stream"))
    if seeds is None:
        found = evaluations(rules, played, how, threads, 100 if episodes is None else episodes)
    else:
        first, last = _ends(seeds)
        own = measure(rules, played, threads=threads, seeds=range(first, last + 1))
        trained = measure(rules, played, threads=threads, seeds="training")
        found = {f"on seeds {seeds}": own, "on training seeds": trained}
    print_evaluations(f"{policy.title} on {played.name}", found)
    plain: dict[str, Any] = {name: one.to_dict() for name, one in found.items()}
    if behaves:
        from ifthen.explanation.behaviour import behaviour

        told = behaviour(rules, played, 100 if episodes is None else episodes, threads)
        out.print()
        out.print(told.to_text(out.width))
        plain["behaviour"] = told.to_dict()
    write_json(json_file, plain)


def _ends(seeds: str) -> tuple[int, int]:
    """Return the first and the last of `5000-5099`."""
    found = re.fullmatch(r"(\d{1,15})(?:-(\d{1,15}))?", seeds.strip())
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if not first <= last < first + MOST_EPISODES:
        raise ParameterError(
            f"--seeds takes the first and the last reset seed, such as 5000-5099, not {seeds!r}."
        )
    return first, last
