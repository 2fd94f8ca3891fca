"""Tunes PPL-DL several times and compares the tuned settings with the defaults on test seeds.

    python benchmarks/tuned.py            the whole measure: about five hours on two cores
    python benchmarks/tuned.py --only Acrobot-v1 --minutes 5 --epochs 20 --repeats 1 --workers 1

Each repeat is `ifthen tune` with a seed of its own: no two repeats share a training seed. Final scores are
those that the command reports: of the chosen settings and of the defaults, each trained five times with as
many steps. A repeat that was stopped goes on when the script is run again. WeightedCar needs the virtual
environment of `make strangers`, with Optuna.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ifthen.cli.task_names import located, reach
from ifthen.digits import in_units
from ifthen.study.run_study import engine_by_name
from ifthen.study.statistics import compare
from ifthen.tuning.tune import tune_in
from ifthen.tuning.tuning_plan import checked_tune_plan
from ifthen.tuning.tuning_result import TuneResult

STRANGER = f"{Path(__file__).parent / 'strangers' / 'stranger_envs.py'}:Strangers/WeightedCar-v0"
TASKS = {"Acrobot-v1": "Acrobot-v1", "WeightedCar": STRANGER}


def tuned(name: str, seed: int, given: argparse.Namespace) -> TuneResult:
    """Return one repeat, run or read back."""
    task = located(TASKS[name])
    reach(task)
    wanted = {
        "system": "PPL-DL",
        "task": task,
        "minutes": given.minutes,
        "epochs": given.epochs,
        "seed": seed,
    }
    plan, folder = checked_tune_plan(wanted), given.out / f"{name}-seed{seed}"
    found = tune_in(folder, plan, engine_by_name("local", given.workers, None))
    assert found is not None
    return found


def main() -> None:
    """Tune, and print a table with a row for each repeat."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=TASKS, nargs="+", default=list(TASKS))
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/tuned"))
    given = parser.parse_args()
    console = Console(file=sys.stdout)
    for name in given.only:
        table = Table("seed", "settings tried", "tuned", "defaults", "p", title=f"PPL-DL on {name}")
        better = 0
        for seed in range(given.repeats):
            found = tuned(name, seed, given)
            best, plain = found.finals[found.chosen], found.finals[0]
            p = compare(best, plain).p if found.chosen else None
            means = [statistics.fmean(own) for own in (best, plain)]
            better += means[0] > means[1]
            told = ["–" if p is None else f"{p:.2g}"]
            table.add_row(str(seed), str(len(found.tried)), *map(in_units, means), *told)
        console.print(table)
        console.print(f"tuned settings were better on test seeds in {better} of {given.repeats} repeats")


if __name__ == "__main__":
    main()
