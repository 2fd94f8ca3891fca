"""The commands `ifthen study …`: plan, run, tables, report, pack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from ifthen.cli.model import Packages
from ifthen.cli.task_names import allow_cwd_imports, check_typed, located, packaged, task_option
from ifthen.cli.terminal import MOST_RULES, Stop, err, out, print_table
from ifthen.digits import mean_and_sd
from ifthen.text_table import TextTable

if TYPE_CHECKING:
    from ifthen.runs.settings import RunSettings
    from ifthen.study.engines import Engine
    from ifthen.study.study_plan import StudyPlan, Trial
    from ifthen.study.study_results import Results
    from ifthen.study.trial import Ended

study = typer.Typer(no_args_is_help=True, help="Compare systems over tasks and trials.")
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A TOML file: see studies/paper.toml.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change the plan: trials=3, or PPL-ST.eta=0.2."),
]
Workers = Annotated[int | None, typer.Option(help="Processes side by side; one per core by default.")]
StudyFolder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder of a study, or a packed one.")
]
STOPPED = 130


@study.command()
def plan(plan_file: PlanFile, changes: Changes = None, workers: Workers = None) -> None:
    """Show what a study would run, and about how long that would take.

    For example:

    - `ifthen study plan studies/paper.toml`
    - `ifthen study plan studies/paper.toml --set trials=3 --set epochs=50`
    """
    from ifthen.parallel import checked_threads
    from ifthen.study.calibrate import calibrate

    study_plan = _plan_in(plan_file, changes)
    trials = study_plan.trials_to_run()
    processes = checked_threads(workers, "workers")
    tasks = study_plan.tasks_by_name()
    title = f"{study_plan.name}: {len(trials):,} trials of {study_plan.epochs:,} epochs"
    rows, seconds, episodes = [], 0.0, 0.0
    with err.status("trying a few epochs of each"):
        for task in tasks:
            for system in study_plan.systems:
                trial = calibrate(study_plan, system.name, task)
                seconds += trial.seconds * study_plan.trials
                episodes += trial.episodes * study_plan.trials
                minutes = f"{trial.seconds * study_plan.trials / 60:.1f}"
                rows.append((task, system.name, f"{trial.seconds:.1f}", f"{trial.episodes:,.0f}", minutes))
    headings = ("task", "system", "s/trial", "episodes/trial", "processor minutes")
    print_table(TextTable(title, headings, tuple(rows)))
    seconds_left = seconds / processes
    how_long = f"{seconds_left / 60:.0f} minutes" if seconds_left >= 120 else f"{seconds_left:.0f} seconds"
    out.print(
        f"systems × tasks × trials = {len(study_plan.systems)} × {len(tasks)} × {study_plan.trials}: about "
        f"{episodes:,.0f} episodes, about {how_long} in {processes} processes, from a short calibration"
    )


def _plan_in(path: Path, changes: list[str] | None) -> StudyPlan:
    """Return the plan in a file with changes, with the epochs that its systems need where it says none."""
    from ifthen.study.study_plan import read_plan

    study_plan = read_plan(path, changes or [])
    for task in study_plan.tasks:
        allow_cwd_imports(task)
    return study_plan.for_systems()


class Bars:
    """Progress bars, shown where there is a terminal while entered. Elsewhere every trial gets a line."""

    def __init__(self, *columns: ProgressColumn) -> None:
        self.bars, self.ended = Progress(*columns, console=out), 0

    def __enter__(self) -> Self:
        if out.is_terminal:
            self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if out.is_terminal:  # else it would print an empty line
            self.bars.stop()

    def line(self, name: str, ending: Ended, of_total: str = "") -> None:
        """Count a trial that has ended; say how, where it failed or there is no bar."""
        self.ended += ending.outcome != "stopped"
        if ending.outcome == "failed" or not out.is_terminal:
            console = err if ending.outcome == "failed" else out
            console.print(
                f"{self.ended:>5}{of_total} {name}: {ending.outcome}, {ending.line}", soft_wrap=True
            )


class _Progress(Bars):
    """Shows a running study: a bar for all trials, and one for each system on each task."""

    def __init__(self, folder: Path, plan: StudyPlan, unfinished: Sequence[Trial]) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        super().__init__(*columns, TimeRemainingColumn(), TextColumn("{task.fields[note]}"))
        self.folder, self.n_left = folder, len(unfinished)
        trials, waiting = plan.trials_to_run(), Counter((trial.system, trial.task) for trial in unfinished)
        n_finished = len(trials) - len(unfinished)
        self.all = self.bars.add_task("all trials", total=len(trials), completed=n_finished, note="")
        self.cells = {
            cell: self.bars.add_task(
                "{} on {}".format(*cell), total=plan.trials, completed=plan.trials - waiting[cell], note=""
            )
            for cell in dict.fromkeys((trial.system, trial.task) for trial in trials)
        }

    def on_end(self, trial: Trial, ending: Ended) -> None:
        """Count a trial that has ended."""
        self.line(str(trial), ending, f"/{self.n_left}")
        if ending.outcome == "finished":
            self.bars.advance(self.all)
            self.bars.advance(self.cells[trial.system, trial.task])

    def watch(self, trials: list[Trial]) -> None:
        """Show the epochs of running trials beside their bars."""
        from ifthen.study.trial import TrialFiles

        notes: dict[tuple[str, str], list[str]] = {}
        for trial in trials:
            files = TrialFiles(self.folder, trial)
            if files.begun:
                epoch = f": epoch {files.epoch:,}" if files.epoch else ""
                notes.setdefault((trial.system, trial.task), []).append(f"seed {trial.seed}{epoch}")
        for cell, bar in self.cells.items():
            self.bars.update(bar, note=", ".join(notes.get(cell, [])))


@study.command()
def run(
    plan_file: PlanFile,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder for the results.  [default: runs/NAME]")
    ] = None,
    changes: Changes = None,
    workers: Workers = None,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(help="The folder of another study: what it has run already is taken from there."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="What runs the trials: local processes, dask, or cuda, a GPU.")
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="A running Dask cluster's scheduler, such as tcp://10.0.0.1:8786.")
    ] = None,
    typed: Packages = None,
) -> None:
    """Run a study, or what is left of it: finished trials are never run again.

    For example:

    - `ifthen study run studies/paper.toml --out runs/paper`
    - `ifthen study run studies/noise.toml --out runs/noise --reuse runs/paper`
    - `ifthen study run studies/paper.toml --engine dask --address tcp://10.0.0.1:8786`
    - `ifthen study run studies/paper.toml --engine cuda`
    """
    from ifthen.study.run_study import engine_by_name
    from ifthen.study.study_folder import check_source, claim, take_over
    from ifthen.study.study_plan import safe_name

    crew, typed = engine_by_name(engine, workers, address), [located(name) for name in typed or ()]
    study_plan = _plan_in(plan_file, changes)
    path = folder or Path("runs") / safe_name(study_plan.name)
    n_trials = len(study_plan.trials_to_run())
    for source in reuse or ():
        check_source(source, study_plan.texts_of_tasks() | set(typed))
    claim(path, study_plan)
    for source in reuse or ():
        n_taken = take_over(path, study_plan, source, typed)
        note = "" if n_taken else ": none is of the same parameters, task, seed, epochs, versions and sources"
        out.print(f"{n_taken:,} trials are taken from {source}{note}")
    _run_all(path, study_plan, crew)
    out.print(f"all {n_trials:,} trials are in {path}; 'ifthen study report {path}' shows them")


def _run_all(path: Path, study_plan: StudyPlan, crew: Engine) -> None:
    """Run what is left of a study, or leave with an exit code that says that some is still left."""
    from ifthen.study.run_study import run_study
    from ifthen.study.study_folder import unfinished

    n_trials, remaining = len(study_plan.trials_to_run()), unfinished(path, study_plan)
    out.print(f"{n_trials - len(remaining):,} of {n_trials:,} trials are finished")
    with Stop() as stop, _Progress(path, study_plan, remaining) as progress:
        all_finished = run_study(path, study_plan, crew, progress.on_end, lambda: stop.asked, progress.watch)
    if stop.asked and not all_finished:
        err.print("stopped; the same command goes on from here")
        raise typer.Exit(STOPPED)
    if not all_finished:
        err.print(f"{len(unfinished(path, study_plan))} trials failed: see *.failed.txt in {path / 'trials'}")
        raise typer.Exit(1)


def run_seeds(
    settings: RunSettings, seeds: int, folder: Path | None, workers: int | None, not_for_many: list[str]
) -> None:
    """Train a system on a task from several seeds, as a study, and write its report.

    Args:
        settings: of the run that is repeated.
        seeds: how many times.
        folder: of the study; one of its name in runs/ where None.
        workers: how many processes; one per core where None.
        not_for_many: options that were given and are for one run only.
    """
    from ifthen.errors import ParameterError
    from ifthen.runs.task_settings import texts_of
    from ifthen.study.run_study import engine_by_name
    from ifthen.study.study_folder import claim
    from ifthen.study.study_plan import checked_plan, safe_name

    if not_for_many:
        raise ParameterError(
            f"--seeds does not go with {' and '.join(not_for_many)}. Leave one out, or train one seed at a "
            "time with --seed."
        )
    name = f"{settings.system}-{settings.make_task().name}-{seeds}seeds"
    settings_data = settings.model_dump(exclude_none=True)
    study_plan = checked_plan(
        {
            "name": name,
            "systems": [{"name": settings.system, "parameters": settings.parameters}],
            "tasks": [settings_data["task"]],
            "trials": seeds,
            "epochs": settings.epochs,
            "first_seed": settings.seed,
            "prune": settings.prune,
        }
    )
    path = folder or Path("runs") / safe_name(name)
    study_plan.trials_to_run()  # raises where the system or the task is impossible
    claim(path, study_plan)
    _run_all(path, study_plan, engine_by_name("local", workers, None))
    typed = [task_text for task_text in texts_of(settings.task) if packaged(task_text)]
    tables(path, typed=typed)
    _print_best(path, _results(path, typed), task_option(settings.task))
    report(path, typed)


def _print_best(folder: Path, results: Results, option: str) -> None:
    """Print the best rules of a study of one system on one task, with their score, and say where they are."""
    from ifthen.study.report.study_report import best_rulesets
    from ifthen.study.trial import TrialFiles

    for best in (candidate for candidates in best_rulesets(results).values() for candidate in candidates):
        files = TrialFiles(folder, best.trial)
        played = best.trial.task in results.environments
        score = (
            f"{mean_and_sd(best.performance)} on test seeds" if played else f"{best.performance:.4f} exactly"
        )
        pruning_note = (
            f", pruned from {best.learnt} rules to {best.everything}" if best.everything < best.learnt else ""
        )
        criterion, unit = (
            ("validation seeds", "visited states") if played else ("exact performance", "states")
        )
        title = (
            f"The best of {len(results.finals)} by {criterion}: {best.trial}{pruning_note}. It gets {score}."
        )
        rows = tuple(
            (str(rule.number), rule.words, f"{rule.decides:,} ({rule.share or 0:.0%})")
            for rule in best.rules[:MOST_RULES]
        )
        n_omitted = len(best.rules) - len(rows)
        notes = (f"… {n_omitted:,} more rules",) if n_omitted else ()
        print_table(TextTable(title, ("#", "rule", f"decides ({unit})"), rows, notes))
        rules_file = files.pruned if files.pruned.exists() else files.model
        out.print(f"('ifthen verify {rules_file}{option}' checks these rules)\n")


def _results(folder: Path, typed: list[str] | None) -> Results:
    """Return a study's results; only packages that the user names are imported."""
    from ifthen.study.read_results import read_results

    typed = [located(name) for name in typed or ()]
    for name in typed:
        allow_cwd_imports(name)
    results = read_results(folder, typed)
    check_typed(typed, results.plan.texts_of_tasks())
    return results


@study.command()
def tables(
    folder: StudyFolder,
    write: Annotated[bool, typer.Option("--write", help="Also write them to FOLDER/tables.")] = False,
    typed: Packages = None,
) -> None:
    """Print a study's tables: performance with verdicts, sizes of rulesets, and times.

    Beside our numbers stand the paper's, where it has any. For example:

    - `ifthen study tables runs/paper --write`
    """
    from ifthen.study.report.study_report import write_tables
    from ifthen.study.study_tables import all_tables

    results, printed_notes = _results(folder, typed), set[str]()
    for table in all_tables(results).values():
        print_table(replace(table, notes=tuple(note for note in table.notes if note not in printed_notes)))
        printed_notes.update(table.notes)
        out.print()
    if write:
        write_tables(folder, results)
        out.print(f"written to {folder / 'tables'} as CSV, Markdown and LaTeX")


@study.command()
def report(folder: StudyFolder, typed: Packages = None) -> None:
    """Write a study's report: one page to open, all tables, and all figures as PNG and PDF.

    It can be written at any time: what is not finished yet is left out, and said. For example:

    - `ifthen study report runs/paper`
    """
    from ifthen.study.report.study_report import write_report
    from ifthen.study.verdicts import judge, measures, tallies

    results = _results(folder, typed)
    with err.status("reading") as status:
        path = write_report(folder, results, status.update)
    for tally in tallies(judge(results, next(iter(measures(results))))):
        out.print(str(tally))
    out.print(f"open {path}; tables and figures are beside it")


@study.command()
def pack(
    folder: StudyFolder,
    to: Annotated[Path, typer.Option("--out", help="A new folder for the packed study.")],
    rulesets: Annotated[bool, typer.Option(help="Keep the final rulesets.")] = True,
    typed: Packages = None,
) -> None:
    """Pack a study's results into a few files, to be kept or sent: all that its report needs.

    For example:

    - `ifthen study pack runs/paper --out results/paper`
    - `ifthen study report results/paper`
    """
    from ifthen.study.read_results import write_pack

    results = _results(folder, typed)
    with err.status("packing"):
        write_pack(to, results, rulesets)
    size = sum(path.stat().st_size for path in to.rglob("*") if path.is_file())
    out.print(f"{len(results.finals):,} trials are packed in {to}, {size / 2**20:.1f} MiB")
