"""SAMUEL's selection, crossover, deletion, and plans as decision lists."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import DecisionList, env_task, frozen_lake
from ifthen.randomness import stream
from ifthen.rules.batch import Intervals
from ifthen.simulate.bids import Bidding, act, find_match_set
from ifthen.systems.samuel.breeding import (
    age,
    contained,
    crossed,
    drawn_parents,
    moved_baseline,
    with_deletions,
    with_mutations,
)
from ifthen.systems.samuel.granularity import Grid
from ifthen.systems.samuel.listed import list_of, shown_rules
from ifthen.systems.samuel.plans import ACTIVITY, AGE, Arrays, Payoffs, Plan, first_plan, put_strengths
from ifthen.systems.samuel.samuel_parameters import SAMUELParameters
from ifthen.tasks.task import Task
from tests import naive_plans
from tests.envs import task_of
from tests.systems.samuel.test_operators import (
    ARCS,
    CELL,
    WIND,
    WORLDS,
    grid_of,
    plan_of,
    same_plans,
    values_of,
)
from tests.systems.samuel.test_operators import random_plan as plan_in

KEY = stream(5, "breeding")
LAKE = frozen_lake(4, 0.1)
WINDS = frozen_lake(8, 0.1).replaced(features=(WIND, replace(WIND, name="current")))
DEFAULT = SAMUELParameters().filled()


def test_parents_come_in_proportion_to_what_they_are_above_the_baseline() -> None:
    values = np.array([0.1, 0.5, 0.3, 0.2, 0.9, 0.3, 0.0, 0.9])
    counts = np.bincount(drawn_parents(values, 0.1, KEY), minlength=8)
    expected = 8 * np.maximum(values - 0.1, 0) / np.maximum(values - 0.1, 0).sum()
    assert (np.abs(counts - expected) < 1).all()  # as universal sampling promises
    assert counts[0] == counts[6] == 0


def test_all_plans_are_parents_where_none_is_above_the_baseline() -> None:
    assert sorted(drawn_parents(np.full(6, 0.2), 0.2, KEY).tolist()) == [0, 1, 2, 3, 4, 5]


def test_the_baseline_moves_a_tenth_towards_a_deviation_below_the_mean() -> None:
    values = np.array([0.0, 1.0])
    assert moved_baseline(None, values, DEFAULT) == 0.0
    assert moved_baseline(0.5, values, DEFAULT) == pytest.approx(0.45)


def rules_of(plan: Plan) -> list[tuple[Any, ...]]:
    return sorted((*box.ravel(), action) for box, action in zip(plan.bounds, plan.actions, strict=True))


@given(st.integers(0, 10**6))
def test_crossover_gives_every_rule_to_a_child_and_common_rules_to_both(seed: int) -> None:
    a = plan_of(((0, 7), 0, 0.5), ((1, 2), 1, 0.4), ((3, 4), 1, 0.3))
    b = plan_of(((5, 6), 2, 0.1), ((0, 7), 0, 0.9))
    one, two = crossed(a, b, 20, stream(seed, "cross"))
    common, own = (0.0, 7.0, 0), [(1.0, 2.0, 1), (3.0, 4.0, 1), (5.0, 6.0, 2)]
    assert sorted(rules_of(one) + rules_of(two)) == sorted([common, common, *own])
    assert common in rules_of(one)
    assert common in rules_of(two)
    assert {float(plan.strengths[plan.actions == 0][0]) for plan in (one, two)} == {0.5, 0.9}


@given(st.integers(0, 10**6))
def test_rules_that_were_active_together_stay_together(seed: int) -> None:
    a = plan_of(*(((i, i), 0, 0.5) for i in range(6)))
    a = a._replace(together=np.array([True, True, True, False, False, False]))
    b = plan_of(((7, 7), 1, 0.5))
    one, _ = crossed(a, b, 20, stream(seed, "cross"))
    assert len({0.0, 1.0, 2.0} & set(one.bounds[:, 0, 0].tolist())) in (0, 3)
    assert len(one.actions) > 0


def test_children_have_no_more_rules_than_plans_may_have() -> None:
    a, b = (plan_of(*(((i, i), action, 0.5) for i in range(8))) for action in (0, 1))
    for seed in range(20):
        assert all(1 <= len(child.actions) <= 6 for child in crossed(a, b, 6, stream(seed, "cross")))


def test_mutation_in_place_leaves_ordered_intervals_and_draws_nothing_where_it_is_off() -> None:
    plan, grid = plan_of(*(((2, 5), 1, 0.5) for _ in range(40))), grid_of(CELL)
    assert with_mutations(plan, 0.0, grid, 3, KEY) is plan
    found = with_mutations(plan, 0.5, grid, 3, KEY)
    assert 0.3 < (found.bounds != plan.bounds).mean() < 0.6
    assert 0.15 < (found.actions != plan.actions).mean() < 0.55
    assert (found.bounds[:, 0, 0] <= found.bounds[:, 0, 1]).all()


def test_rules_are_deleted_that_are_idle_or_weak_or_contained() -> None:
    plan = plan_of(((0, 7), 0, 1.0), ((1, 2), 0, 0.9), ((1, 2), 1, 0.9), ((3, 4), 1, 0.05), ((5, 6), 1, 0.5))
    plan.known[4, ACTIVITY] = 0.05
    p = SAMUELParameters(most_rules=20).filled()
    assert rules_of(with_deletions(plan, grid_of(CELL), p)) == [(0, 7, 0), (1, 2, 1)]
    young = plan._replace(known=plan.known * [1, 1, 1, 1, 0])
    for kept, own in ((young, p), (plan, p.model_copy(update={"delete": False}))):
        assert len(with_deletions(kept, grid_of(CELL), own).actions) == 5
    few = SAMUELParameters(most_rules=200).filled()
    assert len(with_deletions(plan, grid_of(CELL), few).actions) == 5  # less than a twentieth of 200


def test_no_rule_is_weak_where_all_strengths_are_below_0() -> None:
    plan = plan_of(((0, 7), 0, -0.2), ((1, 2), 1, -0.4), ((3, 4), 1, -0.3))
    p = SAMUELParameters(most_rules=20).filled()
    assert len(with_deletions(plan, grid_of(CELL), p).actions) == 3


def test_on_a_circle_rules_are_contained_in_those_whose_values_hold_theirs() -> None:
    grid = grid_of(WIND)
    for a, b in itertools.product(ARCS, repeat=2):
        found = contained(plan_of((a, 0, 0.5), (b, 0, 0.5)), grid)
        one, two = values_of(a), values_of(b)
        assert found.tolist() == [one < two, two < one]


def test_activity_rises_by_half_of_the_rest_and_falls_by_a_fifth() -> None:
    plan = plan_of(((0, 7), 0, 1.0), ((1, 2), 0, 0.9))
    age(plan.known, np.array([True, False]), DEFAULT)
    assert plan.known[:, ACTIVITY].tolist() == [0.75, 0.4]
    assert plan.known[:, AGE].tolist() == [10, 10]


def test_a_wider_range_of_payoffs_leaves_what_is_known_in_payoffs_as_it_was() -> None:
    old, new = Payoffs(10.0, 20.0), Payoffs(10.0, 20.0).with_seen(np.array([0.0, 40.0]))
    learnt = np.zeros((1, 5))
    learnt[0, :2] = 0.5, 0.04  # a mean of 15, a deviation of 2
    put_strengths(learnt, 1.0)
    old.rescale(new, learnt, 1.0)
    assert learnt[0, :3] == pytest.approx([15 / 40, (2 / 40) ** 2, 13 / 40])
    assert Payoffs().scaled(np.array([3.0, 3.0])).tolist() == [0.5, 0.5]


@pytest.mark.oracle
@pytest.mark.parametrize("world", WORLDS)
@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 20))
def test_plans_are_bred_as_by_the_oracle_to_the_bit(world: str, seed: int, n_a: int, n_b: int) -> None:
    features, key = WORLDS[world], stream(seed, "cross")
    grid, steps = grid_of(*features), naive_plans.Steps(*grid_of(*features))
    a, b = plan_in(features, n_a, seed), plan_in(features, n_b, seed + seed % 2)
    p = SAMUELParameters(most_rules=24, delete_age=3).filled()
    expected_two = naive_plans.crossed(naive_plans.Plan(*a), naive_plans.Plan(*b), 24, int(key))
    for child, expected in zip(crossed(a, b, 24, key), expected_two, strict=True):
        assert same_plans(child, expected)
        assert contained(child, grid).tolist() == naive_plans.contained(expected, steps).tolist()
        kept, expected_kept = with_deletions(child, grid, p), naive_plans.with_deletions(expected, steps, p)
        assert same_plans(kept, expected_kept)
        mutant = with_mutations(kept, 0.3, grid, 3, key)
        assert same_plans(mutant, naive_plans.with_mutations(expected_kept, 0.3, steps, 3, int(key)))


# Plans as lists


GREEDY = Bidding(KEY, 1, 1.0, True, 0.0, 1.0, 1.0, 0.0, 1.0, 0)


def chosen_by_bids(plan: Plan, task: Task, points: Any) -> list[int]:
    """Return the actions that the highest bids choose at points."""
    rules = Intervals.of(Arrays.of([plan], task.features).batch, task.features)
    members, odds = np.empty(len(plan.actions), dtype=np.int64), np.empty(task.n_actions)
    active = np.zeros(len(plan.actions), dtype=np.bool_)
    found = []
    for lane in range(len(points)):
        count = find_match_set(rules, 0, points, lane, members)
        found.append(act(rules, 0, members, count, GREEDY, 0.0, odds, active))
    return found


def random_plan(task: Task, rules: int, seed: int) -> Plan:
    """Return a plan of narrow rules, some equally strong."""
    draws, grid = np.random.default_rng(seed), Grid.of(task.features, 20)
    cells = np.sort(
        draws.integers(grid.first.astype(int), grid.last.astype(int) + 1, (2, rules, len(task.features))),
        axis=0,
    )
    plan = first_plan(task, grid, 0.5, None).take(np.zeros(rules, dtype=np.int64))
    plan.known[:, 2] = draws.choice([0.1, 0.5, 0.6, 0.9], rules)
    actions = draws.integers(0, task.n_actions, rules).astype(np.int32)
    bounds = naive_plans.Steps(*grid).bounds(*cells.astype(np.float64))
    return plan._replace(bounds=bounds, actions=actions)


@given(st.integers(0, 10**6), st.integers(1, 7))
def test_a_plan_and_its_list_choose_the_same_in_every_state_of_a_table(seed: int, rules: int) -> None:
    plan, points = random_plan(LAKE, rules, seed), LAKE.state_features.astype(np.float64)
    assert list_of(plan, LAKE).predict(LAKE.state_features).tolist() == chosen_by_bids(plan, LAKE, points)


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_a_plan_and_its_list_choose_the_same_at_points_of_an_environment(seed: int, rules: int) -> None:
    task = task_of("CartPole-v1")
    plan, (lows, highs) = random_plan(task, rules, seed), task.ranges
    points = np.random.default_rng(seed).uniform(lows, highs, (50, 4))
    assert list_of(plan, task).predict(points).tolist() == chosen_by_bids(plan, task, points)


def test_rules_on_a_circle_are_left_out_of_a_list_where_an_earlier_one_holds_all_their_values() -> None:
    whole = np.array([[0.0, 7.0]])
    for a, b in itertools.product(ARCS, repeat=2):
        bounds, _ = shown_rules(np.array([[a], [b]], dtype=float), np.zeros(2, dtype=np.int32), whole)
        assert len(bounds) == (1 if values_of(b) <= values_of(a) else 2)


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_a_plan_and_its_list_choose_the_same_where_intervals_wrap(seed: int, rules: int) -> None:
    plan = random_plan(WINDS, rules, seed)
    draws = np.random.default_rng(seed)
    plan = plan._replace(bounds=draws.integers(0, 8, plan.bounds.shape).astype(np.float64))
    points = WINDS.state_features.astype(np.float64)
    assert list_of(plan, WINDS).predict(WINDS.state_features).tolist() == chosen_by_bids(plan, WINDS, points)


def test_cyclic_intervals_to_start_from_are_widened_to_steps() -> None:
    task = env_task("ifthen/Evasion-v0")
    bounds = np.stack([*(ends.astype(float) for ends in task.ranges)], axis=1)
    bounds[4] = [345, 11]  # the heading, in steps of 10
    start = DecisionList(bounds[None].astype(np.int32), [1], task.features, task.action_names)
    plan = first_plan(task, Grid.of(task.features, 20), 0.5, start)
    assert plan.bounds[0, 4].tolist() == [340, 20]
    assert np.delete(plan.bounds[0], 4, axis=0).tolist() == np.delete(bounds, 4, axis=0).tolist()


def test_a_list_ends_with_the_strongest_rule_that_matches_everything() -> None:
    walk = first_plan(LAKE, grid_of(*LAKE.features), 0.5, None)
    assert str(list_of(walk, LAKE)) == f"1. ALWAYS {LAKE.action_names[0]}"


def test_partial_matches_that_would_make_a_list_too_long_are_left_to_the_strongest_rule() -> None:
    plan = random_plan(task_of("CartPole-v1"), 600, 1)
    listed = list_of(plan, task_of("CartPole-v1"))
    assert len(listed) <= 601
    assert listed.rule_in_words(len(listed) - 1).startswith("OTHERWISE")
