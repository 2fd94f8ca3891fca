"""The paper's numbers: its Table 1 (performance and verdicts) and Table A1 (sizes). Its XCS is our XCSF."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
OUR_NAMES = {"XCS": "XCSF"}
PAPERS_REFERENCE = "PPL-ST"
SIZES = {
    "rules": {"XCSF": "xcs_rules", "PPL-ST": "pplst_rules"},
    "best_action_rules": {"XCSF": "xcs_best_action_rules", "PPL-ST": "pplst_best_action_rules"},
}


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
    wanted = SIZES[column].get(system)
    return float(rows[task][wanted]) if wanted and task in rows else None


@cache
def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _task_name(row: dict[str, str]) -> str:
    return f"FrozenLake-{row['grid_size']}-{float(row['p_slip']):g}"
