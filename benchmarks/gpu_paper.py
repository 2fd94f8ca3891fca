"""The PPL part of the paper on one GPU: PPL-DL and PPL-ST, twelve tasks, thirty trials of 250 generations.

    python benchmarks/gpu_paper.py --out runs/gpu-paper
    python benchmarks/gpu_paper.py --compare runs/gpu-paper/histories.parquet results/paper/histories.parquet
    python benchmarks/gpu_paper.py --profile
    python benchmarks/gpu_paper.py --profile --every

A short study before compiles everything, and is not timed. The time is that of the whole study: from the
start of its processes to the last file. `--compare` looks for numbers that differ between two files of
histories. `--profile` times the steps of a generation of thirty trials, of a few systems and tasks or, with
`--every`, of all. Needs a GPU of NVIDIA and numba-cuda (pip install '.[cuda]'), but for `--engine local` and
`--compare`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
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
    settings = read_plan(PLAN, []).model_dump(exclude_none=True)
    settings["systems"] = [system for system in settings["systems"] if system["name"] in SYSTEMS]
    return checked_plan({**settings, **changes})


def run(folder: Path, plan: StudyPlan, engine: str, workers: int | None) -> list[float]:
    """Run a study; return the seconds after which each trial ended."""
    ends: list[float] = []
    began = time.perf_counter()

    def on_end(trial: Trial, ended: Ended) -> None:
        ends.append(time.perf_counter() - began)
        if ended.outcome != "finished":
            print(f"{trial}: {ended.outcome}, {ended.line}")

    claim(folder, plan)
    if not run_study(folder, plan, engine_by_name(engine, workers, None), on_end):
        raise SystemExit("some trials did not finish")
    return [*ends, time.perf_counter() - began]


def study(options: argparse.Namespace) -> None:
    """Time the study."""
    with tempfile.TemporaryDirectory() as short:
        short_plan = plan_of_ppl(trials=2, epochs=3, tasks=["FrozenLake-4-0", "FrozenLake-4-0.3"])
        ends = run(Path(short), short_plan, options.engine, options.workers)
        print(f"compiling, with a short study: {ends[-1]:.1f} s")
    plan = plan_of_ppl(trials=options.trials, epochs=options.epochs)
    if options.tasks:
        plan = plan_of_ppl(trials=options.trials, epochs=options.epochs, tasks=options.tasks)
    ends = run(options.out, plan, options.engine, options.workers)
    print(
        f"{len(ends) - 1} trials of {plan.epochs} generations, engine {options.engine}: {ends[-1]:.1f} s; "
        f"the first trial ended after {ends[0]:.1f} s, half of them after {ends[len(ends) // 2]:.1f} s",
        flush=True,
    )
    files = [TrialFiles(options.out, trial).history for trial in plan.trials_to_run()]
    polars.concat([polars.read_parquet(file) for file in files], how="diagonal").write_parquet(
        options.out / "histories.parquet", compression="zstd"
    )


def compare(first: Path, second: Path) -> None:
    """Say in which of the columns that both have numbers differ, among the trials and epochs of both."""
    keys = ["system", "task", "seed", "epoch"]
    ours, theirs = (polars.read_parquet(path).sort(keys) for path in (first, second))
    shared = ours.select(keys).join(theirs.select(keys), on=keys)
    ours, theirs = (table.join(shared, on=keys, how="semi").sort(keys) for table in (ours, theirs))
    print(f"{len(shared):,} rows of {shared.select(keys[:3]).n_unique()} trials are in both")
    for name in (name for name in ours.columns if name in theirs.columns):
        differ = (ours[name].cast(theirs[name].dtype).ne_missing(theirs[name])).sum()
        print(f"{name:<20} {differ:,} differ")


@contextmanager
def timed_launches(spent: dict[str, float]) -> Iterator[None]:
    """Add up how long kernels of trials take, each to its end."""
    from ifthen.simulate import gpu_table

    targets: tuple[Any, Any] = gpu.Repeated, gpu_table
    original_call, original_launch = gpu.Repeated.__call__, gpu.launch

    def timed(kernel: Any, stream: Any, work: Callable[[], None]) -> None:
        stream.synchronize()
        began = time.perf_counter()
        work()
        stream.synchronize()
        spent[kernel.py_func.__name__] += time.perf_counter() - began

    def repeated(launcher: gpu.Repeated, *numbers: int) -> None:
        timed(launcher.kernel, launcher.stream, lambda: original_call(launcher, *numbers))

    def launch(kernel: Any, *arguments: Any, stream: Any = 0, **options: Any) -> None:
        timed(kernel, stream, lambda: original_launch(kernel, *arguments, stream=stream, **options))

    targets[0].__call__, targets[1].launch = repeated, launch
    try:
        yield
    finally:
        targets[0].__call__, targets[1].launch = original_call, original_launch


def profile(every: bool) -> None:
    """Time the kernels of a generation of thirty trials, alone on the GPU."""
    from ifthen.systems.pittsburgh_gpu import Trials

    plan, whole = plan_of_ppl(), 0.0
    cells = [trial[:2] for trial in plan.trials_to_run() if trial.seed == 0] if every else CELLS
    print("\nms a generation of 30 trials       all    " + "per kernel, each to its end")
    for system, task in cells:
        trials = Trials([plan.make_system(Trial(system, task, seed)) for seed in range(30)])  # type: ignore[misc]
        trials.advance(0)
        while trials.epoch < GENERATIONS:
            trials.advance(GENERATIONS)
        total = seconds(trials, GENERATIONS)
        spent: dict[str, float] = defaultdict(float)
        with timed_launches(spent):
            seconds(trials, GENERATIONS)
        kernel_times = ", ".join(
            f"{name} {1e3 * kernel_seconds / GENERATIONS:.2f}" for name, kernel_seconds in spent.items()
        )
        steps = trials.systems[0].now.records.column("steps")
        pace = 30 * (steps[-1] - steps[-1 - GENERATIONS]) / GENERATIONS / 1e6
        milliseconds = 1e3 * total / GENERATIONS
        print(f"{system} {task:<20} {milliseconds:10.2f}    {kernel_times}; {pace:.0f} M steps", flush=True)
        whole += milliseconds
    print(f"all one after the other: {whole:.0f} ms a generation, {whole / 4:.0f} s for 250 of them")


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
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--compare", type=Path, nargs=2)
    options = parser.parse_args()
    if options.compare:
        compare(*options.compare)
        return
    device = gpu.find_device()
    print(f"{machine()}, {available_threads()} cores\n{device}")
    work: Callable[[], None] = partial(profile, options.every) if options.profile else partial(study, options)
    work()


if __name__ == "__main__":
    main()
