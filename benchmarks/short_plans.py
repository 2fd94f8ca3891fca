"""PPL-X with few steps: the return of its list, and of its network, on 100 test seeds.

    python benchmarks/short_plans.py                                    # five environments, three seeds each
    python benchmarks/short_plans.py --only Acrobot-v1 --first 3 --seeds 12

LunarLander needs the extra box2d, FlappyBird flappy-bird-gymnasium. What is not there is left out.
To compare with another version, run it there, too: PYTHONPATH=OTHER/src python benchmarks/short_plans.py
"""

from __future__ import annotations

import argparse
import importlib
import time
import warnings

import gymnasium
import numpy as np

import ifthen
from ifthen.systems.pplx.pplx_on_env import OnEnvironment

PLANS = (
    ("CartPole-v1", 10_000),
    ("Acrobot-v1", 10_000),
    ("LunarLander-v3", 40_000),
    ("LunarLander-v3", 100_000),
    ("FlappyBird-v0", 20_000),
)
TESTED_ON = 100


def make_env(name: str) -> gymnasium.Env[np.ndarray, np.int64]:
    """Return an environment; a bird sees numbers, not rays."""
    if name.startswith("Flappy"):
        importlib.import_module("flappy_bird_gymnasium")
        return gymnasium.make(name, use_lidar=False)
    return gymnasium.make(name)


def trained(name: str, steps: int, seed: int) -> tuple[float, float, str]:
    """Return the mean returns of list and network after a plan, and a line about the list."""
    began = time.process_time()
    system = ifthen.PPLX(make_env(name), seed=seed, threads=1, steps=steps)
    system.learn()
    learner = system.learner
    assert isinstance(learner, OnEnvironment)
    task, population, seeds = learner.task, system.now.population, learner.task.test_seeds(TESTED_ON)
    bench = learner.bench(0, 0.0)
    episodes = bench.explore(population.nets[-1], 0.0, seeds, np.uint64(0), population.scaling)
    list_return = ifthen.evaluate(system.ruleset, task, seeds=seeds).performance
    size = f"{len(system.ruleset)} rules, {system.ruleset.tests} tests"
    took = f"{system.num_timesteps:,} steps, {time.process_time() - began:.0f} s of one core"
    return list_return, bench.mean_return(episodes), f"{size}; {took}"


def main() -> None:
    """Print a line for each training, and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[name for name, _ in PLANS])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, steps in (plan for plan in PLANS if plan[0] in options.only):
        try:
            make_env(name).close()
        except (gymnasium.error.Error, ImportError) as missing:
            print(f"{name}: left out ({missing})")
            continue
        returns = []
        for seed in range(options.first, options.first + options.seeds):
            score, network, words = trained(name, steps, seed)
            returns.append((score, network))
            print(
                f"{name}, {steps:,} steps, seed {seed}: list {score:.4g}, network {network:.4g}; {words}",
                flush=True,
            )
        list_mean, network_mean = np.mean(returns, axis=0)
        print(
            f"{name}, {steps:,} steps: list {list_mean:.4g}, network {network_mean:.4g} on average",
            flush=True,
        )


if __name__ == "__main__":
    main()
