"""The paper's numbers: its Table 1 (performance and verdicts) and Table A1 (sizes). Its XCS is our XCSF.

Beside them, `authors_otp.csv` has what the optimal policy got on the authors' draw of the noise.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

from ifthen.tasks.frozen_lake import frozen_lake

HERE = Path(__file__).parent
OUR_NAMES = {"XCS": "XCSF"}
PAPERS_REFERENCE = "PPL-ST"
DRAWS = 200
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


def authors_otp(size: int, p_slip: float) -> float:
    """Return the optimal policy's performance on the authors' draw of the noise."""
    wanted = f"FrozenLake-{size}-{p_slip:g}"
    return next(float(row["otp"]) for row in _rows("authors_otp.csv") if _task_name(row) == wanted)


def matching_draw(size: int, p_slip: float) -> int:
    """Return, of the first draws of the noise, the one on which the optimal policy does as on the authors'.

    The choice looks at the optimal policy only, not at what any system gets.
    """
    theirs = authors_otp(size, p_slip)

    def distance(seed: int) -> float:
        task = frozen_lake(size, p_slip, noise_seed=seed)
        return abs(task.optimal_performance("sampled", "stream") - theirs)

    return min(range(DRAWS), key=distance)


@cache
def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _task_name(row: dict[str, str]) -> str:
    return f"FrozenLake-{row['grid_size']}-{float(row['p_slip']):g}"
