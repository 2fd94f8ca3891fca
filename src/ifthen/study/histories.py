"""Histories of trials and the study's log, read back only as far as they are what they should be."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars

from ifthen.errors import OutputError
from ifthen.study.plan import StudyPlan, Trial
from ifthen.tasks.env_task import EnvTask

WHOLE, REAL, TEXT = polars.Int64(), polars.Float64(), polars.String()
COLUMNS: dict[str, polars.DataType] = {
    "system": TEXT,
    "task": TEXT,
    "seed": WHOLE,
    "epoch": WHOLE,
    "performance": REAL,
    "exact_performance": REAL,
    "fraction": REAL,
    "exact_fraction": REAL,
    "otp": REAL,
    "optimum": REAL,
    "rules": WHOLE,
    "best_action_rules": WHOLE,
    "episodes": WHOLE,
    "steps": WHOLE,
    "ga_invocations": WHOLE,
}
"""What the histories of all systems have, and a study needs."""
ENV_COLUMNS: dict[str, polars.DataType] = {
    "unseen_performance": REAL,
    "unseen_score": REAL,
    "unseen_sd": REAL,
    "unseen_least": REAL,
    "unseen_failed_share": REAL,
    "pruned_rules": WHOLE,
    "pruned_score": REAL,
}
"""What those of environments have besides: by epoch the performance on the seeds of validation, and of the
final rules what they got on seeds that nothing was learnt or selected on, before and after pruning."""
FRACTIONS = ("fraction", "exact_fraction")
"""Null where returns can be negative."""
OF_TABLES = (*FRACTIONS, "exact_performance", "otp", "optimum", "best_action_rules")
"""Null in environments, which have no table to work them out with."""
PRUNED = ("pruned_rules", "pruned_score")
"""Null where the plan wants no pruning, and for rules that meet a state with no rule."""
LOG_COLUMNS: dict[str, polars.DataType] = {
    "time": TEXT,
    "system": TEXT,
    "task": TEXT,
    "seed": WHOLE,
    "outcome": TEXT,
    "seconds": REAL,
    "processor_seconds": REAL,
}


def read_histories(path: Path, plan: StudyPlan, trials: Iterable[Trial]) -> polars.DataFrame:
    """Return the histories in a file, of some of the trials; raise where they are not whole and sound."""
    known = set(trials)
    try:
        table = _read(path, len(known) * (plan.epochs + 1))
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as problem:
        raise OutputError(f"{path} is damaged: {problem}.") from None
    why = _what_is_wrong(table, plan, known)
    if why:
        raise OutputError(f"{path} is damaged: {why}.")
    return table


def _read(path: Path, most: int) -> polars.DataFrame:
    """Return the columns that every history has, in types of one kind."""
    rows = polars.scan_parquet(path).select(polars.len()).collect().item()
    if rows > most:
        raise OutputError(f"{path} is damaged: it has {rows:,} rows, at most {most:,} can be.")
    there = polars.read_parquet_schema(path)
    kinds = COLUMNS | {name: kind for name, kind in ENV_COLUMNS.items() if name in there}
    table = polars.read_parquet(path, columns=list(kinds))
    for name, kind in kinds.items():
        found = table.schema[name]
        if not (found in (kind, polars.Null()) or (kind == WHOLE and found.is_integer())):
            raise OutputError(f"{path} is damaged: {name} holds {found}, not {kind}.")
    missing = [polars.lit(None).alias(name) for name in ENV_COLUMNS if name not in there]
    every: Any = COLUMNS | ENV_COLUMNS
    return table.with_columns(missing).select(*every).cast(every)


def _what_is_wrong(table: polars.DataFrame, plan: StudyPlan, known: set[Trial]) -> str:
    """Return what makes histories unsound; nothing where they are sound."""
    of_trial = ["system", "task", "seed"]
    found = {Trial(*row) for row in table.select(of_trial).unique().iter_rows()}
    if not found or found - known:
        return f"it is not of {'a trial' if len(known) > 1 else next(iter(known))} of this study"
    in_order = polars.col("epoch") == polars.int_range(polars.len()).over(of_trial)
    if not table.select(in_order.all()).item() or len(table) != len(found) * (plan.epochs + 1):
        return f"it must have every epoch from 0 to {plan.epochs}, in order"
    played = {name for name, task in plan.tasks_by_name().items() if isinstance(task, EnvTask)}
    environments = table["task"].is_in(list(played))
    for name, kind in (COLUMNS | ENV_COLUMNS).items():
        if not _where_it_should_be(table, name, environments):
            return f"{name} is missing in some rows"
        if kind == REAL and not table[name].drop_nulls().is_finite().all():
            return f"{name} is not finite in some rows"
    return ""


def _where_it_should_be(table: polars.DataFrame, name: str, environments: polars.Series) -> bool:
    """Return whether a column has numbers in all rows of tasks that it is for, and in no others."""
    nulls = table[name].is_null()
    if name in PRUNED:
        return bool(nulls.filter(~environments).all())
    if name in FRACTIONS:
        return bool(nulls.filter(environments).all()) and _whole_tasks(table, nulls)
    if name in OF_TABLES:
        return bool((nulls == environments).all())
    if name in ENV_COLUMNS:
        return bool((nulls != environments).all())
    return not nulls.any()


def _whole_tasks(table: polars.DataFrame, nulls: polars.Series) -> bool:
    """Return whether something is missing in all rows of a task or in none."""
    per_task = table.select("task", nulls.alias("null")).group_by("task").agg(polars.col("null").n_unique())
    return bool((per_task["null"] == 1).all())


def read_log(path: Path) -> polars.DataFrame | None:
    """Return the study's log, one row per time that a trial was worked on; None where there is none.

    Lines that are not whole, as a process leaves that was killed, are passed over.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        return None
    rows = [row for line in lines if (row := _log_row(line)) is not None]
    return polars.DataFrame(rows, schema=LOG_COLUMNS, orient="row") if rows else None


def _log_row(line: dict[str, str]) -> tuple[str | int | float, ...] | None:
    """Return a line of the log, or None where it is not a whole one."""
    try:
        return (
            *(line["time"], line["system"], line["task"]),
            int(line["seed"]),
            line["outcome"],
            float(line["seconds"]),
            float(line["processor_seconds"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
