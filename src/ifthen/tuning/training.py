"""One training of a tuning: a job that can be run anywhere, any number of times, and ends in the same files.

trials/PHASE/TASK/SEED.parquet   the history with `score` and `pruned`: its presence says that it has ended
trials/PHASE/TASK/SEED.zip       the trained system, where it was measured on test seeds
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
from pydantic import BaseModel, ConfigDict

from ifthen.digits import in_units
from ifthen.errors import OutputError
from ifthen.runs.settings import RunSettings
from ifthen.simulate.evaluate import evaluate
from ifthen.study.histories import MOST_ROWS, write_parquet
from ifthen.study.study_plan import Trial
from ifthen.study.trial import AfterEpoch, Ended, Outcome, TrialFiles, attempt, saved_system
from ifthen.systems.system import System
from ifthen.tuning.early_stopping import Curve, Mark, curve_of, falls_behind
from ifthen.tuning.tuning_plan import Phase

CHECKPOINT_SECONDS = 20.0


class Training(BaseModel):
    """What a process needs to know of a training."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: RunSettings
    phase: Phase
    marks: list[Mark] = []

    def to_json(self) -> str:
        """Return it as JSON."""
        return self.model_dump_json(exclude_unset=True)


class Outcomes(BaseModel):
    """What a training that has ended left behind."""

    score: float
    pruned: bool
    curve: Curve
    steps: int
    """The environment steps that it took."""
    rules: int


def train(folder: str, training_json: str, trial: tuple[str, str, int]) -> Ended:
    """Run a training, or what is left of it; see `ifthen.study.trial.run_trial`."""
    training = Training.model_validate_json(training_json)
    return attempt(Path(folder), Trial(*trial), lambda files, stop: _train(files, training, stop))


class _Race:
    """Says after each epoch whether a training keeps up with the others."""

    def __init__(self, training: Training, column: str) -> None:
        self._goal, self._marks, self._column = training.settings.goal, training.marks, column
        self.lost = False

    def __call__(self, system: System) -> bool:
        self.lost = falls_behind(system.now.records, self._goal, self._marks, self._column)
        return not self.lost


def _train(files: TrialFiles, training: Training, stop: Callable[[], bool]) -> tuple[Outcome, str]:
    """Train as far as there is no stop; write what a training that has ended has."""
    goal, fresh = training.settings.goal, training.settings.make_system(threads=1)
    system = saved_system(files.checkpoint, fresh) or fresh
    race = _Race(training, system.task.watched_column)
    n_done = goal.count(system.now.records[-1]) if system.started else 0
    if not (system.started and not race(system)):
        budget: Any = {goal.unit: max(0, goal.target - n_done)}
        system.learn(**budget, callback=[AfterEpoch(files, stop, CHECKPOINT_SECONDS), race])
    if not (race.lost or system.reached(goal)):
        system.save(files.checkpoint)
        files.attempts.unlink(missing_ok=True)  # stopping is no failed attempt
        return "stopped", f"at epoch {system.epoch}"
    score = _score(system, training.phase)
    if training.phase == "final":
        system.save(files.model)
    columns = [polars.lit(score).alias("score"), polars.lit(race.lost).alias("pruned")]
    columns.append(polars.lit(len(system.ruleset)).alias("rules"))
    write_parquet(files.history, system.history.with_columns(columns), 3)
    files.finish()
    return "finished", ("pruned at " if race.lost else "score ") + in_units(score)


def _score(system: System, phase: Phase) -> float:
    """Return the performance that counts in a phase: no two phases look at the same episodes.

    The search looks at validation seeds and the comparison at seeds of its own. Only final scores are on test
    seeds. On a table both look at z, with the noise of training, and final scores are exact.
    """
    task, noise = system.task, system.parameters.noise
    if phase == "search":
        return float(system.now.records[-1][task.watched_column])
    options: Any = {"threads": 1, "noise": noise}
    if phase == "finalist":
        return evaluate(system.ruleset, task, seeds=task.comparing_seeds(), **options).performance
    seeds = task.test_seeds()
    return evaluate(system.ruleset, task, method=task.best_method, seeds=seeds, **options).performance


def read_outcomes(files: TrialFiles, column: str, goal_unit: str, target: int | None) -> Outcomes:
    """Return what a training left behind, or raise where its file is damaged.

    Args:
        files: its files.
        column: the performance that its curve shows.
        goal_unit: "epochs" or "steps".
        target: how many there were to be; as many as there are where None.
    """
    count = "epoch" if goal_unit == "epochs" else goal_unit
    names = [count, "steps", column, "score", "pruned", "rules"]
    try:
        table = polars.read_parquet(files.history, columns=sorted({*names}), n_rows=MOST_ROWS)
        counts, performances = (
            table[count].cast(polars.Int64).to_list(),
            table[column].cast(polars.Float64).to_list(),
        )
        curve = curve_of(counts, performances, counts[-1] if target is None else target)
        last_row = table.row(-1, named=True)
        return Outcomes(
            score=last_row["score"],
            pruned=last_row["pruned"],
            curve=curve,
            steps=last_row["steps"],
            rules=last_row["rules"],
        )
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError, ValueError, TypeError,
            IndexError) as problem:  # fmt: skip
        raise OutputError(
            f"{files.history} is damaged: {problem}. Remove it: the same command trains it again."
        ) from None
