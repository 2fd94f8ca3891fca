"""Results of a study on disk: in the files of its trials, or packed to be kept or sent.

A packed study is all that tables, figures and report need, in a few files:

study.json                        the plan
pack.json                         what was run: versions, and which trials failed
histories.parquet                 one row per epoch of every finished trial, in the columns all systems share
log.csv                           how long each trial took
rulesets/SYSTEM/TASK.json.gz      the final rulesets, one per line by seed, as learnt and pruned
"""

from __future__ import annotations

import gzip
import json
import tempfile
import zlib
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars
from pydantic import BaseModel, ConfigDict

from ifthen.checks import has_more_values
from ifthen.errors import OutputError, RuleError
from ifthen.explanation.read_ruleset import read_ruleset
from ifthen.rules.ruleset import RuleSet
from ifthen.store import JSON_LIMIT, atomic_file, parse_json, read_text, sha256_of, write_text
from ifthen.study.histories import COLUMNS, read_histories, read_log, write_parquet
from ifthen.study.study_folder import LOG, PACK, PLAN, errors_of_files, plan_of
from ifthen.study.study_plan import PLAN_LIMIT, StudyPlan, Trial, safe_name
from ifthen.study.study_results import Results
from ifthen.study.trial import TrialFiles
from ifthen.systems.model_file import read
from ifthen.systems.registry import load
from ifthen.text_table import csv_of

HISTORIES = "histories.parquet"
VERSION = 1
MOST_IN_PACK = 100_000


class Pack(BaseModel):
    """What a packed study says of itself."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: str = "ifthen-study"
    version: int = VERSION
    versions: dict[str, str]
    failed: list[tuple[str, str, int]]
    rulesets: bool
    sha256: dict[str, str]
    """Of every file but this one."""


def write_pack(folder: Path, results: Results, rulesets: bool = True) -> None:
    """Pack results into an empty folder, whole or not at all; the same results give the same bytes."""
    with errors_of_files(f"write {folder}"):
        if folder.exists() and any(folder.iterdir()):
            raise OutputError(f"{folder} is not empty: give a folder that is empty or not there yet.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as name:
            packed = Path(name) / "packed"
            _write(packed, results, rulesets and results.ruleset is not None)
            packed.replace(folder)


def _write(folder: Path, results: Results, rulesets: bool) -> None:
    """Write the files of a packed study."""
    write_text(folder / PLAN, results.plan.to_json())
    columns = [name for name in COLUMNS if not results.histories[name].is_null().all()]
    write_parquet(folder / HISTORIES, results.histories.select(columns), 19)
    if results.log is not None:
        write_text(folder / LOG, csv_of(results.log))
    if rulesets:
        _write_rulesets(folder, results)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    pack = Pack(
        versions=results.versions,
        failed=[(trial.system, trial.task, trial.seed) for trial in results.failed],
        rulesets=rulesets,
        sha256={path.relative_to(folder).as_posix(): sha256_of(path) for path in paths},
    )
    write_text(folder / PACK, pack.model_dump_json(indent=1) + "\n")


def _write_rulesets(folder: Path, results: Results) -> None:
    """Write the final rulesets of every system on every task."""
    for task in results.plan.tasks_by_name():
        for system in results.plan.systems:
            lines = [
                json.dumps(_final_rules(results, trial), separators=(",", ":"), ensure_ascii=False)
                for trial in results.trials(system.name, task)
            ]
            text = "".join(line + "\n" for line in lines).encode()
            with atomic_file(_rulesets_path(folder, system.name, task)) as file:
                file.write(gzip.compress(text, mtime=0))


def _final_rules(results: Results, trial: Trial) -> dict[str, Any]:
    """Return the final rules of a trial, and those after pruning where there are any, as plain data."""
    assert results.ruleset is not None
    pruned = None if results.pruned is None else results.pruned(trial)
    extra = {} if pruned is None else {"pruned": pruned.to_dict()}
    return {"seed": trial.seed, "ruleset": results.ruleset(trial).to_dict(), **extra}


def _rulesets_path(folder: Path, system: str, task: str) -> Path:
    return folder / "rulesets" / safe_name(system) / f"{safe_name(task)}.json.gz"


def read_pack(folder: Path, plan: StudyPlan) -> Results:
    """Return the results of a packed study, or raise where its files are not those that were packed."""
    pack, trials = _pack_of(folder), plan.trials_to_run()
    for name, packed in pack.sha256.items():
        path = folder / name
        if (
            not name.isprintable()
            or not path.resolve().is_relative_to(folder.resolve())
            or not path.is_file()
            or sha256_of(path) != packed
        ):
            raise OutputError(f"{path} is not the file that was packed: pack the study again.")
    histories = read_histories(folder / HISTORIES, plan, trials)
    finished = {Trial(*row) for row in histories.select("system", "task", "seed").unique().iter_rows()}
    failed = {Trial(*trial) for trial in pack.failed}
    missing = [trial for trial in trials if trial not in finished | failed]
    ruleset = (lambda trial: _packed_rules(folder, trial)[0]) if pack.rulesets else None
    pruned = (lambda trial: _packed_rules(folder, trial)[1]) if pack.rulesets else None
    unfinished = tuple(sorted(failed)), tuple(missing)
    return Results(plan, histories, *unfinished, ruleset, pruned, read_log(folder / LOG), pack.versions)


def _pack_of(folder: Path) -> Pack:
    """Return what a packed study says of itself, or raise where that cannot be read."""
    try:
        text = read_text(folder / PACK, PLAN_LIMIT)
        if has_more_values(parse_json(text), MOST_IN_PACK):
            raise ValueError(f"it holds more than {MOST_IN_PACK:,} values")
        pack = Pack.model_validate_json(text)
    except (ValueError, OSError) as problem:
        raise OutputError(f"{folder / PACK} cannot be read: {str(problem)[:1000]}.") from None
    if pack.version != VERSION:
        raise OutputError(f"{folder} was packed in version {pack.version}; this ifthen reads {VERSION}.")
    return pack


def _packed_rules(folder: Path, trial: Trial) -> tuple[RuleSet, RuleSet | None]:
    """Return the final ruleset of a trial of a packed study, and that after pruning, if any."""
    path = _rulesets_path(folder, trial.system, trial.task)
    rulesets = _read_rulesets(path)
    if trial.seed not in rulesets:
        raise OutputError(f"{path} holds no ruleset of seed {trial.seed}.")
    return rulesets[trial.seed]


@lru_cache(maxsize=1)
def _read_rulesets(path: Path) -> dict[int, tuple[RuleSet, RuleSet | None]]:
    """Return the rulesets of a file by seed, as learnt and pruned, if they were.

    Raises where the file is damaged or unpacks to too much.
    """
    try:
        with gzip.open(path) as file:
            data = file.read(JSON_LIMIT + 1)
        if len(data) > JSON_LIMIT:
            raise OutputError(f"{path} unpacks to more than {JSON_LIMIT:,} bytes.")
        lines = (parse_json(line.decode()) for line in data.splitlines())
        return {
            int(line["seed"]): (
                RuleSet.from_dict(line["ruleset"]),
                RuleSet.from_dict(line["pruned"]) if "pruned" in line else None,
            )
            for line in lines
        }
    except (OSError, EOFError, zlib.error) as problem:
        raise OutputError(f"{path} is damaged: {problem}.") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, RuleError) as problem:
        raise OutputError(f"{path} is damaged: {problem}.") from None


def read_results(folder: Path, typed: Collection[str] = ()) -> Results:
    """Return the results in a study's folder, or in a packed one; raise where there are none.

    Args:
        folder: the folder.
        typed: tasks of the study, such as "package:Id-v0", that may have their packages imported. Packages
            that are imported already need not be named.
    """
    with errors_of_files(f"read {folder}"):
        plan = plan_of(folder, typed)
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
    table = polars.concat(histories) if histories else polars.DataFrame()

    def pruned(trial: Trial) -> RuleSet | None:
        path = TrialFiles(folder, trial).pruned
        return read_ruleset(path)[0] if path.exists() else None

    return Results(
        plan,
        table,
        tuple(failed),
        tuple(missing),
        lambda trial: load(TrialFiles(folder, trial).model, threads=1).ruleset,
        pruned,
        read_log(folder / LOG),
        versions,
    )


def _history(path: Path, plan: StudyPlan, trial: Trial) -> polars.DataFrame:
    """Return a trial's history, or raise saying how to get it back."""
    try:
        return read_histories(path, plan, [trial])
    except OutputError as problem:
        raise OutputError(f"{problem} Delete it and run the study again: only that trial is run.") from None
