"""What the report of a run tells of an environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ifthen.digits import in_units
from ifthen.rollout.score import Score, score
from ifthen.systems.base import System
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.twins import twin_of

UNSEEN = 100
SOURCES = {
    "given": "given by you",
    "known": "known for this environment",
    "declared": "declared by the environment",
    "probed": "probed: met by random play",
}


def sources_of(task: EnvTask) -> tuple[str, ...]:
    """Return where the range of each feature comes from: "given", "known", "declared", "probed", or ""."""
    told = tuple(str(task.origin.get("ranges", "")).split())
    fits = len(told) == len(task.features) and all(source in SOURCES for source in told)
    return told if fits else ("",) * len(task.features)


def player_of(task: EnvTask) -> str:
    """Return what plays a task's episodes, in words."""
    if task.player in ("auto", "twin") and twin_of(task) is not None:
        return "a compiled twin of the environment, equal to it step by step"
    return "the environment itself, many episodes side by side"


def about_environment(system: System) -> dict[str, Any]:
    """Return what the report tells of an environment, by name."""
    task, ruleset = system.task, system.ruleset
    sources = [SOURCES.get(source, "not known") for source in sources_of(task)]
    return {
        "on_z": score(ruleset, task, threads=system.threads),
        "unseen": score(ruleset, task, task.unseen(UNSEEN), system.threads),
        "features": list(zip(task.features, sources, strict=True)),
        "measures": MEASURES,
        "player": player_of(task),
        "in_units": in_units,
    }


def _deviation(own: Score) -> str:
    return in_units(own.deviation) if own.deviation == own.deviation else "–"  # NaN for a single episode


MEASURES: dict[str, Callable[[Score], str]] = {
    "mean return": lambda own: in_units(float(own.returns.mean())),
    "standard deviation": _deviation,
    "least": lambda own: in_units(own.least),
    "most": lambda own: in_units(own.most),
    "episodes": lambda own: f"{own.episodes:,}",
    "steps": lambda own: f"{own.steps:,}",
    "truncated": lambda own: f"{own.truncated_share:.1%}",
    "met a state with no rule": lambda own: f"{own.failed_share:.1%}",
}
"""How a score is shown: what, and how it is written."""
