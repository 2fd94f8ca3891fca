"""Training speed of XCSF, beside its plain-Python oracle and the C library xcsf, on one core.

    python benchmarks/xcsf_speed.py
    python benchmarks/xcsf_speed.py --only trials growth matching
    python benchmarks/xcsf_speed.py --quick

`peers` times environment steps of training with full populations: ours after a warm-up, the oracle from that
very population (both must hold the same rules after a hundred steps), and the library with the same bound N
on the same task, and once more with as many rules as ours (its real-valued boxes never merge, so that the
same N gives it more rules). They take turns and the best of the repeats counts; the library lives in a
virtual environment of its own, made where it is missing. `trials` are whole trials of 250 epochs, measuring
included.
`growth` is the cost of a step against N. `matching` compares ways to find the match set of a state.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from peer_venv import PEER, PEER_FOLDER, PEER_VERSION, make_peer_venv, peer
from rich.console import Console
from rich.table import Table
from speed import new_table
from timing import best_interleaved, machine, timed

from ifthen import XCSF, TabularTask, evaluate, frozen_lake
from ifthen.rules import box
from ifthen.rules.box import ONE, WORD, lowest_bit
from ifthen.systems.learning import Moment

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.naive_xcsf import NaiveXCSF, Rule

CASES = ((8, 0.3), (12, 0.3))
TRIALS = ((4, 0.0), (4, 0.3), (8, 0.0), (8, 0.3), (12, 0.0), (12, 0.3), (12, 0.5))
BOUNDS = (262, 525, 1_050, 2_100, 4_200, 8_400)
ORACLE_RATIO, PEER_RATIO = 200, 20
SECONDS = {4: 0.1, 8: 1.0, 12: 3.0}
CHECKED = 100  # steps after which both must agree; later a rounding error may decide a tie


class Effort(NamedTuple):
    """How much to run."""

    warm_up: int
    """Steps before anything of ours or of the oracle is timed."""
    steps: int
    """Steps of ours that are timed."""
    peer_warm_up: int
    """Steps of the library before it is timed; more where its population is not full by then."""
    peer_steps: int
    """Steps of the library that are timed."""
    oracle_steps: int
    """Steps of the oracle that are timed."""
    repeats: int
    """Repeats of which the best counts."""
    epochs: int
    """Epochs of a trial."""


FULL, QUICK = (
    Effort(200_000, 100_000, 60_000, 15_000, 300, 3, 250),
    Effort(5_000, 2_000, 2_000, 1_000, 20, 1, 5),
)


def trained(size: int, p_slip: float, steps: int, **parameters: Any) -> XCSF:
    """Return an XCSF after some steps."""
    return XCSF(frozen_lake(size, p_slip), seed=1, threads=1, **parameters).learn(steps=steps)


def more_steps(system: XCSF, moment: Moment, steps: int) -> Callable[[], object]:
    """Return the work of training so many steps on from a moment."""

    def work() -> None:
        system._now = moment
        system.learn(steps=steps)

    return work


def table_of(system: XCSF) -> TabularTask:
    """Return the system's task, which must be a table."""
    if not isinstance(system.task, TabularTask):
        raise TypeError(f"{system.task.name} is no table: give a system that learns on one.")
    return system.task


def oracle_at(system: XCSF) -> NaiveXCSF:
    """Return the plain-Python oracle in the present state of a system."""
    oracle, population = NaiveXCSF(system.task, system.parameters, system.seed), system.now.population
    names = ("steps", "episodes", "state", "time", "explore", "before")
    clock = dict(zip(names, population.clock.tolist(), strict=False))
    states = table_of(system).decision_states.tolist()
    oracle.steps, oracle.episodes, oracle.time = clock["steps"], clock["episodes"], clock["time"]
    oracle.explore, oracle.pending = bool(clock["explore"]), float(population.pending[0])
    oracle.state, oracle.before = (states[s] if s >= 0 else -1 for s in (clock["state"], clock["before"]))
    size = population.weights.shape[1]
    for r in range(len(population.numerosity)):
        matrix = np.zeros((size, size))
        matrix[np.triu_indices(size)] = population.covariance[r]
        rule = Rule(
            population.bounds[r].tolist(),
            int(population.action[r]),
            population.weights[r].tolist(),
            (matrix + np.triu(matrix, 1).T).tolist(),
            float(population.fitness[r]),
            float(population.error[r]),
            float(population.niche_error[r]),
            int(population.stamp[r]),
            float(population.set_size[r]),
            int(population.numerosity[r]),
            int(population.experience[r]),
        )
        oracle.slots.append(rule if population.numerosity[r] else None)
        if population.held[r]:
            oracle.held.append(rule)
    return oracle


def check_same(system: XCSF, oracle: NaiveXCSF) -> None:
    """Stop unless both hold the same rules."""
    population = system.now.population
    rules = population.numerosity > 0
    names = ("bounds", "action", "numerosity", "experience", "stamp")
    ours = [getattr(population, name)[rules].tolist() for name in names]
    if ours != [[getattr(rule, name) for rule in oracle.rules] for name in names]:
        raise SystemExit("ours and the oracle hold different rules after the same steps: nothing is timed.")


def peers_table(effort: Effort, venv: Path) -> Table:
    """Return the speeds of ours, the oracle and the library."""
    table = new_table(
        f"Training with full populations, one core; {PEER} {PEER_VERSION} on one thread",
        2, "task", "who", "N", "rules", "match set", "steps/s", "µs/step", "ours is faster by", "target",
        f"exact / optimum at {(effort.peer_warm_up + effort.peer_steps) // 1000}k steps",
    )  # fmt: skip
    python = make_peer_venv(venv)
    for size, p_slip in CASES:
        system = trained(size, p_slip, effort.warm_up)
        moment, task, limit = system.now, table_of(system), system.parameters.pop_limit
        assert limit is not None
        oracle = oracle_at(system)
        oracle.run(CHECKED)
        check_same(system.learn(steps=CHECKED), oracle)
        rules = moment.records[-1]["macros"]
        fewer = max(task.n_actions, round(limit * rules / peer_rules(task, limit, python, effort)))
        results: dict[int, list[dict[str, Any]]] = {limit: [], fewer: []}

        def library(bound: int, results: Any = results, task: Any = task) -> Callable[[], float]:
            def run() -> float:
                results[bound].append(peer(task, bound, python, effort.peer_warm_up, effort.peer_steps))
                return float(results[bound][-1]["seconds"])

            return run

        our_seconds, oracle_seconds, same_bound, same_rules = best_interleaved(
            effort.repeats,
            timed(more_steps(system, moment, effort.steps)),
            timed(partial(run_oracle, system, moment, effort.oracle_steps)),
            library(limit),
            library(fewer),
        )
        system._now = moment
        matching = system.ruleset.matches(task.dynamics.points).sum(axis=1).mean()
        system = trained(size, p_slip, effort.peer_warm_up + effort.peer_steps)  # as many as the library had
        quality = f"{evaluate(system, task, 'exact').fraction:.2f}"
        rate = effort.steps / our_seconds
        sizes, oracle_rate = (str(limit), str(rules), f"{matching:.0f}"), effort.oracle_steps / oracle_seconds
        speeds = (f"{rate:,.0f}", f"{1e6 / rate:.2f}", "", "", quality)
        table.add_row(f"({size}, {p_slip:g})", "ifthen", *sizes, *speeds)
        ratio = (f"{rate / oracle_rate:,.0f} x", f"{ORACLE_RATIO} x", "")
        table.add_row("", "plain Python", *sizes, f"{oracle_rate:,.0f}", f"{1e6 / oracle_rate:,.0f}", *ratio)
        for bound, seconds, target in ((limit, same_bound, f"{PEER_RATIO} x"), (fewer, same_rules, "")):
            result, peer_rate = results[bound][-1], effort.peer_steps / seconds
            sizes = (str(bound), str(result["macro"]), f"{result['match_set']:.0f}")
            quality = f"{evaluate(np.array(result['policy']), task, 'exact').fraction:.2f}"
            label = f"{PEER} (C)" if bound == limit else f"{PEER} (C), as many rules"
            speeds = (
                f"{peer_rate:,.0f}",
                f"{1e6 / peer_rate:.0f}",
                f"{rate / peer_rate:.1f} x",
                target,
                quality,
            )
            table.add_row("", label, *sizes, *speeds)
        share = results[limit][-1]["empty_loop_seconds"] / results[limit][-1]["seconds"]
        table.caption = f"The Python loop around the library took {share:.1%} of its time on the last task."
    return table


def peer_rules(task: Any, limit: int, python: Path, effort: Effort) -> int:
    """Return how many rules the library has with a bound."""
    return int(peer(task, limit, python, effort.peer_warm_up // 3, effort.peer_steps // 10)["macro"])


def run_oracle(system: XCSF, moment: Moment, steps: int) -> None:
    """Run the oracle on from a moment of a system."""
    system._now = moment
    oracle_at(system).run(steps)


def trials_table(effort: Effort) -> Table:
    """Return the seconds of whole trials."""
    table = new_table(
        f"Trials of {effort.epochs} epochs, one thread, measuring included (best of {effort.repeats})",
        1, "task", "seconds", "target", "steps", "rules", "µs/step, all told",
    )  # fmt: skip
    for size, p_slip in TRIALS:
        systems: list[XCSF] = []

        def trial(systems: list[XCSF] = systems, size: int = size, p_slip: float = p_slip) -> None:
            task = frozen_lake(size, p_slip)
            systems.append(XCSF(task, seed=1, threads=1, noise="stream").learn(epochs=effort.epochs))

        (seconds,) = best_interleaved(effort.repeats, timed(trial))
        last = systems[-1].now.records[-1]
        table.add_row(
            f"({size}, {p_slip:g})",
            f"{seconds:.2f}",
            f"about {SECONDS[size]:g}",
            f"{last['steps']:,}",
            str(last["macros"]),
            f"{seconds / last['steps'] * 1e6:.2f}",
        )
    return table


def growth_table(effort: Effort) -> Table:
    """Return the cost of a step for growing populations."""
    table = new_table("A step on (8, 0.3) as the population grows", 0, "N", "rules", "match set", "µs/step")
    for bound in BOUNDS:
        system = trained(8, 0.3, effort.warm_up, pop_limit=bound)
        (seconds,) = best_interleaved(effort.repeats, timed(more_steps(system, system.now, effort.steps)))
        matching = system.ruleset.matches(table_of(system).dynamics.points).sum(axis=1).mean()
        rules = system.now.records[-1]["macros"]
        table.add_row(str(bound), str(rules), f"{matching:.0f}", f"{seconds / effort.steps * 1e6:.2f}")
    return table


@numba.njit
def scan(bounds: Any, points: Any, out: Any, rounds: int) -> int:
    """Find match sets by testing every box."""
    checksum = 0
    for i in range(rounds):
        s = i % len(points)
        box.matches(bounds, points[s : s + 1], out)
        for r in range(out.shape[1]):
            if out[0, r]:
                checksum += r
    return checksum


@numba.njit
def combine(value_masks: Any, states: Any, lows: Any, rounds: int) -> int:
    """Find match sets by combining one mask per feature, and list them."""
    checksum = 0
    for i in range(rounds):
        s = i % len(states)
        for word in range(value_masks.shape[2]):
            mask = value_masks[0, states[s, 0] - lows[0], word]
            for d in range(1, states.shape[1]):
                mask &= value_masks[d, states[s, d] - lows[d], word]
            while mask != 0:
                checksum += word * WORD + lowest_bit(mask)
                mask &= mask - ONE
    return checksum


@numba.njit
def read(masks: Any, rounds: int) -> int:
    """Read match sets that are kept per state, and list them."""
    checksum = 0
    for i in range(rounds):
        s = i % len(masks)
        for word in range(masks.shape[1]):
            mask = masks[s, word]
            while mask != 0:
                checksum += word * WORD + lowest_bit(mask)
                mask &= mask - ONE
    return checksum


def matching_table(effort: Effort) -> Table:
    """Return how long it takes to find the match set of a state, in different ways."""
    table = new_table(
        "Finding and walking the match set of one state, in nanoseconds",
        1, "task", "rules", "match set", "test every box", "a mask per feature", "a mask per state (used)",
    )  # fmt: skip
    for size, p_slip in CASES:
        system = trained(size, p_slip, effort.warm_up)
        ruleset, model = system.ruleset, table_of(system).dynamics
        bounds: NDArray[np.int32] = np.ascontiguousarray(ruleset.bounds)
        words = int(box.words_for(len(ruleset)))
        value_masks = np.zeros((len(model.lows), model.widest, words), dtype=np.uint64)
        masks = np.zeros((len(model.states), words), dtype=np.uint64)
        box.match_masks(
            bounds[None], 0, len(ruleset), model.states, model.lows, model.cyclic, value_masks, masks
        )
        out, rounds = np.empty((1, len(ruleset)), dtype=np.bool_), max(WORD, effort.steps // 10)
        ways: list[Callable[[], int]] = [
            partial(scan, bounds, model.points, out, rounds),
            partial(combine, value_masks, model.states, model.lows, rounds),
            partial(read, masks, rounds),
        ]
        if len({way() for way in ways}) != 1:
            raise SystemExit("the ways to find match sets disagree: nothing is timed.")
        seconds = best_interleaved(max(5, effort.repeats), *map(timed, ways))
        table.add_row(
            f"({size}, {p_slip:g})",
            str(len(ruleset)),
            f"{ruleset.matches(model.points).sum(axis=1).mean():.0f}",
            *(f"{s / rounds * 1e9:,.0f}" for s in seconds),
        )
    return table


def main() -> None:
    """Read the command line, run, print the tables."""
    sections = ("peers", "trials", "growth", "matching")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few steps: a smoke test")
    parser.add_argument("--only", nargs="+", choices=sections, default=sections)
    parser.add_argument("--venv", type=Path, default=PEER_FOLDER, help="the library's virtual environment")
    options = parser.parse_args()
    effort, console = QUICK if options.quick else FULL, Console(width=150)
    console.print(machine(), highlight=False)
    began = time.perf_counter()
    for p_slip in (0.0, 0.3):
        trained(4, p_slip, 100)
    console.print(f"compiled or loaded in {time.perf_counter() - began:.1f} s", highlight=False)
    tables: dict[str, Callable[[], Table]] = {
        "peers": lambda: peers_table(effort, options.venv),
        "trials": lambda: trials_table(effort),
        "growth": lambda: growth_table(effort),
        "matching": lambda: matching_table(effort),
    }
    for name in sections:
        if name in options.only:
            console.print(tables[name]())


if __name__ == "__main__":
    main()
