"""The command `train`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ifthen.cli.model import Assignments, Require, RequireFile, TaskChanges, Threads, read_policy, required
from ifthen.cli.run import Curves, curves_in, learn_and_report
from ifthen.cli.study import run_seeds
from ifthen.cli.task_names import allow_cwd_imports, located, packaged
from ifthen.cli.terminal import out

if TYPE_CHECKING:
    from ifthen.systems.system import System


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
    task_assignments: TaskChanges = None,
    robust: Annotated[
        str | None,
        typer.Option(
            metavar="noise=0.05,t_max=2000",
            help="Train and test under disturbances: noise, bias, delay, drop, action_delay, action_repeat; "
            "t_max for longer episodes. See `ifthen stress`.",
        ),
    ] = None,
    assignments: Assignments = None,
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
    require: Require = None,
    require_file: RequireFile = None,
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
    - `ifthen train PPL-X CartPole-v1 --robust noise=0.02,t_max=2000`
    - `ifthen train PPL-X CartPole-v1 --term "tilt = pole angle + 0.5*pole velocity"`
    - `ifthen train PPL-X CartPole-v1 --require "never push left when pole angle >= 0.1"`

    A configuration file holds for example:

        system = "PPL-ST"
        task = "FrozenLake-8-0.3"
        epochs = 250

        [parameters]
        noise = "stream"

    Any Gymnasium environment with Discrete actions is a task, by its id, or by `package:Id-v0` where a
    package of yours registers it, such as a module in the current folder; `module:Class` names a class, or a
    function that makes the environment. Opening a run never imports your code: pass
    `--task package:Id-v0` to commands that play. Its settings, by --task-set or in place of
    the line `task = …`:

        [task]
        environment = "CartPole-v1"
        episodes = 50                    # reset seeds that measure performance
        gamma = 0.99
        default_action = "push left"     # where no rule matches
        ranges = {"cart velocity" = [-3.0, 3.0]}
        options = {sutton_barto_reward = true}

        disturbances = {noise = 0.02}    # what --robust noise=0.02 says

    Others are name, t_max, floor, noise_seed, player, lanes, leave_out, feature_names and action_names.
    """
    from ifthen.runs.run_folder import RunFolder
    from ifthen.runs.settings import checked_settings, parse_assignments, read_settings
    from ifthen.runs.task_settings import with_settings
    from ifthen.verification.requirements import check_requirements

    settings_data: dict[str, Any] = read_settings(config) if config else {}
    options = {"system": system, "task": task and located(task), "seed": seed, "stop_at": stop_at}
    options |= {"epochs": epochs, "steps": steps, "prune": False if no_prune else None}
    if config and (epochs is None) != (steps is None):
        settings_data.pop("epochs" if epochs is None else "steps", None)  # what the command line says wins
    settings_data |= {name: value for name, value in options.items() if value is not None}
    if require is not None or require_file is not None:
        settings_data["require"] = required(require, require_file)
    task_changes = parse_assignments(task_assignments, "--task-set")
    task_changes |= {
        name if name == "t_max" else f"disturbances.{name}": strength
        for name, strength in parse_assignments(filter(None, (robust or "").split(",")), "--robust").items()
    }
    if task_changes:
        settings_data["task"] = with_settings(settings_data.get("task"), task_changes)
    settings = checked_settings(settings_data)
    allow_cwd_imports(settings.task)
    changes = parse_assignments(assignments)
    pplx_options = {"rules": rules, "tests": tests, "given_terms": terms or None}
    changes |= {name: value for name, value in pplx_options.items() if value is not None}
    settings = settings.model_copy(update={"parameters": {**settings.parameters, **changes}})
    if seeds is not None:
        settings = settings.for_system(settings.make_system(threads))
        single_run_options = {"--steps": settings.steps, "--stop-at": settings.stop_at, "--start": start}
        single_run_options |= {"--tensorboard": tensorboard, "--overwrite": overwrite or None}
        refused = [name for name, value in single_run_options.items() if value is not None]
        run_seeds(settings, seeds, folder, threads, refused + ["--require"] * bool(settings.require))
        return
    start_rules = None if start is None else read_policy(start, pruned=False).ruleset
    learner = settings.make_system(threads, start_rules)
    check_requirements(settings.require, learner.task)
    settings = settings.for_system(learner)
    curves = curves_in(tensorboard)
    run_folder = RunFolder(folder or default_folder(learner.name, learner.task.name, learner.seed))
    with run_folder.claimed(settings, overwrite, start_rules, settings.require):
        if suited := _suited(learner, settings.parameters):
            task_name = packaged(settings.task) or learner.task.environment
            out.print(
                f"parameters that suit {learner.task.name}: {suited}; 'ifthen systems --task {task_name}'"
            )
        learn_and_report(run_folder, settings, learner, curves)


def default_folder(system: str, task: str, seed: int) -> Path:
    """Return the folder of a run where --out does not say."""
    return Path("runs") / re.sub(r"[^\w.-]+", "_", f"{system}-{task}-seed{seed}")


def _suited(learner: System, chosen_parameters: Mapping[str, Any]) -> str:
    """Return the parameters that differ from the defaults because they suit the task; "" for none."""
    from ifthen.runs.settings import toml_value
    from ifthen.systems.presets import preset

    if not preset(learner.name, learner.task):
        return ""
    values = learner.parameters.model_dump()
    return ", ".join(
        f"{name}={toml_value(values[name])}"
        for name, default, _ in learner.list_parameters()
        if name not in chosen_parameters and values[name] != default
    )
