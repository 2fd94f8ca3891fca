"""PPL-X in environments without one of its parts: does every part earn its place?

    python benchmarks/pplx_ablation.py                                       # two environments, three seeds
    python benchmarks/pplx_ablation.py LunarLander-v3 --seeds 2 --steps 2000000
    python benchmarks/pplx_ablation.py Acrobot-v1 --only "no fitting" "no tuning"

A part that is left out takes no steps, and the others get no more. Return is on test seeds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

import ifthen
from ifthen.systems.pplx import distil_values as distil
from ifthen.systems.pplx import pplx_on_env as on_env

TASKS = ("Acrobot-v1", "MountainCar-v0")


def keeps(bench: Any, known: Any, *_: Any, **__: Any) -> Any:
    """Do nothing with what is known."""
    return known


def no_values(bench: Any, known: Any, *_: Any) -> tuple[Any, float]:
    """Learn no values."""
    return known, 0.0


PARTS: dict[str, Callable[[], list[Any]]] = {
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


def trial(task: Any, seed: int, part: str, parameters: dict[str, Any]) -> tuple[float, int, int, int, float]:
    """Return the return on test seeds, rules, tests, steps and seconds of one training."""
    patches = PARTS[part]()
    for own in patches:
        own.start()
    try:
        began = time.process_time()
        system = ifthen.PPLX(task, seed=seed, threads=1, terms=part != "no terms", **parameters).learn()
        seconds = time.process_time() - began
    finally:
        for own in patches:
            own.stop()
    performance = ifthen.evaluate(system).performance
    return performance, len(system.ruleset), system.ruleset.tests, system.num_timesteps, seconds


def main() -> None:
    """Measure, and print a table per environment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=TASKS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    parameters = {} if given.steps is None else {"steps": given.steps}
    for name in given.tasks:
        task = ifthen.env_task(name)
        print(f"\n| {name} | return, mean | worst | rules | tests | steps | seconds |")
        print("|---|--:|--:|--:|--:|--:|--:|", flush=True)
        for part in given.only:
            found = np.array([trial(task, seed, part, parameters) for seed in range(given.seeds)])
            mean = found.mean(axis=0)
            cells = f"{mean[0]:.1f}", f"{found[:, 0].min():.1f}", f"{mean[1]:.1f}", f"{mean[2]:.1f}"
            print(f"| {part} | {' | '.join(cells)} | {mean[3]:,.0f} | {mean[4]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
