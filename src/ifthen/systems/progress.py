"""Progress bars and checkpoints while a system learns."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ifthen.digits import in_units
from ifthen.notebook import NotebookBar, in_notebook
from ifthen.text_table import harmless

if TYPE_CHECKING:
    from ifthen.systems.learning import Goal
    from ifthen.systems.system import System

SAVING_SHARE = 0.05
"""Checkpoints take at most this share of the time."""
SHORT_SAVE = 0.25
"""Checkpoints that take at most this many seconds are always written."""


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
        since = time.monotonic() - self._ended
        if self._took <= max(SHORT_SAVE, SAVING_SHARE * since):
            self.now()


def progress_of(system: System, goal: Goal) -> tuple[Any, Callable[[], None]]:
    """Return a progress bar towards a goal, and what shows how far the system is and how well it does."""
    label = harmless(f"{system.name} on {system.task.name}")

    def words() -> str:
        return f"{system.doing}: {in_units(system.watched)}" if system.doing else system.watched_in_words

    if in_notebook():
        own = NotebookBar(label, goal.target, goal.unit)

        def show_there() -> None:
            own.update(goal.count(system.now.records[-1]), words())

        return own, show_there
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(goal.unit),
        TimeRemainingColumn(),
        TextColumn("{task.fields[best]}"),
    )
    done = goal.count(system.now.records[-1])
    row = bar.add_task(label, total=goal.target, completed=done, best="")

    def show() -> None:
        done = goal.count(system.now.records[-1])
        bar.update(row, completed=done, best=words())

    return bar, show
