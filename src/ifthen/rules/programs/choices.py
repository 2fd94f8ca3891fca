"""From choices inside choices to one decision list.

A choice is a condition and what follows where it holds and where not. In a decision list the side that comes
first takes its condition along; the other side needs none, because those points are decided already. The
side that gives fewer rules comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ifthen.errors import RuleError
from ifthen.rules.arrays import check_size
from ifthen.rules.box import holds, is_box
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import whole_box
from ifthen.rules.programs.axes import Axes
from ifthen.rules.programs.condition import FALSE, TRUE, Box, Boxes, Condition, common, joined, negated

MOST_COMPARED = 2_000
"""Rules are compared with each other where there are at most this many."""
Node = Any
"""A choice, or a leaf: the number of an action, None for no action, or a value on the way to it."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What follows where a condition holds, and where it does not."""

    condition: Condition
    yes: Node
    no: Node
    rules: int
    """How many rules it gives, about."""
    decides: bool
    """Whether every leaf is something."""


def choice(condition: Condition, yes: Node, no: Node) -> Node:
    """Return a choice, or what it comes down to."""
    if condition == TRUE or same(yes, no):
        return yes
    if condition == FALSE:
        return no
    if isinstance(yes, Choice) and same(yes.no, no):
        return choice(joined((condition, yes.condition), True), yes.yes, no)
    return Choice(condition, yes, no, rules_of(yes) + rules_of(no), decides(yes) and decides(no))


def same(one: Node, other: Node) -> bool:
    """Return whether two nodes are known to be the same."""
    if isinstance(one, Choice) or isinstance(other, Choice):
        return one is other
    return type(one) is type(other) and bool(one == other)


def rules_of(node: Node) -> int:
    """Return how many rules a node gives, about."""
    return node.rules if isinstance(node, Choice) else int(node is not None)


def decides(node: Node) -> bool:
    """Return whether every leaf of a node is something."""
    return node.decides if isinstance(node, Choice) else node is not None


def mapped(node: Node, change: Callable[[Any], Node]) -> Node:
    """Return a node with other leaves; a leaf may become a node."""
    if not isinstance(node, Choice):
        return change(node)
    return choice(node.condition, mapped(node.yes, change), mapped(node.no, change))


def decision_list(node: Node, axes: Axes, action_names: tuple[str, ...]) -> DecisionList:
    """Return the decision list of choices whose leaves are actions by number, None for no action."""
    rows: list[tuple[Box, int]] = []
    _write(node, {}, Boxes(), rows)
    features = axes.features()
    check_size(len(rows), len(features))
    whole = whole_box(features).astype(np.float64)
    bounds = np.tile(whole, (len(rows), 1, 1))
    for r, (box, _) in enumerate(rows):
        for axis, (low, high) in box.items():
            bounds[r, axis] = max(low, whole[axis, 0]), min(high, whole[axis, 1])
    actions = np.array([action for _, action in rows], dtype=np.int64)
    kept = np.flatnonzero(is_box(bounds))
    kept = _needed(bounds, actions, _not_inside(bounds, kept), whole)
    if not len(kept):
        raise RuleError("this never returns an action.")
    return DecisionList(bounds[kept], actions[kept], features, action_names).without_unused_terms()


def _not_inside(bounds: Any, kept: Any) -> Any:
    """Return the rules, by number, whose box lies in no earlier one; of very many rules, all."""
    if len(kept) > MOST_COMPARED:
        return kept
    found: list[int] = []
    for r in kept.tolist():
        if not holds(bounds[found], bounds[r]).any():
            found.append(r)
    return np.array(found, dtype=np.int64)


def _needed(bounds: Any, actions: Any, kept: Any, whole: Any) -> Any:
    """Return the rules, by number, up to the first without a condition, less those that it repeats."""
    everywhere = (bounds[kept] == whole).all(axis=(1, 2))
    numbers = kept[: int(everywhere.argmax()) + 1] if everywhere.any() else kept
    while everywhere.any() and len(numbers) > 1 and actions[numbers[-2]] == actions[numbers[-1]]:
        numbers = np.delete(numbers, -2)
    return numbers


def _write(node: Node, box: Box, boxes: Boxes, rows: list[tuple[Box, int]]) -> None:
    """Write the rules of a node inside a box."""
    while isinstance(node, Choice):
        yes, no = (boxes.of(condition) for condition in (node.condition, negated(node.condition)))
        first, second = (node.yes, yes), (node.no, no)
        if _cost(*second, *first) < _cost(*first, *second):
            first, second = second, first
        for own in first[1]:
            shared = common(box, own)
            if shared is not None:
                _write(first[0], shared, boxes, rows)
        node = second[0]
        if decides(first[0]):
            continue
        parts = [shared for own in second[1] if (shared := common(box, own)) is not None]
        if not parts:
            return
        for shared in parts[:-1]:
            _write(node, shared, boxes, rows)
        box = parts[-1]
    if node is not None:
        boxes.take()
        rows.append((box, node))


def _cost(first: Node, own: list[Box], second: Node, other: list[Box]) -> tuple[int, int, int]:
    """Return how many rules come of a side that is written first, how many have its tests, and digits."""
    tested = rules_of(first) * len(own)
    untested = rules_of(second) * (1 if decides(first) else len(other))
    digits = sum(len(repr(end)) for box in own for span in box.values() for end in span)
    return tested + untested, tested, digits
