"""The numbers of an observation space, one by one: where each stands, its name, kind and bounds."""

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
    dtype: np.dtype[Any]
    """The type that the space says its numbers are of."""


@dataclass(frozen=True)
class Bounds:
    """A space without parts, with the smallest and largest values of its numbers."""

    space: Space[Any]
    low: NDArray[Any]
    high: NDArray[Any]


def plain_spaces(space: Space[Any], path: Path, words: str) -> Iterator[tuple[Path, str, Bounds]]:
    """Yield the spaces without parts inside a space, each with its path and the path in words."""
    if isinstance(space, spaces.Dict):
        for key, inner in space.spaces.items():
            yield from plain_spaces(inner, (*path, key), f"{words}.{key}" if words else str(key) or "''")
    elif isinstance(space, spaces.Tuple):
        for position, inner in enumerate(space.spaces):
            name = f"part{position}"
            yield from plain_spaces(inner, (*path, position), f"{words}.{name}" if words else name)
    elif isinstance(space, spaces.Discrete):
        yield path, words, Bounds(space, np.asarray(space.start), np.asarray(space.start + space.n - 1))
    elif isinstance(space, spaces.MultiDiscrete):
        yield path, words, Bounds(space, space.start, space.start + space.nvec - 1)
    elif isinstance(space, spaces.MultiBinary):
        yield path, words, Bounds(space, np.zeros(space.shape, np.int64), np.ones(space.shape, np.int64))
    elif isinstance(space, spaces.Box) and np.dtype(space.dtype).kind in "fiub":
        yield path, words, Bounds(space, space.low, space.high)
    else:
        where = f" at {words!r}" if words else ""
        raise TaskError(
            f"the observation space{where} must be made of {USABLE}, not {space}. "
            "Wrap the environment with gymnasium.wrappers.TransformObservation to give such observations."
        )


def leaves_of(path: Path, words: str, plain: Bounds) -> Iterator[Leaf]:
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


def with_own_names(leaves: list[Leaf]) -> tuple[Leaf, ...]:
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


def too_large(space: Space[Any], words: str, count: int) -> TaskError:
    """Return the error of a space with more numbers than rules can speak of."""
    where = f" at {words!r}" if words else ""
    what = "an image" if space.dtype == np.uint8 and len(space.shape or ()) > 1 else "too large for rules"
    return TaskError(
        f"observations may hold at most {LEAVES_LIMIT:,} numbers, but with {space}{where} there are "
        f"{count:,}, which is {what}: wrap the environment so that it gives a few meaningful numbers."
    )
