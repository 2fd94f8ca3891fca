"""The command `explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ifthen.cli.front import find_front, print_front
from ifthen.cli.model import NamedPolicy, Policy, of_policy
from ifthen.cli.terminal import err, out
from ifthen.digits import worth_showing
from ifthen.errors import ParameterError, nearest

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet


@of_policy
def explain(
    model: NamedPolicy,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write page, words, verification and pictures here.  [default: only print]"
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="x=5,y=2", help="Say why the policy acts as it does there, and stop."),
    ] = None,
    episode: Annotated[
        int | None, typer.Option(help="Show this training episode step by step, from 1, and stop.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="Another policy to lay beside this one on the page.")
    ] = None,
    front: Annotated[
        bool,
        typer.Option(
            "--front",
            "--ladder",
            help="Also show the best policy found for each size (see 'ifthen front'); with --out, PPL-X "
            "always does.",
        ),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List all rules, also the many of an XCSF that decide nothing.")
    ] = False,
) -> None:
    """Explain a policy: its rules in words, why it acts, an interactive page, pictures.

    For example:

    - `ifthen explain runs/first --out explained`, then open explained/explain.html
    - `ifthen explain runs/first --at x=5,y=2`
    - `ifthen explain runs/first --episode 1`
    - `ifthen explain runs/first --compare runs/second --out explained`
    """
    if at is not None and episode is not None:
        raise ParameterError("--at asks about a state and --episode about an episode: give one of them.")
    if folder is not None:
        if at is not None or episode is not None:
            raise ParameterError("--at and --episode only print: leave --out away.")
        from ifthen.pages.explain_folder import check_folder

        check_folder(folder)
    policy = model.read()
    if at is not None:
        from ifthen.explanation.why import explain as explained

        out.print(str(explained(policy.ruleset, _observation(at, policy.ruleset), policy.task)))
        return
    if episode is not None:
        from ifthen.explanation.trace import trace

        task = policy.known_task()
        if not 1 <= episode <= task.n_episodes:
            raise ParameterError(f"--episode must be from 1 to {task.n_episodes:,}, not {episode}.")
        out.print(trace(policy.ruleset, task, episode=episode - 1).to_text(out.width))
        return
    other = None if compare is None else NamedPolicy(compare, task=model.task, changes=model.changes).read()
    _explain_all(policy, str(model), folder, other, front, everything)


def _explain_all(
    policy: Policy, model: str, folder: Path | None, other: Policy | None, front: bool, everything: bool
) -> None:
    """Print the rules and what was verified, and write everything where a folder is given."""
    from ifthen.explanation.reading import read_rules
    from ifthen.verification import verify as verified

    if other is not None and folder is None:
        raise ParameterError(
            "--compare lays two policies side by side on a page: give --out, or use 'ifthen diff'."
        )
    if other is not None:
        policy.known_task()
    verification = verified(policy.ruleset, policy.task)
    has_front = folder is not None and policy.played and policy.front is not None
    sizes = find_front(policy) if front or has_front else None
    if folder is not None:  # before anything is printed, so that a reader who has seen enough loses nothing
        from ifthen.pages.explain_folder import explain_to

        policies = [(shown.name, shown.ruleset) for shown in (policy, other) if shown is not None]
        with err.status("drawing"):
            page = explain_to(folder, policies, policy.task, verification, sizes, model)
    out.print(read_rules(policy.ruleset, policy.task).to_text(out.width, everything))
    out.print()
    out.print(verification.to_text(out.width))
    if sizes is not None:
        out.print()
        print_front(policy, sizes)
    if folder is not None:
        no_page = " (without a page: the task is not known, or has too many states)"
        out.print(f"written to {folder}" + (f"; open {page}" if page else no_page))


def _observation(state_text: str, ruleset: RuleSet) -> list[float]:
    """Return the observation in a text such as "x=3,y=2", or "3,2" in the order of the features.

    Of many features, those that no rule tests may be left out.
    """
    features = {feature.name: feature for feature in ruleset.observed_features}
    assignments = [assignment.strip() for assignment in state_text.split(",")]
    if "=" not in state_text and len(assignments) == len(features):
        assignments = [f"{name}={assignment}" for name, assignment in zip(features, assignments, strict=True)]
    values: dict[str, float] = {}
    for assignment in assignments:
        name, _, value = (piece.strip() for piece in assignment.partition("="))
        if name not in features:
            raise ParameterError(f"--at takes values by name, as in x=3,y=2.{nearest(name, features)}")
        if name in values:
            raise ParameterError(f"--at has two values for {name}: give one.")
        try:
            values[name] = float(value.removesuffix(features[name].unit))
        except ValueError:
            raise ParameterError(f"--at: {name} must be a number, as in {name}=3, not {value!r}.") from None
    missing = [name for name in worth_showing(features, ruleset.tested) if name not in values]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise ParameterError(f"--at needs a value for every feature: {', '.join(missing)} {verb} missing.")
    return [values.get(name, feature.low) for name, feature in features.items()]
