"""What can be a log: a table in a CSV or Parquet file, arrays, or a dataset of Minari.

A row of a table is a step: what was observed, the action, and the reward that followed. What was observed
next is in the next row.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError, listed, shown
from ifthen.rules.arrays import Floats, Mask

MOST_BYTES = 2**30
"""Larger files are refused."""
ACTION, REWARD, TERMINATION, TRUNCATION, EPISODE = "action", "reward", "terminated", "truncated", "episode"
"""The columns of a table that are no features. The last three may be missing."""
FORM = (
    "a table (.csv or .parquet) with a row for each step, with the columns action and reward, and "
    "terminated, truncated or episode if there is more than one episode; every other column is a feature"
)


class Rows(NamedTuple):
    """The steps of a log, one after the other."""

    names: tuple[str, ...]
    """The features' names."""
    points: NDArray[Any]
    """`(N, features)`."""
    kinds: tuple[bool, ...]
    """Which features are whole numbers, `(features,)`."""
    actions: NDArray[Any]
    """`(N,)`: numbers from 0, or names."""
    rewards: Floats
    """`(N,)`."""
    terminated: Mask
    """`(N,)`: behind which steps an episode ended for good."""
    cut: Mask
    """`(N,)`: behind which other steps a row of another episode follows."""
    following: NDArray[Any] | None = None
    """`(N, features)`: what was observed after each step; None where the next row says it."""


def rows_of(source: object) -> Rows:
    """Return the steps of anything that can be a log; the numbers are not checked yet."""
    if isinstance(source, (str, Path)):
        return table_rows(Path(source))
    if isinstance(source, Mapping):
        return array_rows(source)
    if callable(getattr(source, "iterate_episodes", None)):
        return minari_rows(source)
    raise ParameterError(
        f"a log must be {FORM}; a mapping of arrays (observations, actions, rewards, terminations, "
        f"truncations); or a dataset of Minari. It is {shown(source)}."
    )


def table_rows(path: Path) -> Rows:
    """Return the steps in a table in a file."""
    import polars

    readers: dict[str, Any] = {".csv": polars.read_csv, ".parquet": polars.read_parquet}
    if path.suffix.lower() not in readers:
        raise ParameterError(f"{path} is no log: a log is {FORM}.")
    if not path.is_file():
        raise ParameterError(f"there is no file {path} to read a log from.")
    if path.stat().st_size > MOST_BYTES:
        raise ParameterError(f"{path} has more than {MOST_BYTES >> 30} GB: give a part of the log.")
    try:
        table = readers[path.suffix.lower()](path)
    except Exception as problem:  # whatever a damaged file makes polars raise
        reason = str(problem).strip().partition("\n")[0]
        raise ParameterError(f"{path} cannot be read as a table: {reason}") from None
    columns = set(table.columns)
    if missing := [name for name in (ACTION, REWARD) if name not in columns]:
        raise ParameterError(f"{path} has no column {listed(missing)}. A log is {FORM}.")
    names = [name for name in table.columns if name not in (ACTION, REWARD, TERMINATION, TRUNCATION, EPISODE)]
    for name in table.columns:
        if table[name].null_count():
            row = int(table[name].is_null().arg_max() or 0) + 1
            raise ParameterError(
                f"{path}: row {row:,} has no value for {name!r}. Every step needs all of them."
            )
        if name not in (ACTION, EPISODE) and not (
            table[name].dtype.is_numeric() or table[name].dtype == polars.Boolean
        ):
            raise ParameterError(
                f"{path}: the column {name!r} must hold numbers, and it holds {table[name].dtype}."
            )
    kinds = tuple(table[name].dtype.is_integer() or table[name].dtype == polars.Boolean for name in names)
    points = (
        np.column_stack([table[name].cast(polars.Float64).to_numpy() for name in names])
        if names
        else np.zeros((len(table), 0))
    )
    terminated = flags(table[TERMINATION].to_numpy(), TERMINATION) if TERMINATION in columns else None
    cut = flags(table[TRUNCATION].to_numpy(), TRUNCATION) if TRUNCATION in columns else None
    if EPISODE in columns:
        numbers = table[EPISODE].to_numpy()
        ends = np.append(numbers[1:] != numbers[:-1], False)
        cut = ends if cut is None else cut | ends
    rewards = table[REWARD].cast(polars.Float64).to_numpy()
    return rows_with_ends(tuple(names), points, kinds, table[ACTION].to_numpy(), rewards, terminated, cut)


def array_rows(arrays: Mapping[Any, Any]) -> Rows:
    """Return the steps in a mapping of arrays."""
    needed = ("observations", "actions", "rewards")
    if missing := [name for name in needed if name not in arrays]:
        raise ParameterError(
            f"the arrays of a log must have {listed(missing)}. There are {listed(sorted(map(str, arrays)))}."
        )
    points, actions, rewards = (np.asarray(arrays[name]) for name in needed)
    following = None if arrays.get("next_observations") is None else np.asarray(arrays["next_observations"])
    flag_columns = [arrays.get(name) for name in ("terminations", "truncations")]
    terminated, cut = (None if column is None else flags(column, "an ending") for column in flag_columns)
    points = points[:, None] if points.ndim == 1 else points
    following = following[:, None] if following is not None and following.ndim == 1 else following
    if points.ndim != 2 or points.dtype.kind not in "fiub":
        raise ParameterError(
            f"observations must be numbers `(N, features)`, not {shown(arrays['observations'])}."
        )
    for name, column in (
        ("actions", actions),
        ("rewards", rewards),
        ("terminations", terminated),
        ("truncations", cut),
    ):
        if column is not None and column.shape != points.shape[:1]:
            raise ParameterError(
                f"{name} must have a number for each of the {len(points):,} observations; their shape is "
                f"{column.shape}."
            )
    if following is not None and following.shape != points.shape:
        raise ParameterError(
            f"next_observations must have the shape of observations, {points.shape}; it is {following.shape}."
        )
    if rewards.dtype.kind not in "fiub":
        raise ParameterError(f"rewards must be numbers, not {shown(arrays['rewards'])}.")
    names = tuple(f"f{i}" for i in range(points.shape[1]))
    kinds = (points.dtype.kind in "iub",) * len(names)
    return rows_with_ends(
        names, points, kinds, actions, rewards.astype(np.float64), terminated, cut, following
    )


def minari_rows(dataset: Any) -> Rows:
    """Return the steps of a dataset of Minari."""
    columns: dict[str, list[NDArray[Any]]] = {
        name: []
        for name in ("observations", "actions", "rewards", "terminations", "truncations", "next_observations")
    }
    for episode in dataset.iterate_episodes():
        observations = np.asarray(episode.observations)
        if observations.dtype == object or isinstance(episode.observations, Mapping):
            raise ParameterError(
                "the dataset observes several things: put them together into one array first."
            )
        columns["observations"].append(observations[:-1])
        columns["next_observations"].append(observations[1:])
        for name in ("actions", "rewards", "terminations", "truncations"):
            columns[name].append(np.asarray(getattr(episode, name)))
        columns["truncations"][-1] = columns["truncations"][-1] | (
            np.arange(len(observations) - 1) == len(observations) - 2
        )
    if not columns["rewards"]:
        raise ParameterError("the dataset has no episode.")
    return array_rows({name: np.concatenate(parts) for name, parts in columns.items()})


def flags(column: Any, name: str) -> Mask:
    """Return a column of zeros and ones, or of false and true, as a mask."""
    values = np.asarray(column)
    if values.dtype.kind not in "fiub" or not np.isin(values, (0, 1)).all():
        raise ParameterError(f"{name} must be 0 or 1, or false or true, in every row, not {shown(values)}.")
    return values.astype(np.bool_)


def rows_with_ends(
    names: tuple[str, ...],
    points: NDArray[Any],
    kinds: tuple[bool, ...],
    actions: NDArray[Any],
    rewards: Floats,
    terminated: Mask | None,
    cut: Mask | None,
    following: NDArray[Any] | None = None,
) -> Rows:
    """Return rows; where nothing says so, no episode ends."""
    never = np.zeros(len(points), np.bool_)
    terminated = never if terminated is None else terminated
    return Rows(
        names,
        points,
        kinds,
        actions,
        rewards,
        terminated,
        (never if cut is None else cut) & ~terminated,
        following,
    )
