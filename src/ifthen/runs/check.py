"""Checks a task before training: its features, whether seeds reproduce episodes, how long training takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from ifthen.digits import duration, in_units, listed, plural
from ifthen.environments.make import TaskLike, as_task
from ifthen.errors import IfthenWarning
from ifthen.pages.report_page import sources_of
from ifthen.parallel import checked_threads
from ifthen.simulate.random_play import RandomPlay, random_play
from ifthen.systems.ppl_dl import PPLDL
from ifthen.systems.pplx.env_plan import suited_plan
from ifthen.tasks.task import Task
from ifthen.text_table import TextTable

SECONDS = 5.0
"""Random episodes are played for at most this long."""
MOST_ROWS = 30
EPOCHS = 10
"""The check tells how long this many epochs take: enough for a first look at the rules."""
LEARNING = 60
"""PPL-X takes about this many seconds besides playing."""
ROUNDING = 0.01
"""Numbers outside a declared range by less than this share of it are not worth a word."""


@dataclass(frozen=True, eq=False, repr=False)
class Check:
    """What random episodes showed of a task.

    Args:
        task: the task that training would get.
        notes: what a user should know, in sentences.
        played: what random episodes showed; None of a table, whose transitions are known.
        threads: how many processes training may use.
    """

    task: Task
    notes: tuple[str, ...]
    played: RandomPlay | None
    threads: int

    @property
    def epoch_seconds(self) -> float | None:
        """How long an epoch of PPL-DL takes, with episodes as long as random ones; None of a table."""
        return None if self.played is None else self._epoch_seconds(self.played, self.played.mean_steps)

    def _epoch_seconds(self, played: RandomPlay, steps: float) -> float:
        """Return how long an epoch takes, given the steps of an episode."""
        parameters = PPLDL(self.task, threads=1).parameters
        rulesets, episodes = float(parameters.pop_size or 0), 0.0
        for heat in parameters.budget.heats(1_000_000, self.task.n_episodes):
            episodes += rulesets * len(heat)
            rulesets /= 2
        return episodes * steps / (played.steps_per_second * self.threads)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        played = {} if self.played is None else self.played._asdict()
        seen_ranges = played.pop("seen", np.empty((0, 2))).tolist()
        return {
            "task": self.task.name,
            "notes": list(self.notes),
            "features": [
                {**feature.to_dict(), **({"seen": bounds} if bounds else {})}
                for feature, bounds in zip_longest(self.task.features, seen_ranges)
            ],
            "actions": list(self.task.action_names),
            **played,
            "epoch_seconds": self.epoch_seconds,
        }

    def table(self) -> TextTable:
        """Return the features that were seen to change, with their ranges."""
        features = self.task.features
        bounds = [(f.low, f.high) for f in features] if self.played is None else self.played.seen.tolist()
        rows = []
        for feature, source, (low, high) in zip(features, sources_of(self.task), bounds, strict=True):
            label = f"{feature.name} ({feature.unit})" if feature.unit else feature.name
            numbers = "whole" if feature.is_integer else "real"
            range_ = f"{feature.low:.4g} to {feature.high:.4g}"
            if low < high:
                rows.append((label, numbers, range_, source, f"{low:.4g} to {high:.4g}"))
        n_omitted = len(rows) - MOST_ROWS
        notes = (f"… and {n_omitted} more.",) if n_omitted > 0 else ()
        headings = ("feature", "numbers", "range", "which is", "seen")
        return TextTable("What rules see", headings, tuple(rows[:MOST_ROWS]), notes)

    @property
    def _unnamed(self) -> bool:
        """Whether an action or a feature has the name that a number gives it."""
        return self.task.action_names[0] == "action 0" or self.task.features[0].name == "f0"

    def __str__(self) -> str:
        task = self.task
        lines = [f"{task.name} can be trained on."]
        lines += [f"note: {note}" for note in self.notes]
        lines += ["", self.table().to_text(100), ""]
        lines += [f"Actions: {', '.join(task.action_names)}."]
        if self._unnamed:
            lines += ["Names of your own: --task-set feature_names=…,… --task-set action_names=…,…"]
            lines += ["In Python: env_task(…, feature_names=[…], action_names=[…])"]
        if self.played is None:
            lines += ["It is a table: its transitions are known, and policies are measured exactly."]
        else:
            played = self.played
            plan = suited_plan(played.steps_per_second, played.mean_steps)
            short, long = (self._epoch_seconds(played, n) for n in (played.mean_steps, played.most_steps))
            lengths = f"{played.mean_steps:.0f} steps, at most {played.most_steps:,}"
            longer = f", and {duration(EPOCHS * long)} with episodes as long as the longest"
            if alike := played.mean_steps == played.most_steps:
                lengths = f"{played.most_steps:,} steps each"
            lines += [
                f"Random actions get {in_units(played.mean_return)} on average, over "
                f"{plural(played.episodes, 'episode')} of {lengths}. "
                f"Training ends longer ones after {task.t_max:,}.",
                f"Training plays about {float(f'{played.steps_per_second:.2g}'):,.0f} steps a second in each "
                f"process. PPL-X plans {plan:,} steps: about "
                f"{duration(plan / played.steps_per_second + LEARNING)} in one process. "
                f"{EPOCHS} epochs of PPL-DL take about {duration(EPOCHS * short)} with episodes of that "
                f"length{'' if alike else longer}.",
            ]
        return "\n".join(lines)

    __repr__ = __str__


def check(env: TaskLike, *, threads: int | None = None) -> Check:
    """Try a task before training on it.

    A few episodes with random actions show whether the same seed gives the same episode, whether episodes
    and environments leave each other alone, what rules see, and how fast it is. What cannot be trained on
    raises an error that says what to do.

    Args:
        env: a task, its name, a Gymnasium environment, or a function that makes one.
        threads: how many processes training may use, all cores where None.
    """
    return checked(lambda: as_task(env), threads)


def checked(make: Callable[[], Task], threads: int | None = None) -> Check:
    """Return what `check` does of the task that a function makes; what it warns of becomes notes."""
    threads = checked_threads(threads)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", IfthenWarning)
        task = make()
    notes = []
    for warning in caught:
        if issubclass(warning.category, IfthenWarning):
            notes.append(str(warning.message).removeprefix(f"{task.name}: "))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    played = random_play(task, SECONDS)
    constant: Any = [] if played is None else np.flatnonzero(played.seen[:, 0] == played.seen[:, 1])
    if len(constant):
        names = [task.features[i].name for i in constant]
        notes.append(
            f"{plural(len(names), 'feature')} never changed in random episodes: {listed(names)}. Those that "
            "never will can be left out: env_task(…, leave_out=[…]), or --task-set leave_out=…."
        )
    if played is not None and (beyond := _beyond_declared(task, played)):
        notes.append(
            f"{plural(len(beyond), 'feature')} left the range that is declared: {listed(beyond)}. "
            "Rules see such numbers as the end of the range. Declare the ranges that occur, or say them: "
            "env_task(…, ranges={…}), or --task-set 'ranges.NAME=[low, high]'."
        )
    if task.n_actions == 1:
        notes.append("there is one action, so that rules have nothing to choose.")
    return Check(task, tuple(notes), played, threads)


def _beyond_declared(task: Task, played: RandomPlay) -> list[str]:
    """Return the features that were seen outside their declared ranges, by more than rounding."""
    rows = zip(task.features, sources_of(task), played.seen.tolist(), strict=True)
    return [
        feature.name
        for feature, source, (low, high) in rows
        if source == "declared"
        and max(feature.low - low, high - feature.high) > ROUNDING * (feature.high - feature.low)
    ]
