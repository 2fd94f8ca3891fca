"""Fitting beside its oracle, and what a list that is fitted or polished keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.randomness import stream
from ifthen.rules.term import with_terms
from ifthen.systems.pplx import changes, fit
from ifthen.systems.pplx.drafts import Draft, actions_at, tidy
from tests import naive_values
from tests.systems.pplx.lists import FEATURES, some_costs, some_draft, some_points

numbers = st.integers(0, 10_000)
PLENTY = 2000


def key_of(seed: int) -> np.uint64:
    return stream(5, "pplx fit tests", seed)


def as_told(rules: changes.ListArrays) -> list[naive_values.FitRule]:
    """Return rules as the oracle takes them."""
    found = []
    for column, upper, threshold, action in zip(*(part.tolist() for part in rules), strict=True):
        tests = [test for test in zip(column, upper, threshold, strict=True) if test[0] >= 0]
        found.append((tests, action))
    return found


@given(numbers, st.integers(1, 6), st.integers(0, 2))
def test_a_draft_comes_back_from_its_arrays(seed: int, rules: int, terms: int) -> None:
    draft = tidy(some_draft(seed, rules, terms))
    assert fit.draft_of_arrays(fit.arrays_of(draft), draft.terms).key() == draft.key()


@pytest.mark.oracle
@given(numbers, st.integers(0, 2), st.integers(0, 4))
def test_what_a_list_gives_away_is_the_oracles(seed: int, terms: int, first: int) -> None:
    draft, points, costs = tidy(some_draft(seed, 4, terms)), some_points(seed, 30), some_costs(seed, 30)
    ground, rules = fit.fit_points(draft.terms, points, costs, None), fit.arrays_of(draft)
    before, after = np.zeros(30, np.int64), np.zeros(30, np.int64)
    total = fit.total_cost(ground, rules, 0, before, before, np.inf)
    rows, told = ground.values.T.tolist(), as_told(rules)
    assert total == naive_values.total_cost(told, rows, ground.costs.tolist())
    assert fit.regret(draft, points, costs) == pytest.approx(total / 30)
    assert before.tolist() == naive_values.deciders(told, rows)
    assert fit.count_tests(rules) == naive_values.count_tests(told) == draft.tests
    changed = min(first, len(draft.actions) - 1)
    assert fit.total_cost(ground, rules, changed, before, after, total) == total
    assert after.tolist() == before.tolist()
    assert total == 0 or fit.total_cost(ground, rules, 0, before, after, total / 2) == np.inf
    for t in range(len(draft.terms)):
        ground.values[FEATURES + t] = np.nan
        changes.fill_term(draft.terms, t, ground.values)
        assert ground.values[FEATURES + t].tolist() == [row[FEATURES + t] for row in rows]
        assert [row[FEATURES + t] for row in rows] == naive_values.term_values(
            draft.terms[t].tolist(), ground.values[:FEATURES].T.tolist()
        )


@pytest.mark.oracle
@given(numbers, st.integers(0, 2), st.booleans(), st.booleans())
def test_a_list_is_fitted_the_oracles_way(seed: int, terms: int, hot: bool, numbers_only: bool) -> None:
    draft, points, costs = tidy(some_draft(seed, 4, terms)), some_points(seed, 25), some_costs(seed, 25)
    points[:, 1] = 1.0 if seed % 3 == 0 else points[:, 1]  # a feature that does not vary
    if len(draft.actions) < 2:
        return
    heat, price = (0.05, 0.001) if hot else (0.0, 0.0), 0.002
    rules, sums = fit.arrays_of(draft), np.vstack([draft.terms, [[1.0, 0.0, -1.0]]])
    ground = fit.fit_points(sums, points, costs, sums[:1] if seed % 2 else None)
    rows, told = ground.values[:FEATURES].T.tolist(), as_told(rules)
    own = rows, sums.tolist(), ground.costs.tolist(), ground, changes, fit.ROUNDING, numbers_only
    expected = naive_values.fitted_rules(int(key_of(seed)), 120, heat, price, told, *own)
    before = sums.copy()
    least = fit.fit_rules(key_of(seed), 120, *heat, price, ground, rules, sums, numbers_only)
    assert least == pytest.approx(expected[2])
    for (tests, action), (wanted, does) in zip(as_told(rules), expected[0], strict=True):
        assert action == does
        assert [test[:2] for test in tests] == [test[:2] for test in wanted]
        assert [test[2] for test in tests] == pytest.approx([test[2] for test in wanted])
    assert sums == pytest.approx(np.array(expected[1]))
    assert (sums[ground.fixed] == before[ground.fixed]).all()


@pytest.mark.oracle
@given(numbers)
def test_a_test_is_drawn_the_oracles_way(seed: int) -> None:
    points, rules = some_points(seed, 12), fit.arrays_of(tidy(some_draft(3, 4)))
    if seed % 5 == 0:
        points[:] = 1.0  # nothing to tell apart
    found = changes.draw_test(key_of(seed), np.ascontiguousarray(points.T), 4, rules, 0, 1)
    expected = naive_values.drawn_test(int(key_of(seed)), points.tolist(), 4, changes.TRIES)
    assert found == (expected is not None)
    if expected is not None:
        assert (rules.column[0, 1], rules.upper[0, 1], rules.threshold[0, 1]) == expected
        assert naive_values.holds([expected], points[4].tolist())
        assert not all(naive_values.holds([expected], point) for point in points.tolist())


@given(numbers, st.integers(0, 2), st.integers(0, 200))
def test_polishing_never_gives_away_more_and_keeps_the_rules(seed: int, terms: int, moves: int) -> None:
    draft, points, costs = tidy(some_draft(seed, 4, terms)), some_points(seed), some_costs(seed)
    after = fit.polished(key_of(seed), draft, points, costs, moves)
    assert fit.regret(after, points, costs) <= fit.regret(draft, points, costs) + 1e-12
    assert after.size == draft.size
    assert (after.limits == draft.limits).all()
    assert ((after.terms != 0) == (draft.terms != 0)).all()
    assert after.actions.tolist() == draft.actions.tolist()


@given(numbers, st.integers(1, 5), st.integers(0, 2))
def test_a_fitted_list_has_no_more_rules_and_every_rule_decides_somewhere(
    seed: int, rules: int, terms: int
) -> None:
    draft, points, costs = some_draft(seed, rules, terms), some_points(seed), some_costs(seed)
    after = fit.fitted(key_of(seed), draft, np.array([[1.0, -2.0, 0.0]]), points, costs, 300)
    assert len(after.actions) <= len(draft.actions)
    assert tidy(after).key() == after.key()
    decide = naive_values.deciders(as_told(fit.arrays_of(after)), with_terms(after.terms, points).tolist())
    assert set(decide) >= set(range(len(after.actions) - 1))


def test_a_rule_of_thumb_is_found_from_nothing() -> None:
    draws = np.random.default_rng(1)
    points = draws.normal(size=(500, FEATURES))
    best = np.where(points[:, 0] - 2 * points[:, 1] > 0.5, 1, np.where(points[:, 2] > 1, 2, 0))
    costs = 1.0 - np.eye(3)[best]
    start = wide_list()
    assert fit.regret(start, points, costs) > 0.3
    after = fit.fitted(key_of(2), start, np.array([[1.0, -2.0, 0.0]]), points, costs, PLENTY)
    assert fit.regret(after, points, costs) < 0.1
    assert after.size == (3, 2)
    assert (actions_at(after, points) == best).mean() > 0.9


def wide_list() -> Draft:
    """Return a list of three rules that tell nothing apart."""
    lows = np.full((3, FEATURES), -np.inf)
    highs = -lows
    highs[0, 0] = highs[1, 0] = 100.0
    return Draft(lows, highs, np.array([0, 1, 0], np.int32), np.zeros((0, FEATURES)))


def test_coefficients_of_features_that_do_not_vary_stay_as_they_are() -> None:
    points: Any = some_points(1)
    points[:, 1] = 0.0
    everywhere = np.full((2, 4), np.inf)
    lows, highs = -everywhere, everywhere
    highs[0, 3] = 0.5
    draft = Draft(lows, highs, np.array([0, 1], np.int32), np.array([[1.0, 2.0, 0.0]]))
    after = fit.polished(key_of(1), draft, points, some_costs(1), 500)
    assert after.terms[0, 1] == 2.0
    assert after.terms[0, 0] != 1.0
