"""What files of rules call a task."""

from __future__ import annotations

from ifthen.environments.make import task_by_name
from ifthen.errors import TaskError
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.task import Task

SETTINGS = ("environment", "options", "gamma", "t_max", "floor", "default_action", "features", "action_names")
"""What makes the task of an environment another one: rules are worth something else there."""


def written_name(task: Task) -> str:
    """Return what files of rules call a task: its name, unless that would make another task.

    Such files hold no settings. An environment with settings of its own often still has the environment's id
    for its name; what is written then says so, and is no name, so that readers ask for the task.
    """
    if not isinstance(task, EnvTask) or ":" in task.name:  # see `ifthen.cli.model`
        return task.name
    try:
        default_task = task_by_name(task.name)
    except TaskError:
        return task.name
    differing = [name for name in SETTINGS if getattr(task, name) != getattr(default_task, name, None)]
    return f"{task.name} with other {', '.join(differing)}" if differing else task.name
