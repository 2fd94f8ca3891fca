"""XCS in mazes, by variants of the literature: mean steps to food beside the optimum.

    python benchmarks/xcs_mazes.py                                  # Maze4, 5, 6 and Woods14, 30 trials
    python benchmarks/xcs_mazes.py --trials 5 --mazes Maze5 --only plain XCSG
    python benchmarks/xcs_mazes.py --trials 5 --mazes Maze5 --set truncation=end
    python benchmarks/xcs_mazes.py --trials 0                       # the table of what is there

A trial learns 10,000 problems, half of which explore. The ruleset is evaluated twenty times on the way, from
every empty cell, with at most 50 steps. Every trial is kept in results/xcs-mazes at once, so that a run that
was stopped goes on where it was. The table has, over all trials that are there, mean ± standard deviation of
the steps at the end; in brackets, in how many trials the ruleset is optimal at the end, and at all of the
last seven times, and the number of trials; whether the steps are fewer (<) or more (>) than those of plain
XCS by a Mann-Whitney U test at 5 %; then the mean number of macroclassifiers and processor seconds.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from rows import Row, Rows

from ifthen import XCS, evaluate, maze
from ifthen.environments.mazes import steps_to_food
from ifthen.runs.settings import parse_assignment
from ifthen.study.statistics import compare

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "XCSG": {"gradient": True},
    "without #": {"p_hash": 0.0, "mu": 0.0},
    "Specify": {"specify": True},
    "biased exploration": {"epsilon": 0.5},
    "XCSTS": {"selection": "tournament"},
    "XCSTG": {"gradient": True, "selection": "tournament"},
}
"""Those of Lanzi 1999 (plain, without #, Specify, biased) and of Butz, Goldberg and Lanzi 2005."""
MAZES = ("Maze4", "Maze5", "Maze6", "Woods14")
TIMES, LAST = 20, 7
ROUNDING = 1e-5
LEVEL = 0.05
ONE_EPOCH = 1_000_000
"""GA invocations between two rows of the history: no more rows than looks. Learning is the same."""
RESULTS = Path(__file__).parent.parent / "results" / "xcs-mazes"
KEYS = "maze", "variant", "settings", "problems", "seed"
MEASURES = "steps", "macroclassifiers", "seconds"


def trial(name: str, seed: int, problems: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the mean steps of the ruleset, twenty times, and how many macroclassifiers there are."""
    settings = {"ga_per_epoch": ONE_EPOCH, **parameters}
    began, system = time.thread_time(), XCS(maze(name, coding="bits"), seed=seed, threads=1, **settings)
    steps = []
    for _ in range(TIMES):
        system.learn(episodes=problems // TIMES)
        steps.append(evaluate(system.ruleset, system.task).mean_steps or np.nan)
    return {
        "steps": " ".join(f"{value:.7g}" for value in steps),
        "macroclassifiers": system.now.records[-1]["macros"],
        "seconds": f"{time.thread_time() - began:.2f}",
    }


def at_end(rows: list[Row]) -> list[float]:
    """Return the steps at the end of each trial."""
    return [float(row["steps"].split()[-1]) for row in rows]


def sign(rows: list[Row], plain: list[Row]) -> str:
    """Return whether trials take fewer or more steps than those of plain XCS."""
    comparison = compare(at_end(rows), at_end(plain))
    if comparison.p is None or comparison.a12 is None or comparison.p >= LEVEL:
        return "="
    return "<" if comparison.a12 < 0.5 else ">"


def cell(best: float, rows: list[Row], plain: list[Row]) -> str:
    """Return what a variant reaches in a maze."""
    if not rows:
        return "–"
    late = np.array([row["steps"].split() for row in rows], dtype=np.float64)[:, -LAST:]
    optimal, end = late <= best + ROUNDING, late[:, -1]
    macros, seconds = (np.mean([float(row[name]) for row in rows]) for name in MEASURES[1:])
    optimal_counts = f"{optimal[:, -1].sum()}, {optimal.all(axis=1).sum()} of {len(rows)}"
    return (
        f"{end.mean():.2f} ± {end.std(ddof=len(rows) > 1):.2f} ({optimal_counts}) {sign(rows, plain)} "
        f"{macros:.0f}, {seconds:.1f} s"
    )


def table(stored: Rows, mazes: list[str], variants: list[str], settings: str, problems: int) -> str:
    """Return a table of variants by mazes, of all trials in the file."""
    best = {name: float(steps_to_food(maze(name)).mean()) for name in mazes}
    lines = ["| | " + " | ".join(f"{name} ({best[name]:.2f})" for name in mazes) + " |"]
    lines.append("|---|" + "---|" * len(mazes))
    for variant in variants:
        key = {"variant": variant, "settings": settings, "problems": problems}
        cells = (
            cell(best[name], stored.of(maze=name, **key), stored.of(maze=name, **key | {"variant": "plain"}))
            for name in mazes
        )
        lines.append(f"| {variant} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run the trials that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--mazes", nargs="+", default=MAZES)
    parser.add_argument("--only", nargs="+", choices=sorted(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    parameters, settings = (
        dict(parse_assignment(assignment) for assignment in options.set),
        " ".join(sorted(options.set)),
    )
    stored = Rows(options.results / "trials.csv", KEYS, MEASURES)

    def work(maze: str, variant: str, seed: int, problems: int, **_: Any) -> dict[str, Any]:
        return trial(maze, seed, problems, {**VARIANTS[variant], **parameters})

    for variant in options.only:
        for name in options.mazes:
            numbers = (name, variant, settings, options.problems)
            keys = (dict(zip(KEYS, (*numbers, seed), strict=True)) for seed in range(options.trials))
            stored.fill(keys, work, options.threads)
    print(table(stored, options.mazes, options.only, settings, options.problems))


if __name__ == "__main__":
    main()
