"""Plans that bid: matching, choosing and credit, on tables, in twins and in lanes, against plain oracles."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.environments.twin_registry import twin_of
from ifthen.randomness import stream
from ifthen.rules.batch import STRENGTH as STRONGEST
from ifthen.rules.batch import Intervals, RuleBatch
from ifthen.rules.feature import Feature
from ifthen.simulate.bids import Bidding, Bids, act, bid_on_table, find_match_set
from ifthen.simulate.evaluate import environment_simulator
from ifthen.simulate.table_noise import plan
from ifthen.simulate.table_simulator import TableSimulator
from tests import naive_samuel
from tests.envs import random_lists, task_of
from tests.naive_samuel import Rule
from tests.worlds import random_task

PLANS, RULES, EPISODES = 4, 9, 3
TASKS = {
    "cart pole": task_of("CartPole-v1", t_max=30, gamma=0.97),
    "mountain car": task_of("MountainCar-v0", t_max=25, gamma=0.9),
    "walk": task_of(gamma=0.95),
    "dict": task_of(kind="dict", start=3),
}


def lesson(seed: int = 1, **changes: Any) -> Bidding:
    """Return how plans play: some learning, odds by strength."""
    plain = Bidding(stream(seed, "bids"), EPISODES, 1.0, False, 0.2, 0.5, 0.9, -1.0, 0.25, 4)
    return plain._replace(**changes)


LESSONS = {
    "roulette": lesson(),
    "top bids": lesson(power=10.0, trace=0),
    "greedy": lesson(greedy=True, discount=1.0),
    "frozen": lesson(rate=0.0, power=0.0),
    "no range": lesson(power=2.5, low=math.inf, scale=0.0, trace=2),
}


def with_statistics(rules: RuleBatch, seed: int) -> RuleBatch:
    """Return plans whose rules have learnt something; what stands behind a plan's rules must not be read."""
    draws = np.random.default_rng(seed)
    learnt = draws.choice([-0.2, 0.0, 0.3, 0.5, 1.0], size=(*rules.actions.shape, 5))
    learnt[..., 1] = np.abs(learnt[..., 1])
    for i, length in enumerate(rules.lengths):
        learnt[i, length:] = 1e9
    return rules._replace(how=STRONGEST, learnt=learnt)


def table_plans(task: Any, seed: int) -> RuleBatch:
    """Return random plans over a table's features."""
    draws = np.random.default_rng(seed)
    ends = np.array([[f.low, f.high + 1] for f in task.features])
    bounds = draws.integers(ends[:, 0, None], ends[:, 1, None], size=(PLANS, RULES, len(ends), 2))
    actions = draws.integers(0, task.n_actions, (PLANS, RULES)).astype(np.int32)
    lengths = draws.integers(1, RULES + 1, PLANS)
    empty = np.zeros((PLANS, RULES, 0))
    return with_statistics(RuleBatch(STRONGEST, bounds.astype(np.int32), actions, empty, lengths), seed)


def naive_rules(rules: RuleBatch, i: int) -> list[Rule]:
    """Return the rules of a plan for the oracle."""
    return [
        Rule(
            [(float(min(pair)), float(max(pair))) for pair in rules.bounds[i, r]],
            int(rules.actions[i, r]),
            *(float(number) for number in rules.learnt[i, r, :3]),
        )
        for r in range(rules.lengths[i])
    ]


def check(task: Any, rules: RuleBatch, how: Bidding, found: Bids, before: RuleBatch, oracle: Any) -> None:
    """Compare what plans did and learnt with the oracle's episodes."""
    for i in range(len(rules.lengths)):
        own = naive_rules(before, i)
        for e in range(how.episodes):
            play = oracle(task, own, i, e, how)
            payoff = naive_samuel.payoff_of(play.rewards, how.discount)
            naive_samuel.credited(own, play.active, payoff, how)
            steps = naive_samuel.kept(len(play.actions), how.trace)
            assert found.steps[i, e] == len(play.actions)
            assert found.payoffs[i, e] == pytest.approx(payoff)
            assert set(np.flatnonzero(found.active[i, e]).tolist()) == play.active
            rest = how.trace - len(steps)
            assert found.taken[i, e].tolist() == [play.actions[t] for t in steps] + [-1] * rest
            for j, t in enumerate(steps):
                np.testing.assert_allclose(found.readings[i, e, j], play.points[t], rtol=1e-6, atol=1e-6)
        learnt = [(rule.mean, rule.variance, rule.strength) for rule in own]
        if how.rate == 0:
            assert rules.learnt[i].tobytes() == before.learnt[i].tobytes()
        touched = found.active[i].any(axis=0)[: len(own)]
        np.testing.assert_allclose(
            rules.learnt[i, : len(own), :3][touched], np.array(learnt)[touched], rtol=1e-9, atol=1e-12
        )
        untouched = np.append(~touched, np.ones(rules.learnt.shape[1] - len(own), dtype=bool))
        assert rules.learnt[i][untouched].tobytes() == before.learnt[i][untouched].tobytes()
        assert rules.learnt[i, :, 3:].tobytes() == before.learnt[i, :, 3:].tobytes()


@pytest.mark.oracle
@pytest.mark.parametrize("how", LESSONS)
@given(st.integers(0, 10**6))
def test_plans_play_and_learn_in_tables_as_by_the_oracle(how: str, seed: int) -> None:
    task = random_task(seed)
    rules = table_plans(task, seed)
    before = rules._replace(learnt=rules.learnt.copy())
    found = TableSimulator(task).play_bids(rules, LESSONS[how])
    check(task, rules, LESSONS[how], found, before, naive_samuel.in_table)


def env_plans(task: Any) -> RuleBatch:
    """Return random plans over the features of an environment."""
    return with_statistics(random_lists(task, PLANS, rules=RULES, seed=3, ragged=True), 3)


@pytest.mark.oracle
@pytest.mark.parametrize("how", ["roulette", "greedy", "no range"])
@pytest.mark.parametrize("name", TASKS)
def test_plans_play_and_learn_in_environments_as_by_the_oracle(name: str, how: str) -> None:
    task, rules = TASKS[name], env_plans(TASKS[name])
    before = rules._replace(learnt=rules.learnt.copy())
    found = environment_simulator(task).play_bids(rules, LESSONS[how])
    assert found.steps.min() > 0
    check(task, rules, LESSONS[how], found, before, naive_samuel.in_environment)


def bytes_of(found: Bids, rules: RuleBatch) -> bytes:
    """Return all that a play gave."""
    return b"".join(column.tobytes() for column in (*found, rules.learnt))


@pytest.mark.parametrize("name", ["cart pole", "mountain car"])
def test_the_twin_and_the_lanes_give_the_same_bytes_for_any_number_of_threads(name: str) -> None:
    task, each = TASKS[name], []
    assert twin_of(task) is not None
    for own, threads in ((task, 1), (task, 2), (dataclasses.replace(task, player="sync"), 1)):
        rules = env_plans(task)
        each.append(bytes_of(environment_simulator(own, threads).play_bids(rules, lesson()), rules))
    assert each[0] == each[1] == each[2]


def test_slices_of_a_population_play_as_the_whole() -> None:
    task, each = random_task(4), []
    cuts = plan(task).cuts
    for slices in ([(0, PLANS)], [(2, PLANS), (0, 2)]):
        rules = table_plans(task, 4)
        out = Bids.empty(PLANS, RULES, len(task.features), lesson())
        for first, last in slices:
            own = Intervals.of(rules, task.features), lesson(), task.dynamics, cuts, task.t_max
            bid_on_table(first, last, *own, out)
        each.append(bytes_of(out, rules))
    assert each[0] == each[1]


REAL = Feature("x", 0.0, 10.0, "real", clips=True)


def two_features(*rules: tuple[tuple[float, float], tuple[float, float], int, float]) -> Intervals:
    """Return a plan over two features from its conditions, actions and strengths."""
    bounds = np.array([[rule[:2] for rule in rules]], dtype=np.float64)
    actions = np.array([[rule[2] for rule in rules]], dtype=np.int32)
    learnt = np.array([[(rule[3], 0.0, rule[3]) for rule in rules]])
    batch = RuleBatch(STRONGEST, bounds, actions, learnt, np.array([len(rules)]))
    return Intervals.of(batch, (REAL, dataclasses.replace(REAL, name="y")))


def matched(rules: Intervals, *point: float) -> list[int]:
    """Return the match set at a point."""
    out = np.empty(rules.actions.shape[1], dtype=np.int64)
    return [int(r) for r in out[: find_match_set(rules, 0, np.array([point]), 0, out)]]


def test_partial_matches_count_only_where_no_rule_matches_in_full() -> None:
    rules = two_features(
        ((0, 5), (0, 5), 0, 0.1), ((4, 9), (0, 5), 1, 0.9), ((0, 5), (6, 8), 2, 0.5), ((2, 3), (2, 3), 2, 1)
    )
    assert matched(rules, 4.5, 1) == [0, 1]
    assert matched(rules, 9.5, 1) == [0, 1]  # one condition of each
    assert matched(rules, 9.5, 9) == [0, 1, 2, 3]  # nothing matches anything
    assert matched(rules, 8, 7) == [1, 2]


def shares_of(rules: Intervals, how: Bidding, n: int = 4000) -> list[float]:
    """Return how often each of three actions is chosen by evenly spread draws."""
    members = np.arange(rules.actions.shape[1])
    scratch = np.empty(3), np.zeros(len(members), dtype=np.bool_)
    found = [act(rules, 0, members, len(members), how, (i + 0.5) / n, *scratch) for i in range(n)]
    return [found.count(action) / n for action in range(3)]


WHOLE = (0.0, 10.0)


@pytest.mark.parametrize(
    ("strengths", "changes", "expected"),
    [
        ((0.6, 0.2), {"power": 1.0}, (0.75, 0.0, 0.25)),
        ((0.6, 0.2), {"power": 2.0}, (0.9, 0.0, 0.1)),
        ((0.6, 0.2), {"power": 0.0}, (0.5, 0.0, 0.5)),
        ((0.6, 0.2), {"power": 10.0}, (1.0, 0.0, 0.0)),
        ((0.6, 0.6), {"power": 10.0}, (0.5, 0.0, 0.5)),
        ((0.6, 0.6), {"greedy": True}, (1.0, 0.0, 0.0)),
        ((0.6, -0.2), {"power": 1.0}, (1.0, 0.0, 0.0)),
        ((-0.6, -0.2), {"power": 1.0}, (0.5, 0.0, 0.5)),
    ],
)
def test_bids_to_a_power_are_the_odds_of_actions(strengths: Any, changes: Any, expected: Any) -> None:
    weaker = strengths[0] - 1  # an action's bid is that of its strongest rule
    rules = two_features(
        (WHOLE, WHOLE, 0, weaker), (WHOLE, WHOLE, 0, strengths[0]), (WHOLE, WHOLE, 2, strengths[1])
    )
    assert shares_of(rules, lesson(**changes)) == pytest.approx(expected, abs=1e-3)
