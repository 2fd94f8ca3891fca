"""Environments in packages of one's own: `package:Id-v0`, and how a model of one is played again.

Naming one imports its package. Only a name that the user types does that: a model or the folder of a run
keeps the environment's id alone, and nothing in it is ever imported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ifthen.errors import IfthenError, ParameterError, TaskError

if TYPE_CHECKING:
    from ifthen.tasks.task import Task

PACKAGED = re.compile(r"[A-Za-z_][\w.]*:[\w./-]+")


def typed_task(name: str) -> Task:
    """Return the task that a user named; its package may lie in the current folder."""
    from ifthen.environments.make import task_by_name

    reach(name)
    return task_by_name(name)


def reach(task: Any) -> None:
    """Put the current folder on the path of imports where a task is named as `package:Id-v0`.

    Python does so by itself, but not for commands. The folder comes last: nothing in it can hide a package.

    Args:
        task: a name or a table of settings, as a user gave it.
    """
    here = str(Path.cwd())
    if packaged(task) and here not in sys.path:
        sys.path.append(here)


def packaged(task: Any) -> str:
    """Return the `package:Id-v0` that a task is named by, in a text, a table or settings; "" for others."""
    if isinstance(task, dict):
        task = task.get("environment")
    name = getattr(task, "environment", task)
    return name if isinstance(name, str) and PACKAGED.fullmatch(name) else ""


def task_option(task: Any) -> str:
    """Return " --task package:Id-v0" where commands need it to play a task again; "" where they do not."""
    name = packaged(task)
    return f" --task {name}" if name else ""


def allow_package(task: Any, typed: str | None) -> None:
    """Raise where a run's environment is in a package that the user does not name, and put it in reach.

    Args:
        task: what the run's settings say.
        typed: what the user named, if anything.
    """
    import gymnasium

    name = packaged(task)
    if typed is not None and typed != name:
        needs = f"--task {name}" if name else "no --task"
        raise ParameterError(f"a run goes on with the task that it began with: give {needs}, not {typed!r}.")
    if name and typed is None and name.rpartition(":")[2] not in gymnasium.registry:
        raise TaskError(
            f"the run is one of {name}, and a folder cannot have a package imported: give --task {name}"
        )
    reach(typed)


def kept_task(own: Task, wanted: Task | None, typed: str | None, path: Path) -> Task:
    """Return the task to play a model on: its own with all its settings, unless another one is wanted.

    Args:
        own: the model's own.
        wanted: the task that --task names.
        typed: how it is named. Where it names the model's own environment in a package, the package was to be
            imported and the settings stay.
        path: the model, to say what to type where its environment cannot be made.
    """
    import gymnasium

    if not own.environment or getattr(own, "factory", None) is not None:
        return own if wanted is None else wanted
    if wanted is None:
        known = own.environment in gymnasium.registry
        return own if known else own.replaced(factory=_refusal(own.environment, path))
    if wanted.environment != own.environment or not packaged(typed):
        return wanted
    return own.replaced(factory=_factory(own))


def _factory(task: Task) -> Callable[..., Any] | None:
    """Return the function that makes a task's environment with its options, in other processes too."""
    from ifthen.environments.copies import source_of

    source = source_of(task.environment, getattr(task, "options", {}))
    source.made.close()
    return source.factory


def _refusal(environment: str, path: Path) -> Callable[..., Any]:
    """Return a function in place of an environment that no package registers here: it says what to type."""
    name = typed_name(environment, path)

    def refuse(**_: Any) -> Any:
        raise TaskError(f"nothing registers it here. Name the package that does: give --task {name}")

    return refuse


def typed_name(environment: str, path: Path) -> str:
    """Return an environment as it was named when a run began; "PACKAGE:Id-v0" where that is not known."""
    from ifthen.runs.folder import SETTINGS
    from ifthen.runs.settings import read_settings

    try:
        said = packaged(read_settings((path if path.is_dir() else path.parent) / SETTINGS).get("task"))
    except IfthenError:
        said = ""
    return said if said.endswith(f":{environment}") else f"PACKAGE:{environment}"
