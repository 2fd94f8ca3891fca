"""LunarLander and its compiled stand-in side by side: what policies get in each, and how fast each plays.

    python benchmarks/lunar_stand_in.py
    python benchmarks/lunar_stand_in.py --episodes 10

Policies are no engine, random actions, a pilot who leans against the drift, six rules, and the rulesets of
results/gallery whose names begin with lunar. Each plays the same reset seeds in both environments: ground and
first push are equal there, the engines' noise is not. An episode crashes (or leaves the picture), comes to
rest, or is truncated. Speed is that of the six rules on one thread, taking turns in one run: LunarLander in a
plain loop, where the rules are lines of Python, and through the vector API; the stand-in by its compiled step
(first states are drawn before the clock starts). Medians of the repeats.

Needs Box2D: pip install "ifthen[box2d]".
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from timing import machine

from ifthen import DecisionList, RuleSet, env_task, read_ruleset
from ifthen.environments.lunar_lander import STAND_IN
from ifthen.environments.rebind import stand_in_task
from ifthen.rules.batch import RuleBatch, stacked
from ifthen.simulate.environment import EnvSimulator
from ifthen.simulate.evaluate import environment_simulator
from ifthen.tasks.gym_task import EnvTask

REAL = "LunarLander-v3"
GALLERY = Path(__file__).parents[1] / "results" / "gallery"
NOTHING, ONE, MAIN, OTHER = range(4)
FAR = np.inf
# Feature: interval; then the action. They keep upright and fall slowly.
RULES: tuple[tuple[dict[int, tuple[float, float]], int], ...] = (
    ({4: (0.15, FAR)}, OTHER),
    ({4: (-FAR, -0.15)}, ONE),
    ({5: (0.2, FAR)}, OTHER),
    ({5: (-FAR, -0.2)}, ONE),
    ({3: (-FAR, -0.2)}, MAIN),
    ({}, NOTHING),
)
Choose = Callable[[Any], int]
"""Chooses an action at an observation."""


class Ended(NamedTuple):
    """One episode."""

    total: float
    steps: int
    ending: str


def pilot(point: Any) -> int:
    """Lean against the drift, and fall as slowly as the height allows."""
    x, y, speed_x, speed_y, angle, spin, *feet = point.tolist()
    if any(feet):
        return MAIN if speed_y < -0.1 else NOTHING
    lean = min(max(0.5 * x + speed_x, -0.4), 0.4)
    turn, lift = 0.5 * (lean - angle) - spin, 0.5 * (0.55 * abs(x) - y - speed_y)
    if lift > max(abs(turn), 0.05):
        return MAIN
    return NOTHING if abs(turn) < 0.05 else ONE if turn > 0 else OTHER


def hover(point: Any) -> int:
    """Do what the six rules do, as one writes it in Python."""
    for value, edge in ((point[4], 0.15), (point[5], 0.2)):
        if abs(value) >= edge:
            return OTHER if value > 0 else ONE
    return MAIN if point[3] <= -0.2 else NOTHING


def six_rules(task: EnvTask) -> DecisionList:
    """Return the list of six rules."""
    lows, highs = task.ranges
    bounds = np.tile(np.stack([lows, highs], axis=-1), (len(RULES), 1, 1))
    for r, (conditions, _) in enumerate(RULES):
        for d, interval in conditions.items():
            bounds[r, d] = np.clip(interval, lows[d], highs[d])
    return DecisionList(bounds, [action for _, action in RULES], task.features, task.action_names)


def random_policy(seed: int) -> Choose:
    """Return random actions, the same in both environments."""
    draws = np.random.default_rng(seed)
    return lambda point: int(draws.integers(4))


def obeying(rules: RuleSet) -> Callable[[int], Choose]:
    """Return what a ruleset does with any seed; no engine where none of its rules matches."""
    return lambda seed: lambda point: max(int(rules.choose(point[None].astype(np.float64))[0][0]), NOTHING)


def policies(task: EnvTask) -> dict[str, Callable[[int], Choose]]:
    """Return what makes the policies, by name: a function of the reset seed."""
    found: dict[str, Callable[[int], Choose]] = {
        "no engine": lambda seed: lambda point: NOTHING,
        "random": random_policy,
        "pilot": lambda seed: pilot,
        "six rules": obeying(six_rules(task)),
    }
    for file in sorted(GALLERY.glob("*.json")):
        if file.name.lower().startswith("lunar"):
            found[file.stem] = obeying(read_ruleset(file)[0])
    return found


def play(env: Any, choose: Choose, seed: int) -> Ended:
    """Play one episode in an environment."""
    point, _ = env.reset(seed=seed)
    total, steps, ended, truncated = 0.0, 0, False, False
    while not (ended or truncated):
        point, reward, ended, truncated, _ = env.step(choose(point))
        total, steps = total + float(reward), steps + 1
    return Ended(total, steps, "truncated" if not ended else "at rest" if reward > 0 else "crashed")


def outcome_table(task: EnvTask, episodes: int) -> Table:
    """Return what each policy gets in both environments."""
    table = Table(title=f"The same {episodes} reset seeds in both", title_justify="left")
    headings = ("policy", "environment", "return", "± sd", "steps", "crashed", "at rest", "truncated")
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="right" if i > 1 else "left")
    for name, make in policies(task).items():
        for environment in (REAL, STAND_IN):
            env = gymnasium.make(environment)
            played = [play(env, make(seed), seed) for seed in range(episodes)]
            totals = np.array([each.total for each in played])
            shares = [sum(each.ending == end for each in played) / episodes for end in headings[-3:]]
            table.add_row(
                name if environment == REAL else "",
                environment,
                f"{totals.mean():.1f}",
                f"{totals.std():.1f}",
                f"{np.mean([each.steps for each in played]):.0f}",
                *(f"{share:.0%}" for share in shares),
                end_section=environment != REAL,
            )
            env.close()
    return table


def plain_loop(env: Any, choose: Choose, seeds: NDArray[np.int64]) -> float:
    """Return the steps per second of a loop over one environment."""
    began = time.perf_counter()
    return sum(play(env, choose, int(seed)).steps for seed in seeds) / (time.perf_counter() - began)


def by_rules(simulator: EnvSimulator, rules: RuleBatch, seeds: NDArray[np.int64]) -> float:
    """Return the steps per second of rules on one thread."""
    began = time.perf_counter()
    return int(simulator.play(rules, seeds).steps.sum()) / (time.perf_counter() - began)


def speed_table(task: EnvTask, repeats: int, episodes: int) -> Table:
    """Return how fast the six rules are played, in all ways."""
    table = Table(title=f"Six rules, one thread, medians of {repeats}", title_justify="left")
    for i, heading in enumerate(("played by", "steps per second", "× plain loop", "lowest", "highest")):
        table.add_column(heading, justify="right" if i else "left")
    listed, own = six_rules(task), stand_in_task(task, STAND_IN)
    rules, real, compiled = stacked([listed]), environment_simulator(task), environment_simulator(own)
    few, many = np.arange(episodes), np.arange(20 * episodes)
    by_rules(compiled, rules, many)  # compiles, and draws the first states
    ways = {
        f"{REAL}, plain loop": partial(plain_loop, gymnasium.make(REAL), hover, few),
        f"{REAL}, vector API": partial(by_rules, real, rules, few),
        f"{STAND_IN}, compiled": partial(by_rules, compiled, rules, many),
    }
    rounds = np.array([[run() for run in ways.values()] for _ in range(repeats)])
    ratios = rounds / rounds[:, :1]
    for i, name in enumerate(ways):
        spread = (np.median(ratios[:, i]), ratios[:, i].min(), ratios[:, i].max())
        table.add_row(name, f"{np.median(rounds[:, i]):,.0f}", *(f"{number:,.1f}" for number in spread))
    return table


def main() -> None:
    """Read the command line, play, print each table when it is ready."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--episodes", type=int, default=100, help="reset seeds per policy")
    parser.add_argument("--repeats", type=int, default=5, help="of the measurement of speed")
    options = parser.parse_args()
    if find_spec("Box2D") is None:
        parser.error('LunarLander needs Box2D, which is not installed: pip install "ifthen[box2d]".')
    if min(options.episodes, options.repeats) < 1:
        parser.error("--episodes and --repeats must be 1 or more.")
    task, console = env_task(REAL), Console(width=140)
    console.print(machine(), highlight=False)
    console.print(outcome_table(task, options.episodes))
    console.print(speed_table(task, options.repeats, options.episodes))


if __name__ == "__main__":
    main()
