"""Compare PPL-ST, PPL-DL and XCSF (the paper's XCS) with the paper's results, task by task.

    python benchmarks/reproduce_paper.py --out results.jsonl

Runs trials (seeds 0, 1, …) of 250 epochs on the twelve FrozenLake tasks, one process per core, and
prints our mean ± sd of FTP / OTP beside the paper's, and for XCSF the sizes of its rulesets beside the
paper's Table A1. Finished trials are kept in the file given by --out, so an interrupted run goes on where it
stopped. Where p = 0, our mean should lie within three standard errors of the paper's; where p > 0, with the
paper's stream noise, within 0.10 (size 4) or 0.06 (sizes 8 and 12) for PPL and 0.08 for XCSF, because one
draw of the noise moves a whole task: all policies, and the optimal one that everything is divided by, meet
the same luck. Sizes should lie within 5 %.

--match-otp takes that luck out of the comparison: for each task it uses, of 200 draws of the noise, the one
on which the optimal policy does most nearly as well as it did on the authors' draw. The choice looks at
the optimal policy only.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from ifthen import best_action_map, frozen_lake, study
from ifthen.parallel import available_threads
from ifthen.systems.registry import SYSTEMS
from ifthen.tasks.tabular import Noise

PAPER = Path(study.__file__).parent / "paper"
Job = tuple[str, int, float, int, int, Noise, int]
DRAWS = 200
PAPER_TRIALS = 30
ROUNDING = 0.0005  # the paper gives three digits
FAILED = 0.9  # a trial below this share of OTP did not solve its task
SIZE_BOUND = 0.05
HEADINGS: tuple[str, ...] = ("task", "system", "trials", "ours", "paper", "ours − paper", "ok")
HEADINGS += (
    "median",
    "below 0.9",
    "absolute, ours",
    "absolute, paper",
    "exact, of optimum",
    "s / trial",
    "draw",
)
SIZES = {"macros": "xcs_rules", "best_action_rules": "xcs_best_action_rules"}
PARAMETERS: dict[str, dict[str, Any]] = {"XCSF": {"equality": "alleles"}}
"""What the paper's programs did and our defaults do not."""


def run_trial(job: Job) -> dict[str, Any]:
    """Train one trial and return its final testing performance."""
    system, size, p_slip, seed, epochs, noise, noise_seed = job
    task = frozen_lake(size, p_slip, noise_seed=noise_seed)
    began = time.perf_counter()
    own = PARAMETERS.get(system, {})
    trained = SYSTEMS[system](task, seed=seed, threads=1, noise=noise, **own).learn(epochs)
    last = trained.now.records[-1]
    return {
        "job": list(job),
        "performance": last["performance"],
        "ftp": last["performance"] / task.optimal_performance("sampled", noise),
        "macros": len(trained.ruleset),
        "best_action_rules": len(best_action_map(trained.ruleset, task)),
        "exact": last["exact_performance"] / task.optimal_performance("exact"),
        "seconds": time.perf_counter() - began,
    }


def finished_trials(path: Path) -> dict[Job, dict[str, Any]]:
    """Return the trials already in the results file."""
    text = path.read_text() if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]  # a run that was killed may have left half a line
    if whole != text:
        path.write_text(whole)
    return {tuple(row["job"]): row for row in map(json.loads, whole.splitlines())}


def run_all(jobs: list[Job], path: Path, workers: int) -> dict[Job, dict[str, Any]]:
    """Run the jobs that are not in the results file yet, appending each as it ends."""
    done = finished_trials(path)
    todo = [job for job in jobs if job not in done]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool, path.open("a") as file:
        futures = [pool.submit(run_trial, job) for job in todo]
        for future in track(as_completed(futures), "trials", total=len(futures)):
            row = future.result()
            done[tuple(row["job"])] = row
            file.write(json.dumps(row) + "\n")
            file.flush()
    return {job: done[job] for job in jobs}


def verdict(
    system: str, size: int, p_slip: float, ours: list[float], paper: dict[str, str]
) -> tuple[str, bool]:
    """Return the distance from the paper's mean in words, and whether it is within the bound."""
    difference = statistics.mean(ours) - float(paper["mean"])
    if p_slip == 0 and len(ours) > 1:
        error = math.sqrt(statistics.variance(ours) / len(ours) + float(paper["std"]) ** 2 / PAPER_TRIALS)
        distance = abs(difference) / error if error else math.inf if abs(difference) > ROUNDING else 0.0
        return f"{difference:+.3f} ({distance:.1f} s.e., bound 3)", distance <= 3
    bound = 0.08 if system == "XCSF" else 0.10 if size == 4 else 0.06
    return f"{difference:+.3f} (bound {bound:.2f})", abs(difference) <= bound


def authors_otp() -> dict[tuple[int, float], float]:
    """Return the optimal policy's performance on the authors' draw of the noise, by size and slip."""
    with (PAPER / "authors_otp.csv").open() as file:
        return {(int(r["grid_size"]), float(r["p_slip"])): float(r["otp"]) for r in csv.DictReader(file)}


def matching_draw(size: int, p_slip: float, noise: Noise) -> int:
    """Return the noise seed whose OTP is nearest to the authors'."""
    target = authors_otp()[size, p_slip]
    tasks = {seed: frozen_lake(size, p_slip, noise_seed=seed) for seed in range(DRAWS if p_slip else 1)}
    return min(tasks, key=lambda seed: abs(tasks[seed].optimal_performance("sampled", noise) - target))


def report(results: dict[Job, dict[str, Any]], noise: str) -> Table:
    """Return the table that sets our means beside the paper's."""
    with (PAPER / "table1.csv").open() as file:
        paper = {
            (r["system"].replace("XCS", "XCSF"), int(r["grid_size"]), float(r["p_slip"])): r
            for r in csv.DictReader(file)
        }
    otp = authors_otp()
    cells: dict[tuple[str, int, float], list[dict[str, Any]]] = defaultdict(list)
    for (system, size, p_slip, *_), row in results.items():
        cells[system, size, p_slip].append(row)
    table = Table(title=f"Final testing performance as a fraction of OTP ({noise} noise)")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("task", "system") else "right")
    for (system, size, p_slip), rows in sorted(cells.items(), key=lambda cell: cell[0][1:] + cell[0][:1]):
        ours, theirs = [row["ftp"] for row in rows], paper[system, size, p_slip]
        words, ok = verdict(system, size, p_slip, ours, theirs)
        table.add_row(
            f"({size}, {p_slip:g})",
            system,
            str(len(rows)),
            _mean_sd(ours),
            f"{float(theirs['mean']):.3f} ± {float(theirs['std']):.3f}",
            words,
            "yes" if ok else "NO",
            f"{statistics.median(ours):.3f}",
            str(sum(ftp < FAILED for ftp in ours)),
            f"{statistics.mean(row['performance'] for row in rows):.4f}",
            f"{float(theirs['mean']) * otp[size, p_slip]:.4f}",
            _mean_sd([row["exact"] for row in rows]),
            f"{statistics.mean(row['seconds'] for row in rows):.1f}",
            str(rows[0]["job"][-1]),
        )
    return table


def sizes_report(results: dict[Job, dict[str, Any]]) -> Table:
    """Return the table that sets the sizes of XCSF's rulesets beside the paper's."""
    with (PAPER / "tableA1.csv").open() as file:
        paper = {(int(r["grid_size"]), float(r["p_slip"])): r for r in csv.DictReader(file)}
    table = Table(title='XCSF: rules (macroclassifiers) and rules of the best action map, equality="alleles"')
    for heading in (
        "task",
        "trials",
        *(f"{name}, {what}" for name in SIZES for what in ("ours", "paper", "")),
    ):
        table.add_column(heading.removesuffix(", "), justify="left" if heading == "task" else "right")
    cells: dict[tuple[int, float], list[dict[str, Any]]] = defaultdict(list)
    for (system, size, p_slip, *_), row in results.items():
        if system == "XCSF":
            cells[size, p_slip].append(row)
    for (size, p_slip), rows in sorted(cells.items()):
        columns = []
        for name, column in SIZES.items():
            ours, theirs = [row[name] for row in rows], float(paper[size, p_slip][column])
            away = statistics.mean(ours) / theirs - 1
            error = statistics.stdev(ours) / math.sqrt(len(ours)) if len(ours) > 1 else math.nan
            columns += [f"{statistics.mean(ours):.1f} ± {error:.1f} (s.e.)", f"{theirs:.1f}"]
            columns += [f"{away:+.1%}" + ("" if abs(away) <= SIZE_BOUND else " NO")]
        table.add_row(f"({size}, {p_slip:g})", str(len(rows)), *columns)
    return table


def _mean_sd(values: list[float]) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else math.nan
    return f"{statistics.mean(values):.3f} ± {deviation:.3f}"


def main() -> None:
    """Read the command line, run what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="file of finished trials (JSON lines)")
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=250)
    parser.add_argument("--noise", choices=("stream", "aligned"), default="stream")
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 8, 12])
    parser.add_argument("--slips", type=float, nargs="+", default=[0.0, 0.1, 0.3, 0.5])
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--workers", type=int, default=available_threads())
    parser.add_argument(
        "--match-otp", action="store_true", help="use the draw of the noise with the authors' OTP"
    )
    options = parser.parse_args()
    draws = {
        (size, p_slip): matching_draw(size, p_slip, options.noise) if options.match_otp else 0
        for size in options.sizes
        for p_slip in options.slips
    }
    jobs: list[Job] = [
        (system, size, p_slip, seed, options.epochs, options.noise, noise_seed)
        for (size, p_slip), noise_seed in draws.items()
        for system in options.systems
        for seed in range(options.trials)
    ]
    results = run_all(jobs, options.out, options.workers)
    console = Console(width=200)
    console.print(report(results, options.noise))
    if "XCSF" in options.systems:
        console.print(sizes_report(results))


if __name__ == "__main__":
    main()
