"""The PPL part of the paper on one GPU: PPL-DL and PPL-ST, twelve tasks, thirty trials of 250 generations.

    python benchmarks/gpu_paper.py --out runs/gpu-paper
    python benchmarks/gpu_paper.py --compare runs/gpu-paper/histories.parquet results/paper/histories.parquet
    python benchmarks/gpu_paper.py --profile

A short study before compiles everything, and is not timed. The time is that of the whole study: from the
start of its processes to the last file. `--compare` looks for numbers that differ between two files of
histories. `--profile` times the steps of a generation of thirty trials. Needs a GPU of NVIDIA
and numba-cuda (pip install '.[cuda]'), but for `--engine local` and `--compare`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars
from timing import machine

from ifthen.parallel import available_threads
from ifthen.simulate import gpu
from ifthen.study.run_study import engine_by_name, run_study
from ifthen.study.study_folder import claim
from ifthen.study.study_plan import StudyPlan, Trial, checked_plan, read_plan
from ifthen.study.trial import Ended, TrialFiles

PLAN = Path(__file__).parents[1] / "studies" / "paper.toml"
SYSTEMS = ("PPL-ST", "PPL-DL")
CELLS = (
    ("PPL-DL", "FrozenLake-12-0.1"),
    ("PPL-ST", "FrozenLake-12-0.1"),
    ("PPL-ST", "FrozenLake-12-0"),
    ("PPL-ST", "FrozenLake-8-0.3"),
    ("PPL-DL", "FrozenLake-4-0.3"),
)
GENERATIONS = 20


def plan_of_ppl(**changes: Any) -> StudyPlan:
    """Return the paper's plan without XCSF."""
    given = read_plan(PLAN, []).model_dump(exclude_none=True)
    given["systems"] = [each for each in given["systems"] if each["name"] in SYSTEMS]
    return checked_plan({**given, **changes})


def run(folder: Path, plan: StudyPlan, engine: str, workers: int | None) -> list[float]:
    """Run a study; return the seconds after which each trial ended."""
    ends: list[float] = []
    began = time.perf_counter()

    def told(trial: Trial, ended: Ended) -> None:
        ends.append(time.perf_counter() - began)
        if ended.outcome != "finished":
            print(f"{trial}: {ended.outcome}, {ended.line}")

    claim(folder, plan)
    if not run_study(folder, plan, engine_by_name(engine, workers, None), told):
        raise SystemExit("some trials did not finish")
    return [*ends, time.perf_counter() - began]


def study(asked: argparse.Namespace) -> None:
    """Time the study."""
    with tempfile.TemporaryDirectory() as short:
        few = plan_of_ppl(trials=2, epochs=3, tasks=["FrozenLake-4-0", "FrozenLake-4-0.3"])
        print(
            f"compiling, with a short study: {run(Path(short), few, asked.engine, asked.workers)[-1]:.1f} s"
        )
    plan = plan_of_ppl(trials=asked.trials, epochs=asked.epochs)
    if asked.tasks:
        plan = plan_of_ppl(trials=asked.trials, epochs=asked.epochs, tasks=asked.tasks)
    ends = run(asked.out, plan, asked.engine, asked.workers)
    print(
        f"{len(ends) - 1} trials of {plan.epochs} generations, engine {asked.engine}: {ends[-1]:.1f} s; "
        f"the first trial ended after {ends[0]:.1f} s, half of them after {ends[len(ends) // 2]:.1f} s",
        flush=True,
    )
    files = [TrialFiles(asked.out, trial).history for trial in plan.trials_to_run()]
    polars.concat([polars.read_parquet(file) for file in files], how="diagonal").write_parquet(
        asked.out / "histories.parquet", compression="zstd"
    )


def compare(one: Path, other: Path) -> None:
    """Say in which of the columns that both have numbers differ, among the trials and epochs of both."""
    keys = ["system", "task", "seed", "epoch"]
    ours, theirs = (polars.read_parquet(path).sort(keys) for path in (one, other))
    both = ours.select(keys).join(theirs.select(keys), on=keys)
    ours, theirs = (table.join(both, on=keys, how="semi").sort(keys) for table in (ours, theirs))
    print(f"{len(both):,} rows of {both.select(keys[:3]).n_unique()} trials are in both")
    for name in (name for name in ours.columns if name in theirs.columns):
        differ = (ours[name].cast(theirs[name].dtype).ne_missing(theirs[name])).sum()
        print(f"{name:<20} {differ:,} differ")


@contextmanager
def timed_launches(spent: dict[str, float]) -> Iterator[None]:
    """Add up how long kernels of trials take, each to its end."""
    from ifthen.simulate import gpu_table

    places: tuple[Any, Any] = gpu.Repeated, gpu_table
    usual, once = gpu.Repeated.__call__, gpu.launch

    def timed(kernel: Any, stream: Any, work: Callable[[], None]) -> None:
        stream.synchronize()
        began = time.perf_counter()
        work()
        stream.synchronize()
        spent[kernel.py_func.__name__] += time.perf_counter() - began

    def repeated(own: gpu.Repeated, *numbers: int) -> None:
        timed(own.kernel, own.stream, lambda: usual(own, *numbers))

    def launch(kernel: Any, *arguments: Any, stream: Any = 0, **named: Any) -> None:
        timed(kernel, stream, lambda: once(kernel, *arguments, stream=stream, **named))

    places[0].__call__, places[1].launch = repeated, launch
    try:
        yield
    finally:
        places[0].__call__, places[1].launch = usual, once


def profile() -> None:
    """Time the kernels of a generation of thirty trials, alone on the GPU."""
    from ifthen.systems.pittsburgh_gpu import Trials

    plan = plan_of_ppl()
    print("\nms a generation of 30 trials       all    " + "per kernel, each to its end")
    for system, task in CELLS:
        trials = Trials([plan.make_system(Trial(system, task, seed)) for seed in range(30)])  # type: ignore[misc]
        trials.advance(0)
        while trials.epoch < GENERATIONS:
            trials.advance(GENERATIONS)
        whole = seconds(trials, GENERATIONS)
        spent: dict[str, float] = defaultdict(float)
        with timed_launches(spent):
            seconds(trials, GENERATIONS)
        parts = ", ".join(f"{name} {1e3 * each / GENERATIONS:.2f}" for name, each in spent.items())
        steps = trials.systems[0].now.records.column("steps")
        pace = 30 * (steps[-1] - steps[-1 - GENERATIONS]) / GENERATIONS / 1e6
        each = 1e3 * whole / GENERATIONS
        print(f"{system} {task:<20} {each:10.2f}    {parts}; {pace:.0f} M steps", flush=True)


def seconds(trials: Any, generations: int) -> float:
    """Return how long some generations take."""
    began, goal = time.perf_counter(), trials.epoch + generations
    while trials.epoch < goal:
        trials.advance(goal)
    return time.perf_counter() - began


def main() -> None:
    """Run the study, or what else is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("runs/gpu-paper"))
    parser.add_argument("--engine", choices=("cuda", "local"), default="cuda")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=250)
    parser.add_argument("--tasks", nargs="+")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--compare", type=Path, nargs=2)
    asked = parser.parse_args()
    if asked.compare:
        compare(*asked.compare)
        return
    device = gpu.find_device()
    print(f"{machine()}, {available_threads()} cores\n{device}")
    work: Callable[[], None] = profile if asked.profile else lambda: study(asked)
    work()


if __name__ == "__main__":
    main()
