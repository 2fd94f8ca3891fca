"""Histories of trials: what a finished trial writes, and how files of any version are read back.

Columns may come and go between versions: a column that a file has not is null, and one that is not known is
left out. Only the columns of `ALWAYS` must be there. A number is there in all epochs of a trial or in none.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars

from ifthen.errors import OutputError
from ifthen.explanation.measures import best_action_map
from ifthen.rules.ruleset import RuleSet
from ifthen.runs.pruned_policy import pruned_policy
from ifthen.simplify.by_play import NothingToPruneError
from ifthen.simplify.prune import prune
from ifthen.simulate.evaluate import evaluate
from ifthen.simulate.scope import tabular
from ifthen.simulate.table_simulator import optimal_performance
from ifthen.store import atomic_file
from ifthen.study.study_plan import StudyPlan, Trial
from ifthen.systems.system import System
from ifthen.text_table import csv_text

UNSEEN = 100
"""How many held-out reset seeds measure final rules in an environment."""
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
    "mean_steps": REAL,
    "unseen_performance": REAL,
    "unseen_score": REAL,
    "unseen_sd": REAL,
    "unseen_least": REAL,
    "unseen_failed_share": REAL,
    "pruned_rules": WHOLE,
    "pruned_score": REAL,
}
"""The columns that all systems share. The last seven are those of environments: by epoch the performance on
validation seeds; for the final rules the returns on held-out test seeds, before and after pruning. Tables can
have pruned rules, too."""
MOST_ROWS = 5_000_000
"""How many rows of a file are read: a small file can unpack to any number of them."""
ALWAYS = ("system", "task", "seed", "epoch", "performance")
OF_TABLES = ("fraction", "exact_fraction", "exact_performance", "otp", "optimum", "best_action_rules")
"""Null in environments. The fractions are null in every task whose returns can be negative."""
LOG_COLUMNS: dict[str, polars.DataType] = {
    "time": TEXT,
    "system": TEXT,
    "task": TEXT,
    "seed": WHOLE,
    "outcome": TEXT,
    "seconds": REAL,
    "processor_seconds": REAL,
}


def pruned_rules(plan: StudyPlan, system: System) -> RuleSet | None:
    """Return a trained system's rules after pruning; None where the study does not prune them.

    Where the plan says `prune`, they are pruned as at the end of a run: if fewer rules would do worse, they
    stay as learnt. Where it says nothing, rules for environments are pruned as far as that goes.
    """
    if plan.prune:
        result = pruned_policy(system)
        return system.ruleset if result is None else result.ruleset
    if plan.prune is False or system.task.pruning_seeds() is None:
        return None
    try:
        return prune(system.ruleset, system.task, threads=1).ruleset
    except NothingToPruneError:  # they reach a state with no rule, and have nothing to lose
        return None


def write_history(path: Path, plan: StudyPlan, system: System, trial: Trial, pruned: RuleSet | None) -> None:
    """Write the history of a trial with what its pruned rules do, which makes it a finished one."""
    table = history_table(system, trial, pruned)
    if plan.record == "shared":
        table = table.select(name for name in COLUMNS if name in table.columns)
    write_parquet(path, table, 3)


def write_parquet(path: Path, table: polars.DataFrame, level: int) -> None:
    """Write a Parquet file; errors of the disk are then Python's, not those of a library."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", compression_level=level)
    with atomic_file(path) as file:
        file.write(buffer.getvalue())


def history_table(system: System, trial: Trial, pruned: RuleSet | None) -> polars.DataFrame:
    """Return a trained system's history with everything that a study needs beside it."""
    extra_columns = _of_table(system) if system.task.has_states else _of_environment(system, pruned)
    pruned_column = [] if pruned is None else [polars.lit(len(pruned), dtype=WHOLE).alias("pruned_rules")]
    return system.history.with_columns(
        polars.lit(trial.system).alias("system"),
        polars.lit(trial.task).alias("task"),
        polars.lit(trial.seed, dtype=polars.Int64).alias("seed"),
        *extra_columns,
        polars.lit(len(system.ruleset)).alias("rules"),
        *pruned_column,
    )


def _of_table(system: System) -> list[polars.Expr]:
    """Return the optima, fractions of them, and the number of rules in the best action map.

    Fractions of the optimum are null where returns can be negative, as in `evaluate`.
    """
    task = tabular(system.task, "the fraction of an optimum")
    otp = optimal_performance(task, "sampled", system.parameters.noise)
    optimum = optimal_performance(task, "exact")
    relative = task.floor == 0 and min(otp, optimum) > 0
    units = [polars.lit(unit if relative else None, dtype=REAL) for unit in (otp, optimum)]
    return [
        polars.lit(otp).alias("otp"),
        polars.lit(optimum).alias("optimum"),
        (polars.col("performance") / units[0]).alias("fraction"),
        (polars.col("exact_performance") / units[1]).alias("exact_fraction"),
        polars.lit(len(best_action_map(system.ruleset, task))).alias("best_action_rules"),
    ]


def _of_environment(system: System, pruned: RuleSet | None) -> list[polars.Expr]:
    """Return what the final rules get on held-out test seeds, before and after pruning."""
    task, ruleset = system.task, system.ruleset
    seeds = task.test_seeds(UNSEEN)
    evaluation = evaluate(ruleset, task, threads=1, seeds=seeds)
    pruned_evaluation = None if pruned is None else evaluate(pruned, task, threads=1, seeds=seeds)
    numbers: dict[str, float | int | None] = {
        "unseen_score": evaluation.performance,
        "unseen_sd": evaluation.deviation,
        "unseen_least": evaluation.least,
        "unseen_failed_share": evaluation.failed_share,
        "pruned_score": None if pruned_evaluation is None else pruned_evaluation.performance,
    }
    columns = numbers | dict.fromkeys(OF_TABLES)
    return [polars.lit(value, dtype=COLUMNS[name]).alias(name) for name, value in columns.items()]


def read_histories(path: Path, plan: StudyPlan, trials: Iterable[Trial]) -> polars.DataFrame:
    """Return the histories in a file, of some of the trials; raise where they are not whole and sound."""
    trial_set = set(trials)
    try:
        table = _read(path, len(trial_set) * (plan.epochs + 1))
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as problem:
        raise OutputError(f"{path} is damaged: {problem}.") from None
    flaw = _what_is_wrong(table, plan, trial_set)
    if flaw:
        raise OutputError(f"{path} is damaged: {flaw}.")
    return table


def _read(path: Path, max_rows: int) -> polars.DataFrame:
    """Return the shared columns, in types of one kind; null where the file has no such column."""
    max_rows = min(max_rows, MOST_ROWS)
    rows = polars.scan_parquet(path).select(polars.len()).collect().item()
    if rows > max_rows:
        raise OutputError(f"{path} is damaged: it has {rows:,} rows, at most {max_rows:,} can be.")
    schema = polars.read_parquet_schema(path)
    if missing := [name for name in ALWAYS if name not in schema]:
        raise OutputError(f"{path} is damaged: it has no column {missing[0]}.")
    table = polars.read_parquet(path, columns=[name for name in COLUMNS if name in schema])
    for name, dtype in table.schema.items():
        expected = COLUMNS[name]
        if not (dtype in (expected, polars.Null()) or (expected == WHOLE and dtype.is_integer())):
            raise OutputError(f"{path} is damaged: {name} holds {dtype}, not {expected}.")
    absent = [polars.lit(None).alias(name) for name in COLUMNS if name not in schema]
    columns: Any = COLUMNS
    return table.with_columns(absent).select(*columns).cast(columns)


def _what_is_wrong(table: polars.DataFrame, plan: StudyPlan, expected: set[Trial]) -> str:
    """Return what makes histories unsound; nothing where they are sound."""
    of_trial = ["system", "task", "seed"]
    trials = {Trial(*row) for row in table.select(of_trial).unique().iter_rows()}
    if not trials or trials - expected:
        return f"it is not of {'a trial' if len(expected) > 1 else next(iter(expected))} of this study"
    in_order = polars.col("epoch") == polars.int_range(polars.len()).over(of_trial)
    if not table.select(in_order.all()).item() or len(table) != len(trials) * (plan.epochs + 1):
        return f"it must have every epoch from 0 to {plan.epochs}, in order"
    value_columns = [name for name in COLUMNS if name not in of_trial]
    gaps = table.group_by(of_trial).agg(polars.col(value_columns).is_null().n_unique())
    for name, dtype in COLUMNS.items():
        if (name in ALWAYS and table[name].has_nulls()) or (name in value_columns and (gaps[name] > 1).any()):
            return f"{name} is missing in some rows"
        if dtype == REAL and not table[name].drop_nulls().is_finite().all():
            return f"{name} is not finite in some rows"
    return ""


def read_log(path: Path) -> polars.DataFrame | None:
    """Return the study's log, one row per time that a trial was worked on; None where there is none.

    Incomplete lines, as a killed process leaves them, are passed over.
    """
    lenient: Any = {"ignore_errors": True, "truncate_ragged_lines": True}
    try:
        log = polars.read_csv(path, schema_overrides=LOG_COLUMNS, **lenient).select(*LOG_COLUMNS).drop_nulls()
    except (polars.exceptions.PolarsError, OSError):
        return None
    names = polars.col("system", "task").map_elements(csv_text, return_dtype=TEXT)
    return log.with_columns(names) if len(log) else None
