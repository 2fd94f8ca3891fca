from __future__ import annotations

from typing import Any

import pytest

from ifthen import Feature, RuleError
from ifthen.rules.features import lows_and_highs


def test_width_counts_both_ends() -> None:
    assert Feature("x", -2, 3).width == 6


def test_plain_data_round_trips() -> None:
    feature = Feature("x", -2, 3)
    assert Feature.from_dict(feature.to_dict()) == feature


def test_lows_and_highs_come_feature_by_feature() -> None:
    lows, highs = lows_and_highs((Feature("x", -2, 3), Feature("y", 0, 0)))
    assert (lows.tolist(), highs.tolist()) == ([-2, 0], [3, 0])


@pytest.mark.parametrize(
    ("name", "low", "high", "message"),
    [
        ("", 0, 1, "name"),
        (7, 0, 1, "name"),
        ("x", 2, 1, "must not exceed"),
        ("x", 0.0, 1, "whole number"),
        ("x", 0, True, "whole number"),
        ("x", 0, 2**31, "whole number from"),
        ("x", float("nan"), 1, "whole number"),
    ],
)
def test_impossible_features_are_refused(name: Any, low: Any, high: Any, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        Feature(name, low, high)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"name": "x", "kind": "integer", "low": 0},
        {"name": "x", "kind": "real", "low": 0, "high": 1},
        {"name": "x", "kind": "integer", "low": 0, "high": 1, "step": 1},
    ],
)
def test_plain_data_that_is_no_feature_is_refused(data: Any) -> None:
    with pytest.raises(RuleError):
        Feature.from_dict(data)
