"""Logs: steps that were taken elsewhere, to learn from without an environment.

`log_sources.py` says what can be a log. Here its numbers are checked, and it becomes features, actions and
episodes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.digits import plural
from ifthen.errors import ParameterError, listed, nearest, shown
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.feature import INTEGER_LIMIT, Feature
from ifthen.runs.log_sources import REWARD, Rows, rows_of
from ifthen.simulate.trajectories import TERMINATED, TRUNCATED, Trajectory
from ifthen.tasks.task import Task

MOST_FEATURES = 1000
"""Logs that observe more numbers are refused."""
MOST_ACTIONS = 1000
"""Logs with more actions are refused."""
LARGEST = float(np.finfo(np.float32).max)
"""Numbers beyond this are refused: values are learnt in single precision."""
LEAST_POWER = -300
"""Ranges are rounded to no smaller power of ten."""
KEPT_VALUES = 0.5
"""At least this share of the different values of a column must differ in single precision."""
MOST_OUTSIDE = 0.5
"""A log has at most this share of its observations outside the range that a task gives a feature."""
EDGE_DIGITS = 3
"""The ends of a feature's range are rounded outward to this many digits of its width."""


class StepLog(NamedTuple):
    """Steps that were taken elsewhere."""

    features: tuple[Feature, ...]
    """What was observed."""
    action_names: tuple[str, ...]
    """What could be done."""
    episodes: tuple[Trajectory, ...]
    """The steps, episode by episode, in the order of the log."""

    @property
    def n_steps(self) -> int:
        """The number of steps."""
        return sum(len(episode.actions) for episode in self.episodes)

    @property
    def action_shares(self) -> Floats:
        """The share of the steps in which each action was taken, `(actions,)`."""
        actions = np.concatenate([episode.actions for episode in self.episodes])
        return np.bincount(actions, minlength=len(self.action_names)) / len(actions)


def read_log(
    source: object,
    task: Task | None = None,
    action_names: Sequence[str] | None = None,
    leave_out: Collection[str] = (),
) -> StepLog:
    """Return the steps of a log, checked.

    Args:
        source: the path of a CSV or Parquet file; a mapping of arrays with the names that Minari and
            Gymnasium use: `observations` `(N, features)`, `actions`, `rewards`, `terminations`, and
            `truncations` and `next_observations` if they are known, each with N rows; or a dataset of
            Minari.
        task: gives features and actions their names, ranges and units; by default those of the log.
        action_names: names of the actions in the order of their numbers. Where the log has names itself,
            their order; the alphabetical one where None.
        leave_out: the names of columns that are no features.
    """
    rows = rows_of(source, leave_out)
    check_numbers(rows)
    if task is None:
        features, (names, actions) = features_of(rows), numbered_actions(rows.actions, action_names)
    elif action_names is not None:
        raise ParameterError(
            f"the actions have the names that {task.name} gives them: leave out action_names."
        )
    else:
        features, names = task.features, task.action_names
        rows, actions = as_in_task(rows, task)
    log = StepLog(features, names, episodes_of(rows, actions))
    if not log.episodes:
        raise ParameterError("a log must hold a step and what followed it, and this one has no such step.")
    if np.count_nonzero(log.action_shares) < 2:
        raise ParameterError(
            "all steps of the log take the same action: nothing tells what another would have been worth."
        )
    rewards = np.concatenate([episode.rewards for episode in log.episodes])
    if np.ptp(rewards) == 0 and all(episode.ending != TERMINATED for episode in log.episodes):
        raise ParameterError(
            f"every reward of the log is {rewards[0]:g}, and no episode terminates: nothing tells good "
            "actions from bad ones. If episodes end for good, say so in a column terminated: otherwise "
            "their last steps are left out, as what they led to is not known."
        )
    return log


def check_numbers(rows: Rows) -> None:
    """Raise where a log has numbers that nothing can be learnt from."""
    n_features = rows.points.shape[1]
    if not 1 <= n_features <= MOST_FEATURES:
        raise ParameterError(
            f"a log must observe 1 to {MOST_FEATURES:,} numbers, and this one observes {n_features:,}. "
            "Every column that is not action, reward, terminated, truncated or episode is a feature."
        )
    columns = [*zip(rows.names, rows.points.T, strict=True), (REWARD, rows.rewards)]
    if rows.following is not None:
        columns += [
            (f"next {name}", column) for name, column in zip(rows.names, rows.following.T, strict=True)
        ]
    for name, column in columns:
        is_wrong = ~(np.abs(column) <= LARGEST)
        if is_wrong.any():
            row = int(is_wrong.argmax())
            raise ParameterError(
                f"row {row + 1:,} of the log has {column[row]} for {name!r}: numbers must be finite, and "
                "at most 3.4e38."
            )
        n_values, n_kept = len(np.unique(column)), len(np.unique(column.astype(np.float32)))
        if n_kept < KEPT_VALUES * n_values:
            raise ParameterError(
                f"{name!r} has {n_values:,} different values, and only {n_kept:,} of them differ in single "
                "precision. Leave it out if it is a time stamp or a number of the row (--leave-out, "
                "leave_out=), or subtract its least value."
            )


def features_of(rows: Rows) -> tuple[Feature, ...]:
    """Return the features of a log; their ranges are those of the numbers in it."""
    points = rows.points if rows.following is None else np.vstack([rows.points, rows.following])
    lows, highs = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    features = []
    for name, low, high, is_whole in zip(
        rows.names, lows.tolist(), highs.tolist(), rows.are_whole, strict=True
    ):
        if is_whole and max(-low, high) <= INTEGER_LIMIT:
            features.append(Feature(name, int(low), int(high), "integer", clips=True))
            continue
        ends = rounded_outward(low, high) if high > low else (low, high)
        features.append(Feature(name, ends[0], ends[1], "real", clips=True))
    return tuple(features)


def rounded_outward(low: float, high: float) -> tuple[float, float]:
    """Return the ends of a range with few digits, so that nothing in it is left out."""
    unit = 10.0 ** max(LEAST_POWER, math.floor(math.log10(high - low)) + 1 - EDGE_DIGITS)
    ends = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    shortest = float(f"{ends[0]:.12g}"), float(f"{ends[1]:.12g}")
    return min(shortest[0], low), max(shortest[1], high)


def numbered_actions(
    actions: NDArray[Any], names: Sequence[str] | None = None
) -> tuple[tuple[str, ...], Ints]:
    """Return the names of a log's actions, and the actions as numbers from 0; see `read_log`."""
    if names is not None and (not 2 <= len(names) <= MOST_ACTIONS or len(set(names)) < len(names)):
        raise ParameterError(
            f"action_names must be 2 to {MOST_ACTIONS:,} different names, not {shown(names)}."
        )
    if actions.dtype.kind in "OUT" and all(isinstance(action, str) for action in actions.tolist()):
        logged, places = np.unique(actions.astype(str), return_inverse=True)
        ordered = tuple(names or logged.tolist())
        if len(ordered) > MOST_ACTIONS:
            raise ParameterError(f"the log has {len(ordered):,} actions; {MOST_ACTIONS:,} can be told apart.")
        for name in logged.tolist():
            if name not in ordered:
                raise ParameterError(f"the log takes the action {name!r}.{nearest(name, ordered)}")
        return ordered, np.array([ordered.index(name) for name in logged.tolist()])[places]
    most = MOST_ACTIONS if names is None else len(names)
    is_number = actions.dtype.kind in "iufb"
    wrong = actions[~np.isin(actions, np.arange(most))] if is_number else actions
    if len(wrong):
        raise ParameterError(
            f"actions must be whole numbers from 0 to {most - 1}, or names, and there is "
            f"{shown(wrong[0].item())}."
        )
    numbers = actions.astype(np.int64)
    return tuple(names or (f"action {a}" for a in range(max(2, int(numbers.max()) + 1)))), numbers


def as_in_task(rows: Rows, task: Task) -> tuple[Rows, Ints]:
    """Return rows with the features in the task's order, and the actions by the task's numbers."""
    names = tuple(feature.name for feature in task.features)
    if len(names) != len(rows.names):
        raise ParameterError(
            f"{task.name} observes {plural(len(names), 'number')}, and the log has "
            f"{plural(len(rows.names), 'feature')}: {listed(rows.names)}."
        )
    if set(rows.names) == set(names):
        order = [rows.names.index(name) for name in names]
        following = None if rows.following is None else rows.following[:, order]
        rows = rows._replace(names=names, points=rows.points[:, order], following=following)
    elif rows.names != tuple(f"f{i}" for i in range(len(names))):
        raise ParameterError(
            f"the features of the log are {listed(rows.names)}, and those of {task.name} are "
            f"{listed(names)}: give the task the names of the log (--task-set "
            f"feature_names={','.join(rows.names)}, in the task's order)."
        )
    for feature, column in zip(task.features, rows.points.T, strict=True):
        is_outside = (column < feature.low) | (column > feature.high)
        if is_outside.mean() > MOST_OUTSIDE:
            raise ParameterError(
                f"{feature.name} lies outside {feature.low} to {feature.high}, its range in {task.name}, "
                f"in {is_outside.mean():.0%} of the log's rows. Is it measured in the same unit?"
            )
    return rows, numbered_actions(rows.actions, task.action_names)[1]


def episodes_of(rows: Rows, actions: Ints) -> tuple[Trajectory, ...]:
    """Return the steps episode by episode.

    Where the log does not say what was observed after the last step of an episode that was cut, that step is
    left out: what it led to is not known.
    """
    ends = np.flatnonzero(rows.terminated | rows.cut)
    if not len(ends) or ends[-1] != len(actions) - 1:
        ends = np.append(ends, len(actions) - 1)
    episodes, first = [], 0
    for end in ends.tolist():
        is_over = bool(rows.terminated[end])
        last_point = rows.points[end] if rows.following is None else rows.following[end]
        behind = end + 1 if is_over or rows.following is not None else end
        if behind > first:
            ending = TERMINATED if is_over else TRUNCATED
            points = rows.points[first:behind].astype(np.float64)
            steps = (points, actions[first:behind], rows.rewards[first:behind])
            episodes.append(Trajectory(*steps, ending, last_point.astype(np.float64)))
        first = end + 1
    return tuple(episodes)


def in_pieces(episode: Trajectory, most_steps: int) -> list[Trajectory]:
    """Return an episode in pieces of at most this many steps."""
    pieces, n_steps = [], len(episode.actions)
    for first in range(0, n_steps, most_steps):
        behind = min(first + most_steps, n_steps)
        columns = episode.points[first:behind], episode.actions[first:behind], episode.rewards[first:behind]
        is_end = behind == n_steps
        last = episode.last if is_end else episode.points[behind]
        pieces.append(Trajectory(*columns, episode.ending if is_end else TRUNCATED, last))
    return pieces
