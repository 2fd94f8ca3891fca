"""A fitted decision tree of scikit-learn as a decision list, read from the arrays of its `tree_`.

scikit-learn rounds what it is given to float32 and goes left where that is at most the threshold, a float64.
So does the list: to the left are the values up to the threshold, to the right those from the next float64 on.
For float32 observations, as environments give them, both choose the same, always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ifthen.errors import RuleError, listed, nearest
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature
from ifthen.rules.programs.axes import Axes
from ifthen.rules.programs.choices import Node, choice, decision_list
from ifthen.rules.programs.program_values import feature, number

LEAF = -1
MOST_NODES = 100_000
"""A tree has at most this many nodes."""


def rules_of_tree(tree: Any, features: Sequence[Feature], action_names: Sequence[str]) -> DecisionList:
    """Return the decision list of a tree.

    Args:
        tree: a fitted `DecisionTreeClassifier`, whose classes are numbers or names of actions, or a
            `DecisionTreeRegressor` with one output per action, of which the largest is taken.
        features: what the columns of its training data are, in order.
        action_names: one name per action.
    """
    arrays = getattr(tree, "tree_", None)
    if arrays is None:
        raise RuleError(
            f"expected a fitted tree of scikit-learn, which has tree_, not {type(tree).__name__}."
        )
    left_children, right_children, tested, thresholds = (
        np.asarray(getattr(arrays, name)).tolist()
        for name in ("children_left", "children_right", "feature", "threshold")
    )
    if not 0 < len(left_children) <= MOST_NODES or not len(left_children) == len(right_children) == len(
        tested
    ) == len(thresholds):
        raise RuleError(f"a tree must have 1 to {MOST_NODES:,} nodes, not {len(left_children):,}.")
    width = getattr(tree, "n_features_in_", len(features))
    if width != len(features):
        feature_names = listed([column_feature.name for column_feature in features])
        raise RuleError(f"the tree was fitted to {width} features, not to {len(features)} ({feature_names}).")
    actions = _actions(tree, np.asarray(arrays.value, dtype=np.float64), action_names)
    axes, nodes = Axes(features), dict[int, Node]()
    for node in reversed(range(len(left_children))):  # scikit-learn numbers children after their parents
        if left_children[node] == LEAF:
            nodes[node] = actions[node]
            continue
        if (
            left_children[node] not in nodes
            or right_children[node] not in nodes
            or not 0 <= tested[node] < len(features)
        ):
            raise RuleError(f"node {node} of the tree leads to no other node.")
        value = feature(tested[node], features[tested[node]].clips)
        condition = axes.compared(value, "<=", number(thresholds[node]), node)
        nodes[node] = choice(condition, nodes[left_children[node]], nodes[right_children[node]])
    try:
        return decision_list(nodes[0], axes, tuple(action_names))
    except RecursionError:
        raise RuleError("the tree is too deep to be read.") from None


def _actions(tree: Any, values: Any, action_names: Sequence[str]) -> list[int]:
    """Return the action that each node would take, `(nodes,)`."""
    classes = getattr(tree, "classes_", None)
    if classes is None:
        outputs = values.reshape(len(values), -1)
        if outputs.shape[1] != len(action_names):
            raise RuleError(
                f"a regression tree needs one output for each of the {len(action_names)} actions "
                f"({listed(action_names)}), not {outputs.shape[1]}."
            )
        return [int(best) for best in outputs.argmax(axis=1)]
    if values.ndim != 3 or values.shape[1] != 1 or values.shape[2] != len(classes):
        raise RuleError("a classification tree must have one output: the action.")
    numbers = [_number(label, action_names) for label in np.asarray(classes).tolist()]
    return [numbers[best] for best in values[:, 0].argmax(axis=1).tolist()]


def _number(label: Any, action_names: Sequence[str]) -> int:
    """Return the action that a class of a tree stands for."""
    if isinstance(label, str):
        if label not in action_names:
            raise RuleError(f"the tree has a class {label[:60]!r}.{nearest(label[:60], action_names)}")
        return list(action_names).index(label)
    if isinstance(label, bool) or label not in range(len(action_names)):
        raise RuleError(
            f"the tree has a class {label!r}: classes must be actions, 0 to {len(action_names) - 1} or names "
            f"({listed(action_names)})."
        )
    return int(label)
