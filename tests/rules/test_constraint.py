"""Constraints on rules: what is said of a list holds at every point, and a shield keeps what it must."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import DecisionList, Feature, term
from ifthen.errors import ParameterError
from ifthen.rules.constraint import Constraint, asks_for_nothing, breach, check_together, shielded
from ifthen.rules.text.constraint_text import constraint_in, constraints_in, is_about_rules, requirements_in

CLOCK = (Feature("day", 0, 3), Feature("hour", 0, 5, cyclic=True))
NORTH = Feature("north", 0, 2, labels=("empty", "a wall", "food"))
ROOM = (Feature("room", 0.0, 40.0, "real", "°C"), Feature("pole angle", -1.0, 1.0, "real", clips=True), NORTH)
ACTIONS = ("off", "heat", "cool down")
EVERY = list(itertools.product(range(4), range(6)))


@st.composite
def lists(draw: st.DrawFn, largest: int) -> DecisionList:
    """Draw a decision list over CLOCK, whose intervals may wrap."""
    n = draw(st.integers(1, largest))
    ends = [st.lists(st.integers(f.low, f.high), min_size=2, max_size=2) for f in CLOCK]
    bounds = draw(st.lists(st.tuples(*ends), min_size=n, max_size=n))
    actions = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    return DecisionList([list(box) for box in bounds], actions, CLOCK, ACTIONS)


@st.composite
def constraints(draw: st.DrawFn) -> Constraint:
    """Draw a constraint over CLOCK."""
    region, never, action = draw(lists(2)), draw(st.booleans()), draw(st.integers(0, 2))
    return Constraint(f"{never} {action} {region}", never, action, region)


def breaks(action: int, point: Sequence[float], constraint: Constraint) -> bool:
    """Return whether an action breaks a constraint at a point."""
    inside = bool(constraint.where.matches(point).any())
    return inside and (action == constraint.action) is constraint.never


@given(lists(5), constraints())
def test_a_breach_is_found_exactly_where_brute_force_finds_one(
    rules: DecisionList, constraint: Constraint
) -> None:
    broken = [point for point in EVERY if breaks(rules.predict(point), point, constraint)]
    found = breach(rules, constraint)
    assert found.equal is (not broken)
    if broken:
        assert found.witness in broken


@given(lists(4), st.lists(constraints(), min_size=1, max_size=3))
def test_a_shield_keeps_all_constraints_and_the_lists_own_next_choice(
    rules: DecisionList, required: list[Constraint]
) -> None:
    allowed = {
        point: [a for a in range(3) if not any(breaks(a, point, each) for each in required)]
        for point in EVERY
    }
    if not all(allowed.values()):
        with pytest.raises(ParameterError, match="no action"):
            check_together(required, CLOCK, ACTIONS)
        return
    check_together(required, CLOCK, ACTIONS)
    kept, added = shielded(rules, required)
    assert added <= len(kept)
    broken = any(breach(rules, each).equal is False for each in required)
    assert (kept != rules) is broken
    assert broken or not added
    for point in EVERY:
        own = [int(rules.actions[r]) for r in np.flatnonzero(rules.matches(point))]
        free = not any(each.where.matches(point).any() for each in required)
        action = kept.predict(point)
        assert not any(breaks(action, point, each) for each in required)
        if free or (own and own[0] in allowed[point]):
            assert action == (own[0] if own else -1)
        elif any(a in allowed[point] for a in own) and len(allowed[point]) > 1:
            assert action == next(a for a in own if a in allowed[point])
    assert all(breach(kept, each).equal is True for each in required)


def room_list(text: str) -> DecisionList:
    """Return a list over ROOM that heats up to 25 °C, made to keep a constraint."""
    bounds = [[[0.0, 25.0], [-1.0, 1.0], [0.0, 2.0]], [[0.0, 40.0], [-1.0, 1.0], [0.0, 2.0]]]
    rules = DecisionList(bounds, [1, 0], ROOM, ACTIONS)
    return shielded(rules, [constraint_in(text, ROOM, ACTIONS)]).ruleset


def test_the_shield_of_one_forbidden_action_is_one_rule() -> None:
    assert str(room_list("never heat when room >= 24")) == (
        "1. IF room ≥ 24 °C THEN off\n2. IF room ≤ 25 °C THEN heat\n3. OTHERWISE off"
    )
    assert len(room_list("never heat when room >= 26")) == 2  # kept already


def test_conditions_are_written_as_in_rules() -> None:
    for text, words in (
        ("never cool down when pole angle >= 0.5", ["pole angle ≥ 0.5"]),
        ("always heat when room in [3, 5] or room >= 30 °C and north is not food",
         ["room in [3, 5] °C", "room ≥ 30 °C AND north is not food"]),
        ("off when north is food or pole angle <= 0", ["north is food", "pole angle ≤ 0"]),
        ("never 1 when north is empty or a wall", ["north is not food"]),
        ("Never \"cool down\" when 2 <= room <= 3", ["room in [2, 3] °C"]),
        ("always off", [""]),
    ):  # fmt: skip
        where = constraint_in(text, ROOM, ACTIONS).where
        assert [where.condition_in_words(r) for r in range(len(where))] == words
    around = constraint_in("never off when hour from 4 through 0 to 1", CLOCK, ACTIONS)
    assert around.where.bounds[0, 1].tolist() == [4, 1]


def test_implies_forbids_an_action_where_the_second_condition_does_not_hold() -> None:
    constraint = constraint_in("heat when day >= 2 implies hour in [1, 2]", CLOCK, ACTIONS)
    for day, hour in EVERY:
        assert breaks(1, (day, hour), constraint) is (day >= 2 and hour not in (1, 2))
    real = constraint_in("heat when room >= 10 implies pole angle >= 0.3", ROOM, ACTIONS)
    assert breaks(1, (10, float(np.nextafter(0.3, 0)), 0), real)
    assert not breaks(1, (10, 0.3, 0), real)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("never heet when room >= 24", "unknown action 'heet'. Did you mean 'heat'"),
        ("never heat room >= 24", "expected 'when' and a condition after 'heat'"),
        ("never heat when rom >= 24", "unknown feature 'rom'. Did you mean 'room'"),
        ("never heat when room > 24", "write >= 24"),
        ("never heat when (room >= 24)", "leave out parentheses"),
        ("never heat when room >= 24 and", "is missing at the end"),
        ("never heat when room >= 24 unless", "expected 'and', 'or' or the end, not 'unless'"),
        ("never heat when room >= 50", "leaves the range of room"),
        ("never 3 when room >= 2", "unknown action '3'"),
        ("always", "expected an action"),
        ("never heat when room >= 2 implies room >= 3", "leave out never and always"),
        ("heat when room >= 2 implies room >= 1", "nothing to require"),
    ],
)
def test_a_mistake_is_told_with_what_was_expected(text: str, expected: str) -> None:
    with pytest.raises(ParameterError) as raised:
        constraint_in(text, ROOM, ACTIONS)
    assert expected in str(raised.value)


def test_requirements_that_contradict_are_refused_with_the_point() -> None:
    for text, point in (
        ("never heat when room >= 24,always heat when room <= 24", "room = 24 °C"),
        ("never off,never heat when room >= 30,never cool down when room >= 35", "room = 38 °C"),
        ("always off when hour in [2, 3], always heat when day = 1", "day = 1, hour = 2"),
    ):
        with pytest.raises(ParameterError, match="contradict each other at ") as raised:
            constraints_in(text, CLOCK if "hour" in text else ROOM, ACTIONS)
        assert point in str(raised.value)
    with pytest.raises(ParameterError, match="not about rules alone"):
        constraints_in("rules<=5", ROOM, ACTIONS)


def test_sums_of_features_are_decided_by_linear_programs() -> None:
    plane = (Feature("x", -1.0, 1.0, "real"), Feature("v", -2.0, 2.0, "real"))
    lean = term("lean", {"x": 1.0, "v": 0.5}, plane)
    bounds = [[[-1.0, 1.0], [-2.0, 2.0], [-2.0, 0.25]], [[-1.0, 1.0], [-2.0, 2.0], [-2.0, 2.0]]]
    rules = DecisionList(bounds, [0, 1], (*plane, lean), ("left", "right"))
    kept = constraint_in("never left when x >= 0.5 and v >= 0", plane, rules.action_names)
    assert breach(rules, kept).equal is True
    for text in ("never left when x >= 0.5", "always left when x - v <= 0"):
        broken = constraint_in(text, plane, rules.action_names)
        found = breach(rules, broken)
        assert found.equal is False
        assert found.witness is not None
        assert breaks(rules.predict(found.witness), found.witness, broken)
        assert breach(shielded(rules, [broken]).ruleset, broken).equal is True


def test_regions_that_are_empty_by_their_sums_forbid_nothing() -> None:
    plane = (Feature("x", -2.4, 2.4, "real"), Feature("v", -0.4, 0.4, "real"))
    texts = ["never left when x >= 2 and x + 1*v <= 1", "never right when x >= 1"]  # x + v is at least 1.6
    required = constraints_in(texts, plane, ("left", "right"))
    assert [asks_for_nothing(each) for each in required] == [True, False]
    rules = DecisionList([[[-2.4, 2.4], [-0.4, 0.4]]], [1], plane, ("left", "right"))
    kept, added = shielded(rules, required)
    assert (kept.predict([[2.2, 0.0], [0.9, 0.0]]) == [0, 1]).all()
    assert added == 1
    assert all(breach(kept, each).equal is True for each in required)
    assert shielded(rules, required[:1]).ruleset == rules


def test_commas_separate_requirements_outside_brackets_and_quotes() -> None:
    given_texts: Any = ['complete, never "a,b" when x in [2, 5],rules<=3', "", "always off"]
    assert requirements_in(given_texts) == [
        "complete",
        'never "a,b" when x in [2, 5]',
        "rules<=3",
        "always off",
    ]
    assert [
        is_about_rules(text) for text in ("never reaches x >= 2", "never off", "left when x <= 1", "rules<=3")
    ] == [
        False,
        True,
        True,
        False,
    ]
    with pytest.raises(ParameterError, match="must be texts"):
        requirements_in([3])  # type: ignore[list-item]  # that is what is tested


def test_the_time_to_read_grows_with_the_length() -> None:
    text = "never heat when " + " or ".join(["room >= 24 and pole angle <= 0.5"] * 150)
    begin = time.perf_counter()
    assert len(constraint_in(text, ROOM, ACTIONS).where) == 150
    for hostile in ('"\\' * 4000, "[" * 9000, "never heat when " + "room >= " * 1000, "when " * 1900):
        with pytest.raises(ParameterError):
            constraints_in(hostile, ROOM, ACTIONS)
    many = [f"always heat when {' or '.join(['room >= 24'] * 150)}"] * 3
    with pytest.raises(ParameterError, match="more than 300 boxes"):
        constraints_in(many, ROOM, ACTIONS)
    assert time.perf_counter() - begin < 2
