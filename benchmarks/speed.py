"""Speed of sampled evaluation, of reinforcement and of whole trials, beside plain C and plain Python.

    python benchmarks/speed.py
    python benchmarks/speed.py --quick --only evaluation reinforcement

Evaluation and reinforcement run on one thread. C must give the same results as ours before either is
timed; then they take turns, and the best of the repeats counts. The optimal policy is played many times
over, which is C's best case: the processor learns by heart where each of its episodes ends. The distinct
policies of a population are what training plays. Needs gcc.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import python_loop
from c_loops import CReinforce, CWalk, compiled, find_gcc
from numpy.typing import NDArray
from phases import breed, copied, population_tables, reinforce, reinforcement_key
from rich.console import Console
from rich.table import Table
from timing import Timed, best_interleaved, machine, timed, warm_up

from ifthen import PPLST, TabularTask, frozen_lake
from ifthen.parallel import available_threads
from ifthen.simulate.table_play import play
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.systems.pittsburgh import Population
from ifthen.systems.registry import SYSTEMS
from ifthen.tables import value_iteration
from ifthen.tasks.task import Noise

EVALUATION_TASKS = ((4, 0.3), (8, 0.3), (12, 0.1), (12, 0.5))
LEARNING_TASKS = ((4, 0.3), (8, 0.3), (12, 0.0), (12, 0.5))
NOISES: tuple[Noise, ...] = ("aligned", "stream")
STEPS_PER_RUN, PYTHON_STEPS = 4_000_000, 200_000
EVALUATION_RATIO, EVALUATION_SPEED, REINFORCEMENT_RATIO = 0.5, 300e6, 1 / 3
TRIAL_SECONDS = {(12, 0.0): 5.0, (12, 0.5): 20.0}


class Effort(NamedTuple):
    """How much to run."""

    repeats: int
    """Repeats of which the best counts."""
    epochs: int
    """Epochs after which a population is measured."""
    generations: int
    """Generations of a whole trial."""


FULL, QUICK = Effort(15, 30, 250), Effort(2, 5, 10)


def new_table(title: str, words: int, *headings: str) -> Table:
    """Return an empty table whose first `words` columns are words, and the others numbers."""
    table = Table(title=title, title_justify="left")
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i < words else "right")
    return table


def check(name: str, equal: bool) -> None:
    """Stop unless two ways to do the same work gave the same result."""
    if not equal:
        raise SystemExit(f"{name} gave other results than ours: a comparison would mean nothing.")


def policies_to_play(task: TabularTask, epochs: int) -> dict[str, NDArray[np.int16]]:
    """Return an optimal policy, and the distinct ones of a population, as policy tables `(n, D)`."""
    optimal = value_iteration(task).policy[task.decision_states].astype(np.int16)
    system = PPLST(task).learn(epochs=epochs)
    population = np.unique(population_tables(system, system.now.population), axis=0)
    return {"optimal": optimal[None], f"population, epoch {epochs}": population}


def evaluation_speeds(
    library: ctypes.CDLL, task: TabularTask, policies: NDArray[np.int16], noise: Noise, repeats: int
) -> tuple[float, float, float]:
    """Return steps per second of ours, of C and of plain Python, which must agree on the results."""
    walk = CWalk(library, task)
    result, (performance, steps) = play(task, policies, noise), walk(policies, noise)
    check("walk.c", np.array_equal(result.steps, steps))
    check("walk.c", np.allclose(result.performance, performance, rtol=0, atol=1e-12))
    best, total = int(performance.argmax()), int(steps.sum())
    episodes = int(np.clip(len(task.z) * PYTHON_STEPS // steps[best], 1, len(task.z)))
    mean, walked, seconds = python_loop.walk(task, walk.outcomes, policies[best], noise, episodes)
    c_returns, c_steps = CWalk(library, task, episodes)(policies[best : best + 1], noise)
    check("plain Python", walked == c_steps[0] and abs(mean - c_returns[0]) < 1e-12)
    copies = np.tile(policies, (max(1, STEPS_PER_RUN // total), 1))
    ours, c = best_interleaved(
        repeats, timed(lambda: play(task, copies, noise)), timed(lambda: walk(copies, noise))
    )
    work = total * len(copies) / len(policies)
    return work / ours, work / c, walked / seconds


def evaluation_table(effort: Effort) -> Table:
    """Return the speeds of sampled evaluation, building the policies' tables included."""
    table = new_table(
        f"Sampled evaluation, million steps per second (targets: {EVALUATION_RATIO:g} of C, "
        f"{EVALUATION_SPEED / 1e6:.0f} Msteps/s)",
        3, "task", "noise", "policies", "distinct", "ours", "plain C", "ours / C", "plain Python",
        "ours / Python", "targets",
    )  # fmt: skip
    library = compiled("walk")
    for size, p_slip in EVALUATION_TASKS:
        task = frozen_lake(size, p_slip)
        for name, policies in policies_to_play(task, effort.epochs).items():
            for noise in NOISES:
                ours, c, python = evaluation_speeds(library, task, policies, noise, effort.repeats)
                met = ours >= EVALUATION_RATIO * c, ours >= EVALUATION_SPEED
                table.add_row(
                    f"({size}, {p_slip:g})",
                    noise,
                    name,
                    str(len(policies)),
                    *(f"{ours / 1e6:.0f}", f"{c / 1e6:.0f}", f"{ours / c:.2f}"),
                    *(f"{python / 1e6:.1f}", f"{ours / python:.0f}"),
                    ", ".join("met" if is_met else "MISSED" for is_met in met),
                )
    return table


def reinforcement_speeds(
    library: ctypes.CDLL, task: TabularTask, effort: Effort
) -> tuple[int, int, float, float]:
    """Return individuals, steps, and the seconds that ours and C take for one generation's learning."""
    system = PPLST(task).learn(epochs=effort.epochs)
    epoch = effort.epochs + 1
    key, children = reinforcement_key(system, epoch), breed(system, system.now.population, epoch)
    in_c = CReinforce(library, system)
    ours, c = copied(children), copied(children)
    steps = reinforce(system, ours, key)
    check("reinforce.c", np.array_equal(steps, in_c(c, key)))
    check("reinforce.c", np.allclose(ours.learnt, c.learnt, rtol=0, atol=1e-9))

    def fresh(learn: Callable[[Population], object]) -> Timed:
        def run() -> float:
            population = copied(children)
            return timed(lambda: learn(population))()

        return run

    our_seconds, c_seconds = best_interleaved(
        effort.repeats,
        fresh(lambda population: reinforce(system, population, key)),
        fresh(lambda population: in_c(population, key)),
    )
    return len(steps), int(steps.sum()), our_seconds, c_seconds


def reinforcement_table(effort: Effort) -> Table:
    """Return the speeds of reinforcing the children bred after some epochs."""
    table = new_table(
        f"Reinforcement of the children of epoch {effort.epochs} (target: {REINFORCEMENT_RATIO:.2f} of C)",
        1, "task", "individuals", "steps each", "ours, individuals/s", "C, individuals/s", "ours, ns/step",
        "C, ns/step", "ours / C", "target",
    )  # fmt: skip
    library = compiled("reinforce")
    for size, p_slip in LEARNING_TASKS:
        n, steps, ours, c = reinforcement_speeds(library, frozen_lake(size, p_slip), effort)
        table.add_row(
            f"({size}, {p_slip:g})",
            *(str(n), f"{steps / n:.0f}", f"{n / ours:,.0f}", f"{n / c:,.0f}"),
            *(f"{ours / steps * 1e9:.1f}", f"{c / steps * 1e9:.1f}", f"{c / ours:.2f}"),
            "met" if c / ours >= REINFORCEMENT_RATIO else "MISSED",
        )
    return table


def trials_table(effort: Effort) -> Table:
    """Return the time of whole trials, with one thread and with all."""
    table = new_table(
        f"Trials of {effort.generations} generations (steps accounted: the policies already met are looked "
        "up, not played again)",
        2, "task", "system", "threads", "seconds", "Msteps accounted", "Msteps/s accounted", "best / OTP",
        "target, s",
    )  # fmt: skip
    for size, p_slip in LEARNING_TASKS:
        for name in ("PPL-ST", "PPL-DL"):
            for threads in sorted({1, available_threads()}):
                # A fresh task, so that a trial pays for its own tables of noise.
                task = frozen_lake(size, p_slip)
                began = time.perf_counter()
                last = SYSTEMS[name](task, threads=threads).learn(epochs=effort.generations).now.records[-1]
                seconds, steps = time.perf_counter() - began, last["steps"] / 1e6
                share = last["best_fitness"] / optimal_performance(task, "sampled")
                table.add_row(
                    f"({size}, {p_slip:g})",
                    name,
                    *(str(threads), f"{seconds:.2f}", f"{steps:,.0f}", f"{steps / seconds:,.0f}"),
                    f"{share:.3f}",
                    trial_verdict((size, p_slip), threads, seconds, effort),
                )
    return table


def trial_verdict(task: tuple[int, float], threads: int, seconds: float, effort: Effort) -> str:
    """Return the time allowed to a whole trial with all cores and whether it was kept, if there is one."""
    if task not in TRIAL_SECONDS or threads < available_threads() or effort is not FULL:
        return ""
    return f"{TRIAL_SECONDS[task]:g} {'met' if seconds <= TRIAL_SECONDS[task] else 'MISSED'}"


PARTS = {"evaluation": evaluation_table, "reinforcement": reinforcement_table, "trials": trials_table}


def main() -> None:
    """Read the command line, run the parts, print each table when it is ready."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few repeats and generations: a smoke test")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    options = parser.parse_args()
    if options.only != ["trials"]:
        find_gcc()
    console = Console(width=140)
    console.print(machine(), highlight=False)
    warm_up()
    for name in options.only:
        console.print()
        console.print(PARTS[name](QUICK if options.quick else FULL))


if __name__ == "__main__":
    main()
