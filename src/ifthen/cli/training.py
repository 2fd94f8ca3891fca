"""Commands that train and measure: train, resume, evaluate."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ifthen.cli.finished import report
from ifthen.cli.models import PolicyPath, TaskName, Threads, read_policy
from ifthen.cli.packages import allow_package, packaged, reach, task_option
from ifthen.cli.parameters import suited_parameters
from ifthen.cli.playing import evaluate_env
from ifthen.cli.terminal import Stop, after_epoch, err, measured_table, out
from ifthen.errors import ParameterError

if TYPE_CHECKING:
    from ifthen.study.run_folder import RunFolder
    from ifthen.study.settings import RunSettings
    from ifthen.systems.base import Callback, System

Curves = Annotated[
    Path | None,
    typer.Option("--tensorboard", metavar="FOLDER", help="Also write curves for TensorBoard here."),
]


def train(
    system: Annotated[str | None, typer.Argument(help="The learner: see `ifthen systems`.")] = None,
    task: Annotated[str | None, typer.Argument(help="What to solve: see `ifthen tasks`.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs of learning.  [default: 250]")] = None,
    steps: Annotated[int | None, typer.Option(help="In place of --epochs: environment steps.")] = None,
    stop_at: Annotated[
        float | None, typer.Option(metavar="SCORE", help="Stop sooner, when this performance is reached.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.  [default: 0]")] = None,
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
    config: Annotated[
        Path | None, typer.Option(help="A TOML file of settings; what the command line says wins.")
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(help="Begin with the rules in this model or .json, .txt or .md file."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older run in --out.")] = False,
    tensorboard: Curves = None,
    threads: Threads = None,
) -> None:
    """Train a policy, print its rules and write model, history, pictures and a report.

    For example:

    - `ifthen train PPL-ST FrozenLake-8-0.3 --epochs 250 --seed 0 --out runs/first`
    - `ifthen train PPL-DL FrozenLake-4-0 --set p_mut=0.02 --set fitness=exact`
    - `ifthen train PPL-DL CartPole-v1 --stop-at 500`
    - `ifthen train PPL-DL MountainCar-v0 --task-set episodes=50 --task-set default_action=coast`
    - `ifthen train XCSF FrozenLake-4-0 --steps 50000 --stop-at 0.7`
    - `ifthen train --config run.toml`
    - `ifthen train PPL-DL FrozenLake-8-0.3 --start mine.txt`

    A configuration file holds for example:

        system = "PPL-ST"
        task = "FrozenLake-8-0.3"
        epochs = 250

        [parameters]
        noise = "stream"

    Any Gymnasium environment with Discrete actions is a task, by its id, or by `package:Id-v0` where a
    package of yours registers it, such as a module in the current folder. Runs of such an environment are
    opened again with `--task package:Id-v0`, as files never have packages imported. Its settings, by
    --task-set or in place of the line `task = …`:

        [task]
        environment = "CartPole-v1"
        episodes = 50                    # reset seeds that measure performance
        gamma = 0.99
        default_action = "push left"     # where no rule matches
        ranges = {"cart velocity" = [-3.0, 3.0]}
        options = {sutton_barto_reward = true}

    Others are name, t_max, floor, noise_seed, player, feature_names and action_names.
    """
    from ifthen.study.run_folder import RunFolder
    from ifthen.study.settings import checked_settings, parse_assignment, read_settings
    from ifthen.study.task_settings import with_settings

    given: dict[str, Any] = read_settings(config) if config else {}
    said = {"system": system, "task": task, "seed": seed, "stop_at": stop_at}
    said |= {"epochs": epochs, "steps": steps}
    if config and (epochs is None) != (steps is None):
        given.pop("epochs" if epochs is None else "steps", None)  # what the command line says wins
    given |= {name: value for name, value in said.items() if value is not None}
    if task_assignments:
        task_changes = dict(parse_assignment(text, "--task-set") for text in task_assignments)
        given["task"] = with_settings(given.get("task"), task_changes)
    settings = checked_settings(given)
    reach(settings.task)
    changes = dict(parse_assignment(text) for text in assignments or [])
    settings = settings.model_copy(update={"parameters": {**settings.parameters, **changes}})
    rules = None if start is None else read_policy(start).ruleset
    learner = settings.make_system(threads, rules)
    learner.check()
    curves = _curves(tensorboard)
    name = re.sub(r"[^\w.-]+", "_", f"{learner.name}-{learner.task.name}-seed{learner.seed}")
    default = Path("runs") / name
    run_folder = RunFolder(folder or default)
    run_folder.claim(settings, overwrite, rules)
    if suited := suited_parameters(learner, settings.parameters):
        named = packaged(settings.task) or learner.task.environment
        out.print(f"parameters that suit {learner.task.name}: {suited}; 'ifthen systems --task {named}'")
    _learn_and_report(run_folder, settings, learner, curves)


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of a run that was interrupted.")],
    task: Annotated[
        str | None,
        typer.Option(
            "--task", help="package:Id-v0, where the run is one of an environment in a package of your own."
        ),
    ] = None,
    tensorboard: Curves = None,
    threads: Threads = None,
) -> None:
    """Go on with a run that was interrupted, to the same result as if it had not been.

    For example:

    - `ifthen resume runs/first`
    """
    from ifthen.study.run_folder import RunFolder

    run_folder = RunFolder(folder)
    settings = run_folder.settings()
    allow_package(settings.task, task)
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


def evaluate(
    model: PolicyPath,
    noise: Annotated[
        str | None, typer.Option(help="aligned or stream; as in training by default.", show_default=False)
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(help="In an environment: how many unseen reset seeds.  [default: 100]")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="FIRST-LAST", help="In an environment: these reset seeds in place of them."),
    ] = None,
    task: TaskName = None,
    threads: Threads = None,
) -> None:
    """Measure a trained policy: on z, and exactly or, in an environment, on reset seeds it has not seen.

    For example:

    - `ifthen evaluate runs/first`
    - `ifthen evaluate runs/first/model.zip --task FrozenLake-8-0.1 --noise stream`
    - `ifthen evaluate runs/cartpole --episodes 1000`
    - `ifthen evaluate runs/cartpole --seeds 5000-5099`
    """
    from ifthen.rollout.evaluate import evaluate as measure
    from ifthen.tasks.env_task import EnvTask

    policy = read_policy(model, task)
    played, how = policy.known_task(), cast(Any, noise or policy.noise)
    if isinstance(played, EnvTask):
        if noise is not None:
            raise ParameterError(f"{played.name} draws its own numbers from reset seeds: leave --noise out.")
        evaluate_env(policy, played, episodes, seeds, threads)
        return
    if episodes is not None or seeds is not None:
        raise ParameterError(
            f"{played.name} is played on its own z: --episodes and --seeds are for environments."
        )
    sampled = measure(policy.ruleset, played, "sampled", how)
    exact = measure(policy.ruleset, played, "exact")
    out.print(measured_table(f"{policy.title} on {played.name}", sampled, exact))


def _learn_and_report(
    run_folder: RunFolder, settings: RunSettings, learner: System, curves: list[Callback]
) -> None:
    """Learn, then write and print everything that a finished run has."""
    with Stop() as stop:
        learner.asked_to_stop = lambda: stop.asked
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
    report(run_folder, settings, learner)
