"""Model files: a system, its task and its population in one archive.

The same file is model and checkpoint: whoever loads it can predict, evaluate and go on learning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Discriminator, Tag, ValidationError, field_validator

from ifthen.checks import has_more_values
from ifthen.errors import (
    IfthenError,
    ModelFileError,
    OutputError,
    ParameterError,
    RuleError,
    TaskError,
    shown,
)
from ifthen.provenance import versions
from ifthen.rules.arrays import Ints
from ifthen.rules.feature import Feature, lows_and_highs
from ifthen.rules.ruleset import RuleSet
from ifthen.store import read_archive, write_archive
from ifthen.systems.records import Records
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.imports import could_import
from ifthen.tasks.table_checks import ARRAYS
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Task


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Part(_Strict):
    name: str
    features: list[dict[str, bool | str | int | float | list[str]]]
    action_names: list[str]
    gamma: float
    t_max: int
    noise_seed: int
    origin: dict[str, str | float | int | bool | None]


class TablePart(_Part):
    """What a file says of a table, besides its arrays."""

    kind: Literal["tabular"] = "tabular"
    enumerations: int
    observes: Literal["features", "state"]
    layout: list[str] | None
    preset: dict[str, int]


class ObservedPart(_Strict):
    """What a file says of an array inside observations."""

    path: list[str | int]
    label: str
    shape: list[int]
    dtype: str
    kept: list[int] | None


class StatisticsPart(_Strict):
    """What a file says of a wrapper that had learnt statistics."""

    wrapper: str
    mean: list[float]
    var: list[float]


class TeacherPart(BaseModel):
    """What a file says of a teacher, which it does not hold: its name, and whether it gave action values."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: str
    values: bool


class EnvironmentPart(_Part):
    """What a file says of an environment."""

    kind: Literal["environment"] = "environment"
    environment: str
    options: dict[str, bool | int | float | str]
    episodes: int
    floor: float
    default_action: int | None
    player: Literal["auto", "twin", "sync"]
    lanes: int = 0
    leave_out: list[str] = []
    observed: list[ObservedPart] = []
    first_action: int = 0
    statistics: list[StatisticsPart] = []
    disturbances: dict[str, float] = {}

    @field_validator("player", mode="before")
    @classmethod
    def _known_player(cls, player: Any) -> Any:
        return "auto" if player == "native" else player  # a way to play that older files may name


def _kind_of(task_part: object) -> Any:
    """Return which kind of task is described; files did not say so while there was one kind only."""
    if isinstance(task_part, Mapping):
        return task_part.get("kind", "tabular")
    return getattr(task_part, "kind", None)


TaskPart = Annotated[
    Annotated[TablePart, Tag("tabular")] | Annotated[EnvironmentPart, Tag("environment")],
    Discriminator(_kind_of),
]


def task_from_file(task_part: TablePart | EnvironmentPart, arrays: Mapping[str, NDArray[Any]]) -> Task:
    """Return the task that a file describes, or raise TaskError.

    Args:
        task_part: the plain data.
        arrays: the arrays of the file that are the task's, by name.
    """
    arguments: dict[str, Any] = task_part.model_dump(exclude={"kind", "features", "action_names", "layout"})
    arguments["features"] = tuple(Feature.from_dict(feature) for feature in task_part.features)
    arguments["action_names"] = tuple(task_part.action_names)
    if isinstance(task_part, EnvironmentPart):
        for name in arrays:
            raise TaskError(f"the array {name!r} does not belong to a task that is an environment.")
        if option := could_import(task_part.options.values()):
            arguments["factory"] = partial(_refuse_import, option)
        return EnvTask(**arguments)
    arguments["layout"] = None if task_part.layout is None else tuple(task_part.layout)
    for array in arrays.values():
        array.setflags(write=False)
    return TabularTask(**arguments, **{name: cast(Any, arrays[name]) for name in ARRAYS})


def _refuse_import(option: str) -> None:
    """Refuse to make an environment that could import a package."""
    raise TaskError(
        f"its option {option!r} could import a package, and files import none. Give the environment "
        "yourself: ifthen.load(path, env=…)."
    )


FORMAT = "ifthen-model"
MOST_VALUES = 100_000
"""A manifest holds at most this many values beside history and start. A report of a wrong value takes
kilobytes of memory."""
LARGEST_WHOLE = 2**63 - 1
OF_POPULATIONS = (
    "bounds actions learnt fitness lengths action numerosity experience stamp error niche_error set_size "
    "weights covariance held clock pending points moves rewards states scale nets terms useful counts "
    "together numbers strength recent kept"
)
"""The names of arrays that the populations of systems may have."""
KNOWN = {f"task/{name}" for name in ARRAYS} | {f"population/{name}" for name in OF_POPULATIONS.split()}
"""The arrays that a model may have."""
VERSION = 1
ArraySpec = dict[str, tuple[tuple[int, ...], type]]


class _Manifest(_Strict):
    format: str
    version: int
    versions: dict[str, str]
    system: str
    seed: int
    epoch: int
    parameters: dict[str, bool | int | float | str | list[str] | None]
    task: TaskPart
    history: Any
    start: dict[str, Any] | None = None
    require: list[str] = []
    teacher: TeacherPart | None = None


@dataclass(frozen=True)
class Model:
    """What a model file holds, checked as far as it can be without knowing the system."""

    path: Path
    versions: dict[str, str]
    system: str
    seed: int
    epoch: int
    parameters: dict[str, Any]
    task: Task
    history: Records
    population: dict[str, NDArray[Any]]
    start: RuleSet | None = None
    require: list[str] = field(default_factory=list)
    teacher: TeacherPart | None = None


def write(
    path: Path,
    manifest: Mapping[str, Any],
    task: Task,
    population: Mapping[str, NDArray[Any]],
) -> None:
    """Write a model file, or raise OutputError where it would be too large to be read."""
    header = {"format": FORMAT, "version": VERSION, "versions": versions()}
    arrays = {f"population/{name}": array for name, array in population.items()}
    arrays = {f"task/{name}": array for name, array in task.arrays().items()} | arrays
    whole_manifest = {**header, **manifest, "task": task.to_dict()}
    _check_values(path, whole_manifest, OutputError)
    write_archive(path, whole_manifest, arrays)


def _check_values(path: Path, manifest: Mapping[str, Any], error: type[IfthenError]) -> None:
    """Raise an error of some class where a manifest has more values than are read."""
    counted = {name: value for name, value in manifest.items() if name not in ("history", "start")}
    if has_more_values(counted, MOST_VALUES):
        raise error(
            f"{path}: the manifest has more than {MOST_VALUES:,} values beside its history: it describes a "
            "task with too many actions or features to be read."
        )


def read(path: Path) -> Model:
    """Read a model file, or raise ModelFileError saying what is wrong with it."""
    raw_manifest, arrays = read_archive(path, KNOWN)
    if raw_manifest.get("format") != FORMAT:
        raise ModelFileError(f"{path} is an archive, but not an ifthen model.")
    if raw_manifest.get("version") != VERSION:
        raise ModelFileError(
            f"{path} has format version {shown(raw_manifest.get('version'))}; this ifthen reads version "
            f"{VERSION}. Train it again, or use the ifthen that wrote it."
        )
    _check_values(path, raw_manifest, ModelFileError)
    try:
        manifest = _Manifest.model_validate(raw_manifest)
        task = task_from_file(manifest.task, _under("task/", arrays))
        start = None if manifest.start is None else RuleSet.from_dict(manifest.start)
    except ValidationError as problem:
        error = problem.errors(include_url=False)[0]
        steps = [str(step) for step in error["loc"]]
        if len(steps) > 2 and steps[0] == "task":
            del steps[1]  # the kind of task, which is not in the file's path
        place = ".".join(steps)
        raise ModelFileError(f"{path}: in the manifest, {place}: {error['msg'].lower()}.") from None
    except (TaskError, RuleError, ParameterError, KeyError, OverflowError) as problem:
        raise ModelFileError(f"{path} holds an impossible task or start: {problem}") from None
    return Model(
        path=path,
        task=task,
        history=_history(path, manifest.history, manifest.epoch),
        population=_under("population/", arrays),
        start=start,
        require=manifest.require,
        teacher=manifest.teacher,
        **{name: getattr(manifest, name) for name in ("versions", "system", "seed", "epoch", "parameters")},
    )


def _history(path: Path, columns: Any, epoch: int) -> Records:
    """Return the history that a file gives by columns, or raise naming the first thing that is wrong."""
    if not isinstance(columns, dict) or not all(isinstance(column, list) for column in columns.values()):
        raise ModelFileError(f"{path}: in the manifest, history: columns must be lists of numbers.")
    for name, column in columns.items():
        for row, value in enumerate(column):
            is_float = value is None or type(value) is float
            if not is_float and (type(value) is not int or abs(value) > LARGEST_WHOLE):
                place = f"in the manifest, history.{shown(name)}.{row}"
                raise ModelFileError(f"{path}: {place}: expected a number, not {shown(value)}.")
        if float in (types := set(map(type, column))) and int in types:
            columns[name] = [float(value) if type(value) is int else value for value in column]
    epochs = columns.get("epoch", [])
    if not epochs or len(set(map(len, columns.values()))) != 1 or epochs[-1] != epoch:
        raise ModelFileError(f"{path}: the history must have columns of one length, up to epoch {epoch}.")
    return Records(columns)


def _under(folder: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a folder in the archive, by their names there."""
    return {name.removeprefix(folder): array for name, array in arrays.items() if name.startswith(folder)}


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


def wrong_rules(bounds: NDArray[Any], actions: NDArray[np.int32], task: Task) -> str | None:
    """Return what is wrong with conditions `(…, features, 2)` and actions of a task's rules, if anything."""
    lows, highs = lows_and_highs(task.features)
    if not ((bounds >= lows[:, None]) & (bounds <= highs[:, None])).all():  # NaN is not inside either
        return "some conditions leave the ranges of the features"
    of_integers = bounds[..., [feature.is_integer for feature in task.features], :]
    if (of_integers != np.rint(of_integers)).any():
        return "the bounds of integer features must be whole numbers"
    if (actions < 0).any() or (actions >= task.n_actions).any():
        return "some actions do not exist in the task"
    return None


def check_history(model: Model, needed: tuple[str, ...], provisional: bool = False) -> None:
    """Raise unless the history has a row for each epoch, with numbers where learning goes on from them.

    Other columns may come and go with versions: those that a file lacks are None.

    Args:
        model: the file.
        needed: the columns that must have numbers, the epoch among them.
        provisional: whether a second row of the last epoch may follow: learning stopped inside the next one.
    """
    missing = [name for name in needed if name not in model.history[0]]
    if missing or any(None in model.history.column(name) for name in needed):
        raise ModelFileError(f"{model.path}: the history must have numbers in columns {', '.join(needed)}.")
    epochs, rows = model.history.column("epoch"), len(model.history) - model.epoch
    if rows not in (1, 1 + provisional) or any(e != min(i, model.epoch) for i, e in enumerate(epochs)):
        raise ModelFileError(
            f"{model.path}: the history must have a row for each of epochs 0 to {model.epoch}."
        )


def refuse(model: Model, problem: str | None) -> None:
    """Raise where there is a problem with a model file."""
    if problem:
        raise ModelFileError(f"{model.path}: {problem}.")


def wrong_lengths(lengths: Ints, most: int) -> str | None:
    """Return what is wrong with how many rules rulesets have in rows of `most` rules, if anything."""
    is_valid = lengths.min() >= 1 and lengths.max() <= most
    return None if is_valid else f"lengths must be from 1 to {most}, the rules of a row"
