"""The plan of a study: which systems, on which tasks, how many trials; from TOML, checked before it runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ifthen.errors import ParameterError, nearest
from ifthen.study.settings import FrozenLakeSettings, explained, parse_assignment, read_settings
from ifthen.systems.base import EPOCH_LIMIT, System, checked_parameters
from ifthen.systems.registry import system_by_name
from ifthen.tasks.names import task_by_name
from ifthen.tasks.tabular import TabularTask


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


def safe_name(name: str) -> str:
    """Return a name as the name of a folder, never that of a hidden one or of one above."""
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".") or "_"


class SystemPlan(BaseModel):
    """A system in a study: the table [[systems]]."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(min_length=1)
    """How it is called in the study; also the system itself, unless `system` says another."""
    system: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)


class StudyPlan(BaseModel):
    """What a study runs: every system on every task, `trials` times."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(min_length=1)
    systems: list[SystemPlan] = Field(min_length=1)
    tasks: list[str | FrozenLakeSettings] = Field(min_length=1)
    trials: int = Field(default=30, ge=1, le=100_000)
    epochs: int = Field(default=250, ge=1, le=EPOCH_LIMIT)
    first_seed: int = Field(default=0, ge=0)
    checkpoint_every: int = Field(default=25, ge=1)
    reference: str | None = None
    """The system that the others are compared with; the first one where it is not given."""

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [system.name for system in self.systems]
        if len(set(map(safe_name, names))) < len(names):
            raise ValueError(f"systems must have names that differ in letters or numbers, not {names}")
        if self.reference is not None and self.reference not in names:
            raise ValueError(f"reference must be one of {names}, not {self.reference!r}")
        return self

    def system_plan(self, name: str) -> SystemPlan:
        """Return the plan of a system by its name in the study."""
        return next(system for system in self.systems if system.name == name)

    def tasks_by_name(self) -> dict[str, TabularTask]:
        """Return the tasks by name; raises where two have the same."""
        named: dict[str, TabularTask] = {}
        for given in self.tasks:
            task = _task(given if isinstance(given, str) else given.model_dump_json())
            if safe_name(task.name) in map(safe_name, named):
                raise ParameterError(f"the study names the task {task.name} twice: give one of them a name.")
            named[task.name] = task
        return named

    def trials_to_run(self) -> list[Trial]:
        """Return all trials, those of one task together; raises where a system or a task is impossible."""
        trials = []
        for task in self.tasks_by_name():
            for system in self.systems:
                self.make_system(Trial(system.name, task, self.first_seed))
                seeds = range(self.first_seed, self.first_seed + self.trials)
                trials += [Trial(system.name, task, seed) for seed in seeds]
        return trials

    def make_system(self, trial: Trial) -> System:
        """Return the system of a trial, ready to learn on one thread."""
        plan = self.system_plan(trial.system)
        kind, task = system_by_name(plan.system or plan.name), self.tasks_by_name()[trial.task]
        checked_parameters(kind.Parameters, plan.parameters)  # before any of them could pass for an argument
        return kind(task, seed=trial.seed, threads=1, **plan.parameters)

    def to_json(self) -> str:
        """Return the plan as JSON that `from_json` understands."""
        return json.dumps(self.model_dump(exclude_none=True), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> StudyPlan:
        """Return the plan that `to_json` wrote."""
        try:
            given = json.loads(text)
        except ValueError as problem:
            raise ParameterError(f"the study's plan is not valid JSON: {problem}.") from None
        return checked_plan(given)


@lru_cache(maxsize=64)
def _task(given: str) -> TabularTask:
    """Return the task of a name, or of the settings of a FrozenLake as JSON; made once, for all trials."""
    if not given.startswith("{"):
        return task_by_name(given)
    return FrozenLakeSettings.model_validate_json(given).make_task()


def read_plan(path: Path, changes: list[str]) -> StudyPlan:
    """Return the plan in a TOML file, with changes such as `trials=3` or `PPL-ST.eta=0.2` made to it."""
    given = read_settings(path)
    for change in changes:
        name, value = parse_assignment(change)
        system, dot, parameter = name.rpartition(".")
        if not dot:
            given[name] = value
            continue
        plans = [plan for plan in given.get("systems", []) if plan.get("name") == system]
        if not plans:
            names = [str(plan.get("name")) for plan in given.get("systems", [])]
            hint = nearest(system, names)
            raise ParameterError(f"--set {change}: the study has no system {system!r}.{hint}")
        plans[0].setdefault("parameters", {})[parameter] = value
    return checked_plan(given)


def checked_plan(given: Mapping[str, Any]) -> StudyPlan:
    """Return the plan, or raise naming each unknown, missing or impossible setting."""
    try:
        return StudyPlan.model_validate(dict(given))
    except ValidationError as problem:
        raise ParameterError(" ".join(_explained(error) for error in problem.errors())) from None


def _explained(error: Any) -> str:
    """Return one sentence on one of pydantic's errors."""
    part = str(error["loc"][0]) if error["loc"] else ""
    kinds: dict[str, type[BaseModel]] = {"systems": SystemPlan, "tasks": FrozenLakeSettings}
    return explained(error, kinds.get(part, StudyPlan).model_fields)
