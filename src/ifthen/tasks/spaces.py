"""Observation spaces as rows of numbers: which numbers an observation holds, their names, kinds and bounds.

Rules speak about named numbers. Any Box, Discrete, MultiDiscrete or MultiBinary space, and any Tuple or Dict
of such, is a fixed list of numbers, here called leaves, in the order of the space: arrays row by row, the
parts of a Tuple by position, those of a Dict in the space's own order (Gymnasium sorts the keys of plain
dictionaries).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.tasks.leaves import (
    LEAVES_LIMIT,
    Leaf,
    Part,
    Path,
    leaves_of,
    plain_spaces,
    too_large,
    with_own_names,
)

__all__ = ["FlatSpace", "Leaf", "check_actions"]

SEE_THAT = "see that the environment returns what its observation space says."


@dataclass(frozen=True)
class FlatSpace:
    """How the observations of a space become rows of numbers; made by `FlatSpace.of`.

    Args:
        leaves: the numbers, one per feature.
        parts: the arrays that hold them.
    """

    leaves: tuple[Leaf, ...]
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, space: Space[Any]) -> FlatSpace:
        """Return how the observations of a space become rows; raises TaskError where they cannot.

        Args:
            space: the space of an environment's observations.
        """
        leaves: list[Leaf] = []
        parts: list[Part] = []
        for path, words, plain in plain_spaces(space, (), ""):
            first, last = len(leaves), len(leaves) + plain.low.size
            if last > LEAVES_LIMIT:
                raise too_large(plain.space, words, last)
            dtype = np.dtype(plain.space.dtype)
            parts.append(Part(path, plain.low.shape, first, last, words or "the observation", dtype))
            leaves += leaves_of(path, words, plain)
        if not leaves:
            raise TaskError(f"observations must hold at least one number, but those of {space} hold none.")
        return cls(with_own_names(leaves), tuple(parts))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the numbers."""
        return tuple(leaf.name for leaf in self.leaves)

    def row(self, observation: Any) -> NDArray[np.float64]:
        """Return an observation of the space as a row of numbers, `(features,)`."""
        row = np.empty(len(self.leaves))
        for part in self.parts:
            row[part.first : part.last] = self._numbers(observation, part, part.shape).reshape(-1)
        return row

    def rows(self, observations: Any, n: int) -> NDArray[np.float64]:
        """Return a batch of n observations, as vector environments give them, as rows: `(n, features)`."""
        rows = np.empty((n, len(self.leaves)))
        for part in self.parts:
            numbers = self._numbers(observations, part, (n, *part.shape))
            rows[:, part.first : part.last] = numbers.reshape(n, -1)
        return rows

    def points(self, observation: Any) -> NDArray[np.float64]:
        """Return one observation as `(features,)`, or a vector environment's batch as `(n, features)`.

        Args:
            observation: told apart by the shape of its first array.
        """
        first = self.parts[0]
        try:
            shape = np.shape(_at(observation, first.path))
        except (KeyError, IndexError, TypeError, ValueError):
            shape = ()  # which `row` will refuse
        if len(shape) != len(first.shape) + 1:
            return self.row(observation)
        return self.rows(observation, shape[0])

    def is_whole(self, i: int) -> bool:
        """Return whether number i of a row is always whole."""
        return any(part.first <= i < part.last and part.dtype.kind != "f" for part in self.parts)

    def _numbers(self, observation: Any, part: Part, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the numbers of one part, which must have the given shape."""
        try:
            given = np.asarray(_at(observation, part.path))
        except (KeyError, IndexError, TypeError, ValueError):
            raise _missing(part, observation) from None
        if given.dtype.kind not in "fiub":
            raise _missing(part, observation)
        if given.shape != shape:
            raise TaskError(
                f"observations must have numbers of shape {shape} at {part.label}, not {given.shape}: "
                f"{SEE_THAT}"
            )
        return given.astype(np.float64) if given.dtype == part.dtype else _cast(given, part)


def _cast(given: NDArray[Any], part: Part) -> NDArray[np.float64]:
    """Return numbers as those of their space's type that they become in arrays of it.

    Vector environments, and whoever keeps observations in such arrays, round them so.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # what has no such number is found below, or by checks
        numbers = given.astype(part.dtype).astype(np.float64)
    if part.dtype.kind != "f" and not np.array_equal(numbers, given):
        raise TaskError(
            f"observations must have numbers of type {part.dtype} at {part.label}, not {given!r}: {SEE_THAT}"
        )
    return numbers


def _missing(part: Part, observation: Any) -> TaskError:
    return TaskError(
        f"observations must have numbers of shape {part.shape} at {part.label}, but one is "
        f"{observation!r}: {SEE_THAT}"
    )


def _at(observation: Any, path: Path) -> Any:
    """Return what stands at a path through Dicts and Tuples."""
    for key in path:
        observation = observation[key]
    return observation


def check_actions(space: Space[Any]) -> None:
    """Raise TaskError unless the actions of a space are a list to choose from.

    Args:
        space: the space of an environment's actions.
    """
    if not isinstance(space, spaces.Discrete):
        raise TaskError(
            f"rules choose one of a list of actions, so the action space must be Discrete, not {space}. "
            "Wrap the environment with gymnasium.wrappers.TransformAction to offer such a list."
        )
