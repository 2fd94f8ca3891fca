"""The command `evaluate`."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from ifthen.checks import one_of
from ifthen.cli.model import JsonFile, NamedPolicy, Threads, of_policy
from ifthen.cli.terminal import out, print_evaluations, write_json
from ifthen.errors import ParameterError

MOST_EPISODES = 100_000


@of_policy
def evaluate(
    model: NamedPolicy,
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
    task, rules = policy.known_task(), policy.ruleset
    options = {"--noise": noise, "--episodes": episodes, "--seeds": seeds}
    for option, value in options.items():
        if value is not None and option.removeprefix("--") not in task.measured_by:
            scope = "tables of states" if option == "--noise" else "environments"
            raise ParameterError(f"{option} is for {scope}: leave it out for {task.name}.")
    if seeds is not None and episodes is not None:
        raise ParameterError("--seeds says which episodes are played: leave --episodes out.")
    noise_mode: Any = noise or policy.noise
    one_of("--noise", noise_mode, ("aligned", "stream"))
    if seeds is None:
        measurements = evaluations(rules, task, noise_mode, threads, 100 if episodes is None else episodes)
    else:
        first, last = _ends(seeds)
        on_seeds = measure(rules, task, threads=threads, seeds=range(first, last + 1))
        on_training = measure(rules, task, threads=threads, seeds="training")
        measurements = {f"on seeds {seeds}": on_seeds, "on training seeds": on_training}
    print_evaluations(f"{policy.title} on {task.name}", measurements)
    data: dict[str, Any] = {name: evaluation.to_dict() for name, evaluation in measurements.items()}
    if behaves:
        from ifthen.explanation.behaviour import behaviour

        behaviour_report = behaviour(rules, task, 100 if episodes is None else episodes, threads)
        out.print()
        out.print(behaviour_report.to_text(out.width))
        data["behaviour"] = behaviour_report.to_dict()
    write_json(json_file, data)


def _ends(seeds: str) -> tuple[int, int]:
    """Return the first and the last of `5000-5099`."""
    matched = re.fullmatch(r"(\d{1,15})(?:-(\d{1,15}))?", seeds.strip())
    first, last = (int(matched[1]), int(matched[2] or matched[1])) if matched else (1, 0)
    if not first <= last < first + MOST_EPISODES:
        raise ParameterError(
            f"--seeds takes the first and the last reset seed, such as 5000-5099, not {seeds!r}."
        )
    return first, last
