"""What a terminal shows while a study runs: how far every system is on every task, and what is running."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ifthen.study.plan import StudyPlan, Trial
from ifthen.study.trial import Ended, TrialFiles

BAR = 30


class StudyScreen:
    """A picture of a running study, redrawn as it goes on; entered while the study runs.

    Args:
        console: where to.
        folder: the study's folder.
        plan: its plan.
        left: the trials that are not finished yet.
    """

    def __init__(self, console: Console, folder: Path, plan: StudyPlan, left: Iterable[Trial]) -> None:
        self.folder, self.plan = folder, plan
        self.total, self.to_do = len(plan.trials_to_run()), set(left)
        self.finished = Counter(
            (trial.system, trial.task) for trial in plan.trials_to_run() if trial not in self.to_do
        )
        self.failed: Counter[tuple[str, str]] = Counter()
        self.seconds: dict[tuple[str, str], list[float]] = {}
        self.running: list[Trial] = []
        self.most = 1
        self.began = time.monotonic()
        self._live = Live(console=console, get_renderable=self.render, refresh_per_second=4)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.running = []
        self._live.stop()

    def told(self, trial: Trial, ended: Ended) -> None:
        """Count a trial that has ended; say why where it failed."""
        if ended.outcome == "finished":
            self.finished[trial.system, trial.task] += 1
            self.seconds.setdefault((trial.system, trial.task), []).append(ended.seconds)
        if ended.outcome == "failed":
            self.failed[trial.system, trial.task] += 1
            self._live.console.print(Text(f"{trial}: failed, {ended.line}", style="red"))

    def watch(self, trials: list[Trial]) -> None:
        """Take note of what is being run, of the trials that have been given out."""
        self.running = [trial for trial in trials if TrialFiles(self.folder, trial).begun]
        self.most = max(self.most, len(self.running))

    def render(self) -> RenderableType:
        """Return the picture as it is now."""
        # What is most asked for comes first: a short terminal cuts off what is below.
        return Group(self._bar(), *map(self._trial, self.running), self._cells())

    def _cells(self) -> Table:
        """Return the number of finished trials of every system on every task."""
        table = Table(title=Text(f"{self.plan.name}: trials finished"), title_justify="left")
        table.add_column("task", no_wrap=True)
        for system in self.plan.systems:
            table.add_column(Text(system.name), justify="right", overflow="fold")
        for task in self.plan.tasks_by_name():
            table.add_row(Text(task), *(self._cell(system.name, task) for system in self.plan.systems))
        return table

    def _cell(self, system: str, task: str) -> Text:
        done, failed = self.finished[system, task], self.failed[system, task]
        whole = done == self.plan.trials
        text = Text(f"{done}/{self.plan.trials}", style="green" if whole else "" if done else "dim")
        return text.append(f", {failed} failed", style="red") if failed else text

    def _bar(self) -> RenderableType:
        """Return how much is done, and about how much time the rest takes."""
        done, took = self.finished.total(), time.monotonic() - self.began
        line = Table.grid(padding=(0, 1))
        note = f"{done:,}/{self.total:,} trials, {_minutes(took)}"
        rest = self._rest()
        note += "" if rest is None else f", about {_minutes(rest)} left"
        line.add_row(ProgressBar(self.total, done, width=BAR), Text(note))
        return line

    def _rest(self) -> float | None:
        """Return about how many seconds the rest takes; None until a trial of each kind has ended."""
        rest = 0.0
        for system in self.plan.systems:
            for task in self.plan.tasks_by_name():
                left = self.plan.trials - self.finished[system.name, task] - self.failed[system.name, task]
                took = self.seconds.get((system.name, task), [])
                if left and not took:
                    return None
                rest += left * sum(took) / len(took) if left else 0.0
        return rest / self.most

    def _trial(self, trial: Trial) -> RenderableType:
        """Return how far a trial is."""
        epoch = TrialFiles(self.folder, trial).epoch
        line = Table.grid(padding=(0, 1))
        note = f"{trial}: epoch {epoch:,}" if epoch else str(trial)
        line.add_row(ProgressBar(self.plan.epochs, epoch, width=BAR), Text(note))
        return line


def _minutes(seconds: float) -> str:
    """Return a time as 1:23:45 or 23:45."""
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"
