"""Reading what a study has found: from the files of its trials, or packed."""

from __future__ import annotations

from pathlib import Path

import polars

from ifthen.errors import OutputError
from ifthen.study.folder import LOG, PACK, plan_of
from ifthen.study.histories import read_histories, read_log
from ifthen.study.pack import read_pack
from ifthen.study.plan import StudyPlan, Trial
from ifthen.study.results import Results
from ifthen.study.trial import TrialFiles
from ifthen.systems.model_file import read
from ifthen.systems.registry import load


def read_results(folder: Path) -> Results:
    """Return the results in a study's folder, or in a packed one; raise where there are none."""
    plan = plan_of(folder)
    packed = (folder / PACK).exists()
    results = read_pack(folder, plan) if packed else _of_trials(folder, plan)
    if not len(results.histories):
        raise OutputError(f"no trial of the study in {folder} has finished yet.")
    return results


def _of_trials(folder: Path, plan: StudyPlan) -> Results:
    """Return the results of a study from the files of its trials."""
    histories: list[polars.DataFrame] = []
    failed: list[Trial] = []
    missing: list[Trial] = []
    versions: dict[str, str] = {}
    for trial in plan.trials_to_run():
        files = TrialFiles(folder, trial)
        if files.finished:
            histories.append(_history(files.history, plan, trial))
            versions = versions or read(files.model).versions
        else:
            (failed if files.failure.exists() else missing).append(trial)
    together = polars.concat(histories) if histories else polars.DataFrame()
    return Results(
        plan,
        together,
        tuple(failed),
        tuple(missing),
        lambda trial: load(TrialFiles(folder, trial).model, threads=1).ruleset,
        read_log(folder / LOG),
        versions,
    )


def _history(path: Path, plan: StudyPlan, trial: Trial) -> polars.DataFrame:
    """Return a trial's history, or raise saying how to get it back."""
    try:
        return read_histories(path, plan, [trial])
    except OutputError as problem:
        raise OutputError(f"{problem} Delete it and run the study again: only that trial is run.") from None
