"""What tuning searches: ranges lie inside the bounds of parameters, and users can narrow them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ifthen
from ifthen.errors import ParameterError
from ifthen.systems.learning import Goal
from ifthen.systems.parameters import checked_parameters, search_ranges
from ifthen.systems.records import Records
from ifthen.systems.registry import SYSTEMS
from ifthen.tuning.early_stopping import SHARES, Mark, curve_of, falls_behind, marks_of
from ifthen.tuning.propose import Tried, importance, proposal
from ifthen.tuning.search_space import Dimension, space_of
from ifthen.tuning.tuning_plan import checked_tune_plan

LAKE = ifthen.task_by_name("FrozenLake-4-0")
CART = ifthen.task_by_name("CartPole-v1")


@pytest.mark.parametrize("name", SYSTEMS)
def test_search_ranges_lie_inside_the_bounds_of_their_parameters(name: str) -> None:
    kind = SYSTEMS[name].Parameters
    for parameter, search in search_ranges(kind).items():
        values: tuple[Any, ...] = search.choices
        if not values:
            assert search.low < search.high
            assert search.low > 0 or not search.log
            whole = int in (kind.model_fields[parameter].annotation, *_arguments(kind, parameter))
            assert whole or search.multiple == 1
            values = tuple(int(end) if whole else float(end) for end in (search.low, search.high))
            assert all(value % search.multiple == 0 for value in values) or not whole
        for value in values:
            assert getattr(checked_parameters(kind, {parameter: value}), parameter) == value


def _arguments(kind: Any, parameter: str) -> tuple[Any, ...]:
    from typing import get_args

    return get_args(kind.model_fields[parameter].annotation)


@pytest.mark.parametrize("task", [LAKE, CART], ids=lambda task: task.name)
@pytest.mark.parametrize("name", [name for name in SYSTEMS if name != "PPL-X"])
def test_proposals_make_systems_and_the_defaults_are_inside(name: str, task: Any) -> None:
    kind = SYSTEMS[name]
    space = space_of(kind, task, {}, {})
    defaults = kind(task, threads=1).parameters.model_dump()
    assert [
        one for one, own in space.items() if defaults[one] is not None and not own.has(defaults[one])
    ] == []
    for number in range(3):
        proposed = proposal(space, [], 0, number)
        assert all(space[one].has(value) for one, value in proposed.items())
        kind(task, threads=1, **proposed)


def test_parameters_that_a_task_does_not_have_are_left_out() -> None:
    assert "racing" in space_of(SYSTEMS["PPL-DL"], CART, {}, {})
    assert "racing" not in space_of(SYSTEMS["PPL-DL"], LAKE, {}, {})


def test_users_narrow_fix_and_choose() -> None:
    given = {"p_mut": "0.01..0.2", "tourn_size": "2,3,5", "sigma": "0.1..0.5 log", "pop_size": "50..61"}
    space = space_of(SYSTEMS["PPL-DL"], CART, {"elites": 2}, given)
    assert "elites" not in space
    assert (space["p_mut"].search.low, space["p_mut"].search.high) == (0.01, 0.2)
    assert space["p_mut"].search.log
    assert space["tourn_size"].search.choices == (2, 3, 5)
    assert (space["pop_size"].search.low, space["pop_size"].search.high) == (50, 60)
    assert set(space_of(SYSTEMS["PPL-DL"], CART, {}, given, only=True)) == set(given)


@pytest.mark.parametrize(
    ("fixed", "given", "words"),
    [
        ({}, {"p_mutt": "0.1..0.2"}, "no parameter 'p_mutt'.*p_mut"),
        ({}, {"p_mut": "0.2..0.1"}, "first number must be less"),
        ({}, {"p_mut": "0.2..7"}, "less than or equal to 1"),
        ({}, {"p_mut": "0.2"}, "--set p_mut=0.2 fixes it"),
        ({}, {"p_mut": "a..b"}, "--search takes name=LOW..HIGH"),
        ({}, {"p_mut": "0..1 log"}, "begins above 0"),
        ({}, {"tourn_size": "1.5..3"}, "whole numbers"),
        ({"p_mut": 0.1}, {"p_mut": "0.1..0.2"}, "both fixed"),
        ({"p_mutt": 0.1}, {}, "unknown parameter"),
    ],
)
def test_impossible_wishes_are_refused(fixed: dict[str, Any], given: dict[str, str], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        space_of(SYSTEMS["PPL-DL"], CART, fixed, given)


def test_a_system_without_ranges_has_nothing_to_tune() -> None:
    with pytest.raises(ParameterError, match="nothing to tune"):
        space_of(SYSTEMS["PPL-X"], CART, {}, {})
    assert set(space_of(SYSTEMS["PPL-X"], CART, {}, {"terms": "true,false"})) == {"terms"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epochs": 3, "steps": 100}, "not both"),
        ({"trials": 0}, "trials"),
        ({"minutes": 0.0}, "minutes"),
        ({"pruner": "best"}, "median"),
        ({"tirals": 3}, "unknown setting 'tirals'"),
    ],
)
def test_impossible_plans_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        checked_tune_plan({"system": "PPL-DL", "task": "CartPole-v1", **changes})


def test_proposals_depend_on_what_was_tried_and_on_the_seed_alone() -> None:
    space = space_of(
        SYSTEMS["PPL-DL"], CART, {}, {"p_mut": "0.01..0.2", "otherwise": "true,false"}, only=True
    )
    tried: list[Tried] = []
    for number in range(14):
        own = proposal(space, tried, 5, number)
        tried.append(Tried(number, own, "finished", -abs(own["p_mut"] - 0.1), {1.0: 0.0}))
    assert proposal(space, tried, 5, 14) == proposal(space, tried, 5, 14)
    assert proposal(space, tried, 5, 14) != proposal(space, tried, 6, 14)
    assert proposal(space, tried, 5, 14) != proposal(space, tried[:12], 5, 14)
    assert sum(importance(space, tried).values()) == pytest.approx(1)
    assert next(iter(importance(space, tried))) == "p_mut"


def test_the_median_of_earlier_curves_is_the_mark() -> None:
    curves = [{0.2: float(k), 0.3: 10.0 * k} for k in range(5)]
    assert marks_of("median", curves) == [Mark(0.2, 2.0), Mark(0.3, 20.0)]
    assert marks_of("median", curves[:4]) == []
    assert marks_of("none", curves) == []
    thirds = [{1 / 9: float(k), 1 / 3: float(k)} for k in range(7)]
    assert marks_of("halving", thirds) == [Mark(1 / 9, 4.0), Mark(1 / 3, 4.0)]


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=40), st.integers(1, 60), st.floats(-100, 100))
def test_a_training_falls_behind_where_its_curve_was_below_the_mark(
    values: list[float], target: int, least: float
) -> None:
    records = Records({"epoch": list(range(len(values))), "performance": values})
    mark = Mark(0.5, least)
    first = next((epoch for epoch in range(len(values)) if epoch >= 0.5 * target), None)
    expected = first is not None and max(values[: first + 1]) < least
    assert falls_behind(records, Goal("epochs", target), [mark], "performance") == expected
    curve = curve_of(records.column("epoch"), values, target)
    assert set(curve) == {share for share in SHARES if len(values) - 1 >= share * target}
    if first is not None:
        assert curve[0.5] == values[first]


def test_values_have_few_digits_and_stay_inside() -> None:
    space = space_of(SYSTEMS["PPL-DL"], CART, {}, {"p_mut": "0.012345..0.2"})
    own: Dimension = space["p_mut"]
    assert own.readable(0.0123456789) == 0.012345
    assert own.readable(0.0567891) == 0.0568
