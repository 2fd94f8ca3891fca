"""Shortest decision lists: right in every state, as short as brute force says, and proofs that hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import DecisionList, Feature, frozen_lake
from ifthen.errors import ParameterError, RuleError, TaskError
from ifthen.randomness import stream
from ifthen.simplify.shortest import annealing as search
from ifthen.simplify.shortest import bits as words
from ifthen.simplify.shortest import facts as few_states
from ifthen.simplify.shortest import proof
from ifthen.simplify.shortest import shortest_list as lists
from ifthen.simplify.shortest.shortest_list import shortest_decision_list, shortest_list
from ifthen.tasks.solve import value_iteration
from tests import naive_explain as naive
from tests.simplify.integer_program import list_exists
from tests.tables import table_named

Table = tuple[NDArray[np.int64], NDArray[np.bool_]]
KEY = stream(0, "test")


@st.composite
def tables(draw: st.DrawFn, most: int = 6, silent: bool = True, dense: bool = True) -> Table:
    """Draw different states in a small plane, with the actions that are allowed in each.

    Where `dense`, the values of every feature are 0, 1, …, so that they are their own ranks.
    """
    width, actions = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    cell = st.tuples(st.integers(0, width), st.integers(0, width))
    points = np.array(draw(st.lists(cell, min_size=1, max_size=most, unique=True)))
    row = st.lists(st.booleans(), min_size=actions, max_size=actions)
    if not silent:
        row = row.filter(any)
    size = len(points)
    rows = draw(st.lists(row, min_size=size, max_size=size).filter(lambda each: any(map(any, each))))
    if dense:
        points = np.stack([np.unique(column, return_inverse=True)[1] for column in points.T], axis=1)
    return points, np.array(rows)


@st.composite
def lines(draw: st.DrawFn) -> Table:
    """Draw states in a row with one allowed action each: few states that need many rules."""
    actions = draw(st.lists(st.integers(0, 2), min_size=8, max_size=11))
    points = np.array([[x, 0] for x in range(len(actions))])
    return points, np.array(actions)[:, None] == np.arange(3)


@st.composite
def listed(draw: st.DrawFn) -> tuple[Table, NDArray[np.int64]]:
    """Draw a table and some boxes over its ranks, in order."""
    points, allowed = draw(tables(most=12))
    tops = points.max(axis=0).tolist()
    ends = st.tuples(*(st.tuples(st.integers(0, top), st.integers(0, top)) for top in tops))
    boxes = np.array(draw(st.lists(ends, min_size=1, max_size=6)))
    return (points, allowed), np.sort(boxes, axis=-1)


def members(mask: Any, size: int) -> frozenset[int]:
    """Return the numbers of the states in a mask, `(W,)` or a single word."""
    return frozenset(np.flatnonzero(words.unpacked(np.atleast_1d(mask), size)).tolist())


def names_of(table: Table) -> tuple[tuple[Feature, ...], tuple[str, ...]]:
    features = tuple(Feature(name, -3, 30) for name in ("x", "y"))
    return features, tuple(f"action {a}" for a in range(table[1].shape[1]))


def is_right(rules: DecisionList, points: Any, allowed: NDArray[np.bool_]) -> bool:
    """Return whether every state gets an allowed action, or none where none is allowed."""
    taken = np.asarray(rules.predict(points))
    spoken = allowed.any(axis=1)
    return bool(((taken >= 0) == spoken).all() and allowed[spoken, taken[spoken]].all())


# The whole.


@settings(max_examples=60)
@given(tables(dense=False))
def test_a_list_is_right_in_every_state_and_as_short_as_brute_force_says(table: Table) -> None:
    points, allowed = table
    found = shortest_list(points, allowed, *names_of(table), effort="quick")
    assert is_right(found.rules, points, allowed)
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in points.T], axis=1)
    fewest = naive.fewest_rules(ranks.tolist(), allowed.tolist())
    assert len(found.rules) == found.lower_bound == fewest
    assert found.proven
    if fewest > 1:
        core = sorted(found.core)
        assert naive.fewest_rules(ranks[core].tolist(), allowed[core].tolist()) == fewest


@pytest.mark.parametrize(("p_slip", "rules"), [(0.0, 4), (0.1, 5), (0.3, 5), (0.5, 6)])
def test_the_shortest_lists_of_the_small_lakes_are_proven(p_slip: float, rules: int) -> None:
    task = frozen_lake(4, p_slip)
    found = shortest_decision_list(task, effort="quick")
    assert (len(found.rules), found.lower_bound, found.proven) == (rules, rules, True)
    assert "no decision list has fewer" in str(found)
    optimal = value_iteration(task).optimal_actions[task.decision_states]
    assert is_right(found.rules, task.dynamics.points, optimal)
    core = list(found.core)
    features, actions = task.features, task.action_names
    alone = shortest_list(task.dynamics.points[core], optimal[core], features, actions, "quick")
    assert len(alone.rules) == rules


@pytest.mark.parametrize(("p_slip", "most"), [(0.0, 8), (0.1, 9), (0.3, 13), (0.5, 17)])
def test_lists_for_larger_lakes_are_optimal_and_short_at_the_least_effort(p_slip: float, most: int) -> None:
    task = frozen_lake(8, p_slip)
    found = shortest_decision_list(task, effort="quick")
    assert len(found.rules) <= most
    optimal = value_iteration(task).optimal_actions[task.decision_states]
    assert is_right(found.rules, task.dynamics.points, optimal)
    assert "the fewest found" in found.how
    assert found.rules == shortest_decision_list(task, effort="quick").rules


def test_a_middling_effort_proves_what_the_least_leaves_open() -> None:
    task = frozen_lake(8, 0.0)
    allowed = value_iteration(task).optimal_actions[task.decision_states]
    bits, work = words.bits_of(task.dynamics.points, allowed), lists.WORK["normal"].proof
    assert [proof.lower_bound(bits, most, work, 0).rules for most in (8, 9)] == [8, 8]


def test_the_proof_finds_a_list_that_the_search_missed() -> None:
    table = np.array([[0, 0], [1, 0], [2, 0]]), np.array([[True, False], [False, True], [True, False]])
    bound = proof.lower_bound(words.bits_of(*table), 3, 10**9, 0)
    assert bound.rules == 2
    assert bound.boxes is not None
    assert naive.list_cost(bound.boxes.tolist(), table[0].tolist(), table[1].tolist()) == 0


def test_tasks_without_a_discount_are_refused() -> None:
    with pytest.raises(TaskError, match="γ = 1"):
        shortest_decision_list(frozen_lake(4, 0.0, gamma=1.0), effort="quick")


def test_progress_is_told_after_each_round() -> None:
    told: list[tuple[int, int]] = []
    task = table_named("CliffWalking-v1")
    found = shortest_decision_list(task, "quick", progress=lambda rules, least: told.append((rules, least)))
    assert told[-1] == (len(found.rules), found.lower_bound) == (3, 3)


# Conditions.


def test_intervals_are_left_open_where_that_changes_no_action() -> None:
    states = np.array([[x, y] for x in range(4) for y in range(2)])
    allowed = np.array([[x == 2, x != 2] for x, _ in states])
    features = Feature("x", 0, 5), Feature("y", 0, 9)
    found = shortest_list(states, allowed, features, ("Stay", "Go"), "quick")
    assert str(found.rules).splitlines() == ["1. IF x = 2 THEN Stay", "2. OTHERWISE Go"]


def test_states_of_real_features_give_closed_bounds_at_their_values() -> None:
    states = np.array([[0.5], [1.25], [2.0], [7.5]])
    allowed = np.array([[False, True], [True, False], [True, False], [False, True]])
    speed = Feature("speed", -10.0, 10.0, "real")
    found = shortest_list(states, allowed, (speed,), ("Stay", "Go"), "quick")
    assert found.rules.bounds.tolist() == [[[1.25, 2.0]], [[-10.0, 10.0]]]
    assert found.proven


def test_a_state_with_nothing_allowed_is_matched_by_no_rule() -> None:
    states, allowed = np.array([[0], [1], [2]]), np.array([[True], [False], [True]])
    found = shortest_list(states, allowed, (Feature("x", 0, 4),), ("Go",), "quick")
    assert found.rules.predict([[0], [1], [2]]).tolist() == [0, -1, 0]
    assert str(found.rules).splitlines() == ["1. IF x = 0 THEN Go", "2. IF x ≥ 2 THEN Go"]


def test_states_that_look_alike_are_given_an_action_that_suits_all() -> None:
    states = np.array([[1], [0], [1]])
    allowed = np.array([[True, True], [True, False], [False, True]])
    found = shortest_list(states, allowed, (Feature("x", 0, 1),), ("Stay", "Go"), "quick")
    assert found.rules.predict([[0], [1]]).tolist() == [0, 1]
    assert set(found.core) <= {0, 1}


def test_a_rule_that_decides_nothing_is_left_out() -> None:
    points, allowed = np.array([[0], [1], [2]]), np.array([[True, False], [False, True], [True, False]])
    bits = words.bits_of(points, allowed)
    bounds, actions = lists.readable_rules(bits, np.array([[[1, 1]], [[1, 1]]]))
    assert bounds.tolist() == [[[1, 1]], [[0, 2]]]
    assert actions.tolist() == [1, 0]


# What cannot be done.


def test_states_that_look_alike_and_allow_nothing_in_common_are_refused() -> None:
    allowed = np.array([[True, False], [False, True]])
    with pytest.raises(RuleError, match="tell them apart"):
        shortest_list(np.zeros((2, 1)), allowed, (Feature("x", 0, 1),), ("Stay", "Go"))


def test_efforts_and_tasks_are_checked() -> None:
    with pytest.raises(ParameterError, match="effort"):
        shortest_decision_list(frozen_lake(4), effort="much")  # type: ignore[arg-type]
    with pytest.raises(TaskError, match="FrozenLak"):
        shortest_decision_list("FrozenLak-4-0")


def test_tasks_are_taken_by_name_and_as_environments() -> None:
    expected = shortest_decision_list(frozen_lake(4, 0.1), "quick").rules
    assert shortest_decision_list("FrozenLake-4-0.1", "quick").rules == expected
    assert shortest_decision_list(frozen_lake(4, 0.1).make(), "quick").rules == expected


# Kernels, against plain Python.


@pytest.mark.oracle
@given(listed())
def test_masks_hold_the_states_inside_a_box(case: tuple[Table, NDArray[np.int64]]) -> None:
    (points, allowed), boxes = case
    bits, ranks = words.bits_of(points, allowed), points.tolist()
    inside = np.empty_like(bits.everything)
    for box in boxes:
        words.states_inside(box, bits.up_to, inside)
        expected = naive.states_in(box.tolist(), ranks)
        assert members(inside, len(points)) == expected
        assert sum(words.count_bits(word) for word in inside) == len(expected)
        wrong, action = naive.fewest_wrong(allowed.tolist(), expected)
        assert words.fewest_wrong(bits.allowed, inside, bits.everything) == wrong
        assert words.has_wrong(inside, bits.everything, bits.allowed[action]) == (wrong > 0)


def test_masks_of_more_than_one_word_hold_every_state() -> None:
    points = np.array([[x, y] for x in range(12) for y in range(11)])
    allowed = (points.sum(axis=1) % 2 == 0)[:, None] ^ np.array([[False, True]])
    bits = words.bits_of(points, allowed)
    inside = np.empty_like(bits.everything)
    words.states_inside(np.array([[3, 9], [0, 10]]), bits.up_to, inside)
    assert members(inside, 132) == naive.states_in([(3, 9), (0, 10)], points.tolist())
    assert members(bits.everything, 132) == frozenset(range(132))


@pytest.mark.oracle
@given(listed(), st.integers(0, 10**6))
def test_the_cost_of_a_list_is_kept_through_every_move(
    case: tuple[Table, NDArray[np.int64]], at: int
) -> None:
    (points, allowed), boxes = case
    bits, n = words.bits_of(points, allowed), len(boxes)

    def cost_of(each: search.Candidate, length: int = n) -> int:
        kept = each.bounds[each.order[:length]].tolist()
        return naive.list_cost(kept, points.tolist(), allowed.tolist())

    now, trial = search._candidate(bits, boxes), search._candidate(bits, boxes)
    for each in (now, trial):
        assert search.price(bits, bits.open_ended, each, 0, n, 999) == cost_of(each)
    for move in range(30):
        first, rule = search.propose(bits, trial, n, KEY, at + 20 * move)
        if first >= 0:
            assert trial.order[:first].tolist() == now.order[:first].tolist()
            changed = (trial.bounds != now.bounds).any(axis=(1, 2))
            assert set(np.flatnonzero(changed)) <= {rule}
            assert search.price(bits, bits.open_ended, trial, first, n, 999) == cost_of(trial)
            search.copy_from(trial, now, first, n, rule)
        assert sorted(trial.order.tolist()) == list(range(n))
        assert ((trial.bounds >= 0) & (trial.bounds < bits.sizes[:, None])).all()
        assert (trial.bounds[..., 0] <= trial.bounds[..., 1]).all()
        for ours, theirs in zip(now, trial, strict=True):
            assert np.array_equal(ours, theirs)
    fewest = min(cost_of(now._replace(order=np.delete(now.order, place)), n - 1) for place in range(n))
    search.drop_least(bits, bits.open_ended, now, n)
    assert sorted(now.order.tolist()) == list(range(n))
    assert cost_of(now, n - 1) == fewest


@given(st.data())
def test_a_rule_is_put_where_it_should_go(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 6))
    source, target = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    order, expected = np.arange(n), list(range(n))
    search.put(order, source, target)
    expected.insert(target, expected.pop(source))
    assert order.tolist() == expected


@pytest.mark.oracle
@given(st.one_of(tables(most=12), lines()))
def test_lists_that_are_found_are_right(table: Table) -> None:
    points, allowed = table
    bits, ranks = words.bits_of(points, allowed), points.tolist()
    first = words.greedy_list(bits)
    assert naive.list_cost(first.tolist(), ranks, allowed.tolist()) == 0
    better = search.improved(bits, first, KEY, 500)
    assert better is not None
    assert len(better) <= len(first)
    assert naive.list_cost(better.tolist(), ranks, allowed.tolist()) == 0
    assert not proof.decided(bits, better)[2].any()
    bounds, actions = lists.readable_rules(bits, better)
    assert len(bounds) <= len(better) + (not bits.open_ended)
    assert is_right(DecisionList(bounds, actions, *names_of(table)), points, allowed)
    left = bits.everything.copy()
    if not words.one_action_left(bits, bits.open_ended, left):
        box, inside = np.empty((2, 2), dtype=np.int64), np.empty_like(left)
        words.largest(bits, left, box)
        words.states_inside(box, bits.up_to, inside)
        steps = naive.next_steps(ranks, allowed.tolist(), members(left, len(points)))
        assert members(inside, len(points)) in steps


@pytest.mark.oracle
@given(lines())
def test_a_box_grows_as_far_as_its_action_is_allowed(table: Table) -> None:
    points, allowed = table
    bits, everything = words.bits_of(points, allowed), frozenset(range(len(points)))
    inside = np.empty_like(bits.everything)
    steps = naive.next_steps(points.tolist(), allowed.tolist(), everything)
    for s, (x, _) in enumerate(points.tolist()):
        right, box = bits.allowed[allowed[s].argmax()], np.array([[x, x], [0, 0]])
        words.grow(bits, bits.everything, right, 0, box, inside)
        assert s in members(inside, len(points))
        assert members(inside, len(points)) in steps


@pytest.mark.oracle
@given(st.one_of(tables(most=7), lines()), st.data())
def test_what_is_held_impossible_is_impossible_and_what_is_found_can_be_done(
    table: Table, data: st.DataObject
) -> None:
    points, allowed = table
    bits, ranks, rows, size = words.bits_of(points, allowed), points.tolist(), allowed.tolist(), len(points)
    few = few_states.few_states(bits, list(range(size)))
    assert few is not None
    part: set[int] = data.draw(st.sets(st.integers(0, size - 1), min_size=1)) | set(
        np.flatnonzero(~allowed.any(axis=1)).tolist()
    )
    left = np.uint64(sum(1 << s for s in part))
    fewest = naive.fewest_rules(ranks, rows, part)
    facts = few_states.no_facts(8)
    steps = np.empty(len(few.boxes) * allowed.shape[1], dtype=np.uint64)
    n = few_states.widest_steps(few, facts, left, steps)
    assert {members(step, size) for step in steps[:n]} == naive.next_steps(ranks, rows, frozenset(part))
    around = [(min(ranks[s][d] for s in part), max(ranks[s][d] for s in part)) for d in range(2)]
    assert members(np.uint64(few_states.hull(few, left)), size) == naive.states_in(around, ranks)
    assert few_states.one_rule(few, left) == (fewest <= 1)
    if not few.silent:
        assert few_states.two_rules(few, left) == (fewest <= 2)
    assert not few_states.follows(few, facts, few.silent, 3, steps)
    out = np.zeros(8, dtype=np.uint64)
    for rules in range(1, 7):
        answer = few_states.decide_with(few, facts, left, rules, 10**9, out[: rules + 1])
        assert answer == (few_states.SOLVABLE if fewest <= rules else few_states.IMPOSSIBLE)
        for fact in facts.sets[rules, : facts.counts[rules]]:
            core = members(fact, size)
            assert naive.fewest_rules(ranks, rows, core) > rules
            if rules == 3 and not few.silent:  # two rules are answered exactly, so that no state is idle
                assert all(naive.fewest_rules(ranks, rows, core - {s}) <= rules for s in core)


def test_the_state_that_stands_in_fewest_facts_is_the_rarest() -> None:
    seen = np.array([5, 2, 0, 2, 7] + [0] * 59)
    assert few_states.rarest(seen, np.uint64(0b11011)) == 0b10
    assert few_states.rarest(seen, np.uint64(0b11101)) == 0b100


def test_a_proof_without_means_says_so() -> None:
    task = frozen_lake(8, 0.3)
    allowed = value_iteration(task).optimal_actions[task.decision_states]
    bits = words.bits_of(task.dynamics.points, allowed)
    assert proof.lower_bound(bits, 12, 0, 0) == (1, (), None)
    assert 1 < proof.lower_bound(bits, 12, 10**7, 0).rules < 12


@settings(max_examples=25)
@given(tables(most=5))
def test_the_integer_program_knows_how_many_rules_are_needed(table: Table) -> None:
    least = shortest_list(*table, *names_of(table), "quick")
    assert least.proven
    for rules in range(1, len(least.rules) + 2):
        # A rule that decides nothing can always be put behind the others, except where nothing is to match.
        assert list_exists(*table, rules) == (rules >= len(least.rules))
