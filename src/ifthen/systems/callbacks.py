"""Things to do after every epoch: save, measure, stop, draw curves.

A callback is any function that takes the system; where it returns False, learning stops. `learn` takes one or
a list of them. Those here remember nothing that learning depends on, so a run that was stopped and resumed
learns the same with and without them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from ifthen.checks import one_of, real_number, whole_number
from ifthen.environments.make import TaskLike
from ifthen.errors import IfthenError, ParameterError
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.evaluate import shared_simulator, with_task
from ifthen.systems import model_file
from ifthen.systems.learning import EPOCH_LIMIT
from ifthen.systems.records import Record
from ifthen.systems.system import System

EPISODE_LIMIT = 100_000
RETURNS = ("best_fitness", "mean_fitness", "median_fitness", "performance", "unseen_performance")


class Checkpoint:
    """Saves the system now and then; `ifthen.load` of the file and `learn` of the rest go on from there.

    Args:
        path: the file, written anew each time; with `{epoch}` in its name every one is kept.
        every: epochs between two files.
    """

    def __init__(self, path: str | Path, every: int = 25) -> None:
        self.path = str(path)
        self.every = whole_number("every", every, 1, EPOCH_LIMIT)

    def __call__(self, system: System) -> None:
        """Save where it is time."""
        if system.epoch % self.every == 0:
            system.save(self.path.replace("{epoch}", str(system.epoch)))


class EvaluationCallback:
    """Measures the present ruleset where nothing was learnt, and can keep the best model.

    In an environment, episodes start from reset seeds of their own: those of fitness (z), of the history's
    `unseen_performance` and of final scores (`EnvTask.test_seeds`) are others, so that picking the best model
    by this measurement flatters none of them. A task with a transition table is measured exactly.

    Args:
        task: the task to measure in, its name, or an environment; the system's own where None.
        episodes: how many episodes; not used where the measurement is exact.
        every: epochs between two measurements.
        best: a file for the model with the best score so far; None for none. Where learning goes on from a
            file, the model that is there is measured again, and only a better one replaces it. That of
            another run is replaced at once.
    """

    def __init__(
        self,
        task: TaskLike | None = None,
        episodes: int = 100,
        every: int = 10,
        best: str | Path | None = None,
    ) -> None:
        self.task = task
        self.episodes = whole_number("episodes", episodes, 1, EPISODE_LIMIT)
        self.every = whole_number("every", every, 1, EPOCH_LIMIT)
        self.best = None if best is None else Path(best)
        self.log: list[Record] = []
        """One row per measurement: epoch, steps and episodes of learning, score, rules."""
        self._kept_score = math.nan
        """The score of the model in `best` where this run saved it before it was loaded again."""

    @property
    def score(self) -> float:
        """The last score; NaN where nothing was measured yet."""
        return float(self.log[-1]["score"]) if self.log else math.nan

    @property
    def best_score(self) -> float:
        """The best score, also of a model in `best` that this run saved earlier; NaN before measuring."""
        scores = [float(row["score"]) for row in self.log]
        if not math.isnan(self._kept_score):
            scores.append(self._kept_score)
        return max(scores, default=math.nan)

    def __call__(self, system: System) -> None:
        """Measure where it is time."""
        if system.epoch % self.every == 0:
            self.measure(system)

    def measure(self, system: System) -> float:
        """Measure now, whatever the epoch: log and return the score, and save a model that is the best."""
        ruleset, (_, task) = system.ruleset, with_task(system, self.task)
        simulator = shared_simulator(task, threads=system.threads)
        score = simulator.held_out(ruleset, self.episodes)
        if not self.log and (kept := self._kept(system)) is not None:
            self._kept_score = simulator.held_out(kept, self.episodes)
        is_best = math.isnan(self.best_score) or score > self.best_score
        record = system.now.records[-1]
        progress: Record = {name: record[name] for name in ("epoch", "steps", "episodes") if name in record}
        self.log.append({**progress, "score": score, "rules": len(ruleset)})
        if is_best and self.best is not None:
            system.save(self.best)
        return score

    def _kept(self, system: System) -> RuleSet | None:
        """Return the rules of the model in `best`, if this run has saved it before; None otherwise."""
        if self.best is None or not self.best.exists():
            return None
        try:
            model = replace(model_file.read(self.best), task=system.task)
            if model.system != system.name:
                return None
            kept = type(system).from_model(model, system.threads)
        except IfthenError:
            return None
        return kept.ruleset if _is_past_of(kept, system) else None


def _is_past_of(kept: System, system: System) -> bool:
    """Return whether a system from a file is what another one was at an earlier epoch of the same run."""
    is_alike = (kept.seed, kept.parameters) == (system.seed, system.parameters)
    epoch = kept.epoch
    return is_alike and epoch <= system.epoch and kept.now.records[epoch] == system.now.records[epoch]


class StopAt:
    """Stops learning when a score is reached.

    Args:
        score: the score.
        of: whose: a column of the history, or an `EvaluationCallback` that stands before this in the list of
            callbacks. Where None, in an environment the mean return over the validation seeds, on which
            nothing is selected but the epoch to stop at; final scores are on test seeds, which are others. On
            a table, the performance as the system itself measures it.
        times: at how many measurements running.
    """

    def __init__(self, score: float, of: str | EvaluationCallback | None = None, times: int = 1) -> None:
        self.score = real_number("score", score, -1e300, 1e300)
        if not (of is None or isinstance(of, (str, EvaluationCallback))):
            raise ParameterError(f"of must be a column of the history or an EvaluationCallback, not {of!r}.")
        self.of = of
        self.times = whole_number("times", times, 1, EPOCH_LIMIT)

    def __call__(self, system: System) -> bool:
        """Return whether to go on."""
        return not self.reached(system)

    def reached(self, system: System) -> bool:
        """Return whether the score was reached at the last measurements."""
        scores = self._scores(system)
        return len(scores) == self.times and all(score >= self.score for score in scores)

    def _scores(self, system: System) -> list[float]:
        if isinstance(self.of, EvaluationCallback):
            return [float(row["score"]) for row in self.of.log[-self.times :]]
        name = self.of or system.watched_column
        records = system.now.records
        if not isinstance(records[-1].get(name), (int, float)):
            known = ", ".join(records[-1])
            raise ParameterError(f"the history has no column {name!r} of numbers to stop at; it has {known}.")
        return [float(row[name]) for row in records[-self.times :]]


class TensorBoard:
    """Writes every number of the history for TensorBoard, and the parameters as text.

    It needs tensorboardX: `pip install tensorboardX`. `tensorboard --logdir FOLDER` draws the curves. The
    first call also writes the rows of the past, and tells TensorBoard to forget the rows in the folder,
    so that the curve of a resumed run is whole and drawn once.

    Args:
        folder: a folder for this run.
        by: what stands on the horizontal axis.
    """

    def __init__(self, folder: str | Path, by: Literal["epoch", "steps", "episodes"] = "epoch") -> None:
        one_of("by", by, ("epoch", "steps", "episodes"))
        self.folder, self.by = Path(folder), by
        self._make_writer = _summary_writer()  # found missing now, not after the first epoch
        self._writer: Any = None
        self._written = -1

    def __call__(self, system: System) -> None:
        """Write the rows that are new."""
        if self._writer is None:
            self._writer = self._make_writer(logdir=str(self.folder), purge_step=0)
            self._writer.add_text("run", _about(system), 0)
        new_rows = list(takewhile(lambda row: row[self.by] > self._written, reversed(system.now.records)))
        for row in reversed(new_rows):
            if row[self.by] > self._written:
                self._written = int(row[self.by])
                self._write(row, system.task.failure_mark)
        self._writer.flush()

    def _write(self, row: Record, floor: float) -> None:
        """Write the numbers of one row; NaN stands for what was not measured.

        So does the floor of an environment, for rules that met a state with no rule: it is no return, and
        would hide the curve. `failed_share` says how many there are.
        """
        for name, value in row.items():
            is_finite = isinstance(value, (int, float)) and math.isfinite(value)
            if is_finite and not (name in RETURNS and value <= floor):
                self._writer.add_scalar(name, value, self._written)

    def close(self) -> None:
        """Close the file, which happens at the end of the program anyway."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _summary_writer() -> Any:
    """Return tensorboardX's writer, or raise naming the extra that brings it."""
    try:
        return import_module("tensorboardX").SummaryWriter
    except ImportError:
        raise ParameterError(
            "curves for TensorBoard need the package tensorboardX: pip install tensorboardX."
        ) from None


def _about(system: System) -> str:
    """Return what a run is, as a table in Markdown."""
    run = {"system": system.name, "task": system.task.name, "seed": system.seed}
    rows = {**run, **system.parameters.model_dump()}
    return "\n".join(["| name | value |", "|---|---|", *(f"| {k} | {v} |" for k, v in rows.items())])
