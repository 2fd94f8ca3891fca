"""How the argument MODEL is read: a model file, the folder of a run, or a file of rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ifthen.cli.packages import kept_task, typed_task
from ifthen.cli.terminal import err
from ifthen.errors import ModelFileError, ParameterError, TaskError

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet
    from ifthen.systems.system import System
    from ifthen.tasks.task import Noise, Task

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
