"""Rulesets over integer and real features to write in other formats, and where to compare them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ifthen import DecisionList, Feature, PredictionArrayRules, RuleSet, StrengthRules
from ifthen.exports.decision_tree import DecisionTree, Node
from tests.rulesets import ACTIONS, FEATURES, rules, rulesets

MIXED = (
    Feature("cart position", -2.4, 2.4, "real", "m"),
    Feature("y", 0, 5),
    Feature('pole\'s "angle"', -0.41887903, 0.41887903, "real", "rad"),
)
ODD_ACTIONS = ("push 'left'", 'a "b" <c> & \\d', "100 %")
INTEGER_RULES = rulesets()


@st.composite
def decision_lists(draw: st.DrawFn) -> DecisionList:
    """Draw a decision list over integer features."""
    return DecisionList(*draw(rules()), FEATURES, ACTIONS)


@st.composite
def real_rules(draw: st.DrawFn, kinds: tuple[type[RuleSet], ...] | None = None) -> RuleSet:
    """Draw a ruleset of any kind over MIXED, its names full of what other languages must escape."""
    n = draw(st.integers(1, 6))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    def end(feature: Feature) -> st.SearchStrategy[float]:
        if feature.is_integer:
            return st.integers(feature.low, feature.high).map(float)
        few = [feature.low, feature.high, 0.1, float(np.nextafter(0.1, 1)), -0.05, 0.3]
        return st.sampled_from(few) | st.floats(feature.low, feature.high)

    pairs = [st.lists(end(f), min_size=2, max_size=2) for f in MIXED]
    head = (column(st.tuples(*pairs).map(list)), column(st.integers(0, 2)), MIXED, ODD_ACTIONS)
    kind = draw(st.sampled_from(kinds or (DecisionList, StrengthRules, PredictionArrayRules)))
    if kind is DecisionList:
        return DecisionList(*head)
    number = st.sampled_from([0.0, 0.5, -1.0]) | st.floats(-1e3, 1e3)
    weights = column(st.lists(number, min_size=4, max_size=4))
    positive = st.sampled_from([0.25, 1.0]) | st.floats(1e-6, 1e3)
    x0 = draw(st.sampled_from([1.0, 10.0, 0.3]))
    if kind is StrengthRules:
        return StrengthRules(*head, weights, column(st.just(0.0) | positive), x0)
    counts = column(st.integers(1, 9))
    return PredictionArrayRules(*head, weights, column(positive), column(positive), counts, counts, x0)


def telling_points(ruleset: RuleSet, most: int = 4_000) -> NDArray[np.float64]:
    """Return all combinations of interval ends, their neighbours and a middle; some where they are many."""
    sides = []
    for d, feature in enumerate(ruleset.features):
        ends = np.unique([feature.low, feature.high, *ruleset.bounds[:, d].ravel()]).astype(np.float64)
        if feature.is_integer:
            values = np.arange(feature.low, feature.high + 1, dtype=np.float64)
        else:
            values = np.concatenate([ends, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf), [0.01]])
        sides.append(np.unique(values[(values >= feature.low) & (values <= feature.high)]))
    points = np.array(list(itertools.product(*sides)), dtype=np.float64)
    return points[:: len(points) // most + 1]


def names_of(ruleset: RuleSet, actions: NDArray[np.int64]) -> list[str | None]:
    """Return the actions' names, None for −1."""
    return [None if a < 0 else ruleset.action_names[a] for a in actions.tolist()]


def many_rules(kind: type[RuleSet], n: int) -> RuleSet:
    """Return many rules over MIXED with numbers of all digits."""
    rng = np.random.default_rng(5)
    lows, highs = np.array([f.low for f in MIXED]), np.array([f.high for f in MIXED])
    bounds = rng.uniform(lows[:, None], highs[:, None], (n, 3, 2))
    bounds[:, 1] = np.rint(bounds[:, 1])
    head = (bounds, rng.integers(0, 3, n), MIXED, ODD_ACTIONS)
    if kind is DecisionList:
        return DecisionList(*head)
    weights, positive = rng.normal(size=(n, 4)), rng.uniform(0.01, 1, (4, n))
    if kind is StrengthRules:
        return StrengthRules(*head, weights, positive[0], 10.0)
    return PredictionArrayRules(*head, weights, positive[0], positive[1], positive[2] + 1, positive[3], 10.0)


def many_points(n: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(6)
    points = np.column_stack([rng.uniform(f.low, f.high, n) for f in MIXED])
    points[:, 1] = np.rint(points[:, 1])
    return points


def tree_choices(tree: DecisionTree, observations: NDArray[Any]) -> NDArray[np.int64]:
    """Return the action `(n,)`, −1 for none, that a tree leads to at observations `(n, features)`."""
    out = np.empty(len(observations), dtype=np.int64)
    pending: list[tuple[Node, NDArray[np.int64]]] = [(tree.root, np.arange(len(observations)))]
    while pending:
        node, rows = pending.pop()
        if isinstance(node, int):
            out[rows] = node
            continue
        values = observations[rows, node.feature]
        low = values < node.cut.value if node.cut.before else values <= node.cut.value
        pending += [(node.yes, rows[low]), (node.no, rows[~low])]
    return out
