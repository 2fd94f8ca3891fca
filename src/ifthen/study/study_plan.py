"""The plan of a study: which systems, on which tasks, how many trials; from TOML, checked before it runs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ifthen.errors import ParameterError, nearest, shown
from ifthen.runs.settings import checked, parse_assignment, read_settings
from ifthen.runs.task_settings import AnyTaskSettings, TaskSettings, made_task, texts_of
from ifthen.store import parse_json
from ifthen.systems.learning import EPOCH_LIMIT
from ifthen.systems.parameters import checked_parameters
from ifthen.systems.registry import system_by_name
from ifthen.systems.system import System
from ifthen.tasks.task import Task

LARGEST_SEED = 2**63 - 1
MOST_TRIALS = 1_000_000
PLAN_LIMIT = 16 * 2**20


class Trial(NamedTuple):
    """One trial of a study: a system, by its name in the study, on a task, from a seed."""

    system: str
    task: str
    seed: int

    def __str__(self) -> str:
        return f"{self.system} on {self.task}, seed {self.seed}"

    @property
    def stem(self) -> str:
        """The beginning of the names of the trial's files."""
        return f"{safe_name(self.system)}/{safe_name(self.task)}/{self.seed}"


def _printable(name: str) -> str:
    """Return a name that can be used in files, tables and pages, or raise."""
    if not name.isprintable():
        raise ValueError(f"names must be printable text, without line breaks, not {shown(name)}")
    return name


def safe_name(name: str) -> str:
    """Return a name as the name of a folder, never that of a hidden one or of one above."""
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".") or "_"


Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_printable)]


class SystemPlan(BaseModel):
    """A system in a study: the table [[systems]]."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Name
    """The system's name in the study. It is also the system itself, unless `system` names another."""
    system: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)


class StudyPlan(BaseModel):
    """What a study runs: every system on every task, `trials` times."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    name: Name
    systems: list[SystemPlan] = Field(min_length=1)
    tasks: list[TaskSettings] = Field(min_length=1)
    trials: int = Field(default=30, ge=1, le=100_000)
    epochs: int = Field(default=250, ge=1, le=EPOCH_LIMIT)
    """The number of epochs; what the systems need where none is given (see `for_systems`)."""
    first_seed: int = Field(default=0, ge=0)
    record: Literal["all", "shared"] = "all"
    """The columns of histories that are kept: all that a system has, or those that all systems share."""
    checkpoint_seconds: float = Field(default=20.0, ge=0)
    """The seconds between two checkpoints of a trial. A killed trial loses at most this time."""
    reference: str | None = None
    """The system that the others are compared with; the first one by default."""
    comparisons: list[Annotated[list[str], Field(min_length=2, max_length=2)]] | None = Field(
        default=None, min_length=1
    )
    """Which systems are compared with which, in place of a reference: [["A", "B"], …] asks if A is better."""
    prune: bool | None = None
    """Whether rules are pruned at the end, as those of a run are. By default only rules for environments are,
    to find out how many are needed."""
    varies: str | None = None
    """The parameter in which the systems differ, for a study of its influence."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        names = [system.name for system in self.systems]
        if len(set(map(safe_name, names))) < len(names):
            raise ValueError(f"systems must have names that differ in letters or numbers, not {shown(names)}")
        if self.reference is not None and self.comparisons is not None:
            raise ValueError("give a reference or comparisons, not both")
        known_names = set(names)
        if len(names) * len(self.tasks) * self.trials > MOST_TRIALS:
            raise ValueError(f"a study has at most {MOST_TRIALS:,} trials: systems × tasks × trials")
        mentions = {"reference": [self.reference or names[0]]}
        mentions["comparisons"] = [name for pair in self.comparisons or () for name in pair]
        for setting, mentioned in mentions.items():
            for name in mentioned:
                if name not in known_names:
                    raise ValueError(f"{setting} must be one of {shown(names)}, not {shown(name)}")
        pairs = [tuple(pair) for pair in self.comparisons or ()]
        counts = Counter(pairs)
        for first, second in pairs:
            if first == second or counts[first, second] > 1:
                raise ValueError(f"comparisons: {first!r} with {second!r} stands twice, or with itself")
        if self.first_seed + self.trials - 1 > LARGEST_SEED:
            raise ValueError(f"the last seed would be more than {LARGEST_SEED}: give a smaller first_seed")
        for system in self.systems:
            if self.varies is not None and not isinstance(system.parameters.get(self.varies), int | float):
                raise ValueError(f"varies: the system {system.name!r} gives no number for {self.varies!r}")
        return self

    def compared(self) -> dict[str, list[str]]:
        """Return which systems each one is compared with; tests of one system on one task are a family."""
        names = [system.name for system in self.systems]
        if self.comparisons is None:
            reference = self.reference or names[0]
            return {reference: [name for name in names if name != reference]}
        families: dict[str, list[str]] = {}
        for system_name, other in self.comparisons:
            families.setdefault(system_name, []).append(other)
        return families

    def system_plan(self, name: str) -> SystemPlan:
        """Return the plan of a system by its name in the study."""
        return next(system for system in self.systems if system.name == name)

    def tasks_by_name(self) -> dict[str, Task]:
        """Return the tasks by name; raises where two have the same."""
        by_name: dict[str, Task] = {}
        safe_names: set[str] = set()
        for settings in self.tasks:
            task = _cached_task(
                settings if isinstance(settings, str) else settings.model_dump_json(), type(settings)
            )
            if safe_name(task.name) in safe_names:
                raise ParameterError(f"the study names the task {task.name} twice: give one of them a name.")
            safe_names.add(safe_name(task.name))
            by_name[task.name] = task
        return by_name

    def texts_of_tasks(self) -> set[str]:
        """Return the texts that the environments of the tasks are made with."""
        return {text for task in self.tasks for text in texts_of(task)}

    def trials_to_run(self) -> list[Trial]:
        """Return all trials, seed by seed; raises where a system or a task is impossible.

        The first trial of everything comes before the second of anything: early tables have no gaps, and
        the time that is left can be told from the time that was taken.
        """
        cells = [(system.name, task) for task in self.tasks_by_name() for system in self.systems]
        for system, task in cells:
            try:
                self.make_system(Trial(system, task, self.first_seed))
            except ParameterError as problem:
                raise ParameterError(f"the system {system!r}: {problem}") from None
        seeds = range(self.first_seed, self.first_seed + self.trials)
        return [Trial(*cell, seed) for seed in seeds for cell in cells]

    def make_system(self, trial: Trial) -> System:
        """Return the system of a trial, ready to learn on one thread."""
        plan = self.system_plan(trial.system)
        system_class, task = system_by_name(plan.system or plan.name), self.tasks_by_name()[trial.task]
        # Before any of them could pass for an argument.
        checked_parameters(system_class.Parameters, plan.parameters)
        return system_class(task, seed=trial.seed, threads=1, **plan.parameters)

    def for_systems(self) -> StudyPlan:
        """Return the plan with as many epochs as its systems need, where no number was given.

        A study has one number of epochs: it is the most that any system needs in any task.
        """
        if "epochs" in self.model_fields_set:
            return self
        cells = {(trial.system, trial.task): trial for trial in self.trials_to_run()}
        longest = max(self.make_system(trial).default_epochs for trial in cells.values())
        return self.model_copy(update={"epochs": longest})

    def to_json(self) -> str:
        """Return the plan as JSON that `from_json` understands."""
        return json.dumps(self.model_dump(exclude_none=True), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, plan_json: str) -> StudyPlan:
        """Return the plan that `to_json` wrote."""
        try:
            data = parse_json(plan_json)
        except ValueError as problem:
            raise ParameterError(f"the study's plan is not valid JSON: {problem}.") from None
        if not isinstance(data, dict):
            raise ParameterError(f"the study's plan must be an object, not {shown(data)}.")
        return checked_plan(data)


@lru_cache(maxsize=64)
def _cached_task(settings: str, settings_class: Any) -> Task:
    """Return the task of a name, or of settings of a kind as JSON; made once, for all trials."""
    task_settings: AnyTaskSettings = (
        settings if settings_class is str else settings_class.model_validate_json(settings)
    )
    task = made_task(task_settings)
    try:
        _printable(task.name)
    except ValueError as problem:
        raise ParameterError(f"the name of a task, {task.name!r}: {problem}.") from None
    return task


def read_plan(path: Path, changes: list[str]) -> StudyPlan:
    """Return the plan in a TOML file, with changes such as `trials=3` or `PPL-ST.eta=0.2` made to it."""
    settings = read_settings(path)
    for change in changes:
        name, value = parse_assignment(change)
        system, dot, parameter = name.rpartition(".")
        if not dot:
            settings[name] = value
            continue
        parameters = _system_table(settings, system, change).setdefault("parameters", {})
        if not isinstance(parameters, dict):
            raise ParameterError(
                f"the parameters of the system {system!r} must be a table, not {shown(parameters)}."
            )
        parameters[parameter] = value
    return checked_plan(settings)


def _system_table(settings: Mapping[str, Any], name: str, change: str) -> dict[str, Any]:
    """Return the table of a system in a plan that has not been checked yet."""
    systems = settings.get("systems")
    tables = [table for table in systems if isinstance(table, dict)] if isinstance(systems, list) else []
    for table in tables:
        if table.get("name") == name:
            return table
    hint = nearest(name, [str(table.get("name")) for table in tables])
    raise ParameterError(f"--set {change}: the study has no system {name!r}.{hint}")


def checked_plan(settings: Mapping[str, Any]) -> StudyPlan:
    """Return the plan, or raise naming each unknown, missing or impossible setting."""
    return checked(StudyPlan, settings, {"systems": SystemPlan})
