"""What running trials as a study costs beyond the trials themselves, on the smallest tasks.

    python benchmarks/study_overhead.py

Three times are compared: that of `learn` alone, trial after trial in one process; that of the same trials as
jobs of a study, with their files (attempts, checkpoints, model, history); and what the study's processes
took from the first trial to the last, with what lies between trials. Starting the processes is told apart.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from ifthen.study.engines import Local
from ifthen.study.run_study import run_study
from ifthen.study.study_folder import claim
from ifthen.study.study_plan import StudyPlan, Trial, read_plan
from ifthen.study.trial import Ended, run_trial

PAPER = Path(__file__).parents[1] / "studies" / "paper.toml"
TASKS = '["FrozenLake-4-0", "FrozenLake-4-0.1", "FrozenLake-4-0.3", "FrozenLake-4-0.5"]'


def alone(plan: StudyPlan, trials: list[Trial]) -> float:
    """Return the seconds that learning takes, without any files."""
    began = time.perf_counter()
    for trial in trials:
        plan.make_system(trial).learn(epochs=plan.epochs)
    return time.perf_counter() - began


def as_jobs(plan: StudyPlan, trials: list[Trial]) -> float:
    """Return the seconds that the same trials take as jobs, in this process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "study"
        claim(folder, plan)
        return sum(run_trial(str(folder), plan.to_json(), trial).seconds for trial in trials)


def as_study(plan: StudyPlan, workers: int) -> tuple[float, float, float]:
    """Return the seconds before the first trial, and per worker those in trials and between them."""
    spans: list[tuple[float, float]] = []

    def on_end(_: Trial, ended: Ended) -> None:
        now = time.perf_counter()
        spans.append((now - ended.seconds, now))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "study"
        claim(folder, plan)
        began = time.perf_counter()
        assert run_study(folder, plan, Local(workers), on_end)
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    inside = sum(end - start for start, end in spans) / workers
    return first - began, inside, last - first - inside


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    plan = read_plan(PAPER, [f"tasks={TASKS}", f"trials={options.trials}"])
    timed_trials = [trial for trial in plan.trials_to_run() if trial.seed < 3]
    as_jobs(plan, timed_trials[: len(timed_trials) // 3])  # compiles
    for _ in range(2):  # in turn, because machines are noisy
        learning, jobs = alone(plan, timed_trials), as_jobs(plan, timed_trials)
        overhead = jobs / learning - 1
        print(
            f"{len(timed_trials)} trials: learning {learning:.2f} s, as jobs with files {jobs:.2f} s, "
            f"{overhead:+.1%}"
        )
    before, inside, between = as_study(plan, options.workers)
    count = len(plan.trials_to_run())
    print(f"study of {count} trials, {options.workers} processes: {before:.1f} s until the first trial began")
    print(f"then per process {inside:.2f} s in trials, {between:.2f} s between them, {between / inside:+.1%}")


if __name__ == "__main__":
    main()
