"""Observation spaces as rows of numbers: the numbers of an observation, their names, kinds and bounds.

Rules speak about named numbers. Any Box, Discrete, MultiDiscrete or MultiBinary space, and any Tuple or Dict
of such, is a fixed list of numbers, here called leaves, in the order of the space: arrays row by row, the
parts of a Tuple by position, those of a Dict in the space's own order (Gymnasium sorts the keys of plain
dictionaries).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.rules.feature import INTEGER_LIMIT, Kind

LEAVES_LIMIT = 1_000
UNBOUNDED = float(np.finfo(np.float32).max)
"""A bound of this size or more says nothing: environments write the largest float for "any number"."""
USABLE = "Box, Discrete, MultiDiscrete and MultiBinary spaces, and Tuples and Dicts of these"
HINT = "see that the environment returns what its observation space says."
Path = tuple[Any, ...]


class Leaf(NamedTuple):
    """One number of an observation.

    Args:
        name: the default name of the feature, such as "f0", "cards[1]" or "agent.x".
        kind: "integer" for whole numbers between bounds that integer features can have, else "real".
        low: the smallest value, -inf if there is none.
        high: the largest value, inf if there is none.
    """

    name: str
    kind: Kind
    low: float
    high: float


class Part(NamedTuple):
    """An array inside an observation.

    Args:
        path: the keys and positions that lead to it, through Dicts and Tuples.
        label: the path in words.
        shape: its shape.
        dtype: the type that the space says its numbers have.
        columns: the columns of a row that its numbers take.
    """

    path: Path
    label: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    columns: slice


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
        """Return how the observations of a space become rows; raise TaskError if they cannot."""
        leaves: list[Leaf] = []
        parts: list[Part] = []
        for path, words, plain, low, high in _plain_spaces(space, (), ""):
            columns = slice(len(leaves), len(leaves) + low.size)
            _check_size(plain, words, columns.stop)
            parts.append(Part(path, words or "the observation", low.shape, np.dtype(plain.dtype), columns))
            for index in np.ndindex(low.shape):
                leaves.append(Leaf(_name(words, plain, low.shape, index), *_limits(low[index], high[index])))
        if not leaves:
            raise TaskError(f"observations must hold at least one number, but those of {space} hold none.")
        return cls(_with_own_names(leaves), tuple(parts))

    def row(self, observation: Any) -> NDArray[np.float64]:
        """Return an observation of the space as a row of numbers, `(features,)`."""
        return self._filled(observation, ())

    def points(self, observation: Any) -> NDArray[np.float64]:
        """Return one observation as `(features,)`, or a vector environment's batch as `(n, features)`.

        Args:
            observation: one or a batch; the shape of its first array decides.
        """
        first = self.parts[0]
        try:
            shape = np.shape(_at(observation, first.path))
        except (KeyError, IndexError, TypeError, ValueError):
            shape = ()  # which `row` will refuse
        return self._filled(observation, shape[:1] if len(shape) == len(first.shape) + 1 else ())

    def is_whole(self, i: int) -> bool:
        """Return whether number i of a row is always whole."""
        return any(
            i in range(part.columns.start, part.columns.stop) and part.dtype.kind != "f"
            for part in self.parts
        )

    def _filled(self, observation: Any, batch: tuple[int, ...]) -> NDArray[np.float64]:
        rows = np.empty((*batch, len(self.leaves)))
        for part in self.parts:
            rows[..., part.columns] = _numbers(observation, part, batch).reshape(*batch, -1)
        return rows


def _plain_spaces(
    space: Space[Any], path: Path, words: str
) -> Iterator[tuple[Path, str, Space[Any], NDArray[Any], NDArray[Any]]]:
    """Yield the spaces of single arrays inside a space: path, path in words, space and bounds."""
    if isinstance(space, spaces.Dict):
        for key, inner in space.spaces.items():
            yield from _plain_spaces(inner, (*path, key), f"{words}.{key}" if words else str(key) or "''")
    elif isinstance(space, spaces.Tuple):
        for position, inner in enumerate(space.spaces):
            name = f"part{position}"
            yield from _plain_spaces(inner, (*path, position), f"{words}.{name}" if words else name)
    elif isinstance(space, spaces.Discrete):
        yield path, words, space, np.asarray(space.start), np.asarray(space.start + space.n - 1)
    elif isinstance(space, spaces.MultiDiscrete):
        yield path, words, space, space.start, space.start + space.nvec - 1
    elif isinstance(space, spaces.MultiBinary):
        yield path, words, space, np.zeros(space.shape, np.int64), np.ones(space.shape, np.int64)
    elif isinstance(space, spaces.Box) and np.dtype(space.dtype).kind in "fiub":
        yield path, words, space, space.low, space.high
    else:
        where = f" at {words!r}" if words else ""
        raise TaskError(
            f"the observation space{where} must be made of {USABLE}, not {space}. "
            "Wrap the environment with gymnasium.wrappers.TransformObservation to give such observations."
        )


def _check_size(space: Space[Any], words: str, count: int) -> None:
    """Raise TaskError if an observation has more numbers than rules can speak of."""
    if count > LEAVES_LIMIT:
        where = f" at {words!r}" if words else ""
        image = space.dtype == np.uint8 and len(space.shape or ()) > 1
        raise TaskError(
            f"observations may hold at most {LEAVES_LIMIT:,} numbers, but with {space}{where} there are "
            f"{count:,}, which is {'an image' if image else 'too large for rules'}: wrap the environment so "
            "that it gives a few meaningful numbers."
        )


def _name(words: str, space: Space[Any], shape: tuple[int, ...], index: tuple[int, ...]) -> str:
    """Return the name of a number: "state", "f3", "f[0,2]", "speed", "cards[1]"."""
    if not words and len(shape) < 2:
        return "state" if isinstance(space, spaces.Discrete) else f"f{index[0] if index else 0}"
    if words and np.prod(shape, dtype=int) == 1:
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
    named: dict[str, Leaf] = {}
    for leaf in leaves:
        name, count = leaf.name, 1
        while name in named:
            count += 1
            name = f"{leaf.name}#{count}"
        named[name] = leaf._replace(name=name)
    return tuple(named.values())


def _numbers(observation: Any, part: Part, batch: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the numbers of one part, checked."""
    shape = (*batch, *part.shape)
    try:
        given = np.asarray(_at(observation, part.path))
    except (KeyError, IndexError, TypeError, ValueError):
        given = np.empty(0, dtype=object)
    if given.dtype.kind not in "fiub":
        raise TaskError(
            f"observations must have numbers of shape {part.shape} at {part.label}, but one is "
            f"{observation!r}: {HINT}"
        )
    if given.shape != shape:
        raise TaskError(
            f"observations must have numbers of shape {shape} at {part.label}, not {given.shape}: {HINT}"
        )
    if given.dtype == part.dtype:
        return given.astype(np.float64)
    # Vector environments, and whoever keeps observations in arrays of the space's type, round them so.
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = given.astype(part.dtype).astype(np.float64)
    if part.dtype.kind != "f" and not np.array_equal(numbers, given):
        raise TaskError(
            f"observations must have numbers of type {part.dtype} at {part.label}, not {given!r}: {HINT}"
        )
    return numbers


def _at(observation: Any, path: Path) -> Any:
    """Return the value at a path through Dicts and Tuples."""
    for key in path:
        observation = observation[key]
    return observation


def check_finite(who: str, names: Sequence[str], points: NDArray[np.float64], where: str) -> None:
    """Raise TaskError if a number observed, `(features,)` or `(n, features)`, is not finite."""
    finite = np.isfinite(points)
    for place in [] if finite.all() else np.argwhere(~finite).tolist():
        raise TaskError(
            f"{who} observed {points[tuple(place)]} for {names[place[-1]]}{where}; rules need finite "
            "numbers. Mend the environment, or wrap it so that it gives some."
        )


def unusable_reward(who: str, reward: float, where: str) -> TaskError:
    """Return the error for a reward that is not finite."""
    return TaskError(
        f"{who} gave the reward {reward}{where}; returns need finite numbers. Mend the environment or its "
        "twin, or wrap it so that it gives finite rewards."
    )


def check_actions(space: Space[Any]) -> None:
    """Raise TaskError unless the actions of a space are a list to choose from."""
    if not isinstance(space, spaces.Discrete):
        raise TaskError(
            f"rules choose one of a list of actions, so the action space must be Discrete, not {space}. "
            "Wrap the environment with gymnasium.wrappers.TransformAction to offer such a list."
        )
