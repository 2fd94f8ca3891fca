"""The folder of one training run: its files, and how a run is begun, interrupted and resumed."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ifthen.errors import OutputError, ParameterError
from ifthen.explanation.read_ruleset import read_ruleset
from ifthen.exports.data import to_json
from ifthen.rules.ruleset import RuleSet
from ifthen.runs.settings import RunSettings, checked_settings, read_settings
from ifthen.runs.task_settings import refuse_imports
from ifthen.store import alone, remove_half_written, text_of_user, write_text
from ifthen.systems import model_file
from ifthen.systems.front import Point
from ifthen.systems.learning import Callback, Goal, warn_if_over
from ifthen.systems.parameters import SIZES, Parameters
from ifthen.systems.registry import load
from ifthen.systems.system import System
from ifthen.tasks.task import Task
from ifthen.text_table import csv_of
from ifthen.verification.requirements import FILE_LIMIT, read_requirements, requirements_text

SETTINGS = "run.toml"
CHECKPOINT = "checkpoint.zip"
MODEL = "model.zip"
HISTORY = "history.csv"
CURVE = "learning-curve.png"
POLICY = "policy.png"
RULES = "rules.txt"
RULESET = "ruleset.json"
PRUNED = "pruned.txt"
PRUNED_RULESET = "pruned.json"
REPORT = "report.html"
EXPLAINED = "explain.html"
START = "start.json"
"""The rules that the run began with, where it was given some."""
REQUIREMENTS = "requirements.txt"
"""The run's requirements, where it has any. Users may write this file, too: what they wrote is never removed,
and replaced only where they say so."""
FILES = (
    SETTINGS,
    CHECKPOINT,
    MODEL,
    HISTORY,
    CURVE,
    POLICY,
    RULES,
    RULESET,
    PRUNED,
    PRUNED_RULESET,
    REPORT,
    EXPLAINED,
)


class RunFolder:
    """One run's files."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes out of the folder, and remove what killed ones have left half written."""
        with alone(self.path):
            remove_half_written(self.path, *FILES, START, REQUIREMENTS)
            yield

    @contextmanager
    def claimed(
        self,
        settings: RunSettings | None,
        overwrite: bool,
        start: RuleSet | None = None,
        require: Sequence[str] = (),
    ) -> Iterator[None]:
        """Take the folder for a new run; raise if that would lose an older one.

        Nobody else gets it before the end: nothing is deleted that a running process still needs.

        Args:
            settings: the run's settings; None for a run that cannot be resumed.
            overwrite: whether an older run may be replaced.
            start: the rules that the run begins with.
            require: the run's requirements.
        """
        if self.path.exists() and not self.path.is_dir():
            raise OutputError(f"{self.path} is a file, not a folder. Give another --out.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise OutputError(f"cannot make the folder {self.path}: {problem.strerror or problem}.") from None
        with self.alone():
            self._begin(settings, overwrite, start, require)
            yield

    def check_free(self, overwrite: bool, require: Sequence[str] = ()) -> list[str]:
        """Return the files of an older run; raise if there are any that must not be replaced.

        Args:
            overwrite: whether they may be replaced.
            require: the requirements of the new run, which must not replace those that a user wrote.
        """
        present = [name for name in (*FILES, START) if (self / name).exists()]
        if present and not overwrite:
            unfinished = MODEL not in present and SETTINGS in present
            hint = f" 'ifthen resume {self.path}' goes on with it;" if unfinished else ""
            raise OutputError(
                f"{self.path} already holds {'an unfinished' if unfinished else 'a'} run:{hint} "
                "give another --out, or --overwrite to replace it."
            )
        if not overwrite and require and self._has_other_requirements(require):
            raise OutputError(
                f"{self / REQUIREMENTS} has other requirements than the new run, which would replace it: "
                f"give --require-file {shlex.quote(str(self / REQUIREMENTS))}, another --out, or --overwrite."
            )
        return present

    def _has_other_requirements(self, require: Sequence[str]) -> bool:
        """Return whether there are requirements in the folder that differ from these, or cannot be read."""
        if not (self / REQUIREMENTS).exists():
            return False
        try:
            return read_requirements(self / REQUIREMENTS) != list(require)
        except ParameterError:
            return True

    def _wrote_requirements(self) -> bool:
        """Return whether the requirements in the folder are as its run wrote them, and no user's."""
        try:
            settings = checked_settings(read_settings(self / SETTINGS))
            text = text_of_user(self / REQUIREMENTS, FILE_LIMIT, ParameterError)
        except ParameterError:
            return False
        return bool(settings.require) and text == requirements_text(settings.require)

    def _begin(
        self, settings: RunSettings | None, overwrite: bool, start: RuleSet | None, require: Sequence[str]
    ) -> None:
        """Remove an older run where that is allowed, and write what a new one has from its beginning."""
        present = self.check_free(overwrite, require)
        if self._wrote_requirements():  # to be told while the settings are there
            present.insert(0, REQUIREMENTS)
        for name in present:
            try:
                (self / name).unlink()
            except OSError as problem:
                raise OutputError(f"cannot replace {self / name}: {problem.strerror}.") from None
        if start is not None:
            write_text(self / START, to_json(start))
        is_written = (self / REQUIREMENTS).exists() and not self._has_other_requirements(require)
        if require and not is_written:  # a user's file may have comments
            write_text(self / REQUIREMENTS, requirements_text(list(require)))
        if settings is not None:  # last: a run that was killed before it did not begin
            write_text(self / SETTINGS, settings.to_toml())

    def settings(self, typed: Collection[str] = ()) -> RunSettings:
        """Return the settings of the run that the folder holds.

        Args:
            typed: the texts that the user has typed; no other one may import a package.
        """
        if not (self / SETTINGS).exists():
            raise OutputError(f"{self.path} holds no run: there is no {SETTINGS} in it.")
        settings = checked_settings(read_settings(self / SETTINGS))
        refuse_imports(settings.task, typed, f"the run in {self.path}")
        return settings

    def system(self, settings: RunSettings, threads: int | None) -> System:
        """Return the run's system in its last saved state: from its model, its checkpoint, or fresh.

        Which list of its front a finished run hands out is said by the settings. The model may say something
        else: whoever was killed in `take` has written one of the two files.
        """
        start = read_ruleset(self / START)[0] if (self / START).exists() else None
        fresh = settings.make_system(threads, start)
        for name in (MODEL, CHECKPOINT):
            if (self / name).exists():
                system = load(self / name, threads=threads)
                system.check_learning()
                _check_same(system, fresh, self / name, SIZES if name == MODEL else ())
                system = with_task(system, fresh.task, self / name)
                if name == MODEL:
                    system.parameters = system.parameters.model_copy(update=sizes_of(fresh.parameters))
                return system
        return fresh

    def take(self, point: Point, system: System, settings: RunSettings) -> RunSettings:
        """Let a finished run hand out this list of its front; return its settings, which say so."""
        sizes = {"rules": point.rules, "tests": point.tests}
        system.parameters = system.parameters.model_copy(update=sizes)
        system.save(self / MODEL)
        chosen = settings.model_copy(update={"parameters": {**settings.parameters, **sizes}})
        write_text(self / SETTINGS, chosen.to_toml())
        return chosen

    def learn(
        self, system: System, settings: RunSettings, progress_bar: bool, callbacks: Sequence[Callback]
    ) -> bool:
        """Learn the rest, then write model and history, alone; return whether the run is finished."""
        goal = settings.goal
        n_done = goal.count(system.prepare(goal).now.records[-1])
        warn_if_over(system, goal)
        if goal.unit == "epochs" and n_done > goal.target:
            raise ParameterError(
                f"the run has done {n_done} epochs already; {SETTINGS} asks for {settings.epochs}."
            )
        target = Goal("epochs", system.epoch) if settings.is_done(system) else goal  # no further
        system.learn_towards(
            target,
            callback=[*callbacks, lambda learner: not settings.is_done(learner)],
            progress_bar=progress_bar,
            checkpoint=self / CHECKPOINT,
            checkpoint_every=settings.checkpoint_every,
        )
        if settings.is_done(system):
            write_text(self / HISTORY, csv_of(system.history))
            system.save(self / MODEL)
            (self / CHECKPOINT).unlink(missing_ok=True)
        return settings.is_done(system)


def sizes_of(parameters: Parameters) -> dict[str, Any]:
    """Return the parameters that choose a list of the front, where a system has them."""
    return {name: value for name, value in parameters.model_dump().items() if name in SIZES}


def _check_same(saved: System, expected: System, path: Path, free: Collection[str]) -> None:
    """Raise if a saved system is not the one that the settings describe, naming the first difference.

    Args:
        saved: the saved system.
        expected: the one that the settings describe.
        path: where it was saved.
        free: the names of parameters that may differ.
    """
    for name, expected_value in identity(expected).items():
        if name in free:
            continue
        saved_value = identity(saved).get(name)
        if saved_value != expected_value:
            if isinstance(expected_value, bytes):
                raise ParameterError(
                    f"{path} was trained on a task with other {name} than {SETTINGS} describes."
                )
            raise ParameterError(
                f"{path} was trained with {name} = {saved_value!r}, but {SETTINGS} says {expected_value!r}."
            )


def with_task(system: System, task: Task, path: Path) -> System:
    """Return a system from a file on an equal task that can make its environment, which no file can hold."""
    if getattr(task, "factory", None) is None and getattr(system.task, "factory", None) is None:
        return system
    return type(system).from_model(replace(model_file.read(path), task=task), system.threads)


def identity(system: System) -> dict[str, Any]:
    """Return everything that makes two runs the same run, by name; arrays as bytes."""
    return {
        "system": system.name,
        "seed": system.seed,
        "start": system.start and system.start.to_dict(),
        "require": system.require,
        **system.parameters.model_dump(),
        **system.removed,
        **{f"task {name}": value for name, value in system.task.identity().items()},
    }
