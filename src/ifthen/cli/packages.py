"""Environments in packages of one's own: `package:Id-v0`, and what a model of one needs to be played again.

Naming one imports its package. Only what the user types does that: a model or the folder of a run keeps the
environment's id alone, and nothing in it is ever imported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ifthen.errors import IfthenError, ParameterError, TaskError

if TYPE_CHECKING:
    from ifthen.tasks.env_task import EnvTask
    from ifthen.tasks.tabular import TabularTask

PACKAGED = re.compile(r"[A-Za-z_][\w.]*:[\w./-]+")


def typed_task(name: str) -> TabularTask | EnvTask:
    """Return the task that a user named; its package may lie in the current folder."""
    from ifthen.tasks.names import task_by_name

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


def kept_task(own: Any, wanted: TabularTask | EnvTask | None, typed: str | None, path: Path) -> Any:
    """Return the task to play a model on: its own with all its settings, unless another one is wanted.

    Args:
        own: the model's own.
        wanted: what --task names.
        typed: how it names it; a package that registers the model's own environment was only to be imported.
        path: the model, to say what to type where its environment cannot be made.
    """
    import gymnasium

    from ifthen.tasks.env_task import EnvTask

    if not isinstance(own, EnvTask) or not own.environment or own.factory is not None:
        return own if wanted is None else wanted
    if wanted is None:
        known = own.environment in gymnasium.registry
        return own if known else replace(own, factory=_refusal(own.environment, path))
    same = isinstance(wanted, EnvTask) and wanted.environment == own.environment
    if not (same and packaged(typed)):
        return wanted
    return replace(own, factory=_factory(own))


def _factory(task: EnvTask) -> Callable[..., Any] | None:
    """Return what makes a task's environment, with its options, in other processes too."""
    from ifthen.tasks.making import made_from

    made, _, _, factory = made_from(task.environment, task.options)
    made.close()
    return factory


def _refusal(environment: str, path: Path) -> Callable[..., Any]:
    """Return what stands for an environment that no package registers here: it says what to type."""
    name = typed_name(environment, path)

    def refuse(**_: Any) -> Any:
        raise TaskError(f"nothing registers it here. Name the package that does: give --task {name}")

    return refuse


def typed_name(environment: str, path: Path) -> str:
    """Return an environment as it was named when a run began; "PACKAGE:Id-v0" where that is not known."""
    from ifthen.study.run_folder import SETTINGS
    from ifthen.study.settings import read_settings

    try:
        said = packaged(read_settings((path if path.is_dir() else path.parent) / SETTINGS).get("task"))
    except IfthenError:
        said = ""
    return said if said.endswith(f":{environment}") else f"PACKAGE:{environment}"
