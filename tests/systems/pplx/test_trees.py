"""Trees beside their oracles, and what a tree does as it grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen.rules.term import with_terms
from ifthen.systems.pplx.distil_values import distilled
from ifthen.systems.pplx.drafts import actions_at, draft_of_tree
from ifthen.systems.pplx.fit import regret
from ifthen.systems.pplx.imitation_tree import (
    BINS,
    LEAF,
    LEAST_POINTS,
    Tree,
    best_split,
    bin_points,
    edges_of,
    grow_tree,
)
from tests import naive_values
from tests.systems.pplx.lists import ACTIONS, FEATURES, some_costs, some_draft, some_points

numbers = st.integers(0, 10_000)


def leaf_actions(tree: Tree, points: Any) -> list[int]:
    """Return what a tree does at points, walking down from the root."""
    found = []
    for point in points:
        node = 0
        while tree.column[node] != LEAF:
            node = tree.children[node][int(point[tree.column[node]] > tree.threshold[node])]
        found.append(int(tree.action[node]))
    return found


# Trees


@pytest.mark.oracle
@given(numbers, st.booleans())
def test_points_are_binned_between_their_values(seed: int, whole: bool) -> None:
    points = some_points(seed, 40, whole)
    edges, bins = edges_of(points), np.zeros((FEATURES, 40), np.uint8)
    bin_points(points, edges, bins)
    assert bins.tolist() == [
        [naive_values.bin_of(x, own) for x in column]
        for column, own in zip(points.T.tolist(), edges.tolist(), strict=True)
    ]
    for column, own in zip(points.T, bins, strict=True):  # few values: each has a bin of its own
        assert len(np.unique(own)) == len(np.unique(column))
        assert (np.diff(own[np.argsort(column)].astype(int)) >= 0).all()


def test_many_values_are_cut_into_about_equal_shares() -> None:
    points = np.random.default_rng(0).normal(size=(20_000, 2)) ** 3
    bins = np.zeros((2, 20_000), np.uint8)
    bin_points(points, edges_of(points), bins)
    for own in bins:
        counts = np.bincount(own, minlength=BINS)
        assert len(counts) == BINS
        assert (np.abs(counts - 20_000 / BINS) < 3).all()


@pytest.mark.oracle
@given(numbers, st.booleans())
def test_the_best_split_is_the_oracles(seed: int, whole: bool) -> None:
    draws, n = np.random.default_rng(seed), 40
    points, labels = some_points(seed, n, whole), draws.integers(0, ACTIONS, n)
    weights = np.where(draws.random(n) < 0.2, 0.0, draws.random(n))
    bins, members = np.zeros((FEATURES, n), np.uint8), np.flatnonzero(draws.random(n) < 0.8)
    bin_points(points, edges_of(points), bins)
    gain, column, cut = best_split(bins, members, labels, weights, ACTIONS)
    own = bins.tolist(), members.tolist(), labels.tolist(), weights.tolist(), LEAST_POINTS
    expected = naive_values.best_split(*own)
    assert gain == pytest.approx(expected[0], abs=1e-9)
    if gain > 1e-9:
        assert (column, cut) == expected[1:]
    assert best_split(bins, members, labels, 0 * weights, ACTIONS) == (0.0, LEAF, 0)


@given(numbers, st.booleans())
def test_trees_never_give_away_more_as_they_grow(seed: int, whole: bool) -> None:
    points, costs = some_points(seed, 80, whole), some_costs(seed, 80)
    trees = grow_tree(points, costs, 9)
    given = [costs[np.arange(80), leaf_actions(tree, points)].sum() for tree in trees]
    assert [int((tree.column == LEAF).sum()) for tree in trees] == list(range(1, len(trees) + 1))
    assert (np.diff(given) <= 1e-9).all()
    assert given[0] == pytest.approx(costs.sum(axis=0).min())
    for tree in trees:
        leaves = tree.column == LEAF
        assert tree.weight[leaves].sum() == pytest.approx(1)
        assert (tree.weight * 80 >= LEAST_POINTS - 1e-9).all()


@given(numbers, st.booleans(), st.integers(0, 3))
def test_a_tree_read_off_as_a_list_does_the_same_at_every_point(seed: int, whole: bool, terms: int) -> None:
    points, costs, sums = some_points(seed, 80, whole), some_costs(seed, 80), some_draft(seed, 2, terms).terms
    columns = with_terms(sums, points)
    for tree in grow_tree(columns, costs, 8):
        draft = draft_of_tree(tree, sums, FEATURES)
        assert actions_at(draft, points).tolist() == leaf_actions(tree, columns)
        assert len(draft.actions) <= (tree.column == LEAF).sum()
        assert not np.isfinite(draft.lows[-1]).any()
        assert not np.isfinite(draft.highs[-1]).any()
        assert len(draft.terms) == len({tuple(row) for row in draft.terms.tolist()})


def test_a_rule_of_thumb_with_a_term_is_found_again() -> None:
    points = np.random.default_rng(1).normal(size=(2000, FEATURES))
    left = points[:, 0] - 2 * points[:, 1] > 0.5
    costs = np.stack([left, ~left, np.ones(2000)], axis=1).astype(float)
    (short,) = distilled(points, costs, np.array([[1.0, -2.0, 0.0]]), (2,))
    assert short.size == (2, 1)
    assert regret(short, points, costs) < 0.02
    (plain,) = distilled(points, costs, np.zeros((0, FEATURES)), (2,))
    assert regret(plain, points, costs) > 0.1
