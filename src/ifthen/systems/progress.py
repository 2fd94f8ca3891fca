"""Progress bars and checkpoints while a system learns."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ifthen.notebook import NotebookBar, in_notebook
from ifthen.text_table import harmless

if TYPE_CHECKING:
    from ifthen.systems.learning import Goal
    from ifthen.systems.system import System

SAVING_SHARE = 0.05
"""Checkpoints take at most this share of the time."""
SHORT_SAVE = 0.25
"""Checkpoints that take at most this many seconds are always written."""
SPEED_FROM = 600.0
"""The time left is estimated from the speed of this many seconds. An epoch may take more than a minute."""


class Saving:
    """Writes checkpoints, the first one at once.

    A checkpoint holds the whole history, so it takes longer and longer to write. Checkpoints after equal
    numbers of epochs would take a time that grows with the square of the number of epochs.

    Args:
        system: what is saved.
        path: where; None for nowhere.
    """

    def __init__(self, system: System, path: str | Path | None) -> None:
        self._system, self._path = system, path
        self.now()

    def now(self) -> None:
        """Save."""
        began = time.monotonic()
        if self._path is not None:
            self._system.save(self._path)
        self._ended = time.monotonic()
        self._took = self._ended - began

    def where_it_pays(self) -> None:
        """Save, unless that would take too much of the time."""
        elapsed = time.monotonic() - self._ended
        if self._took <= max(SHORT_SAVE, SAVING_SHARE * elapsed):
            self.now()


def progress_of(
    system: System, goal: Goal, gauge: Goal, words: Callable[[], str]
) -> tuple[AbstractContextManager[Any], Callable[[], None]]:
    """Return a progress bar towards a goal, and what shows how far the system is and how well it does.

    Args:
        system: what learns.
        goal: when it stops.
        gauge: what the bar counts.
        words: what returns the words beside the count.
    """
    label = harmless(f"{system.name} on {system.task.name}")

    def done() -> int:
        record = system.now.records[-1]
        return gauge.target if goal.reached(record) else min(gauge.count(record), gauge.target)

    if in_notebook():
        notebook_bar = NotebookBar(label, gauge.target, gauge.unit)

        def show_in_notebook() -> None:
            notebook_bar.update(done(), words())

        return notebook_bar, show_in_notebook
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(gauge.unit),
        TimeRemainingColumn(),
        TextColumn("{task.fields[best]}"),
        speed_estimate_period=SPEED_FROM,
    )
    bar_task = bar.add_task(label, total=gauge.target, completed=done(), best="")

    def show() -> None:
        bar.update(bar_task, completed=done(), best=words())

    return bar, show
