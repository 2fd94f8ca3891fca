"""Lists, their changes and annealing, beside their oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.randomness import stream
from ifthen.systems.pplx import anneal as search
from ifthen.systems.pplx.list_value import list_value, new_policy_value, value
from ifthen.systems.pplx.table_lists import (
    copied,
    copy_list,
    copy_rule,
    decide,
    decider,
    match_states,
    picked,
    widen,
)
from tests import naive_pplx
from tests.systems.pplx.tables import ACTIONS, as_rules, plain, some_rules, table

numbers = st.integers(0, 10_000)


def guided(rules: list[naive_pplx.Rule]) -> search.Guide:
    """Return where a list loses."""
    own = table()
    valued = new_policy_value(own, 1)
    value(own, as_rules(rules), valued)
    states = len(own.points)
    hints = search.Guide(np.zeros(states), np.zeros((states, ACTIONS), np.bool_), np.zeros(states, np.int64))
    search.guide(own, valued, hints)
    return hints


@pytest.mark.oracle
@given(numbers, st.integers(1, 8))
def test_the_first_rule_that_holds_decides(seed: int, n: int) -> None:
    own, rules = table(), some_rules(seed, n)
    made = as_rules(rules)
    chosen = np.zeros((ACTIONS, 1), np.uint64)
    decide(made, chosen)
    policy = naive_pplx.policy_of(rules, own.points)
    for s, action in enumerate(policy):
        assert [int(chosen[a, 0]) >> s & 1 for a in range(ACTIONS)] == [a == action for a in range(ACTIONS)]
        assert decider(made, s) == naive_pplx.decider(rules, own.points[s])
    match_states(own.points, made, 0)
    inside = [s for s in range(len(policy)) if naive_pplx.holds(rules[0], own.points[s])]
    assert int(made.masks[0, 0]) == sum(1 << s for s in inside)


@pytest.mark.oracle
@given(numbers)
def test_copies_are_equal_and_widened_lists_choose_the_same_with_fewer_ends(seed: int) -> None:
    own, rules = table(), some_rules(seed)
    made, other = as_rules(rules), as_rules(some_rules(seed + 1))
    copy_list(made, other)
    assert plain(other) == plain(made) == rules
    copy_rule(made, 0, other, 2)
    assert plain(other) == plain(picked(made, np.array([0, 1, 0, 3, 4])))
    widen(own.points, made, own.lows, own.highs)
    assert plain(made) == naive_pplx.widened(rules, own.points, own.lows, own.highs)
    assert naive_pplx.policy_of(plain(made), own.points) == naive_pplx.policy_of(rules, own.points)


@pytest.mark.oracle
@given(numbers)
def test_a_guide_says_where_a_list_loses(seed: int) -> None:
    own, rules = table(), some_rules(seed)
    hints = guided(rules)
    policy = naive_pplx.policy_of(rules, own.points)
    losses, good, best = naive_pplx.guide(own, policy, search.GOOD)
    assert hints.loss == pytest.approx(losses, abs=1e-9)
    assert hints.good.tolist() == good
    assert hints.best.tolist() == best
    key = stream(5, "pplx tests", seed)
    expected = naive_pplx.place_to_mend(int(key), losses, search.AT_A_LOSS)
    assert search.place_to_mend(key, hints.loss) == expected


@pytest.mark.oracle
@given(numbers, st.integers(1, 7), st.floats(0, 0.999))
def test_lists_change_as_by_the_oracle_and_stay_in_range(seed: int, n: int, kind: float) -> None:
    own, rules, key = table(), some_rules(seed, n), stream(5, "pplx tests", seed)
    hints, made = guided(rules), as_rules(rules)
    told = naive_pplx.guide(own, naive_pplx.policy_of(rules, own.points), search.GOOD)
    search.change_list(key, own, hints, made, kind)
    assert plain(made) == naive_pplx.changed(int(key), own, told, rules, kind, search)
    assert (made.lows >= own.lows).all()
    assert (made.highs <= own.highs).all()
    assert (made.lows <= made.highs).all()
    assert (made.lows[-1] == own.lows).all()
    assert (made.highs[-1] == own.highs).all()


@pytest.mark.oracle
@given(numbers)
def test_each_kind_of_change_is_the_oracles(seed: int) -> None:
    own, rules, key = table(), some_rules(seed), stream(5, "pplx tests", seed)
    hints = guided(rules)
    told = naive_pplx.guide(own, naive_pplx.policy_of(rules, own.points), search.GOOD)
    made = as_rules(rules)
    search.replace_rule(key, own, hints, made)
    assert plain(made) == naive_pplx.replaced(int(key), own, told, rules, search)
    made = as_rules(rules)
    search.move_bounds(key, own, made)
    assert plain(made) == naive_pplx.moved(int(key), own, rules, search)
    made = as_rules(rules)
    search.grow(key, own, hints.good, 4, 1, 0.1, made, 0)
    match_states(own.points, made, 0)
    assert plain(made)[0] == naive_pplx.grown(int(key), own, told[1], 4, 1, 0.1)
    made = as_rules(rules)
    search.swap_rules(made, 0, 2)
    assert plain(made) == [rules[2], rules[1], rules[0], *rules[3:]]
    assert naive_pplx.changed(int(key), own, told, rules, 0.99, search) != []


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(3))
def test_annealing_goes_the_oracles_way(seed: int) -> None:
    own, rules, key = table(seed), some_rules(seed), stream(5, "pplx tests", seed)
    made, best = as_rules(rules), as_rules(rules)
    top = search.anneal(key, own, 40, 0.1, 0.01, made, best)
    expected, highest = naive_pplx.annealed(int(key), own, 40, 0.1, 0.01, rules, search)
    assert plain(made) == expected
    assert top == pytest.approx(highest)
    assert list_value(own, best) == pytest.approx(highest)


@given(numbers, st.integers(0, 60))
def test_annealing_never_returns_less_than_it_began_with(seed: int, candidates: int) -> None:
    own, rules = table(seed % 5), as_rules(some_rules(seed))
    best, before = copied(rules), list_value(own, rules)
    top = search.anneal(stream(5, "pplx tests", seed), own, candidates, 1.0, 0.1, rules, best)
    assert top >= before - 1e-12
    assert list_value(own, best) == pytest.approx(top)


@pytest.mark.oracle
@given(numbers, st.integers(2, 6))
def test_rules_are_dropped_from_the_least_missed_on(seed: int, n: int) -> None:
    own, rules = table(), some_rules(seed, n)
    order, values = np.zeros(n - 1, np.int64), np.zeros(n - 1)
    search.drop_least_missed(own, as_rules(rules), 1e-9, order, values)
    left = list(range(n))
    for gone, value_left in zip(order.tolist(), values, strict=True):
        without = naive_pplx.values_without(own, [rules[r] for r in left])
        assert without[left.index(gone)] == pytest.approx(max(without), abs=1e-9)
        assert value_left == pytest.approx(max(without), abs=1e-9)
        left.remove(gone)
