"""One trial of a study: a job that can be run anywhere, any number of times, and ends in the same files.

TASK/SEED.parquet          the history, one row per epoch: its presence says that the trial has finished
TASK/SEED.zip              the trained system
TASK/SEED.pruned.json      its rules after pruning, where the study prunes
TASK/SEED.checkpoint.zip   where an unfinished trial stands
TASK/SEED.attempts         how often it was begun
TASK/SEED.progress         the epoch it is at, about, where it takes longer than a second
TASK/SEED.failed.txt       why it failed
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from ifthen.digits import in_units
from ifthen.errors import IfthenError, ModelFileError, OutputError
from ifthen.exports.data import to_json
from ifthen.runs.run_folder import identity, with_task
from ifthen.store import remove_half_written, write_text
from ifthen.study.histories import pruned_rules, write_history
from ifthen.study.study_plan import StudyPlan, Trial
from ifthen.systems.learning import EPOCH_LIMIT, Moment
from ifthen.systems.registry import load
from ifthen.systems.system import System

Outcome = Literal["finished", "stopped", "failed"]
STOP = "stop"
ATTEMPTS = 3
PROGRESS_SECONDS = 1.0


class Ended(NamedTuple):
    """How a trial, or a part of it, ended."""

    outcome: Outcome
    line: str
    """What there is to say about it."""
    seconds: float = 0.0
    processor_seconds: float = 0.0


Run = Callable[["TrialFiles", Callable[[], bool]], tuple[Outcome, str]]
"""What a trial does, given its files and a function that says whether to stop."""
NOT_BEGUN = Ended("stopped", "before it began")


class TrialFiles:
    """The files of one trial in a study's folder."""

    def __init__(self, folder: Path, trial: Trial) -> None:
        stem = folder / "trials" / trial.stem
        self.history = stem.with_name(stem.name + ".parquet")
        self.model = stem.with_name(stem.name + ".zip")
        self.pruned = stem.with_name(stem.name + ".pruned.json")
        self.checkpoint = stem.with_name(stem.name + ".checkpoint.zip")
        self.attempts = stem.with_name(stem.name + ".attempts")
        self.progress = stem.with_name(stem.name + ".progress")
        self.failure = stem.with_name(stem.name + ".failed.txt")

    @property
    def finished(self) -> bool:
        """Whether the trial has finished."""
        return self.history.exists()

    @property
    def begun(self) -> int:
        """How often the trial was begun and came to no end."""
        return self.attempts.stat().st_size if self.attempts.exists() else 0

    @property
    def epoch(self) -> int:
        """The epoch that a running trial is at, about; 0 where it is not known."""
        try:
            return int(self.progress.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return 0

    def begin(self) -> None:
        """Count one more attempt; not flushed to disk, which takes as long as some epochs."""
        self.attempts.parent.mkdir(parents=True, exist_ok=True)
        self.attempts.write_text("." * (self.begun + 1), encoding="utf-8")

    def finish(self) -> None:
        """Remove what only an unfinished trial has; the attempts last, to show where that was cut short."""
        remove_half_written(self.history.parent, self.history.stem)  # by processes that were killed
        for path in (self.checkpoint, self.progress, self.failure, self.attempts):
            path.unlink(missing_ok=True)

    def give_up(self) -> Ended:
        """Record that the trial has killed its process too often."""
        reason = f"its process died {self.begun} times"
        write_text(self.failure, reason + "\n")
        self.attempts.unlink(missing_ok=True)
        return Ended("failed", reason)

    def forget_failures(self) -> None:
        """Let an unfinished trial be tried as if for the first time; where it stands is kept."""
        for path in (self.attempts, self.failure):
            path.unlink(missing_ok=True)


def run_trial(
    folder: str, plan_json: str, trial: tuple[str, str, int], moment: Moment | None = None
) -> Ended:
    """Run a trial, or what is left of it; return how that ended, or raise where its files cannot be written.

    Its arguments and results are plain, so that any process on any machine with the same folder can do it.

    Args:
        folder: the study's folder.
        plan_json: its plan.
        trial: the trial.
        moment: how far it has learnt elsewhere; as far as its checkpoint says where None.
    """
    this_trial = Trial(*trial)

    def run(files: TrialFiles, stop: Callable[[], bool]) -> tuple[Outcome, str]:
        return _run(files, StudyPlan.from_json(plan_json), this_trial, stop, moment)

    return attempt(Path(folder), this_trial, run, begun=moment is not None)


def attempt(root: Path, trial: Trial, run: Run, begun: bool = False) -> Ended:
    """Run a trial that leaves its files in a folder, or what is left of it; return how that ended.

    Args:
        root: the folder.
        trial: the trial.
        run: what the trial does with its files. Whether to stop is for it to ask now and then.
        begun: whether it has something to save, also after a stop.
    """
    files = TrialFiles(root, trial)
    if files.finished:
        return Ended("finished", "was finished already")
    if (root / STOP).exists() and not begun:
        return NOT_BEGUN
    clock, processor = time.perf_counter(), time.process_time()
    try:
        if files.begun >= ATTEMPTS:
            return files.give_up()
        files.begin()
        outcome, line = _run_or_fail(files, run, (root / STOP).exists)
    except OSError as problem:  # the disk's failure, not the trial's
        with contextlib.suppress(OSError):
            if files.finished:
                return Ended("finished", "its history is in place")
            files.attempts.unlink(missing_ok=True)
        raise _explained(problem, trial) from problem
    return Ended(outcome, line, time.perf_counter() - clock, time.process_time() - processor)


def _explained(problem: OSError, trial: Trial) -> OutputError:
    """Return an error of files as one that says whose it was and what to do."""
    if isinstance(problem, OutputError):
        return OutputError(f"{trial}: {problem}")
    return OutputError(
        f"{trial}: {problem.strerror or problem}: {problem.filename or 'a file'}. "
        "Check the folder, its permissions and the disk."
    )


def _run_or_fail(files: TrialFiles, run: Run, stop: Callable[[], bool]) -> tuple[Outcome, str]:
    """Run a trial; record why it failed where it does, unless it is the files that fail."""
    try:
        return run(files, stop)
    except OSError:
        raise
    except Exception as problem:  # whatever it is, the other trials go on
        reason = str(problem) if isinstance(problem, IfthenError) else traceback.format_exc()
        write_text(files.failure, reason + "\n")
        return "failed", reason.strip().splitlines()[-1]


class AfterEpoch:
    """Says after each epoch whether to go on; now and then saves where the trial stands."""

    def __init__(self, files: TrialFiles, stop: Callable[[], bool], checkpoint_seconds: float) -> None:
        self.files, self.stop, self.checkpoint_seconds = files, stop, checkpoint_seconds
        self.saved = self.written = time.monotonic()

    def __call__(self, learner: System) -> bool:
        """Save where it pays; return whether to go on."""
        now = time.monotonic()
        if now - self.saved >= self.checkpoint_seconds:
            learner.save(self.files.checkpoint)
            self.saved = time.monotonic()
        if now - self.written >= PROGRESS_SECONDS:
            self.written = now
            with contextlib.suppress(OSError):  # nothing depends on it
                self.files.progress.write_text(str(learner.epoch), encoding="utf-8")
        return not self.stop()


def _run(
    files: TrialFiles, plan: StudyPlan, trial: Trial, stop: Callable[[], bool], moment: Moment | None
) -> tuple[Outcome, str]:
    """Train as far as there is no stop; write what a finished trial has."""
    fresh = plan.make_system(trial)
    saved = saved_system(files.checkpoint, fresh, plan.epochs) if moment is None else fresh.go_on_from(moment)
    system = saved or fresh
    note = "; its checkpoint did not fit and was not used" if not saved and files.checkpoint.exists() else ""
    n_done = system.epoch if system.started else 0
    system.learn(epochs=plan.epochs - n_done, callback=AfterEpoch(files, stop, plan.checkpoint_seconds))
    if system.epoch < plan.epochs:
        system.save(files.checkpoint)
        files.attempts.unlink(missing_ok=True)  # stopping is no failed attempt
        return "stopped", f"at epoch {system.epoch}{note}"
    system.save(files.model)
    write_results(files, plan, system, trial)
    last_record = system.now.records[-1]
    played_on = "training seeds" if "unseen_performance" in last_record else "z"
    labels = {
        "unseen_performance": "on validation seeds",
        "performance": f"on {played_on}",
        "exact_performance": "exact",
    }
    scores = [
        f"{in_units(last_record[name])} {label}" for name, label in labels.items() if name in last_record
    ]
    return "finished", f"performance {', '.join(scores)}{note}"


def write_results(files: TrialFiles, plan: StudyPlan, system: System, trial: Trial) -> None:
    """Write the pruned rules and the history of a trained system, which makes its trial a finished one."""
    pruned = pruned_rules(plan, system)
    if pruned is not None:
        write_text(files.pruned, to_json(pruned, system.task))
    write_history(files.history, plan, system, trial, pruned)
    files.finish()


def saved_system(path: Path, fresh: System, epochs: int = EPOCH_LIMIT) -> System | None:
    """Return the system in a file; None where there is none, or one that `fresh` would never become.

    Args:
        path: the file.
        fresh: the system that has not learnt yet.
        epochs: the most epochs that it may have learnt.
    """
    try:
        system = load(path, threads=1)
    except ModelFileError:
        return None
    is_same = identity(system) == identity(fresh)
    return with_task(system, fresh.task, path) if is_same and system.epoch <= epochs else None
