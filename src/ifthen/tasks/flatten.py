"""Observation spaces as rows of numbers: the numbers of an observation, their names, kinds and bounds.

Rules speak about named numbers. Any Box, Discrete, MultiDiscrete or MultiBinary space, and any Tuple or Dict
of such, is a fixed list of numbers, here called leaves, in the order of the space: arrays row by row, the
parts of a Tuple by position, those of a Dict in the space's own order (Gymnasium sorts the keys of plain
dictionaries).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from ifthen.errors import TaskError, nearest
from ifthen.rules.arrays import Floats
from ifthen.rules.feature import INTEGER_LIMIT, Feature, Kind

LEAVES_LIMIT = 1_000
"""Observations with more numbers than this are refused."""
SIZE_LIMIT = 1_000_000
"""In files, a part of an observation with more numbers than this is refused, even if rules see few."""
DTYPES = {np.dtype(kind).str for kind in "?bBhHiIlLqQefd"}
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
        kept: the positions, row by row, of the numbers that rules see; None for all.
    """

    path: Path
    label: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    columns: slice
    kept: tuple[int, ...] | None = None


@dataclass(frozen=True)
class FlatSpace:
    """How the observations of a space become rows of numbers; made by `FlatSpace.of`.

    Args:
        leaves: the numbers, one per feature.
        parts: the arrays that hold them.
        left_out: what rules do not see, by name, and why.
    """

    leaves: tuple[Leaf, ...]
    parts: tuple[Part, ...]
    left_out: Mapping[str, str] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, space: Space[Any], leave_out: Sequence[str] = ()) -> FlatSpace:
        """Return how the observations of a space become rows; raise TaskError if they cannot.

        Texts are left out, and numbers that can have one value only, unless there are no others.

        Args:
            space: the space.
            leave_out: names of parts or numbers to leave out too, such as "image" or "image[0,2]".
        """
        found = cls._found(space, leave_out, constants=False)
        return found if found.leaves else cls._found(space, leave_out, constants=True)

    @classmethod
    def _found(cls, space: Space[Any], leave_out: Sequence[str], constants: bool) -> FlatSpace:
        leaves: list[Leaf] = []
        parts: list[Part] = []
        left_out: dict[str, str] = {}
        for path, words, plain in _inner_spaces(space, (), ""):
            if words in leave_out:
                left_out[words] = "as asked"
                continue
            if _is_text(plain):
                left_out[words or "the observation"] = "a text"
                continue
            low, high = _bounds(plain, words)
            _check_size(plain, words, len(leaves) + low.size)
            kept = []
            for position, index in enumerate(np.ndindex(low.shape)):
                leaf = Leaf(_name(words, plain, low.shape, index), *_limits(low[index], high[index]))
                if leaf.name in leave_out or (leaf.low == leaf.high and not constants):
                    left_out[leaf.name] = "as asked" if leaf.name in leave_out else f"always {leaf.low:g}"
                else:
                    kept.append(position)
                    leaves.append(leaf)
            some = None if len(kept) == low.size else tuple(kept)
            columns = slice(len(leaves) - len(kept), len(leaves))
            label = words or "the observation"
            parts.append(Part(path, label, low.shape, np.dtype(plain.dtype), columns, some))
        for name in leave_out:
            if name not in left_out:
                names = [leaf.name for leaf in leaves]
                raise TaskError(f"{name!r} is to be left out, but is not observed.{nearest(name, names)}")
        if not leaves and constants:
            raise TaskError(f"observations must hold at least one number, but those of {space} hold none.")
        return cls(_with_own_names(leaves), tuple(parts), left_out)

    def to_list(self) -> list[dict[str, Any]]:
        """Return the parts as plain data; [] where a key is neither a text nor a whole number."""
        if not all(isinstance(key, str | int) for part in self.parts for key in part.path):
            return []
        return [
            {
                "path": list(part.path),
                "label": part.label,
                "shape": list(part.shape),
                "dtype": part.dtype.str,
                "kept": None if part.kept is None else list(part.kept),
            }
            for part in self.parts
        ]

    @classmethod
    def from_list(cls, parts: Sequence[Mapping[str, Any]], features: Sequence[Feature]) -> FlatSpace:
        """Return how observations become rows from plain data, checked; raise TaskError where it is wrong."""
        found: list[Part] = []
        for part in parts:
            shape, kept, start = tuple(part["shape"]), part["kept"], found[-1].columns.stop if found else 0
            size = math.prod(shape)
            usable = all(length > 0 for length in shape) and size <= SIZE_LIMIT and part["dtype"] in DTYPES
            if not usable or not all(0 <= place < size for place in kept or ()):
                raise TaskError(f"a part of an observation cannot be {part!r}.")
            columns = slice(start, start + (size if kept is None else len(kept)))
            some = None if kept is None else tuple(kept)
            dtype = np.dtype(part["dtype"])
            found.append(Part(tuple(part["path"]), part["label"], shape, dtype, columns, some))
        numbers = found[-1].columns.stop
        if numbers != len(features):
            raise TaskError(f"an observation is said to hold {numbers} numbers for {len(features)} features.")
        return cls(tuple(Leaf(f.name, f.kind, f.low, f.high) for f in features), tuple(found))

    def row(self, observation: Any) -> Floats:
        """Return an observation of the space as a row of numbers, `(features,)`."""
        return self._filled(observation, ())

    def points(self, observation: Any) -> Floats:
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

    def observations(self, space: Space[Any], rows: Floats) -> Any:
        """Return what `points` was given: an observation for `(features,)`, a batch for `(n, features)`.

        Numbers that can have one value only have it again. Raises where other numbers were left out.

        Args:
            space: the observation space.
            rows: the numbers of observations.
        """
        parts, batch = {part.path: part for part in self.parts}, rows.shape[:-1]

        def built(inner: Space[Any], path: Path) -> Any:
            if isinstance(inner, spaces.Dict):
                return {key: built(own, (*path, key)) for key, own in inner.spaces.items()}
            if isinstance(inner, spaces.Tuple):
                return tuple(built(own, (*path, i)) for i, own in enumerate(inner.spaces))
            if path not in parts:
                raise TaskError(f"observations cannot be put together: {_lost(path)} was left out.")
            part = parts[path]
            low, high = (end.ravel() for end in _bounds(inner, part.label))
            numbers = np.broadcast_to(low, (*batch, low.size)).astype(part.dtype)
            seen = np.arange(low.size) if part.kept is None else np.array(part.kept, np.int64)
            if (np.delete(low, seen) != np.delete(high, seen)).any():
                raise TaskError(f"observations cannot be put together: {_lost(path)} was left out in part.")
            numbers[..., seen] = rows[..., part.columns].astype(part.dtype)
            shaped = numbers.reshape((*batch, *part.shape))
            return shaped[()] if isinstance(inner, spaces.Discrete) else shaped

        return built(space, ())

    def is_whole(self, i: int) -> bool:
        """Return whether number i of a row is always whole."""
        return any(
            i in range(part.columns.start, part.columns.stop) and part.dtype.kind != "f"
            for part in self.parts
        )

    def _filled(self, observation: Any, batch: tuple[int, ...]) -> Floats:
        rows = np.empty((*batch, len(self.leaves)))
        for part in self.parts:
            numbers = _numbers(observation, part, batch).reshape(*batch, -1)
            rows[..., part.columns] = numbers if part.kept is None else numbers[..., part.kept]
        return rows


def _inner_spaces(space: Space[Any], path: Path, words: str) -> Iterator[tuple[Path, str, Space[Any]]]:
    """Yield the spaces inside Dicts and Tuples: path, path in words, space."""
    if isinstance(space, spaces.Dict):
        for key, inner in space.spaces.items():
            yield from _inner_spaces(inner, (*path, key), f"{words}.{key}" if words else str(key) or "''")
    elif isinstance(space, spaces.Tuple):
        for position, inner in enumerate(space.spaces):
            name = f"part{position}"
            yield from _inner_spaces(inner, (*path, position), f"{words}.{name}" if words else name)
    else:
        yield path, words, space


def _is_text(space: Space[Any]) -> bool:
    """Return whether a space is one of texts, Gymnasium's or one of an environment's own."""
    return isinstance(space, spaces.Text) or getattr(space, "dtype", None) in (str, np.dtype(str))


def _bounds(space: Space[Any], words: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the least and the largest values of a space of numbers."""
    if isinstance(space, spaces.Discrete):
        return np.asarray(space.start), np.asarray(space.start + space.n - 1)
    if isinstance(space, spaces.MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    if isinstance(space, spaces.MultiBinary):
        return np.zeros(space.shape, np.int64), np.ones(space.shape, np.int64)
    if isinstance(space, spaces.Box) and np.dtype(space.dtype).kind in "fiub":
        return space.low, space.high
    where = f" at {words!r}" if words else ""
    raise TaskError(
        f"the observation space{where} must be made of {USABLE}, not {space}. Wrap the environment with "
        f"gymnasium.wrappers.TransformObservation to give such observations{_without(words)}."
    )


def _check_size(space: Space[Any], words: str, count: int) -> None:
    """Raise TaskError if an observation has more numbers than rules can speak of."""
    if count > LEAVES_LIMIT:
        where = f" at {words!r}" if words else ""
        image = space.dtype == np.uint8 and len(space.shape or ()) > 1
        raise TaskError(
            f"observations may hold at most {LEAVES_LIMIT:,} numbers, but with {space}{where} there are "
            f"{count:,}, which is {'an image' if image else 'too large for rules'}: wrap the environment so "
            f"that it gives a few meaningful numbers{_without(words)}."
        )


def _without(words: str) -> str:
    """Return how a part of the observation is left out, to end a sentence; "" for the whole observation."""
    told = f"env_task(…, leave_out=[{words!r}]), or --task-set leave_out={words}"
    return f", or leave it out: {told}" if words else ""


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


def _numbers(observation: Any, part: Part, batch: tuple[int, ...]) -> Floats:
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


def _lost(path: Path) -> str:
    """Return a path in words."""
    return ".".join(map(str, path)) or "the observation"


def _at(observation: Any, path: Path) -> Any:
    """Return the value at a path through Dicts and Tuples."""
    for key in path:
        observation = observation[key]
    return observation


def check_finite(who: str, names: Sequence[str], points: Floats, where: str) -> None:
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
