"""The history of a trial, with what a study needs to know beside it."""

from __future__ import annotations

import io
from pathlib import Path

import polars

from ifthen.explain.best_actions import best_action_map
from ifthen.explain.fewer.played import NothingToPruneError, prune_by_playing
from ifthen.rollout.score import score
from ifthen.rules.ruleset import RuleSet
from ifthen.store import atomic_file
from ifthen.study.histories import COLUMNS, ENV_COLUMNS, OF_TABLES
from ifthen.study.plan import StudyPlan, Trial
from ifthen.systems.base import System
from ifthen.tasks.env_task import EnvTask

UNSEEN = 100


def write_history(path: Path, plan: StudyPlan, system: System, trial: Trial) -> None:
    """Write the history of a trial, as much of it as the plan wants, which makes it a finished one."""
    table = history_table(system, trial, plan.prune is not False)
    if plan.record == "shared":
        own = ENV_COLUMNS if isinstance(system.task, EnvTask) else {}
        table = table.select(*COLUMNS, *own)
    buffer = io.BytesIO()  # errors of the disk are then Python's, not those of a library
    table.write_parquet(buffer, compression="zstd")
    with atomic_file(path) as file:
        file.write(buffer.getvalue())


def history_table(system: System, trial: Trial, prune: bool = True) -> polars.DataFrame:
    """Return a trained system's history with what a study needs to know beside it.

    Args:
        system: the system.
        trial: whose it is.
        prune: whether to prune rules for environments, to say how many it takes.
    """
    task = system.task
    beside = _of_environment(system, prune) if isinstance(task, EnvTask) else _of_table(system)
    return system.history.with_columns(
        polars.lit(trial.system).alias("system"),
        polars.lit(trial.task).alias("task"),
        polars.lit(trial.seed, dtype=polars.Int64).alias("seed"),
        *beside,
        polars.lit(len(system.ruleset)).alias("rules"),
    )


def _of_table(system: System) -> list[polars.Expr]:
    """Return what is known of tasks with a table: optima, and how many rules are in the best action map.

    Fractions of the optimum are null where returns can be negative, as in `evaluate`.
    """
    task = system.task
    otp = task.optimal_performance("sampled", system.parameters.noise)
    optimum = task.optimal_performance("exact")
    relative = task.floor == 0 and min(otp, optimum) > 0
    return [
        polars.lit(otp).alias("otp"),
        polars.lit(optimum).alias("optimum"),
        (polars.col("performance") / _number(otp if relative else None)).alias("fraction"),
        (polars.col("exact_performance") / _number(optimum if relative else None)).alias("exact_fraction"),
        polars.lit(len(best_action_map(system.ruleset, task))).alias("best_action_rules"),
    ]


def _of_environment(system: System, prune: bool) -> list[polars.Expr]:
    """Return what the final rules get on seeds that nothing was learnt or selected on, and pruned ones."""
    task, ruleset = system.task, system.ruleset
    seeds = task.unseen(UNSEEN)
    unseen = score(ruleset, task, seeds)
    pruned = _pruned(ruleset, task) if prune else None
    numbers: dict[str, float | int | None] = {
        "unseen_score": unseen.performance,
        "unseen_sd": unseen.deviation,
        "unseen_least": unseen.least,
        "unseen_failed_share": unseen.failed_share,
        "pruned_rules": None if pruned is None else len(pruned),
        "pruned_score": None if pruned is None else score(pruned, task, seeds).performance,
    }
    nothing: dict[str, float | int | None] = dict.fromkeys(OF_TABLES)
    kinds = COLUMNS | ENV_COLUMNS
    return [polars.lit(value, dtype=kinds[name]).alias(name) for name, value in (numbers | nothing).items()]


def _pruned(ruleset: RuleSet, task: EnvTask) -> RuleSet | None:
    """Return pruned rules; None for those that meet a state with no rule: they have nothing to lose."""
    try:
        return prune_by_playing(ruleset, task, threads=1).ruleset
    except NothingToPruneError:
        return None


def _number(value: float | None) -> polars.Expr:
    return polars.lit(value, dtype=polars.Float64)
