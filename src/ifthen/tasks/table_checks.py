"""Checks of a tabular task: everything that is wrong is said before any work starts.

`task` is a TabularTask of which only names were checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ifthen.checks import real_number, whole_number
from ifthen.errors import TaskError
from ifthen.randomness import check_seed
from ifthen.rules.feature import lows_and_highs

if TYPE_CHECKING:
    from ifthen.tasks.tabular_task import TabularTask

OUTCOME_LIMIT = 256
WIDTH_LIMIT = 1_000_000
T_MAX_LIMIT = 1_000_000
EPISODE_LIMIT = 10_000_000
LARGEST_DISCOUNT = 0.9999  # beyond it sweeps take too long to settle; exactly 1 is summed over t_max steps
ARRAYS: dict[str, type] = {
    "state_features": np.int32,
    "next_state": np.int32,
    "reward": np.float64,
    "done": np.bool_,
    "probability": np.float64,
    "initial_states": np.int32,
}


def checked_fields(task: TabularTask) -> dict[str, Any]:
    """Return a task's numbers as plain ones and its arrays as frozen copies, or raise TaskError."""
    _check_plain(task)
    _check_layout(task)
    gamma = real_number("gamma", task.gamma, 1e-6, 1, TaskError)
    if LARGEST_DISCOUNT < gamma < 1:
        raise TaskError(f"gamma must be at most {LARGEST_DISCOUNT}, or exactly 1, not {gamma!r}.")
    if task.observes not in ("features", "state"):
        raise TaskError(f"observes must be 'features' or 'state', not {task.observes!r}.")
    fields: dict[str, Any] = {
        "gamma": gamma,
        "t_max": whole_number("t_max", task.t_max, 1, T_MAX_LIMIT, TaskError),
        "enumerations": whole_number("enumerations", task.enumerations, 1, T_MAX_LIMIT, TaskError),
        "noise_seed": check_seed(task.noise_seed, "noise_seed"),
    }
    arrays = {name: _frozen(name, getattr(task, name), dtype) for name, dtype in ARRAYS.items()}
    _check_shapes(task, arrays)
    _check_values(task, arrays)
    episodes = fields["enumerations"] * len(arrays["initial_states"])
    if episodes > EPISODE_LIMIT:
        raise TaskError(f"z would have {episodes:,} episodes; at most {EPISODE_LIMIT:,} are supported.")
    return fields | arrays


def _check_plain(task: TabularTask) -> None:
    """Raise unless features, preset and origin are what tables and files can hold."""
    for feature in task.features:
        if not feature.is_integer:
            raise TaskError(
                f"the features of a tabular task must be of kind 'integer', but {feature.name!r} is "
                f"{feature.kind!r}."
            )
        if feature.width > WIDTH_LIMIT:
            raise TaskError(
                f"feature {feature.name!r} can take {feature.width:,} values; at most {WIDTH_LIMIT:,} "
                "are supported."
            )
    for name, number in task.preset.items():
        whole_number(f"preset {name!r}", number, 1, 10**9, TaskError)
    if not all(value is None or isinstance(value, (str, int, float)) for value in task.origin.values()):
        raise TaskError(f"origin must hold texts and numbers only, not {dict(task.origin)!r}.")


def _check_layout(task: TabularTask) -> None:
    """Raise unless the map, where there is one, has a letter for every cell.

    There is a cell for every value of the features x and y. With other features there is one for every state,
    row by row.
    """
    rows = task.layout
    if rows is None:
        return
    are_texts = isinstance(rows, tuple) and all(isinstance(row, str) for row in rows)
    lengths, widths = [len(row) for row in rows] if are_texts else [], [f.width for f in task.features]
    if len(widths) == 2 and lengths == widths[:1] * widths[1]:
        return
    not_coordinates = [feature.name for feature in task.features] != ["x", "y"]
    if not not_coordinates or len(set(lengths)) != 1 or np.shape(task.next_state)[:1] != (sum(lengths),):
        raise TaskError(
            f"layout must be a tuple of texts, one per row of cells, for features of widths {widths} or with "
            f"a cell for each state, not {rows!r}."
        )


def _frozen(name: str, values: Any, dtype: type) -> NDArray[Any]:
    """Return a private, read-only copy of an array, or raise if it does not fit its type.

    An array that is read-only already, as those from files are, is not held twice.
    """
    try:
        source = np.asarray(values)
        flags, right_type = source.flags, source.dtype == dtype
        is_private = right_type and flags.owndata and flags.c_contiguous and not flags.writeable
        array: NDArray[Any] = source if is_private else np.array(source, dtype=dtype, order="C")
        fits = source.dtype.kind in "biuf" and bool(np.all(array == source))
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise TaskError(f"{name} must hold finite numbers that {np.dtype(dtype)} can hold exactly.")
    array.setflags(write=False)
    return array


def _check_shapes(task: TabularTask, arrays: dict[str, NDArray[Any]]) -> None:
    """Raise unless the arrays fit each other."""
    n_states, outcomes = arrays["state_features"].shape[:1], arrays["probability"].size
    shape = (*n_states, len(task.action_names), outcomes)
    shapes: dict[str, tuple[int, ...]] = {
        "state_features": (*n_states, len(task.features)),
        "next_state": shape,
        "reward": shape,
        "done": shape,
        "probability": (outcomes,),
        "initial_states": (arrays["initial_states"].size,),
    }
    for name, array in arrays.items():
        if array.shape != shapes[name] or array.size == 0:
            raise TaskError(f"{name} must have shape {shapes[name]} and not be empty, not {array.shape}.")
    if outcomes > OUTCOME_LIMIT:
        raise TaskError(f"at most {OUTCOME_LIMIT} outcomes are supported, not {outcomes}.")


def _check_values(task: TabularTask, arrays: dict[str, NDArray[Any]]) -> None:
    """Raise unless the arrays hold only possible values."""
    n_states, probability = len(arrays["state_features"]), arrays["probability"]
    for name in ("next_state", "initial_states"):
        if arrays[name].min() < 0 or arrays[name].max() >= n_states:
            raise TaskError(f"{name} must hold states from 0 to {n_states - 1}.")
    if not np.isfinite(arrays["reward"]).all():
        raise TaskError("reward must hold finite numbers only.")
    lows, highs = lows_and_highs(task.features)
    if (arrays["state_features"] < lows).any() or (arrays["state_features"] > highs).any():
        raise TaskError("state_features must lie within the ranges of the features.")
    if not (probability > 0).all() or abs(probability.sum() - 1) > 1e-9:
        raise TaskError("probability must be positive and add up to 1.")
