"""Repeats trials of the committed studies and compares them with the committed results, bit for bit.

    python benchmarks/same_bytes.py                        this checkout, about 5 minutes on two cores
    python benchmarks/same_bytes.py --only paper taxi      some of the studies
    python benchmarks/same_bytes.py --all                  LunarLander-v3 too: minutes more, needs Box2D
    python benchmarks/same_bytes.py --src ../other/src     the code of another checkout

Five tasks of `results/paper`, each with all three systems, and for every environment of the gallery the trial
of the policy shown there, with all systems of its study. Each trial is run by `ifthen study run` with the
committed plan and packed by `ifthen study pack`. Three things must equal the committed files: every column
of the history, the final ruleset, and the policy in `results/gallery` after `ifthen prune`. Only the command
line is used, so that the same script judges any version. Exit code: 1 where anything differs.

The committed results name the versions they were made with in `pack.json`. Another version of NumPy or Numba,
or another processor, may round the last bit of a sine differently: a difference in an environment then says
nothing about this package.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import polars
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
TRIAL = ("system", "task", "seed")


class Job(NamedTuple):
    """One seed of a committed study, on one of its tasks, with all of its systems."""

    study: str
    task: str
    seed: int
    gallery_system: str | None = None
    """The system whose policy is in the gallery."""
    prune: tuple[str, ...] = ()
    """The options of `ifthen prune` that give the policy in the gallery."""


# The longest come first, so that no process waits for one at the end.
AS_LIST = ("--list", "--effort", "normal")
JOBS = (
    Job("pplx-lunar", "LunarLander-v3", 4),
    Job("blackjack", "Blackjack-v1", 5, "PPL-DL"),
    Job("acrobot", "Acrobot-v1", 2, "PPL-DL"),
    Job("cart-pole", "CartPole-v1", 0, "PPL-DL"),
    Job("taxi", "Taxi-v4", 1, "XCSF", AS_LIST),
    Job("paper", "FrozenLake-12-0.5", 21),
    Job("mountain-car", "MountainCar-v0", 6, "PPL-DL"),
    Job("paper", "FrozenLake-12-0", 17),
    Job("paper", "FrozenLake-8-0.3", 3),
    Job("paper", "FrozenLake-8-0.1", 29),
    Job("cliff-walking", "CliffWalking-v1", 0, "PPL-DL", AS_LIST),
    Job("paper", "FrozenLake-4-0.3", 11),
)


class Compared(NamedTuple):
    """One trial, or one policy of the gallery, beside the committed one."""

    study: str
    system: str
    task: str
    seed: int
    item: str
    differs: str
    """The first difference; empty where there is none."""


def ifthen(source: Path, *arguments: str | Path) -> None:
    """Run the command `ifthen` of a source tree, or stop with its error output."""
    command = [sys.executable, "-m", "ifthen.cli", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(source), "COLUMNS": "200"}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{process.stdout[-1000:]}{process.stderr[-3000:]}")


def compared(job: Job, source: Path, folder: Path) -> list[Compared]:
    """Run a job's trials in a folder; return how they compare with the committed ones."""
    plan = json.loads((ROOT / "results" / job.study / "study.json").read_text())
    changes = {"trials": "1", "first_seed": str(job.seed)}
    if len(plan["tasks"]) > 1:
        changes["tasks"] = json.dumps([job.task])
    settings = [argument for name, value in changes.items() for argument in ("--set", f"{name}={value}")]
    run, packed = folder / "run", folder / "packed"
    ifthen(
        source,
        "study",
        "run",
        ROOT / "studies" / f"{job.study}.toml",
        "--out",
        run,
        "--workers",
        "1",
        *settings,
    )
    ifthen(source, "study", "pack", run, "--out", packed)
    comparisons = [
        Compared(job.study, system, job.task, job.seed, item, differs)
        for system in [entry["name"] for entry in plan["systems"]]
        for item, differs in (
            ("history", differing_column(job, system, packed)),
            ("ruleset", differing_ruleset(job, system, packed)),
        )
    ]
    if job.gallery_system is not None:
        differs = differing_policy(job, source, folder)
        comparisons.append(Compared(job.study, job.gallery_system, job.task, job.seed, "gallery", differs))
    return comparisons


def history(folder: Path, trial: tuple[str, str, int]) -> polars.DataFrame:
    """Return a trial's rows of a packed study."""
    filters = [polars.col(name) == value for name, value in zip(TRIAL, trial, strict=True)]
    return polars.read_parquet(folder / "histories.parquet").filter(*filters)


def differing_column(job: Job, system: str, packed: Path) -> str:
    """Return the first column of the committed history that is another one now."""
    trial = (system, job.task, job.seed)
    committed, current = history(ROOT / "results" / job.study, trial), history(packed, trial)
    if not len(committed):
        raise SystemExit(f"results/{job.study} has no trial {trial}.")
    for name in committed.columns:
        if name not in current.columns:  # a column without values may be left out
            if committed[name].null_count() < len(committed):
                return f"{name} is missing"
            continue
        old, new = committed[name], current[name].cast(committed[name].dtype)
        if bits(old) != bits(new):
            n_common = min(len(old), len(new))
            rows = [i for i in range(n_common) if bits(old[i : i + 1]) != bits(new[i : i + 1])]
            first = rows[0] if rows else n_common
            then, now = old[first : first + 1].to_list(), new[first : first + 1].to_list()
            return f"{name} from row {first} on: {then}, now {now}"
    return ""


def bits(column: polars.Series) -> tuple[bytes, bytes]:
    """Return a column's values and nulls as bytes, in which -0.0 is not 0.0."""
    if column.dtype == polars.String:
        return "\0".join(column.to_list()).encode(), b""
    return column.fill_null(0).to_numpy().tobytes(), column.is_null().to_numpy().tobytes()


def ruleset_text(folder: Path, system: str, task: str, seed: int) -> str:
    """Return the text of a trial's final ruleset in a packed study."""
    (path,) = (folder / "rulesets" / system).glob(f"{task}.json.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = map(json.loads, file)
        return json.dumps(next(row["ruleset"] for row in rows if row["seed"] == seed), ensure_ascii=False)


def differing_ruleset(job: Job, system: str, packed: Path) -> str:
    """Return in what the final ruleset differs from the committed one."""
    committed = ruleset_text(ROOT / "results" / job.study, system, job.task, job.seed)
    return differing_text(committed, ruleset_text(packed, system, job.task, job.seed))


def differing_policy(job: Job, source: Path, folder: Path) -> str:
    """Return in what the pruned policy differs from the one in the gallery."""
    assert job.gallery_system is not None
    (model,) = folder.glob(f"run/trials/{job.gallery_system}/{job.task}/{job.seed}.zip")
    pruned = folder / "pruned.json"
    ifthen(source, "prune", model, "--out", pruned, *job.prune)
    committed = ROOT / "results" / "gallery" / f"{job.task}.json"
    return differing_text(committed.read_text(), pruned.read_text())


def differing_text(committed: str, current: str) -> str:
    """Return where two texts begin to differ."""
    if committed == current:
        return ""
    position = next(
        (i for i, (a, b) in enumerate(zip(committed, current, strict=False)) if a != b),
        min(len(committed), len(current)),
    )
    excerpt = slice(max(0, position - 20), position + 40)
    return f"from character {position} on: {committed[excerpt]!r}, now {current[excerpt]!r}"


def all_compared(jobs: list[Job], source: Path, workers: int) -> Iterator[Compared]:
    """Yield what comes of all jobs, a few at a time."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(workers) as pool:
        folders = [Path(name) / str(number) for number in range(len(jobs))]
        for folder in folders:
            folder.mkdir()
        for rows in pool.map(compared, jobs, [source] * len(jobs), folders):
            yield from rows


def table_of(rows: list[Compared]) -> Table:
    """Return the table that is printed: one row per trial."""
    table = Table(title="Committed results and the same trials run now", title_justify="left")
    for heading in ("study", "task", "seed", "system", "history", "ruleset", "gallery"):
        table.add_column(heading)
    trials = dict.fromkeys(row[:4] for row in rows)
    for trial in trials:
        study, system, task, seed = trial
        cells = {row.item: row.differs or "same" for row in rows if row[:4] == trial}
        table.add_row(
            study,
            task,
            str(seed),
            system,
            *(cells.get(column, "") for column in ("history", "ruleset", "gallery")),
        )
    return table


def main() -> None:
    """Read the command line, run the trials, print the table; exit with 1 where anything differs."""
    studies = list(dict.fromkeys(job.study for job in JOBS))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=studies, help="these studies and no others")
    parser.add_argument("--all", action="store_true", help="also LunarLander-v3")
    parser.add_argument("--src", type=Path, default=ROOT / "src", help="the source tree to judge")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes side by side")
    options = parser.parse_args()
    if options.all and find_spec("Box2D") is None:
        raise SystemExit('--all needs Box2D: pip install ".[box2d]"')
    selected = options.only or [study for study in studies if options.all or study != "pplx-lunar"]
    jobs = [job for job in JOBS if job.study in selected]
    console, began, rows = Console(width=160), time.perf_counter(), []
    for row in all_compared(jobs, options.src.resolve(), options.workers):
        rows.append(row)
        if row.differs:
            console.print(
                f"{row.study} {row.task} {row.system}: {row.item} differs {row.differs}", markup=False
            )
    console.print(table_of(rows))
    different = sum(bool(row.differs) for row in rows)
    console.print(f"{different} of {len(rows)} differ; {time.perf_counter() - began:.0f} s", highlight=False)
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
