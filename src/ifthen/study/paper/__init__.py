"""The paper's numbers: its Table 1 (performance and verdicts) and Table A1 (sizes). Its XCS is our XCSF.

Beside them, `authors_otp.csv` has what the optimal policy got on the authors' draw of the noise, by which
`studies/matched.toml` was made.
"""

from __future__ import annotations

import csv
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from ifthen.environments.frozen_lake import paper_suite
from ifthen.study.study_plan import StudyPlan, Trial
from ifthen.systems.registry import system_by_name
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Task

HERE = Path(__file__).parent
OUR_NAMES = {"XCS": "XCSF"}
PAPERS_REFERENCE = "PPL-ST"
EPOCHS, TRIALS = 250, 30
PARAMETERS: dict[str, dict[str, Any]] = {
    "PPL-ST": {"noise": "stream"},
    "PPL-DL": {"noise": "stream"},
    "XCSF": {"noise": "stream", "equality": "alleles"},
}
"""What the paper's programs did and our defaults do not."""
SIZES = {
    "rules": {"XCSF": "xcs_rules", "PPL-ST": "pplst_rules"},
    "best_action_rules": {"XCSF": "xcs_best_action_rules", "PPL-ST": "pplst_best_action_rules"},
}


@cache
def _papers_tasks() -> dict[str, TabularTask]:
    return {task.name: task for task in paper_suite()}


def is_papers(plan: StudyPlan, system: str, task: str) -> bool:
    """Return whether a study does with a system on a task what the paper did, but for seeds and luck."""
    return _is_papers(plan.to_json(), system, task)


@lru_cache(maxsize=10_000)
def _is_papers(plan_json: str, system: str, task: str) -> bool:
    plan = StudyPlan.from_json(plan_json)
    system_name = plan.system_plan(system).system or system
    paper_task = _papers_tasks().get(task)
    if system_name != system or system_name not in PARAMETERS or paper_task is None or plan.epochs != EPOCHS:
        return False
    study_system = plan.make_system(Trial(system, task, plan.first_seed))
    paper_system = system_by_name(system_name)(paper_task, threads=1, **PARAMETERS[system_name])
    return study_system.parameters == paper_system.parameters and _same_dynamics(
        study_system.task, paper_task
    )


def _same_dynamics(study_task: Task, paper_task: Task) -> bool:
    """Return whether two tasks are the same except for the draw of the noise."""
    study_identity, paper_identity = study_task.identity(), paper_task.identity()
    return {**study_identity, "noise_seed": 0, "name": ""} == {**paper_identity, "noise_seed": 0, "name": ""}


@cache
def papers_performance() -> dict[tuple[str, str], tuple[float, float, str]]:
    """Return the paper's mean, sd and verdict of PPL-ST against the system, by system and task."""
    return {
        (OUR_NAMES.get(row["system"], row["system"]), _task_name(row)): (
            float(row["mean"]),
            float(row["std"]),
            row["pplst_versus"],
        )
        for row in _rows("table1.csv")
    }


def papers_size(system: str, task: str, column: str) -> float | None:
    """Return a size from the paper's Table A1, if it has one."""
    rows = {_task_name(row): row for row in _rows("tableA1.csv")}
    csv_column = SIZES[column].get(system)
    return float(rows[task][csv_column]) if csv_column and task in rows else None


@cache
def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _task_name(row: dict[str, str]) -> str:
    return f"FrozenLake-{row['grid_size']}-{float(row['p_slip']):g}"
