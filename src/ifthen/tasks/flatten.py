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
        flat = cls._from_space(space, leave_out, constants=False)
        return flat if flat.leaves else cls._from_space(space, leave_out, constants=True)

    @classmethod
    def _from_space(cls, space: Space[Any], leave_out: Sequence[str], constants: bool) -> FlatSpace:
        leaves: list[Leaf] = []
        parts: list[Part] = []
        left_out: dict[str, str] = {}
        for path, words, inner in _inner_spaces(space, (), ""):
            if words in leave_out:
                left_out[words] = "as asked"
                continue
            if _is_text(inner):
                left_out[words or "the observation"] = "a text"
                continue
            low, high = _bounds(inner, words)
            _check_size(inner, words, len(leaves) + low.size)
            kept = []
            for position, index in enumerate(np.ndindex(low.shape)):
                leaf = Leaf(_name(words, inner, low.shape, index), *_limits(low[index], high[index]))
                if leaf.name in leave_out or (leaf.low == leaf.high and not constants):
                    left_out[leaf.name] = "as asked" if leaf.name in leave_out else f"always {leaf.low:g}"
                else:
                    kept.append(position)
                    leaves.append(leaf)
            kept_positions = None if len(kept) == low.size else tuple(kept)
            columns = slice(len(leaves) - len(kept), len(leaves))
            label = words or "the observation"
            parts.append(Part(path, label, low.shape, np.dtype(inner.dtype), columns, kept_positions))
        for name in leave_out:
            if name not in left_out:
                names = [leaf.name for leaf in leaves]
                raise TaskError(f"{name!r} is to be left out, but is not observed.{nearest(name, names)}")
        if not leaves and constants:
            raise TaskError(f"observations must hold at least one number, but those of {space} hold none.")
        return cls(_with_unique_names(leaves), tuple(parts), left_out)

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
        arrays: list[Part] = []
        for part in parts:
            shape, kept, start = tuple(part["shape"]), part["kept"], arrays[-1].columns.stop if arrays else 0
            size = math.prod(shape)
            usable = all(length > 0 for length in shape) and size <= SIZE_LIMIT and part["dtype"] in DTYPES
            if not usable or not all(0 <= position < size for position in kept or ()):
                raise TaskError(f"a part of an observation cannot be {part!r}.")
            columns = slice(start, start + (size if kept is None else len(kept)))
            kept_positions = None if kept is None else tuple(kept)
            dtype = np.dtype(part["dtype"])
            arrays.append(Part(tuple(part["path"]), part["label"], shape, dtype, columns, kept_positions))
        n_numbers = arrays[-1].columns.stop
        if n_numbers != len(features):
            raise TaskError(
                f"an observation is said to hold {n_numbers} numbers for {len(features)} features."
            )
        return cls(tuple(Leaf(f.name, f.kind, f.low, f.high) for f in features), tuple(arrays))

    def row(self, observation: object) -> Floats:
        """Return an observation of the space as a row of numbers, `(features,)`."""
        return self._filled(observation, ())

    def points(self, observation: object) -> Floats:
        """Return one observation as `(features,)`, or a vector environment's batch as `(n, features)`.

        Args:
            observation: one or a batch; the shape of its first array decides.
        """
        first_part = self.parts[0]
        try:
            shape = np.shape(_value_at(observation, first_part.path))
        except (KeyError, IndexError, TypeError, ValueError):
            shape = ()  # which `row` will refuse
        return self._filled(observation, shape[:1] if len(shape) == len(first_part.shape) + 1 else ())

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
                return {key: built(child, (*path, key)) for key, child in inner.spaces.items()}
            if isinstance(inner, spaces.Tuple):
                return tuple(built(child, (*path, i)) for i, child in enumerate(inner.spaces))
            if path not in parts:
                raise TaskError(f"observations cannot be put together: {_path_in_words(path)} was left out.")
            part = parts[path]
            low, high = (end.ravel() for end in _bounds(inner, part.label))
            numbers = np.broadcast_to(low, (*batch, low.size)).astype(part.dtype)
            kept_positions = np.arange(low.size) if part.kept is None else np.array(part.kept, np.int64)
            if (np.delete(low, kept_positions) != np.delete(high, kept_positions)).any():
                raise TaskError(
                    f"observations cannot be put together: {_path_in_words(path)} was left out in part."
                )
            numbers[..., kept_positions] = rows[..., part.columns].astype(part.dtype)
            shaped = numbers.reshape((*batch, *part.shape))
            return shaped[()] if isinstance(inner, spaces.Discrete) else shaped

        return built(space, ())

    def is_whole(self, i: int) -> bool:
        """Return whether number i of a row is always whole."""
        return any(
            i in range(part.columns.start, part.columns.stop) and part.dtype.kind != "f"
            for part in self.parts
        )

    def _filled(self, observation: object, batch: tuple[int, ...]) -> Floats:
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
    location = f" at {words!r}" if words else ""
    raise TaskError(
        f"the observation space{location} must be made of {USABLE}, not {space}. Wrap the environment with "
        f"gymnasium.wrappers.TransformObservation to give such observations{_leaving_out(words)}."
    )


def _check_size(space: Space[Any], words: str, count: int) -> None:
    """Raise TaskError if an observation has more numbers than rules can speak of."""
    if count > LEAVES_LIMIT:
        location = f" at {words!r}" if words else ""
        is_image = space.dtype == np.uint8 and len(space.shape or ()) > 1
        raise TaskError(
            f"observations may hold at most {LEAVES_LIMIT:,} numbers, but with {space}{location} there are "
            f"{count:,}, which is {'an image' if is_image else 'too large for rules'}: wrap the environment "
            f"so that it gives a few meaningful numbers{_leaving_out(words)}."
        )


def _leaving_out(words: str) -> str:
    """Return how a part of the observation is left out, to end a sentence; "" for the whole observation."""
    hint = f"env_task(…, leave_out=[{words!r}]), or --task-set leave_out={words}"
    return f", or leave it out: {hint}" if words else ""


def _name(words: str, space: Space[Any], shape: tuple[int, ...], index: tuple[int, ...]) -> str:
    """Return the name of a number: "state", "f3", "f[0,2]", "speed", "cards[1]"."""
    if not words and len(shape) < 2:
        return "state" if isinstance(space, spaces.Discrete) else f"f{index[0] if index else 0}"
    if words and np.prod(shape, dtype=int) == 1:
        return words
    return f"{words or 'f'}[{','.join(map(str, index))}]"


def _limits(low: Any, high: Any) -> tuple[Kind, float, float]:
    """Return the kind of a number and its bounds, infinite where they say nothing."""
    is_integer = low.dtype.kind != "f"
    low, high = low.item(), high.item()
    if is_integer and low >= -INTEGER_LIMIT and high < INTEGER_LIMIT:
        return "integer", int(low), int(high)
    # The ends of the wide types of whole numbers stand for "any number" too.
    limit = INTEGER_LIMIT if is_integer else UNBOUNDED
    return "real", -np.inf if low <= -limit else float(low), np.inf if high >= limit else float(high)


def _with_unique_names(leaves: list[Leaf]) -> tuple[Leaf, ...]:
    """Return the leaves with names that differ: a key "a.b" may stand beside a key "a" with a "b" inside."""
    by_name: dict[str, Leaf] = {}
    for leaf in leaves:
        name, count = leaf.name, 1
        while name in by_name:
            count += 1
            name = f"{leaf.name}#{count}"
        by_name[name] = leaf._replace(name=name)
    return tuple(by_name.values())


def _numbers(observation: object, part: Part, batch: tuple[int, ...]) -> Floats:
    """Return the numbers of one part, checked."""
    shape = (*batch, *part.shape)
    try:
        array = np.asarray(_value_at(observation, part.path))
    except (KeyError, IndexError, TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "fiub":
        raise TaskError(
            f"observations must have numbers of shape {part.shape} at {part.label}, but one is "
            f"{observation!r}: {HINT}"
        )
    if array.shape != shape:
        raise TaskError(
            f"observations must have numbers of shape {shape} at {part.label}, not {array.shape}: {HINT}"
        )
    if array.dtype == part.dtype:
        return array.astype(np.float64)
    # Vector environments, and whoever keeps observations in arrays of the space's type, round them so.
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = array.astype(part.dtype).astype(np.float64)
    if part.dtype.kind != "f" and not np.array_equal(numbers, array):
        raise TaskError(
            f"observations must have numbers of type {part.dtype} at {part.label}, not {array!r}: {HINT}"
        )
    return numbers


def _path_in_words(path: Path) -> str:
    """Return a path in words."""
    return ".".join(map(str, path)) or "the observation"


def _value_at(observation: Any, path: Path) -> Any:
    """Return the value at a path through Dicts and Tuples."""
    for key in path:
        observation = observation[key]
    return observation


def check_finite(label: str, names: Sequence[str], points: Floats, location: str) -> None:
    """Raise TaskError if a number observed, `(features,)` or `(n, features)`, is not finite."""
    finite = np.isfinite(points)
    for index in [] if finite.all() else np.argwhere(~finite).tolist():
        raise TaskError(
            f"{label} observed {points[tuple(index)]} for {names[index[-1]]}{location}; rules need finite "
            "numbers. Mend the environment, or wrap it so that it gives some."
        )


def unusable_reward(label: str, reward: float, location: str) -> TaskError:
    """Return the error for a reward that is not finite."""
    return TaskError(
        f"{label} gave the reward {reward}{location}; returns need finite numbers. Mend the environment or "
        "its twin, or wrap it so that it gives finite rewards."
    )


def check_actions(space: Space[Any]) -> spaces.Discrete:
    """Return a space whose actions are a list to choose from; raise TaskError for any other."""
    if not isinstance(space, spaces.Discrete):
        raise TaskError(
            f"rules choose one of a list of actions, so the action space must be Discrete, not {space}. "
            "Wrap the environment with gymnasium.wrappers.TransformAction to offer such a list."
        )
    return space
