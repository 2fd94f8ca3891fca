"""Tasks as users name them: a name, a run's folder, `package:Id-v0`, `module:Class` or `FOLDER/module:Class`.

Naming an environment in a package of one's own imports the package. Only a name that the user types does
that: a model or the folder of a run keeps the environment's id alone, and nothing in it is ever imported.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ifthen.errors import IfthenError, ParameterError, TaskError

if TYPE_CHECKING:
    from ifthen.tasks.task import Task


def located(name: str) -> str:
    """Return `module:Class` for a path such as ../tank:Tank or tank.py:Tank; other names as they are.

    The folder of the module is put on the path of imports, last.
    """
    module_path, colon, attribute = name.rpartition(":")
    file = Path(module_path)
    if not colon or not module_path or Path(name).exists():
        return name
    if file.suffix != ".py":
        if "/" not in module_path and os.sep not in module_path:
            return name
        file = file.with_name(file.name + ".py")
    if not file.is_file():
        raise ParameterError(
            f"there is no file {file} for {name}: give module:Class, or FOLDER/module:Class."
        )
    folder, module = str(file.parent.resolve()), file.stem
    if folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.find_spec(module) if module.isidentifier() else None
    if spec is None or spec.origin is None or Path(spec.origin).resolve() != file.resolve():
        reason = f"{spec.origin} has the same name" if spec else f"{module!r} is no name of a module"
        raise ParameterError(f"{file} cannot be imported: {reason}. Rename the file.")
    return f"{module}:{attribute}"


def typed_task(name: str) -> Task:
    """Return the task that a user named; its package may lie in the current folder."""
    from ifthen.environments.make import task_by_name

    name = located(name)
    allow_cwd_imports(name)
    return task_by_name(name)


def allow_cwd_imports(task: object) -> None:
    """Put the current folder on the path of imports where a user names a task as `package:Id-v0`.

    Python does so by itself, but not for commands. The folder comes last: nothing in it can hide a package.
    """
    cwd = str(Path.cwd())
    if packaged(task) and cwd not in sys.path:
        sys.path.append(cwd)


def packaged(task: Any) -> str:
    """Return the `package:Id-v0` that a task is named by, in a text, a table or settings; "" for others."""
    from ifthen.environments.make import IN_MODULE

    if isinstance(task, dict):
        task = task.get("environment")
    name = getattr(task, "environment", task)
    return name if isinstance(name, str) and IN_MODULE.fullmatch(name) else ""


def task_option(task: object) -> str:
    """Return " --task package:Id-v0" where commands need it to play a task again; "" where they do not."""
    name = packaged(task)
    return f" --task {name}" if name else ""


def typed_options(names: list[str] | None, changes: list[str] | None) -> str:
    """Return --task and --task-set as they were typed, quoted for a shell, to name a policy with them."""
    typed = {"--task": names or [], "--task-set": changes or []}
    return "".join(f" {option} {shlex.quote(text)}" for option, texts in typed.items() for text in texts)


def check_typed(typed: Sequence[str], texts: Collection[str]) -> None:
    """Raise where a user names a package that a run or study has nothing to do with."""
    for name in typed:
        if name not in texts:
            known_options = [f"--task {text}" for text in texts if ":" in text]
            needed = " ".join(known_options) or "no --task"
            raise ParameterError(f"what was begun goes on with its own tasks: give {needed}, not {name!r}.")


class ChosenTask(NamedTuple):
    """The task that --task names, if any; the name in a package that was typed; whether a run gave it."""

    task: Task | None = None
    package: str = ""
    of_run: bool = False


def chosen_task(names: list[str] | None) -> ChosenTask:
    """Return the task that --task names: by its name, by a run's folder or model, or by both."""
    from ifthen.systems.model_file import read

    names = [located(name) for name in names or []]
    stored = {name: file for name in names if (file := stored_at(name)) is not None}
    typed = [name for name in names if name not in stored]
    if len(stored) > 1 or len(typed) > 1 or (stored and typed and not packaged(typed[0])):
        raise ParameterError(
            "--task takes one task: a name, or a run's folder. Only the folder of a run in a package of your "
            "own goes together with a name, package:Id-v0."
        )
    typed_choice = ChosenTask(typed_task(typed[0]), packaged(typed[0])) if typed else ChosenTask()
    for path, file in stored.items():
        return ChosenTask(
            kept_task(read(file).task, typed_choice, Path(path), " too"), typed_choice.package, True
        )
    return typed_choice


def stored_at(name: str) -> Path | None:
    """Return the model file of a path to a run's folder or to a model; None for names of tasks."""
    from ifthen.environments.known_environments import known_names
    from ifthen.runs.run_folder import CHECKPOINT, MODEL

    path = Path(name)
    if packaged(name) or name in known_names() or not path.exists():
        return None
    if not path.is_dir():
        return path
    candidates = [path / file for file in (MODEL, CHECKPOINT) if (path / file).exists()]
    if not candidates:
        raise ParameterError(f"--task {name} is a folder without a run: give the folder of a run.")
    return candidates[0]


def kept_task(model_task: Task, chosen: ChosenTask, path: Path, suffix: str = "") -> Task:
    """Return the task to play a model on: its own with all its settings, unless another one is wanted.

    Where --task names the model's own environment in a package, the package was to be imported and the
    settings stay. If nothing makes the environment here, playing says what to type.

    Args:
        model_task: the model's own.
        chosen: the task that --task names.
        path: the model, to say what to type.
        suffix: " too" if --task was given already.
    """
    from ifthen.environments.rebind import renewed
    from ifthen.tasks.imports import could_import

    if chosen.task is not None:
        same_environment = model_task.origin.get("environment") == chosen.task.origin.get("environment")
        if same_environment and (option := could_import(getattr(model_task, "options", {}).values())):
            raise TaskError(
                f"the option {option!r} of the task in {path} could import a package, and files import "
                "none. Give the environment in Python: ifthen.load(path, env=…)."
            )
        return renewed(model_task, chosen.package) if same_environment and chosen.package else chosen.task
    if model_task.can_be_played:
        return model_task
    name = _original_name(path)
    if not name.endswith(f":{model_task.environment}") and model_task.environment:
        name = f"PACKAGE:{model_task.environment}"
    return model_task.replaced(factory=CannotMake(f"give --task {name or 'MODULE:CLASS'}{suffix}"))


class CannotMake:
    """In place of what makes an environment, where nothing here does: says what to type."""

    def __init__(self, advice: str) -> None:
        self.advice = advice

    def __call__(self, **_: Any) -> Any:
        """Raise."""
        raise TaskError(f"opening a run never imports your code. To play, {self.advice}")


def _original_name(path: Path) -> str:
    """Return the `package:Id-v0` that the run of a model or folder began with; "" where it is not known."""
    from ifthen.runs.run_folder import SETTINGS
    from ifthen.runs.settings import read_settings

    try:
        return packaged(read_settings((path if path.is_dir() else path.parent) / SETTINGS).get("task"))
    except IfthenError:
        return ""
