"""The front of shortening in environments: chosen on the pruning seeds, measured on test seeds."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from ifthen import DecisionList, RuleSet, evaluate, front, parse_rules, prune
from ifthen.errors import ParameterError, RuleError
from ifthen.simplify.by_play import Contest
from ifthen.simplify.shortened import affordable, fewer_votes, most_used, shortened, with_a_rule_for_the_rest
from ifthen.tasks.gym_task import Player
from tests.simplify.test_by_play import cart_pole, random_list, random_strengths, votes, walk

GOOD = """
1. IF pole angle <= -0.1 THEN push left
2. IF pole velocity >= 0.1 THEN push right
3. IF pole velocity <= -0.1 THEN push left
4. IF pole angle >= 0.01 THEN push right
5. OTHERWISE push left
"""


def good() -> RuleSet:
    return parse_rules(GOOD, task=cart_pole())


def test_every_policy_is_chosen_on_pruning_seeds_and_measured_on_test_seeds() -> None:
    task = cart_pole()
    found = front(good(), task, episodes=12, threads=1)
    seeds = task.pruning_seeds()
    assert not set(seeds) & set(task.test_seeds(12))
    for point in found.points:
        assert point.score == evaluate(point.ruleset, task, seeds=seeds).performance
        assert point.value == evaluate(point.ruleset, task, seeds=task.test_seeds(12)).performance
        assert point.measured is not None
        assert point.measured.episodes == 12
    assert found.valued == "return on 12 test seeds"
    assert (found.points[0].rules, found.points[0].tests) == (1, 0)
    assert found.best.score >= evaluate(good(), task, seeds=seeds).performance - 1e-9


@pytest.mark.parametrize("kind", ["list", "strength"])
def test_rules_of_every_kind_are_shortened_down_to_one(kind: str) -> None:
    task = cart_pole()
    given = random_list(task, 1) if kind == "list" else random_strengths(task, 1)
    found = shortened(given, task, task.pruning_seeds(4), False, 1, lambda _: None)
    assert found.points[0].rules == 1
    before = evaluate(given, task, seeds=task.pruning_seeds(4)).performance
    assert found.best.score >= before - 1e-9


def test_fewer_rules_that_vote_speak_for_most_of_the_choices() -> None:
    task = cart_pole()
    rules = votes(task, 1)
    points = np.random.default_rng(0).uniform(*task.ranges, (200, 4))
    shorter = list(fewer_votes(rules, points))
    assert all(len(above) > len(below) for above, below in itertools.pairwise(shorter))
    assert len(shorter[-1]) == 1
    spoken = rules.matches(points) & (rules.actions == rules.best_actions(points)[:, None])
    most = int(spoken.sum(axis=0).argmax())
    np.testing.assert_array_equal(shorter[-1].bounds[0], rules.bounds[most])


def test_rules_that_leave_visited_states_out_have_no_front() -> None:
    task = cart_pole()
    rules = votes(task, 1)
    corner = np.stack([task.ranges[1] * 0.99, task.ranges[1]], axis=1)
    nowhere = rules.with_bounds(np.broadcast_to(corner, rules.bounds.shape))
    with pytest.raises(RuleError, match="no rule matches"):
        front(nowhere, task, threads=1)


def test_of_many_rules_those_go_first_that_decide_least_and_never_the_one_for_the_rest() -> None:
    task = cart_pole()
    rules = random_list(task, 2, n=8)
    points = np.random.default_rng(0).uniform(*task.ranges, (500, 4))
    fewer = most_used(rules, points)
    assert len(fewer) == 6
    np.testing.assert_array_equal(fewer.bounds[-1], rules.bounds[-1])
    counts = np.bincount(rules.choose(points)[1], minlength=8)
    kept = [any((own == other).all() for other in fewer.bounds) for own in rules.bounds]
    assert max(counts[r] for r in range(7) if not kept[r]) <= min(counts[r] for r in range(7) if kept[r])


def test_rules_without_order_get_one_for_the_rest() -> None:
    task = cart_pole()
    strengths = random_strengths(task, 1)
    narrow = strengths.with_bounds(np.where(strengths.bounds > 0, 0.9, 1.0) * strengths.bounds)
    general = with_a_rule_for_the_rest(narrow, Contest(task, task.z, 1))
    whole = np.stack(task.ranges, axis=1)
    assert (general.bounds == whole).all(axis=(1, 2)).any() or general == narrow
    lists = good()
    assert with_a_rule_for_the_rest(lists, Contest(task, task.z, 1)) is lists


def test_pruning_takes_the_best_within_rules_and_tests_in_an_environment_too() -> None:
    task, seeds = cart_pole(), cart_pole().pruning_seeds(6)
    two, one = prune(good(), task, rules=2, episodes=6), prune(good(), task, tests=1, episodes=6)
    assert len(two.ruleset) <= 2
    assert one.ruleset.tests <= 1
    for found in (two, one):
        assert found.performance == evaluate(found.ruleset, task, seeds=seeds).performance
        assert found.performance_given == evaluate(good(), task, seeds=seeds).performance
    least = prune(good(), task, performance=two.performance, episodes=6)
    assert least.ruleset.tests <= two.ruleset.tests
    with pytest.raises(ParameterError, match=r"polish belongs to .* on a table"):
        prune(good(), task, rules=2, polish=True)
    with pytest.raises(ParameterError, match="depends on the task"):
        prune(good(), rules=2)
    with pytest.raises(ParameterError, match="leave loss out"):
        prune(good(), task, tests=2, loss=1.0)


def test_what_a_short_list_must_keep_counts_among_its_rules() -> None:
    task, require = cart_pole(), "never push left when pole angle >= 0.1"
    found = prune(good(), task, rules=2, episodes=6, require=require)
    assert len(found.ruleset) <= 2
    inside = np.random.default_rng(0).uniform(*task.ranges, (300, 4))
    inside[:, 2] = np.abs(inside[:, 2]) + 0.1
    actions = found.ruleset.best_actions(np.minimum(inside, task.ranges[1]))
    assert (actions == task.action_names.index("push right")).all()


@pytest.mark.parametrize(("sides"), [("left", ">= 0.1"), ("right", "<= -0.1")])
def test_the_shortest_list_takes_the_action_that_may_always_be_taken(sides: tuple[str, str]) -> None:
    require = f"never push {sides[0]} when pole angle {sides[1]}"
    found = prune(good(), cart_pole(), rules=1, episodes=6, require=require)
    assert len(found.ruleset) == 1
    assert found.ruleset.action_of(0) != f"push {sides[0]}"


def test_how_many_seeds_are_affordable_does_not_depend_on_the_player() -> None:
    rules = good()
    found = {
        affordable(rules, replace(cart_pole(), player=player), 50.0, 10**6) for player in get_args(Player)
    }
    assert len(found) == 1
    assert found != {affordable(rules, walk(), 50.0, 10**6)}


def test_an_environment_without_a_twin_is_played_from_fewer_seeds() -> None:
    task = walk()
    rules = random_list(task, 3, n=4)
    assert isinstance(rules, DecisionList)
    found = shortened(rules, task, task.pruning_seeds(12), False, 1, lambda _: None)
    assert found.points[0].rules == 1
    assert all(point.episodes == 16 for point in found.points)
