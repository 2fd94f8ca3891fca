"""Strategies that draw conditions, rules and observations of all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import DecisionList, Feature, PredictionArrayRules, RuleSet, StrengthRules, StrengthSumRules

FEATURES = (Feature("u", -3, 4), Feature("v", 0, 6))
ACTIONS = ("Left", "Down", "Right")
FINITE = st.floats(-1e6, 1e6)
LARGEST = 130  # more rules than two words of bits hold


def bounds_of(n: int, features: Sequence[Feature] = FEATURES) -> st.SearchStrategy[list[list[list[int]]]]:
    """Return a strategy for the conditions of n rules, bounds in any order."""
    pairs = [st.lists(st.integers(f.low, f.high), min_size=2, max_size=2) for f in features]
    return st.lists(st.tuples(*pairs).map(list), min_size=n, max_size=n)


@st.composite
def rules(
    draw: st.DrawFn,
    largest: int = 8,
    features: Sequence[Feature] = FEATURES,
    action_names: Sequence[str] = ACTIONS,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw conditions `(rules, features, 2)` and actions `(rules,)`."""
    n = draw(st.integers(1, largest))
    actions = draw(st.lists(st.integers(0, len(action_names) - 1), min_size=n, max_size=n))
    return np.array(draw(bounds_of(n, features)), dtype=np.int32), np.array(actions, dtype=np.int32)


@st.composite
def learnt_of(draw: st.DrawFn, n: int) -> NDArray[np.float64]:
    """Draw w and var of n rules, `(n, 4)`, with many equal ones so that ties happen."""
    few = st.sampled_from([-1.0, 0.0, 0.0, 0.5])
    weights = draw(st.lists(st.lists(few, min_size=3, max_size=3), min_size=n, max_size=n))
    variances = draw(st.lists(st.sampled_from([0.0, 0.0, 0.25, 2.0]), min_size=n, max_size=n))
    return np.column_stack([np.array(weights), np.array(variances)])


@st.composite
def voting_rules(
    draw: st.DrawFn,
    largest: int = 8,
    features: Sequence[Feature] = FEATURES,
    action_names: Sequence[str] = ACTIONS,
) -> PredictionArrayRules:
    """Draw rules that vote by fitness, with numbers so round that sums are exact and ties happen."""
    n = draw(st.integers(1, largest))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    few = st.sampled_from([-1.0, 0.0, 0.0, 0.5])
    return PredictionArrayRules(
        draw(bounds_of(n, features)),
        column(st.integers(0, len(action_names) - 1)),
        features,
        action_names,
        column(st.lists(few, min_size=len(features) + 1, max_size=len(features) + 1)),
        column(st.sampled_from([0.25, 0.5, 0.5, 1.0])),
        column(st.sampled_from([0.0, 0.5])),
        column(st.integers(1, 9)),
        column(st.integers(0, 99)),
        draw(st.sampled_from([1.0, 10.0])),
    )


@st.composite
def rulesets(
    draw: st.DrawFn,
    kind: type[RuleSet] | None = None,
    features: Sequence[Feature] = FEATURES,
    action_names: Sequence[str] = ACTIONS,
) -> RuleSet:
    """Draw a decision list, rules with strengths, or rules that vote or add up; or of the given kind."""
    bounds, actions = draw(rules(features=features, action_names=action_names))
    kinds: list[type[RuleSet]] = [DecisionList, StrengthRules, PredictionArrayRules, StrengthSumRules]
    kind = kind or draw(st.sampled_from(kinds))
    if kind is PredictionArrayRules:
        return draw(voting_rules(features=features, action_names=action_names))
    if kind is StrengthSumRules:
        strengths = draw(
            st.lists(st.sampled_from([0.5, 1.0, 1.0, 2.5]), min_size=len(actions), max_size=len(actions))
        )
        return StrengthSumRules(bounds, actions, features, action_names, strengths)
    if kind is DecisionList:
        return DecisionList(bounds, actions, features, action_names)
    n, weighted = len(actions), len(features) + 1
    weights = draw(st.lists(st.lists(FINITE, min_size=weighted, max_size=weighted), min_size=n, max_size=n))
    variances = draw(st.lists(st.floats(0, 1e6), min_size=n, max_size=n))
    return StrengthRules(bounds, actions, features, action_names, weights, variances, draw(FINITE))


def all_states() -> NDArray[np.int32]:
    """Return every feature vector over FEATURES, `(56, 2)`."""
    sides = [np.arange(f.low, f.high + 1) for f in FEATURES]
    grid: NDArray[Any] = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1)
    return grid.reshape(-1, len(FEATURES)).astype(np.int32)
