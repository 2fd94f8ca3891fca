"""Taking finished trials over from another study that ran the very same ones, by whatever name."""

from __future__ import annotations

import shutil
from pathlib import Path

from ifthen.errors import OutputError
from ifthen.provenance import versions
from ifthen.store import alone, atomic_file
from ifthen.study.made_by import maker_of, ours
from ifthen.study.plan import StudyPlan, Trial
from ifthen.study.run import PACK, PLAN, errors_of_files, plan_of, unfinished
from ifthen.study.run_folder import identity
from ifthen.study.trial import TrialFiles, saved_system
from ifthen.study.trial_history import write_history
from ifthen.systems import model_file


def check_source(other: Path) -> StudyPlan:
    """Return the plan of a study that trials can be taken over from, or raise where it is none.

    Args:
        other: that study's folder.
    """
    plan = plan_of(other)
    if (other / PACK).exists():
        raise OutputError(
            f"{other} holds a packed study, which has no trained systems to take over: "
            "give the folder that it was packed from."
        )
    maker_of(other)
    return plan


def take_over(folder: Path, plan: StudyPlan, other: Path) -> int:
    """Copy what another study has finished and this one has not; return how many trials that were.

    Two trials are the same if system, every parameter, task, seed, epochs, versions and sources are: then
    their results are, to the last byte. A study that does not say its sources is taken at its versions.

    Args:
        folder: this study's folder, claimed.
        plan: this study's plan.
        other: the other study's folder.
    """
    their_plan = check_source(other)
    if their_plan.epochs != plan.epochs or maker_of(other) not in (None, ours()):
        return 0
    theirs = {_cell(their_plan, system, task): (system, task) for system, task in _cells(their_plan)}
    same = {cell: theirs.get(_cell(plan, *cell)) for cell in _cells(plan)}
    taken = 0
    with errors_of_files(folder), alone(folder / PLAN, folder):
        for trial in unfinished(folder, plan):
            cell = same[trial.system, trial.task]
            if cell is not None:
                source = TrialFiles(other, Trial(*cell, trial.seed))
                taken += _take(folder, plan, trial, source)
    return taken


def _cells(plan: StudyPlan) -> list[tuple[str, str]]:
    return [(system.name, task) for system in plan.systems for task in plan.tasks_by_name()]


def _cell(plan: StudyPlan, system: str, task: str) -> tuple[tuple[str, object], ...]:
    """Return all that makes trials of a system on a task what they are, but for the seed."""
    return tuple(identity(plan.make_system(Trial(system, task, 0))).items())


def _take(folder: Path, plan: StudyPlan, trial: Trial, source: TrialFiles) -> bool:
    """Copy a finished trial; return whether there was one, of the same versions."""
    system = saved_system(source.model, plan, trial) if source.finished else None
    if system is None or system.epoch < plan.epochs or model_file.read(source.model).versions != versions():
        return False
    files = TrialFiles(folder, trial)
    with source.model.open("rb") as file, atomic_file(files.model) as copy:
        shutil.copyfileobj(file, copy)
    write_history(files.history, plan, system, trial)
    files.finish()
    return True
