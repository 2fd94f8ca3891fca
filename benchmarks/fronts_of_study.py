"""The fronts of a study's trials, on test seeds: the best list of each trial with at most so many tests.

    ifthen study run studies/pplx-control.toml --out runs/pplx-control
    python benchmarks/fronts_of_study.py runs/pplx-control             # unpacked: the models hold the fronts

Lists are chosen by the scores that training gave them, and then play the test seeds (1,000 by default).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import ifthen
from ifthen.systems.front import Front, Point

TESTS = (1, 2, 3, 4, 6, 8, 12, 18)


def taken_from(system: Any) -> dict[str, Point]:
    """Return lists of a system's front, by how they are chosen."""
    front: Front = system.front
    few = {f"at most {n} tests": front.at(tests=n) for n in TESTS}
    return {**few, "best": front.best, "handed out": system.chosen(front)}


def main() -> None:
    """Print a row per task and number of tests: mean, deviation and worst over trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of a study, not packed")
    parser.add_argument("--episodes", type=int, default=1000)
    given = parser.parse_args()
    print(
        "| task | list | mean return | worst trial | tests, mean | rules, mean |\n|---|---|--:|--:|--:|--:|"
    )
    for task in sorted((given.folder / "trials" / "PPL-X").iterdir()):
        systems: list[Any] = [ifthen.load(path) for path in sorted(task.glob("*.zip"))]
        fronts = [taken_from(own) for own in systems]
        for label in fronts[0]:
            points = [front[label] for front in fronts]
            played = [
                ifthen.evaluate(
                    point.ruleset, own.task, seeds=own.task.test_seeds(given.episodes)
                ).performance
                for point, own in zip(points, systems, strict=True)
            ]
            numbers = [np.mean([getattr(point, size) for point in points]) for size in ("tests", "rules")]
            print(
                f"| {task.name} | {label} | {np.mean(played):.2f} ± {np.std(played, ddof=1):.2f} | "
                f"{min(played):.2f} | {numbers[0]:.1f} | {numbers[1]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
