"""Parameters that suit a task, which are not those of the paper: what would be used, and what differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ifthen.systems.base import System


def values_for(system: type[System], task: Any) -> dict[str, str]:
    """Return the parameters that a system would have on a task; a * marks what is not the default."""
    from ifthen.study.settings import toml_value

    used = system(task).parameters.model_dump()
    return {
        name: "none" if used[name] is None else toml_value(used[name]) + "*" * (used[name] != default)
        for name, default, _ in system.list_parameters()
    }


def suited_parameters(learner: System, given: Mapping[str, Any]) -> str:
    """Return the parameters that differ from the defaults because the task is an environment; "" for none.

    Args:
        learner: the system.
        given: parameters that the user gave.
    """
    from ifthen.study.settings import toml_value
    from ifthen.tasks.env_task import EnvTask

    if not isinstance(learner.task, EnvTask):
        return ""
    used = learner.parameters.model_dump()
    return ", ".join(
        f"{name}={toml_value(used[name])}"
        for name, default, _ in learner.list_parameters()
        if name not in given and used[name] != default
    )
