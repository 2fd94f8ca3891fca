"""What 10 and 100 times the population bring PPL-DL and PPL-ST: performance against seconds.

    python benchmarks/large_populations.py --out runs/large-populations
    python benchmarks/large_populations.py --out runs/large-populations --backend cuda --threads 16 \
        --seconds 4 --generations 50 --most-seconds 10
    python benchmarks/large_populations.py --out runs/large-populations --tell --image large-populations.png
    python benchmarks/large_populations.py --out runs/large-populations --pack results/large-populations

Every training goes on until it has both `--generations` and `--seconds`, so that populations can be compared
after equally many generations and after equally many seconds, but none for longer than `--most-seconds`.
Seconds are those of learning alone: processor seconds where the CPU plays, on one thread unless `--threads`
says more; seconds of the clock where a GPU does. Compilation is not counted. PPL-X has no population.

A training that has ended is not done again, and one that was stopped goes on from its last save. `--tell`
prints a table of all that is there, also of packed results, and draws a figure.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from timing import machine

from ifthen import PPLDL, PPLST, load
from ifthen import figure_style as style
from ifthen.simulate import gpu
from ifthen.store import write_text
from ifthen.study.histories import write_parquet

SYSTEMS: dict[str, Any] = {"PPL-DL": PPLDL, "PPL-ST": PPLST}
TASKS = (
    *(f"FrozenLake-12-{p_slip}" for p_slip in ("0", "0.1", "0.3", "0.5")),
    *("CartPole-v1", "MountainCar-v0", "Acrobot-v1"),
)
FACTORS = (1, 10, 100)
MOST_GENERATIONS = 100_000
SAVE_SECONDS = 60.0
PACKED = "histories.parquet"
COLUMNS = 4
"""Panels beside each other: the lakes are one row."""
MEASURES = ("performance", "exact_performance", "unseen_performance")


class Training(NamedTuple):
    """One training."""

    system: str
    task: str
    factor: int
    """How many times the usual population."""
    seed: int

    def file(self, folder: Path, suffix: str) -> Path:
        """Return one of its files."""
        return folder / self.task / f"{self.system}-{self.factor}-{self.seed}{suffix}"


class Effort(NamedTuple):
    """How long a training goes on."""

    generations: int
    seconds: float
    most_seconds: float
    backend: Any
    threads: int

    def clock(self) -> float:
        """Return the seconds on the clock that counts."""
        return time.process_time() if self.backend == "cpu" else time.perf_counter()


def learner_of(training: Training, effort: Effort) -> Any:
    """Return the system of a training, not trained yet."""
    system = SYSTEMS[training.system]
    usual_size = system(training.task).parameters.sizes[0]
    size = {"pop_size": training.factor * usual_size, "backend": effort.backend}
    return system(training.task, seed=training.seed, threads=effort.threads, **size)


def train(training: Training, folder: Path, effort: Effort) -> None:
    """Train, or go on where the last save was; write the history."""
    model, clock_file = training.file(folder, ".zip"), training.file(folder, ".seconds.json")
    learner_of(training._replace(factor=1), effort).learn(epochs=1)  # compiles, and lays out z
    spent: list[float] = []
    if model.exists():
        learner = load(model, threads=effort.threads)
        spent = json.loads(clock_file.read_text())[: len(learner.now.records)]
    else:
        learner = learner_of(training, effort)
        began = effort.clock()
        learner.learn(epochs=0)
        spent = [effort.clock() - began]
    began, saved = effort.clock(), time.monotonic()

    def goes_on() -> bool:
        is_short = learner.epoch < effort.generations or spent[-1] < effort.seconds
        return is_short and spent[-1] < effort.most_seconds

    def after_epoch(_: Any) -> bool:
        nonlocal began, saved
        spent.append(spent[-1] + effort.clock() - began)
        if time.monotonic() - saved > SAVE_SECONDS:
            write_text(clock_file, json.dumps(spent))  # first, so that it is never shorter than the history
            learner.save(model)
            saved = time.monotonic()
        began = effort.clock()
        return goes_on()

    if goes_on():
        learner.learn(epochs=MOST_GENERATIONS, callback=after_epoch)
    write_parquet(training.file(folder, ".parquet"), history(training, learner, spent, effort), 19)
    for path in (model, clock_file):
        path.unlink(missing_ok=True)


def history(training: Training, learner: Any, spent: Sequence[float], effort: Effort) -> polars.DataFrame:
    """Return the history of a training, with the seconds at which each generation ended."""
    columns = learner.now.records.columns()
    measures = {name: columns[name] for name in MEASURES if name in columns}
    rows = polars.DataFrame(
        {"epoch": columns["epoch"], "seconds": np.round(spent, 4), "steps": columns["steps"], **measures}
    )
    labels = {
        **training._asdict(),
        "individuals": learner.parameters.sizes[0],
        "backend": effort.backend,
        "held_out": learner.task.held_out_column,
    }
    return rows.with_columns(**{name: polars.lit(value) for name, value in labels.items()})


def histories(folder: Path) -> polars.DataFrame:
    """Return all histories of a folder, packed or not."""
    files = [folder / PACKED] if (folder / PACKED).exists() else sorted(folder.glob("*/*.parquet"))
    if not files:
        raise SystemExit(f"{folder} has no results yet: run without --tell first.")
    table = polars.concat([polars.read_parquet(file) for file in files], how="diagonal")
    is_table = polars.when(polars.col("held_out") == "exact_performance")
    measure = is_table.then(polars.col("exact_performance")).otherwise(
        polars.col("unseen_performance") if "unseen_performance" in table.columns else None
    )
    return table.with_columns(shown=measure)


def at_generation(rows: polars.DataFrame, generation: int) -> polars.DataFrame:
    """Return the row of a generation of each training that got as far."""
    return rows.filter(polars.col("epoch") == generation)


def at_seconds(rows: polars.DataFrame, seconds: float) -> polars.DataFrame:
    """Return the last row within some seconds of each training that went on for as long."""
    keys = ["system", "task", "factor", "seed"]
    long = rows.filter(polars.col("seconds").max().over(keys) >= seconds)
    return long.filter(polars.col("seconds") <= seconds).sort("epoch").group_by(keys).last()


def in_words(rows: polars.DataFrame) -> str:
    """Return mean and standard deviation of what is held out."""
    if rows.is_empty():
        return ""
    values = rows["shown"].to_numpy()
    digits = 4 if abs(values).max() < 10 else 1
    spread = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


def tell(table: polars.DataFrame, generations: int, seconds: float) -> None:
    """Print what each population reaches, after equally many generations and after equally many seconds."""
    print(
        f"| system, task | population | seeds | after {generations} generations | seconds "
        f"| after {seconds:g} s | generations |\n|---|--:|--:|---|--:|---|--:|"
    )
    keys = ["task", "system", "factor"]
    for task, system, factor in table.select(keys).unique().sort(keys).rows():
        rows = table.filter(
            (table["task"] == task) & (table["system"] == system) & (table["factor"] == factor)
        )
        by_generation, by_seconds = at_generation(rows, generations), at_seconds(rows, seconds)
        took = "" if by_generation.is_empty() else f"{np.mean(by_generation['seconds'].to_numpy()):.3g}"
        reached = "" if by_seconds.is_empty() else f"{np.mean(by_seconds['epoch'].to_numpy()):.0f}"
        size, seeds = rows["individuals"][0] // factor, rows["seed"].n_unique()
        print(
            f"| {system}, {task} | {factor} × {size:,} | {seeds} | {in_words(by_generation)} | {took} "
            f"| {in_words(by_seconds)} | {reached} |"
        )


def lines(axes: Axes, table: polars.DataFrame) -> None:
    """Draw performance against seconds, a line for each training of a system on a task."""
    for position, factor in enumerate(FACTORS):
        factor_rows, looks = table.filter(table["factor"] == factor), style.look(position)
        for number, seed in enumerate(factor_rows["seed"].unique().sort()):
            rows = factor_rows.filter(factor_rows["seed"] == seed).sort("epoch")
            axes.plot(
                *(rows["seconds"], rows["shown"]),
                color=looks.colour,
                linestyle=looks.line,
                linewidth=0.9,
                label="" if number else f"{factor} ×",
            )


def draw(table: polars.DataFrame) -> Figure:
    """Draw a panel for each system and task, the systems below each other."""
    tasks = [task for task in TASKS if task in table["task"].unique()]
    systems = [system for system in SYSTEMS if system in table["system"].unique()]
    n_rows = -(-len(tasks) // COLUMNS) * len(systems)
    figure = Figure(figsize=(style.WIDTH, 1.9 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, COLUMNS, squeeze=False, sharex=True)
    for axes in panels.ravel():
        axes.set_visible(False)
    for number, task in enumerate(tasks):
        for row, system in enumerate(systems):
            axes = panels[number // COLUMNS * len(systems) + row, number % COLUMNS]
            axes.set_visible(True)
            is_lowest = row == len(systems) - 1 and number + COLUMNS >= len(tasks)
            axes.tick_params(labelbottom=is_lowest)
            if row:
                axes.sharey(panels[number // COLUMNS * len(systems), number % COLUMNS])
            lines(axes, table.filter((table["system"] == system) & (table["task"] == task)))
            axes.set_xscale("log")
            axes.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
            size, _, p_slip = task.removeprefix("FrozenLake-").partition("-")
            name = f"({size}, {p_slip})" if task.startswith("FrozenLake") else size
            axes.set_title(f"{system}, {name}", fontsize=style.SMALL)
            style.bare(axes)
    figure.supxlabel("seconds of learning", fontsize=style.MEDIUM)
    figure.supylabel("performance that is held out", fontsize=style.MEDIUM)
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(FACTORS),
        title="times the usual population",
        frameon=False,
        fontsize=style.SMALL,
        title_fontsize=style.SMALL,
    )
    return figure


def trainings(options: argparse.Namespace) -> list[Training]:
    """Return what is asked for, all of a seed before the next one."""
    return [
        Training(system, task, factor, seed)
        for seed in range(options.seeds)
        for factor in options.factors
        for task in options.tasks
        for system in options.systems
    ]


def main() -> None:
    """Train, tell or pack."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("runs/large-populations"))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--factors", nargs="+", type=int, default=list(FACTORS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--most-seconds", type=float, default=float("inf"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--tell", action="store_true")
    parser.add_argument("--image", type=Path, default=Path("runs/large-populations.png"))
    parser.add_argument("--pack", type=Path)
    options = parser.parse_args()
    if options.pack:
        table = histories(options.out)
        options.pack.mkdir(parents=True, exist_ok=True)
        write_parquet(options.pack / PACKED, table.drop("shown"), 19)
        return
    if options.tell:
        table = histories(options.out)
        tell(table, options.generations, options.seconds)
        style.write_png(options.image, draw(table))
        return
    if options.backend == "cuda" and isinstance(gpu.find_device(), str):
        raise SystemExit(f"there is no GPU to learn with: {gpu.find_device()}.")
    print(f"{machine()}\n{gpu.find_device()}")
    effort = Effort(
        options.generations, options.seconds, options.most_seconds, options.backend, options.threads
    )
    for training in trainings(options):
        file = training.file(options.out, ".parquet")
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            began = time.monotonic()
            train(training, options.out, effort)
            last_row = polars.read_parquet(file).tail(1).to_dicts()[0]
            print(
                f"{training.system} {training.task} {training.factor} × seed {training.seed}: generation "
                f"{last_row['epoch']}, {last_row['seconds']:.1f} s, {last_row[last_row['held_out']]:.4f} "
                f"({time.monotonic() - began:.0f} s by the clock)",
                flush=True,
            )


if __name__ == "__main__":
    main()
