"""PPL-X without one of its parts: does every part earn its place?

    python benchmarks/pplx_ablation.py                             # three environments, a table, three seeds
    python benchmarks/pplx_ablation.py LunarLander-v3 --seeds 2 --steps 2000000
    python benchmarks/pplx_ablation.py Acrobot-v1 --only "no fitting" "no tuning"
    python benchmarks/pplx_ablation.py --seeds 0                   # the tables of what is there

A part that is left out takes no steps, and the others get no more. Return is on 500 test seeds, on tables
the exact share of the optimum. Every trial is kept in results/pplx-ablation at once, so that a run that was
stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rows import Rows

import ifthen
from ifthen.systems.pplx import distil_values as distil
from ifthen.systems.pplx import pplx_on_env as on_env
from ifthen.systems.pplx import pplx_on_table as on_table
from ifthen.systems.pplx import table_search

LONG: dict[str, Any] = {"options": {"max_episode_steps": 2000}, "disturbances": {"noise": 0.02}}
TASKS: dict[str, Callable[[], Any]] = {
    "MountainCar-v0": lambda: ifthen.env_task("MountainCar-v0"),
    "Acrobot-v1": lambda: ifthen.env_task("Acrobot-v1"),
    "CartPole-v1, 2,000 steps, noise": lambda: ifthen.env_task("CartPole-v1", **LONG),
    "FrozenLake-12-0.3": lambda: ifthen.task_by_name("FrozenLake-12-0.3"),
}
STEPS = 500_000
"""Steps of a plan where none are given: a sixteenth of the default in these environments."""
RESULTS = Path(__file__).parent.parent / "results" / "pplx-ablation"
KEYS = "task", "plan", "part", "seed"
MEASURES = "score", "rules", "tests", "steps", "seconds"
TESTED_ON = 500


def keeps(bench: Any, known: Any, *_: Any, **__: Any) -> Any:
    """Do nothing with what is known."""
    return known


def no_values(bench: Any, known: Any, *_: Any) -> tuple[Any, float]:
    """Learn no values."""
    return known, 0.0


def only_down(epochs: Callable[[Any], int]) -> property:
    """Return a plan on a table that ends with the shortest list."""
    return property(lambda self: self.rounds + self.longest)


IN_ENVIRONMENTS: dict[str, Callable[[], list[Any]]] = {
    "everything": list,
    "no random lists": lambda: [patch.object(on_env, "evolve", keeps)],
    "no values": lambda: [
        patch.object(on_env, "learn_values", no_values),
        patch.object(on_env, "distil", keeps),
    ],
    "no distillation": lambda: [patch.object(on_env, "distil", keeps)],
    "no fitting": lambda: [patch.object(distil, "CHANGES", 0)],
    "no terms": list,
    "no shortening": lambda: [patch.object(on_env, "shorten", keeps)],
    "no tuning": lambda: [patch.object(on_env, "tune", keeps)],
    "no last choice": lambda: [patch.object(on_env, "choose", keeps)],
}
ON_TABLES: dict[str, Callable[[], list[Any]]] = {
    "everything": list,
    "random actions first": lambda: [patch.object(on_table, "EXPLORE", 1.0)],
    "one chain": lambda: [patch.object(table_search, "CHAINS", 1), patch.object(on_table, "CHAINS", 1)],
    "never hot": lambda: [patch.object(table_search, "HOT", table_search.WARM)],
    "no worse list kept": lambda: [
        patch.object(table_search, name, table_search.COLD / 1000) for name in ("HOT", "WARM", "COLD")
    ],
    "no way up": lambda: [patch.object(on_table.OnTable, "epochs", only_down(on_table.OnTable.epochs))],
    "no shorter list first": lambda: [patch.object(table_search, "neighbours", own_length)],
    "rules not widened": lambda: [patch.object(table_search, "widen", lambda *_: None)],
}


def own_length(lists: Any, n: int, known: Any) -> list[Any]:
    """Return the list of a length alone, without what its neighbours give; of one rule, all lists."""
    return [lists.rules(n, known.table.points)] if n > 1 else NEIGHBOURS(lists, n, known)


NEIGHBOURS = table_search.neighbours


def trial(task: str, plan: str, part: str, seed: int) -> dict[str, Any]:
    """Return what one training gives."""
    own = TASKS.get(task, lambda: ifthen.task_by_name(task))()
    is_table = isinstance(own, ifthen.TabularTask)
    patches = (ON_TABLES if is_table else IN_ENVIRONMENTS)[part]()
    parameters = {} if is_table else {"terms": part != "no terms", "steps": int(plan)}
    for change in patches:
        change.start()
    try:
        began = time.process_time()
        system = ifthen.PPLX(own, seed=seed, threads=1, **parameters).learn()
        seconds = time.process_time() - began
    finally:
        for change in patches:
            change.stop()
    if is_table:
        score = ifthen.evaluate(system, method="exact").fraction
    else:
        score = ifthen.evaluate(system, own, seeds=own.test_seeds(TESTED_ON)).performance
    rules = system.ruleset
    return {
        "score": f"{score:.6g}",
        "rules": len(rules),
        "tests": rules.tests,
        "steps": system.num_timesteps,
        "seconds": f"{seconds:.1f}",
    }


def table(kept: Rows, task: str, plan: str, parts: list[str]) -> str:
    """Return what all trials in the file give in a task."""
    lines = [
        f"| {task} | seeds | mean | worst | rules | tests | steps | seconds |",
        "|---" + "|--:" * 7 + "|",
    ]
    for part in parts:
        rows = kept.of(task=task, plan=plan, part=part)
        if rows:
            found = np.array([[float(row[name]) for name in MEASURES] for row in rows])
            mean = found.mean(axis=0)
            cells = f"{mean[0]:.4g}", f"{found[:, 0].min():.4g}", f"{mean[1]:.1f}", f"{mean[2]:.1f}"
            text = " | ".join((str(len(rows)), *cells))
            lines.append(f"| {part} | {text} | {mean[3]:,.0f} | {mean[4]:.0f} |")
    return "\n".join(lines)


def parts_of(name: str, steps: int) -> tuple[str, list[str]]:
    """Return the plan of a task, and the parts that can be left out there."""
    return (
        ("default", list(ON_TABLES)) if name.startswith("FrozenLake") else (str(steps), list(IN_ENVIRONMENTS))
    )


def warm_up() -> None:
    """Compile what is timed."""
    ifthen.PPLX("CartPole-v1", threads=1, steps=2000).learn()
    ifthen.PPLX(ifthen.frozen_lake(4), threads=1, collect=100, candidates=10).learn()


def main() -> None:
    """Run the trials that are missing, seed by seed, and print a table per task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--only", nargs="+", choices=sorted({*IN_ENVIRONMENTS, *ON_TABLES}))
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    kept = Rows(given.results / "trials.csv", KEYS, MEASURES)
    asked = [(name, *parts_of(name, given.steps)) for name in given.tasks]
    asked = [
        (name, plan, [own for own in parts if own in (given.only or parts)]) for name, plan, parts in asked
    ]
    if given.seeds:
        warm_up()
    for seed in range(given.seeds):
        for name, plan, parts in asked:
            kept.fill((dict(zip(KEYS, (name, plan, part, seed), strict=True)) for part in parts), trial)
    for name, plan, parts in asked:
        print("\n" + table(kept, name, plan, parts), flush=True)


if __name__ == "__main__":
    main()
