"""What a study has found so far: the finished trials of a folder, and which failed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars

from ifthen.errors import OutputError
from ifthen.study.plan import StudyPlan, Trial
from ifthen.study.run import plan_of
from ifthen.study.trial import TrialFiles


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a study.

    Args:
        plan: what was to be run.
        finals: the last row of every finished trial's history.
        failed: the trials that failed.
        missing: the trials that have not been run yet, or not to their end.
    """

    plan: StudyPlan
    finals: polars.DataFrame
    failed: tuple[Trial, ...]
    missing: tuple[Trial, ...]

    def values(self, system: str, task: str, column: str) -> list[float]:
        """Return a column of the finished trials of one system on one task, in the order of their seeds."""
        own = self.finals.filter((polars.col("system") == system) & (polars.col("task") == task))
        return [float(value) for value in own.sort("seed")[column]]

    def relative(self, task: str) -> bool:
        """Return whether performance in a task can be given as a fraction of the optimum."""
        own = self.finals.filter(polars.col("task") == task)
        return not own["fraction"].has_nulls()

    def failures(self, system: str, task: str) -> int:
        """Return how many trials of one system on one task failed."""
        return sum((trial.system, trial.task) == (system, task) for trial in self.failed)


def read_results(folder: Path) -> Results:
    """Return the results in a study's folder, or raise where it holds none."""
    plan = plan_of(folder)
    finals: list[polars.DataFrame] = []
    failed: list[Trial] = []
    missing: list[Trial] = []
    for trial in plan.trials_to_run():
        files = TrialFiles(folder, trial)
        if files.finished:
            finals.append(_last_row(files.history))
        else:
            (failed if files.failure.exists() else missing).append(trial)
    if not finals:
        raise OutputError(f"no trial of the study in {folder} has finished yet.")
    # Systems have columns of their own; where one has none, its trials say null.
    return Results(plan, polars.concat(finals, how="diagonal"), tuple(failed), tuple(missing))


def _last_row(path: Path) -> polars.DataFrame:
    """Return the last row of a trial's history, or raise where the file is damaged."""
    try:
        return polars.read_parquet(path).tail(1)
    except (polars.exceptions.PolarsError, OSError) as problem:
        raise OutputError(
            f"{path} is damaged: {problem}. Delete it and run the study again: only that trial is run."
        ) from None
