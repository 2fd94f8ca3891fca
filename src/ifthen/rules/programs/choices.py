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
from ifthen.rules.arrays import Floats, Ints, check_size
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
    if condition == TRUE or same_node(yes, no):
        return yes
    if condition == FALSE:
        return no
    if isinstance(yes, Choice) and same_node(yes.no, no):
        return choice(joined((condition, yes.condition), True), yes.yes, no)
    return Choice(condition, yes, no, rules_of(yes) + rules_of(no), decides(yes) and decides(no))


def same_node(left: Node, right: Node) -> bool:
    """Return whether two nodes are known to be the same."""
    if isinstance(left, Choice) or isinstance(right, Choice):
        return left is right
    return type(left) is type(right) and bool(left == right)


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
    full_box = whole_box(features).astype(np.float64)
    bounds = np.tile(full_box, (len(rows), 1, 1))
    for r, (box, _) in enumerate(rows):
        for axis, (low, high) in box.items():
            bounds[r, axis] = max(low, full_box[axis, 0]), min(high, full_box[axis, 1])
    actions = np.array([action for _, action in rows], dtype=np.int64)
    rule_numbers = np.flatnonzero(is_box(bounds))
    rule_numbers = _needed(bounds, actions, _not_inside(bounds, rule_numbers), full_box)
    if not len(rule_numbers):
        raise RuleError("this never returns an action.")
    return DecisionList(
        bounds[rule_numbers], actions[rule_numbers], features, action_names
    ).without_unused_terms()


def _not_inside(bounds: Floats, numbers: Ints) -> Ints:
    """Return the rules, by number, whose box lies in no earlier one; of very many rules, all."""
    if len(numbers) > MOST_COMPARED:
        return numbers
    outermost: list[int] = []
    for r in numbers.tolist():
        if not holds(bounds[outermost], bounds[r]).any():
            outermost.append(r)
    return np.array(outermost, dtype=np.int64)


def _needed(bounds: Floats, actions: Ints, candidates: Ints, full_box: Floats) -> Ints:
    """Return the rules, by number, up to the first without a condition, less those that it repeats."""
    everywhere = (bounds[candidates] == full_box).all(axis=(1, 2))
    numbers = candidates[: int(everywhere.argmax()) + 1] if everywhere.any() else candidates
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
        for side_box in first[1]:
            shared = common(box, side_box)
            if shared is not None:
                _write(first[0], shared, boxes, rows)
        node = second[0]
        if decides(first[0]):
            continue
        inner_boxes = [shared for side_box in second[1] if (shared := common(box, side_box)) is not None]
        if not inner_boxes:
            return
        for shared in inner_boxes[:-1]:
            _write(node, shared, boxes, rows)
        box = inner_boxes[-1]
    if node is not None:
        boxes.take()
        rows.append((box, node))


def _cost(first: Node, first_boxes: list[Box], second: Node, second_boxes: list[Box]) -> tuple[int, int, int]:
    """Return how many rules come of a side that is written first, how many have its tests, and digits."""
    tested = rules_of(first) * len(first_boxes)
    untested = rules_of(second) * (1 if decides(first) else len(second_boxes))
    digits = sum(len(repr(end)) for box in first_boxes for span in box.values() for end in span)
    return tested + untested, tested, digits
