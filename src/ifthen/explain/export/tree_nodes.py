"""What a decision tree is made of: questions about one feature at a time, and leaves with actions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.features import Feature, number_in_words
from ifthen.rules.ruleset import NULL_ACTION


class Cut(NamedTuple):
    """A place between two neighbouring values: after `value`, or before it where `before` is set."""

    value: float
    before: bool = False


@dataclass(frozen=True)
class Leaf:
    """Where the questions end.

    Args:
        action: the action's number, −1 where no rule matches.
    """

    action: int


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


Node = Leaf | Split


@dataclass(frozen=True)
class Span:
    """An interval whose ends may be left out; intervals of integer features always have theirs."""

    low: float
    high: float
    low_open: bool = False
    high_open: bool = False


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

    def choose(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """Return the action `(n,)`, −1 for none, at observations `(n, features)`."""
        out = np.empty(len(observations), dtype=np.int64)
        pending: list[tuple[Node, NDArray[np.int64]]] = [(self.root, np.arange(len(observations)))]
        while pending:
            node, rows = pending.pop()
            if isinstance(node, Leaf):
                out[rows] = node.action
                continue
            values = observations[rows, node.feature]
            low = values < node.cut.value if node.cut.before else values <= node.cut.value
            pending += [(node.yes, rows[low]), (node.no, rows[~low])]
        return out

    def question(self, node: Split) -> str:
        """Return a question in words, such as "x ≤ 3"."""
        feature = self.features[node.feature]
        unit = f" {feature.unit}" if feature.unit else ""
        return f"{feature.name} {'<' if node.cut.before else '≤'} {number_in_words(node.cut.value)}{unit}"

    def answer(self, leaf: Leaf) -> str:
        """Return a leaf in words: the action's name, or "no rule"."""
        return "no rule" if leaf.action == NULL_ACTION else self.action_names[leaf.action]

    def boxes(self) -> Iterator[tuple[tuple[Span, ...], int]]:
        """Yield every leaf's box and action; the boxes fill the feature space without overlapping."""
        everything = tuple(Span(feature.low, feature.high) for feature in self.features)
        pending: list[tuple[Node, tuple[Span, ...]]] = [(self.root, everything)]
        while pending:
            node, box = pending.pop()
            if isinstance(node, Leaf):
                yield box, node.action
                continue
            d, (value, before) = node.feature, node.cut
            low = replace(box[d], high=value, high_open=before)
            if self.features[d].is_integer:
                high = replace(box[d], low=value + 1)
            else:
                high = replace(box[d], low=value, low_open=not before)
            pending += [
                (node.no, (*box[:d], high, *box[d + 1 :])),
                (node.yes, (*box[:d], low, *box[d + 1 :])),
            ]
