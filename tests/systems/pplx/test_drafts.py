"""Laws of drafts: what tidying, packing, playing, rounding, shortening, tuning and changing them keeps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import DecisionList
from ifthen.rules.batch import Intervals, choose_lanes
from ifthen.systems.pplx.cma_es import drawn, new_cma, numbers_of, read_numbers, updated, with_numbers
from ifthen.systems.pplx.distil_values import feature_weights, random_terms, round_number
from ifthen.systems.pplx.drafts import (
    Draft,
    actions_at,
    batch,
    deciders,
    draft_from,
    pack,
    readable,
    ruleset,
    shorter_by_one,
    tidy,
    unpack,
    without_rule,
    without_test,
)
from ifthen.systems.pplx.scratch import LONGEST, changed, random_draft
from tests.systems.pplx.lists import FEATURES, HIGH, LOW, some_draft, some_points, task

numbers, few = st.integers(0, 10_000), st.integers(0, 3)
WHOLE = np.array([False, False, True])


def corners() -> Any:
    """Return the points at the ends of all ranges."""
    ends = np.array([LOW, HIGH])
    return np.stack(np.meshgrid(*[ends] * FEATURES), -1).reshape(-1, FEATURES)


def everywhere(draft: Draft) -> bool:
    """Return whether the last rule holds everywhere."""
    return not draft.limits[-1].any()


def played(drafts: list[Draft], points: Any) -> Any:
    """Return what each draft does at each point once they are ready to play, `(drafts, points)`."""
    rules = Intervals.of(batch(drafts, task()), task().features)
    found = np.zeros((len(drafts), len(points)), np.int64)
    for i in range(len(drafts)):
        choose_lanes(rules, np.full(len(points), i), points, found[i])
    return found


@given(numbers, st.integers(1, 5), few, st.booleans())
def test_tidying_never_changes_what_a_list_does(seed: int, rules: int, terms: int, last: bool) -> None:
    draft, points = some_draft(seed, rules, terms, last), some_points(seed)
    draft.actions[:] %= 2  # so that neighbours often do the same
    clean = tidy(draft)
    total = Draft(draft.lows.copy(), draft.highs.copy(), draft.actions, draft.terms)
    total.lows[-1], total.highs[-1] = -np.inf, np.inf  # the last rule decides where none holds
    assert (actions_at(clean, points) == actions_at(total, points)).all()
    assert everywhere(clean)
    assert clean.limits[:-1].any(axis=1).all()
    assert clean.limits[:, FEATURES:].any(axis=0).all()  # every term is used
    assert tidy(clean).key() == clean.key()


@given(st.lists(st.tuples(numbers, st.integers(1, 5), few), min_size=1, max_size=4))
def test_packed_drafts_come_back(shapes: list[tuple[int, int, int]]) -> None:
    drafts = [some_draft(*shape) for shape in shapes]
    again = unpack(*pack(drafts).values())
    assert [draft.key() for draft in again] == [draft.key() for draft in drafts]
    assert [draft.lows.shape for draft in again] == [draft.lows.shape for draft in drafts]


@given(numbers, st.integers(1, 5), few)
def test_a_draft_its_ruleset_and_its_batch_do_the_same_within_the_ranges(
    seed: int, rules: int, terms: int
) -> None:
    drafts = [readable(some_draft(seed + i, rules + i, terms), np.ones(FEATURES), WHOLE) for i in range(2)]
    points = np.vstack([some_points(seed), corners()])
    found = played(drafts, points)
    for draft, own in zip(drafts, found, strict=True):
        made = ruleset(draft, task())
        assert own.tolist() == actions_at(draft, points).tolist()
        assert made.predict(points).tolist() == own.tolist()
        assert len(made) <= len(draft.actions)
        beyond = 3.0 * points  # clipped, as PPL-X does it itself
        expected = actions_at(draft, np.clip(beyond, LOW, HIGH))
        assert made.predict(beyond).tolist() == expected.tolist()
        assert played([draft], beyond)[0].tolist() == expected.tolist()


def test_rules_that_hold_nowhere_are_not_played() -> None:
    draft = some_draft(0, 4)
    draft.lows[:], draft.highs[:] = -np.inf, np.inf
    draft.lows[0, 0] = HIGH + 1  # beyond the range: not at its end either
    draft.lows[1, 1], draft.highs[1, 1] = 2.0, 1.0
    draft.highs[2, 0] = HIGH + 1
    assert batch([draft], task()).lengths.tolist() == [2]
    assert len(ruleset(draft, task())) == 2


@given(numbers, st.integers(1, 5), few)
def test_readable_lists_keep_their_rules_and_have_short_numbers(seed: int, rules: int, terms: int) -> None:
    draft, spreads = some_draft(seed, rules, terms), some_points(seed).std(axis=0)
    short = readable(draft, spreads, WHOLE)
    assert len(short.actions) == rules
    assert short.actions.tolist() == draft.actions.tolist()
    assert len({tuple(row) for row in short.terms.tolist()}) == len(short.terms)
    for number in [*short.lows[np.isfinite(short.lows)], *short.highs[np.isfinite(short.highs)]]:
        assert len(f"{float(number)!r}".strip("-").replace(".", "").strip("0")) <= 4
    for number in short.terms[short.terms != 0]:
        assert float(f"{number:.2g}") == number
    assert all(row[np.flatnonzero(row)[0]] == 1 for row in short.terms)
    for ends in (short.lows, short.highs):
        whole = ends[:, 2][np.isfinite(ends[:, 2])]
        assert (whole == np.rint(whole)).all()
    if not terms:
        own = np.isfinite(draft.lows)
        assert (np.abs(short.lows[own] - draft.lows[own]) <= 1).all()
        assert readable(short, spreads, WHOLE).key() == short.key()


def test_terms_begin_with_a_coefficient_of_one_and_say_the_same() -> None:
    draft = some_draft(3, 3, 2)
    draft.terms[:] = [[-2.0, 1.0, 0.0], [0.0, 4.0, 1.0]]
    draft.lows[:], draft.highs[:] = -np.inf, np.inf
    draft.lows[0, 3], draft.highs[0, 4], draft.highs[1, 3] = -1.0, 1.0, 2.0
    short = readable(draft, np.ones(FEATURES), WHOLE)
    assert short.terms.tolist() == [[1.0, -0.5, 0.0], [0.0, 1.0, 0.25]]
    assert (short.highs[0, 3], short.highs[0, 4], short.lows[1, 3]) == (0.5, 0.25, -1.0)
    points = some_points(3)
    assert (deciders(draft, points) == deciders(short, points)).all()


def test_terms_that_rounding_makes_equal_become_one() -> None:
    draft = some_draft(3, 3, 2)
    draft.terms[:] = [[1.0, 0.501, 0.0], [1.0, 0.499, 0.0]]
    draft.lows[:], draft.highs[:] = -np.inf, np.inf
    draft.lows[0, 3], draft.highs[0, 4], draft.highs[1, 3] = -1.0, 1.0, 2.0
    short = readable(draft, np.ones(FEATURES), WHOLE)
    assert short.terms.tolist() == [[1.0, 0.5, 0.0]]
    assert (short.lows[0, 3], short.highs[0, 3], short.highs[1, 3]) == (-1.0, 1.0, 2.0)
    assert len(ruleset(short, task()).terms) == 1


@given(numbers, st.integers(2, 5), few)
def test_drops_have_one_rule_or_test_less_or_fewer(seed: int, rules: int, terms: int) -> None:
    draft = tidy(some_draft(seed, rules, terms))
    found = shorter_by_one(draft)
    n, tests = draft.size
    assert len(found) == n - 1 + tests
    for fewer in found:
        assert everywhere(fewer)
        assert fewer.tests < tests
        assert len(fewer.actions) <= n
    for i in range(n - 1):
        assert found[i].key() == without_rule(draft, i).key()
        assert len(found[i].actions) < n
    for r, c in np.argwhere(np.isfinite(draft.highs)):
        assert without_test(draft, r, c, upper=True).tests <= tests - 1


@given(numbers)
def test_a_ruleset_without_terms_becomes_a_draft_that_does_the_same(seed: int) -> None:
    made = ruleset(readable(some_draft(seed), np.ones(FEATURES), WHOLE), task())
    points = some_points(seed)
    draft = draft_from(made)
    assert actions_at(draft, points).tolist() == made.predict(points).tolist()
    part = DecisionList(made.bounds[:1], made.actions[:1], made.features, made.action_names)
    assert everywhere(draft_from(part))


# Changes


@given(numbers, st.integers(1, 4), st.booleans())
def test_random_and_changed_lists_always_end_with_a_rule_that_holds_everywhere(
    seed: int, actions: int, whole: bool
) -> None:
    draws, points = np.random.default_rng(seed), some_points(seed, whole=whole)
    points[:, 0] = 1.0  # a feature that does not vary
    parents = [random_draft(draws, points, actions) for _ in range(4)]
    for _ in range(40):
        first, second = (parents[i] for i in draws.integers(0, len(parents), 2))
        parents.append(changed(draws, first, second, points, actions))
    for draft in parents:
        assert everywhere(draft)
        assert 1 <= len(draft.actions) <= LONGEST
        assert set(draft.actions.tolist()) <= set(range(actions))
        assert not draft.limits[:, 0].any()
        assert draft.actions.dtype == np.int32
        assert not np.isnan(draft.lows).any()
        assert draft.lows.shape == draft.highs.shape == (len(draft.actions), FEATURES)


@given(numbers, st.integers(1, 50))
def test_random_terms_add_up_two_features_with_round_coefficients(seed: int, n: int) -> None:
    draws = np.random.default_rng(seed)
    spreads = 10.0 ** draws.uniform(-6, 6, 5)
    spreads[draws.integers(5)] = 0.0
    terms = random_terms(draws, spreads, np.ones(5), n)
    assert terms.shape == (n, 5)
    assert not terms[:, spreads == 0].any()
    for row in terms:
        first, second = row[row != 0]
        assert first == 1.0
        size = abs(second) / 10.0 ** math.floor(math.log10(abs(second)) + 1e-9)
        assert min(abs(size - digit) for digit in (1, 2, 5)) < 1e-6
        i, j = np.flatnonzero(row)
        assert 0.1 < abs(second) * spreads[j] / spreads[i] < 10
    assert random_terms(draws, np.array([1.0, 0.0]), np.ones(2), n).shape == (0, 2)


@pytest.mark.parametrize(("value", "expected"), [(1.0, 1), (1.4, 1), (1.5, 2), (0.034, 0.05), (720, 1000)])
def test_round_numbers_begin_with_1_2_or_5(value: float, expected: float) -> None:
    assert round_number(value) == pytest.approx(expected)


# Tuning


@given(numbers, st.integers(1, 5), few)
def test_numbers_that_are_read_can_be_written_back(seed: int, rules: int, terms: int) -> None:
    draft, spreads = some_draft(seed, rules, terms), some_points(seed).std(axis=0)
    at = numbers_of(draft, spreads)
    values = read_numbers(draft, at)
    assert len(values) == draft.tests + terms  # a term has two coefficients, and the first one stays
    same = with_numbers(draft, at, values)
    for name in ("lows", "highs", "terms"):
        np.testing.assert_allclose(getattr(same, name), getattr(draft, name), rtol=1e-12)
    moved = np.random.default_rng(seed).normal(size=len(values))
    assert read_numbers(with_numbers(draft, at, moved), at) == pytest.approx(moved)
    assert (with_numbers(draft, at, moved).limits == draft.limits).all()


def test_numbers_of_features_that_do_not_vary_are_left_alone() -> None:
    draft = some_draft(1, 3, 2)
    draft.lows[:], draft.highs[:] = -np.inf, np.inf
    draft.terms[:] = [[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]]
    draft.lows[0, :4] = 1.0
    at = numbers_of(draft, np.array([1.0, 0.5, 0.0]))
    assert at.lows.tolist() == [[0, 0], [0, 1], [0, 3]]
    assert at.terms.tolist() == []
    assert np.isfinite(read_numbers(draft, at)).all()


@pytest.mark.parametrize(("condition", "generations"), [(1.0, 100), (1e6, 300)])
def test_cma_finds_the_best_of_a_sphere_and_of_a_badly_scaled_ellipsoid(
    condition: float, generations: int
) -> None:
    draws, d = np.random.default_rng(1), 6
    turned = np.linalg.qr(draws.normal(size=(d, d)))[0]
    weights, goal = condition ** (np.arange(d) / (d - 1)), draws.normal(size=d)

    def score(x: Any) -> Any:
        return -(((x - goal) @ turned) ** 2) @ weights

    state = new_cma(np.zeros(d), 0.5)
    for _ in range(generations):
        candidates = drawn(state, draws.standard_normal((4 + int(3 * math.log(d)), d)))
        state = updated(state, candidates, score(candidates))
    assert score(state.mean) > -1e-6
    assert state.mean == pytest.approx(goal, abs=1e-3)
    assert state.generation == generations
    assert (np.linalg.eigvalsh(state.covariance) > 0).all()


@pytest.mark.parametrize("features", [3, 25, 400])
def test_features_that_trees_use_are_drawn_for_terms_however_many_there_are(features: int) -> None:
    low = np.full((2, features), -np.inf)
    low[0, :2] = 0.5
    draft = Draft(low, np.full((2, features), np.inf), np.array([1, 0], np.int32), np.zeros((0, features)))
    often = feature_weights([draft])
    assert often[0] == often[1] >= 3 * often[2]
    drawn_often = random_terms(np.random.default_rng(1), np.ones(features), often, 200)
    both = (drawn_often[:, :2] != 0).all(axis=1).sum()
    assert both >= 1
