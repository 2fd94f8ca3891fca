"""Decision lists in mazes without aliased cells: how often the optimum is reached, and with how many rules.

    python benchmarks/markov_mazes.py                      # PPL-X, PPL-DL and PPL-ST, 30 trials each
    python benchmarks/markov_mazes.py --trials 3 --systems PPL-X --mazes Maze4 Woods14

Printed over trials: in how many the ruleset takes the fewest steps from every cell; mean steps; rules of the
ruleset, which PPL-DL's and PPL-ST's are pruned to; processor seconds of a trial, without compiling.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ifthen import evaluate, maze, prune
from ifthen.environments.mazes import steps_to_food
from ifthen.parallel import checked_threads
from ifthen.systems.registry import system_by_name

MAZES = ("Woods1", "Maze4", "Maze5", "Maze6", "Maze7-large", "Woods14", "MazeF1", "MazeF2", "MazeF3")
ROUNDING = 1e-9


def trial(system: str, name: str, seed: int, epochs: int | None) -> tuple[float, int, float]:
    """Return mean steps (50 where a cell has no rule), rules and seconds."""
    task, began = maze(name), time.thread_time()
    learner = system_by_name(system)(task, seed=seed, threads=1).learn(epochs=epochs)
    took = time.thread_time() - began
    ruleset = prune(learner.ruleset, task).ruleset
    steps = evaluate(ruleset, task).mean_steps
    return task.t_max if steps is None else steps, len(ruleset), took


def line(system: str, name: str, trials: int, epochs: int | None) -> str:
    """Return what a system reaches in a maze."""
    best = float(steps_to_food(maze(name)).mean())
    with ThreadPoolExecutor(checked_threads(None)) as pool:
        results = np.array(list(pool.map(lambda seed: trial(system, name, seed, epochs), range(trials))))
    steps, rules, seconds = results.T
    return (
        f"{name:12} {best:6.3f}  {system:7}  {(steps <= best + ROUNDING).sum():2} of {trials} optimal  "
        f"{steps.mean():5.2f} steps  {rules.mean():5.1f} rules ({rules.min():.0f} to {rules.max():.0f})  "
        f"{np.median(seconds):5.1f} s"
    )


def main() -> None:
    """Print one line for each maze and system."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--epochs", type=int, help="of every system; each one's own number if not given")
    parser.add_argument("--mazes", nargs="+", default=MAZES)
    parser.add_argument("--systems", nargs="+", default=("PPL-X", "PPL-DL", "PPL-ST"))
    options = parser.parse_args()
    print("maze        optimum  system   trials         mean")
    for name in options.mazes:
        for system in options.systems:
            print(line(system, name, options.trials, options.epochs), flush=True)


if __name__ == "__main__":
    main()
