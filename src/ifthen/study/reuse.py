"""Taking finished trials over from another study that ran the very same ones, by whatever name."""

from __future__ import annotations

import shutil
from pathlib import Path

from ifthen.provenance import versions
from ifthen.store import alone, atomic_file
from ifthen.study.plan import StudyPlan, Trial
from ifthen.study.run import PLAN, plan_of, unfinished
from ifthen.study.run_folder import identity
from ifthen.study.trial import TrialFiles, write_history
from ifthen.systems import model_file
from ifthen.systems.registry import load


def take_over(folder: Path, plan: StudyPlan, other: Path) -> int:
    """Copy what another study has finished and this one has not; return how many trials that were.

    Two trials are the same if system, every parameter, task, seed, epochs and versions are: then their
    results are, to the last byte.

    Args:
        folder: this study's folder, claimed.
        plan: this study's plan.
        other: the other study's folder.
    """
    their_plan = plan_of(other)
    if their_plan.epochs != plan.epochs:
        return 0
    theirs = {_cell(their_plan, system, task): (system, task) for system, task in _cells(their_plan)}
    same = {cell: theirs.get(_cell(plan, *cell)) for cell in _cells(plan)}
    taken = 0
    with alone(folder / PLAN, folder):
        for trial in unfinished(folder, plan):
            cell = same[trial.system, trial.task]
            if cell is not None:
                source = TrialFiles(other, Trial(*cell, trial.seed))
                taken += _take(TrialFiles(folder, trial), trial, source)
    return taken


def _cells(plan: StudyPlan) -> list[tuple[str, str]]:
    return [(system.name, task) for system in plan.systems for task in plan.tasks_by_name()]


def _cell(plan: StudyPlan, system: str, task: str) -> tuple[tuple[str, object], ...]:
    """Return all that makes trials of a system on a task what they are, but for the seed."""
    return tuple(identity(plan.make_system(Trial(system, task, 0))).items())


def _take(ours: TrialFiles, trial: Trial, theirs: TrialFiles) -> bool:
    """Copy a finished trial; return whether it was there, of the same versions."""
    if not theirs.finished or model_file.read(theirs.model).versions != versions():
        return False
    system = load(theirs.model, threads=1)
    with theirs.model.open("rb") as source, atomic_file(ours.model) as target:
        shutil.copyfileobj(source, target)
    write_history(ours, system, trial)
    return True
