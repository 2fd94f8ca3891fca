"""Spaces and their coverage: every claim against all cells, every witness against the boxes themselves."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import Feature
from ifthen.rules.boxes.cover import coverage
from ifthen.rules.boxes.differences import Log, keep_cell
from ifthen.rules.boxes.rank_space import Interval, RankSpace, between, box_in_words
from tests import naive_explain
from tests.box_spaces import NEXT, SHARE, Space, array, axes_of, lies_in, only, spaces


@pytest.mark.oracle
@given(spaces())
def test_coverage_is_what_every_cell_says(space: Space) -> None:
    features, boxes, within = space
    found = coverage(array(features, boxes), features, within=only(within), limit=1000)
    cells, share = naive_explain.decided_shares(axes_of(features, within), boxes).get(-1, (0, 0))
    assert found.complete is (cells == 0)
    assert found.uncovered_share == pytest.approx(float(share), abs=SHARE)
    assert (found.decided_share, found.gave_up) == (1.0, False)
    assert bool(found.holes) is (cells > 0)


@pytest.mark.oracle
@given(spaces())
def test_holes_are_free_of_rules_and_cannot_be_made_longer(
    space: Space,
) -> None:
    features, boxes, within = space
    found = coverage(array(features, boxes), features, within=only(within), limit=1000)
    points = [point for point, _ in naive_explain.all_cells(axes_of(features, within), boxes)]
    free = [point for point in points if naive_explain.first_box_at(point, boxes) < 0]
    for hole in found.holes:
        inside = [point for point in points if lies_in(point, hole.box)]
        assert lies_in(hole.witness, hole.box)
        assert naive_explain.first_box_at(hole.witness, boxes) < 0
        assert set(inside) <= set(free)
        spans = [sorted({point[d] for point in inside}) for d in range(len(features))]
        for d, span in enumerate(spans):
            line = sorted({point[d] for point in points})
            for beyond in line[: line.index(span[0])][-1:] + line[line.index(span[-1]) + 1 :][:1]:
                longer = itertools.product(*spans[:d], [beyond], *spans[d + 1 :])
                assert any(naive_explain.first_box_at(point, boxes) >= 0 for point in longer)
    # Pieces are kept up to the limit, which is far off here: so the holes together are all there is.
    assert all(any(lies_in(point, hole.box) for hole in found.holes) for point in free)


@given(spaces(), st.integers(1, 40), st.integers(1, 3))
def test_a_search_that_gives_up_claims_nothing_wrong(space: Space, budget: int, limit: int) -> None:
    features, boxes, within = space
    bounds = array(features, boxes)
    exact = coverage(bounds, features, within=only(within))
    found = coverage(bounds, features, within=only(within), budget=budget, limit=limit)
    assert found.complete in ({exact.complete, None} if found.gave_up else {exact.complete})
    assert found.complete is not True or not found.gave_up
    assert len(found.holes) <= limit
    assert found.uncovered_share <= exact.uncovered_share + SHARE
    assert exact.uncovered_share - found.uncovered_share <= 1 - found.decided_share + SHARE
    assert all(naive_explain.first_box_at(hole.witness, boxes) < 0 for hole in found.holes)


def test_a_budget_that_is_too_small_is_told_from_a_proof() -> None:
    features = (Feature("x", 0, 9), Feature("y", 0, 9))
    quarters = [[[x, x + 4], [y, y + 4]] for x in (0, 5) for y in (0, 5)]
    found = coverage(quarters, features, budget=12)
    assert (found.complete, found.gave_up, found.holes) == (None, True, ())
    assert 0 < found.decided_share < 1
    assert coverage(quarters, features).complete is True
    assert coverage(quarters[:3], features, budget=1000).complete is False


def touching(high: float, low: float) -> Any:
    return coverage([[[0, high]], [[low, 1]]], (Feature("x", 0, 1, "real"),))


def test_between_two_real_intervals_there_is_a_hole_where_a_number_lies() -> None:
    assert touching(0.5, 0.5).complete is True
    assert touching(0.5, NEXT).complete is True
    hole = touching(0.5, math.nextafter(NEXT, 1)).holes[0]
    assert (hole.witness, hole.box[0].low_open, hole.box[0].high_open) == ((NEXT,), True, True)
    assert touching(0.5, 0.5000001).holes[0].box == (Interval(0.5, 0.5000001, True, True),)
    assert touching(0.5, 0.5000001).uncovered_share == pytest.approx(1e-7)


def test_between_two_integer_intervals_there_is_no_hole_where_no_whole_number_lies() -> None:
    features = (Feature("x", 0, 5),)
    assert coverage([[[0, 2]], [[3, 5]]], features).complete is True
    assert coverage([[[0, 2]], [[4, 5]]], features).holes[0].box == (Interval(3, 3),)


def test_a_hole_that_is_a_single_point_is_found_though_its_share_is_0() -> None:
    features = (Feature("x", 0, 1, "real"),)
    found = coverage([[[math.nextafter(0, 1), 1]]], features)
    assert (found.complete, found.uncovered_share) == (False, 0.0)
    assert found.holes[0].witness == (0.0,)


def test_minus_zero_is_zero() -> None:
    features = (Feature("x", -1, 1, "real"),)
    assert coverage([[[-1, -0.0]], [[0.0, 1]]], features).complete is True
    witness = (
        coverage([[[-1, math.nextafter(0, -1)]], [[math.nextafter(0, 1), 1]]], features).holes[0].witness
    )
    assert witness == (0.0,)
    assert math.copysign(1, witness[0]) == 1


def test_a_hole_is_told_with_plain_zero_where_a_rule_ends_at_minus_zero() -> None:
    (interval,) = coverage([[[-1, -0.0]]], (Feature("x", -1, 1, "real"),)).holes[0].box
    assert (interval, math.copysign(1, interval.low)) == (Interval(0.0, 1.0, True), 1)


def test_bounds_between_whole_numbers_hold_the_whole_numbers_inside() -> None:
    found = coverage([[[0.5, 2.5]], [[2.2, 2.8]]], (Feature("x", 0, 3),))
    assert {hole.box for hole in found.holes} == {(Interval(0, 0),), (Interval(3, 3),)}


def test_the_distance_of_neighbouring_numbers_has_no_share() -> None:
    line = [0.5]
    for _ in range(5):
        line.append(math.nextafter(line[-1], 1))
    found = coverage([[[line[0], line[1]]]], (Feature("x", line[0], line[5], "real"),))
    assert (found.complete, found.uncovered_share) == (False, 1.0)
    points = coverage([[[line[0], line[1]]]], (Feature("x", line[0], line[2], "real"),))
    assert points.uncovered_share == pytest.approx(1 / 3)


@pytest.mark.parametrize("turned", [False, True])
def test_the_largest_holes_are_kept_and_come_first(turned: bool) -> None:
    edges = np.array([0, 1, 3, 6, 10, 15, 21, 28, 36, 45])
    bounds = np.repeat(45 - edges if turned else edges, 2).reshape(-1, 1, 2)
    features = (Feature("x", 0, 45),)
    largest, second = ((1, 8), (10, 16)) if turned else ((37, 44), (29, 35))
    assert [hole.box for hole in coverage(bounds, features, limit=1).holes] == [(Interval(*largest),)]
    assert [hole.box[0][:2] for hole in coverage(bounds, features, limit=2).holes] == [largest, second]


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 5))
def test_of_many_pieces_the_largest_are_kept(sizes: list[int], room: int) -> None:
    kept, counts = np.zeros((room, 1, 2), dtype=np.int32), np.zeros(7, dtype=np.int64)
    log = Log(kept, np.zeros(room), np.zeros(0, dtype=np.bool_), counts, np.zeros(2))
    for size in sizes:
        keep_cell(np.array([[0, size]], dtype=np.int32), float(size), log)
    n = int(counts[2])
    assert sorted(log.shares[:n].tolist(), reverse=True) == sorted(sizes, reverse=True)[:room]
    assert kept[:n, 0, 1].tolist() == log.shares[:n].tolist()


def test_holes_reach_to_the_next_rules_in_both_directions() -> None:
    features = (Feature("x", 0, 9), Feature("y", 0, 9))
    for flipped in (False, True):
        bounds = np.array([[[0, 0], [0, 9]], [[5, 9], [0, 4]]])
        expected = [(1, 4, 0, 9), (1, 9, 5, 9)]
        if flipped:
            bounds = 9 - bounds
            expected = [(5, 8, 0, 9), (0, 8, 0, 4)]
        holes = {(*hole.box[0][:2], *hole.box[1][:2]) for hole in coverage(bounds, features).holes}
        assert holes == set(expected)


def test_what_is_said_to_be_decided_is_decided_at_any_budget() -> None:
    rng = np.random.default_rng(3)
    features = tuple(Feature(f"x{d}", 0, 1, "real") for d in range(3))
    bounds = rng.random((12, 3, 2))
    exact = coverage(bounds, features)
    for budget in range(1, 600, 5):
        found = coverage(bounds, features, budget=budget)
        missing = exact.uncovered_share - found.uncovered_share
        assert -SHARE <= missing <= 1 - found.decided_share + SHARE
        covered = (1 - exact.uncovered_share) - (found.decided_share - found.uncovered_share)
        assert -SHARE <= covered <= 1 - found.decided_share + SHARE
        assert (found.decided_share == 1) is not found.gave_up


def test_nothing_covers_nothing_and_the_whole_is_the_hole() -> None:
    features = (Feature("x", 0, 5), Feature("y", 0, 1, "real"))
    found = coverage(np.empty((0, 2, 2)), features)
    assert (found.complete, found.uncovered_share, found.holes[0].share) == (False, 1.0, 1.0)
    assert box_in_words(found.holes[0].box, features) == "everywhere"


def test_many_rules_in_many_dimensions_are_decided() -> None:
    # Cells are cut in two along one feature after another; then one of the parts is missing.
    features = tuple(Feature(f"x{d}", 0, 1, "real") for d in range(8))
    cells = [np.array([[0.0, 1.0]] * 8)]
    for d in range(6):
        halves = []
        for number, cell in enumerate(cells):
            below, above = cell.copy(), cell.copy()
            below[d, 1] = above[d, 0] = 0.3 + 0.4 * number / len(cells)
            halves += [below, above]
        cells = halves
    parts = np.array(cells)[[37 * number % len(cells) for number in range(len(cells))]]
    assert coverage(parts, features).complete is True
    found = coverage(parts[1:], features)
    assert found.complete is False
    assert found.uncovered_share == pytest.approx(float(np.prod(parts[0, :, 1] - parts[0, :, 0])))
    assert lies_in(found.holes[0].witness, tuple(Interval(*pair) for pair in parts[0].tolist()))


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_there_is_a_number_between_two_wherever_there_can_be(a: float, b: float) -> None:
    low, high = sorted((a, b))
    found = between(low, high)
    assert low < found < high or low == found == high or math.nextafter(low, high) == high


@pytest.mark.parametrize("steps", [2, 3, 4, 5])
@pytest.mark.parametrize("low", [0.0, 5e-324, -1e-323, 1.0, 1e300])
def test_the_number_between_close_neighbours_is_between_them(low: float, steps: int) -> None:
    high = low
    for _ in range(steps):
        high = math.nextafter(high, math.inf)
    assert low < between(low, high) < high


def test_the_number_between_two_has_few_digits() -> None:
    assert between(0.1, 0.9000001) == 0.5
    assert between(0.5, 0.5000001) == 0.50000005


@given(spaces(fewest=1))
def test_two_points_with_the_same_ranks_lie_in_the_same_boxes_and_every_rank_has_a_point(
    space: Space,
) -> None:
    features, boxes, _ = space
    bounds = array(features, boxes)
    ranks = RankSpace(features, bounds)
    as_ranks = ranks.ranks(bounds)
    for d, axis in enumerate(ranks.axes):
        for rank in range(len(axis)):
            value = axis.point(rank)
            inside = (bounds[:, d, 0] <= value) & (value <= bounds[:, d, 1])
            assert inside.tolist() == ((as_ranks[:, d, 0] <= rank) & (rank <= as_ranks[:, d, 1])).tolist()
            assert lies_in((value,), (axis.interval(rank, rank),))
            assert isinstance(value, int if features[d].is_integer else float)


def test_boxes_are_said_in_words_with_their_open_ends() -> None:
    features = (Feature("speed", 0, 1, "real", "m/s"), Feature("x", 0, 5))
    everything = Interval(0, 5)
    said = [
        (Interval(0.5, 1.0, True, False), "speed > 0.5 m/s"),
        (Interval(0.0, 0.5, False, True), "speed < 0.5 m/s"),
        (Interval(0.25, 0.5, True, False), "0.25 < speed ≤ 0.5 m/s"),
        (Interval(0.25, 0.5, False, True), "0.25 ≤ speed < 0.5 m/s"),
        (Interval(0.0, 1.0, True, False), "speed > 0 m/s"),
        (Interval(0.0, 0.5), "speed ≤ 0.5 m/s"),
        (Interval(0.25, 0.5), features[0].interval_in_words(0.25, 0.5)),
        (Interval(0.25, 0.25), "speed = 0.25 m/s"),
        (Interval(0.0, 0.0), features[0].interval_in_words(0, 0)),
    ]
    for interval, words in said:
        assert box_in_words((interval, everything), features) == words
    assert box_in_words((Interval(0.5, 1.0, True), Interval(3, 5)), features) == "speed > 0.5 m/s AND x ≥ 3"
