"""Steps per second on classic-control environments: plain loops, Gymnasium's vector API, compiled twins.

    python benchmarks/throughput.py
    python benchmarks/throughput.py --quick --only CartPole-v1

The yardstick is a plain loop over one `gymnasium.make` environment that takes its actions in turn, without
rules. Against it: the same loop with a ruleset's `predict`; a decision list of eight rules through the vector
API (`SyncVectorEnv`) and through the compiled twin, each with one and with two threads or processes. All play
in the same run and take turns; numbers are medians of the repeats, and so are ratios, each taken within its
round. In CartPole the list keeps the pole up for all 500 steps, so that resets count for little; elsewhere
the list is random, and episodes last to their limit.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from timing import machine

from ifthen import DecisionList
from ifthen.environments.make import env_task
from ifthen.rules.batch import RuleBatch, stacked
from ifthen.simulate.evaluate import environment_simulator
from ifthen.tasks.gym_task import EnvTask, Player

ENVIRONMENTS = ("CartPole-v1", "MountainCar-v0", "Acrobot-v1")
RULES = 8
TARGETS = {"twin, 2 threads": 300.0}
# Feature: interval; then the action. With ±∞ cut to the feature's range.
FAR = np.inf
BALANCE: tuple[tuple[dict[int, tuple[float, float]], int], ...] = (
    ({2: (-0.2, FAR), 3: (0.3, FAR)}, 1),
    ({2: (-FAR, 0.2), 3: (-FAR, -0.3)}, 0),
    ({0: (-2.3, FAR), 2: (0.03, FAR), 3: (-0.3, FAR)}, 1),
    ({0: (-FAR, 2.3), 2: (-FAR, -0.03), 3: (-FAR, 0.3)}, 0),
    ({0: (-FAR, -0.5), 1: (-FAR, 0.1), 3: (-0.1, FAR)}, 0),
    ({0: (0.5, FAR), 1: (-0.1, FAR), 3: (-FAR, 0.1)}, 1),
    ({2: (-0.2, 0.2), 3: (0.0, FAR)}, 1),
    ({}, 0),
)


class Effort(NamedTuple):
    """How much to play in one run of each way, in steps."""

    repeats: int
    loop: int
    vector: int
    twin: int


FULL, QUICK = Effort(9, 30_000, 400_000, 4_000_000), Effort(2, 2_000, 10_000, 100_000)
Way = Callable[[], float]
"""Plays for a while and returns the steps per second."""


def bounds_of(task: EnvTask) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return bounds `(rules, features, 2)` and actions `(rules,)` of the list that is played."""
    lows, highs = task.ranges
    ranges = np.stack([lows, highs], axis=-1)
    bounds = np.broadcast_to(ranges, (RULES, *ranges.shape)).copy()
    actions = np.arange(RULES, dtype=np.int32) % task.n_actions
    if task.environment.startswith("CartPole"):
        for r, (conditions, action) in enumerate(BALANCE):
            actions[r] = action
            for d, (low, high) in conditions.items():
                bounds[r, d] = np.clip((low, high), lows[d], highs[d])
        return bounds, actions
    draws = np.random.default_rng(0)
    bounds[:-1] = lows[:, None] + draws.random((RULES - 1, len(lows), 2)) * (highs - lows)[:, None]
    return bounds, actions


def plain_loop(env: Any, choose: Callable[[Any], int], steps: int) -> float:
    """Return the steps per second of a loop over one environment."""
    observation, _ = env.reset(seed=0)
    began = time.perf_counter()
    for _ in range(steps):
        observation, _, terminated, truncated, _ = env.step(choose(observation))
        if terminated or truncated:
            observation, _ = env.reset()
    return steps / (time.perf_counter() - began)


def alternating(n: int) -> Callable[[Any], int]:
    """Return a policy that takes all n actions in turn."""
    turns = itertools.cycle(range(n))
    return lambda observation: next(turns)


def rules_way(task: EnvTask, rules: RuleBatch, player: Player, threads: int, steps: int) -> Way:
    """Return how one list plays through a player, on as many reset seeds as give about `steps` steps."""
    simulator = environment_simulator(task.replaced(player=player), threads)
    sample = simulator.play(rules, np.arange(8))
    seeds = np.arange(max(8, int(steps / sample.steps.mean())))
    simulator.play(rules, seeds)

    def run() -> float:
        began = time.perf_counter()
        played = simulator.play(rules, seeds)
        return int(played.steps.sum()) / (time.perf_counter() - began)

    return run


def ways(task: EnvTask, effort: Effort) -> dict[str, Way]:
    """Return the ways to play, by name; the first is the yardstick."""
    bounds, actions = bounds_of(task)
    readable = DecisionList(bounds, actions, task.features, task.action_names)
    rules = stacked([readable])
    env = gymnasium.make(task.environment)
    by_name: dict[str, Way] = {
        "plain loop, no rules": partial(plain_loop, env, alternating(task.n_actions), effort.loop),
        "plain loop, predict": partial(
            plain_loop, env, lambda observation: int(readable.predict(observation)), effort.loop // 8
        ),
    }
    for threads, threads_label in ((1, "1 thread"), (2, "2 threads")):
        by_name[f"vector API, sync, {threads_label}"] = rules_way(
            task, rules, "sync", threads, effort.vector // 4
        )
        by_name[f"twin, {threads_label}"] = rules_way(task, rules, "twin", threads, effort.twin)
    return by_name


def measured_table(environment: str, effort: Effort) -> Table:
    """Return the speeds of all ways in one environment."""
    table = Table(
        title=f"{environment}: a list of {RULES} rules, medians of {effort.repeats}", title_justify="left"
    )
    for i, heading in enumerate(
        ("played by", "steps per second", "× plain loop", "lowest", "highest", "target")
    ):
        table.add_column(heading, justify="right" if i else "left")
    playing = ways(env_task(environment), effort)
    rounds = np.array([[run() for run in playing.values()] for _ in range(effort.repeats)])
    ratios = rounds / rounds[:, :1]
    for i, name in enumerate(playing):
        ratio = float(np.median(ratios[:, i]))
        table.add_row(
            name,
            f"{np.median(rounds[:, i]):,.0f}",
            *(f"{number:,.2f}" for number in (ratio, ratios[:, i].min(), ratios[:, i].max())),
            verdict(environment, name, ratio),
        )
    return table


def verdict(environment: str, name: str, ratio: float) -> str:
    """Return the ratio that is wanted of a way to play, and whether it was reached, if there is one."""
    targets = {key: value for key, value in TARGETS.items() if name.startswith(key)}
    if not environment.startswith("CartPole") or not targets:
        return ""
    (target,) = targets.values()
    return f"{target:g} {'met' if ratio >= target else 'MISSED'}"


def main() -> None:
    """Read the command line, measure, print each table when it is ready."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few repeats and steps: a smoke test")
    parser.add_argument("--only", nargs="+", choices=ENVIRONMENTS, default=list(ENVIRONMENTS))
    options = parser.parse_args()
    console = Console(width=140)
    console.print(machine(), highlight=False)
    for environment in options.only:
        console.print()
        console.print(measured_table(environment, QUICK if options.quick else FULL))


if __name__ == "__main__":
    main()
