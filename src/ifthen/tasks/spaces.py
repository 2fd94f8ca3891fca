"""Observation spaces as rows of numbers: which numbers an observation holds, their names, kinds and bounds.

Rules speak about named numbers. Any Box, Discrete, MultiDiscrete or MultiBinary space, and any Tuple or Dict
of such, is a fixed list of numbers, here called leaves, in the order of the space: arrays row by row, the
parts of a Tuple by position, those of a Dict in the space's own order (Gymnasium sorts the keys of plain
dictionaries).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.rules.features import INTEGER_LIMIT, Kind

LEAVES_LIMIT = 1_000
UNBOUNDED = float(np.finfo(np.float32).max)
"""Bounds from here on say nothing: environments write the largest float for "any number"."""
USABLE = "Box, Discrete, MultiDiscrete and MultiBinary spaces, and Tuples and Dicts of these"
Path = tuple[Any, ...]


class Leaf(NamedTuple):
    """One number of an observation.

    Args:
        name: as features are called where the user gives no names, such as "f0", "cards[1]" or "agent.x".
        kind: "integer" for whole numbers between bounds that integer features can have, else "real".
        low: the smallest value, -inf where there is none.
        high: the largest value, inf where there is none.
        path: keys and positions that lead to the array that holds the number, through Dicts and Tuples.
        place: where it stands in that array.
    """

    name: str
    kind: Kind
    low: float
    high: float
    path: Path
    place: tuple[int, ...]


class Part(NamedTuple):
    """An array inside an observation, and which columns of a row its numbers take."""

    path: Path
    shape: tuple[int, ...]
    first: int
    last: int
    label: str


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
        for path, words, plain in _plain_spaces(space, (), ""):
            first, last = len(leaves), len(leaves) + plain.low.size
            if last > LEAVES_LIMIT:
                raise _too_large(plain.space, words, last)
            parts.append(Part(path, plain.low.shape, first, last, words or "the observation"))
            leaves += _leaves_of(path, words, plain)
        if not leaves:
            raise TaskError(f"observations must hold at least one number, but those of {space} hold none.")
        return cls(_with_own_names(leaves), tuple(parts))

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

    def _numbers(self, observation: Any, part: Part, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the numbers of one part, which must have the given shape."""
        try:
            numbers = np.asarray(_at(observation, part.path), dtype=np.float64)
        except (KeyError, IndexError, TypeError, ValueError):
            raise TaskError(
                f"observations must have numbers of shape {part.shape} at {part.label}, but one is "
                f"{observation!r}: see that the environment returns what its observation space says."
            ) from None
        if numbers.shape != shape:
            raise TaskError(
                f"observations must have numbers of shape {shape} at {part.label}, not {numbers.shape}: "
                "see that the environment returns what its observation space says."
            )
        return numbers


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


@dataclass(frozen=True)
class _Bounds:
    """A space without parts, with the smallest and largest values of its numbers."""

    space: Space[Any]
    low: NDArray[Any]
    high: NDArray[Any]


def _plain_spaces(space: Space[Any], path: Path, words: str) -> Iterator[tuple[Path, str, _Bounds]]:
    """Yield the spaces without parts inside a space, each with its path and the path in words."""
    if isinstance(space, spaces.Dict):
        for key, inner in space.spaces.items():
            yield from _plain_spaces(inner, (*path, key), f"{words}.{key}" if words else str(key) or "''")
    elif isinstance(space, spaces.Tuple):
        for position, inner in enumerate(space.spaces):
            name = f"part{position}"
            yield from _plain_spaces(inner, (*path, position), f"{words}.{name}" if words else name)
    elif isinstance(space, spaces.Discrete):
        yield path, words, _Bounds(space, np.asarray(space.start), np.asarray(space.start + space.n - 1))
    elif isinstance(space, spaces.MultiDiscrete):
        yield path, words, _Bounds(space, space.start, space.start + space.nvec - 1)
    elif isinstance(space, spaces.MultiBinary):
        yield path, words, _Bounds(space, np.zeros(space.shape, np.int64), np.ones(space.shape, np.int64))
    elif isinstance(space, spaces.Box) and np.dtype(space.dtype).kind in "fiub":
        yield path, words, _Bounds(space, space.low, space.high)
    else:
        where = f" at {words!r}" if words else ""
        raise TaskError(
            f"the observation space{where} must be made of {USABLE}, not {space}. "
            "Wrap the environment with gymnasium.wrappers.TransformObservation to give such observations."
        )


def _leaves_of(path: Path, words: str, plain: _Bounds) -> Iterator[Leaf]:
    """Yield the numbers of a space without parts."""
    shape = np.shape(plain.low)
    lows, highs = plain.low.reshape(-1), plain.high.reshape(-1)
    for i, index in enumerate(np.ndindex(shape)):
        kind, low, high = _limits(lows[i], highs[i])
        yield Leaf(_name(words, shape, index, plain.space), kind, low, high, path, index)


def _name(words: str, shape: tuple[int, ...], index: tuple[int, ...], space: Space[Any]) -> str:
    """Return what a number is called: "state", "f3", "f[0,2]", "speed", "cards[1]"."""
    if not words and isinstance(space, spaces.Discrete):
        return "state"
    if not words and len(shape) < 2:
        return f"f{index[0] if index else 0}"
    if np.prod(shape, dtype=int) == 1 and words:
        return words
    return f"{words or 'f'}[{','.join(map(str, index))}]"


def _limits(low: Any, high: Any) -> tuple[Kind, float, float]:
    """Return the kind of a number and its bounds, infinite where they say nothing."""
    whole = low.dtype.kind != "f"
    low, high = low.item(), high.item()
    if whole and low >= -INTEGER_LIMIT and high < INTEGER_LIMIT:
        return "integer", int(low), int(high)
    # The ends of the wide types of whole numbers stand for "any number" too.
    far = INTEGER_LIMIT if whole else UNBOUNDED
    return "real", -np.inf if low <= -far else float(low), np.inf if high >= far else float(high)


def _with_own_names(leaves: list[Leaf]) -> tuple[Leaf, ...]:
    """Return the leaves with names that differ: a key "a.b" may stand beside a key "a" with a "b" inside."""
    seen: set[str] = set()
    named = []
    for leaf in leaves:
        name, count = leaf.name, 1
        while name in seen:
            count += 1
            name = f"{leaf.name}#{count}"
        seen.add(name)
        named.append(leaf._replace(name=name))
    return tuple(named)


def _too_large(space: Space[Any], words: str, count: int) -> TaskError:
    where = f" at {words!r}" if words else ""
    what = "an image" if space.dtype == np.uint8 and len(space.shape or ()) > 1 else "too large for rules"
    return TaskError(
        f"observations may hold at most {LEAVES_LIMIT:,} numbers, but with {space}{where} there are "
        f"{count:,}, which is {what}: wrap the environment so that it gives a few meaningful numbers."
    )
