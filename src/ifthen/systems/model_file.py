"""Model files: a system, its task and its population in one archive.

The same file is model and checkpoint: whoever loads it can predict, evaluate and go on learning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Discriminator, Tag, ValidationError

from ifthen.errors import ModelFileError, ParameterError, RuleError, TaskError
from ifthen.provenance import versions
from ifthen.rules.features import Feature
from ifthen.rules.ruleset import RuleSet
from ifthen.store import read_archive, write_archive
from ifthen.tasks.checked import ARRAYS
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

FORMAT = "ifthen-model"
VERSION = 1
ArraySpec = dict[str, tuple[tuple[int, ...], type]]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _TaskPart(_Strict):
    kind: Literal["tabular"] = "tabular"
    name: str
    features: list[dict[str, bool | str | int]]
    action_names: list[str]
    enumerations: int
    gamma: float
    t_max: int
    noise_seed: int
    observes: Literal["features", "state"]
    layout: list[str] | None
    preset: dict[str, int]
    origin: dict[str, str | float | int | None]


class _EnvTaskPart(_Strict):
    kind: Literal["environment"] = "environment"
    name: str
    features: list[dict[str, bool | str | int | float]]
    action_names: list[str]
    environment: str
    options: dict[str, bool | int | float | str]
    episodes: int
    t_max: int
    floor: float
    gamma: float
    default_action: int | None
    noise_seed: int
    player: Literal["auto", "twin", "native", "sync"]
    origin: dict[str, str | float | int | None]


def _kind_of_task(part: Any) -> Any:
    """Return which kind of task is described; there was one kind only when it was not said."""
    return part.get("kind", "tabular") if isinstance(part, Mapping) else getattr(part, "kind", None)


class _Manifest(_Strict):
    format: str
    version: int
    versions: dict[str, str]
    system: str
    seed: int
    epoch: int
    parameters: dict[str, bool | int | float | str | None]
    task: Annotated[
        Annotated[_TaskPart, Tag("tabular")] | Annotated[_EnvTaskPart, Tag("environment")],
        Discriminator(_kind_of_task),
    ]
    history: dict[str, list[int | float | None]]
    start: dict[str, Any] | None = None


@dataclass(frozen=True)
class Model:
    """What a model file holds, checked as far as it can be without knowing the system."""

    path: Path
    versions: dict[str, str]
    system: str
    seed: int
    epoch: int
    parameters: dict[str, Any]
    task: TabularTask | EnvTask
    history: tuple[dict[str, Any], ...]
    population: dict[str, NDArray[Any]]
    start: RuleSet | None = None


def write(
    path: Path,
    manifest: Mapping[str, Any],
    task: TabularTask | EnvTask,
    population: Mapping[str, NDArray[Any]],
) -> None:
    """Write a model file."""
    head = {"format": FORMAT, "version": VERSION, "versions": versions()}
    arrays = {f"population/{name}": array for name, array in population.items()}
    if isinstance(task, TabularTask):
        about_task: _TaskPart | _EnvTaskPart = _about_table(task)
        arrays = {f"task/{name}": array for name, array in task.arrays().items()} | arrays
    else:
        about_task = _about_environment(task)
    write_archive(path, {**head, **manifest, "task": about_task.model_dump()}, arrays)


def _about_environment(task: EnvTask) -> _EnvTaskPart:
    plain = {name: getattr(task, name) for name in _EnvTaskPart.model_fields if hasattr(task, name)}
    features = [feature.to_dict() for feature in task.features]
    own = {"action_names": list(task.action_names), "options": dict(task.options), "features": features}
    return _EnvTaskPart(**{**plain, **own, "origin": dict(task.origin)})


def _about_table(task: TabularTask) -> _TaskPart:
    return _TaskPart(
        name=task.name,
        features=[feature.to_dict() for feature in task.features],
        action_names=list(task.action_names),
        enumerations=task.enumerations,
        gamma=float(task.gamma),
        t_max=task.t_max,
        noise_seed=task.noise_seed,
        observes=task.observes,
        layout=None if task.layout is None else list(task.layout),
        preset=dict(task.preset),
        origin=dict(task.origin),
    )


def read(path: Path) -> Model:
    """Read a model file, or raise ModelFileError saying what is wrong with it."""
    raw, arrays = read_archive(path)
    if raw.get("format") != FORMAT:
        raise ModelFileError(f"{path} is an archive, but not an ifthen model.")
    if raw.get("version") != VERSION:
        raise ModelFileError(
            f"{path} has format version {raw.get('version')!r}; this ifthen reads version {VERSION}. "
            "Train it again, or use the ifthen that wrote it."
        )
    known = {f"task/{name}" for name in ARRAYS}
    for name in arrays:
        if name not in known and not name.startswith("population/"):
            raise ModelFileError(f"{path} is not a model: {name + '.npy'!r} does not belong in one.")
    try:
        manifest = _Manifest.model_validate(raw)
        task = _task(manifest.task, arrays)
        start = None if manifest.start is None else RuleSet.from_dict(manifest.start)
    except ValidationError as problem:
        first = problem.errors()[0]
        steps = [str(step) for step in first["loc"]]
        if len(steps) > 2 and steps[0] == "task":
            del steps[1]  # the kind of task, which is not in the file's path
        where = ".".join(steps)
        raise ModelFileError(f"{path}: in the manifest, {where}: {first['msg'].lower()}.") from None
    except (TaskError, RuleError, ParameterError, KeyError, OverflowError) as problem:
        raise ModelFileError(f"{path} holds an impossible task or start: {problem}") from None
    epochs = manifest.history.get("epoch", [])
    lengths = {len(column) for column in manifest.history.values()}
    if not epochs or len(lengths) != 1 or epochs[-1] != manifest.epoch:
        raise ModelFileError(
            f"{path}: the history must have columns of one length, up to epoch {manifest.epoch}."
        )
    return Model(
        path=path,
        versions=manifest.versions,
        system=manifest.system,
        seed=manifest.seed,
        epoch=manifest.epoch,
        parameters=manifest.parameters,
        task=task,
        history=tuple(
            dict(zip(manifest.history, row, strict=True))
            for row in zip(*manifest.history.values(), strict=True)
        ),
        population={
            name.removeprefix("population/"): array
            for name, array in arrays.items()
            if name.startswith("population/")
        },
        start=start,
    )


def check_arrays(model: Model, expected: ArraySpec) -> None:
    """Raise unless the population's arrays have the expected names, shapes and types."""
    if set(model.population) != set(expected):
        raise ModelFileError(
            f"{model.path}: a {model.system} population has {sorted(expected)}, "
            f"not {sorted(model.population)}."
        )
    for name, (shape, dtype) in expected.items():
        array = model.population[name]
        if array.shape != shape or array.dtype != dtype:
            raise ModelFileError(
                f"{model.path}: {name} must be {np.dtype(dtype)} of shape {shape}, "
                f"not {array.dtype} of shape {array.shape}."
            )


def _task(part: _TaskPart | _EnvTaskPart, arrays: Mapping[str, NDArray[Any]]) -> TabularTask | EnvTask:
    """Build the task from its part of the manifest and its arrays."""
    if isinstance(part, _EnvTaskPart):
        for name in arrays:
            if name.startswith("task/"):
                raise TaskError(f"{name + '.npy'!r} does not belong to a task that is an environment.")
        plain: dict[str, Any] = part.model_dump(exclude={"kind", "features", "action_names"})
        features = tuple(Feature.from_dict(feature) for feature in part.features)
        return EnvTask(features=features, action_names=tuple(part.action_names), **plain)
    about: dict[str, Any] = part.model_dump(exclude={"kind", "features", "action_names", "layout"})
    about |= {name: arrays[f"task/{name}"] for name in ARRAYS}
    return TabularTask(
        features=tuple(Feature.from_dict(feature) for feature in part.features),
        action_names=tuple(part.action_names),
        layout=None if part.layout is None else tuple(part.layout),
        **about,
    )
