"""SAMUEL's intervals in steps, its operators, and what they look at."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.randomness import stream
from ifthen.rules.box import inside
from ifthen.rules.feature import Feature
from ifthen.simulate.bids import MEAN, STRENGTH
from ifthen.systems.samuel import granularity as intervals
from ifthen.systems.samuel.granularity import Grid, step_of
from ifthen.systems.samuel.means import mean_of
from ifthen.systems.samuel.plans import ACTIVITY, AGE, COLUMNS, Arrays, Plan, separated
from ifthen.systems.samuel.samuel_operators import (
    Rule,
    Setting,
    Trace,
    applied,
    drawn_operators,
    make_rule,
    rate_ends,
)
from ifthen.systems.samuel.samuel_parameters import OPERATORS, SAMUELParameters
from tests import naive_plans

SPEED = Feature("speed", 100.0, 1500.0, "real", clips=True)
CELL = Feature("x", 0, 7)


HOURS = Feature("bearing", 0, 11, cyclic=True)
WIND = Feature("wind", 0, 7, cyclic=True)
COURSE = Feature("course", 0.0, 360.0, "real", cyclic=True)
PHASE = Feature("phase", -0.25, 0.87, "real", cyclic=True)
DEGREES = Feature("degrees", 3, 358, cyclic=True)
KEY = stream(3, "operators")


def grid_of(*features: Feature, granularity: int = 20) -> Grid:
    return Grid.of(features, granularity)


def box(*pairs: tuple[float, float]) -> Any:
    return np.array(pairs, dtype=np.float64)


def overlaps(grid: Grid, a: Any, b: Any) -> Any:
    """Return the shares of two conditions' steps that both have."""
    shares = np.empty(len(a))
    intervals.put_overlaps(grid, a, b, shares)
    return shares


# Intervals


@pytest.mark.parametrize(
    ("low", "high", "kind", "expected"),
    [
        (-4.8, 4.8, "real", 0.2),
        (0.0, 1.0, "real", 0.05),
        (100.0, 1500.0, "real", 50.0),
        (0, 7, "integer", 1.0),
        (0, 3000, "integer", 100.0),
        (2.0, 2.0, "real", 1.0),
    ],
)
def test_steps_are_round_numbers_that_leave_twenty_to_a_range(
    low: Any, high: Any, kind: Any, expected: float
) -> None:
    assert step_of(Feature("f", low, high, kind), 20) == pytest.approx(expected)


def test_specialized_ends_move_half_way_to_the_reading() -> None:
    grid = grid_of(SPEED, granularity=28)  # steps of 50
    found = intervals.specialized(grid, box((100, 1500)), np.array([500.0]))
    assert found.tolist() == [[300, 1000]]  # the guide's example


def test_specialized_intervals_of_whole_numbers_get_narrower_and_keep_the_reading() -> None:
    grid, now = grid_of(CELL), box((0, 7))
    widths = []
    for _ in range(4):
        now = intervals.specialized(grid, now, np.array([6.0]))
        widths.append(now[0].tolist())
    assert widths == [[3, 6], [5, 6], [6, 6], [6, 6]]


def test_a_whole_circle_is_specialized_to_the_half_around_the_reading() -> None:
    grid = grid_of(HOURS)
    found = intervals.specialized(grid, box((0, 11)), np.array([1.0]))
    assert found.tolist() == [[11, 3]]
    assert intervals.specialized(grid, found, np.array([0.0])).tolist() == [[0, 1]]


def test_covering_extends_the_nearer_end_to_the_reading_and_leaves_other_conditions() -> None:
    grid = grid_of(CELL, CELL, HOURS)
    before = box((2, 4), (1, 2), (9, 10))
    found = intervals.covering(grid, before, np.array([6.0, 2.0, 0.0]))
    assert found.tolist() == [[2, 6], [1, 2], [9, 0]]
    assert intervals.covering(grid, before, np.array([0.0, 5.0, 7.0])).tolist() == [[0, 4], [1, 5], [7, 10]]


def test_generalized_intervals_reach_a_share_of_the_range_to_either_side() -> None:
    grid = grid_of(SPEED, granularity=28)
    assert intervals.generalized(grid, box((500, 550)), np.array([520.0]), 1.0).tolist() == [[150, 900]]
    assert intervals.generalized(grid, box((500, 1200)), np.array([520.0]), 0.1).tolist() == [[450, 1200]]


@pytest.mark.parametrize(
    ("feature", "before", "end", "way", "expected"),
    [
        (CELL, (2, 4), 0, 1, (1, 4)),
        (CELL, (2, 4), 0, -1, (3, 4)),
        (CELL, (2, 4), 1, 1, (2, 5)),
        (CELL, (0, 4), 0, 1, (0, 4)),
        (CELL, (4, 4), 1, -1, (4, 4)),
        (HOURS, (0, 4), 0, 1, (11, 4)),
        (HOURS, (11, 4), 0, -1, (0, 4)),
        (HOURS, (2, 0), 0, 1, (0, 11)),
        (CELL, (0, 6), 0, 1, (0, 6)),
        (CELL, (1, 7), 1, 1, (1, 7)),
        (COURSE, (350, 360), 1, 1, (350, 10)),
        (COURSE, (10, 20), 0, 1, (360, 20)),
    ],
)
def test_creep_moves_one_end_a_step(feature: Any, before: Any, end: int, way: int, expected: Any) -> None:
    found = intervals.crept(grid_of(feature), box(before), 0, end, way)
    assert tuple(found[0].tolist()) == expected


@pytest.mark.parametrize(
    ("feature", "a", "b", "share", "together"),
    [
        (CELL, (0, 3), (2, 5), 2 / 6, (0, 5)),
        (CELL, (0, 1), (4, 5), 0.0, (0, 5)),
        (CELL, (1, 4), (1, 4), 1.0, (1, 4)),
        (HOURS, (10, 1), (0, 3), 2 / 6, (10, 3)),
        (HOURS, (9, 10), (1, 2), 0.0, (9, 2)),
        (HOURS, (0, 11), (3, 4), 2 / 12, (0, 11)),
    ],
)
def test_overlap_and_hull(feature: Any, a: Any, b: Any, share: float, together: Any) -> None:
    grid = grid_of(feature)
    for one, other in ((a, b), (b, a)):
        assert overlaps(grid, box(one), box(other))[0] == pytest.approx(share)
        assert tuple(intervals.hull(grid, box(one), box(other))[0].tolist()) == together


@given(st.data())
def test_whatever_operators_do_to_intervals_stays_in_range_and_keeps_the_reading(data: Any) -> None:
    feature = data.draw(
        st.sampled_from([CELL, HOURS, SPEED, Feature("r", -0.42, 0.42, "real"), COURSE, PHASE, DEGREES])
    )
    grid, number = grid_of(feature), st.floats(feature.low, feature.high)
    value = data.draw(number)
    point = np.array([round(value) if feature.is_integer else value])
    steps = data.draw(st.lists(st.integers(int(grid.first[0]), int(grid.last[0])), min_size=2, max_size=2))
    if not feature.cyclic:
        steps.sort()
    before = box((0, 0))
    intervals.put_interval(grid, 0, float(steps[0]), float(steps[1]), before[0])
    covered = intervals.covering(grid, before, point)
    narrow, wide = (
        intervals.specialized(grid, covered, point),
        intervals.generalized(grid, covered, point, 0.5),
    )
    for found in (covered, narrow, wide):
        assert inside(found, point).all()
        assert (found >= feature.low).all()
        assert (found <= feature.high).all()
    width = intervals.width_of(grid, 0, covered[0])
    assert intervals.width_of(grid, 0, narrow[0]) <= max(width, 1)
    assert intervals.width_of(grid, 0, wide[0]) >= width


@pytest.mark.parametrize(
    ("before", "reading", "specialized", "covering"),
    [
        ((350, 360), 360, (360, 0), (350, 360)),
        ((100, 110), 360, None, (360, 110)),
        ((0, 110), 360, None, (360, 110)),
        ((340, 350), 0, None, (340, 0)),
    ],
)
def test_both_ends_of_a_real_circle_are_one_place(
    before: Any, reading: float, specialized: Any, covering: Any
) -> None:
    grid, point = grid_of(COURSE), np.array([float(reading)])
    assert tuple(intervals.covering(grid, box(before), point)[0].tolist()) == covering
    if specialized is not None:
        assert tuple(intervals.specialized(grid, box(before), point)[0].tolist()) == specialized


def test_a_whole_real_circle_stays_whole_when_it_is_generalized() -> None:
    for reading in (0.0, 5.0, 180.0, 360.0):
        found = intervals.generalized(grid_of(COURSE), box((0, 360)), np.array([reading]), 0.1)
        assert found.tolist() == [[0, 360]]


def test_multiples_of_steps_are_the_nearest_numbers_whatever_the_size_of_steps() -> None:
    for power in (-15, -3, 0, 6):
        grid = grid_of(Feature("f", 0.0, 2.0 * 10.0**power, "real"))
        values = [intervals.value_at(grid, 0, number) for number in (3.0, 7.0, 13.0)]
        assert values == [float(f"{digits}e{power}") for digits in ("0.3", "0.7", "1.3")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((353, 12), (350, 20)),
        ((12, 15), (10, 20)),
        ((5, 4), (3, 358)),
        ((20, 30), (20, 30)),
        ((3, 7), (3, 10)),
    ],
)
def test_cyclic_intervals_between_steps_are_widened_to_steps(given: Any, expected: Any) -> None:
    cyclic, linear = box(given)[None], box((12, 15))[None]
    intervals.round_outwards(grid_of(DEGREES), cyclic)
    intervals.round_outwards(grid_of(Feature("degrees", 3, 358)), linear)
    assert cyclic.tolist() == [[list(expected)]]
    assert linear.tolist() == [[[12, 15]]]


# Intervals of a circle of eight values, against sets


ARCS = [(a, b) for a, b in itertools.product(range(8), repeat=2) if (b - a) % 8 < 7] + [(0, 7)]


def values_of(bounds: Any) -> frozenset[int]:
    """Return the values from 0 to 7 in an interval of a circle."""
    first, last = np.asarray(bounds).ravel().astype(int).tolist()
    return frozenset((first + i) % 8 for i in range((last - first) % 8 + 1))


def size_of_smallest(values: frozenset[int]) -> int:
    """Return how many values the smallest interval of the circle has that holds some."""
    return min(len(values_of(arc)) for arc in ARCS if values_of(arc) >= values)


def test_overlap_and_hull_on_a_circle_are_those_of_sets() -> None:
    grid = grid_of(WIND)
    for a, b in itertools.product(ARCS, repeat=2):
        one, two = values_of(a), values_of(b)
        assert overlaps(grid, box(a), box(b))[0] == pytest.approx(len(one & two) / len(one | two))
        found = values_of(intervals.hull(grid, box(a), box(b)))
        assert found >= one | two
        assert len(found) == size_of_smallest(one | two)


def test_specialized_and_covering_intervals_on_a_circle_are_those_of_sets() -> None:
    grid = grid_of(WIND)
    for arc, reading in itertools.product(ARCS, range(8)):
        values, point = values_of(arc), np.array([float(reading)])
        covering = values_of(intervals.covering(grid, box(arc), point))
        assert covering >= values | {reading}
        assert len(covering) == size_of_smallest(values | {reading})
        if reading in values:
            narrow = values_of(intervals.specialized(grid, box(arc), point))
            assert reading in narrow
            assert narrow <= values
            assert len(narrow) <= (len(values) + 2) // 2


@pytest.mark.parametrize("feature", [COURSE, WIND])
def test_overlaps_are_shares(feature: Feature) -> None:
    grid = grid_of(feature)
    ends = [float(value) for value in np.linspace(feature.low, feature.high, 8).round()]
    arcs = list(itertools.product(ends, ends))
    for a, b in itertools.product(arcs, arcs):
        assert 0 <= overlaps(grid, box(a), box(b))[0] <= 1
    assert overlaps(grid, box((ends[0], ends[-1])), box((ends[0], ends[-1])))[0] == 1


# Operators


def plan_of(*rules: tuple[tuple[float, float], int, float]) -> Plan:
    """Return a plan over one feature from its conditions, actions and strengths."""
    known = np.zeros((len(rules), 5))
    known[:, MEAN] = known[:, STRENGTH] = [strength for _, _, strength in rules]
    known[:, AGE], known[:, ACTIVITY] = 9, 0.5
    bounds = np.array([[pair] for pair, _, _ in rules], dtype=np.float64)
    actions = np.array([action for _, action, _ in rules], dtype=np.int32)
    return Plan(bounds, actions, known, np.zeros(len(rules), dtype=np.bool_))


def trace_of(episodes: list[list[tuple[float, int]]], payoffs: list[float]) -> Trace:
    """Return a trace from readings and actions by episode, with their payoffs."""
    longest = max(map(len, episodes))
    readings, taken = np.zeros((len(episodes), longest, 1)), np.full((len(episodes), longest), -1)
    for e, steps in enumerate(episodes):
        for t, (reading, action) in enumerate(steps):
            readings[e, t, 0], taken[e, t] = reading, action
    return Trace.of(readings, taken, np.array(payoffs))


def setting(**changes: Any) -> Setting:
    return Setting.of(grid_of(CELL), 3, SAMUELParameters(**changes).filled())


def made(name: str, plan: Plan, trace: Trace, key: Any = KEY, **changes: Any) -> tuple[Any, int] | None:
    """Return the condition and the action that an operator makes."""
    rule = Rule(np.empty((1, 2)), np.empty(COLUMNS))
    action = make_rule(OPERATORS.index(name), plan, trace, setting(**changes), key, rule)
    return None if action < 0 else (rule.bounds[0].tolist(), action)


def grown_by(
    names: list[str], plan: Plan, trace: Trace, how: Setting, most: int, key: Any = KEY
) -> tuple[Plan, list[int]]:
    """Return a plan with the rules that operators add, and how many each of them added."""
    operators, added = np.array([OPERATORS.index(name) for name in names]), np.zeros(7, dtype=np.int64)
    return applied(plan, operators, trace, how, most, key, added), added.tolist()


WALK = plan_of(((0, 7), 0, 0.5), ((0, 7), 1, 0.5), ((2, 3), 2, 0.8))


def test_specialize_takes_a_general_weak_rule_of_the_best_paid_episode() -> None:
    trace = trace_of([[(1, 0)], [(6, 1)], [(4, 0)]], [0.2, 1.0, 0.9])
    assert made("specialize", WALK, trace) == ([3, 6], 1)
    assert made("specialize", WALK, trace_of([[(6, 1)]], [0.4])) is None  # paid less than its strength
    assert made("specialize", WALK, trace_of([[(2, 2)]], [1.0])) is None  # not general


def test_version_1_specializes_only_rules_that_match_everything() -> None:
    plan = plan_of(((0, 6), 0, 0.1))
    trace = trace_of([[(2, 0)]], [1.0])
    assert made("specialize", plan, trace) == ([1, 4], 0)
    assert made("specialize", plan, trace, version=1) is None


def test_generalize_widens_a_strong_rule_of_a_well_paid_episode() -> None:
    plan = plan_of(((0, 7), 0, 0.1), ((2, 2), 1, 0.9))
    trace = trace_of([[(2, 1)]], [1.0])
    assert made("generalize", plan, trace, general_level=1.0) == ([0, 4], 1)
    weak = plan_of(((0, 7), 0, 0.9), ((2, 2), 1, 0.1))
    assert made("generalize", weak, trace_of([[(2, 1)]], [1.0]), general_level=1.0) is None


def test_generalize_takes_rules_that_are_not_narrow() -> None:
    plan = plan_of(((0, 7), 0, 0.1), ((2, 4), 1, 0.9))
    assert made("generalize", plan, trace_of([[(4, 1)]], [1.0])) == ([2, 5], 1)


def test_cover_extends_a_rule_that_was_active_by_a_partial_match() -> None:
    plan = plan_of(((2, 3), 0, 0.5), ((4, 5), 1, 0.5))
    assert made("cover", plan, trace_of([[(7, 1)], [(3, 0)]], [0.1, 0.9])) == ([4, 7], 1)
    assert made("cover", plan, trace_of([[(3, 0)]], [0.9])) is None


def test_avoid_gives_a_rule_of_the_worst_episode_another_action() -> None:
    trace = trace_of([[(1, 1)], [(6, 0)], [(2, 2)]], [0.9, 0.8, 0.0])
    found = made("avoid", WALK, trace)
    assert found is not None
    assert found[0] == [2, 3]
    assert found[1] in (0, 1)
    assert made("avoid", WALK, trace_of([[(1, 1)], [(6, 0)]], [0.5, 0.5])) is None


def test_merge_covers_two_strong_rules_that_overlap_and_agree() -> None:
    plan = plan_of(((0, 4), 1, 0.9), ((1, 4), 1, 0.9), ((1, 5), 1, 0.1), ((0, 4), 2, 0.9))
    assert made("merge", plan, trace_of([[(1, 1)]], [1.0])) == ([0, 4], 1)
    assert made("merge", plan_of(((0, 1), 1, 0.9), ((4, 5), 1, 0.9)), trace_of([[(1, 1)]], [1.0])) is None


def changes_by(name: str, plan: Plan) -> list[tuple[float, ...]]:
    """Return how far a blind operator moved both ends and the action of a plan's rule, for many seeds."""
    rules = [made(name, plan, Trace.empty(1), stream(seed, name)) for seed in range(300)]
    assert None not in rules
    before = np.array([*plan.bounds[0, 0], plan.actions[0]])
    after = [[*rule[0], rule[1]] for rule in rules if rule is not None]
    return [tuple(change) for change in (np.array(after) - before).tolist()]


def test_mutation_changes_one_value_to_any_legal_one() -> None:
    found = changes_by("mutation", plan_of(((3, 3), 1, 0.5)))  # an end beyond the other exchanges the two
    ends = [(change, 0) if change < 0 else (0, change) for change in range(-3, 5)]
    assert set(found) == {(*pair, 0) for pair in ends} | {(0, 0, -1), (0, 0, 1)}


def test_creep_moves_one_end_by_one_step_and_never_the_action() -> None:
    found = changes_by("creep", plan_of(((2, 5), 1, 0.5)))
    assert set(found) == {(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0)}
    assert set(changes_by("creep", plan_of(((0, 6), 1, 0.5)))) == {
        (0, 0, 0),
        (1, 0, 0),
        (0, -1, 0),
        (0, 1, 0),
    }


def test_new_rules_know_what_their_origin_knows_and_are_young_and_the_origin_stays() -> None:
    trace = trace_of([[(6, 1)]], [1.0])
    grown, added = grown_by(["specialize", "specialize"], WALK, trace, setting(), 20)
    assert added == [name == "specialize" for name in OPERATORS]
    assert len(grown.actions) == 4  # the same rule is not added twice
    assert grown.take(slice(3)).known.tobytes() == WALK.known.tobytes()
    assert grown.known[3].tolist() == [0.5, 0.0, 0.5, 0.5, 0.0]


def test_a_full_plan_loses_rules_at_random() -> None:
    trace = trace_of([[(6, 1)]], [1.0])
    assert len(grown_by(["specialize"], WALK, trace, setting(), 3)[0].actions) == 3


def drawn_names(changes: dict[str, Any], key: Any) -> list[str]:
    """Return the operators drawn for a plan, which are those of the oracle."""
    p = SAMUELParameters(**changes).filled()
    names = [OPERATORS[number] for number in drawn_operators(rate_ends(p), p.new_rules, key)]
    assert names == naive_plans.drawn_operators(p, int(key))
    return names


@pytest.mark.oracle
@pytest.mark.parametrize("name", OPERATORS)
def test_each_operator_has_a_switch(name: str) -> None:
    none: dict[str, Any] = dict.fromkeys(OPERATORS, 0.0)
    off: dict[str, Any] = {name: 0.0, "new_rules": 50}
    alone = {**none, name: 1.0, "new_rules": 5}
    drawn = {name for seed in range(9) for name in drawn_names(off, stream(seed, "d"))}
    assert drawn == set(OPERATORS) - {name}
    assert drawn_names(alone, KEY) == [name] * 5
    assert drawn_names(none, KEY) == []


def test_version_1_has_no_generalize_merge_creep_and_mutates_in_place() -> None:
    first, second = SAMUELParameters(version=1).filled(), SAMUELParameters().filled()
    drawn = {name for seed in range(99) for name in drawn_names({"version": 1}, stream(seed, "draws"))}
    assert drawn == {"specialize", "cover", "avoid"}
    assert (first.p_mut, first.bid_power, first.caution, first.spec_level) == (0.01, 1.0, 1.0, 1.0)
    assert (second.p_mut, second.bid_power, second.caution, second.spec_level) == (0.0, 10.0, 0.1, 0.5)
    assert SAMUELParameters(version=1, creep=2.0).filled().creep == 2.0


# Kernels, against plain oracles


WORLDS = {
    "cells": (CELL, CELL),
    "circles": (WIND, HOURS, CELL),
    "real numbers": (SPEED, Feature("r", -0.42, 0.42, "real"), COURSE),
    "many": (CELL,) * 9,
}


def random_plan(features: tuple[Feature, ...], rules: int, seed: int) -> Plan:
    """Return a plan that operators could have made, some of its rules alike."""
    draws, grid = np.random.default_rng(seed), naive_plans.Steps(*grid_of(*features))
    numbers = np.floor(draws.uniform(grid.first, grid.last + 1, (2, rules, len(features))))
    linear = ~np.isfinite(grid.periods)
    first, last = (
        np.where(linear, numbers.min(axis=0), numbers[0]),
        np.where(linear, numbers.max(axis=0), numbers[1]),
    )
    whole = draws.random(first.shape) < 0.4
    bounds = grid.bounds(np.where(whole, grid.first, first), np.where(whole, grid.last, last))
    copies = draws.integers(0, rules, rules // 4)
    bounds[: len(copies)] = bounds[copies]
    known = draws.choice([0.0, 0.05, 0.3, 0.31, 0.7, 1.0], (rules, COLUMNS))
    known[:, AGE] = draws.integers(0, 9, rules)
    actions, together = draws.integers(0, 3, rules).astype(np.int32), draws.random(rules) < 0.3
    return separated(Arrays.of([Plan(bounds, actions, known, together)], features))[0]


def random_trace(features: tuple[Feature, ...], seed: int) -> Trace:
    """Return a trace with some episodes that ended early, and some that were paid alike."""
    draws, (episodes, length) = np.random.default_rng(seed), (6, 5)
    lows, highs = (np.array([getattr(feature, end) for feature in features]) for end in ("low", "high"))
    whole = np.array([feature.is_integer for feature in features])
    readings = draws.uniform(lows, highs, (episodes, length, len(features)))
    readings = np.where(whole | (draws.random(readings.shape) < 0.1), readings.round(), readings)
    taken = draws.integers(0, 3, (episodes, length))
    taken[np.arange(length) >= draws.integers(0, length + 1, episodes)[:, None]] = -1
    return Trace.of(np.clip(readings, lows, highs), taken, draws.choice([0.0, 0.4, 0.9, 1.0], episodes))


def same_plans(plan: Plan, expected: naive_plans.Plan) -> bool:
    """Return whether two plans are the same to the bit."""
    columns: Any = zip(plan, expected, strict=True)
    return all(column.tobytes() == other.astype(column.dtype).tobytes() for column, other in columns)


@pytest.mark.oracle
@pytest.mark.parametrize("world", WORLDS)
@given(st.integers(0, 10**6), st.integers(1, 24), st.sampled_from([1, 2]), st.integers(6, 30))
def test_operators_make_the_rules_of_the_oracle_to_the_bit(
    world: str, seed: int, rules: int, version: Any, most: int
) -> None:
    features, key = WORLDS[world], stream(seed, "lamarck")
    plan, trace = random_plan(features, rules, seed), random_trace(features, seed)
    draws = np.random.default_rng(seed)
    p = SAMUELParameters(version=version, merge_overlap=float(draws.choice([0.2, 0.5, 1.0]))).filled()
    p = p.model_copy(update={"general_level": 0.6, "merge_strength": 0.9, "most_rules": most})
    names = [str(name) for name in draws.choice(OPERATORS, 8)]
    grid = grid_of(*features)
    found, added = grown_by(names, plan, trace, Setting.of(grid, 3, p), most, key)
    before = naive_plans.Plan(*plan)
    seen = naive_plans.trace_of(before, trace.readings, trace.taken, trace.payoffs)
    how = naive_plans.Setting(naive_plans.Steps(*grid), 3, p)
    expected, adding = naive_plans.applied(before, names, seen, how, int(key))
    assert same_plans(found, expected)
    assert added == [adding.count(name) for name in OPERATORS]


@pytest.mark.oracle
@given(st.integers(0, 10**6), st.one_of(st.integers(1, 40), st.integers(100, 3000)))
def test_means_are_those_of_numpy_to_the_bit(seed: int, n: int) -> None:
    values = np.random.default_rng(seed).normal(size=(n, 3))
    assert mean_of(values[:, 1]) == naive_plans.mean(values[:, 1])
    rows = np.ascontiguousarray(values[: min(n, 50)].T)
    assert [mean_of(row) for row in rows] == rows.mean(axis=1).tolist()


@pytest.mark.oracle
@given(st.integers(0, 10**6), st.integers(1, 9))
def test_intervals_are_widened_as_by_the_oracle_to_the_bit(seed: int, rules: int) -> None:
    features = (WIND, HOURS, CELL, COURSE, SPEED)
    draws, grid = np.random.default_rng(seed), grid_of(*features)
    lows, highs = (np.array([getattr(feature, end) for feature in features]) for end in ("low", "high"))
    ends = np.sort(draws.uniform(lows, highs, (2, rules, len(features))), axis=0)
    wraps = np.isfinite(grid.periods) & (draws.random(ends.shape[1:]) < 0.5)
    bounds = np.stack([np.where(wraps, ends[1], ends[0]), np.where(wraps, ends[0], ends[1])], axis=-1)
    expected = naive_plans.Steps(*grid).rounded_outwards(bounds)
    intervals.round_outwards(grid, bounds)
    assert bounds.tobytes() == expected.tobytes()
