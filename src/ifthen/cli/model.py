"""The argument MODEL and its options: rules in a model file, in the folder of a run, or in a text file."""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ifthen.cli.task_names import CannotMake, chosen_task, kept_task, typed_options
from ifthen.cli.terminal import err
from ifthen.digits import plural
from ifthen.errors import ModelFileError, ParameterError, TaskError

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet
    from ifthen.systems.front import Front, Point
    from ifthen.systems.system import System
    from ifthen.tasks.task import Noise, Task


Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="The folder of a finished run (its pruned rules, where it has any), a model file, rules in a "
        ".json, .txt or .md file, a .py, .c or .dmn file that ifthen export wrote, or policy.py:function, an "
        "if/else function of your own, which is read and never run.",
    ),
]
Packages = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        metavar="TASK",
        help="package:Id-v0, where a task is an environment in a package of your own: files never have one "
        "imported. May be repeated.",
    ),
]
TaskName = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        metavar="TASK",
        help="The task, where MODEL does not say it or another one is meant: a name, or a run's folder. Of "
        "your own: package:Id-v0, or module:Class of a file (FOLDER/module:Class), with the settings of "
        "MODEL, or of a run's folder given besides.",
        show_default=False,
    ),
]
TaskChanges = Annotated[
    list[str] | None,
    typer.Option(
        "--task-set",
        metavar="NAME=VALUE",
        help="Change a setting of the task, such as t_max=5000; may be repeated.",
        show_default=False,
    ),
]
MostRules = Annotated[
    int | None,
    typer.Option(
        "--rules",
        help="Of a PPL-X model, take the best list with at most this many rules.",
        show_default=False,
    ),
]
MostTests = Annotated[
    int | None,
    typer.Option(
        "--tests",
        help="Of a PPL-X model, take the best list with at most this many comparisons (x ≤ 3 is one).",
        show_default=False,
    ),
]
Threads = Annotated[
    int | None, typer.Option(help="Threads to use; all cores by default. Results do not depend on it.")
]
RequireFile = Annotated[
    Path | None,
    typer.Option(
        "--require-file",
        metavar="FILE",
        help="Requirements in a file, one per line; what follows a # is a comment.",
        show_default=False,
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the system; may be repeated."),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="REQUIREMENT",
        help="What must hold, as 'ifthen verify' takes it; may be repeated. What is about rules, such as "
        "'never heat when room >= 24', is kept by rules on top of the list. The rest is checked at the "
        "end.",
    ),
]
Episodes = Annotated[
    int | None,
    typer.Option(
        "--episodes",
        min=2,
        max=100_000,
        help="In an environment, how many test seeds to play.  [default: 100]",
        show_default=False,
    ),
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
    learner: System | None = None
    """The system that has learnt the rules, where MODEL holds one."""

    @property
    def played(self) -> bool:
        """Whether the task is known and something here makes its environment."""
        return self.task is not None and not isinstance(getattr(self.task, "factory", None), CannotMake)

    def check_played(self) -> None:
        """Raise where the task is known, but its code must be named before anything is played."""
        factory = getattr(self.task, "factory", None)
        if isinstance(factory, CannotMake):
            factory()

    @property
    def front(self) -> Front | None:
        """The front that a system has found, with rules that fit the task; None where it looks for none."""
        from ifthen.environments.rebind import fitted

        front = None if self.learner is None else self.learner.front
        if front is None or self.task is None:
            return front
        points = (replace(point, ruleset=fitted(self.task, point.ruleset)[1]) for point in front.points)
        return replace(front, points=tuple(points))

    @property
    def chosen(self) -> Callable[[Front], Point] | None:
        """What takes one policy of a front as the system's parameters say; None where it has no front."""
        return getattr(self.learner, "chosen", None)

    def known_task(self) -> Task:
        """Return the task, or raise saying how to give it."""
        if self.task is None:
            raise ParameterError(
                f"{self.name} does not say which task its rules are for: give --task, such as "
                "--task FrozenLake-8-0.3 ('ifthen tasks' lists them)."
            )
        return self.task


class NamedPolicy(NamedTuple):
    """A policy as users name it: MODEL, with what --rules, --tests, --task and --task-set say."""

    path: Path
    rules: int | None = None
    tests: int | None = None
    task: list[str] | None = None
    changes: list[str] | None = None

    def read(self, pruned: bool = True) -> Policy:
        """Return the policy; see `read_policy`."""
        return read_policy(self.path, self.task, self.changes, pruned, self.rules, self.tests)

    def __str__(self) -> str:
        """Return how other commands name it, quoted for a shell; without --rules and --tests."""
        return shlex.quote(str(self.path)) + typed_options(self.task, self.changes)


def of_policy(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with MODEL and its options on the command line in place of the first parameter."""

    def run(
        model: Model,
        rules: MostRules = None,
        tests: MostTests = None,
        task: TaskName = None,
        task_assignments: TaskChanges = None,
        **options: Any,
    ) -> None:
        command(NamedPolicy(model, rules, tests, task, task_assignments), **options)

    _, *own_parameters = inspect.signature(command, eval_str=True).parameters.values()
    model_parameter, *shared, _ = inspect.signature(run, eval_str=True).parameters.values()
    parameters = [model_parameter, *own_parameters, *shared]
    functools.update_wrapper(run, command)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # which typer reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def read_policy(
    path: Path,
    task: list[str] | None = None,
    changes: list[str] | None = None,
    pruned: bool = True,
    rules: int | None = None,
    tests: int | None = None,
) -> Policy:
    """Return the rules in a model, a run's folder or a file of rules, with their task where it is known.

    Args:
        path: the file or folder.
        task: what --task names.
        changes: what --task-set changes in the task.
        pruned: whether a run's pruned rules are wanted, where it has any, rather than those as learnt.
        rules: the most rules of the list that is taken from the front of a model; None to take its ruleset.
        tests: the most comparisons of that list.
    """
    from ifthen.environments.rebind import fitted
    from ifthen.explanation.read_ruleset import is_rules_file, read_ruleset
    from ifthen.runs.run_folder import FILES, MODEL, PRUNED_RULESET
    from ifthen.runs.settings import changed_task, parse_assignments
    from ifthen.simulate.simulator import checked_ruleset
    from ifthen.systems.model_file import read

    parsed_changes = parse_assignments(changes, "--task-set")
    chosen = chosen_task(task)
    point = None if rules is None and tests is None else front_of(path).at(rules, tests)
    if is_rules_file(path):
        model_file = path.parent / MODEL
        if not chosen.of_run and path.name in FILES and model_file.exists():  # a run's rules: it has the task
            chosen = chosen._replace(task=kept_task(read(model_file).task, chosen, path.parent))
        if parsed_changes and chosen.task is not None:  # first, as rules may use names that it gives
            chosen = chosen._replace(task=changed_task(chosen.task, parsed_changes, chosen.package))
            parsed_changes = {}
        ruleset, task_name = read_ruleset(path, chosen.task)
        policy = Policy(str(path), path.name, ruleset, chosen.task or _named_task(task_name, path))
    else:
        learner = load_model(path)
        name, title, ruleset = f"{learner.name} in {path}", learner.name, learner.ruleset
        if point is not None:
            title, ruleset = f"{title}, the list of {plural(point.rules, 'rule')},", point.ruleset
        elif pruned and (path / PRUNED_RULESET).exists():
            title, ruleset = f"{title}, pruned,", read_ruleset(path / PRUNED_RULESET)[0]
        policy_task = chosen.task if chosen.of_run else kept_task(learner.task, chosen, path)
        policy = Policy(name, title, ruleset, policy_task, learner.parameters.noise, learner)
    if parsed_changes:
        policy = policy._replace(task=changed_task(policy.known_task(), parsed_changes, chosen.package))
    if policy.task is not None:
        bound_task, bound_rules = fitted(policy.task, policy.ruleset)
        checked_ruleset(bound_rules, bound_task)
        policy = policy._replace(task=bound_task, ruleset=bound_rules)
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
        err.print(
            f"({path} is for {name!r}, which is no known task, so nothing is played. Name the environment "
            "with --task: module:Class, or a run's folder)"
        )
        return None


def load_model(path: Path) -> System:
    """Return the system in a model file, or in the folder of a finished run."""
    from ifthen.runs.run_folder import CHECKPOINT, MODEL
    from ifthen.systems.registry import load

    if path.is_dir() and (path / CHECKPOINT).exists() and not (path / MODEL).exists():
        raise ModelFileError(
            f"the run in {path} is not finished: 'ifthen resume {path}' goes on with it, and "
            f"{path / CHECKPOINT} is its last checkpoint."
        )
    return load(path / MODEL if path.is_dir() else path)


def front_of(path: Path) -> Front:
    """Return the front of a model, or raise where there is none."""
    from ifthen.explanation.read_ruleset import is_rules_file

    front = None if is_rules_file(path) else load_model(path).front
    if front is None:
        raise ParameterError(
            f"{path} holds one ruleset. --front, --rules and --tests choose from several: give the run or "
            f"model of a PPL-X. 'ifthen front {path}' shortens other rules, and 'ifthen prune {path} "
            "--rules N' takes one of these."
        )
    return front


def required(requirements: list[str] | None, file: Path | None) -> list[str]:
    """Return the requirements of --require and --require-file, one by one."""
    from ifthen.rules.text.constraint_text import requirements_in
    from ifthen.verification.requirements import read_requirements

    if requirements is not None and not all(requirement.strip(" ,") for requirement in requirements):
        raise ParameterError("--require is empty: name what must hold, such as --require complete.")
    in_file = [] if file is None else read_requirements(file)
    if file is not None and not in_file:
        raise ParameterError(f"{file} requires nothing: write one requirement per line, such as complete.")
    return requirements_in(requirements) + in_file


def all_required(
    model: Path, requirements: list[str] | None, file: Path | None
) -> tuple[list[str], Path | None]:
    """Return what to check, each once, and the file beside the model that some of it is from, if any is.

    Mistakes in what was typed are found before any model is read.
    """
    from ifthen.verification.properties import parse
    from ifthen.verification.requirements import plain_ones, read_requirements

    demands = required(requirements, file)
    parse(plain_ones(demands))
    run_file = requirements_beside(model) if file is None else None
    demands += [] if run_file is None else read_requirements(run_file)
    return list(dict.fromkeys(demands)), run_file


def requirements_beside(path: Path) -> Path | None:
    """Return the requirements of the run that a path is the folder or a file of; None where it has none."""
    from ifthen.runs.run_folder import FILES, REQUIREMENTS

    folder = path if path.is_dir() else path.parent if path.name in FILES else None
    candidate = None if folder is None else folder / REQUIREMENTS
    return candidate if candidate is not None and candidate.exists() else None


def kept_requirements(path: Path) -> list[str]:
    """Return the requirements about rules of the run that a path is the folder or a file of."""
    from ifthen.rules.text.constraint_text import is_about_rules
    from ifthen.verification.requirements import read_requirements

    run_file = requirements_beside(path)
    return [] if run_file is None else list(filter(is_about_rules, read_requirements(run_file)))


def check_rules_file(path: Path | None) -> None:
    """Raise unless rules can be written to a file of this name."""
    if path is not None and path.suffix.lower() not in (".json", ".txt"):
        raise ParameterError(f"--out writes .json or .txt, not {path.name}.")
