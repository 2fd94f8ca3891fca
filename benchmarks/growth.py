"""How the cost of one generation of PPL-ST grows with rules, population, states and episodes.

    python benchmarks/growth.py
    python benchmarks/growth.py --quick --out growth.csv

One thread. Every ruleset is given one rule that matches everywhere, so that hardly any fails and is
spared its episodes; and every policy is played, though a run looks up those it has met before. The best of
the repeats counts.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from phases import breed, population_tables, reinforce, reinforcement_key, table_of
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from timing import machine, warm_up

from ifthen import PPLST, TabularTask, frozen_lake
from ifthen.rules.feature import lows_and_highs
from ifthen.simulate.table_play import Played, play
from ifthen.systems.pittsburgh import Population, first_population

T = TypeVar("T")
ENUMERATIONS_BY_SIZE = {4: 30, 8: 30, 16: 10, 32: 3, 64: 1}


class Case(NamedTuple):
    """One size to measure."""

    size: int
    """How large that is which grows."""
    task: TabularTask
    rules: int
    """Rules per ruleset."""
    rulesets: int
    """Rulesets in the population."""


class Sweep(NamedTuple):
    """Cases in which one thing grows."""

    name: str
    """What grows."""
    setting: str
    """What stays the same."""
    cases: list[Case]


class Cost(NamedTuple):
    """What one generation of a case cost."""

    case: Case
    seconds: dict[str, float]
    """By phase, and "all"."""
    trained: int
    """Steps of reinforcement."""
    played: int
    """Steps of play."""
    failed: float
    """Share of the policies that failed and were not played to the end."""

    @property
    def episodes(self) -> int:
        """Episodes of play."""
        return len(self.case.task.z) * self.case.rulesets


class Clock:
    """Keeps the best seconds of each phase."""

    def __init__(self) -> None:
        self.best: dict[str, float] = {}

    def time(self, phase: str, work: Callable[[], T]) -> T:
        """Do the work of a phase and return its result."""
        began = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - began
        self.best[phase] = min(seconds, self.best.get(phase, math.inf))
        return result


def first_rulesets(system: PPLST) -> Population:
    """Return random rulesets, not measured, whose first rule matches everywhere."""
    features = system.task.features
    population = first_population(system.parameters, system.task, system.seed, len(features) + 2)
    population.bounds[:, 0] = np.stack(lows_and_highs(features), axis=-1)
    return population


def generation(
    system: PPLST, parents: Population, epoch: int, clock: Clock
) -> tuple[Population, NDArray[np.int64], Played]:
    """Return the population of an epoch, its steps of reinforcement, and how it played."""
    key = reinforcement_key(system, epoch)
    children = clock.time("breed", lambda: breed(system, parents, epoch))
    trained = clock.time("reinforce", lambda: reinforce(system, children, key))
    tables = clock.time("tables", lambda: population_tables(system, children))
    played = clock.time("play", lambda: play(table_of(system), tables))
    return children._replace(fitness=played.performance), trained, played


def measure(case: Case, epochs: int, repeats: int) -> Cost:
    """Evolve a population for some epochs, then time the phases of the next one."""
    system = PPLST(case.task, threads=1, idv_size=case.rules, pop_size=case.rulesets)
    parents, clock = first_rulesets(system), Clock()
    for epoch in range(1, epochs + 1):
        parents, _, _ = generation(system, parents, epoch, Clock())
    for _ in range(repeats):
        _, trained, played = generation(system, parents, epochs + 1, clock)
    seconds = {**clock.best, "all": sum(clock.best.values())}
    return Cost(case, seconds, int(trained.sum()), int(played.steps.sum()), float(played.failed.mean()))


def sweeps(quick: bool) -> Iterator[Sweep]:
    """Return every sweep, from small to large."""
    n_sizes = 3 if quick else None
    task = frozen_lake(8, 0.3)
    rules = [Case(n, task, n, 112) for n in (7, 14, 21, 42, 84, 168, 336)[:n_sizes]]
    yield Sweep("rules", "FrozenLake (8, 0.3), 112 rulesets", rules)
    rulesets = [Case(n, task, 21, n) for n in (56, 112, 224, 448, 896, 1792)[:n_sizes]]
    yield Sweep("rulesets", "FrozenLake (8, 0.3), 21 rules", rulesets)
    maps = [
        frozen_lake(size, 0.1, map_seed=0, enumerations=enumerations)
        for size, enumerations in list(ENUMERATIONS_BY_SIZE.items())[:n_sizes]
    ]
    states = [Case(len(lake.decision_states), lake, 42, 56) for lake in maps]
    yield Sweep("states", "random maps of sizes 4 to 64, slip 0.1, 42 rules, 56 rulesets", states)
    lengths = [frozen_lake(8, 0.3, enumerations=n) for n in (1, 3, 10, 30, 100)[:n_sizes]]
    episodes = [Case(len(lake.z), lake, 21, 112) for lake in lengths]
    yield Sweep("episodes", "FrozenLake (8, 0.3), 21 rules, 112 rulesets", episodes)


def growth(cost: Cost, previous: Cost | None, phase: str) -> str:
    """Return the time of a phase in ms, its ratio to the row before, and the local exponent."""
    current = cost.seconds[phase]
    if previous is None:
        return f"{current * 1e3:.2f}"
    ratio = current / previous.seconds[phase]
    exponent = math.log(ratio) / math.log(cost.case.size / previous.case.size)
    return f"{current * 1e3:.2f} ×{ratio:.1f} ^{exponent:.2f}"


def sweep_table(sweep: Sweep, costs: list[Cost]) -> Table:
    """Return one sweep as a table."""
    table = Table(
        title=f"Growth with {sweep.name}: {sweep.setting}\n"
        "(milliseconds, × ratio to the row before, ^ local exponent: cost grows as size to that power)",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
    )
    units = "learn\nns/step", "play\nns/step", "play\nns/episode"
    for heading in (sweep.name, "|z|", *costs[0].seconds, *units):
        table.add_column(heading, justify="right", vertical="bottom")
    for cost, before in zip(costs, [None, *costs], strict=False):
        seconds = cost.seconds
        table.add_row(
            str(cost.case.size),
            str(len(cost.case.task.z)),
            *(growth(cost, before, phase) for phase in seconds),
            f"{seconds['reinforce'] / cost.trained * 1e9:.0f}",
            f"{seconds['play'] / cost.played * 1e9:.2f}",
            f"{seconds['play'] / cost.episodes * 1e9:.0f}",
        )
    return table


def rows(sweep: Sweep, costs: list[Cost]) -> Iterator[dict[str, object]]:
    """Return the costs of a sweep as rows for a file."""
    for cost in costs:
        yield {
            "sweep": sweep.name,
            "size": cost.case.size,
            "task": cost.case.task.name,
            "rules": cost.case.rules,
            "rulesets": cost.case.rulesets,
            "episodes_of_z": len(cost.case.task.z),
            **{f"{phase}_seconds": seconds for phase, seconds in cost.seconds.items()},
            "trained_steps": cost.trained,
            "played_steps": cost.played,
            "failed_share": cost.failed,
        }


def main() -> None:
    """Read the command line, measure, print each table when it is ready."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the small sizes only: a smoke test")
    parser.add_argument("--out", type=Path, help="also write the numbers to this CSV file")
    options = parser.parse_args()
    epochs, repeats = (2, 2) if options.quick else (5, 5)
    console = Console(width=140)
    console.print(machine(), highlight=False)
    warm_up()
    all_rows: list[dict[str, object]] = []
    for sweep in sweeps(options.quick):
        costs = [measure(case, epochs, repeats) for case in sweep.cases]
        all_rows += rows(sweep, costs)
        console.print()
        console.print(sweep_table(sweep, costs))
    if options.out is not None:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(all_rows[0]))
            writer.writeheader()
            writer.writerows(all_rows)


if __name__ == "__main__":
    main()
