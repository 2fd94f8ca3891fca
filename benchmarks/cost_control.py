"""What playing fewer episodes saves, and what it costs: all of z, racing, windows, growing numbers.

    python benchmarks/cost_control.py                       CartPole-v1 and MountainCar-v0, ten seeds each
    python benchmarks/cost_control.py --seeds 2 --epochs 5 --only CartPole-v1

PPL-DL with the presets of each environment, the same epochs for all; seeds take turns over the ways to save,
so that times are compared within the same minute. Steps are those of the episodes that fitness rests on;
scores are mean returns over 100 unseen reset seeds. Results go to results/cost-control.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import polars
from rich.console import Console

from ifthen import PPLDL, env_task, evaluate

OUT = Path(__file__).parents[1] / "results" / "cost-control"
WAYS: dict[str, dict[str, Any]] = {
    "all of z": {"racing": False},
    "racing": {"racing": True},
    "4 windows": {"racing": False, "windows": 4},
    "growing from 1/8": {"racing": False, "double_every": 10},
    "racing in 2 windows": {"racing": True, "windows": 2},
}
EPOCHS = {"CartPole-v1": 60, "MountainCar-v0": 100, "Acrobot-v1": 100}


def measured(name: str, variant: str, seed: int, epochs: int) -> dict[str, Any]:
    """Return what one run took and got."""
    task, parameters = env_task(name), dict(WAYS[variant])
    if variant.startswith("growing"):
        parameters["first_episodes"] = max(1, len(task.z) // 8)
    began = time.perf_counter()
    system = PPLDL(task, seed=seed, **parameters).learn(epochs=epochs)
    seconds = time.perf_counter() - began
    score = evaluate(system, task, seeds=task.test_seeds(100)).performance
    return {
        "task": name,
        "way": variant,
        "seed": seed,
        "steps": system.history["steps"][-1],
        "seconds": seconds,
        "score": score,
    }


def main() -> None:
    """Run, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=EPOCHS, default=["CartPole-v1", "MountainCar-v0"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epochs", type=int)
    options = parser.parse_args()
    rows = []
    for name in options.only:
        PPLDL(env_task(name), pop_size=4).learn(epochs=1)  # compiles
        for seed in range(options.seeds):
            rows += [measured(name, variant, seed, options.epochs or EPOCHS[name]) for variant in WAYS]
            print(name, "seed", seed, "done", flush=True)
    runs = polars.DataFrame(rows)
    baseline = runs.filter(polars.col("way") == "all of z").select("task", "seed", "steps", "seconds")
    table = (
        runs.join(baseline, on=["task", "seed"], suffix="_all")
        .group_by("task", "way", maintain_order=True)
        .agg(
            (polars.col("steps") / polars.col("steps_all")).median().round(3).alias("steps / all"),
            (polars.col("seconds") / polars.col("seconds_all")).median().round(3).alias("time / all"),
            polars.col("seconds").median().round(2).alias("seconds"),
            polars.col("score").mean().round(2).alias("score"),
            polars.col("score").std().round(2).alias("sd"),
            polars.col("score").min().round(2).alias("worst"),
        )
    )
    Console().print(table)
    OUT.mkdir(parents=True, exist_ok=True)
    table.write_csv(OUT / "table.csv")


if __name__ == "__main__":
    main()
