"""The folder of a study: who may use it, what it was made by, and trials taken over from another folder.

Results of two plans, or of two versions of the code, never mix in one folder. Its files say which trials are
finished, so running a study again does what is left.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from ifthen.errors import OutputError, ParameterError, shown
from ifthen.jit import sources_hash
from ifthen.provenance import versions
from ifthen.runs.run_folder import identity
from ifthen.runs.task_settings import refuse_imports
from ifthen.store import alone, atomic_file, parse_json, read_text, write_text
from ifthen.study.histories import LOG_COLUMNS
from ifthen.study.study_plan import PLAN_LIMIT, StudyPlan, Trial
from ifthen.study.trial import Ended, TrialFiles, saved_system, write_results
from ifthen.systems import model_file
from ifthen.text_table import csv_cell

PLAN = "study.json"
LOG = "log.csv"
PACK = "pack.json"
MADE_BY = "made-by.json"
FREE = {"name", "checkpoint_seconds", "reference", "comparisons", "varies"}
"""Settings that may change from one run of a study to the next: no trial depends on them."""


def claim(folder: Path, plan: StudyPlan) -> None:
    """Take a folder for a study, or raise if it holds another: results of two plans must not mix.

    Settings on which no trial depends may change: the new plan then replaces the old one.
    """
    path = folder / PLAN
    with claimed(folder, PLAN, "study: give another folder"):
        if not path.exists():
            write_text(path, plan.to_json())
        if (folder / PACK).exists():
            raise OutputError(f"{folder} holds a packed study, which cannot be run: give another folder.")
        before = plan_of(folder, plan.texts_of_tasks())
        for name, old_value, new_value in changed_settings(before, plan, FREE):
            raise ParameterError(
                f"{folder} holds a study with {name} = {old_value}, but this plan says {new_value}. "
                "Results must not mix: give the plan it was begun with, or another folder, to which "
                f"--reuse {folder} takes over the trials that are the same."
            )
        sign(folder)
        if before.to_json() != plan.to_json():
            write_text(path, plan.to_json())


@contextmanager
def claimed(folder: Path, plan: str, absent: str) -> Iterator[None]:
    """While entered, work alone in a folder, made if need be; raise if it holds other files and no plan."""
    with errors_of_files(f"work in {folder}"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None
        with alone(folder):
            if not (folder / plan).exists() and any(folder.iterdir()):
                raise OutputError(f"{folder} holds other files and no {absent}.")
            yield


def changed_settings(before: BaseModel, after: BaseModel, free: set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the settings in which two plans differ, but for free ones: name, former value and new one."""
    old_values = before.model_dump()
    for name, new_value in after.model_dump(exclude=free).items():
        if old_values[name] != new_value:
            yield name, shown(old_values[name]), shown(new_value)


def plan_of(folder: Path, typed: Collection[str] = ()) -> StudyPlan:
    """Return the plan of the study that a folder holds, or raise where it holds none that can be read.

    Args:
        folder: the study's folder, which somebody else may have made.
        typed: the texts that the user has typed; no other one may import a package.
    """
    path = folder / PLAN
    if not path.exists():
        raise OutputError(f"{folder} holds no study: there is no {PLAN} in it.")
    try:
        plan = StudyPlan.from_json(read_text(path, PLAN_LIMIT))
    except ValueError as problem:
        raise OutputError(
            f"{path} cannot be read: {problem} It says what the folder's trials are of: put back the file, "
            "or begin the study in another folder."
        ) from None
    for task in plan.tasks:
        refuse_imports(task, typed, f"a task of the study in {folder}")
    return plan


def unfinished(folder: Path, plan: StudyPlan) -> list[Trial]:
    """Return the trials that have no result yet, in the order of the plan."""
    return [trial for trial in plan.trials_to_run() if not TrialFiles(folder, trial).finished]


def maker_here() -> dict[str, str]:
    """Return everything that results depend on beside the plan: versions, and a hash of ifthen's sources."""
    return {**versions(), "ifthen's sources": sources_hash()}


def maker_of(folder: Path) -> dict[str, str] | None:
    """Return the versions that a study was begun with; None where the folder does not say."""
    path = folder / MADE_BY
    try:
        maker = parse_json(read_text(path, PLAN_LIMIT))
        if not isinstance(maker, dict) or not all(isinstance(value, str) for value in maker.values()):
            raise ValueError("it is not a list of versions")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise OutputError(
            f"{path} cannot be read: {problem}. It says what the folder's trials were made by: put back the "
            "file, or begin the study in another folder."
        ) from None
    return maker


def sign(folder: Path, noun: str = "study") -> None:
    """Write down the versions that a study, or what else it is, is made by; raise if it has others."""
    recorded, current = maker_of(folder), maker_here()
    if recorded is None:
        write_text(folder / MADE_BY, json.dumps(current, indent=1) + "\n")
        return
    for name in {**current, **recorded}:
        former, present = recorded.get(name, "not known"), current.get(name, "not known")
        if former != present:
            raise OutputError(
                f"{folder} holds a {noun} begun with {name} {former}, but here it is {present}. "
                f"Results must not mix: go on with what it was begun with, or run the {noun} in another "
                "folder."
            )


def check_source(source: Path, typed: Collection[str] = ()) -> StudyPlan:
    """Return the plan of another study that trials can be taken over from, or raise where it is none.

    Args:
        source: its folder.
        typed: the texts that the user has typed; no other one may import a package.
    """
    plan = plan_of(source, typed)
    if (source / PACK).exists():
        raise OutputError(
            f"{source} holds a packed study, which has no trained systems to take over: "
            "give the folder that it was packed from."
        )
    maker_of(source)
    return plan


def take_over(folder: Path, plan: StudyPlan, source: Path, typed: Collection[str] = ()) -> int:
    """Copy the trials that another study has finished and this one, claimed, has not; return how many.

    Two trials are the same if system, every parameter, task, seed, epochs, versions and sources are: then
    their results are, to the last byte. A study that does not say its sources is taken at its versions.
    """
    source_plan = check_source(source, plan.texts_of_tasks() | set(typed))
    if source_plan.epochs != plan.epochs or maker_of(source) not in (None, maker_here()):
        return 0
    source_cells = {_cell(source_plan, system, task): (system, task) for system, task in _cells(source_plan)}
    matching = {cell: source_cells.get(_cell(plan, *cell)) for cell in _cells(plan)}
    n_taken = 0
    with errors_of_files(f"work in {folder}"), alone(folder):
        for trial in unfinished(folder, plan):
            cell = matching[trial.system, trial.task]
            if cell is not None:
                source_files = TrialFiles(source, Trial(*cell, trial.seed))
                n_taken += _take(folder, plan, trial, source_files)
    return n_taken


def _cells(plan: StudyPlan) -> list[tuple[str, str]]:
    return [(system.name, task) for system in plan.systems for task in plan.tasks_by_name()]


def _cell(plan: StudyPlan, system: str, task: str) -> str:
    """Return everything that trials of a system on a task depend on, except the seed."""
    return repr(identity(plan.make_system(Trial(system, task, 0))))


def _take(folder: Path, plan: StudyPlan, trial: Trial, source: TrialFiles) -> bool:
    """Copy a finished trial; return whether there was one, of the same versions."""
    if not source.finished:
        return False
    system = saved_system(source.model, plan.make_system(trial), plan.epochs)
    if system is None or system.epoch < plan.epochs or model_file.read(source.model).versions != versions():
        return False
    files = TrialFiles(folder, trial)
    with source.model.open("rb") as file, atomic_file(files.model) as copy:
        shutil.copyfileobj(file, copy)
    write_results(files, plan, system, trial)
    return True


@contextmanager
def errors_of_files(action: str) -> Iterator[None]:
    """Say what could not be done, and what to do, where the files of a study cannot be read or written."""
    try:
        yield
    except OutputError:
        raise
    except OSError as problem:
        filename = f": {problem.filename}" if problem.filename else ""
        raise OutputError(
            f"cannot {action}: {problem.strerror or problem}{filename}. "
            "Finished trials stay as they are; check the folder, its permissions and the disk."
        ) from problem


def write_log(folder: Path, trial: Trial, ended: Ended) -> None:
    """Add a line to the study's log: how a trial ended, and how long it took."""
    path, line = folder / LOG, io.StringIO(newline="")
    timestamp = datetime.now(UTC).isoformat(timespec="seconds")
    times = (f"{ended.seconds:.3f}", f"{ended.processor_seconds:.3f}")
    writer = csv.writer(line, lineterminator="\n")
    with errors_of_files(f"write {path}"), path.open("ab", buffering=0) as file:
        size = file.tell()
        if size == 0:
            writer.writerow(LOG_COLUMNS)
        names = (csv_cell(trial.system), csv_cell(trial.task))
        writer.writerow((timestamp, *names, trial.seed, ended.outcome, *times))
        encoded = line.getvalue().encode()
        try:
            n_written = file.write(encoded)
            while n_written < len(encoded):
                n_written += file.write(encoded[n_written:])
        except OSError:
            file.truncate(size)  # no half lines
            raise
