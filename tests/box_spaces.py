"""Strategies that draw bounded spaces of integer and real features, boxes in them, and decision lists."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ifthen import DecisionList, Feature
from ifthen.rules.boxes.rank_space import Interval, Point

ACTIONS = ("Left", "Right", "Stay")
NEXT = math.nextafter(0.5, 1)
EDGES = (-1.0, 0.0, 0.25, 0.5, NEXT, math.nextafter(NEXT, 1), 1.0)
"""Few, so that boxes touch, with neighbouring numbers among them."""
SHARE = 1e-12
"""How far shares may be off by rounding."""
Boxes = list[list[tuple[float, float]]]
Space = tuple[tuple[Feature, ...], Boxes, Boxes]
"""Features, boxes, and a list of one box to look at, or of none."""


@st.composite
def features_of(draw: st.DrawFn, most: int = 4) -> tuple[Feature, ...]:
    """Draw integer and real features, ranges of a single value included."""
    features = []
    for number in range(draw(st.integers(1, most))):
        if draw(st.booleans()):
            low = draw(st.integers(-2, 2))
            features.append(Feature(f"i{number}", low, low + draw(st.integers(0, 4))))
        else:
            start, end = sorted(draw(st.tuples(st.sampled_from(EDGES), st.sampled_from(EDGES))))
            features.append(Feature(f"r{number}", start, end, "real"))
    return tuple(features)


def values_of(feature: Feature) -> st.SearchStrategy[float]:
    if feature.is_integer:
        return st.integers(int(feature.low), int(feature.high))
    return st.sampled_from([edge for edge in EDGES if feature.low <= edge <= feature.high])


def boxes_of(features: tuple[Feature, ...], fewest: int = 1, most: int = 6) -> st.SearchStrategy[Boxes]:
    """Return a strategy for boxes that are often wide, so that they cover spaces together."""
    intervals = [
        st.just((f.low, f.high)) | st.tuples(values_of(f), values_of(f)).map(lambda pair: tuple(sorted(pair)))
        for f in features
    ]
    return st.lists(st.tuples(*intervals).map(list), min_size=fewest, max_size=most)


@st.composite
def spaces(draw: st.DrawFn, fewest: int = 0) -> Space:
    """Draw features, boxes, and what to look at."""
    features = draw(features_of())
    return features, draw(boxes_of(features, fewest)), draw(boxes_of(features, 0, 1))


@st.composite
def lists(draw: st.DrawFn, n: int = 1) -> tuple[Any, ...]:
    """Draw n decision lists over the same features, and a list of one box to look at, or of none."""
    features = draw(features_of())
    return *(draw(lists_over(features)) for _ in range(n)), draw(boxes_of(features, 0, 1))


def lists_over(features: tuple[Feature, ...]) -> st.SearchStrategy[DecisionList]:
    def with_actions(boxes: Boxes) -> st.SearchStrategy[DecisionList]:
        actions = st.lists(st.integers(0, 2), min_size=len(boxes), max_size=len(boxes))
        return actions.map(lambda chosen: DecisionList(boxes, chosen, features, ACTIONS))

    return boxes_of(features).flatmap(with_actions)


def axes_of(features: tuple[Feature, ...], within: Boxes) -> list[tuple[str, float, float]]:
    box = within[0] if within else [(f.low, f.high) for f in features]
    return [(f.kind, low, high) for f, (low, high) in zip(features, box, strict=True)]


def array(features: tuple[Feature, ...], boxes: Boxes) -> Any:
    return np.array(boxes, dtype=np.float64).reshape(len(boxes), len(features), 2)


def only(within: Boxes) -> Any:
    return within[0] if within else None


def plain(ruleset: DecisionList) -> Boxes:
    return [[(low, high) for low, high in box] for box in ruleset.bounds.tolist()]


def lies_in(point: Point, box: tuple[Interval, ...]) -> bool:
    return all(
        (low < value or (low == value and not low_open))
        and (value < high or (value == high and not high_open))
        for value, (low, high, low_open, high_open) in zip(point, box, strict=True)
    )
