"""XCS in mazes, by variants of the literature: mean steps to food beside the optimum.

    python benchmarks/xcs_mazes.py                                  # Maze4, 5, 6 and Woods14, 30 trials
    python benchmarks/xcs_mazes.py --trials 5 --mazes Maze5 --only plain XCSG
    python benchmarks/xcs_mazes.py --trials 5 --mazes Maze5 --set truncation=end

A trial learns 10,000 problems, half of which explore. The ruleset is evaluated twenty times on the way, from
every empty cell, with at most 50 steps. Printed over trials: mean ± standard deviation of the steps at the
end; in how many trials the ruleset is optimal at the end, and at all of the last seven times; the worst of
those; macroclassifiers.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen import XCS, evaluate, maze
from ifthen.environments.mazes import steps_to_food
from ifthen.parallel import checked_threads
from ifthen.runs.settings import parse_assignment

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "without #": {"p_hash": 0.0, "mu": 0.0},
    "Specify": {"specify": True},
    "biased exploration": {"epsilon": 0.5},
    "XCSG": {"gradient": True},
    "XCSTS": {"selection": "tournament"},
    "XCSTG": {"gradient": True, "selection": "tournament"},
}
"""Lanzi 1999 has the first four, Butz, Goldberg and Lanzi 2005 the others."""
MAZES = ("Maze4", "Maze5", "Maze6", "Woods14")
TIMES, LAST = 20, 7
ROUNDING = 1e-9


def trial(name: str, seed: int, problems: int, parameters: dict[str, Any]) -> NDArray[np.float64]:
    """Return the mean steps of the ruleset, twenty times, and how many macroclassifiers there are."""
    system = XCS(maze(name, coding="bits"), seed=seed, threads=1, **parameters)
    steps = []
    for _ in range(TIMES):
        system.learn(episodes=problems // TIMES)
        steps.append(evaluate(system.ruleset, system.task).mean_steps or np.nan)
    return np.array([*steps, system.now.records[-1]["macros"]], dtype=np.float64)


def line(name: str, variant: str, trials: int, problems: int, given: dict[str, Any]) -> str:
    """Return what a variant reaches in a maze."""
    best, parameters = float(steps_to_food(maze(name)).mean()), {**VARIANTS[variant], **given}
    with ThreadPoolExecutor(checked_threads(None)) as pool:
        found = np.array(list(pool.map(lambda seed: trial(name, seed, problems, parameters), range(trials))))
    late = found[:, TIMES - LAST : TIMES]
    optimal, end = late <= best + ROUNDING, late[:, -1]
    return (
        f"{name:8} {best:6.3f}  {variant:18}  {end.mean():5.2f} ± {end.std(ddof=trials > 1):5.2f}  "
        f"{optimal[:, -1].sum():2} optimal, {optimal.all(axis=1).sum():2} steadily, of {trials}; "
        f"worst {late.max():4.1f}; {found[:, -1].mean():5.0f} macroclassifiers"
    )


def main() -> None:
    """Print one line for each maze and variant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--mazes", nargs="+", default=MAZES)
    parser.add_argument("--only", nargs="+", choices=sorted(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    own = parser.parse_args()
    given = dict(parse_assignment(text) for text in own.set)
    print("maze   optimum  variant             steps of the ruleset")
    for name in own.mazes:
        for variant in own.only:
            print(line(name, variant, own.trials, own.problems, given), flush=True)


if __name__ == "__main__":
    main()
