"""Tuning: search, then compare the best few, then measure the chosen settings beside the defaults.

Each phase trains from seeds of its own and is scored on episodes of its own. Trainings are jobs for the
engines of studies, and leave their files in the tuning's folder: what they say decides what is left to do.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ifthen.errors import ParameterError
from ifthen.store import alone, remove_half_written
from ifthen.study.engines import Engine, Job
from ifthen.study.run_study import Listed, OnEnd, Shift, Source
from ifthen.study.study_folder import MADE_BY, errors_of_files
from ifthen.study.study_plan import Trial
from ifthen.study.trial import STOP, Ended, TrialFiles
from ifthen.tuning.early_stopping import marks_of
from ifthen.tuning.propose import State, Tried, check_optuna, inside, proposal
from ifthen.tuning.training import Outcomes, Training, read_outcomes, train
from ifthen.tuning.tuning_folder import BEST, PLAN, PROPOSALS, REPORT, SECONDS, TABLE, Proposal, TuneFolder
from ifthen.tuning.tuning_plan import Phase, TunePlan
from ifthen.tuning.tuning_result import TuneResult

Clock = Callable[[], float]


class Tuning:
    """A tuning in its folder: what it has done so far, and what comes next."""

    def __init__(self, folder: Path, plan: TunePlan) -> None:
        self.folder, self.plan, self.task = TuneFolder(folder), plan, plan.make_task()
        self.space = plan.space(self.task)
        filled = plan.kind()(self.task, threads=1, **plan.parameters).parameters.model_dump()
        self.defaults = {name: filled[name] for name in self.space}
        self._outcomes: dict[Trial, Outcomes] = {}

    def training(self, phase: Phase, number: int, i: int, proposed: Proposal | None = None) -> Training:
        """Return what a process needs for the i-th training of some settings in a phase."""
        steps = self.plan.steps if phase == "search" and number == 0 else self.steps
        parameters = {} if number == 0 else (proposed or self.folder.proposals()[number]).parameters
        settings = self.plan.settings(parameters, self.plan.training_seed(phase, i), steps)
        return Training(settings=settings, phase=phase, marks=proposed.marks if proposed else [])

    def trial(self, phase: Phase, number: int, i: int) -> Trial:
        """Return the i-th training of some settings in a phase, as engines know it."""
        return self.folder.trial(phase, self.task.name, number, self.plan.training_seed(phase, i))

    def outcomes(self, phase: Phase, number: int, i: int) -> Outcomes | None:
        """Return what a training left behind; None where it has not ended."""
        trial = self.trial(phase, number, i)
        if trial not in self._outcomes:
            files = self.folder.files(trial)
            if not files.finished:
                return None
            by_epochs = self.plan.steps is None and phase == "search" and number == 0
            unit, target = ("epochs", None) if by_epochs else ("steps", self.steps)
            self._outcomes[trial] = read_outcomes(files, self.task.watched_column, unit, target)
        return self._outcomes[trial]

    @property
    def steps(self) -> int:
        """The environment steps of every training: those that the defaults took, where none are given."""
        if self.plan.steps is not None:
            return self.plan.steps
        first = self.outcomes("search", 0, 0)
        if first is None:
            raise ParameterError("the training with the defaults failed: see trials/search in the folder.")
        return first.steps

    def tried(self) -> list[Tried]:
        """Return all settings that were proposed, with what came of them."""
        tried: list[Tried] = []
        for number, parameters, _ in self.folder.proposals():
            outcomes = self.outcomes("search", number, number)
            if outcomes is None:
                failed = self.files(number).failure.exists()
                tried.append(Tried(number, parameters, "failed" if failed else "running"))
            else:
                state: State = "pruned" if outcomes.pruned else "finished"
                score = None if outcomes.pruned else outcomes.score
                curve, steps, rules = outcomes.curve, outcomes.steps, outcomes.rules
                tried.append(Tried(number, parameters, state, score, curve, steps, rules))
        return tried

    def files(self, number: int) -> TrialFiles:
        """Return the files of a training of the search."""
        return self.folder.files(self.trial("search", number, number))

    def finalists(self) -> list[int]:
        """Return the numbers of the best settings of the search, and of the defaults."""
        ended = [trial for trial in self.tried() if trial.state == "finished"]
        ranked = sorted(ended, key=lambda trial: (-(trial.score or 0.0), trial.number))
        best = [trial.number for trial in ranked if inside(self.space, trial.parameters) and trial.number]
        return ([0] if inside(self.space, self.defaults) else []) + best[: self.plan.finalists]

    def scores(self, phase: Phase, number: int) -> list[float]:
        """Return the scores of some settings in a phase, of the trainings that have ended."""
        n_trainings = self.plan.repeats if phase == "finalist" else self.plan.final
        outcomes = [self.outcomes(phase, number, i) for i in range(n_trainings)]
        return [outcome.score for outcome in outcomes if outcome is not None]

    def chosen(self) -> int:
        """Return the number of the settings that are best among the finalists."""
        means = {n: statistics.fmean(s) for n in self.finalists() if (s := self.scores("finalist", n))}
        if not means:
            raise ParameterError("no training came to its end: see *.failed.txt in the folder's trials.")
        return max(means, key=lambda number: (means[number], -number))

    def left_of(self, phase: Phase, numbers: list[int]) -> Listed:
        """Return the trainings of a phase that have not ended."""
        n_trainings = self.plan.repeats if phase == "finalist" else self.plan.final
        missing = [(n, i) for i in range(n_trainings) for n in numbers if self.outcomes(phase, n, i) is None]
        for n, i in missing:
            self.folder.files(self.trial(phase, n, i)).forget_failures()
        return Listed((self.trial(phase, n, i), self.training(phase, n, i).to_json()) for n, i in missing)

    def result(self) -> TuneResult:
        """Return what was found."""
        chosen = self.chosen()
        finalists = {number: self.scores("finalist", number) for number in self.finalists()}
        finals = {number: self.scores("final", number) for number in dict.fromkeys((chosen, 0))}
        return TuneResult(
            self.plan, self.space, self.defaults, self.tried(), finalists, finals, chosen, self.steps,
            self.task.name, self.folder.seconds,
        )  # fmt: skip


class Searching:
    """The trainings of a search, each proposed when a process is free for it."""

    def __init__(self, tuning: Tuning, clock: Clock = time.monotonic) -> None:
        self._tuning, self._clock = tuning, clock
        self._proposed = tuning.folder.proposals()
        ended = [trial.number for trial in tuning.tried() if trial.state in ("finished", "pruned")]
        self._handed_out = set(ended)
        for proposed in self._proposed:
            if proposed.number not in self._handed_out:
                tuning.files(proposed.number).forget_failures()
        self._began = clock() - tuning.folder.seconds

    def seconds(self) -> float:
        """Return how long the search has taken, the runs before included."""
        return self._clock() - self._began

    def has_more(self) -> bool:
        """Return whether there are settings to try, or to go on with."""
        return len(self._handed_out) < len(self._proposed) or self._may_propose()

    def _may_propose(self) -> bool:
        plan, most_trials = self._tuning.plan, self._tuning.plan.most_trials
        in_time = plan.minutes is None or self.seconds() < 60 * plan.minutes
        return (most_trials is None or len(self._proposed) < most_trials) and (in_time or not self._proposed)

    def take(self) -> tuple[Trial, str] | None:
        """Return a training that was begun before, or one with new settings; None while the first one runs.

        Where the plan does not say how many steps there are, those of the defaults decide it.
        """
        waiting = [proposed for proposed in self._proposed if proposed.number not in self._handed_out]
        if not waiting and not self._may_propose():
            return None
        number = waiting[0].number if waiting else len(self._proposed)
        if number and self._tuning.plan.steps is None and self._tuning.outcomes("search", 0, 0) is None:
            if 0 in self._handed_out and self._tuning.files(0).failure.exists():
                raise ParameterError(self._why_failed())
            return None
        proposed = waiting[0] if waiting else self._propose(number)
        self._handed_out.add(proposed.number)
        training = self._tuning.training("search", proposed.number, proposed.number, proposed)
        return self._tuning.trial("search", proposed.number, proposed.number), training.to_json()

    def _propose(self, number: int) -> Proposal:
        """Return the next settings, written down; the first ones are the defaults."""
        tuning = self._tuning
        if number == 0:
            proposed = Proposal(0, tuning.defaults, [])
        else:
            tried = tuning.tried()
            curves = [trial.curve for trial in tried if trial.state in ("finished", "pruned")]
            marks = marks_of(tuning.plan.pruner, curves)
            proposed = Proposal(number, proposal(tuning.space, tried, tuning.plan.seed, number), marks)
        tuning.folder.add(proposed)
        self._proposed.append(proposed)
        return proposed

    def _why_failed(self) -> str:
        failure = self._tuning.files(0).failure
        lines = failure.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"the training with the defaults failed: {lines[-1] if lines else 'no reason is known'}"


def run_tuning(
    folder: Path,
    plan: TunePlan,
    engine: Engine,
    on_end: Callable[[Phase, Trial, Ended], None] = lambda phase, trial, ended: None,
    stop: Callable[[], bool] = lambda: False,
    job: Job = train,
) -> TuneResult | None:
    """Tune, or do what is left; return what was found, or None where there was a stop before.

    Args:
        folder: where to; a folder of the same tuning goes on.
        plan: what is asked for.
        engine: what runs the trainings.
        on_end: called for each training that ends, with its phase.
        stop: asked now and then; when it says so, running trainings save where they stand.
        job: what a process does for a training.
    """
    check_optuna()
    tuning = Tuning(folder, plan)
    tuning.folder.claim(plan)
    with errors_of_files(f"work in {folder}"), alone(folder):
        (folder / STOP).unlink(missing_ok=True)
        remove_half_written(folder, PLAN, PROPOSALS, SECONDS, TABLE, BEST, REPORT, MADE_BY, STOP)
        with engine.crew(folder.absolute() / PLAN) as crew:
            for phase, source in _phases(tuning):
                if not stop() and source.has_more():
                    shift = Shift(crew, folder, source, job)
                    shift.work(_telling(tuning, phase, source, on_end), stop, lambda trials: None)
                    shift.end()
                if stop():
                    return None
        return tuning.result()


def _phases(tuning: Tuning) -> Iterator[tuple[Phase, Source]]:
    """Yield the phases, each when those before have ended."""
    yield "search", Searching(tuning)
    yield "finalist", tuning.left_of("finalist", tuning.finalists())
    yield "final", tuning.left_of("final", list(dict.fromkeys((tuning.chosen(), 0))))


def _telling(
    tuning: Tuning, phase: Phase, source: Source, on_end: Callable[[Phase, Trial, Ended], None]
) -> OnEnd:
    """Return what is called for each training that ends: the search's time is kept up to date."""

    def on_trial_end(trial: Trial, ended: Ended) -> None:
        if isinstance(source, Searching):
            tuning.folder.seconds = source.seconds()
        on_end(phase, trial, ended)

    return on_trial_end
