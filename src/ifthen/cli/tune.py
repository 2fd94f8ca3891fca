"""The command `tune`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

from ifthen.cli.study import STOPPED, Bars, Workers
from ifthen.cli.task_names import allow_cwd_imports, located
from ifthen.cli.terminal import Stop, err, out

if TYPE_CHECKING:
    from ifthen.study.study_plan import Trial
    from ifthen.study.trial import Ended
    from ifthen.tuning.tuning_plan import Phase, TunePlan

PHASES = {"search": "search", "finalist": "comparing the best", "final": "measuring the chosen"}


class _Progress(Bars):
    """Shows a running tuning: a bar for each phase."""

    def __init__(self, plan: TunePlan) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,} trainings"))
        super().__init__(*columns, TimeElapsedColumn())
        self.totals = {"search": plan.most_trials, "finalist": plan.repeats * (plan.finalists + 1)}
        self.tasks: dict[str, Any] = {}

    def on_end(self, phase: Phase, trial: Trial, ended: Ended) -> None:
        """Count a training that has ended."""
        if phase not in self.tasks:
            self.tasks[phase] = self.bars.add_task(PHASES[phase], total=self.totals.get(phase))
        if ended.outcome != "stopped":
            self.bars.advance(self.tasks[phase])
        self.line(f"{PHASES[phase]}, seed {trial.seed}", ended)


def tune(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="The learner: see `ifthen systems`.")],
    task: Annotated[str, typer.Argument(metavar="TASK", help="What to solve: see `ifthen tasks`.")],
    trials: Annotated[
        int | None, typer.Option(help="Settings to try.  [default: 50, unless --minutes is given]")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Try no other settings after this time; measuring comes on top.")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(help="Every training has the steps that the defaults take in so many epochs."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="In place of --epochs: environment steps of every training.")
    ] = None,
    search: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW..HIGH",
            help="A range of your own, or choices: tourn_size=2,3,5; may be repeated.",
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter that is fixed; may be repeated."),
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="Search the parameters of --search only; the others keep defaults.")
    ] = False,
    task_assignments: Annotated[
        list[str] | None,
        typer.Option("--task-set", metavar="NAME=VALUE", help="A setting of the task; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    pruner: Annotated[
        str, typer.Option(help="Which trainings end early: median, halving (Hyperband's), or none.")
    ] = "median",
    finalists: Annotated[
        int, typer.Option(help="How many of the best settings are compared, beside the defaults.")
    ] = 3,
    repeats: Annotated[int, typer.Option(help="Trainings of each of them.")] = 3,
    final: Annotated[
        int, typer.Option(help="Trainings of the chosen settings, and of the defaults, for final scores.")
    ] = 5,
    folder: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for the results.  [default: runs/tune-SYSTEM-TASK-seedN]"),
    ] = None,
    workers: Workers = None,
    engine: Annotated[str, typer.Option(help="What runs trainings: local processes, or dask.")] = "local",
    address: Annotated[
        str | None, typer.Option(help="A running Dask cluster's scheduler, such as tcp://10.0.0.1:8786.")
    ] = None,
) -> None:
    """Search for parameters that suit a task, and compare them with the defaults on test seeds.

    Writes the best settings (best.toml, for `ifthen train --config`), a table of all that was tried and a
    report. The same command goes on with a tuning that was interrupted. For example:

    - `ifthen tune PPL-DL Acrobot-v1 --minutes 20 --epochs 50`
    - `ifthen tune PPL-DL CartPole-v1 --trials 40 --search p_mut=0.01..0.2 --set idv_size=8`
    - `ifthen tune XCSF FrozenLake-8-0.3 --trials 60 --workers 2 --out runs/tuned`
    - `ifthen train --config runs/tuned/best.toml`
    """
    from ifthen.runs.settings import parse_assignments
    from ifthen.runs.task_settings import with_settings
    from ifthen.study.run_study import engine_by_name
    from ifthen.tuning.propose import check_optuna
    from ifthen.tuning.tune import default_folder, tune_in
    from ifthen.tuning.tuning_folder import REPORT
    from ifthen.tuning.tuning_plan import checked_tune_plan

    check_optuna()
    changes = parse_assignments(task_assignments, "--task-set")
    task_name = located(task)
    allow_cwd_imports(task_name)
    plan = checked_tune_plan(
        {
            "system": system,
            "task": with_settings(task_name, changes),
            "trials": trials,
            "minutes": minutes,
            "epochs": epochs,
            "steps": steps,
            "seed": seed,
            "pruner": pruner,
            "finalists": finalists,
            "repeats": repeats,
            "final": final,
            "search": dict(_range(text) for text in search or []),
            "only": only,
            "parameters": parse_assignments(assignments),
        }
    )
    crew = engine_by_name(engine, workers, address)
    path = folder or default_folder(plan)
    with Stop() as stop, _Progress(plan) as progress:
        result = tune_in(path, plan, crew, progress.on_end, lambda: stop.asked)
    if result is None:
        err.print("stopped; the same command goes on from here")
        raise typer.Exit(STOPPED)
    out.print(result.to_text(out.width), soft_wrap=True)
    out.print(
        f"\nopen {path / REPORT}; 'ifthen train --config {path / 'best.toml'}' trains with the best settings"
    )


def _range(assignment: str) -> tuple[str, str]:
    """Return the name and the range, as text, of NAME=LOW..HIGH."""
    from ifthen.errors import ParameterError
    from ifthen.tuning.search_space import HELP

    name, equals, values = assignment.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise ParameterError(f"{HELP}, not {assignment!r}.")
    return name.strip(), values.strip()
