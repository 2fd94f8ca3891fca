"""How the argument MODEL is read: a model file, the folder of a run, or a file of rules; and its task.

Naming an environment in a package of one's own, `package:Id-v0`, imports the package. Only a name that the
user types does that: a model or the folder of a run keeps the environment's id alone, and nothing in it is
ever imported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ifthen.cli.terminal import err
from ifthen.errors import IfthenError, ModelFileError, ParameterError, TaskError

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet
    from ifthen.systems.system import System
    from ifthen.tasks.task import Noise, Task

PACKAGED = re.compile(r"[A-Za-z_][\w.]*:[\w./-]+")


def typed_task(name: str) -> Task:
    """Return the task that a user named; its package may lie in the current folder."""
    from ifthen.environments.make import task_by_name

    reach(name)
    return task_by_name(name)


def reach(task: Any) -> None:
    """Put the current folder on the path of imports where a user names a task as `package:Id-v0`.

    Python does so by itself, but not for commands. The folder comes last: nothing in it can hide a package.
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
    """Raise where a run's environment is in a package that the user has not typed, and put it in reach."""
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

    from ifthen.environments.copies import source_of

    if not own.environment or getattr(own, "factory", None) is not None:
        return own if wanted is None else wanted
    if wanted is None:
        known = own.environment in gymnasium.registry
        return own if known else own.replaced(factory=_refusal(own.environment, path))
    if wanted.environment != own.environment or not packaged(typed):
        return wanted
    source = source_of(own.environment, getattr(own, "options", {}))
    source.made.close()
    return own.replaced(factory=source.factory)  # which other processes can call, too


def _refusal(environment: str, path: Path) -> Callable[..., Any]:
    """Return a function in place of an environment that no package registers here: it says what to type.

    That is the name that the run began with, or "PACKAGE:Id-v0" where it is not known.
    """
    from ifthen.runs.folder import SETTINGS
    from ifthen.runs.settings import read_settings

    try:
        said = packaged(read_settings((path if path.is_dir() else path.parent) / SETTINGS).get("task"))
    except IfthenError:
        said = ""
    name = said if said.endswith(f":{environment}") else f"PACKAGE:{environment}"

    def refuse(**_: Any) -> Any:
        raise TaskError(f"nothing registers it here. Name the package that does: give --task {name}")

    return refuse


Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="A model file, the folder of a finished run, or rules in a .json, .txt or .md file.",
    ),
]
TaskName = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="The task, where MODEL does not say or another one is meant; package:Id-v0 imports the package "
        "of an environment of your own, and a model of it keeps its settings.",
    ),
]
Threads = Annotated[
    int | None, typer.Option(help="Threads to use; all cores by default. Results do not depend on it.")
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Also write it as JSON to this file.")]


class Policy(NamedTuple):
    """Rules, a name that tells them from others, and their task where it is known."""

    name: str
    title: str
    ruleset: RuleSet
    task: Task | None
    noise: Noise = "aligned"
    """How training used the random numbers of a table."""

    def known_task(self) -> Task:
        """Return the task, or raise saying how to give it."""
        if self.task is None:
            raise ParameterError(
                f"{self.name} does not say which task its rules are for: give --task, such as "
                "--task FrozenLake-8-0.3 ('ifthen tasks' lists them)."
            )
        return self.task


def read_policy(path: Path, task: str | None = None) -> Policy:
    """Return the rules in a model, a run's folder or a file of rules, with their task where it is known."""
    from ifthen.explanation.read import SUFFIXES, read_ruleset
    from ifthen.simulate.simulator import checked_ruleset

    wanted = typed_task(task) if task else None
    if path.suffix.lower() in SUFFIXES and not path.is_dir():
        ruleset, written = read_ruleset(path, wanted)
        policy = Policy(str(path), path.name, ruleset, wanted or _named_task(written, path))
    else:
        learner = load_model(path)
        name = f"{learner.name} in {path}"
        played = kept_task(learner.task, wanted, task, path)
        policy = Policy(name, learner.name, learner.ruleset, played, learner.parameters.noise)
    if policy.task is not None:
        checked_ruleset(policy.ruleset, policy.task)
    return policy


def _named_task(name: str | None, path: Path) -> Task | None:
    """Return the task that a file of rules names; None where it names none, or one that no name makes.

    A file never imports a package: an environment in a package of one's own is named by --task.
    """
    from ifthen.environments.make import task_by_name

    if name is None:
        return None
    try:
        if ":" in name:
            raise TaskError("files import no packages")
        return task_by_name(name)
    except TaskError:
        err.print(f"(no name makes the task {name!r} that {path} is for: give the run's folder to have it)")
        return None


def load_model(path: Path) -> System:
    """Return the system in a model file, or in the folder of a finished run."""
    from ifthen.runs.folder import CHECKPOINT, MODEL
    from ifthen.systems.registry import load

    if path.is_dir() and (path / CHECKPOINT).exists() and not (path / MODEL).exists():
        raise ModelFileError(
            f"the run in {path} is not finished: 'ifthen resume {path}' goes on with it, and "
            f"{path / CHECKPOINT} is its last checkpoint."
        )
    return load(path / MODEL if path.is_dir() else path)


def check_rules_file(path: Path | None) -> None:
    """Raise unless rules can be written to a file of this name."""
    if path is not None and path.suffix.lower() not in (".json", ".txt"):
        raise ParameterError(f"--out writes .json or .txt, not {path.name}.")
