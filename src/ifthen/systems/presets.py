"""Parameters that suit tasks which are environments; for tabular tasks they are the paper's.

Conditions on several real features need room to be general, so many bounds are put at the edges of ranges.
Rules are few and tuned to each other: most children are mutated copies of one parent, the fittest ruleset is
kept, and the worse half of a generation drops out of its episodes early.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ifthen.environments.registry import presets_of
from ifthen.errors import ParameterError
from ifthen.evolve.mirror import mirror_of
from ifthen.tasks.gym_task import EnvTask

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
}
"""For all environments, by system. Those for one environment stand in its file of `ifthen.environments`."""


def preset(
    system: str, task: Any, given: Mapping[str, Any] | None = None, starts: bool = False
) -> dict[str, Any]:
    """Return the parameters that suit a task, where the user gives no others.

    Args:
        system: the system's name.
        task: the task.
        given: the user's parameters: what would not go together with them is left out.
        starts: whether the user gives rules to start from.
    """
    if not isinstance(task, EnvTask):
        return {}
    own, given = presets_of(system, task.environment), given or {}
    if starts or task.default_action is not None:
        own.pop("otherwise", None)
    if starts or not _mirrors(own.get("mirror", ""), task, given.get("idv_size")):
        own.pop("mirror", None)
    other = bool(task.options.keys() - {"max_episode_steps"})  # the stand-in has no options
    if starts or other or given.get("stand_in") == "":
        own = {name: value for name, value in own.items() if name not in ("stand_in", "rehearsal")}
    return {**ANY.get(system, {}), **own}


def _mirrors(mirror: str, task: EnvTask, idv_size: Any) -> bool:
    """Return whether a mirror fits a task, whose features may have other names or ranges, and pairs fit."""
    try:
        mirror_of(mirror, task.features, task.action_names)
    except ParameterError:
        return False
    return not (isinstance(idv_size, int) and idv_size % 2)
