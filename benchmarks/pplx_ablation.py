"""PPL-X without one of its parts: does every part earn its place?

    python benchmarks/pplx_ablation.py                             # three environments, a table, three seeds
    python benchmarks/pplx_ablation.py LunarLander-v3 --seeds 2 --steps 2000000
    python benchmarks/pplx_ablation.py Acrobot-v1 --only "no fitting" "no tuning"
    python benchmarks/pplx_ablation.py --seeds 0                   # the tables of what is there

A part that is left out takes no steps, and the others get no more, unless its name says so. Return is on 500
test seeds, on tables the exact share of the optimum; `short` is that of the best list with at most four
tests. Every trial is kept in results/pplx-ablation at once, so that a run that was stopped goes on where it
was. Trials with the same seed share the epochs before the part that is left out; their seconds count in all
of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from rows import Rows

import ifthen
from ifthen.systems.pplx import distil_values as distil
from ifthen.systems.pplx import env_plan, network_learning, table_search
from ifthen.systems.pplx import pplx_on_table as on_table
from ifthen.systems.pplx.env_plan import DISTIL, EPOCHS, ORDINARY, SCRATCH, SHORTENING, VALUES

LONG: dict[str, Any] = {"options": {"max_episode_steps": 2000}, "disturbances": {"noise": 0.02}}
TASKS: dict[str, Callable[[], Any]] = {
    "MountainCar-v0": lambda: ifthen.env_task("MountainCar-v0"),
    "Acrobot-v1": lambda: ifthen.env_task("Acrobot-v1"),
    "CartPole-v1, 2,000 steps, noise": lambda: ifthen.env_task("CartPole-v1", **LONG),
    "FrozenLake-12-0.3": lambda: ifthen.task_by_name("FrozenLake-12-0.3"),
}
STEPS = 8_000_000
"""Steps of a plan where none are given: those that these environments have by default."""
RESULTS = Path(__file__).parent.parent / "results" / "pplx-ablation"
KEYS = "task", "plan", "part", "seed"
MEASURES = "score", "rules", "tests", "steps", "seconds", "short"
TESTED_ON = 500
SHORT = 4
"""The best list with at most this many tests is measured as well (`short`)."""


def keeps(bench: Any, population: Any, *_: Any, **__: Any) -> Any:
    """Do nothing with what is known."""
    return population


def no_values(bench: Any, population: Any, *_: Any) -> tuple[Any, float]:
    """Learn no values."""
    return population, 0.0


def no_terms(bench: Any, population: Any, first: bool, terms: bool) -> Any:
    """Distil into lists that compare single features."""
    return distil.distil(bench, population, first, False)


WITHOUT_SHORTENING = ORDINARY._replace(parts=ORDINARY.parts | {SHORTENING: 0.0})
"""Tuning, new trees and the last choice get the steps of shortening."""
IN_ENVIRONMENTS: dict[str, Callable[[], list[Any]]] = {
    "everything": list,
    "no random lists": lambda: [patch.object(network_learning, "evolve", keeps)],
    "no values": lambda: [
        patch.object(network_learning, "learn_values", no_values),
        patch.object(network_learning, "distil", keeps),
    ],
    "no distillation": lambda: [patch.object(network_learning, "distil", keeps)],
    "no fitting": lambda: [patch.object(distil, "CHANGES", 0)],
    "no terms": lambda: [patch.object(network_learning, "distil", no_terms)],
    "no shortening": lambda: [patch.object(network_learning, "shorten", keeps)],
    "no shortening, but its steps": lambda: [patch.object(env_plan, "ORDINARY", WITHOUT_SHORTENING)],
    "no tuning": lambda: [patch.object(network_learning, "tune", keeps)],
    "no last choice": lambda: [patch.object(network_learning, "last_choice", keeps)],
}
BEFORE_LISTS = EPOCHS[SCRATCH] + EPOCHS[VALUES]
BEFORE_SEARCH = BEFORE_LISTS + EPOCHS[DISTIL]
SHARED = {
    **dict.fromkeys(("no distillation", "no fitting", "no terms"), BEFORE_LISTS),
    **dict.fromkeys(("everything", "no shortening", "no shortening, but its steps"), BEFORE_SEARCH),
    **dict.fromkeys(("no tuning", "no last choice"), BEFORE_SEARCH),
}
"""The epochs in which nothing is left out: trials with the same seed share them."""
ON_TABLES: dict[str, Callable[[], list[Any]]] = {
    "everything": list,
    "random actions first": lambda: [patch.object(on_table, "EXPLORE", 1.0)],
    "no worse list kept": lambda: [
        patch.object(table_search, name, table_search.COLD / 1000) for name in ("HOT", "COLD")
    ],
    "a quarter of the candidates": lambda: [
        patch.object(table_search, "FEWEST_CANDIDATES", 7_500),
        patch.object(table_search, "CANDIDATES_PER_STATE", 50),
        patch.object(table_search, "MOST_CANDIDATES", 12_500),
    ],
    "rules not widened": lambda: [patch.object(table_search, "widen", lambda *_: None)],
}


def task_of(name: str) -> Any:
    """Return the task of a name."""
    return TASKS.get(name, lambda: ifthen.task_by_name(name))()


@lru_cache(maxsize=2)
def begun(task: str, plan: str, seed: int, epochs: int) -> tuple[bytes, float]:
    """Return the model file of a training with all parts after some epochs, and the seconds that it took."""
    shorter = BEFORE_LISTS if epochs > BEFORE_LISTS else 0
    return trained(task, plan, seed, shorter, epochs - shorter)[1:]


def trained(
    task: str, plan: str, seed: int, shared_epochs: int, epochs: int | None
) -> tuple[Any, bytes, float]:
    """Return a system that goes on after the shared epochs, its model file, and the seconds in all."""
    steps = None if plan == "default" else int(plan)
    with TemporaryDirectory() as folder:
        path, seconds = Path(folder) / "model.zip", 0.0
        if shared_epochs:
            model_bytes, seconds = begun(task, plan, seed, shared_epochs)
            path.write_bytes(model_bytes)
            system = ifthen.load(path, threads=1)
        else:
            system = ifthen.PPLX(task_of(task), seed=seed, threads=1, steps=steps)
        began = time.process_time()
        system.learn(epochs=system.default_epochs - shared_epochs if epochs is None else epochs)
        seconds += time.process_time() - began
        system.save(path)
        return system, path.read_bytes(), seconds


def trial(task: str, plan: str, part: str, seed: int) -> dict[str, Any]:
    """Return what one training gives."""
    is_table, shared = plan == "default", SHARED.get(part, 0)
    if shared and not is_table:
        begun(task, plan, seed, shared)
    with ExitStack() as changes:
        for change in (ON_TABLES if is_table else IN_ENVIRONMENTS)[part]():
            changes.enter_context(change)
        system, _, seconds = trained(task, plan, seed, 0 if is_table else shared, None)
    rulesets = [system.ruleset, system.front.at(tests=SHORT).ruleset]
    if is_table:
        scores = [ifthen.evaluate(rules, system.task, method="exact").fraction for rules in rulesets]
    else:
        seeds = task_of(task).test_seeds(TESTED_ON)
        scores = [ifthen.evaluate(rules, task_of(task), seeds=seeds).performance for rules in rulesets]
    return {
        "score": f"{scores[0]:.6g}",
        "rules": len(system.ruleset),
        "tests": system.ruleset.tests,
        "steps": system.num_timesteps,
        "seconds": f"{seconds:.1f}",
        "short": f"{scores[1]:.6g}",
    }


def table(stored: Rows, task: str, plan: str, parts: list[str]) -> str:
    """Return what all trials in the file give in a task."""
    lines = [
        f"| {task} | seeds | mean | worst | rules | tests | steps | seconds | at most {SHORT} tests |",
        "|---" + "|--:" * 8 + "|",
    ]
    for part in parts:
        rows = stored.of(task=task, plan=plan, part=part)
        if rows:
            values = np.array([[float(row[name] or "nan") for name in MEASURES] for row in rows])
            mean = values.mean(axis=0)
            cells = f"{mean[0]:.4g}", f"{values[:, 0].min():.4g}", f"{mean[1]:.1f}", f"{mean[2]:.1f}"
            cells_text = " | ".join((str(len(rows)), *cells))
            lines.append(f"| {part} | {cells_text} | {mean[3]:,.0f} | {mean[4]:.0f} | {mean[5]:.4g} |")
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
    options = parser.parse_args()
    stored = Rows(options.results / "trials.csv", KEYS, MEASURES)
    jobs = [(name, *parts_of(name, options.steps)) for name in options.tasks]
    jobs = [
        (name, plan, [part for part in parts if part in (options.only or parts)])
        for name, plan, parts in jobs
    ]
    if options.seeds:
        warm_up()
    for seed in range(options.seeds):
        for name, plan, parts in jobs:
            stored.fill((dict(zip(KEYS, (name, plan, part, seed), strict=True)) for part in parts), trial)
    for name, plan, parts in jobs:
        print("\n" + table(stored, name, plan, parts), flush=True)


if __name__ == "__main__":
    main()
