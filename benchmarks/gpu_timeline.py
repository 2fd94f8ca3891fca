"""Where the time of the paper's study on one GPU goes: its threads, its kernels, its longest policies.

    python benchmarks/gpu_timeline.py --out runs/gpu-timeline      the whole study, batch by batch
    python benchmarks/gpu_timeline.py --together                   several batches at the same time
    python benchmarks/gpu_timeline.py --lengths                    how long policies are; needs no GPU

A batch is all trials of a system on a task; it has a thread of the host and a queue of the GPU of its own.
- The study (`gpu_paper.py`) is run with a watch on every batch: when it began and ended, how long its thread
  waited for the GPU, launched, and told its systems; and an event of the GPU after each kernel. A kernel's
  time reaches from the end of the one before, so it has the time that it waited for room among others.
- `--together` says how many steps a second the GPU plays for one batch, and for more of them at a time. It
  shows how far one batch is from filling the device.
- `--lengths` plays populations on the CPU and says how many steps their policies take. With one stream of
  noise a policy is one thread, so no kernel is done before its longest policy.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from gpu_paper import CELLS, GENERATIONS, plan_of_ppl, run, seconds
from numba import cuda as _cuda
from timing import machine

from ifthen.rules.batch import LIST, STRENGTH, RuleBatch
from ifthen.simulate import gpu
from ifthen.simulate.table_noise import plan as shared_plan
from ifthen.simulate.table_play import play
from ifthen.simulate.table_rules import policy_tables
from ifthen.study.study_plan import StudyPlan, Trial
from ifthen.systems.pittsburgh import Population

cuda: Any = _cuda  # a part of Numba without types
KERNELS = ("breed", "learn", "play_bytes", "play_lanes", "keep_fittest")
HEAVY = CELLS[:2]
COPIES = (1, 2, 4, 8)
LENGTH_EPOCHS = (5, 30, 100)


class Batch:
    """What was seen of a batch."""

    def __init__(self, name: str) -> None:
        self.name, self.generations = name, 0
        self.began, self.ended = time.perf_counter(), 0.0
        self.spent: dict[str, float] = defaultdict(float)
        """Seconds of the thread: `all`, of it `waiting` and `telling`; `processor` seconds."""
        self.events: list[tuple[str, Any]] = []
        """What ended in its queue, and the event of that; "" where nothing had been launched for a while."""

    def by_kernel(self) -> dict[str, float]:
        """Return the milliseconds from the end of the kernel before to the end of each, added up by name."""
        spent: dict[str, float] = defaultdict(float)
        for (_, before), (name, after) in zip(self.events[:-1], self.events[1:], strict=True):
            if name:
                spent[name] += before.elapsed_time(after)
        return spent

    def row(self, began: float) -> str:
        """Return its row of the table."""
        kernels, spent, generations = self.by_kernel(), self.spent, max(1, self.generations)
        host = spent["all"] - spent["waiting"] - spent["telling"]
        cells = [f"{kernels[name] / generations:.2f}" for name in KERNELS]
        return (
            f"| {self.name} | {self.began - began:.1f} | {self.ended - began:.1f} | {spent['waiting']:.1f} | "
            f"{spent['telling']:.2f} | {host:.2f} | {spent['processor']:.2f} | {' | '.join(cells)} |"
        )


class Watch:
    """Sees what the threads of a study do."""

    def __init__(self) -> None:
        self.batches: dict[tuple[str, int], Batch] = {}
        self._local = threading.local()

    def advance(self, original: Callable[..., None], trials: Any, target: int) -> None:
        """Let a batch go on, and keep how long that took."""
        first_system = trials.systems[0]
        name = f"{first_system.name}, {first_system.task.name}"
        batch = self.batches.setdefault((name, first_system.seed), Batch(name))
        self._local.batch, epochs_before = batch, trials.epoch
        clock, processor = time.perf_counter(), time.thread_time()
        self.ended("", trials.stream)
        original(trials, target)
        batch.ended = time.perf_counter()
        batch.spent["all"] += batch.ended - clock
        batch.spent["processor"] += time.thread_time() - processor
        batch.generations += trials.epoch - epochs_before

    def timed(self, activity: str, original: Callable[..., Any], *arguments: Any) -> Any:
        """Do something, and add how long it took to what the thread's batch spent."""
        began = time.perf_counter()
        waited = self._local.batch.spent["waiting"]
        result = original(*arguments)
        meanwhile = self._local.batch.spent["waiting"] - waited
        self._local.batch.spent[activity] += time.perf_counter() - began - meanwhile
        return result

    def launch(self, original: Callable[..., None], launch: gpu.Repeated, *numbers: int) -> None:
        """Launch a kernel, and an event after it."""
        original(launch, *numbers)
        kernel: Any = launch.kernel
        self.ended(getattr(kernel, "py_func", getattr(kernel, "fn", kernel)).__name__, launch.stream)

    def ended(self, name: str, stream: Any) -> None:
        """Put an event into a queue of the GPU."""
        event = cuda.event()
        event.record(stream)
        self._local.batch.events.append((name, event))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """See all batches that run meanwhile."""
        from ifthen.simulate import gpu_memory  # loads what only a machine with a GPU has
        from ifthen.systems.pittsburgh_gpu import Trials

        def watched(see: Callable[..., Any], original: Any) -> Any:
            return lambda *arguments: see(original, *arguments)

        def as_part(activity: str) -> Callable[..., Any]:
            return lambda original, *arguments: self.timed(activity, original, *arguments)

        targets: Sequence[tuple[Any, str, Callable[..., Any]]] = (
            (Trials, "advance", self.advance),
            (Trials, "_update_systems", as_part("telling")),
            (gpu_memory, "wait_for", as_part("waiting")),
            (gpu.Repeated, "__call__", self.launch),
        )
        patches = [
            mock.patch.object(owner, name, watched(see, getattr(owner, name))) for owner, name, see in targets
        ]
        for patch in patches:
            patch.start()
        try:
            yield
        finally:
            for patch in patches:
                patch.stop()


def study(folder: Path, plan: StudyPlan) -> None:
    """Run the study, and say what its batches did."""
    with tempfile.TemporaryDirectory() as short:
        run(
            Path(short),
            plan_of_ppl(trials=2, epochs=3, tasks=["FrozenLake-4-0", "FrozenLake-4-0.3"]),
            "cuda",
            None,
        )
    watch, began, processor = Watch(), time.perf_counter(), time.process_time()
    with watch.watching():
        ends = run(folder, plan, "cuda", None)
    used = time.process_time() - processor
    print(
        f"{len(ends) - 1} trials of {plan.epochs} generations with a watch: {ends[-1]:.1f} s, half of them "
        f"after {ends[len(ends) // 2]:.1f} s; the process with the threads took {used:.1f} s of processors\n"
        "\n"
        "Seconds of each thread, and ms a generation from the end of the kernel before to the end of each\n"
        f"| batch | began | ended | waiting | telling | launching | processor | {' | '.join(KERNELS)} |\n"
        f"|---|{'--:|' * (6 + len(KERNELS))}"
    )
    for batch in sorted(watch.batches.values(), key=lambda batch: batch.ended):
        print(batch.row(began))


def together(trials: int, epochs: int) -> None:
    """Say how many steps a second several batches get at the same time."""
    from ifthen.systems.pittsburgh_gpu import Trials

    plan = plan_of_ppl()
    print("\nbatches at a time    ms for a generation of all    steps a second")
    for system, task in HEAVY:
        for copies in COPIES:
            batches = []
            for copy in range(copies):
                seeds = range(copy * trials, (copy + 1) * trials)
                batches.append(Trials([plan.make_system(Trial(system, task, seed)) for seed in seeds]))  # type: ignore[misc]
            with ThreadPoolExecutor(copies) as threads:
                list(threads.map(lambda batch: seconds(batch, epochs), batches))  # compiles; all grow alike
                began = time.perf_counter()
                list(threads.map(lambda batch: seconds(batch, epochs), batches))
                duration = time.perf_counter() - began
            steps = sum(steps_of(batch, epochs) for batch in batches)
            print(
                f"{system}, {task}: {copies:>2} {1e3 * duration / epochs:14.1f} "
                f"{steps / duration / 1e9:18.1f} G",
                flush=True,
            )


def steps_of(batch: Any, epochs: int) -> int:
    """Return the steps of a batch in its last generations."""
    columns = (system.now.records.column("steps") for system in batch.systems)
    return sum(column[-1] - column[-1 - epochs] for column in columns)


def lengths(epochs: Sequence[int]) -> None:
    """Say how many steps the policies of a population take, in thousands."""
    plan = plan_of_ppl()
    print("| policies of one trial | generation | median | 90 % below | 99 % below | longest | possible |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for system, task in CELLS:
        learner: Any = plan.make_system(Trial(system, task, 0))
        z = shared_plan(learner.task)
        for epoch in epochs:
            learner.learn(epochs=epoch - (learner.epoch if learner.started else 0))
            tables = policy_tables(learner.task, rules_of(learner))
            steps = play(learner.task, tables, "stream").steps / 1e3
            shares = [f"{value:.0f}" for value in np.quantile(steps, [0.5, 0.9, 0.99, 1.0])]
            possible = len(z.starts) * z.t_max / 1e3
            print(f"| {system}, {task} | {epoch} | {' | '.join(shares)} | {possible:.0f} |", flush=True)


def rules_of(learner: Any) -> RuleBatch:
    """Return the rules of a population."""
    population: Population = learner.now.population
    if learner.n_learnt:
        return population.batch(STRENGTH, learner.parameters.x0)
    return population.batch(LIST, default=learner.task.default_action)


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("runs/gpu-timeline"))
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--tasks", nargs="+")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--lengths", action="store_true")
    options = parser.parse_args()
    if options.lengths:
        lengths(LENGTH_EPOCHS)
        return
    device = gpu.find_device()
    print(f"{machine()}\n{device}")
    if isinstance(device, str):
        raise SystemExit("there is no GPU to watch.")
    if options.together:
        together(options.trials, options.epochs or GENERATIONS)
        return
    changes = {"tasks": options.tasks} if options.tasks else {}
    study(options.out, plan_of_ppl(trials=options.trials, epochs=options.epochs or 250, **changes))


if __name__ == "__main__":
    main()
