"""The command `ifthen`: train, resume, evaluate, show, study, tasks, systems, doctor.

What is slow to import is imported inside the commands, so that `ifthen --help` answers at once.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from ifthen import __version__
from ifthen.cli_study import study
from ifthen.errors import IfthenError, ModelFileError, ParameterError
from ifthen.terminal import Stop, after_epoch, err, measured_table, out, print_rules

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet
    from ifthen.study.run_folder import RunFolder
    from ifthen.study.settings import RunSettings
    from ifthen.systems.base import System

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.add_typer(study, name="study")
ModelPath = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file, or the folder of a finished run.")
]
Threads = Annotated[
    int | None, typer.Option(help="Threads to use; all cores by default. Results do not depend on it.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"ifthen {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Train reinforcement-learning policies people can read: short lists of IF-THEN rules.

    Start with: `ifthen train PPL-ST FrozenLake-8-0.3`
    """


@app.command()
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
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older run in --out.")] = False,
    threads: Threads = None,
) -> None:
    """Train a policy, print its rules and write model, history, pictures and a report.

    For example:

    - `ifthen train PPL-ST FrozenLake-8-0.3 --epochs 250 --seed 0 --out runs/first`
    - `ifthen train PPL-DL FrozenLake-4-0 --set p_mut=0.02 --set fitness=exact`
    - `ifthen train --config run.toml`

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
    learner = settings.make_system(threads)
    name = re.sub(r"[^\w.-]+", "_", f"{learner.name}-{learner.task.name}-seed{learner.seed}")
    default = Path("runs") / name
    run_folder = RunFolder(folder or default)
    run_folder.claim(settings, overwrite)
    _learn_and_report(run_folder, settings, learner)


@app.command()
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


@app.command()
def evaluate(
    model: ModelPath,
    noise: Annotated[
        str | None, typer.Option(help="aligned or stream; as in training by default.", show_default=False)
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Another task with the same features and actions.", show_default=False)
    ] = None,
) -> None:
    """Measure a trained policy: on z with common random numbers, and exactly.

    For example:

    - `ifthen evaluate runs/first`
    - `ifthen evaluate runs/first/model.zip --task FrozenLake-8-0.1 --noise stream`
    """
    from ifthen.rollout.evaluate import evaluate as measure
    from ifthen.tasks.names import task_by_name

    learner = _load(model)
    measured_in = task_by_name(task) if task else learner.task
    how: Any = noise or learner.parameters.noise
    sampled = measure(learner, measured_in, "sampled", how)
    exact = measure(learner, measured_in, "exact")
    out.print(measured_table(f"{learner.name} on {measured_in.name}", sampled, exact))


@app.command()
def show(
    model: ModelPath,
    png: Annotated[Path | None, typer.Option(help="Also draw the policy to this file.")] = None,
    compact: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="Show fewer rules of an XCSF: greedy (the same action in every state) or gnmc (nearly the "
            "same predictions).  [default: greedy where there are many]",
        ),
    ] = None,
    rho: Annotated[
        float | None,
        typer.Option(help="Share of each niche's fitness that gnmc may drop.  [default: 0.1]"),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every rule of an XCSF.")] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the rules shown to this file.")
    ] = None,
) -> None:
    """Print a policy's rules in words, and draw it on its grid.

    For example:

    - `ifthen show runs/first --png policy.png`
    - `ifthen show runs/xcsf --compact gnmc --rho 0.2 --json fewer.json`
    """
    from ifthen.explain.maps import has_grid, policy_figure, policy_text
    from ifthen.explain.prune import compact as compacted
    from ifthen.explain.words import readable
    from ifthen.study.figures.style import write_png
    from ifthen.study.run_folder import write_ruleset

    learner = _load(model)
    if png is not None and png.suffix.lower() != ".png":
        raise ParameterError(f"--png writes a PNG picture: give a name that ends in .png, not {png}.")
    if png is not None and not has_grid(learner.task):
        raise ParameterError(
            f"{learner.task.name} has no grid of x and y to draw the policy on: leave --png out."
        )
    if compact is not None and everything:
        raise ParameterError("--compact shows fewer rules and --all every one: give one of them.")
    if rho is not None and compact != "gnmc":
        raise ParameterError("--rho belongs to --compact gnmc: give both, or leave --rho out.")
    if compact is not None:
        method: Any = compact
        ruleset: RuleSet = compacted(learner.ruleset, learner.task, method, 0.1 if rho is None else rho)
    else:
        ruleset = learner.ruleset if everything else readable(learner.ruleset, learner.task)
    print_rules(learner, ruleset)
    if json_file is not None:
        write_ruleset(json_file, ruleset)
        out.print(f"written to {json_file}")
    if not has_grid(learner.task):
        out.print("(this task has no grid to draw the policy on)")
        return
    out.print(policy_text(ruleset, learner.task, out.width))
    if png is not None:
        title = f"{learner.name} on {learner.task.name}"
        write_png(png, policy_figure(ruleset, learner.task, title))
        out.print(f"drawn to {png}")


@app.command()
def tasks() -> None:
    """List the tasks that can be named.

    For example:

    - `ifthen tasks`
    """
    from ifthen.tasks.frozen_lake import paper_suite
    from ifthen.tasks.names import TABULAR_ENVIRONMENTS

    table = Table("task", title="FrozenLake tasks of the paper", title_justify="left")
    for heading in ("states", "|S_I|", "|z|", "t_max", "optimum, exact"):
        table.add_column(heading, justify="right")
    for task in paper_suite():
        numbers = (task.n_states, len(task.initial_states), len(task.z), task.t_max)
        table.add_row(task.name, *map(str, numbers), f"{task.optimal_performance('exact'):.4f}")
    out.print(table)
    out.print("FrozenLake-SIZE-SLIP-mapSEED is a random map, such as FrozenLake-16-0.1-map7.")
    out.print(f"Gymnasium environments with a transition table: {', '.join(TABULAR_ENVIRONMENTS)}.")
    out.print('A map of your own goes into a --config file, as [task] with desc = ["SF", "FG"] and p_slip.')


@app.command()
def systems() -> None:
    """List the learners and their parameters.

    For example:

    - `ifthen systems`
    """
    from ifthen.study.settings import toml_value
    from ifthen.systems.registry import SYSTEMS

    for name, system in SYSTEMS.items():
        table = Table(title=Text(f"{name}: {system.summary}"), title_justify="left")
        for heading in ("parameter", "default", "meaning"):
            table.add_column(heading, overflow="fold")
        for parameter, default, meaning in system.list_parameters():
            table.add_row(parameter, "by task" if default is None else toml_value(default), Text(meaning))
        out.print(table)
    out.print("Set one with --set NAME=VALUE, or under [parameters] in a --config file.")


@app.command()
def doctor(
    clear_cache: Annotated[
        bool, typer.Option("--clear-cache", help="Delete all compiled code that was kept.")
    ] = False,
) -> None:
    """Show versions, threads and the cache of compiled code, and check that compiling works.

    For example:

    - `ifthen doctor`
    """
    import shutil
    import time

    from ifthen.jit import cache_folder, cache_is_usable, cache_root
    from ifthen.parallel import available_threads
    from ifthen.provenance import versions
    from ifthen.systems.registry import SYSTEMS
    from ifthen.tasks.frozen_lake import frozen_lake

    if clear_cache:
        for folder in cache_root().glob("*"):
            if re.fullmatch("[0-9a-f]{16}", folder.name):  # ours: named after a hash of the sources
                shutil.rmtree(folder, ignore_errors=True)
    table = Table(show_header=False)
    for name, version in versions().items():
        table.add_row(name, version)
    table.add_row("threads", str(available_threads()))
    began = time.perf_counter()
    for system in SYSTEMS.values():
        system(frozen_lake(4, 0.1)).learn(1)
    table.add_row("an epoch of each system", f"worked, in {time.perf_counter() - began:.1f} s with compiling")
    size = sum(file.stat().st_size for file in cache_root().rglob("*") if file.is_file())
    kept = f"{size / 2**20:.1f} MiB with older versions" if cache_is_usable() else "cannot be written to"
    table.add_row("cache", f"{cache_folder()}\n{kept}")
    out.print(table)


def _load(path: Path) -> System:
    """Return the system in a model file, or in the folder of a finished run."""
    from ifthen.study.run_folder import CHECKPOINT, MODEL
    from ifthen.systems.registry import load

    if path.suffix == ".json":
        raise ModelFileError(
            f"{path} is no model. Rulesets in JSON are read in Python: "
            "ifthen.RuleSet.from_dict(json.load(file))."
        )
    if path.is_dir() and (path / CHECKPOINT).exists() and not (path / MODEL).exists():
        raise ModelFileError(
            f"the run in {path} is not finished: 'ifthen resume {path}' goes on with it, and "
            f"{path / CHECKPOINT} is where it stands."
        )
    return load(path / MODEL if path.is_dir() else path)


def _learn_and_report(run_folder: RunFolder, settings: RunSettings, learner: System) -> None:
    """Learn, then write and print everything that a finished run has."""
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
    print_rules(learner, shown)
    if len(shown) < len(learner.ruleset):
        out.print(f"(these make the same choice in every state as all {len(learner.ruleset)} in {RULES})")
    sampled = measure(learner, learner.task, "sampled", learner.parameters.noise)
    exact = measure(learner, learner.task, "exact")
    out.print(measured_table(f"{learner.name} on {learner.task.name}", sampled, exact))
    out.print(f"written to {run_folder.path}; open {run_folder / REPORT}")


def _write_pictures(run_folder: RunFolder, settings: RunSettings, learner: System, shown: RuleSet) -> None:
    """Write the rules, the pictures and the report, which lists the rules `shown`."""
    from ifthen.explain.maps import has_grid, policy_figure
    from ifthen.explain.page import report_page
    from ifthen.store import write_text
    from ifthen.study import run_folder as files
    from ifthen.study.figures.learning import learning_curve
    from ifthen.study.figures.style import write_png
    from ifthen.study.settings import toml_value

    ruleset, task = learner.ruleset, learner.task
    write_text(run_folder / files.RULES, f"{ruleset}\n")
    files.write_ruleset(run_folder / files.RULESET, ruleset)
    curve = learning_curve(learner)
    write_png(run_folder / files.CURVE, curve)
    if has_grid(task):
        write_png(run_folder / files.POLICY, policy_figure(ruleset, task, f"{learner.name} on {task.name}"))
    name = settings.task if isinstance(settings.task, str) else None
    parameters = "".join(f" --set {key}={toml_value(value)}" for key, value in settings.parameters.items())
    command = (
        f"ifthen train {settings.system} {name} --epochs {settings.epochs} --seed {settings.seed}{parameters}"
        if name
        else f"ifthen train --config {files.SETTINGS}"
    )
    write_text(run_folder / files.REPORT, report_page(learner, shown, curve, command))


def run() -> None:
    """Run the command line; errors are one clear line and exit code 2, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± and → is no reason to fail
    try:
        app()
    except IfthenError as problem:
        message = str(problem)
    except MemoryError:
        message = "there is not enough memory for this; try a smaller population or task."
    except OSError as problem:
        message = f"{problem.strerror or problem}: {problem.filename or ''}"
    else:
        return
    err.print(Text.assemble(("error: ", "bold red"), message))
    sys.exit(2)


if __name__ == "__main__":
    run()
