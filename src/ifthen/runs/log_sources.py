"""What can be a log: a table in a CSV or Parquet file, arrays, or a dataset of Minari.

A row of a table is a step: what was observed, the action, and the reward that followed. What was observed
next is in the next row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError, nearest, shown
from ifthen.rules.arrays import Floats, Mask
from ifthen.systems.pplx import memory

MOST_BYTES = 2**30
"""Larger files are refused."""
MOST_NUMBERS = memory.MOST_NUMBERS // 2
"""Logs with more numbers, steps times features, are refused. Learning remembers twice as many: it adds what
was observed behind each episode."""
ACTION, REWARD, TERMINATED, TRUNCATED, EPISODE = "action", "reward", "terminated", "truncated", "episode"
"""The columns of a table that are no features. The last three may be missing."""
ARRAY_NAMES = {"actions": ACTION, "rewards": REWARD, "terminations": TERMINATED, "truncations": TRUNCATED}
"""The names that Minari and Gymnasium have for the same in arrays."""
UNCLEAR = ("done", "dones", "terminal", "terminals", "timeout", "timeouts")
"""Names of endings that do not say whether a time limit counts."""
FORM = (
    "a table (.csv or .parquet) with a row for each step: the columns action and reward; terminated, "
    "truncated or episode if there is more than one episode; and a column for each feature"
)


class Rows(NamedTuple):
    """The steps of a log, one after the other."""

    names: tuple[str, ...]
    """The features' names."""
    points: Floats
    """`(N, features)`."""
    are_whole: tuple[bool, ...]
    """Which features are whole numbers, `(features,)`."""
    actions: NDArray[Any]
    """`(N,)`: numbers from 0, or names."""
    rewards: Floats
    """`(N,)`."""
    terminated: Mask
    """`(N,)`: behind which steps an episode ended for good."""
    cut: Mask
    """`(N,)`: behind which other steps a row of another episode follows."""
    following: Floats | None = None
    """`(N, features)`: what was observed after each step; None where the next row says it."""


def rows_of(source: object, leave_out: Collection[str] = ()) -> Rows:
    """Return the steps of anything that can be a log; whether values can be learnt from them is not checked.

    Args:
        source: see `read_log`.
        leave_out: the names of columns that are no features.
    """
    if isinstance(source, (str, Path)):
        return table_rows(Path(source), leave_out)
    if isinstance(source, Mapping):
        return array_rows(source, leave_out)
    if callable(getattr(source, "iterate_episodes", None)):
        return array_rows(arrays_of_minari(source), leave_out)
    raise ParameterError(
        f"a log must be {FORM}; a mapping of arrays (observations, {', '.join(ARRAY_NAMES)}); or a dataset "
        f"of Minari. It is {shown(source)}."
    )


def table_rows(path: Path, leave_out: Collection[str]) -> Rows:
    """Return the steps in a table in a file."""
    import polars

    if path.suffix.lower() not in (".csv", ".parquet"):
        raise ParameterError(f"{path} is no log: a log is {FORM}.")
    if not path.is_file():
        raise ParameterError(f"there is no file {path} to read a log from.")
    if path.stat().st_size > MOST_BYTES:
        raise ParameterError(f"{path} has more than {MOST_BYTES >> 30} GB: give a part of the log.")
    try:
        if path.suffix.lower() == ".csv":
            table = polars.read_csv(path, infer_schema_length=None)
        else:
            n_rows = polars.scan_parquet(path).select(polars.len()).collect().item()
            check_size(n_rows, len(polars.read_parquet_schema(path)))
            table = polars.read_parquet(path)
    except ParameterError:
        raise
    except Exception as problem:  # whatever a damaged file makes polars raise
        reason = str(problem).strip().partition("\n")[0]
        raise ParameterError(
            f"{path} cannot be read as a table ({reason}). Is it whole? A CSV file must have commas "
            "between columns and points in numbers."
        ) from None
    table = table.drop(known_columns(leave_out, table.columns))
    missing = [name for name in (ACTION, REWARD) if name not in table.columns]
    if missing:
        raise ParameterError(
            f"{path} has no column {' and no column '.join(map(repr, missing))}; its columns are "
            f"{', '.join(map(repr, table.columns))}. A log is {FORM}."
        )
    refuse_unclear(table.columns)
    if not len(table):
        raise ParameterError(f"{path} has no rows below its header.")
    for name in table.columns:
        if table[name].null_count():
            row = int(table[name].is_null().arg_max() or 0) + 1
            raise ParameterError(
                f"{path}: row {row:,} below the header has no value for {name!r}. Fill it in, or leave out "
                "the whole episode: rows of an episode must follow one another."
            )
        if name not in (ACTION, EPISODE) and not is_number(table[name].dtype):
            raise ParameterError(
                f"{path}: the column {name!r} must hold numbers, and it holds {shown(table[name][0])}. If "
                "it is no feature, leave it out (--leave-out, leave_out=)."
            )
    names = [name for name in table.columns if name not in (ACTION, REWARD, TERMINATED, TRUNCATED, EPISODE)]
    columns = {name: table[name].to_numpy() for name in table.columns if name not in names}
    points = (
        table.select(polars.col(names).cast(polars.Float64)).to_numpy()
        if names
        else np.zeros((len(table), 0))
    )
    are_whole = tuple(
        not table[name].dtype.is_float() and not table[name].dtype.is_decimal() for name in names
    )
    return joined(tuple(names), points, are_whole, columns)


def is_number(kind: Any) -> bool:
    """Return whether a column of a table holds numbers, or false and true."""
    return bool(kind.is_numeric()) or str(kind) == "Boolean"


def array_rows(arrays: Mapping[Any, Any], leave_out: Collection[str]) -> Rows:
    """Return the steps in a mapping of arrays."""
    refuse_unclear(arrays)
    known = ("observations", "next_observations", EPISODE, *ARRAY_NAMES, *ARRAY_NAMES.values())
    for key in arrays:
        if key not in known:
            raise ParameterError(f"a log has no array {key!r}.{nearest(str(key), known)}")
    given = {name: as_array(str(name), column) for name, column in arrays.items() if column is not None}
    columns = {ARRAY_NAMES.get(name, name): column for name, column in given.items()}
    for name in ("observations", ACTION, REWARD):
        if name not in columns:
            raise ParameterError(
                f"a log must have the array {name!r}; there are {', '.join(map(repr, given))}."
            )
    points, following = columns.pop("observations"), columns.pop("next_observations", None)
    if points.ndim == 1:
        points, following = points[:, None], following if following is None else following[:, None]
    for label, array in (("observations", points), ("next_observations", following)):
        if array is not None and (
            array.shape != points.shape or array.ndim != 2 or array.dtype.kind not in "fiub"
        ):
            raise ParameterError(f"{label} must be numbers of shape (N, features), not {shown(array)}.")
    for name, column in columns.items():
        if column.shape != points.shape[:1]:
            raise ParameterError(
                f"{name} must have a value for each of the {len(points):,} observations; its shape is "
                f"{column.shape}."
            )
    if columns[REWARD].dtype.kind not in "fiub":
        raise ParameterError(f"rewards must be numbers, not {shown(columns[REWARD])}.")
    names = [f"f{i}" for i in range(points.shape[1])]
    left_out = known_columns(leave_out, names)
    kept = [i for i in range(len(names)) if names[i] not in left_out]
    are_whole = (points.dtype.kind in "iub",) * len(kept)
    following = None if following is None else following[:, kept].astype(np.float64)
    return joined(tuple(names[i] for i in kept), points[:, kept], are_whole, columns, following)


def arrays_of_minari(dataset: Any) -> dict[str, NDArray[Any]]:
    """Return a dataset of Minari as arrays. Its episodes have an observation more than steps."""
    parts: list[dict[str, NDArray[Any]]] = []
    for episode in dataset.iterate_episodes():
        if isinstance(episode.observations, (Mapping, tuple)):
            raise ParameterError(
                "the dataset observes several things: put them together into one array first."
            )
        observations = np.asarray(episode.observations)
        part = {name: np.asarray(getattr(episode, name)) for name in ARRAY_NAMES}
        is_last = np.arange(len(observations) - 1) == len(observations) - 2
        part["truncations"] = part["truncations"].astype(np.bool_) | is_last
        parts.append({**part, "observations": observations[:-1], "next_observations": observations[1:]})
    if not parts:
        raise ParameterError("the dataset has no episode.")
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def joined(
    names: tuple[str, ...],
    points: NDArray[Any],
    are_whole: tuple[bool, ...],
    columns: Mapping[str, NDArray[Any]],
    following: Floats | None = None,
) -> Rows:
    """Return rows; where nothing says so, no episode ends."""
    check_size(*points.shape)
    never = np.zeros(len(points), np.bool_)
    terminated = flags(TERMINATED, columns[TERMINATED]) if TERMINATED in columns else never
    cut = flags(TRUNCATED, columns[TRUNCATED]) if TRUNCATED in columns else never
    if EPISODE in columns:
        cut = cut | is_last_of_episode(columns[EPISODE])
    rewards = columns[REWARD].astype(np.float64)
    points = points.astype(np.float64)
    return Rows(names, points, are_whole, columns[ACTION], rewards, terminated, cut & ~terminated, following)


def check_size(n_steps: int, n_features: int) -> None:
    """Raise where a log is too large."""
    if n_steps * n_features > MOST_NUMBERS:
        raise ParameterError(
            f"{n_steps:,} steps with {n_features:,} features are too many: {MOST_NUMBERS:,} numbers can be "
            "learnt from. Give some of the episodes, or leave out columns."
        )


def is_last_of_episode(episodes: NDArray[Any]) -> Mask:
    """Return behind which rows the number or the name of the episode changes; it must not come back."""
    changes: Mask = np.append(episodes[1:] != episodes[:-1], True)
    if np.count_nonzero(changes) > len(np.unique(episodes)):
        raise ParameterError(
            "an episode goes on after another one has begun: sort the rows by episode, and then by time."
        )
    return changes & (np.arange(len(episodes)) < len(episodes) - 1)


def flags(name: str, column: NDArray[Any]) -> Mask:
    """Return a column of zeros and ones, or of false and true, as a mask."""
    is_number = column.dtype.kind in "fiub"
    wrong = column[~np.isin(column, (0, 1))] if is_number else column
    if len(wrong):
        raise ParameterError(
            f"{name} must be 0 or 1, or false or true, in every row, and there is {wrong[0]}."
        )
    return column.astype(np.bool_)


def as_array(name: str, values: Any) -> NDArray[Any]:
    """Return an array, or raise where rows differ in length."""
    try:
        return np.asarray(values)
    except ValueError:
        raise ParameterError(f"{name} must be an array, and its rows differ in length.") from None


def refuse_unclear(names: Iterable[Any]) -> None:
    """Raise where a column says that an episode is over, but not why."""
    for name in names:
        if name in UNCLEAR:
            raise ParameterError(
                f"{name!r} does not say why an episode is over: call it terminated if nothing comes after "
                "such a step, and truncated if somebody stopped there, as time limits do."
            )


def known_columns(leave_out: Collection[str], names: Collection[str]) -> list[str]:
    """Return the names of columns to leave out, or raise where there is no such column."""
    for name in leave_out:
        if name not in names:
            raise ParameterError(f"there is no column {name!r} to leave out.{nearest(name, names)}")
    return list(leave_out)
