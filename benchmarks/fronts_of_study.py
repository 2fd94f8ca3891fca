"""The fronts of a study's trials, on test seeds: the best list of each trial with at most so many tests.

    ifthen study run studies/pplx-control.toml --out runs/pplx-control
    python benchmarks/fronts_of_study.py runs/pplx-control             # unpacked: the models hold the fronts
    python benchmarks/fronts_of_study.py runs/pplx-blackjack --episodes 20000 --out results/fronts

Lists are chosen by the scores that training gave them, and then play the test seeds (1,000 by default). --out
writes every list with its rules and its return as JSON, one file per task: the gallery draws them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import ifthen
from ifthen.exports import rules_text
from ifthen.store import write_text
from ifthen.systems.front import Front, Point

TESTS = (0, 1, 2, 3, 4, 6, 8, 12, 18)


def taken_from(system: Any) -> dict[str, Point]:
    """Return lists of a system's front, by how they are chosen."""
    front: Front = system.front
    fewest = min(point.tests for point in front)
    by_tests = {f"at most {n} tests": front.at(tests=n) for n in TESTS if n >= fewest}
    return {**by_tests, "best": front.best, "handed out": system.chosen(front)}


def measured(system: Any, episodes: int) -> dict[str, tuple[Point, float]]:
    """Return the lists that are taken from a system's front, each with its return on test seeds."""
    returns: dict[str, float] = {}
    measured_lists = {}
    for label, point in taken_from(system).items():
        list_text = rules_text(point.ruleset)
        if list_text not in returns:
            seeds = system.task.test_seeds(episodes)
            returns[list_text] = ifthen.evaluate(point.ruleset, system.task, seeds=seeds).performance
        measured_lists[label] = point, returns[list_text]
    return measured_lists


def plain(lists: dict[str, tuple[Point, float]]) -> list[dict[str, Any]]:
    """Return the lists of one trial as plain data, each once, the shortest first."""
    chosen_text = rules_text(lists["handed out"][0].ruleset)
    rows = {}
    for point, value in lists.values():
        list_text = rules_text(point.ruleset)
        rows[list_text] = {
            "tests": point.tests,
            "rules": point.rules,
            "return": value,
            "score": point.score,
            "handed_out": list_text == chosen_text,
            "text": list_text,
        }
    return sorted(rows.values(), key=lambda row: (row["tests"], row["rules"]))


def main() -> None:
    """Print a row per task and number of tests: mean, deviation and worst over trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of a study, not packed")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--out", type=Path, help="write the fronts as JSON into this folder")
    options = parser.parse_args()
    print(
        "| task | list | mean return | worst trial | tests, mean | rules, mean |\n|---|---|--:|--:|--:|--:|"
    )
    for task in sorted((options.folder / "trials" / "PPL-X").iterdir()):
        models = [path for path in sorted(task.glob("*.zip")) if path.stem.isdigit()]
        systems: list[Any] = [ifthen.load(path) for path in models]
        fronts = [measured(system, options.episodes) for system in systems]
        for label in [name for name in fronts[0] if all(name in front for front in fronts)]:
            points = [front[label][0] for front in fronts]
            returns = [front[label][1] for front in fronts]
            numbers = [np.mean([getattr(point, size) for point in points]) for size in ("tests", "rules")]
            print(
                f"| {task.name} | {label} | {np.mean(returns):.3f} ± {np.std(returns, ddof=1):.3f} | "
                f"{min(returns):.3f} | {numbers[0]:.1f} | {numbers[1]:.1f} |",
                flush=True,
            )
        if options.out is not None:
            trials = [
                {"seed": system.seed, "lists": plain(front)}
                for system, front in zip(systems, fronts, strict=True)
            ]
            data = {
                "task": task.name,
                "study": options.folder.name,
                "episodes": options.episodes,
                "trials": trials,
            }
            options.out.mkdir(parents=True, exist_ok=True)
            write_text(options.out / f"{task.name}.json", json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
