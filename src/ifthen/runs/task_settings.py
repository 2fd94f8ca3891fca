"""What a run or a study may say of a task: its name, or a table of settings."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Tag, field_validator

from ifthen.environments.copies import source_of
from ifthen.environments.from_table import has_table, table_task
from ifthen.environments.frozen_lake import frozen_lake
from ifthen.environments.known_environments import settings_named
from ifthen.environments.make import env_task, task_by_name
from ifthen.errors import ParameterError, TaskError
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.imports import could_import
from ifthen.tasks.tabular_task import TabularTask

NAME, ENVIRONMENT, LAKE = "a name", "an environment", "a lake"
OF_TABLES = {"enumerations"}
OF_PLAYED = {"episodes", "floor", "default_action", "player", "ranges", "lanes", "leave_out", "disturbances"}
"""Settings of environments with a transition table only, and of all others only."""


def names_in(names: Any) -> Any:
    """Return the names in a text such as "level, inflow", with or without brackets; the rest as it is."""
    if not isinstance(names, str):
        return names
    return [name.strip(" '\"") for name in names.strip().removeprefix("[").removesuffix("]").split(",")]


class FrozenLakeSettings(BaseModel):
    """A FrozenLake of one's own, as the table [task] of a configuration file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

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
                "[task] needs the id of an environment, or describes a FrozenLake and needs size or desc. "
                'A task without settings is named in one line: task = "Taxi-v4".'
            )
        return frozen_lake(**self.model_dump())


class EnvironmentSettings(BaseModel):
    """A Gymnasium environment with settings of one's own, as the table [task] of a configuration file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    environment: str
    """The id; "package:Id-v0" imports the package that registers it first; or "module:attribute"."""
    name: str | None = None
    episodes: int | None = None
    gamma: float | None = None
    t_max: int | None = None
    floor: float | None = None
    default_action: str | int | None = None
    noise_seed: int | None = None
    player: Literal["auto", "twin", "sync"] | None = None
    feature_names: list[str] | None = None
    action_names: list[str] | None = None
    ranges: dict[str, list[float]] | None = None
    lanes: int | None = None
    leave_out: list[str] | None = None
    enumerations: int | None = None
    options: dict[str, bool | int | float | str] | None = None
    """Keyword arguments for making the environment."""
    disturbances: dict[str, float] | None = None
    """Strengths of disturbances between rules and environment, by name."""

    @field_validator("feature_names", "action_names", "leave_out", mode="before")
    @classmethod
    def _names(cls, names: Any) -> Any:
        """Return the names in a text such as "level, inflow"."""
        return names_in(names)

    def make_task(self) -> TabularTask | EnvTask:
        """Return the task: tabular where the environment has a transition table, as by its name alone."""
        settings = self.model_dump(exclude_none=True, exclude={"environment", "options"})
        options: dict[str, Any] = dict(self.options or {})
        source = source_of(self.environment, options)
        env = source.made
        try:
            tabular = has_table(env)
            for setting in (OF_PLAYED if tabular else OF_TABLES) & set(settings):
                article = "a" if tabular else "no"
                raise ParameterError(
                    f"{setting} is no setting of {self.environment}, which has {article} transition table."
                )
            if tabular:
                return table_task(env, **settings)
            limit = env.spec.max_episode_steps if source.environment else None
            if limit and self.t_max and self.t_max > limit > 0:
                options["max_episode_steps"] = self.t_max
        finally:
            env.close()
        return env_task(self.environment, options=options, **settings)


def assignments_of(settings: EnvironmentSettings) -> dict[str, str]:
    """Return the settings of an environment by name, as `--task-set` takes them; see `with_settings`."""
    assignments: dict[str, str] = {}
    for name, value in settings.model_dump(exclude_none=True, exclude={"environment"}).items():
        inner = {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {}
        for key, item in (inner or {name: value}).items():
            assignments[key] = json.dumps(item, ensure_ascii=False)
    return assignments


def _task_tag(settings: object) -> str:
    """Return which of the ways to give a task is meant."""
    if isinstance(settings, Mapping):
        return ENVIRONMENT if "environment" in settings else LAKE
    if isinstance(settings, EnvironmentSettings):
        return ENVIRONMENT
    return LAKE if isinstance(settings, FrozenLakeSettings) else NAME


AnyTaskSettings = str | EnvironmentSettings | FrozenLakeSettings
TaskSettings = Annotated[
    Annotated[str, Tag(NAME)]
    | Annotated[EnvironmentSettings, Tag(ENVIRONMENT)]
    | Annotated[FrozenLakeSettings, Tag(LAKE)],
    Discriminator(_task_tag),
]
"""A task's name, an environment with settings of one's own, or a FrozenLake of one's own."""
SETTINGS_OF: dict[str, list[str]] = {
    NAME: [],
    ENVIRONMENT: list(EnvironmentSettings.model_fields),
    LAKE: [*FrozenLakeSettings.model_fields, "environment"],
}


def made_task(settings: AnyTaskSettings) -> TabularTask | EnvTask:
    """Return the task of settings."""
    return task_by_name(settings) if isinstance(settings, str) else settings.make_task()


def texts_of(settings: AnyTaskSettings) -> list[str]:
    """Return the texts of a task's settings that its environment is made with."""
    if isinstance(settings, str):
        return [settings]
    if isinstance(settings, FrozenLakeSettings):
        return []
    return [
        settings.environment,
        *(option for option in (settings.options or {}).values() if isinstance(option, str)),
    ]


def refuse_imports(settings: AnyTaskSettings, typed: Collection[str], holder: str) -> None:
    """Raise where making the task that a file describes could import a package.

    Args:
        settings: the settings in the file.
        typed: what the user has typed; such a text may have its package imported.
        holder: what has the file, to say whose task it is.
    """
    needed = could_import(texts_of(settings), typed)
    if needed:
        raise TaskError(
            f"{holder} needs {needed}, and opening a file never imports your code: give --task {needed}"
        )


def with_settings(task: Any, changes: Mapping[str, Any]) -> Any:
    """Return a task in plain data with some of its settings changed.

    Args:
        task: a task's name, or a table of settings.
        changes: settings by name; "options.NAME" and "ranges.FEATURE" are those of one option or feature.
    """
    if not changes:
        return task
    if task is None:
        raise ParameterError("--task-set changes a task: name one, such as CartPole-v1.")
    table = settings_named(task) or {"environment": task} if isinstance(task, str) else dict(task)
    for name, value in changes.items():
        section, dot, key = name.partition(".")
        inner = table.get(section)
        table[section] = {**(inner if isinstance(inner, Mapping) else {}), key: value} if dot else value
    return table
