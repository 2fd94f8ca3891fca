"""Parameters that suit tasks which are environments; for tabular tasks they are the paper's.

Conditions on several real features need room to be general, so many bounds are put at the edges of ranges.
Rules are few and tuned to each other: most children are mutated copies of one parent, the fittest ruleset is
kept, and the worse half of a generation drops out of its episodes early.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ifthen.environments.known_environments import presets_of
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.task import Task

PITTSBURGH = {
    "p_any": 0.5,
    "p_mut": 0.1,
    "p_cross": 0.1,
    "sigma": 0.2,
    "elites": 1,
    "pop_size": 200,
    "racing": True,
}
ANY: Mapping[str, Mapping[str, Any]] = {
    "PPL-DL": PITTSBURGH,
    "PPL-ST": PITTSBURGH,
    "XCSF": {"epsilon": 0.1, "truncation": "bootstrap"},
    "XCS": {"epsilon": 0.1, "truncation": "bootstrap"},
    "ZCS": {"problems_per_epoch": 250},
}
"""The presets for all environments, by system. Those for one environment are in its own file."""


def preset(system: str, task: Task) -> dict[str, Any]:
    """Return the parameters of a system that suit a task, where the user gives no others."""
    if not isinstance(task, EnvTask):
        return {}
    return {**ANY.get(system, {}), **presets_of(system, task.environment)}
