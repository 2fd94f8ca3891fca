"""Where claims about rules are to hold: the states of a task, or the whole space of the features.

Rules are looked at on finitely many points that stand for all others. Those are the decision states of a
task, or every vector of a small integer space. A decision list does the same everywhere in a cell between the
edges of its conditions, so that one point per cell stands for a space, real or integer, whatever its size.
Other rulesets weigh rules differently at every point; over a real or a large space they have no such points,
and neither has a list with too many cells: `ifthen.explain.verify.spaces` reasons about those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.boxes import RankSpace
from ifthen.explain.domain import all_vectors
from ifthen.explain.points import values_by_name
from ifthen.explain.verify.findings import Vector, plural, share_in_words
from ifthen.inference.decision_list import DecisionList
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular import TabularTask

LARGEST = 1_000_000
"""Most points of a space that are looked at one by one."""
LARGEST_MATRIX = 30_000_000
"""Most points × rules."""
COUNTABLE = 2**53  # floats count exactly up to here


@dataclass(frozen=True, eq=False)
class Domain:
    """Points that stand for all at which a claim is to hold.

    Args:
        ruleset: the rules.
        points: `(n, features)`.
        weights: what each point stands for, `(n,)`: states, vectors, or a share of a real space. An edge has
            no share, but is a place like any other.
        name: in words, such as "the 53 decision states of FrozenLake-8-0".
        unit: "decision state", "feature vector", or "" where weights are shares.
        task: the task whose decision states the points are, in their order.
    """

    ruleset: RuleSet
    points: NDArray[np.float64]
    weights: NDArray[np.float64]
    name: str
    unit: str
    task: TabularTask | None = None

    @cached_property
    def matching(self) -> NDArray[np.bool_]:
        """Which rules match, `(n, rules)`."""
        return self.ruleset.matches(self.points)

    @cached_property
    def choice(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Actions and deciding rules, each `(n,)`, −1 where there is none."""
        return self.ruleset.decide(self.matching, self.points)

    @cached_property
    def total(self) -> int | float:
        """What all points stand for."""
        return self.amount(self.weights.sum()) if self.unit else 1.0

    def vector(self, point: int) -> Vector:
        """Return a point as values by name."""
        return values_by_name(self.ruleset.features, self.points[point].tolist())

    def amount(self, weight: float) -> int | float:
        """Return a sum of weights as plain data: whole where states or vectors are counted."""
        return int(weight) if self.unit else float(weight)

    def in_words(self, amount: float) -> str:
        """Return "3 decision states", "1 feature vector", or a share."""
        return amount_in_words(amount, self.unit)

    def part_in_words(self, amount: float) -> str:
        """Return "3 of the 53 decision states of …", or a share of the space."""
        if self.task is None:
            return self.in_words(amount)
        return f"{int(amount):,} of {self.name}" if len(self.points) > 1 else self.name


def amount_in_words(amount: float, unit: str) -> str:
    """Return an amount of a unit, or where there is none a share of the space."""
    if unit:
        return f"{int(amount):,} {unit}" + ("" if amount == 1 else "s")
    return f"{share_in_words(amount)} of the space" if amount else "an edge of the space without volume"


def domain_of(ruleset: RuleSet, task: TabularTask | None) -> Domain | None:
    """Return the points that stand for a task or for the whole space; None where there are too many."""
    if task is not None:
        points = task.dynamics.points
        states = plural(len(points), "decision state") if len(points) > 1 else "only decision state"
        name = f"the {states} of {task.name}"
        return Domain(ruleset, points, np.ones(len(points)), name, "decision state", task)
    if isinstance(ruleset, DecisionList):
        return _cells(ruleset)
    vectors = all_vectors(ruleset.features, min(LARGEST, LARGEST_MATRIX // len(ruleset)))
    if vectors is None:
        return None
    return Domain(ruleset, vectors, np.ones(len(vectors)), space_name(ruleset), "feature vector")


def vectors_in(ruleset: RuleSet) -> int | None:
    """Return how many feature vectors there are, None where a feature is real."""
    if not all(feature.is_integer for feature in ruleset.features):
        return None
    return math.prod(feature.width for feature in ruleset.features)


def space_name(ruleset: RuleSet) -> str:
    """Return the whole space of the features in words."""
    names = ", ".join(feature.name for feature in ruleset.features)
    size = vectors_in(ruleset)
    return f"the whole space of {names}" + (f" ({amount_in_words(size, 'feature vector')})" if size else "")


def _cells(ruleset: DecisionList) -> Domain | None:
    """Return one point for every cell between the edges of the conditions."""
    space = RankSpace(ruleset.features, ruleset.bounds.astype(np.float64))
    cells = math.prod(int(size) for size in space.sizes)
    if cells > LARGEST or cells * len(ruleset) > LARGEST_MATRIX:
        return None
    size = vectors_in(ruleset)
    counted = size is not None and size <= COUNTABLE
    lengths = [
        (ends[:n] - starts[:n]) / (1.0 if counted else total)
        for starts, ends, n, total in zip(space.starts, space.ends, space.sizes, space.totals, strict=True)
    ]
    weights = np.prod(_grid(lengths), axis=1)
    points = _grid([axis.points for axis in space.axes])
    return Domain(ruleset, points, weights, space_name(ruleset), "feature vector" if counted else "")


def _grid(sides: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return all combinations of the values of every axis, `(n, axes)`."""
    mesh = np.meshgrid(*sides, indexing="ij")
    return np.stack(mesh, axis=-1).reshape(-1, len(sides))
