"""ZCS in Woods1 and Woods7: the published plateau, and a sweep of parameters towards the optimum.

    python benchmarks/zcs_woods.py                      # 30 trials as published
    python benchmarks/zcs_woods.py --trials 5 --sweep   # the sweep, five trials each
    python benchmarks/zcs_woods.py --maze Maze4 --set pop_limit=1600 --set mu=0.01

Printed for each setting, mean ± standard deviation over trials: the mean steps of the last 1,000 training
problems, in which actions are drawn by roulette as published, and the mean steps of the final ruleset, which
takes the strongest action; in how many trials that ruleset is optimal, and in how many it meets a state
without a rule, which are left out of its mean; rules after pruning.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np

from ifthen import ZCS, evaluate, maze, prune
from ifthen.environments.mazes import steps_to_food
from ifthen.parallel import checked_threads
from ifthen.runs.settings import parse_assignment

SWEEP = {
    "beta": (0.2, 0.4, 0.6, 0.8),
    "pop_limit": (400, 800, 1600, 3200),
    "rho": (0.1, 0.25, 0.5),
}
"""Our choice: what "ZCS Redux" (Bull and Hurst 2002) used was not at hand."""
LAST = 1000
ROUNDING = 1e-9


def trial(name: str, seed: int, problems: int, parameters: dict[str, Any]) -> tuple[float, float, int]:
    """Return mean steps at the end of training, of the ruleset (NaN for none), and its pruned rules."""
    task = maze(name, coding="bits")
    system = ZCS(task, seed=seed, threads=1, problems_per_epoch=LAST, **parameters)
    before = system.learn(episodes=problems - LAST).num_timesteps
    steps = (system.learn(episodes=LAST).num_timesteps - before) / LAST
    mean_steps = evaluate(system, task).mean_steps
    rules = len(prune(system.ruleset, task).ruleset)
    return steps, np.nan if mean_steps is None else mean_steps, rules


def line(name: str, trials: int, problems: int, parameters: dict[str, Any]) -> str:
    """Return what a setting reaches."""
    from concurrent.futures import ThreadPoolExecutor

    best = float(steps_to_food(maze(name)).mean())
    with ThreadPoolExecutor(checked_threads(None)) as pool:
        results = np.array(
            list(pool.map(lambda seed: trial(name, seed, problems, parameters), range(trials)))
        )
    steps, ruleset_steps, rules = results.T
    optimal, failed = int((ruleset_steps <= best + ROUNDING).sum()), int(np.isnan(ruleset_steps).sum())
    mean, deviation = (
        (np.nanmean(ruleset_steps), np.nanstd(ruleset_steps, ddof=1))
        if failed < trials - 1
        else (np.nan, np.nan)
    )
    setting_text = ", ".join(f"{key} = {value}" for key, value in parameters.items()) or "as published"
    return (
        f"{name:10}  {setting_text:44}  {steps.mean():5.2f} ± {steps.std(ddof=trials > 1):4.2f}  "
        f"{mean:5.2f} ± {deviation:5.2f}  {optimal:2} optimal, {failed:2} without a rule, of {trials}  "
        f"{rules.mean():5.1f} rules  (optimum {best:.4g})"
    )


def main() -> None:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--maze", action="append", help="a maze; Woods1 and Woods7 where none is given")
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter")
    parser.add_argument("--sweep", action="store_true", help="all settings of SWEEP")
    options = parser.parse_args()
    fixed = dict(parse_assignment(assignment) for assignment in options.set)
    settings: list[dict[str, Any]] = [{}, {"rho_counts": "calls"}] if not fixed else [{}]
    if options.sweep:
        settings = [dict(zip(SWEEP, values, strict=True)) for values in itertools.product(*SWEEP.values())]
    print("maze, setting, steps in training, steps of the ruleset, trials, rules after pruning")
    for name in options.maze or ["Woods1", "Woods7"]:
        for setting in settings:
            print(line(name, options.trials, options.problems, {**fixed, **setting}), flush=True)


if __name__ == "__main__":
    main()
