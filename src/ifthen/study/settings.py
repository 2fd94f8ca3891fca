"""The settings of one training run: what to train, on what, for how long; from TOML or the command line."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ifthen.errors import ParameterError, nearest
from ifthen.rules.ruleset import RuleSet
from ifthen.systems.base import System, checked_parameters
from ifthen.systems.registry import system_by_name
from ifthen.tasks.frozen_lake import frozen_lake
from ifthen.tasks.names import task_by_name
from ifthen.tasks.tabular import TabularTask


class FrozenLakeSettings(BaseModel):
    """A FrozenLake of one's own, as the table [task] of a configuration file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    size: int | None = None
    p_slip: float = 0.0
    desc: list[str] | None = None
    map_seed: int | None = None
    gamma: float = 0.95
    t_max: int | None = None
    enumerations: int | None = None
    noise_seed: int = 0
    name: str | None = None

    def make_task(self) -> TabularTask:
        """Return the task."""
        if self.size is None and self.desc is None:
            raise ParameterError(
                "[task] describes a FrozenLake and needs size or desc. "
                'Another task is named in one line: task = "Taxi-v4".'
            )
        return frozen_lake(**self.model_dump())


class RunSettings(BaseModel):
    """The settings of one training run."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    system: str
    task: str | FrozenLakeSettings
    """A task's name, or a FrozenLake of one's own."""
    epochs: int = Field(default=250, ge=1, le=10_000_000)
    seed: int = 0
    checkpoint_every: int = Field(default=25, ge=1)
    parameters: dict[str, Any] = Field(default_factory=dict)

    def make_task(self) -> TabularTask:
        """Return the task."""
        return task_by_name(self.task) if isinstance(self.task, str) else self.task.make_task()

    def make_system(self, threads: int | None = None, start: RuleSet | None = None) -> System:
        """Return the system, ready to learn from `start` on; raises where anything is impossible."""
        kind = system_by_name(self.system)
        checked_parameters(kind.Parameters, self.parameters)  # before any of them could pass for an argument
        return kind(self.make_task(), seed=self.seed, threads=threads, start=start, **self.parameters)

    def to_toml(self) -> str:
        """Return the settings as a TOML text that `read_settings` understands."""
        plain = self.model_dump(exclude_none=True)
        tables = {name: value for name, value in plain.items() if isinstance(value, dict)}
        lines = [_toml_line(name, value) for name, value in plain.items() if name not in tables]
        for name, table in tables.items():
            lines += ["", f"[{name}]", *(_toml_line(key, value) for key, value in table.items())]
        return "\n".join(lines) + "\n"


def toml_value(value: object) -> str:
    """Return a parameter's value as `--set` takes it."""
    return value if isinstance(value, str) else json.dumps(value)


def _toml_line(name: str, value: object) -> str:
    """Return `name = value`; JSON's way to write texts, numbers, booleans and lists is TOML's too."""
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"


def read_settings(path: Path) -> dict[str, Any]:
    """Return the plain contents of a TOML file, or raise saying where it is wrong."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParameterError(f"there is no configuration file {path}.") from None
    except OSError as problem:
        raise ParameterError(f"cannot read {path}: {problem.strerror or problem}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ParameterError(f"{path} is not valid TOML: {problem}.") from None


def checked_settings(given: Mapping[str, Any]) -> RunSettings:
    """Return the settings, or raise naming each unknown, missing or impossible one."""
    try:
        return RunSettings.model_validate(dict(given))
    except ValidationError as problem:
        errors = problem.errors()
        if isinstance(given.get("task"), Mapping):
            # Of "a name or a table", the user means the table: what is wrong with it as a name is no help.
            errors = [error for error in errors if error["loc"] != ("task", "str")]
        raise ParameterError(" ".join(_explained(error) for error in errors)) from None


def _explained(error: Any) -> str:
    """Return one sentence on one of pydantic's errors in the settings of a run."""
    kind = FrozenLakeSettings if error["loc"][0] == "task" else RunSettings
    hint = " See 'ifthen {name}s' for what there is." if error["type"] == "missing" else ""
    return explained(error, kind.model_fields) + hint.format(name=error["loc"][-1])


def explained(error: Any, known: Iterable[str]) -> str:
    """Return one sentence on one of pydantic's errors, given the names that are known where it is."""
    # Inside a union pydantic names the alternative too; users know only the keys.
    where = [str(part) for part in error["loc"] if part not in ("str", "FrozenLakeSettings")]
    name = ".".join(where) or "the plan"
    if error["type"] == "extra_forbidden":
        return f"unknown setting {name!r}.{nearest(where[-1], known)}"
    if error["type"] == "missing":
        return f"the setting {name!r} is missing."
    message = error["msg"].removeprefix("Value error, ")
    came = f", not {error['input']!r}" if where else ""
    return f"{name}: {message[:1].lower()}{message[1:]}{came}."


def parse_assignment(text: str) -> tuple[str, Any]:
    """Return name and value of `name=value`; the value is read as TOML, or as text where it is none."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ParameterError(f"--set takes name=value, such as --set p_mut=0.02, not {text!r}.")
    value = {"True": "true", "False": "false"}.get(value.strip(), value)  # as Python writes them
    try:
        parsed = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        parsed = {}
    return name.strip(), parsed["value"] if set(parsed) == {"value"} else value.strip()
