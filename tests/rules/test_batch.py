from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.errors import RuleError
from ifthen.rules.batch import (
    LIST,
    STRENGTH,
    Intervals,
    RuleBatch,
    batch_of,
    choose_lanes,
    chosen,
    is_inside,
    is_stronger,
    predicted,
    stacked,
)
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature, bounds_type
from ifthen.rules.ruleset import RuleSet
from ifthen.rules.strength import StrengthRules
from tests import naive_envs
from tests.naive_envs import Individual

pytestmark = pytest.mark.oracle

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


def batch(
    kind: int, features: tuple[Feature, ...], seed: int, default: int = -1, ragged: bool = False
) -> Any:
    """Return rules as a batch and laid out, and the same individuals for the oracle."""
    bounds, actions, learnt = random_individuals(features, seed)
    lengths = np.random.default_rng(seed).integers(1, 6, 3) if ragged else np.full(3, 5)
    known = learnt if kind == STRENGTH else learnt[..., :0]
    rules = RuleBatch(kind, bounds, actions, known, lengths, 2.5, default)
    columns = zip(bounds, actions, learnt, lengths, strict=True)
    each = [Individual(b[:n], a[:n], w[:n], features, 2.5, default) for b, a, w, n in columns]
    return rules, Intervals.of(rules, features), each


@pytest.mark.parametrize("mix", MIXES)
@given(seed=st.integers(0, 10**6))
def test_rules_hold_the_points_that_they_hold_when_clipped(mix: str, seed: int) -> None:
    features = MIXES[mix]
    _, rules, each = batch(STRENGTH, features, seed)
    points = random_points(features, seed, 10)
    for i, individual in enumerate(each):
        for r in range(len(individual.actions)):
            for lane, point in enumerate(points.tolist()):
                expected = naive_envs.inside(individual.bounds[r], features, point)
                assert is_inside(rules, i, r, points, lane) == expected
                said = naive_envs.foretold(individual.learnt[r].tolist(), 2.5, features, point)
                assert predicted(rules, i, r, points, lane) == said


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("default", [-1, 1])
@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("kind", [LIST, STRENGTH])
@given(seed=st.integers(0, 10**6))
def test_choices_are_the_oracles(kind: int, mix: str, default: int, ragged: bool, seed: int) -> None:
    features = MIXES[mix]
    _, rules, each = batch(kind, features, seed, default, ragged)
    points = random_points(features, seed)
    who = np.random.default_rng(seed).integers(0, len(each), len(points))
    found = np.full(len(points), -7)
    choose_lanes(rules, who, points, found)
    choice = naive_envs.list_choice if kind == LIST else naive_envs.strength_choice
    assert found.tolist() == [choice(each[i], p) for i, p in zip(who, points.tolist(), strict=True)]
    assert found.tolist() == [chosen(rules, int(i), points, lane) for lane, i in enumerate(who)]
    assert (found >= min(default, 0)).all()


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
        found = np.empty(len(points), dtype=np.int64)
        alone = batch_of(ruleset)
        assert alone is not None
        assert (alone.how, alone.lengths.tolist()) == (kind, [6])
        rules = Intervals.of(alone, features)
        choose_lanes(rules, np.zeros(len(points), dtype=np.int64), points, found)
        assert found.tolist() == np.asarray(ruleset.predict(points)).tolist()


def test_an_interval_at_an_edge_is_open_there_and_closed_elsewhere() -> None:
    bounds = np.array([[[[2.0, 0.5]], [[-1.5, -1.5]], [[2.0, -1.5]], [[0.5, -0.5]]]])
    own = bounds, np.zeros((1, 4), np.int32), np.zeros((1, 4, 0)), np.array([4])
    rules = Intervals.of(RuleBatch(LIST, *own), (REAL,))
    assert rules.lows[0, :, 0].tolist() == [0.5, -np.inf, -np.inf, -0.5]
    assert rules.highs[0, :, 0].tolist() == [np.inf, -1.5, np.inf, 0.5]


def test_equal_strengths_go_to_the_least_action_whatever_the_order() -> None:
    everywhere = np.broadcast_to(np.array([-1.5, 2.0]), (1, 3, 1, 2))
    for order in ([2, 0, 1], [0, 1, 2], [1, 2, 0]):
        actions = np.array([order], dtype=np.int32)
        own = everywhere, actions, np.zeros((1, 3, 3)), np.array([3])
        rules = Intervals.of(RuleBatch(STRENGTH, *own), (REAL,))
        assert chosen(rules, 0, np.zeros((1, 1)), 0) == 0


@pytest.mark.parametrize(
    ("strength", "action", "top", "best", "wins"),
    [
        (-np.inf, 2, -np.inf, -1, True),  # the first rule, whatever it predicts
        (1.0, 2, 0.5, 0, True),
        (0.5, 0, 1.0, 2, False),
        (1.0, 0, 1.0, 2, True),  # equal strengths go to the lower action
        (1.0, 2, 1.0, 0, False),
        (1.0, 1, 1.0, 1, False),
        (-np.inf, 0, -np.inf, 1, True),
    ],
)
def test_the_stronger_rule_wins_and_of_equals_the_lower_action(
    strength: float, action: int, top: float, best: int, wins: bool
) -> None:
    assert is_stronger(strength, action, top, best) == wins


@pytest.mark.parametrize("some", [np.array([2, 0]), slice(1, 3), np.array([], dtype=np.int64)])
def test_some_rulesets_can_be_taken_out(some: Any) -> None:
    rules, _, _ = batch(STRENGTH, MIXES["mixed"], 3, ragged=True)
    taken = rules.take(some)
    assert (taken.how, taken.x0, taken.default) == (STRENGTH, 2.5, -1)
    for name in ("bounds", "actions", "learnt", "lengths"):
        np.testing.assert_array_equal(getattr(taken, name), getattr(rules, name)[some])
        assert getattr(taken, name).flags.c_contiguous


def test_laid_out_rules_share_what_they_learn_with_their_batch() -> None:
    rules, laid_out, _ = batch(STRENGTH, MIXES["mixed"], 3)
    assert laid_out.learnt is rules.learnt


# Digests


@pytest.mark.parametrize("change", [{"default": 1}, {"how": LIST}, {"x0": 7.0}])
def test_rules_that_choose_otherwise_have_other_digests(change: dict[str, Any]) -> None:
    rules, _, _ = batch(STRENGTH, MIXES["mixed"], 3)
    assert not set(rules.digests()) & set(rules._replace(**change).digests())
    assert rules.digests() == rules.take(slice(0, 3)).digests()


@pytest.mark.parametrize("name", ["bounds", "actions", "learnt"])
def test_digests_see_every_rule_and_nothing_behind_the_rules(name: str) -> None:
    rules, _, _ = batch(STRENGTH, MIXES["integer"], 3)
    rules = rules._replace(lengths=np.array([1, 3, 5]))
    before = rules.digests()
    for r in range(5):
        changed = rules._replace(**{name: getattr(rules, name).copy()})
        getattr(changed, name)[:, r] += 1
        same = [one == other for one, other in zip(before, changed.digests(), strict=True)]
        assert same == [bool(r >= length) for length in rules.lengths]


def test_the_order_of_bounds_and_the_rows_behind_make_no_other_digest() -> None:
    rules, _, _ = batch(STRENGTH, MIXES["integer"], 3)
    turned = rules._replace(bounds=np.ascontiguousarray(rules.bounds[..., ::-1]))
    assert turned.digests() == rules.digests()
    short = rules._replace(lengths=np.full(3, 2))
    cut = rules.bounds[:, :2], rules.actions[:, :2], rules.learnt[:, :2]
    assert RuleBatch(STRENGTH, *cut, np.full(3, 2), 2.5).digests() == short.digests()


# Rulesets of different lengths as one batch


NAMES = ("a", "b", "c")


def rulesets(kind: int, mix: str) -> list[RuleSet]:
    """Return rulesets of one, three and five rules."""
    features = MIXES[mix]
    bounds, actions, learnt = random_individuals(features, 11)
    found: list[RuleSet] = []
    for b, a, w, n in zip(bounds, actions, learnt, (3, 1, 5), strict=True):
        if kind == LIST:
            found.append(DecisionList(b[:n], a[:n], features, NAMES))
        else:
            found.append(StrengthRules(b[:n], a[:n], features, NAMES, w[:n, :-1], w[:n, -1], 2.5))
    return found


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("kind", [LIST, STRENGTH])
def test_stacked_rulesets_are_each_of_them_alone(kind: int, mix: str) -> None:
    features, each = MIXES[mix], rulesets(kind, mix)
    together = stacked(each)
    assert together.lengths.tolist() == [3, 1, 5]
    assert together.bounds.dtype == bounds_type(features)
    points, laid_out = random_points(features, 5), Intervals.of(together, features)
    for i, ruleset in enumerate(each):
        alone = batch_of(ruleset)
        assert alone is not None
        assert together.take(np.array([i])).digests() == alone.digests()
        found = [chosen(laid_out, i, points, lane) for lane in range(len(points))]
        assert found == np.asarray(ruleset.predict(points)).tolist()


def test_rulesets_of_different_kinds_cannot_be_stacked() -> None:
    lists, strong = rulesets(LIST, "mixed"), rulesets(STRENGTH, "mixed")
    other = StrengthRules(
        strong[0].bounds, strong[0].actions, MIXES["mixed"], NAMES, np.zeros((3, 4)), np.zeros(3), 9.0
    )
    for wrong in ([lists[0], strong[0]], [strong[0], other]):
        with pytest.raises(RuleError, match="only decision lists, or only strength rules with one x0"):
            stacked(wrong)


def test_kernels_are_not_compiled_anew_for_a_ruleset_taken_out_of_a_population() -> None:
    features = MIXES["real"]
    bounds, actions, learnt = random_individuals(features, seed=1)
    lengths = np.full(len(actions), actions.shape[1])
    batch = RuleBatch(LIST, bounds, actions, learnt[..., :0], lengths)
    alone = batch_of(DecisionList(bounds[0], actions[0], features, ("a", "b", "c")))
    assert alone is not None
    for name in ("bounds", "actions", "learnt", "lengths", "terms"):
        one, many = getattr(alone, name), getattr(batch, name)
        assert (one.dtype, one.ndim, one.flags.writeable) == (many.dtype, many.ndim, many.flags.writeable)
