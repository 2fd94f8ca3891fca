"""Commands that question a policy: explain, verify, diff."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ifthen.cli.models import Policy, PolicyPath, TaskName, read_policy
from ifthen.cli.terminal import err, out
from ifthen.errors import ParameterError, nearest

if TYPE_CHECKING:
    from ifthen.explain.fewer.ladder import Ladder
    from ifthen.rules.ruleset import RuleSet

UNMET = 1
JsonFile = Annotated[Path | None, typer.Option("--json", help="Also write it as JSON to this file.")]


def explain(
    model: PolicyPath,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write page, words, verification and pictures here.  [default: only print]"
        ),
    ] = None,
    task: TaskName = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="x=5,y=2", help="Say why the policy does what it does there, and stop."),
    ] = None,
    episode: Annotated[
        int | None, typer.Option(help="Show this episode of z step by step, from 1, and stop.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="Another policy to lay beside this one on the page.")
    ] = None,
    ladder: Annotated[
        bool, typer.Option("--ladder", help="Also say what fewer rules would cost (takes seconds).")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List all rules, also the many of an XCSF that never decide.")
    ] = False,
) -> None:
    """Read and question a policy: rules in words, why it acts, an interactive page, pictures.

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
        from ifthen.explain.folder import check_folder

        check_folder(folder)
    policy = read_policy(model, task)
    if at is not None:
        from ifthen.explain.why import explain as explained

        out.print(str(explained(policy.ruleset, _observation(at, policy.ruleset), policy.task)))
        return
    if episode is not None:
        from ifthen.explain.trace import trace

        played = policy.known_task()
        if not 1 <= episode <= len(played.z):
            raise ParameterError(f"--episode must be from 1 to {len(played.z):,}, not {episode}.")
        out.print(trace(policy.ruleset, played, episode=episode - 1).to_text(out.width))
        return
    other = None if compare is None else read_policy(compare, task)
    _explain_all(policy, folder, other, ladder, everything)


def _explain_all(
    policy: Policy, folder: Path | None, other: Policy | None, ladder: bool, everything: bool
) -> None:
    """Print the rules and what was verified, and write everything where a folder is given."""
    from ifthen.explain.verify import verify as verified
    from ifthen.explain.words import read_rules

    if other is not None and folder is None:
        raise ParameterError(
            "--compare lays two policies side by side on a page: give --out, or use 'ifthen diff'."
        )
    if other is not None:
        policy.known_task()
    found = verified(policy.ruleset, policy.task)
    steps = _ladder(policy) if ladder else None
    if folder is not None:  # before anything is printed, so that a reader who has seen enough loses nothing
        from ifthen.explain.folder import explain_to

        with err.status("drawing"):
            page = explain_to(folder, policy, found, other, steps)
    out.print(read_rules(policy.ruleset, policy.task).to_text(out.width, everything))
    out.print()
    out.print(found.to_text(out.width))
    if steps is not None:
        out.print()
        out.print(str(steps))
    if folder is not None:
        none = " (without a page, which shows the states of a task, where they are not too many)"
        out.print(f"written to {folder}" + (f"; open {page}" if page else none))


def _ladder(policy: Policy) -> Ladder:
    """Return the ladder of a policy."""
    from ifthen.explain.fewer.ladder import ladder as all_rungs

    with err.status("looking for fewer rules"):
        return all_rungs(policy.ruleset, policy.table_task("the ladder"))


def verify(
    model: PolicyPath,
    task: TaskName = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROPERTIES",
            help="What must hold, such as 'complete,fraction>=0.95': complete, no-dead-rules, no-conflicts, "
            "no-redundant-rules, goal-reachable, goal-certain, safe, optimal; and the numbers rules, "
            "performance, fraction (of the optimum), goal-probability, and in environments "
            "unseen-performance, with >=, <=, >, < or =.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print a few lines only.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Check a policy and show a witness for everything that was found.

    Exits with 1 where a required property does not hold or could not be decided, with 0 otherwise.
    For example:

    - `ifthen verify runs/first`
    - `ifthen verify runs/first --require "complete,goal-reachable,performance>=0.3"`
    - `ifthen verify rules.txt --task FrozenLake-8-0.3 --json verified.json`
    - `ifthen verify runs/cartpole --require "complete,unseen-performance>=475"`
    """
    from ifthen.explain.verify import verify as verified
    from ifthen.explain.verify.requirements import parse

    if require is not None and not all(text.strip(" ,") for text in require):
        raise ParameterError("--require is empty: name what must hold, such as --require complete.")
    demands = ",".join(require or [])
    parse(demands, True)  # what is wrong with it is said before any file is read
    policy = read_policy(model, task)
    found = verified(policy.ruleset, policy.task, demands)
    out.print(found.summary() if quiet else found.to_text(out.width))
    _write_json(json_file, found.to_dict())
    if not found.passed:
        raise typer.Exit(UNMET)


def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="A policy: model, run folder or rules.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another policy for the same task.")],
    task: TaskName = None,
    json_file: JsonFile = None,
) -> None:
    """Show where two policies act differently, and what that does to the performance.

    For example:

    - `ifthen diff runs/first runs/second`
    - `ifthen diff runs/first edited.txt --task FrozenLake-8-0.3`
    """
    from ifthen.explain.diff import diff as difference

    a, b = read_policy(first, task), read_policy(second, task)
    if a.task is not None and b.task is not None and a.task.name != b.task.name:
        raise ParameterError(
            f"{first} is for {a.task.name} and {second} for {b.task.name}: give --task to compare in."
        )
    found = difference(a.ruleset, b.ruleset, a.task or b.task, (str(first), str(second)))
    out.print(found.to_text(out.width))
    _write_json(json_file, found.to_dict())


def _write_json(path: Path | None, data: dict[str, Any]) -> None:
    """Write plain data where a path is given."""
    if path is not None:
        from ifthen.store import write_text

        write_text(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
        out.print(f"written to {path}")


def _observation(text: str, ruleset: RuleSet) -> list[float]:
    """Return the observation in a text such as "x=3,y=2", or "3,2" in the order of the features."""
    features = {feature.name: feature for feature in ruleset.features}
    parts = [part.strip() for part in text.split(",")]
    if "=" not in text and len(parts) == len(features):
        parts = [f"{name}={part}" for name, part in zip(features, parts, strict=True)]
    given: dict[str, float] = {}
    for part in parts:
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in features:
            raise ParameterError(f"--at takes values by name, as in x=3,y=2.{nearest(name, features)}")
        if name in given:
            raise ParameterError(f"--at has two values for {name}: give one.")
        try:
            given[name] = float(value.removesuffix(features[name].unit))
        except ValueError:
            raise ParameterError(f"--at: {name} must be a number, as in {name}=3, not {value!r}.") from None
    missing = [name for name in features if name not in given]
    if missing:
        raise ParameterError(f"--at needs a value for every feature: {', '.join(missing)} is missing.")
    return [given[name] for name in features]
