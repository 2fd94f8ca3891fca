from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import DecisionList, plot
from ifthen.errors import ParameterError
from ifthen.results import Evaluation, Front
from ifthen.systems.front import Point
from tests.systems.contract import meadow

TASK = meadow()


def point(rules: int, score: float, tests: int = 0, deviation: float | None = None) -> Point:
    """Return a list of some rules, one of which has some conditions."""
    bounds = np.zeros((rules, 2, 2), np.int32)
    bounds[..., 1] = 2
    bounds[0, :tests, 1] = 1
    ruleset = DecisionList(bounds, np.zeros(rules, np.int32), TASK.features, TASK.action_names)
    return Point(ruleset, score, deviation)


FRONT = Front.of(
    [point(1, 0.2), point(3, 0.9, 2), point(2, 0.895, 1), point(5, 1.0, 2), point(4, 0.9, 2)], "value"
)


def test_a_front_has_the_lists_that_no_shorter_one_equals() -> None:
    assert [(own.rules, own.tests, own.score) for own in FRONT.points] == [
        (1, 0, 0.2),
        (2, 1, 0.895),
        (3, 2, 0.9),
        (5, 2, 1.0),
    ]
    assert FRONT.best.rules == 5


sizes = st.tuples(st.integers(1, 6), st.floats(-10, 10), st.integers(0, 2))


@given(st.lists(sizes, min_size=1, max_size=20))
def test_a_longer_list_of_a_front_is_better_than_all_that_are_as_short(
    sizes: list[tuple[int, float, int]],
) -> None:
    front = Front.of([point(*size) for size in sizes], "value")
    points = front.points
    assert [(own.rules, own.tests) for own in points] == sorted((own.rules, own.tests) for own in points)
    for own in points:
        shorter = [p for p in points if p is not own and p.rules <= own.rules and p.tests <= own.tests]
        assert all(p.score < own.score for p in shorter)
    assert front.best.score == pytest.approx(max(score for _, score, _ in sizes), rel=1e-8, abs=1e-8)
    for rules, _, tests in sizes:  # limits find the best of all lists within them
        within = [score for r, score, t in sizes if r <= rules and t <= tests]
        assert front.at(rules=rules, tests=tests).score == pytest.approx(max(within), rel=1e-8, abs=1e-8)


def test_of_lists_with_as_many_rules_the_one_with_fewer_tests_is_kept_too() -> None:
    front = Front.of([point(2, 100.0, 2), point(2, 99.0, 1), point(1, 10.0)], "value")
    assert front.at(tests=1).score == 99
    assert front.at(rules=2).score == 100
    assert front.knee(0.02).tests == 1
    assert front.best.tests == 2


@pytest.mark.parametrize(("share", "rules"), [(0, 5), (0.13, 3), (0.14, 2), (0.99, 2), (1, 1)])
def test_the_knee_is_the_shortest_list_within_a_share_of_the_best(share: float, rules: int) -> None:
    assert FRONT.knee(share).rules == rules


def test_lists_within_a_standard_error_of_the_best_can_count_as_equal() -> None:
    points = [point(1, 10.0), point(2, 19.0), replace(point(3, 20.0, deviation=8.0), episodes=16)]
    front = Front.of(points, "return")
    assert front.best.error == 2.0
    assert [front.knee(0.01, within_error=own).rules for own in (False, True)] == [3, 2]
    assert front.knee(1, within_error=True).rules == 1  # the larger allowance counts
    assert FRONT.knee(0, within_error=True) is FRONT.best  # values by a model have no error
    assert front.to_table()["episodes"].to_list() == [None, None, 16]


def test_a_list_that_never_fails_is_not_given_up_for_one_that_sometimes_does() -> None:
    points = [point(1, 9.0, deviation=2.0), point(2, 499.0, deviation=9.0), point(3, 500.0, deviation=0.0)]
    front = Front.of(points, "return")
    assert front.knee(0.01).rules == 2
    assert front.knee(0.01, within_error=True).rules == 3
    steady = Front.of([point(1, 9.0, deviation=0.0), point(2, 499.0, deviation=0.0), points[2]], "return")
    assert steady.knee(0.01, within_error=True).rules == 2  # neither varies


@pytest.mark.parametrize(("longest_scores", "rules"), [(102.0, 3), (105.0, 12)])
def test_a_long_list_is_the_knee_only_if_it_gains_much(longest_scores: float, rules: int) -> None:
    points = [point(1, 0.0), point(2, 80.0), point(3, 100.0), point(12, longest_scores)]
    front = Front.of(points, "return")
    assert front.knee(0.001).rules == 12
    assert front.knee(0.001, soft_limit=10).rules == rules
    assert front.knee(0.001, soft_limit=1).rules == 12
    assert front.knee(0.001, soft_limit=12).rules == 12


def test_a_long_list_that_never_fails_is_not_given_up_for_a_short_one_that_does() -> None:
    points = [point(1, 9.0, deviation=2.0), point(2, 499.0, deviation=9.0), point(12, 500.0, deviation=0.0)]
    assert Front.of(points, "return").knee(0.01, within_error=True, soft_limit=10).rules == 12


def test_the_knee_of_negative_scores_gives_up_a_share_of_their_size() -> None:
    front = Front.of([point(1, -20.0), point(2, -10.5), point(3, -10.0)], "value")
    assert [front.knee(share).rules for share in (0.01, 0.05, 1)] == [3, 2, 1]


def test_lists_are_found_by_rules_and_tests() -> None:
    assert FRONT.at(rules=4).rules == 3
    assert FRONT.at(tests=1).rules == 2
    assert FRONT.at(rules=100, tests=100).rules == 5
    with pytest.raises(ParameterError, match="no list of the front is that short"):
        Front.of([point(2, 1.0)], "value").at(rules=1)
    with pytest.raises(ParameterError, match="rules must be a whole number"):
        FRONT.at(rules=0)
    with pytest.raises(ParameterError, match="one list at least"):
        Front.of([], "value")


def test_a_front_shows_itself() -> None:
    assert str(FRONT).splitlines()[0].split() == ["rules", "tests", "value", "of", "the", "best"]
    assert "<table>" in FRONT._repr_html_()
    assert FRONT.to_table()["rules"].to_list() == [1, 2, 3, 5]
    assert len(FRONT) == 4
    (axes,) = plot(FRONT).axes
    assert axes.get_ylabel() == "value"


def test_deviations_are_shown_where_scores_were_sampled() -> None:
    front = Front.of([point(1, -3.0, 0, 1.5), point(2, 250.0, 0, 40.0)], "mean return")
    assert "standard deviation" in str(front)
    assert "of the best" not in str(front)  # a share of a score means nothing where some are negative
    assert replace(FRONT, marked=FRONT.knee(0.1)).figure().axes[0].get_legend() is not None
    spread: Any = front.figure().axes[0].lines[1].get_ydata()
    assert list(spread) == [-4.5, -1.5]


def test_the_shortest_list_that_reaches_a_score_is_taken() -> None:
    assert FRONT.reaching(0.89).rules == 2
    assert FRONT.reaching(1.0) is FRONT.best
    with pytest.raises(ParameterError, match="no policy of the front reaches 2: the best has 1"):
        FRONT.reaching(2.0)


def test_measures_are_shown_with_intervals_and_do_not_change_what_was_chosen() -> None:
    def played(own: Point, *returns: float) -> Point:
        got = np.array(returns)
        seen = Evaluation(float(got.mean()), "sampled", len(got), 10, 0.0, False, returns=got)
        return replace(own, measured=seen, nodes=2 * own.tests + 1)

    first, second, third = FRONT.points[:3]
    points = played(first, 1, 3), played(second, 7, 9), played(third, 5, 7)
    front = Front(points, "return on other seeds", marked=points[1])
    assert front.best is points[2]  # chosen by its score, though another was measured to be better
    assert [own.value for own in front.points] == [2, 8, 6]
    assert points[1].interval == pytest.approx((8 - 12.706, 8 + 12.706), abs=1e-3)  # Student's t, one degree
    head, *rows = front.text_table().headings, *front.text_table().rows
    assert head[:5] == ("rules", "tests", "tree nodes", "return on 2 test seeds", "95 % interval")
    assert [row[-1] for row in rows] == ["", "knee", ""]
    assert front.to_dict()["knee"] == 1
    assert front.to_table()["performance"].to_list() == [2, 8, 6]
    for by, name in (("rules", "rules"), ("tests", "tests"), ("nodes", "nodes of the equivalent tree")):
        (axes,) = front.figure(by).axes  # type: ignore[arg-type]  # a text
        assert axes.get_xlabel() == name
        assert axes.get_legend() is not None
    with pytest.raises(ParameterError, match="'rules' or 'tests' or 'nodes'"):
        front.figure("leaves")  # type: ignore[arg-type]  # that is what is tested
    with pytest.raises(ParameterError, match=r"use ifthen\.front"):
        FRONT.figure("nodes")


def test_a_policy_that_has_no_rule_somewhere_says_so_in_place_of_a_floor() -> None:
    lost = Evaluation(-1e12, "sampled", 20, 10, 0.0, True, failed_share=0.1, returns=np.zeros(20))
    front = Front((replace(point(1, 0.0), measured=lost),), "return")
    assert "no rule in 10%" in str(front)


def test_a_knee_that_is_longer_than_one_as_good_says_what_it_was_chosen_by() -> None:
    def played(own: Point, value: float) -> Point:
        seen = Evaluation(value, "sampled", 2, 10, 0.0, False, returns=np.array([value, value]))
        return replace(own, deviation=0.3 if own.rules == 2 else 0.0, episodes=9 * own.rules, measured=seen)

    first, second, third = (
        played(own, value) for own, value in zip(FRONT.points[:3], (1, 8, 8), strict=True)
    )
    front = Front((first, second, third), "return on the seeds for choosing", marked=third)
    assert front.choice == (
        "Policies were chosen by the return on the seeds for choosing: there 3 rules got 0.9000 in each of "
        "27 episodes, and 2 rules got 0.8950 on average of 18 episodes. That the shorter one gets as much on "
        "test seeds was not known then."
    )
    assert front.text_table().notes == (front.choice,)
    assert replace(front, marked=second).choice == ""
    assert FRONT.choice == ""
    rows = front.text_table(policy=second.ruleset).rows
    assert [row[-1] for row in rows] == ["", "this policy", "knee"]


def test_a_front_is_drawn_in_steps() -> None:
    line = FRONT.figure().axes[0].lines[0]
    assert line.get_drawstyle() == "steps-post"
