"""The commands `train` and `resume`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ifthen.cli.model import (
    Packages,
    Threads,
    check_typed,
    located,
    packaged,
    reach,
    read_policy,
    task_option,
)
from ifthen.cli.study import run_seeds
from ifthen.cli.terminal import Stop, after_epoch, err, out, print_evaluations, print_rules

if TYPE_CHECKING:
    from ifthen.runs.folder import RunFolder
    from ifthen.runs.settings import RunSettings
    from ifthen.simplify.prune import PruneResult
    from ifthen.systems.learning import Callback
    from ifthen.systems.system import System

Curves = Annotated[
    Path | None,
    typer.Option("--tensorboard", metavar="FOLDER", help="Also write curves for TensorBoard here."),
]


def train(
    system: Annotated[
        str | None, typer.Argument(metavar="SYSTEM", help="The learner: see `ifthen systems`.")
    ] = None,
    task: Annotated[
        str | None,
        typer.Argument(
            help="What to solve: see `ifthen tasks`; FOLDER/module:Class for a class in a file of yours.",
            metavar="TASK",
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Epochs of learning.  [default: 250; PPL-X: its plan]")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="In place of --epochs: environment steps.")] = None,
    stop_at: Annotated[
        float | None,
        typer.Option(
            metavar="SCORE", help="Stop sooner, at this performance (in environments on validation seeds)."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.  [default: 0]")] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Train this many times, from --seed on, side by side; a study with its report."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the results.  [default: runs/SYSTEM-TASK-seedN]"),
    ] = None,
    task_assignments: Annotated[
        list[str] | None,
        typer.Option("--task-set", metavar="NAME=VALUE", help="A setting of the task; may be repeated."),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the system; may be repeated."),
    ] = None,
    rules: Annotated[
        int | None, typer.Option(help="PPL-X: the best list with at most this many rules.")
    ] = None,
    tests: Annotated[
        int | None,
        typer.Option(help="PPL-X: the best list with at most this many comparisons (x ≤ 3 is one)."),
    ] = None,
    terms: Annotated[
        list[str] | None,
        typer.Option(
            "--term",
            metavar="NAME=SUM",
            help="PPL-X: a sum of features that rules may compare, such as 'tilt error [rad] = 0.5*x + x "
            "velocity - angle'; may be repeated. --set terms=false: no others.",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file of settings; what the command line says wins.")
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(help="Begin with the rules in this model or .json, .txt or .md file."),
    ] = None,
    no_prune: Annotated[
        bool, typer.Option("--no-prune", help="Leave the rules as they were learnt.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older run in --out.")] = False,
    tensorboard: Curves = None,
    threads: Threads = None,
) -> None:
    """Train a policy, prune it, print its rules and write model, history, pictures and a report.

    For example:

    - `ifthen train PPL-X FrozenLake-8-0.3 --seed 0 --out runs/first`
    - `ifthen train PPL-DL FrozenLake-4-0 --set p_mut=0.02 --set fitness=exact`
    - `ifthen train PPL-DL CartPole-v1 --stop-at 500`
    - `ifthen train PPL-DL MountainCar-v0 --task-set episodes=50 --task-set default_action=coast`
    - `ifthen train XCSF FrozenLake-4-0 --steps 50000 --stop-at 0.7`
    - `ifthen train --config run.toml`
    - `ifthen train PPL-DL FrozenLake-8-0.3 --start mine.txt`
    - `ifthen train PPL-DL CartPole-v1 --seeds 10 --out runs/ten`
    - `ifthen train PPL-X FrozenLake-8-0.3 --rules 5`
    - `ifthen train PPL-X CartPole-v1 --term "tilt = pole angle + 0.5*pole velocity"`

    A configuration file holds for example:

        system = "PPL-ST"
        task = "FrozenLake-8-0.3"
        epochs = 250

        [parameters]
        noise = "stream"

    Any Gymnasium environment with Discrete actions is a task, by its id, or by `package:Id-v0` where a
    package of yours registers it, such as a module in the current folder; `module:Class` names a class, or a
    function that makes the environment. Runs of such an environment are opened again with
    `--task package:Id-v0`, as files never have packages imported. Its settings, by --task-set or in place of
    the line `task = …`:

        [task]
        environment = "CartPole-v1"
        episodes = 50                    # reset seeds that measure performance
        gamma = 0.99
        default_action = "push left"     # where no rule matches
        ranges = {"cart velocity" = [-3.0, 3.0]}
        options = {sutton_barto_reward = true}

    Others are name, t_max, floor, noise_seed, player, lanes, leave_out, feature_names and action_names.
    """
    from ifthen.runs.folder import RunFolder
    from ifthen.runs.settings import checked_settings, parse_assignment, read_settings
    from ifthen.runs.task_settings import with_settings

    given: dict[str, Any] = read_settings(config) if config else {}
    said = {"system": system, "task": task and located(task), "seed": seed, "stop_at": stop_at}
    said |= {"epochs": epochs, "steps": steps, "prune": False if no_prune else None}
    if config and (epochs is None) != (steps is None):
        given.pop("epochs" if epochs is None else "steps", None)  # what the command line says wins
    given |= {name: value for name, value in said.items() if value is not None}
    if task_assignments:
        task_changes = dict(parse_assignment(text, "--task-set") for text in task_assignments)
        given["task"] = with_settings(given.get("task"), task_changes)
    settings = checked_settings(given)
    reach(settings.task)
    changes = dict(parse_assignment(text) for text in assignments or [])
    own = {"rules": rules, "tests": tests, "given_terms": terms or None}
    changes |= {name: value for name, value in own.items() if value is not None}
    settings = settings.model_copy(update={"parameters": {**settings.parameters, **changes}})
    if seeds is not None:
        settings = settings.for_system(settings.make_system(threads))
        others = {"--steps": settings.steps, "--stop-at": settings.stop_at, "--start": start}
        others |= {"--tensorboard": tensorboard, "--overwrite": overwrite or None}
        run_seeds(settings, seeds, folder, threads, [name for name, own in others.items() if own is not None])
        return
    begin = None if start is None else read_policy(start, pruned=False).ruleset
    learner = settings.make_system(threads, begin)
    settings = settings.for_system(learner)
    curves = _curves(tensorboard)
    name = re.sub(r"[^\w.-]+", "_", f"{learner.name}-{learner.task.name}-seed{learner.seed}")
    default = Path("runs") / name
    run_folder = RunFolder(folder or default)
    with run_folder.claimed(settings, overwrite, begin):
        if suited := _suited(learner, settings.parameters):
            named = packaged(settings.task) or learner.task.environment
            out.print(f"parameters that suit {learner.task.name}: {suited}; 'ifthen systems --task {named}'")
        _learn_and_report(run_folder, settings, learner, curves)


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of a run that was interrupted.")],
    typed: Packages = None,
    tensorboard: Curves = None,
    threads: Threads = None,
) -> None:
    """Go on with a run that was interrupted, to the same result as if it had not been.

    For example:

    - `ifthen resume runs/first`
    """
    from ifthen.runs.folder import RunFolder
    from ifthen.runs.task_settings import texts_of

    run_folder, typed = RunFolder(folder), [located(name) for name in typed or []]
    settings = run_folder.settings(typed)
    check_typed(typed, texts_of(settings.task))
    reach(settings.task)
    with run_folder.alone():
        learner = run_folder.system(settings, threads)
        goal = settings.goal
        done = goal.count(learner.now.records[-1]) if learner.started else 0
        finished = learner.started and settings.is_done(learner)
        out.print(f"{done} of {goal.target} {goal.unit} are done" + (": finished" if finished else ""))
        _learn_and_report(run_folder, settings, learner, _curves(tensorboard))


def _curves(folder: Path | None) -> list[Callback]:
    """Return what writes curves to a folder, where one is given."""
    from ifthen.systems.callbacks import TensorBoard

    return [] if folder is None else [TensorBoard(folder)]


def _learn_and_report(
    run_folder: RunFolder, settings: RunSettings, learner: System, curves: list[Callback]
) -> None:
    """Learn, then write and print everything that a finished run has."""
    with Stop() as stop:
        try:
            callbacks = [*curves, after_epoch(settings.goal, stop)]
            finished = run_folder.learn(learner, settings, out.is_terminal, callbacks)
        except KeyboardInterrupt:
            finished = False
    if not finished:
        again = f"'ifthen resume {run_folder.path}{task_option(settings.task)}'"
        if learner.started:
            err.print(f"stopped and saved at epoch {learner.epoch}; {again} goes on from there")
        else:
            err.print(f"stopped before epoch 0: there is nothing to save yet, and {again} begins anew")
        raise typer.Exit(130)
    _report(run_folder, settings, learner)


def _report(run_folder: RunFolder, settings: RunSettings, learner: System) -> None:
    """Prune the policy of a finished run, write its report, and print its rules and how well they do."""
    from ifthen.explanation.reading import readable
    from ifthen.runs.folder import PRUNED, REPORT, RULES
    from ifthen.runs.report import command_of, write_report

    pruned = _pruned(learner) if settings.prune else None
    command = command_of(settings, learner.start is not None)
    found = write_report(run_folder, command, learner, pruned)
    task, option = learner.task, task_option(settings.task)
    ruleset = learner.ruleset if pruned is None else pruned.ruleset
    shown = readable(ruleset, task)
    more = f"'ifthen show {run_folder.path}{option} --all' shows them"
    if pruned is not None:
        out.print(str(pruned))
    name = learner.name if pruned is None else f"{learner.name}, pruned,"
    print_rules(name, shown, task, len(ruleset), more)
    if len(shown) < len(ruleset):
        out.print(f"(these choose the same as all {len(ruleset)} in {RULES if pruned is None else PRUNED})")
    print_evaluations(f"{name} on {task.name}", found)
    out.print(f"'ifthen verify {run_folder.path}{option}' checks these rules")
    out.print(f"written to {run_folder.path}; open {run_folder / REPORT}")


def _pruned(learner: System) -> PruneResult | None:
    """Return the pruned rules of a trained system; None where they are not to be used, and say so."""
    from ifthen.runs.pruning import pruned_policy

    if learner.shortens:
        return None
    why = "fewer rules would do worse"
    with err.status("looking for fewer rules") as status:
        try:
            found = pruned_policy(
                learner, lambda left: status.update(f"looking for fewer rules: {left} left")
            )
        except KeyboardInterrupt:
            found, why = None, "pruning was stopped"
    if found is None:
        out.print(f"{why}: these are the rules as they were learnt")
    return found


def _suited(learner: System, given: Mapping[str, Any]) -> str:
    """Return the parameters that differ from the defaults because they suit the task; "" for none."""
    from ifthen.runs.settings import toml_value
    from ifthen.systems.presets import preset

    if not preset(learner.name, learner.task):
        return ""
    used = learner.parameters.model_dump()
    return ", ".join(
        f"{name}={toml_value(used[name])}"
        for name, default, _ in learner.list_parameters()
        if name not in given and used[name] != default
    )
