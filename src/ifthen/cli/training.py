"""Commands that train and measure: train, resume, evaluate."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ifthen.cli.models import PolicyPath, TaskName, Threads, read_policy
from ifthen.cli.terminal import Stop, after_epoch, err, measured_table, out, print_rules

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet
    from ifthen.study.run_folder import RunFolder
    from ifthen.study.settings import RunSettings
    from ifthen.systems.base import System


def train(
    system: Annotated[str | None, typer.Argument(help="The learner: see `ifthen systems`.")] = None,
    task: Annotated[str | None, typer.Argument(help="What to solve: see `ifthen tasks`.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs of learning.  [default: 250]")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.  [default: 0]")] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the results.  [default: runs/SYSTEM-TASK-seedN]"),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the system; may be repeated."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file of settings; what the command line says wins.")
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(help="Begin with the rules in this model or .json, .txt or .md file."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older run in --out.")] = False,
    threads: Threads = None,
) -> None:
    """Train a policy, print its rules and write model, history, pictures and a report.

    For example:

    - `ifthen train PPL-ST FrozenLake-8-0.3 --epochs 250 --seed 0 --out runs/first`
    - `ifthen train PPL-DL FrozenLake-4-0 --set p_mut=0.02 --set fitness=exact`
    - `ifthen train --config run.toml`
    - `ifthen train PPL-DL FrozenLake-8-0.3 --start mine.txt`

    A configuration file holds for example:

        system = "PPL-ST"
        task = "FrozenLake-8-0.3"
        epochs = 250

        [parameters]
        noise = "stream"
    """
    from ifthen.study.run_folder import RunFolder
    from ifthen.study.settings import checked_settings, parse_assignment, read_settings

    given: dict[str, Any] = read_settings(config) if config else {}
    said = {"system": system, "task": task, "epochs": epochs, "seed": seed}
    given |= {name: value for name, value in said.items() if value is not None}
    settings = checked_settings(given)
    changes = dict(parse_assignment(text) for text in assignments or [])
    settings = settings.model_copy(update={"parameters": {**settings.parameters, **changes}})
    rules = None if start is None else read_policy(start).ruleset
    learner = settings.make_system(threads, rules)
    name = re.sub(r"[^\w.-]+", "_", f"{learner.name}-{learner.task.name}-seed{learner.seed}")
    default = Path("runs") / name
    run_folder = RunFolder(folder or default)
    run_folder.claim(settings, overwrite, rules)
    _learn_and_report(run_folder, settings, learner)


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of a run that was interrupted.")],
    threads: Threads = None,
) -> None:
    """Go on with a run that was interrupted, to the same result as if it had not been.

    For example:

    - `ifthen resume runs/first`
    """
    from ifthen.study.run_folder import RunFolder

    run_folder = RunFolder(folder)
    settings = run_folder.settings()
    learner = run_folder.system(settings, threads)
    done = learner.epoch if learner.started else 0
    out.print(
        f"{done} of {settings.epochs} epochs are done" + ("" if done < settings.epochs else ": finished")
    )
    _learn_and_report(run_folder, settings, learner)


def evaluate(
    model: PolicyPath,
    noise: Annotated[
        str | None, typer.Option(help="aligned or stream; as in training by default.", show_default=False)
    ] = None,
    task: TaskName = None,
) -> None:
    """Measure a trained policy: on z with common random numbers, and exactly.

    For example:

    - `ifthen evaluate runs/first`
    - `ifthen evaluate runs/first/model.zip --task FrozenLake-8-0.1 --noise stream`
    """
    from ifthen.rollout.evaluate import evaluate as measure

    policy = read_policy(model, task)
    played, how = policy.known_task(), cast(Any, noise or policy.noise)
    sampled = measure(policy.ruleset, played, "sampled", how)
    exact = measure(policy.ruleset, played, "exact")
    out.print(measured_table(f"{policy.title} on {played.name}", sampled, exact))


def _learn_and_report(run_folder: RunFolder, settings: RunSettings, learner: System) -> None:
    """Learn, then write and print everything that a finished run has."""
    from ifthen.explain.fewer.simplify import simplify
    from ifthen.explain.words import readable
    from ifthen.rollout.evaluate import evaluate as measure
    from ifthen.study.run_folder import REPORT, RULES

    with Stop() as stop:
        try:
            finished = run_folder.learn(
                learner, settings, out.is_terminal, after_epoch(settings.epochs, stop)
            )
        except KeyboardInterrupt:
            finished = False
    if not finished:
        at = f" and saved at epoch {learner.epoch}" if learner.started else ""
        err.print(f"stopped{at}; 'ifthen resume {run_folder.path}' goes on from there")
        raise typer.Exit(130)
    shown = readable(learner.ruleset, learner.task)
    _write_pictures(run_folder, settings, learner, shown)
    print_rules(learner.name, shown, learner.task, len(learner.ruleset))
    if len(shown) < len(learner.ruleset):
        out.print(f"(these make the same choice in every state as all {len(learner.ruleset)} in {RULES})")
    sampled = measure(learner, learner.task, "sampled", learner.parameters.noise)
    exact = measure(learner, learner.task, "exact")
    out.print(measured_table(f"{learner.name} on {learner.task.name}", sampled, exact))
    fewer = len(simplify(learner.ruleset, learner.task).ruleset)
    if fewer < len(shown):
        out.print(f"({fewer} rules say the same in every state: 'ifthen prune {run_folder.path}' shows them)")
    out.print(f"written to {run_folder.path}; open {run_folder / REPORT}")


def _write_pictures(run_folder: RunFolder, settings: RunSettings, learner: System, shown: RuleSet) -> None:
    """Write the rules, the pictures and the report, which lists the rules `shown`."""
    from ifthen.explain.export.data import to_json
    from ifthen.explain.export.text import rules_text
    from ifthen.explain.page import report_page
    from ifthen.explain.pictures.grid import has_grid
    from ifthen.explain.pictures.policy import policy_figure
    from ifthen.figure_style import write_png
    from ifthen.store import write_text
    from ifthen.study import run_folder as files
    from ifthen.study.figures.learning import learning_curve
    from ifthen.study.settings import toml_value

    ruleset, task = learner.ruleset, learner.task
    write_text(run_folder / files.RULES, rules_text(ruleset, task.name))
    write_text(run_folder / files.RULESET, to_json(ruleset, task))
    curve = learning_curve(learner)
    write_png(run_folder / files.CURVE, curve)
    if has_grid(task):
        write_png(run_folder / files.POLICY, policy_figure(ruleset, task, f"{learner.name} on {task.name}"))
    name = settings.task if isinstance(settings.task, str) else None
    parameters = "".join(f" --set {key}={toml_value(value)}" for key, value in settings.parameters.items())
    started = "" if learner.start is None else f" --start {files.START}"
    command = (
        f"ifthen train {settings.system} {name} --epochs {settings.epochs} --seed {settings.seed}{parameters}"
        if name
        else f"ifthen train --config {files.SETTINGS}"
    ) + started
    write_text(run_folder / files.REPORT, report_page(learner, shown, curve, command))
