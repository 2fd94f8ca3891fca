"""Features: the named, bounded quantities that conditions speak about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ifthen.checks import real_number, refuse_nul, whole_number
from ifthen.errors import RuleError

Kind = Literal["integer", "real"]
INTEGER_LIMIT = 2**31 - 1
REAL_LIMIT = 1e300  # sums and differences of bounds stay finite
MOST_PARTS = 8
WORDS_OF_CONDITIONS = frozenset({"is", "not", "or"})
ANY_TERM: Mapping[str, Any] = MappingProxyType(
    {"kind": "real", "low": -REAL_LIMIT, "high": REAL_LIMIT, "clips": True}
)
"""The fields that plain data of a term leave out, because its range follows from its features."""


@dataclass(frozen=True)
class Feature:
    """A feature with its smallest and largest value.

    Args:
        name: as it stands in rules, such as "x".
        low: smallest value, included.
        high: largest value, included.
        kind: "integer" or "real".
        unit: what it is measured in, such as "m"; put behind its values in words.
        clips: whether a value beyond the range counts as the nearer end of it; it is refused otherwise.
        of: the features that a term adds up, each with its coefficient; empty for what is observed. Terms are
            real and clip. `ifthen.term` makes them.
        cyclic: whether the smallest value comes after the largest one, as with hours and compass courses. An
            interval of a cyclic feature may wrap: if it begins above its end, it goes from there to the
            largest value, and on from the smallest value to its end. Elsewhere the two ends may stand in any
            order.
        labels: what the values of an integer feature are called, from low to high, such as "empty", "a wall";
            none where they are numbers. A label is one line without the words is, not and or.
    """

    name: str
    low: Any  # an int or a float, by kind: callers that know the kind need not ask
    high: Any
    kind: Kind = "integer"
    unit: str = ""
    clips: bool = False
    of: tuple[tuple[str, float], ...] = ()
    cyclic: bool = False
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.name, str):
            raise RuleError(f"a feature's name must be a non-empty text, not {self.name!r}.")
        if self.kind not in ("integer", "real"):
            raise RuleError(
                f"the kind of feature {self.name!r} must be 'integer' or 'real', not {self.kind!r}."
            )
        if not isinstance(self.unit, str):
            raise RuleError(f"the unit of feature {self.name!r} must be a text, not {self.unit!r}.")
        refuse_nul("a feature's name and unit", (self.name, self.unit), RuleError)
        if not isinstance(self.clips, bool):
            raise RuleError(f"clips of feature {self.name!r} must be true or false, not {self.clips!r}.")
        if not isinstance(self.cyclic, bool):
            raise RuleError(f"cyclic of feature {self.name!r} must be true or false, not {self.cyclic!r}.")
        object.__setattr__(self, "of", _checked_parts(self.name, self.of))
        if self.of and self.cyclic:
            raise RuleError(f"{self.name!r} is a sum of features, which cannot be cyclic.")
        if self.of and (self.kind != "real" or not self.clips):
            raise RuleError(f"{self.name!r} is a sum of features: its kind must be 'real', and it must clip.")
        for bound in ("low", "high"):
            label, value = f"{bound} of feature {self.name!r}", getattr(self, bound)
            number: int | float = (
                whole_number(label, value, -INTEGER_LIMIT, INTEGER_LIMIT, RuleError)
                if self.is_integer
                else real_number(label, value, -REAL_LIMIT, REAL_LIMIT, RuleError) + 0.0  # no -0.0
            )
            object.__setattr__(self, bound, number)
        if self.low > self.high:
            raise RuleError(f"feature {self.name!r}: low ({self.low}) must not exceed high ({self.high}).")
        object.__setattr__(self, "labels", _checked_labels(self))

    @property
    def is_integer(self) -> bool:
        """Whether the feature takes whole numbers only."""
        return self.kind == "integer"

    @property
    def is_term(self) -> bool:
        """Whether the feature is a sum of others, which the ruleset works out, rather than observed."""
        return bool(self.of)

    @property
    def width(self) -> int:
        """The number of values an integer feature can take (w in the paper)."""
        if not self.is_integer:
            raise RuleError(f"feature {self.name!r} is real: its values cannot be counted.")
        return int(self.high - self.low) + 1

    def interval_in_words(self, low: float, high: float) -> str:
        """Return the closed interval as a condition: "x ≤ 3" where it begins at the feature's edge.

        Nothing is said of an interval that leaves nothing out. "x ≤ 0" is said of the lower edge alone where
        values beyond count as it. An interval that wraps is "x from 300 through 0 to 60".
        """
        unit = f" {self.unit}" if self.unit else ""
        if low > high:
            return self._wrapped_in_words(low, high) + unit if self.leaves_out(low, high) else ""
        if low <= self.low and high >= self.high:
            return ""
        if self.labels:
            return self._labels_in_words(int(low), int(high))
        if self.is_one_value(low, high):
            return f"{self.name} = {number_in_words(low)}{unit}"
        if low <= self.low:
            return f"{self.name} ≤ {number_in_words(high)}{unit}"
        if high >= self.high:
            return f"{self.name} ≥ {number_in_words(low)}{unit}"
        return f"{self.name} in [{number_in_words(low)}, {number_in_words(high)}]{unit}"

    def _wrapped_in_words(self, low: float, high: float) -> str:
        """Return an interval that wraps, without unit; it says an end of the range that it goes through."""
        inner = [end for end in (self.low, self.high) if end not in (low, high)]
        through = f" through {number_in_words(inner[0])}" if inner else ""
        return f"{self.name} from {number_in_words(low)}{through} to {number_in_words(high)}"

    def leaves_out(self, low: float, high: float) -> bool:
        """Return whether there is a value outside an interval; one that wraps has its ends exchanged."""
        if low <= high:
            return bool(low > self.low or high < self.high)
        return bool(low > (high + 1 if self.is_integer else np.nextafter(high, np.inf)))

    def _labels_in_words(self, low: int, high: int) -> str:
        """Return "north is a wall", "north is not food", or "north is empty or a wall"."""
        included = self.labels[low - self.low : high - self.low + 1]
        excluded = [label for label in self.labels if label not in included]
        if len(excluded) == 1 < len(included):
            return f"{self.name} is not {excluded[0]}"
        return f"{self.name} is {' or '.join(included)}"

    def value_in_words(self, value: float) -> str:
        """Return a value as people call it: by its label, or as a number with its unit."""
        if self.labels and self.low <= value <= self.high:
            return self.labels[int(value - self.low)]
        return f"{number_in_words(value)}{f' {self.unit}' if self.unit else ''}"

    def is_one_value(self, low: float, high: float) -> bool:
        """Return whether only one value is in a closed interval, the values that count as an edge with it.

        A feature of two whole numbers is a yes or no, which has nothing beyond.
        """
        beyond = self.clips and not (self.is_integer and self.width <= 2)
        return low == high and not (beyond and (high <= self.low or low >= self.high))

    def to_dict(self) -> dict[str, Any]:
        """Return the feature as plain data."""
        data = {"name": self.name, "kind": self.kind, "low": self.low, "high": self.high}
        optional = {"unit": self.unit, "clips": self.clips, "of": dict(self.of)}
        optional |= {"cyclic": self.cyclic, "labels": list(self.labels)}
        return data | {name: value for name, value in optional.items() if value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Feature:
        """Build a feature from `to_dict`'s plain data; defaults may be left out, and a term's range."""
        is_term = isinstance(data, Mapping) and "of" in data
        fields = {**ANY_TERM, **data} if is_term else data
        required, optional = {"name", "kind", "low", "high"}, {"unit", "clips", "of", "cyclic", "labels"}
        if not isinstance(fields, Mapping) or set(fields) - optional != required:
            raise RuleError(
                "a feature needs name, kind, low and high, and may have unit, clips, of, cyclic and labels, "
                f"not {data!r}."
            )
        return cls(**fields)


def _checked_parts(name: str, addends: Any) -> tuple[tuple[str, float], ...]:
    """Return the features of a term with their coefficients, given as pairs or by name, or raise."""
    pairs = list(addends.items()) if isinstance(addends, Mapping) else addends
    fits = isinstance(pairs, tuple | list) and all(
        isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs
    )
    if not fits or not all(isinstance(addend, str) and addend for addend, _ in pairs):
        raise RuleError(
            f"the term {name!r} needs coefficients by feature, as in {{'x': 0.5}}, not {addends!r}."
        )
    if len(pairs) > MOST_PARTS or len({addend for addend, _ in pairs}) < len(pairs):
        raise RuleError(
            f"the term {name!r} must add up 1 to {MOST_PARTS} different features, not "
            f"{', '.join(addend for addend, _ in pairs)}."
        )
    label = f"a coefficient of the term {name!r}"
    checked = [(addend, real_number(label, c, -REAL_LIMIT, REAL_LIMIT, RuleError)) for addend, c in pairs]
    if not all(coefficient for _, coefficient in checked):
        raise RuleError(f"{label} is 0: leave out its feature.")
    return tuple(checked)


def _checked_labels(feature: Feature) -> tuple[str, ...]:
    """Return the names of a feature's values, or raise where they are not one for each."""
    labels = feature.labels
    if isinstance(labels, tuple | list) and not labels:
        return ()
    fits = isinstance(labels, tuple | list) and all(isinstance(label, str) and label for label in labels)
    may_have_labels = feature.is_integer and not feature.clips and not feature.cyclic
    if not fits or not may_have_labels or len(labels) != feature.width:
        raise RuleError(
            f"the labels of feature {feature.name!r} must be one text for each of its values, which are "
            f"whole numbers, do not clip and are not cyclic, not {labels!r}."
        )
    bad_labels = [label for label in labels if label != label.strip() or len(label.splitlines()) > 1]
    bad_labels += [label for label in labels if WORDS_OF_CONDITIONS & set(label.lower().split())]
    if bad_labels:
        raise RuleError(
            f"the label {bad_labels[0]!r} of feature {feature.name!r} must have no outer blanks, no line "
            "breaks and none of the words is, not and or, which stand before and between labels in "
            "conditions."
        )
    if len({label.lower() for label in labels}) < len(labels) or feature.unit:
        raise RuleError(f"the labels of feature {feature.name!r} must differ, and have no unit.")
    refuse_nul("a label", labels, RuleError)
    return tuple(labels)


def number_in_words(value: float) -> str:
    """Return the shortest text that stands for exactly this number: 3 rather than 3.0."""
    return repr(float(value)).removesuffix(".0")


def lows_and_highs(features: tuple[Feature, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the features' smallest and largest values, each `(features,)`: int32 where all are integer."""
    kind = bounds_type(features)
    lows = np.array([feature.low for feature in features], dtype=kind)
    highs = np.array([feature.high for feature in features], dtype=kind)
    return lows, highs


def whole_box(features: tuple[Feature, ...]) -> NDArray[Any]:
    """Return the box that holds everything, `(features, 2)`."""
    return np.stack(lows_and_highs(features), axis=1)


def cyclic_ones(features: tuple[Feature, ...]) -> NDArray[np.bool_]:
    """Return which features are cyclic, `(features,)`."""
    return np.array([feature.cyclic for feature in features], dtype=np.bool_)


def bounds_type(features: tuple[Feature, ...]) -> type[np.int32] | type[np.float64]:
    """Return the type of number that the bounds of conditions over these features have."""
    return np.int32 if all(feature.is_integer for feature in features) else np.float64
