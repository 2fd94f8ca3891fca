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
    least = min(point.tests for point in front)
    few = {f"at most {n} tests": front.at(tests=n) for n in TESTS if n >= least}
    return {**few, "best": front.best, "handed out": system.chosen(front)}


def measured(system: Any, episodes: int) -> dict[str, tuple[Point, float]]:
    """Return the lists that are taken from a system's front, each with its return on test seeds."""
    known: dict[str, float] = {}
    found = {}
    for label, point in taken_from(system).items():
        text = rules_text(point.ruleset)
        if text not in known:
            seeds = system.task.test_seeds(episodes)
            known[text] = ifthen.evaluate(point.ruleset, system.task, seeds=seeds).performance
        found[label] = point, known[text]
    return found


def plain(found: dict[str, tuple[Point, float]]) -> list[dict[str, Any]]:
    """Return the lists of one trial as plain data, each once, the shortest first."""
    handed = rules_text(found["handed out"][0].ruleset)
    rows = {}
    for point, value in found.values():
        text = rules_text(point.ruleset)
        rows[text] = {
            "tests": point.tests,
            "rules": point.rules,
            "return": value,
            "score": point.score,
            "handed_out": text == handed,
            "text": text,
        }
    return sorted(rows.values(), key=lambda row: (row["tests"], row["rules"]))


def main() -> None:
    """Print a row per task and number of tests: mean, deviation and worst over trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of a study, not packed")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--out", type=Path, help="write the fronts as JSON into this folder")
    given = parser.parse_args()
    print(
        "| task | list | mean return | worst trial | tests, mean | rules, mean |\n|---|---|--:|--:|--:|--:|"
    )
    for task in sorted((given.folder / "trials" / "PPL-X").iterdir()):
        models = [path for path in sorted(task.glob("*.zip")) if path.stem.isdigit()]
        systems: list[Any] = [ifthen.load(path) for path in models]
        fronts = [measured(own, given.episodes) for own in systems]
        for label in [each for each in fronts[0] if all(each in front for front in fronts)]:
            points = [front[label][0] for front in fronts]
            played = [front[label][1] for front in fronts]
            numbers = [np.mean([getattr(point, size) for point in points]) for size in ("tests", "rules")]
            print(
                f"| {task.name} | {label} | {np.mean(played):.3f} ± {np.std(played, ddof=1):.3f} | "
                f"{min(played):.3f} | {numbers[0]:.1f} | {numbers[1]:.1f} |",
                flush=True,
            )
        if given.out is not None:
            trials = [
                {"seed": own.seed, "lists": plain(front)} for own, front in zip(systems, fronts, strict=True)
            ]
            data = {
                "task": task.name,
                "study": given.folder.name,
                "episodes": given.episodes,
                "trials": trials,
            }
            given.out.mkdir(parents=True, exist_ok=True)
            write_text(given.out / f"{task.name}.json", json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
