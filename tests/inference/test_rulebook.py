from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.inference.decision_list import DecisionList
from ifthen.inference.rulebook import (
    LIST,
    STRENGTH,
    Rulebook,
    choose_lanes,
    chosen,
    is_inside,
    predicted,
)
from ifthen.inference.strength import StrengthRules
from ifthen.rules.features import Feature, bounds_type
from tests import naive_envs
from tests.naive_envs import Individual

REAL = Feature("x", -1.5, 2.0, "real", clips=True)
WHOLE = Feature("n", -2, 3, clips=True)
FIXED = Feature("one", 1.0, 1.0, "real", clips=True)
MIXES = {
    "real": (REAL, Feature("y", 0.0, 1.0, "real", clips=True)),
    "integer": (WHOLE, Feature("m", 0, 1, clips=True), Feature("k", 5, 9, clips=True)),
    "mixed": (WHOLE, REAL, FIXED),
}


def random_individuals(
    features: tuple[Feature, ...], seed: int, n: int = 3, rules: int = 5
) -> tuple[Any, Any, Any]:
    """Return bounds in any order (many at the edges), actions and what was learnt, with ties."""
    draws = np.random.default_rng(seed)
    lows, highs = (np.array([getattr(f, end) for f in features], dtype=float) for end in ("low", "high"))
    bounds = lows[:, None] + draws.random((n, rules, len(features), 2)) * (highs - lows)[:, None]
    whole = np.array([f.is_integer for f in features])
    bounds[:, :, whole] = np.round(bounds[:, :, whole])
    edges = draws.integers(0, 4, bounds.shape)
    bounds = np.where(edges == 0, lows[:, None], np.where(edges == 1, highs[:, None], bounds))
    actions = draws.integers(0, 3, (n, rules)).astype(np.int32)
    learnt = draws.integers(-2, 3, (n, rules, len(features) + 2)).astype(float)
    learnt[..., -1] = np.abs(learnt[..., -1])
    return bounds.astype(bounds_type(features)), actions, learnt


def random_points(features: tuple[Feature, ...], seed: int, m: int = 40) -> Any:
    """Return points inside the ranges, on their edges and far beyond them."""
    draws = np.random.default_rng(seed + 1)
    lows, highs = (np.array([getattr(f, end) for f in features], dtype=float) for end in ("low", "high"))
    points = lows + draws.random((m, len(features))) * (highs - lows)
    whole = np.array([f.is_integer for f in features])
    points[:, whole] = np.round(points[:, whole])
    kind = draws.integers(0, 6, points.shape)
    points = np.where(kind == 0, lows, np.where(kind == 1, highs, points))
    return np.where(kind == 2, lows - 10.0, np.where(kind == 3, highs + 10.0, points))


def book(kind: int, features: tuple[Feature, ...], seed: int, default: int | None = None) -> Any:
    """Return a rulebook, and the same individuals for the oracle."""
    bounds, actions, learnt = random_individuals(features, seed)
    known = learnt if kind == STRENGTH else learnt[..., :0]
    rules = Rulebook.of(kind, bounds, actions, known, features, 2.5, default)
    none = -1 if default is None else default
    each = [Individual(b, a, w, features, 2.5, none) for b, a, w in zip(bounds, actions, learnt, strict=True)]
    return rules, each


@pytest.mark.parametrize("mix", MIXES)
@given(seed=st.integers(0, 10**6))
def test_rules_hold_the_points_that_they_hold_when_clipped(mix: str, seed: int) -> None:
    features = MIXES[mix]
    rules, each = book(STRENGTH, features, seed)
    points = random_points(features, seed, 10)
    for i, individual in enumerate(each):
        for r in range(len(individual.actions)):
            for lane, point in enumerate(points.tolist()):
                expected = naive_envs.inside(individual.bounds[r], features, point)
                assert is_inside(rules, i, r, points, lane) == expected
                said = naive_envs.foretold(individual.learnt[r].tolist(), 2.5, features, point)
                assert predicted(rules, i, r, points, lane) == said


@pytest.mark.parametrize("default", [None, 1])
@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("kind", [LIST, STRENGTH])
@given(seed=st.integers(0, 10**6))
def test_choices_are_the_oracles(kind: int, mix: str, default: int | None, seed: int) -> None:
    features = MIXES[mix]
    rules, each = book(kind, features, seed, default)
    points = random_points(features, seed)
    who = np.random.default_rng(seed).integers(0, len(each), len(points))
    found = np.full(len(points), -7)
    choose_lanes(rules, who, points, found)
    choice = naive_envs.list_choice if kind == LIST else naive_envs.strength_choice
    assert found.tolist() == [choice(each[i], p) for i, p in zip(who, points.tolist(), strict=True)]
    assert found.tolist() == [chosen(rules, int(i), points, lane) for lane, i in enumerate(who)]
    assert (found >= (-1 if default is None else 0)).all()


@pytest.mark.parametrize("mix", MIXES)
@given(seed=st.integers(0, 10**6))
def test_choices_are_those_of_the_rulesets(mix: str, seed: int) -> None:
    features = MIXES[mix]
    bounds, actions, learnt = random_individuals(features, seed, n=1, rules=6)
    names = ("a", "b", "c")
    points = random_points(features, seed)
    whole = np.array([feature.is_integer for feature in features])
    assert (points[:, whole] == np.round(points[:, whole])).all()
    first = DecisionList(bounds[0], actions[0], features, names)
    strong = StrengthRules(bounds[0], actions[0], features, names, learnt[0, :, :-1], learnt[0, :, -1], 2.5)
    for kind, ruleset in ((LIST, first), (STRENGTH, strong)):
        known = learnt if kind == STRENGTH else learnt[..., :0]
        found = np.empty(len(points), dtype=np.int64)
        rules = Rulebook.of(kind, bounds, actions, known, features, 2.5)
        choose_lanes(rules, np.zeros(len(points), dtype=np.int64), points, found)
        assert found.tolist() == np.asarray(ruleset.predict(points)).tolist()


def test_an_interval_at_an_edge_is_open_there_and_closed_elsewhere() -> None:
    bounds = np.array([[[[2.0, 0.5]], [[-1.5, -1.5]], [[2.0, -1.5]], [[0.5, -0.5]]]])
    rules = Rulebook.of(LIST, bounds, np.zeros((1, 4), np.int32), np.zeros((1, 4, 0)), (REAL,))
    assert rules.lows[0, :, 0].tolist() == [0.5, -np.inf, -np.inf, -0.5]
    assert rules.highs[0, :, 0].tolist() == [np.inf, -1.5, np.inf, 0.5]


def test_equal_strengths_go_to_the_least_action_whatever_the_order() -> None:
    everywhere = np.broadcast_to(np.array([-1.5, 2.0]), (1, 3, 1, 2))
    for order in ([2, 0, 1], [0, 1, 2], [1, 2, 0]):
        actions = np.array([order], dtype=np.int32)
        rules = Rulebook.of(STRENGTH, everywhere, actions, np.zeros((1, 3, 3)), (REAL,))
        assert chosen(rules, 0, np.zeros((1, 1)), 0) == 0


@pytest.mark.parametrize("some", [np.array([2, 0]), slice(1, 3), np.array([], dtype=np.int64)])
def test_some_individuals_can_be_taken_out(some: Any) -> None:
    rules, _ = book(STRENGTH, MIXES["mixed"], 3)
    taken = rules.take(some)
    assert (taken.kind, taken.x0, taken.default) == (STRENGTH, 2.5, -1)
    for name in ("lows", "highs", "actions", "learnt"):
        np.testing.assert_array_equal(getattr(taken, name), getattr(rules, name)[some])
        assert getattr(taken, name).flags.c_contiguous
