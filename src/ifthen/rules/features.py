"""Features: the named, bounded quantities that conditions speak about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.checks import whole_number
from ifthen.errors import RuleError

INTEGER_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Feature:
    """An integer feature with its smallest and largest value.

    Args:
        name: as it stands in rules, such as "x".
        low: smallest value, included.
        high: largest value, included.
    """

    name: str
    low: int
    high: int

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.name, str):
            raise RuleError(f"a feature's name must be a non-empty text, not {self.name!r}.")
        for bound in ("low", "high"):
            label = f"{bound} of feature {self.name!r}"
            number = whole_number(label, getattr(self, bound), -INTEGER_LIMIT, INTEGER_LIMIT, RuleError)
            object.__setattr__(self, bound, number)
        if self.low > self.high:
            raise RuleError(f"feature {self.name!r}: low ({self.low}) must not exceed high ({self.high}).")

    @property
    def width(self) -> int:
        """The number of values the feature can take (w in the paper)."""
        return self.high - self.low + 1

    def to_dict(self) -> dict[str, Any]:
        """Return the feature as plain data."""
        return {"name": self.name, "kind": "integer", "low": self.low, "high": self.high}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Feature:
        """Build a feature from `to_dict`'s plain data."""
        if not isinstance(data, Mapping) or set(data) != {"name", "kind", "low", "high"}:
            raise RuleError(f"a feature needs exactly name, kind, low and high, not {data!r}.")
        if data["kind"] != "integer":
            raise RuleError(f"a feature's kind must be 'integer', not {data['kind']!r}.")
        return cls(data["name"], data["low"], data["high"])


def lows_and_highs(features: tuple[Feature, ...]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the features' smallest and largest values, each of shape `(features,)`."""
    lows = np.array([feature.low for feature in features], dtype=np.int32)
    highs = np.array([feature.high for feature in features], dtype=np.int32)
    return lows, highs
