"""Laws of selection, deletion, subsumption and covering."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from ifthen import XCSF
from ifthen.evolve.operators import swap_bounds
from ifthen.randomness import stream
from ifthen.systems.xcsf.ga import is_due, set_roulette, set_tournament
from ifthen.systems.xcsf.index import (
    ACTING,
    HELD,
    enter,
    equal_rule,
    free_slot,
    list_members,
    rule_key,
    same_rule,
)
from ifthen.systems.xcsf.turnover import (
    add_child,
    can_subsume,
    copy_rule,
    cover,
    delete_one,
    has_rule,
    subsume_set,
    vote,
)
from ifthen.systems.xcsf.xcsf_population import CLOCK, Population
from tests import naive, naive_evolve, naive_xcsf
from tests.naive_xcsf import Rule
from tests.systems.contract import meadow
from tests.systems.xcsf.populations import World, rule, world
from tests.worlds import random_task

DRAWS = 2000
KEYS = [int(naive.fold(int(stream(5, "test")), i)) for i in range(DRAWS)]
NUMEROSITIES, FITNESSES = [1, 3, 2, 1], [0.2, 0.3, 0.6, 0.05]  # per micro: 0.2, 0.1, 0.3, 0.05
EVERYWHERE = [[0, 2], [0, 2]]
SIDE = st.lists(st.integers(0, 2), min_size=2, max_size=2)
BOX = st.lists(SIDE, min_size=2, max_size=2)


def parents() -> list[Rule]:
    return [
        rule(copy.deepcopy(EVERYWHERE), numerosity=n, fitness=f)
        for n, f in zip(NUMEROSITIES, FITNESSES, strict=True)
    ]


def assert_frequencies(drawn: Sequence[int], expected: ArrayLike) -> None:
    """Fail where χ² of what was drawn is beyond what happens once in a hundred thousand times."""
    shares = np.asarray(expected)
    times = np.bincount(drawn, minlength=len(shares))
    assert times[shares == 0].sum() == 0
    likely = shares > 0
    chi = ((times - len(drawn) * shares)[likely] ** 2 / (len(drawn) * shares[likely])).sum()
    assert chi < {1: 0.001, 2: 19.5, 3: 23.0, 4: 25.9, 5: 28.5, 6: 30.9}[int(likely.sum())], times / len(
        drawn
    )


@pytest.mark.parametrize("tau", [0.1, 0.5, 1.0])
def test_tournaments_are_won_as_often_as_probability_says(tau: float) -> None:
    # A rule wins if it enters and no better one does, given that any does.
    made = world(meadow(), parents(), pop_limit=20, tau=tau)
    members = np.arange(4)
    drawn = [
        int(set_tournament(np.uint64(key), members, 4, made.classifiers.rules, made.reach.absent))
        for key in KEYS
    ]
    out = [(1 - tau) ** n for n in NUMEROSITIES]
    expected, none_better = [0.0] * 4, 1.0
    for r in (2, 0, 1, 3):  # by fitness per microclassifier
        expected[r] = none_better * (1 - out[r])
        none_better *= out[r]
    assert_frequencies(drawn, [share / (1 - none_better) for share in expected])
    plain = parents()
    winners = [plain.index(naive_xcsf.set_tournament(key, plain, tau)) for key in KEYS[:300]]
    assert drawn[:300] == winners


def test_roulette_is_won_in_proportion_to_fitness() -> None:
    members = np.arange(4)
    rules = world(meadow(), parents(), pop_limit=20).classifiers.rules
    drawn = [int(set_roulette(np.uint64(key), members, 4, rules)) for key in KEYS]
    assert_frequencies(drawn, np.array(FITNESSES) / sum(FITNESSES))
    plain = parents()
    winners = [plain.index(naive_xcsf.set_roulette(key, plain)) for key in KEYS[:300]]
    assert drawn[:300] == winners


def test_the_first_of_equals_wins_a_tournament_that_all_enter() -> None:
    rules = [rule(EVERYWHERE, fitness=f) for f in (0.1, 0.5, 0.5, 0.2)]
    made = world(meadow(), rules, pop_limit=20, tau=1.0)
    for key in KEYS[:20]:
        assert set_tournament(np.uint64(key), np.arange(4), 4, made.classifiers.rules, made.reach.absent) == 1


# Deletion.


def deleted(rules: list[Rule], **parameters: Any) -> list[int]:
    """Return which rule was deleted, for each key; the population is one too many."""
    micros = sum(own.numerosity for own in rules)
    made = world(meadow(), rules, **{"pop_limit": micros - 1, **parameters})
    rules_ = made.classifiers.rules
    drawn = []
    for key in KEYS:
        before = rules_.copy()
        delete_one(np.uint64(naive.fold(key, 1)), made.own)
        (gone,) = np.flatnonzero(before["numerosity"] - rules_["numerosity"])
        drawn.append(int(gone))
        rules_[:] = before
        made.classifiers.clock[0].micros += 1
        if before["numerosity"][gone] == 1:  # it has left the index
            enter(int(gone), made.classifiers, made.space, made.settings.by_box, made.reach.lows)
    return drawn


def test_rules_are_deleted_in_proportion_to_their_votes() -> None:
    # Mean fitness 1.2/6 = 0.2 per micro; δ·mean = 0.02. Rule 2 is unfit (0.01 per micro) and experienced: its
    # vote 3·1 is raised by 0.2/0.01 = 20. Rule 3 is as unfit but new, rule 1 is experienced but fit.
    rules = [
        rule(EVERYWHERE, numerosity=2, fitness=0.6, set_size=4.0, experience=10),
        rule(EVERYWHERE, numerosity=2, fitness=0.58, set_size=2.5, experience=100),
        rule(EVERYWHERE, numerosity=1, fitness=0.01, set_size=3.0, experience=51),
        rule(EVERYWHERE, numerosity=1, fitness=0.01, set_size=7.0, experience=50),
    ]
    votes = [8.0, 5.0, 60.0, 7.0]
    made = world(meadow(), rules, pop_limit=5)
    assert naive_xcsf.votes(rules, made.parameters) == pytest.approx(votes, rel=1e-12)
    found = [vote(made.classifiers.rules[r], 0.2, made.settings) for r in range(5)]
    assert found == pytest.approx([*votes, 0.0], rel=1e-12)  # a free slot votes 0
    assert_frequencies(deleted(rules), np.array(votes) / sum(votes))
    assert_frequencies(deleted(rules, theta_del=1000), np.array([8, 5, 3, 7]) / 23)
    assert_frequencies(deleted(rules, delta=0.0), np.array([8, 5, 3, 7]) / 23)


def test_nothing_is_deleted_while_there_is_room() -> None:
    made = world(meadow(), parents(), pop_limit=7)
    delete_one(np.uint64(1), made.own)
    assert sum(made.column("numerosity", 20)) == 7
    assert made.counter("deletions") == 0


@given(st.integers(65, 200), st.integers(0, 10**6))
def test_deletion_by_words_finds_whom_a_roulette_over_all_slots_finds(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rules = [
        rule(
            EVERYWHERE,
            numerosity=int(rng.integers(1, 9)),
            fitness=float(rng.choice([1e-9, 0.1, 0.5])),
            set_size=float(rng.uniform(1, 50)),
            experience=int(rng.choice([10, 90])),
        )
        for _ in range(n)
    ]
    made = world(meadow(), rules, pop_limit=sum(own.numerosity for own in rules) - 1)
    delete_one(np.uint64(seed), made.own)
    shares = naive_xcsf.votes(rules, made.parameters)
    rules[naive_xcsf.roulette(naive.uniform(seed, 0), shares)].numerosity -= 1
    assert made.column("numerosity", n) == [own.numerosity for own in rules]


# The index.


def action_set(made: World, s: int, a: int) -> list[int]:
    n = list_members(made.space.masks[s], np.int64(a), made.space.members)
    members: list[int] = made.space.members[:n].tolist()
    return members


@given(st.lists(st.tuples(BOX, st.integers(0, 3)), min_size=1, max_size=150), st.data())
def test_masks_are_the_action_sets_of_all_states_also_after_rules_have_left(
    drawn: list[tuple[list[list[int]], int]], data: st.DataObject
) -> None:
    made = world(meadow(), [rule(box, action) for box, action in drawn], pop_limit=200)
    for r in data.draw(st.sets(st.integers(0, len(drawn) - 1), max_size=5)):
        made.remove(r)
    left = np.flatnonzero(made.classifiers.rules["numerosity"]).tolist()
    for s, state in enumerate(made.model.states.tolist()):
        for a in range(4):
            expected = [r for r in left if drawn[r][1] == a and naive.matches(drawn[r][0], state)]
            assert action_set(made, s, a) == expected
            assert bool(has_rule(made.space.masks, s, a)) == bool(expected)
    assert free_slot(made.space.used) == min(set(range(201)) - set(left))


@given(st.lists(st.tuples(BOX, st.integers(0, 1)), min_size=2, max_size=30), st.booleans())
def test_equal_rules_are_found_whatever_the_order_of_their_bounds(
    drawn: list[tuple[list[list[int]], int]], by_box: bool
) -> None:
    equality = "box" if by_box else "alleles"
    rules = [rule(box, action) for box, action in drawn]
    made = world(meadow(), rules[1:], pop_limit=40, equality=equality)
    plain, bounds = made.classifiers.rules, made.classifiers.bounds
    child = len(bounds) - 1
    bounds[child] = rules[0].bounds
    plain[child].action = rules[0].action
    alike = [naive_xcsf.equal(rules[0], other, equality) for other in rules[1:]]
    key = rule_key(child, plain, bounds, by_box)
    for r, same in enumerate(alike):
        assert same_rule(r, child, plain, bounds, by_box) == same
        assert (rule_key(r, plain, bounds, by_box) == key) == same
    found = equal_rule(child, made.classifiers, made.space, by_box, made.reach.lows)
    assert found == (alike.index(True) if any(alike) else -1)


def test_equal_rules_are_found_where_they_match_no_state_too() -> None:
    hole = [[2, 2], [1, 1]]
    made = world(meadow(), [rule(EVERYWHERE), rule(hole, 1), rule(hole)], pop_limit=40)
    rules, bounds = made.classifiers.rules, made.classifiers.bounds
    child = len(bounds) - 1
    bounds[child], rules[child].action = hole, 0
    assert all(action_set(made, s, a) == [0] * (a == 0) for s in range(7) for a in range(4))
    assert equal_rule(child, made.classifiers, made.space, True, made.reach.lows) == 2


def test_a_rule_that_is_removed_leaves_every_set() -> None:
    made = world(meadow(), [rule(EVERYWHERE) for _ in range(70)], pop_limit=100)
    for which in (HELD, ACTING):
        made.space.sets[which] = made.space.used
    for r in (3, 69):
        made.remove(r)
    left = [r for r in range(70) if r not in (3, 69)]
    for sets in (made.space.sets[HELD], made.space.sets[ACTING], made.space.used):
        n = list_members(sets[None], np.int64(0), made.space.members)
        assert made.space.members[:n].tolist() == left


# Subsumption and insertion.


def test_only_experienced_and_accurate_rules_that_are_there_subsume() -> None:
    rules = [
        rule(EVERYWHERE, experience=experience, error=error)
        for experience, error in ((51, 0.009), (50, 0.009), (51, 0.01), (51, 0.0))
    ]
    made = world(meadow(), rules, pop_limit=20)
    made.remove(3)
    found = [bool(can_subsume(r, made.classifiers.rules, made.settings)) for r in range(4)]
    assert found == [True, False, False, False]
    assert [naive_xcsf.can_subsume(own, made.parameters) for own in rules[:3]] == found[:3]


@given(
    st.lists(
        st.tuples(BOX, st.sampled_from([0, 99]), st.sampled_from([0.001, 0.5]), st.integers(1, 4)),
        min_size=1,
        max_size=8,
    )
)
def test_the_widest_accurate_rule_takes_in_those_inside_it(drawn: list[Any]) -> None:
    rules = [
        rule(box, experience=experience, error=error, numerosity=n) for box, experience, error, n in drawn
    ]
    made = world(meadow(), rules, pop_limit=40)
    made.space.members[: len(rules)] = range(len(rules))
    left = subsume_set(len(rules), made.own)
    widest, inside = naive_xcsf.subsume_set(rules, made.parameters)
    assert made.space.members[:left].tolist() == [r for r, own in enumerate(rules) if own not in inside]
    for r, own in enumerate(rules):
        gained = sum(other.numerosity for other in inside) if own is widest else 0
        assert made.classifiers.rules[r].numerosity == (0 if own in inside else own.numerosity + gained)
    assert made.counter("set_subsumptions") == sum(own.numerosity for own in inside)
    assert made.classifiers.rules["numerosity"].sum() == made.counter("micros")


def added(child: Rule, *others: Rule, **parameters: Any) -> tuple[World, list[int]]:
    """Return the world after a child of rules 0 and 1 was added, and all numerosities."""
    made = world(meadow(), [*others, child], **{"pop_limit": 20, **parameters})
    nursery = len(made.classifiers.bounds) - 2
    copy_rule(len(others), nursery, made.classifiers)
    made.remove(len(others))
    made.classifiers.clock[0].micros -= 1
    add_child(nursery, 0, 1, made.own)
    return made, made.column("numerosity", len(others) + 1)


def test_children_are_subsumed_by_the_mother_else_the_father_else_absorbed_else_inserted() -> None:
    good: dict[str, Any] = {"experience": 99, "error": 0.001}
    wide, turned, small = [[0, 2], [0, 2]], [[2, 0], [0, 2]], [[1, 1], [0, 2]]
    made, numbers = added(rule(small), rule(wide, **good), rule(turned, **good))
    assert (numbers, made.counter("ga_subsumptions")) == ([2, 1, 0], 1)
    made, numbers = added(rule(small), rule(wide), rule(turned, **good))
    assert (numbers, made.counter("ga_subsumptions")) == ([1, 2, 0], 1)
    made, numbers = added(rule(small), rule(wide, 1, **good), rule(wide), rule(small))
    assert (numbers, made.counter("absorptions")) == ([1, 1, 2, 0], 1)
    made, numbers = added(rule(small), rule(wide, **good), rule(wide), rule(small), ga_subsumption=False)
    assert (numbers, made.counter("absorptions")) == ([1, 1, 2, 0], 1)
    made, numbers = added(rule(small), rule(wide), rule(turned))
    assert (numbers, made.counter("insertions")) == ([1, 1, 1], 1)
    assert made.counter("micros") == 3


def test_a_child_keeps_what_it_inherits_but_starts_without_experience() -> None:
    child = rule([[1, 1], [0, 2]], experience=7, set_size=3.5, error=0.2, niche_error=0.1, fitness=0.4)
    child.weights, child.covariance = [1.0, 2.0, 3.0], [[5.0] * 3] * 3
    made, _ = added(child, rule(EVERYWHERE), rule(EVERYWHERE))
    row = made.classifiers.rules[2]
    assert (row.experience, row.set_size, row.error, row.niche_error) == (0, 3.5, 0.2, 0.1)
    assert (row.fitness, made.column("weights", 3)[2]) == (0.4, [1.0, 2.0, 3.0])
    assert made.column("covariance", 3)[2] == [10.0, 0.0, 0.0, 10.0, 0.0, 10.0]


@given(st.integers(0, 2**64 - 1), st.sampled_from([0.0, 0.5, 1.0]), BOX, BOX)
def test_bounds_are_swapped_as_by_the_oracle(key: int, p_swap: float, one: Any, other: Any) -> None:
    found = np.array([EVERYWHERE, one, other], dtype=np.int32)
    swap_bounds(np.uint64(key), p_swap, found, 2, 1)
    expected = copy.deepcopy([EVERYWHERE, one, other])
    naive_evolve.swap_bounds(key, p_swap, expected[2], expected[1])
    assert found.tolist() == expected
    if p_swap != 0.5:
        assert found[1:].tolist() == ([other, one] if p_swap else [one, other])


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 100)), min_size=1, max_size=6), st.integers(0, 60)
)
def test_the_ga_is_due_where_the_mean_time_stamp_is_older_than_theta(
    drawn: list[tuple[int, int]], theta: int
) -> None:
    rules = [rule(EVERYWHERE, numerosity=n, stamp=stamp) for n, stamp in drawn]
    made = world(meadow(), rules, now=100, pop_limit=60)
    n = len(rules)
    mean = sum(n * stamp for n, stamp in drawn) / sum(n for n, _ in drawn)
    found = bool(is_due(np.arange(n), n, made.classifiers.rules, 100, theta))
    assert found == naive_xcsf.is_due(rules, 100, theta)
    if abs(100 - mean - theta) > 1e-9:
        assert found == (100 - mean > theta)


# Covering and whole runs.


@given(st.integers(0, 2**64 - 1), st.integers(0, 6), st.sampled_from([None, 0, 1, 99]))
def test_covering_matches_the_state_with_a_missing_action_within_reach(
    key: int, s: int, r0: int | None
) -> None:
    made = world(meadow(), [rule(EVERYWHERE, 2)], pop_limit=20, now=5, r0=r0)
    cover(np.uint64(key), s, 3, made.own)
    row, state = made.classifiers.rules[1], made.model.states[s].tolist()
    box = made.column("bounds", 2)[1]
    assert naive.matches(box, state)
    assert all(
        0 <= bound <= 2 and abs(bound - v) <= (1 if r0 is None else r0)
        for pair, v in zip(box, state, strict=True)
        for bound in pair
    )
    assert row.action in (0, 1, 3)
    assert (row.numerosity, row.experience, row.stamp, row.set_size) == (1, 0, 5, 1.0)
    assert (made.counter("coverings"), made.counter("micros")) == (1, 2)


def counted(population: Population, name: str) -> int:
    return int(population.clock[(CLOCK.names or ()).index(name)])


@settings(max_examples=8)
@given(
    st.integers(0, 10**6),
    st.sampled_from([3, 4, 10, 40]),
    st.sampled_from(["tournament", "roulette"]),
    st.booleans(),
    st.sampled_from(["end", "bootstrap"]),
)
def test_laws_that_hold_after_every_step(
    seed: int, limit: int, selection: Any, subsumption: bool, truncation: Any
) -> None:
    task = random_task(seed % 7)
    system = XCSF(
        task,
        seed=seed,
        threads=1,
        pop_limit=limit,
        theta_ga=3,
        theta_sub=5,
        epsilon_0=0.5,
        mu=0.3,
        selection=selection,
        set_subsumption=subsumption,
        truncation=truncation,
    )
    for _ in range(40):
        system.learn(steps=1)
        p = system.now.population
        rules = p.numerosity > 0
        assert p.numerosity.sum() == counted(p, "micros") <= limit
        assert (np.sort(p.bounds[rules], axis=-1)[..., 0] >= [f.low for f in task.features]).all()
        assert (np.sort(p.bounds[rules], axis=-1)[..., 1] <= [f.high for f in task.features]).all()
        assert (p.fitness[rules] > 0).all()
        assert (p.error[rules] >= 0).all()
        assert (p.held <= rules).all()


@pytest.mark.parametrize("selection", ["tournament", "roulette"])
def test_a_population_as_small_as_the_number_of_actions_works(selection: Any) -> None:
    system = XCSF(meadow(), seed=1, pop_limit=4, theta_ga=2, selection=selection).learn(steps=3000)
    p = system.now.population
    assert counted(p, "micros") == p.numerosity.sum() == 4
    assert counted(p, "deletions") > 100


def test_every_action_has_a_rule_where_it_was_just_decided_if_the_ga_did_not_run() -> None:
    # The GA is never due, so nothing is deleted after covering.
    task = meadow()
    system = XCSF(task, seed=2, pop_limit=12, theta_ga=10**9)
    visited = 0
    for _ in range(200):
        system.learn(steps=1)
        p = system.now.population
        if (s := int(counted(p, "before"))) >= 0:
            state = task.dynamics.states[s].tolist()
            rules = np.flatnonzero(p.numerosity).tolist()
            found = {int(p.action[r]) for r in rules if naive.matches(p.bounds[r].tolist(), state)}
            assert found == {0, 1, 2, 3}
            assert p.held.any()
            visited += 1
    assert visited > 100
