"""The commands `ifthen study …`: plan, run, tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ifthen.terminal import Stop, err, out

if TYPE_CHECKING:
    from ifthen.study.plan import Trial
    from ifthen.study.trial import Ended

study = typer.Typer(no_args_is_help=True, help="Compare systems over tasks and trials.")
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A TOML file: see studies/paper.toml.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change the plan: trials=3, or PPL-ST.eta=0.2."),
]
Workers = Annotated[int | None, typer.Option(help="Processes side by side; one per core by default.")]
STOPPED = 130


@study.command()
def plan(plan_file: PlanFile, changes: Changes = None, workers: Workers = None) -> None:
    """Show what a study would run, and about how long that would take.

    For example:

    - `ifthen study plan studies/paper.toml`
    - `ifthen study plan studies/paper.toml --set trials=3 --set epochs=50`
    """
    from ifthen.study.calibrate import seconds_per_trial
    from ifthen.study.plan import read_plan
    from ifthen.systems.base import checked_threads

    wanted = read_plan(plan_file, changes or [])
    trials = wanted.trials_to_run()
    processes = checked_threads(workers, "workers")
    table = Table("task", title=f"{wanted.name}: {len(trials):,} trials of {wanted.epochs} epochs")
    for system in wanted.systems:
        table.add_column(f"{system.name}, s per trial", justify="right")
    total = 0.0
    for task in wanted.tasks_by_name():
        cells = []
        for system in wanted.systems:
            seconds = seconds_per_trial(wanted, system.name, task)
            total += seconds * wanted.trials
            cells.append(f"{seconds:.1f}")
        table.add_row(task, *cells)
    out.print(table)
    out.print(
        f"about {total / 60 / processes:.0f} minutes in {processes} processes, from a short calibration"
    )


@study.command()
def run(
    plan_file: PlanFile,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder for the results.  [default: runs/NAME]")
    ] = None,
    changes: Changes = None,
    workers: Workers = None,
) -> None:
    """Run a study, or what is left of it: finished trials are never run again.

    For example:

    - `ifthen study run studies/paper.toml --out runs/paper`
    """
    from ifthen.study.plan import read_plan
    from ifthen.study.run import claim, run_study, unfinished
    from ifthen.systems.base import checked_threads

    wanted = read_plan(plan_file, changes or [])
    processes = checked_threads(workers, "workers")
    path = folder or Path("runs") / wanted.name
    everything = len(wanted.trials_to_run())
    claim(path, wanted)
    left = len(unfinished(path, wanted))
    out.print(f"{everything - left:,} of {everything:,} trials are finished")
    ended = 0

    def told(trial: Trial, how: Ended) -> None:
        nonlocal ended
        ended += how.outcome != "stopped"
        (err if how.outcome == "failed" else out).print(
            f"{ended:>5}/{left} {trial}: {how.outcome}, {how.line}"
        )

    with Stop() as stop:
        whole = run_study(path, wanted, processes, told, lambda: stop.asked)
    if stop.asked and not whole:
        err.print("stopped; the same command goes on from here")
        raise typer.Exit(STOPPED)
    if not whole:
        err.print(f"{len(unfinished(path, wanted))} trials failed: see *.failed.txt in {path / 'trials'}")
        raise typer.Exit(1)
    out.print(f"all {everything:,} trials are in {path}")


@study.command()
def tables(
    folder: Annotated[Path, typer.Argument(help="The folder of a study.")],
    write: Annotated[bool, typer.Option("--write", help="Also write them to FOLDER/tables.")] = False,
) -> None:
    """Print the paper's tables from a study's results: performance with verdicts, and sizes.

    For example:

    - `ifthen study tables runs/paper --write`
    """
    from ifthen.store import write_text
    from ifthen.study.results import read_results
    from ifthen.study.tables import performance_table, sizes_table, spread_table, verdicts_table

    results = read_results(folder)
    grids = {
        "performance": performance_table(results),
        "verdicts": verdicts_table(results),
        "spread": spread_table(results),
        "performance-exact": performance_table(results, "exact_fraction"),
        "verdicts-exact": verdicts_table(results, "exact_fraction"),
        "sizes": sizes_table(results),
    }
    for name, grid in grids.items():
        out.print(grid.to_rich())
        if write:
            for kind, text in (("csv", grid.to_csv()), ("md", grid.to_markdown()), ("tex", grid.to_latex())):
                write_text(folder / "tables" / f"{name}.{kind}", text)
    if write:
        out.print(f"written to {folder / 'tables'} as CSV, Markdown and LaTeX")
