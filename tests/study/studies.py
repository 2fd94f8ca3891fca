"""Small studies for tests: two systems, two lakes, a few trials of a few epochs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ifthen.study.study_folder import LOG
from ifthen.study.study_plan import StudyPlan, checked_plan
from tests.systems.contract import MEADOW, SMALL

SYSTEMS: list[dict[str, Any]] = [{"name": name, "parameters": SMALL[name]} for name in ("PPL-DL", "XCSF")]
LAKE = {"desc": list(MEADOW), "enumerations": 3, "t_max": 25}
TASKS = [{**LAKE, "name": "calm"}, {**LAKE, "name": "slippery", "p_slip": 0.2}]


def small_plan(**changes: Any) -> StudyPlan:
    """Return a small plan, but for what is given."""
    plan = {"name": "small", "systems": SYSTEMS, "tasks": TASKS, "trials": 3, "epochs": 5}
    return checked_plan({**plan, "checkpoint_seconds": 0.0, **changes})


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file of a study but its log, which tells times, by path."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != LOG]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
