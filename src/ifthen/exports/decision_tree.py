"""A policy as a decision tree: questions about one feature at a time, such as "x ≤ 3?".

A list is read from the top; a tree is read along one path, drawn by Graphviz (DOT) or Mermaid. The tree
built here answers exactly what the ruleset does on its domain: the decision states of a task or, without one,
the whole bounded feature space. It is grown greedily, by the question that leaves the least Gini impurity, so
it is small but not provably the smallest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.digits import plural
from ifthen.errors import RuleError
from ifthen.exports.parts import equivalent, one_line, rendered, title
from ifthen.rules.boxes.rank_space import Box, Interval
from ifthen.rules.feature import Feature, number_in_words
from ifthen.rules.ruleset import NULL_ACTION, RuleSet
from ifthen.simulate.scope import decision_states, listed
from ifthen.tasks.task import Task

CELL_LIMIT = 200_000
LEAF_LIMIT = 5_000


class Cut(NamedTuple):
    """A place between two neighbouring values: after `value`, or before it where `before` is set."""

    value: float
    before: bool = False


@dataclass(frozen=True)
class Split:
    """A question about one feature.

    Args:
        feature: its number.
        cut: the question: is the value on the low side of this place?
        yes: what follows on the low side.
        no: what follows on the high side.
    """

    feature: int
    cut: Cut
    yes: Node
    no: Node


Node = Split | int
"""A question, or an action's number where the questions end; −1 where no rule matches."""


@dataclass(frozen=True)
class DecisionTree:
    """Questions that lead to the actions of a policy.

    Args:
        root: the first question, or the only leaf.
        features: name and range of each feature.
        action_names: one name per action.
    """

    root: Node
    features: tuple[Feature, ...]
    action_names: tuple[str, ...]

    @property
    def nodes(self) -> int:
        """The number of its questions and leaves."""
        count, pending = 0, [self.root]
        while pending:
            node = pending.pop()
            count += 1
            if isinstance(node, Split):
                pending += [node.yes, node.no]
        return count

    def in_words(self, node: Node) -> str:
        """Return a question in words, such as "x ≤ 3"; the name of an action; or "no rule"."""
        if isinstance(node, int):
            return "no rule" if node == NULL_ACTION else self.action_names[node]
        feature = self.features[node.feature]
        unit = f" {feature.unit}" if feature.unit else ""
        return f"{feature.name} {'<' if node.cut.before else '≤'} {number_in_words(node.cut.value)}{unit}"

    def boxes(self) -> Iterator[tuple[Box, int]]:
        """Yield every leaf's box and action; the boxes fill the feature space without overlapping."""
        everything = tuple(Interval(feature.low, feature.high) for feature in self.features)
        pending: list[tuple[Node, Box]] = [(self.root, everything)]
        while pending:
            node, box = pending.pop()
            if isinstance(node, int):
                yield box, node
                continue
            d, (value, before) = node.feature, node.cut
            low = box[d]._replace(high=value, high_open=before)
            if self.features[d].is_integer:
                high = box[d]._replace(low=value + 1)
            else:
                high = box[d]._replace(low=value, low_open=not before)
            pending += [
                (node.no, (*box[:d], high, *box[d + 1 :])),
                (node.yes, (*box[:d], low, *box[d + 1 :])),
            ]


class Axis(NamedTuple):
    """A feature's stretches of values: the first value of each, and the cut after each but the last."""

    values: NDArray[np.float64]
    cuts: tuple[Cut, ...]


def decision_tree(ruleset: RuleSet, task: Task | None = None) -> DecisionTree:
    """Return a tree that chooses as the ruleset does, at every point of its domain.

    Args:
        ruleset: any kind of ruleset; without a task, one that is no decision list needs integer features.
        task: its decision states are the domain; the whole bounded feature space where None.
    """
    scope = decision_states(ruleset, task) if ruleset.ordered else listed(ruleset, task)
    points = None if scope is None else scope.points
    if points is not None:
        # Each value is a stretch of its own, cut half-way between neighbours.
        values = [np.unique(column) for column in points.T]
        midpoints = [np.floor((column[:-1] + column[1:]) / 2).tolist() for column in values]
        axes = [Axis(column, tuple(map(Cut, cuts))) for column, cuts in zip(values, midpoints, strict=True)]
    else:
        if not ruleset.ordered:
            raise RuleError(
                f"a tree for rules of kind {ruleset.kind!r} needs states that can be listed: integer "
                "features with few values, or a task."
            )
        ruleset = terms_as_features(ruleset).unwrapped()[0]
        axes = [_edge_axis(f, ruleset.bounds[:, d]) for d, f in enumerate(ruleset.features)]
        if np.prod([float(len(axis.values)) for axis in axes]) <= CELL_LIMIT:
            split_features = [d for d, axis in enumerate(axes) if len(axis.values) > 1]
            sides = np.meshgrid(*(axes[d].values for d in split_features), indexing="ij")
            cells = (
                np.stack(sides, axis=-1).reshape(-1, len(split_features))
                if split_features
                else np.zeros((1, 0))
            )
            points = np.tile([axis.values[0] for axis in axes], (len(cells), 1))
            points[:, split_features] = cells
    grower = _Grower(axes)
    try:
        if points is None:
            root = grower.by_rules(ruleset)
        else:
            stretches = [np.searchsorted(axis.values, points[:, d]) for d, axis in enumerate(axes)]
            root = grower.by_cells(np.column_stack(stretches), ruleset.choose(points)[0])
    except RecursionError:
        raise _unreadable() from None
    return DecisionTree(root, ruleset.features, ruleset.action_names)


def terms_as_features(ruleset: RuleSet) -> RuleSet:
    """Return a decision list that takes the values of its terms for granted, as if they were observed.

    A tree for it asks about terms like any feature. It may have leaves that no observation comes to.
    """
    if not ruleset.terms:
        return ruleset
    features = [replace(feature, of=()) for feature in ruleset.features]
    return type(ruleset)(ruleset.bounds, ruleset.actions, features, ruleset.action_names)


def _edge_axis(feature: Feature, intervals: NDArray[Any]) -> Axis:
    """Return the stretches between the ends of intervals `(n, 2)`: rules tell no values inside one apart."""
    pairs = intervals.astype(np.float64).tolist()
    positions = {Cut(high) for _, high in pairs}
    positions |= {Cut(low - 1) if feature.is_integer else Cut(low, before=True) for low, _ in pairs}
    values, cuts = [float(feature.low)], []
    for cut in sorted(positions, key=lambda cut: (cut.value, not cut.before)):
        follows = cut.value + 1 if feature.is_integer else float(np.nextafter(cut.value, np.inf))
        next_value = cut.value if cut.before else follows
        # Otherwise no number lies on one of its sides, or it cuts nothing new.
        if values[-1] < next_value <= feature.high:
            values.append(next_value)
            cuts.append(cut)
    return Axis(np.array(values), tuple(cuts))


def _unreadable() -> RuleError:
    return RuleError(
        f"the tree would have more than {LEAF_LIMIT:,} leaves or be too deep, so that nobody could read it. "
        "Give a task to build it for the task's states only, or use fewer rules."
    )


class _Grower:
    """Grows a tree over the stretches of every feature."""

    def __init__(self, axes: list[Axis]) -> None:
        self._axes, self._leaves = axes, 0

    def _leaf(self, action: int) -> int:
        self._leaves += 1
        if self._leaves > LEAF_LIMIT:
            raise _unreadable()
        return action

    def by_cells(self, cells: NDArray[np.int64], actions: NDArray[np.int64]) -> Node:
        """Return a tree for cells `(n, features)`, given as numbers of stretches, with actions `(n,)`."""
        if (actions == actions[0]).all():
            return self._leaf(int(actions[0]))
        best = min(
            (impurity, -balance, d, stretch)
            for d in range(cells.shape[1])
            for impurity, balance, stretch in _cuts_between(cells[:, d], actions)
        )
        d, stretch = best[2:]
        low = cells[:, d] <= stretch
        return Split(
            d,
            self._axes[d].cuts[stretch],
            self.by_cells(cells[low], actions[low]),
            self.by_cells(cells[~low], actions[~low]),
        )

    def by_rules(self, ruleset: RuleSet) -> Node:
        """Return a tree for a decision list over more cells than can be listed."""
        spans = np.empty(ruleset.bounds.shape, dtype=np.int64)
        for d, axis in enumerate(self._axes):
            spans[:, d, 0] = np.searchsorted(axis.values, ruleset.bounds[:, d, 0], side="left")
            spans[:, d, 1] = np.searchsorted(axis.values, ruleset.bounds[:, d, 1], side="right") - 1
        region = np.array([[0, len(axis.values) - 1] for axis in self._axes])
        return self._in_region(region, spans, ruleset.actions)

    def _in_region(self, region: NDArray[np.int64], spans: NDArray[np.int64], actions: NDArray[Any]) -> Node:
        """Return a tree for a region `(features, 2)` and rules `(n, features, 2)`, all in stretches.

        Cutting along an edge of the first rule that is left decides the region a little further each time.
        """
        reaching = _reaching(region, spans)
        if not len(reaching):
            return self._leaf(NULL_ACTION)
        spans, actions = spans[reaching], actions[reaching]
        first_rule = spans[0]
        options = []
        for d, (low, high) in enumerate(region.tolist()):
            for stretch in (int(first_rule[d, 0]) - 1, int(first_rule[d, 1])):
                if low <= stretch < high:
                    sides = [len(_reaching(side, spans)) for side in _sides(region, d, stretch)]
                    options.append((sum(sides), max(sides), d, stretch))
        if not options:
            return self._leaf(int(actions[0]))
        _, _, d, stretch = min(options)
        yes, no = (self._in_region(side, spans, actions) for side in _sides(region, d, stretch))
        if isinstance(yes, int) and yes == no:
            self._leaves -= 1
            return yes
        return Split(d, self._axes[d].cuts[stretch], yes, no)


def _cuts_between(column: NDArray[np.int64], actions: NDArray[np.int64]) -> list[tuple[float, int, int]]:
    """Return the impurity left by every cut of one feature, how even it is, and the stretch before it."""
    values, places = np.unique(column, return_inverse=True)
    kinds, labels = np.unique(actions, return_inverse=True)
    counts = np.bincount(places * len(kinds) + labels, minlength=len(values) * len(kinds))
    below = counts.reshape(len(values), len(kinds)).cumsum(axis=0).astype(np.float64)
    low, high = below[:-1], below[-1] - below[:-1]
    sizes = [side.sum(axis=1) for side in (low, high)]
    impurity = sum(n - (side**2).sum(axis=1) / n for side, n in zip((low, high), sizes, strict=True))
    balance = np.minimum(*sizes).astype(np.int64)
    return list(zip(np.atleast_1d(impurity).tolist(), balance.tolist(), values[:-1].tolist(), strict=True))


def _sides(region: NDArray[np.int64], d: int, stretch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two parts of a region cut after stretch `at` of feature d."""
    low, high = region.copy(), region.copy()
    low[d, 1], high[d, 0] = stretch, stretch + 1
    return low, high


def _reaching(region: NDArray[np.int64], spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rules, by number, that match somewhere in the region, up to the first that always does."""
    lows, highs = spans[:, :, 0], spans[:, :, 1]
    meets = np.all((lows <= region[:, 1]) & (highs >= region[:, 0]), axis=1)
    covers = np.all((lows <= region[:, 0]) & (highs >= region[:, 1]), axis=1)
    last = int(covers.argmax()) + 1 if covers.any() else len(spans)
    return np.flatnonzero(meets[:last])


def to_dot(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return the tree for Graphviz: `dot -Tsvg`."""
    return _drawn("policy.dot.j2", ruleset, task, lambda text: text.replace("\\", "\\\\").replace('"', '\\"'))


def to_mermaid(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return the tree as a Mermaid flow chart, which many pages draw by themselves."""
    return _drawn("policy.mmd.j2", ruleset, task, _mermaid_text)


def _mermaid_text(text: str) -> str:
    """Return text for a quoted label: all but plain characters by their numbers, so that none is a mark."""
    return "".join(c if c.isalnum() or c in " .,-+=≤" else f"#{ord(c)};" for c in text)


def _drawn(template: str, ruleset: RuleSet, task: Task | None, label: Callable[[str], str]) -> str:
    """Return the tree, "yes" to the left, a question before what follows it; each label in one line."""
    tree = decision_tree(ruleset, task)
    nodes: list[tuple[str, bool]] = []
    edges: list[tuple[int, int, str]] = []
    pending: list[tuple[Node, int, str]] = [(tree.root, -1, "")]
    while pending:
        node, parent, answer = pending.pop()
        number = len(nodes)
        nodes.append((label(" ".join(tree.in_words(node).splitlines())), isinstance(node, int)))
        if parent >= 0:
            edges.append((parent, number, answer))
        if isinstance(node, Split):
            pending += [(node.no, number, "no"), (node.yes, number, "yes")]
    form = f"decision tree of {plural(len(edges) // 2, 'question')}"
    about = title(ruleset, task), equivalent(form, ruleset, task), *map(one_line, ruleset.terms_in_words())
    return rendered(template, about=about, nodes=nodes, edges=edges)
