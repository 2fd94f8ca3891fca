"""How the argument MODEL is read: a model file, the folder of a run, or a file of rules; and its task.

Naming an environment in a package of one's own, `package:Id-v0`, imports the package. Only a name that the
user types does that: a model or the folder of a run keeps the environment's id alone, and nothing in it is
ever imported.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ifthen.cli.terminal import err
from ifthen.digits import plural
from ifthen.errors import IfthenError, ModelFileError, ParameterError, TaskError

if TYPE_CHECKING:
    from ifthen.rules.ruleset import RuleSet
    from ifthen.systems.front import Front
    from ifthen.systems.system import System
    from ifthen.tasks.task import Noise, Task


def located(name: str) -> str:
    """Return `module:Class` for a path such as ../tank:Tank or tank.py:Tank; other names as they are.

    The folder of the module is put on the path of imports, last.
    """
    place, colon, attribute = name.rpartition(":")
    file = Path(place)
    if not colon or not place or Path(name).exists():
        return name
    if file.suffix != ".py":
        if "/" not in place and os.sep not in place:
            return name
        file = file.with_name(file.name + ".py")
    if not file.is_file():
        raise ParameterError(
            f"there is no file {file} for {name}: give module:Class, or FOLDER/module:Class."
        )
    folder, module = str(file.parent.resolve()), file.stem
    if folder not in sys.path:
        sys.path.append(folder)
    found = importlib.util.find_spec(module) if module.isidentifier() else None
    if found is None or found.origin is None or Path(found.origin).resolve() != file.resolve():
        why = f"{found.origin} has the same name" if found else f"{module!r} is no name of a module"
        raise ParameterError(f"{file} cannot be imported: {why}. Rename the file.")
    return f"{module}:{attribute}"


def typed_task(name: str) -> Task:
    """Return the task that a user named; its package may lie in the current folder."""
    from ifthen.environments.make import task_by_name

    name = located(name)
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
    from ifthen.environments.make import IN_MODULE

    if isinstance(task, dict):
        task = task.get("environment")
    name = getattr(task, "environment", task)
    return name if isinstance(name, str) and IN_MODULE.fullmatch(name) else ""


def task_option(task: Any) -> str:
    """Return " --task package:Id-v0" where commands need it to play a task again; "" where they do not."""
    name = packaged(task)
    return f" --task {name}" if name else ""


def check_typed(typed: Sequence[str], texts: Collection[str]) -> None:
    """Raise where a user names a package that a run or study has nothing to do with."""
    for name in typed:
        if name not in texts:
            has = [f"--task {text}" for text in texts if ":" in text]
            needs = " ".join(has) or "no --task"
            raise ParameterError(f"what was begun goes on with its own tasks: give {needs}, not {name!r}.")


class Wanted(NamedTuple):
    """The task that --task names, if any; the name in a package that was typed; whether a run gave it."""

    task: Task | None = None
    package: str = ""
    of_run: bool = False


def wanted_task(names: list[str] | None) -> Wanted:
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
    named = Wanted(typed_task(typed[0]), packaged(typed[0])) if typed else Wanted()
    for path, file in stored.items():
        return Wanted(kept_task(read(file).task, named, Path(path), " too"), named.package, True)
    return named


def stored_at(name: str) -> Path | None:
    """Return the model file of a path to a run's folder or to a model; None for names of tasks."""
    from ifthen.environments.registry import known_names
    from ifthen.runs.folder import CHECKPOINT, MODEL

    path = Path(name)
    if packaged(name) or name in known_names() or not path.exists():
        return None
    if not path.is_dir():
        return path
    found = [path / file for file in (MODEL, CHECKPOINT) if (path / file).exists()]
    if not found:
        raise ParameterError(f"--task {name} is a folder without a run: give the folder of a run.")
    return found[0]


def kept_task(own: Task, wanted: Wanted, path: Path, also: str = "") -> Task:
    """Return the task to play a model on: its own with all its settings, unless another one is wanted.

    Where --task names the model's own environment in a package, the package was to be imported and the
    settings stay. If nothing makes the environment here, playing says what to type.

    Args:
        own: the model's own.
        wanted: the task that --task names.
        path: the model, to say what to type.
        also: " too" if --task was given already.
    """
    from ifthen.environments.rebind import renewed
    from ifthen.tasks.gym_task import could_import

    if wanted.task is not None:
        same = own.origin.get("environment") == wanted.task.origin.get("environment")
        if same and (text := could_import(getattr(own, "options", {}).values())):
            raise TaskError(
                f"the option {text!r} of the task in {path} could have a package imported, and files import "
                "none. Give the environment in Python: ifthen.load(path, env=…)."
            )
        return renewed(own, wanted.package) if same and wanted.package else wanted.task
    if own.can_be_played:
        return own
    name = _began_with(path)
    if not name.endswith(f":{own.environment}") and own.environment:
        name = f"PACKAGE:{own.environment}"

    return own.replaced(factory=_Nothing(f"give --task {name or 'MODULE:CLASS'}{also}"))


class _Nothing:
    """In place of what makes an environment, where nothing here does: says what to type."""

    def __init__(self, told: str) -> None:
        self.told = told

    def __call__(self, **_: Any) -> Any:
        raise TaskError(f"nothing makes it here. Name the module that does: {self.told}")


def _began_with(path: Path) -> str:
    """Return the `package:Id-v0` that the run of a model or folder began with; "" where it is not known."""
    from ifthen.runs.folder import SETTINGS
    from ifthen.runs.settings import read_settings

    try:
        return packaged(read_settings((path if path.is_dir() else path.parent) / SETTINGS).get("task"))
    except IfthenError:
        return ""


Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="The folder of a finished run (its pruned rules, where it has any), a model file, or rules in a "
        ".json, .txt or .md file.",
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
        help="The task, where MODEL does not say or another one is meant: a name, or a run's folder. "
        "package:Id-v0 imports the package of an environment of your own, module:Class or "
        "FOLDER/module:Class a class in a file; a model of it keeps its settings, and "
        "so does a run's folder that is given besides.",
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
JsonFile = Annotated[Path | None, typer.Option("--json", help="Also write it as JSON to this file.")]


class Policy(NamedTuple):
    """Rules, a name that tells them from others, and their task where it is known."""

    name: str
    title: str
    ruleset: RuleSet
    task: Task | None
    noise: Noise = "aligned"
    """How training used the random numbers of a table."""

    @property
    def played(self) -> bool:
        """Whether the task is known and something here makes its environment."""
        return self.task is not None and not isinstance(getattr(self.task, "factory", None), _Nothing)

    def known_task(self) -> Task:
        """Return the task, or raise saying how to give it."""
        if self.task is None:
            raise ParameterError(
                f"{self.name} does not say which task its rules are for: give --task, such as "
                "--task FrozenLake-8-0.3 ('ifthen tasks' lists them)."
            )
        return self.task


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
        tests: the most comparisons, likewise.
    """
    from ifthen.environments.rebind import fitted
    from ifthen.explanation.read import SUFFIXES, read_ruleset
    from ifthen.runs.folder import FILES, MODEL, PRUNED_RULESET
    from ifthen.runs.settings import changed_task, parse_assignment
    from ifthen.simulate.simulator import checked_ruleset
    from ifthen.systems.model_file import read

    new = dict(parse_assignment(text, "--task-set") for text in changes or [])
    wanted = wanted_task(task)
    point = None if rules is None and tests is None else front_of(path).at(rules, tests)
    if path.suffix.lower() in SUFFIXES and not path.is_dir():
        beside = path.parent / MODEL
        if not wanted.of_run and path.name in FILES and beside.exists():  # a run's rules: it has the task
            wanted = wanted._replace(task=kept_task(read(beside).task, wanted, path.parent))
        ruleset, written = read_ruleset(path, wanted.task)
        policy = Policy(str(path), path.name, ruleset, wanted.task or _named_task(written, path))
    else:
        learner = load_model(path)
        name, title, ruleset = f"{learner.name} in {path}", learner.name, learner.ruleset
        if point is not None:
            title, ruleset = f"{title}, the list of {plural(point.rules, 'rule')},", point.ruleset
        elif pruned and (path / PRUNED_RULESET).exists():
            title, ruleset = f"{title}, pruned,", read_ruleset(path / PRUNED_RULESET)[0]
        played = wanted.task if wanted.of_run else kept_task(learner.task, wanted, path)
        policy = Policy(name, title, ruleset, played, learner.parameters.noise)
    if new:
        policy = policy._replace(task=changed_task(policy.known_task(), new, wanted.package))
    if policy.task is not None:
        own, fitting = fitted(policy.task, policy.ruleset)
        checked_ruleset(fitting, own)
        policy = policy._replace(task=own, ruleset=fitting)
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
            f"({path} is for the task {name!r}, which no name makes, so nothing is played; --task says what "
            "makes it: module:Class, or a run's folder)"
        )
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


def front_of(path: Path) -> Front:
    """Return the front of a model, or raise where there is none."""
    from ifthen.explanation.read import SUFFIXES

    is_rules = path.suffix.lower() in SUFFIXES and not path.is_dir()
    front = None if is_rules else load_model(path).front
    if front is None:
        raise ParameterError(
            f"{path} holds one ruleset. --front, --rules and --tests choose from several: give the run or "
            f"model of a PPL-X. 'ifthen prune {path}' makes other rules shorter."
        )
    return front


def check_rules_file(path: Path | None) -> None:
    """Raise unless rules can be written to a file of this name."""
    if path is not None and path.suffix.lower() not in (".json", ".txt"):
        raise ParameterError(f"--out writes .json or .txt, not {path.name}.")
