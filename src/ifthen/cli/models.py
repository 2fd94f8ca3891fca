"""What commands are given to work on: model files, folders of runs, rulesets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ifthen.cli.packages import kept_task, typed_task
from ifthen.cli.terminal import err
from ifthen.errors import ModelFileError, ParameterError, TaskError

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet
    from ifthen.systems.base import System
    from ifthen.tasks.env_task import EnvTask
    from ifthen.tasks.tabular import TabularTask

PolicyPath = Annotated[
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
        "of one's own environment, and a model of it keeps its settings.",
    ),
]
Threads = Annotated[
    int | None, typer.Option(help="Threads to use; all cores by default. Results do not depend on it.")
]


class Policy(NamedTuple):
    """Rules to read, under a name that tells them from others, and their task where it is known."""

    name: str
    title: str
    ruleset: RuleSet
    task: TabularTask | EnvTask | None
    noise: str = "aligned"
    """How z used its random numbers when it was trained."""

    def known_task(self) -> TabularTask | EnvTask:
        """Return the task, or raise saying how to give it."""
        if self.task is None:
            raise ParameterError(
                f"{self.name} does not say which task its rules are for: give --task, such as "
                "--task FrozenLake-8-0.3 ('ifthen tasks' lists them)."
            )
        return self.task

    def table_task(self, what: str) -> TabularTask:
        """Return the task where it has a table of states, or raise saying what needs one."""
        from ifthen.explain.domain import tabular

        return tabular(self.known_task(), what)


def read_policy(path: Path, task: str | None = None) -> Policy:
    """Return the rules in a model, a run's folder or a file of rules, with their task where it is known."""
    from ifthen.explain.domain import table_of
    from ifthen.explain.read import read_ruleset
    from ifthen.explain.read.files import SUFFIXES

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
        table_of(policy.ruleset, policy.task)  # raises where the rules are about something else
    return policy


def _named_task(name: str | None, path: Path) -> TabularTask | EnvTask | None:
    """Return the task that a file of rules names; None where it names none, or one that no name makes.

    A file must not have packages imported: an environment in one's own package is named by --task.
    """
    from ifthen.tasks.names import task_by_name

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
    from ifthen.study.run_folder import CHECKPOINT, MODEL
    from ifthen.systems.registry import load

    if path.is_dir() and (path / CHECKPOINT).exists() and not (path / MODEL).exists():
        raise ModelFileError(
            f"the run in {path} is not finished: 'ifthen resume {path}' goes on with it, and "
            f"{path / CHECKPOINT} is where it stands."
        )
    return load(path / MODEL if path.is_dir() else path)
