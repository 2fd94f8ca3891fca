"""The settings of one training run: what to train, on what, for how long; from TOML or the command line."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ifthen.checks import has_more_values
from ifthen.errors import ParameterError, nearest, shown
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.text.constraint_text import is_about_rules, requirements_in
from ifthen.runs.task_settings import SETTINGS_OF, TaskSettings, made_task, names_in, with_settings
from ifthen.store import text_of_user
from ifthen.systems.callbacks import StopAt
from ifthen.systems.learning import STEP_LIMIT, Goal
from ifthen.systems.parameters import checked_parameters
from ifthen.systems.registry import system_by_name
from ifthen.systems.system import System
from ifthen.tasks.task import Task

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

TOML_LIMIT = 2**20
MOST_VALUES = 20_000
"""Settings hold at most this many values. A report of a wrong value takes kilobytes of memory."""
MOST_TOLD = 10
"""An error names at most this many wrong settings."""
PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
Checked = TypeVar("Checked", bound=BaseModel)


class RunSettings(BaseModel):
    """The settings of one training run."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    system: str
    task: TaskSettings
    epochs: int = Field(default=250, ge=1, le=10_000_000)
    """The number of epochs; the system's `default_epochs` where no length is given (see `for_system`)."""
    steps: int | None = Field(default=None, ge=1, le=STEP_LIMIT)
    """The number of environment steps, in place of epochs."""
    stop_at: float | None = Field(default=None, allow_inf_nan=False)
    """A performance at which to stop sooner; in environments on validation seeds."""
    seed: int = 0
    prune: bool = True
    """Whether the rules are pruned at the end."""
    require: list[str] = Field(default_factory=list)
    """Requirements. Those about rules are kept in training, and the others are checked at the end."""
    checkpoint_every: int = Field(default=25, ge=1)
    parameters: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if self.steps is not None and "epochs" in self.model_fields_set:
            raise ValueError("epochs or steps say how long to learn, not both")
        return self

    def for_system(self, system: System) -> RunSettings:
        """Return the settings with the system's own number of epochs, where no length was given."""
        length_fields = self.model_fields_set & {"epochs", "steps"}
        return self if length_fields else self.model_copy(update={"epochs": system.default_epochs})

    @property
    def goal(self) -> Goal:
        """How long to learn in all."""
        return Goal("epochs", self.epochs) if self.steps is None else Goal("steps", self.steps)

    def is_done(self, system: System) -> bool:
        """Return whether a system has learnt long enough, or reached the score to stop at."""
        enough = self.stop_at is not None and StopAt(self.stop_at).reached(system)
        return enough or system.reached(self.goal)

    def make_task(self) -> Task:
        """Return the task."""
        return made_task(self.task)

    def make_system(self, threads: int | None = None, start: RuleSet | None = None) -> System:
        """Return the system, ready to learn from `start` on; raises where anything is impossible."""
        system_class = system_by_name(self.system)
        # Before any of them could pass for an argument.
        checked_parameters(system_class.Parameters, self.parameters)
        task = self.make_task()
        rule_requirements = list(filter(is_about_rules, requirements_in(self.require)))
        return system_class(
            task,
            seed=self.seed,
            threads=threads,
            start=start,
            require=rule_requirements or None,
            **self.parameters,
        )

    def to_toml(self) -> str:
        """Return the settings as a TOML text that `read_settings` understands."""
        excluded = {"epochs"} if self.steps is not None else set()
        excluded |= set() if self.require else {"require"}
        return toml_text(self.model_dump(exclude_none=True, exclude=excluded))


class _TaskAlone(BaseModel):
    """Settings of a task, to be checked like those of a run."""

    task: TaskSettings


def task_with(name: str, changes: Mapping[str, Any]) -> Task:
    """Return the task of a name with some settings, as `with_settings` takes them."""
    return made_task(checked(_TaskAlone, {"task": with_settings(name, changes)}).task)


def changed_task(task: Task, changes: Mapping[str, Any], name: str = "") -> Task:
    """Return a task with some of its settings changed, such as t_max.

    Args:
        task: the task.
        changes: settings by name, as `with_settings` takes them.
        name: how a user names its environment, if its id alone does not make it.
    """
    if not changes:
        return task
    settings = task.settings
    if not name:
        task.make().close()  # which says what to do if nothing makes it here
    if "environment" in settings:
        settings["environment"] = name or settings["environment"]
    if "options.max_episode_steps" in changes:
        del settings["t_max"]
    if "feature_names" in changes and "ranges" in settings:  # which speak of the features by name
        new_names = names_in(changes["feature_names"])
        if isinstance(new_names, list) and len(new_names) == len(settings["ranges"]):
            settings["ranges"] = dict(zip(new_names, settings["ranges"].values(), strict=True))
    return made_task(checked(_TaskAlone, {"task": with_settings(settings, changes)}).task)


def toml_value(value: object) -> str:
    """Return a parameter's value as `--set` takes it."""
    return value if isinstance(value, str) else json.dumps(value)


def toml_text(plain: Mapping[str, Any]) -> str:
    """Return plain settings as a TOML text that `read_settings` understands; tables stand last."""
    tables = {name: value for name, value in plain.items() if isinstance(value, dict)}
    lines = [_toml_line(name, value) for name, value in plain.items() if name not in tables]
    for name, table in tables.items():
        lines += ["", f"[{_key(name)}]", *(_toml_line(key, value) for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _toml_line(name: str, value: object) -> str:
    """Return `name = value`."""
    return f"{_key(name)} = {_toml_of(value)}"


def _key(name: str) -> str:
    """Return a name as TOML writes it: in quotation marks where it is not plain."""
    return name if PLAIN_KEY.fullmatch(name) else _toml_of(name)


def _toml_of(value: object) -> str:
    """Return a value as TOML; JSON's way to write texts, finite numbers and booleans is TOML's, nearly."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml_of(key)} = {_toml_of(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml_of, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")  # which TOML refuses as it is


def read_settings(path: Path) -> dict[str, Any]:
    """Return the plain contents of a TOML file, or raise saying where it is wrong."""
    text = text_of_user(path, TOML_LIMIT, ParameterError)
    try:
        return tomllib.loads(text)
    except ValueError as problem:
        raise ParameterError(f"{path} is not valid TOML: {problem}.") from None
    except RecursionError:
        raise ParameterError(f"{path} is not valid TOML: it is nested too deeply.") from None


def checked_settings(settings: Mapping[str, Any]) -> RunSettings:
    """Return the settings, or raise naming each unknown, missing or impossible one."""
    return checked(RunSettings, settings)


def checked(
    model_class: type[Checked], settings: Mapping[str, Any], tables: Mapping[str, Any] = {}
) -> Checked:
    """Return settings of a kind, or raise naming each unknown, missing or impossible one.

    Args:
        model_class: the class of the settings.
        settings: the settings in plain data.
        tables: the classes of tables inside them, by name.
    """
    if has_more_values(dict(settings), MOST_VALUES):
        raise ParameterError(f"the settings hold more than {MOST_VALUES:,} values.")
    try:
        return model_class.model_validate(dict(settings))
    except ValidationError as problem:
        errors = problem.errors(include_url=False)[:MOST_TOLD]
        located = [(error, tables.get(str(next(iter(error["loc"]), "")), model_class)) for error in errors]
        raise ParameterError(
            " ".join(_explained(error, owner.model_fields) for error, owner in located)
        ) from None


def _explained(error: ErrorDetails, known_names: Iterable[str]) -> str:
    """Return one sentence on one of pydantic's errors, given the names that are known where it is."""
    # Of the ways to give a task pydantic names the one that is meant; users know only the keys.
    task_kinds = [key for key in error["loc"] if key in SETTINGS_OF]
    known_names = SETTINGS_OF[task_kinds[0]] if task_kinds else known_names
    keys = [str(key) for key in error["loc"] if key not in SETTINGS_OF]
    name, message = ".".join(keys), error["msg"].removeprefix("Value error, ")
    if not keys:
        return f"{message}."
    if error["type"] == "extra_forbidden" and keys[-1] == "disturbances":
        return "disturbances are for environments: rules on a table see its states as they are."
    if error["type"] == "extra_forbidden":
        return f"unknown setting {name!r}.{nearest(keys[-1], known_names)}"
    if error["type"] == "missing":
        hint = f" See 'ifthen {name}s' for what there is." if name in ("system", "task") else ""
        return f"the setting {name!r} is missing.{hint}"
    return f"{name}: {message[:1].lower()}{message[1:]}, not {shown(error['input'])}."


def parse_assignments(assignments: Iterable[str] | None, option: str = "--set") -> dict[str, Any]:
    """Return the values of many `name=value` by name; see `parse_assignment`."""
    return dict(parse_assignment(assignment, option) for assignment in assignments or ())


def parse_assignment(assignment: str, option: str = "--set") -> tuple[str, Any]:
    """Return name and value of `name=value`; the value is read as TOML, or as text where it is none."""
    name, equals, value = assignment.partition("=")
    if not equals or not name.strip():
        example = {"--set": "p_mut=0.02", "--robust": "noise=0.05"}.get(option, "episodes=50")
        raise ParameterError(
            f"{option} takes name=value, such as {option} {example}, not {shown(assignment)}."
        )
    value = {"True": "true", "False": "false"}.get(value.strip(), value)  # as Python writes them
    try:
        parsed = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):  # of more digits than Python reads, or brackets
        parsed = {}
    return name.strip(), parsed["value"] if set(parsed) == {"value"} else value.strip()
