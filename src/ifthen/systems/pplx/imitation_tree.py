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
LEAST_POINTS = 5
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
    for row, column in zip(edges, points.T, strict=True):
        values = np.sort(column)
        gaps = np.flatnonzero(values[1:] > values[:-1])
        if len(gaps) >= BINS:
            gaps = places[values[places + 1] > values[places]]
        row[: len(gaps)] = (values[gaps] + values[gaps + 1]) / 2
    return edges


@kernel
def bin_points(points: Floats, edges: Floats, out: NDArray[np.uint8]) -> None:
    """Write which bin `(columns, n)` each value of points `(n, columns)` is in."""
    for c in range(points.shape[1]):
        for i in range(points.shape[0]):
            lower, upper = 0, edges.shape[1]
            while lower < upper:
                middle = (lower + upper) // 2
                if points[i, c] <= edges[c, middle]:
                    upper = middle
                else:
                    lower = middle + 1
            out[c, i] = lower


@kernel
def weight_of(side: Floats) -> tuple[float, float]:
    """Return the sum of the weights of a side `(actions,)`, and the sum of their squares."""
    total, squares = 0.0, 0.0
    for a in range(len(side)):
        total += side[a]
        squares += side[a] * side[a]
    return total, squares


@kernel
def best_split(
    bins: NDArray[np.uint8], members: Ints, labels: Ints, weights: Floats, actions: int
) -> tuple[float, int, int]:
    """Return the gain, the column and the bin of the split that leaves the purest sides (Gini's index)."""
    best_gain, best_column, best_bin = 0.0, LEAF, 0
    sums = np.zeros((BINS, actions))
    counts = np.zeros(BINS, np.int64)
    totals, left, right = np.zeros(actions), np.zeros(actions), np.zeros(actions)
    for i in members:
        totals[labels[i]] += weights[i]
    total, squares = weight_of(totals)
    if total <= 0.0:
        return best_gain, best_column, best_bin
    parent_purity = squares / total
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
            for a in range(actions):
                left[a] += sums[b, a]
            n += counts[b]
            if n < LEAST_POINTS or counts[b] == 0:
                continue
            if len(members) - n < LEAST_POINTS:
                break
            for a in range(actions):
                right[a] = totals[a] - left[a]
            (left_weight, left_squares), (right_weight, right_squares) = weight_of(left), weight_of(right)
            if left_weight <= 0.0 or right_weight <= 0.0:
                continue
            gain = left_squares / left_weight + right_squares / right_weight - parent_purity
            if gain > best_gain * (1.0 + 1e-9):
                best_gain, best_column, best_bin = gain, c, b
    return best_gain, best_column, best_bin


def grow_tree(points: Floats, costs: Floats, most_leaves: int) -> list[Tree]:
    """Return trees of 1, 2, … leaves that say which action costs least.

    Args:
        points: `(n, columns)`.
        costs: `(n, actions)`: the cost of each action at each point; 0 for the best.
        most_leaves: where to stop.
    """
    n_points, n_columns = points.shape
    edges, bins = edges_of(points), np.empty((n_columns, n_points), np.uint8)
    bin_points(points, edges, bins)
    labels, weights = costs.argmin(axis=1), costs.max(axis=1)
    n_actions = costs.shape[1]
    column, threshold, children, weight = [LEAF], [0.0], [[LEAF, LEAF]], [1.0]
    members = [np.arange(n_points)]
    action = [int(costs.sum(axis=0).argmin())]
    splits = [best_split(bins, members[0], labels, weights, n_actions)]
    trees = []

    def snapshot() -> Tree:
        return Tree(
            np.array(column), np.array(threshold), np.array(children), np.array(action), np.array(weight)
        )

    trees.append(snapshot())
    while len(trees) < most_leaves:
        leaf = max(range(len(column)), key=lambda i: splits[i][0] if column[i] == LEAF else -1.0)
        gain, c, cut = splits[leaf]
        if c == LEAF or gain <= 0.0 or column[leaf] != LEAF:
            break
        goes_left = bins[c, members[leaf]] <= cut
        column[leaf], threshold[leaf] = c, float(edges[c, cut])
        children[leaf] = [len(column), len(column) + 1]
        for side in (goes_left, ~goes_left):
            side_members = members[leaf][side]
            members.append(side_members)
            column.append(LEAF)
            threshold.append(0.0)
            children.append([LEAF, LEAF])
            weight.append(len(side_members) / n_points)
            action.append(int(costs[side_members].sum(axis=0).argmin()))
            splits.append(best_split(bins, side_members, labels, weights, n_actions))
        trees.append(snapshot())
    return trees


def rules_of_tree(tree: Tree) -> list[tuple[list[tuple[int, int, float]], int]]:
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
            (len(side), tree.weight[child]) for side, child in zip(sides, tree.children[node], strict=True)
        ]
        first = int(sizes[0] > sizes[1])
        test = (int(tree.column[node]), first, float(tree.threshold[node]))
        return [([test, *tests], action) for tests, action in sides[first]] + sides[1 - first]

    return listed(0)
