"""A packed study: all that its tables, figures and report need, in a few files that can be kept or sent.

study.json                        the plan
pack.json                         what was run: versions, and which trials failed
histories.parquet                 one row per epoch of every finished trial, in the columns all systems share
log.csv                           how long each trial took
rulesets/SYSTEM/TASK.json.gz      the final rulesets, one per line, in the order of their seeds
"""

from __future__ import annotations

import gzip
import json
from functools import lru_cache
from pathlib import Path

import polars
from pydantic import BaseModel, ConfigDict, ValidationError

from ifthen.errors import OutputError, RuleError
from ifthen.rules.ruleset import RuleSet
from ifthen.store import SIZE_LIMIT, atomic_file, write_text
from ifthen.study.plan import StudyPlan, Trial, safe_name
from ifthen.study.results import Results
from ifthen.study.run import LOG, PACK, PLAN

HISTORIES = "histories.parquet"
VERSION = 1
SHARED = (
    "system",
    "task",
    "seed",
    "epoch",
    "performance",
    "exact_performance",
    "fraction",
    "exact_fraction",
    "otp",
    "optimum",
    "rules",
    "best_action_rules",
    "episodes",
    "steps",
    "ga_invocations",
)


class Pack(BaseModel):
    """What a packed study says of itself."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: str = "ifthen-study"
    version: int = VERSION
    versions: dict[str, str]
    failed: list[tuple[str, str, int]]
    rulesets: bool


def write_pack(folder: Path, results: Results, rulesets: bool = True) -> None:
    """Pack a study's results into a folder; the same results give the same bytes.

    Args:
        folder: where to; nothing else may be in it.
        results: the study's.
        rulesets: whether final rulesets are kept.
    """
    if folder.exists() and any(folder.iterdir()):
        raise OutputError(f"{folder} is not empty: give a folder that is empty or not there yet.")
    rulesets = rulesets and results.ruleset is not None
    write_text(folder / PLAN, results.plan.to_json())
    histories = results.histories
    shared = [name for name in histories.columns if name in SHARED]
    with atomic_file(folder / HISTORIES) as file:
        histories.select(shared).write_parquet(file, compression="zstd", compression_level=19)
    if results.log is not None:
        write_text(folder / LOG, results.log.write_csv())
    if rulesets:
        _write_rulesets(folder, results)
    failed = [(trial.system, trial.task, trial.seed) for trial in results.failed]
    pack = Pack(versions=results.versions, failed=failed, rulesets=rulesets)
    write_text(folder / PACK, pack.model_dump_json(indent=1) + "\n")


def _write_rulesets(folder: Path, results: Results) -> None:
    """Write the final rulesets of every system on every task."""
    assert results.ruleset is not None
    for task in results.plan.tasks_by_name():
        for system in results.plan.systems:
            lines = [
                json.dumps(
                    {"seed": trial.seed, "ruleset": results.ruleset(trial).to_dict()},
                    separators=(",", ":"),
                    ensure_ascii=False,
                )
                for trial in results.trials(system.name, task)
            ]
            text = "".join(line + "\n" for line in lines).encode()
            with atomic_file(_rulesets_path(folder, system.name, task)) as file:
                file.write(gzip.compress(text, mtime=0))


def _rulesets_path(folder: Path, system: str, task: str) -> Path:
    return folder / "rulesets" / safe_name(system) / f"{safe_name(task)}.json.gz"


def read_pack(folder: Path, plan: StudyPlan) -> Results:
    """Return the results of a packed study."""
    pack, histories = _pack_of(folder), _histories_of(folder)
    found = {Trial(*row) for row in histories.select("system", "task", "seed").unique().iter_rows()}
    failed = {Trial(*trial) for trial in pack.failed}
    missing = [trial for trial in plan.trials_to_run() if trial not in found | failed]
    ruleset = (lambda trial: _packed_ruleset(folder, trial)) if pack.rulesets else None
    log = read_log(folder / LOG)
    return Results(plan, histories, tuple(sorted(failed)), tuple(missing), ruleset, log, pack.versions)


def read_log(path: Path) -> polars.DataFrame | None:
    """Return the study's log; None where there is none, or one that cannot be read."""
    try:
        return polars.read_csv(path)
    except (polars.exceptions.PolarsError, OSError):
        return None


def _pack_of(folder: Path) -> Pack:
    """Return what a packed study says of itself, or raise where that cannot be read."""
    try:
        pack = Pack.model_validate_json((folder / PACK).read_bytes())
    except (ValidationError, OSError) as problem:
        raise OutputError(f"{folder / PACK} cannot be read: {problem}.") from None
    if pack.version != VERSION:
        raise OutputError(f"{folder} was packed in version {pack.version}; this ifthen reads {VERSION}.")
    return pack


def _histories_of(folder: Path) -> polars.DataFrame:
    """Return the histories of a packed study, or raise where they are damaged."""
    try:
        histories = polars.read_parquet(folder / HISTORIES)
    except (polars.exceptions.PolarsError, OSError) as problem:
        raise OutputError(f"{folder / HISTORIES} is damaged: {problem}.") from None
    missing = [name for name in SHARED if name not in histories.columns]
    if missing:
        raise OutputError(f"{folder / HISTORIES} is damaged: it has no column {missing[0]!r}.")
    return histories


def _packed_ruleset(folder: Path, trial: Trial) -> RuleSet:
    """Return the final ruleset of a trial of a packed study."""
    path = _rulesets_path(folder, trial.system, trial.task)
    rulesets = _read_rulesets(path)
    if trial.seed not in rulesets:
        raise OutputError(f"{path} holds no ruleset of seed {trial.seed}.")
    return rulesets[trial.seed]


@lru_cache(maxsize=1)
def _read_rulesets(path: Path) -> dict[int, RuleSet]:
    """Return the rulesets of a file by seed, or raise where it is damaged or unpacks to too much."""
    try:
        with gzip.open(path) as file:
            data = file.read(SIZE_LIMIT + 1)
        if len(data) > SIZE_LIMIT:
            raise OutputError(f"{path} unpacks to more than {SIZE_LIMIT:,} bytes.")
        lines = [json.loads(line) for line in data.splitlines()]
        return {int(line["seed"]): RuleSet.from_dict(line["ruleset"]) for line in lines}
    except (OSError, EOFError, ValueError, KeyError, TypeError, RuleError) as problem:
        raise OutputError(f"{path} is damaged: {problem}.") from None
