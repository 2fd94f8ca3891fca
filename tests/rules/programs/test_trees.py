"""Trees of scikit-learn become decision lists that choose as they do."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ifthen import Feature, from_tree
from ifthen.errors import RuleError

FEATURES = (Feature("x", -2.0, 2.0, "real"), Feature("n", 0, 4), Feature("z", -1.0, 1.0, "real", clips=True))
ACTIONS = ("left", "stay", "right")
LIMITS = (0.1, -0.3, 0.5, float(np.float32(0.1)), 1.5, 2.5, 3.0)


@dataclass
class Arrays:
    """The arrays that a fitted tree has, filled node by node."""

    children_left: list[int] = field(default_factory=list)
    children_right: list[int] = field(default_factory=list)
    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    value: list[list[list[float]]] = field(default_factory=list)

    def add(self, draw: st.DrawFn, depth: int) -> int:
        """Draw a node and what is below it; return its number."""
        own = len(self.feature)
        for column in (self.children_left, self.children_right, self.feature):
            column.append(-1)
        self.threshold.append(-2.0)
        self.value.append([draw(st.lists(st.sampled_from((0.0, 0.25, 1.0)), min_size=3, max_size=3))])
        if depth and draw(st.integers(0, 4)):
            self.feature[own] = draw(st.integers(0, 2))
            self.threshold[own] = draw(st.sampled_from(LIMITS))
            self.children_left[own] = self.add(draw, depth - 1)
            self.children_right[own] = self.add(draw, depth - 1)
        return own


@st.composite
def trees(draw: st.DrawFn) -> Any:
    arrays = Arrays()
    arrays.add(draw, 4)
    classes = draw(st.sampled_from((np.arange(3), np.array(["stay", "left", "right"]), None)))
    tree = SimpleNamespace(tree_=arrays, n_features_in_=3)
    if classes is not None:
        tree.classes_ = classes
    else:
        arrays.value = [[[each] for each in own[0]] for own in arrays.value]
    return tree


def followed(tree: Any, point: np.ndarray[Any, Any]) -> int:
    """Return the action of a tree, as scikit-learn finds it."""
    node, arrays = 0, tree.tree_
    while arrays.children_left[node] != -1:
        goes_left = np.float64(np.float32(point[arrays.feature[node]])) <= arrays.threshold[node]
        node = (arrays.children_left if goes_left else arrays.children_right)[node]
    best = int(np.argmax(arrays.value[node]))
    if not hasattr(tree, "classes_"):
        return best
    label = tree.classes_[best]
    return ACTIONS.index(label) if isinstance(label, str) else int(label)


def points() -> np.ndarray[Any, Any]:
    """Return float32 numbers at and beside all thresholds, for each whole number."""
    ends = np.array([*LIMITS, -2.0, 2.0, 0.0, -1.0, 1.0], dtype=np.float32)
    sides = np.concatenate([ends, np.nextafter(ends, np.float32(-9)), np.nextafter(ends, np.float32(9))])
    real = np.unique(sides[np.abs(sides) <= 2])
    grid = np.stack(np.meshgrid(real, np.arange(5), np.append(real, [7, -7])), axis=-1)
    return grid.reshape(-1, 3).astype(np.float64)[::3]


@given(trees())
def test_lists_choose_as_trees_do_for_all_float32_observations(tree: Any) -> None:
    rules = from_tree(tree, FEATURES, ACTIONS)
    asked = points()
    assert rules.predict(asked).tolist() == [followed(tree, point) for point in asked]


def stump(**more: Any) -> Any:
    arrays = SimpleNamespace(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[2, -2, -2],
        threshold=[0.05, -2.0, -2.0],
        value=[[[0.5, 0.5]], [[1.0, 0.0]], [[0.0, 1.0]]],
    )
    return SimpleNamespace(**{"tree_": arrays, "classes_": np.array([0, 1]), "n_features_in_": 4} | more)


def test_a_task_gives_features_and_actions() -> None:
    rules = from_tree(stump(), "CartPole-v1")
    assert str(rules) == "1. IF pole angle ≤ 0.05 rad THEN push left\n2. OTHERWISE push right"


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (object(), "expected a fitted tree of scikit-learn"),
        (stump(n_features_in_=3), "the tree was fitted to 3 features, not to 4"),
        (stump(classes_=np.array([0, 5])), "the tree has a class 5: classes must be actions, 0 to 1"),
        (stump(classes_=np.array(["push left", "up"])), "the tree has a class 'up'"),
        (stump(classes_=np.array([0, 1, 2])), "one output"),
    ],
)
def test_trees_that_do_not_fit_are_refused(tree: Any, said: str) -> None:
    with pytest.raises(RuleError, match=said):
        from_tree(tree, "CartPole-v1")


def test_a_regressor_needs_an_output_for_each_action() -> None:
    tree = stump()
    del tree.classes_
    tree.tree_.value = [[[0.5]], [[1.0]], [[0.0]]]
    with pytest.raises(RuleError, match="one output for each of the 2 actions"):
        from_tree(tree, "CartPole-v1")
