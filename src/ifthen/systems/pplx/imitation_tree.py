"""Decision trees that imitate action values, grown best split first, and read off as decision lists.

One growth gives a tree of every size: the first splits of a large tree are the small tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.rules.arrays import Floats, Ints

BINS = 128
LEAST = 5
"""A split leaves at least this many points on either side."""
LEAF = -1


class Tree(NamedTuple):
    """A binary tree; node 0 is the root, and children follow their parents."""

    column: Ints
    """`(nodes,)`: the column that is compared; −1 in leaves."""
    threshold: Floats
    """`(nodes,)`: up to this value the left child decides."""
    children: Ints
    """`(nodes, 2)`."""
    action: Ints
    """`(nodes,)`: the action that costs least there."""
    weight: Floats
    """`(nodes,)`: the share of points there."""


def edges_of(points: Floats) -> Floats:
    """Return values `(columns, BINS − 1)` that lie between those of each column of points `(n, columns)`.

    Columns with few values are cut between all of them, others into about equal shares.
    """
    edges = np.full((points.shape[1], BINS - 1), np.inf)
    places = (np.arange(1, BINS) / BINS * (len(points) - 1)).astype(np.int64)
    for own, column in zip(edges, points.T, strict=True):
        values = np.sort(column)
        apart = np.flatnonzero(values[1:] > values[:-1])
        if len(apart) >= BINS:
            apart = places[values[places + 1] > values[places]]
        own[: len(apart)] = (values[apart] + values[apart + 1]) / 2
    return edges


@kernel
def bin_points(points: Floats, edges: Floats, out: NDArray[np.uint8]) -> None:
    """Write which bin `(columns, n)` each value of points `(n, columns)` is in."""
    for c in range(points.shape[1]):
        for i in range(points.shape[0]):
            low, high = 0, edges.shape[1]
            while low < high:
                middle = (low + high) // 2
                if points[i, c] <= edges[c, middle]:
                    high = middle
                else:
                    low = middle + 1
            out[c, i] = low


@kernel
def best_split(
    bins: NDArray[np.uint8], members: Ints, labels: Ints, weights: Floats, actions: int
) -> tuple[float, int, int]:
    """Return the gain, the column and the bin of the split that leaves the purest sides (Gini's index)."""
    top, column, cut = 0.0, LEAF, 0
    sums = np.zeros((BINS, actions))
    counts = np.zeros(BINS, np.int64)
    whole, left, right = np.zeros(actions), np.zeros(actions), np.zeros(actions)
    for i in members:
        whole[labels[i]] += weights[i]
    total = whole.sum()
    if total <= 0.0:
        return top, column, cut
    before = (whole * whole).sum() / total
    for c in range(bins.shape[0]):
        sums[:] = 0.0
        counts[:] = 0
        for i in members:
            b = bins[c, i]
            sums[b, labels[i]] += weights[i]
            counts[b] += 1
        left[:] = 0.0
        n = 0
        for b in range(BINS - 1):
            left += sums[b]
            n += counts[b]
            if n < LEAST or counts[b] == 0:
                continue
            if len(members) - n < LEAST:
                break
            right[:] = whole - left
            here, there = left.sum(), right.sum()
            if here <= 0.0 or there <= 0.0:
                continue
            gain = (left * left).sum() / here + (right * right).sum() / there - before
            if gain > top * (1.0 + 1e-9):
                top, column, cut = gain, c, b
    return top, column, cut


def grow_tree(points: Floats, costs: Floats, most_leaves: int) -> list[Tree]:
    """Return trees of 1, 2, … leaves that say which action costs least.

    Args:
        points: `(n, columns)`.
        costs: `(n, actions)`: the cost of each action at each point; 0 for the best.
        most_leaves: where to stop.
    """
    n, columns = points.shape
    edges, bins = edges_of(points), np.empty((columns, n), np.uint8)
    bin_points(points, edges, bins)
    labels, weights = costs.argmin(axis=1), costs.max(axis=1)
    actions = costs.shape[1]
    column, threshold, children, weight = [LEAF], [0.0], [[LEAF, LEAF]], [1.0]
    members = [np.arange(n)]
    action = [int(costs.sum(axis=0).argmin())]
    splits = [best_split(bins, members[0], labels, weights, actions)]
    found = []

    def taken() -> Tree:
        return Tree(
            np.array(column), np.array(threshold), np.array(children), np.array(action), np.array(weight)
        )

    found.append(taken())
    while len(found) < most_leaves:
        leaf = max(range(len(column)), key=lambda i: splits[i][0] if column[i] == LEAF else -1.0)
        gain, c, cut = splits[leaf]
        if c == LEAF or gain <= 0.0 or column[leaf] != LEAF:
            break
        goes_left = bins[c, members[leaf]] <= cut
        column[leaf], threshold[leaf] = c, float(edges[c, cut])
        children[leaf] = [len(column), len(column) + 1]
        for side in (goes_left, ~goes_left):
            own = members[leaf][side]
            members.append(own)
            column.append(LEAF)
            threshold.append(0.0)
            children.append([LEAF, LEAF])
            weight.append(len(own) / n)
            action.append(int(costs[own].sum(axis=0).argmin()))
            splits.append(best_split(bins, own, labels, weights, actions))
        found.append(taken())
    return found


def rules_of(tree: Tree) -> list[tuple[list[tuple[int, int, float]], int]]:
    """Return a tree as a decision list: tests (column, side, threshold) and action of each rule.

    Of two children the smaller comes first, with the test; the other one then needs none.
    """

    def listed(node: int) -> list[tuple[list[tuple[int, int, float]], int]]:
        if tree.column[node] == LEAF:
            return [([], int(tree.action[node]))]
        children = tree.children[node]
        sides = [listed(child) for child in children]
        if len(sides[0]) == len(sides[1]) == 1 and sides[0][0][1] == sides[1][0][1]:
            return sides[0]
        sizes = [
            (len(own), tree.weight[child]) for own, child in zip(sides, tree.children[node], strict=True)
        ]
        first = int(sizes[0] > sizes[1])
        test = (int(tree.column[node]), first, float(tree.threshold[node]))
        return [([test, *tests], action) for tests, action in sides[first]] + sides[1 - first]

    return listed(0)
