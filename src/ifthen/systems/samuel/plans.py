"""Plans: rules with the statistics that they learn, one by one for operators and as arrays for playing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ifthen.randomness import uniform
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.batch import STRENGTH as STRONGEST
from ifthen.rules.batch import RuleBatch
from ifthen.rules.feature import Feature, bounds_type, lows_and_highs
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.bids import MEAN, MIDDLE, STRENGTH, VARIANCE
from ifthen.systems.samuel.granularity import Grid
from ifthen.tasks.task import Task

ACTIVITY = 3
"""The column of `Plan.known` with a rule's activity, from 0 to 1. The columns before it are `bids`'."""
AGE = 4
"""The column of `Plan.known` with a rule's age in generations."""
COLUMNS = 5
"""The number of columns of `Plan.known`."""
UPPER_HALF = 2.0
"""The rules of `start` begin with means from 1 down to 1/2."""


class Plan(NamedTuple):
    """The rules of one plan."""

    bounds: Floats
    """`(rules, features, 2)`: the lower end first; above the upper one only where a cyclic interval wraps."""
    actions: NDArray[np.int32]
    """`(rules,)`."""
    known: Floats
    """`(rules, 5)`: mean, variance, strength, activity and age."""
    together: Mask
    """`(rules,)`: whether the rule was active in the best episode of the last clustering."""

    def take(self, rules: Any) -> Plan:
        """Return some of the rules, by number or by mask."""
        return Plan._make(column[rules] for column in self)

    def joined(self, other: Plan) -> Plan:
        """Return the rules of two plans as one."""
        pairs: Any = zip(self, other, strict=True)
        return Plan._make(np.concatenate(pair) for pair in pairs)

    def has(self, bounds: Floats, action: int) -> bool:
        """Return whether a rule with this condition and action is in the plan."""
        same = (self.bounds == bounds).all(axis=(1, 2)) & (self.actions == action)
        return bool(same.any())

    @property
    def strengths(self) -> Floats:
        """The strengths, `(rules,)`."""
        return self.known[:, STRENGTH]


class Population(NamedTuple):
    """n plans, and behind them the plan that is handed out."""

    bounds: NDArray[Any]
    """`(n + 1, rules, features, 2)`: as in `Plan`; float64 where any feature is real."""
    actions: NDArray[np.int32]
    """`(n + 1, rules)`."""
    learnt: Floats
    """`(n + 1, rules, 5)`: as in `Plan`."""
    together: Mask
    """`(n + 1, rules)`."""
    lengths: Ints
    """`(n + 1,)`: how many rules each plan has."""
    fitness: Floats
    """`(n,)`: mean payoffs, before the baseline is taken off."""
    numbers: Floats
    """`(3,)`: the baseline, and the lowest and the highest payoff so far."""


class Arrays(NamedTuple):
    """Some plans as arrays, ready to play; see `Population`."""

    bounds: NDArray[Any]
    actions: NDArray[np.int32]
    learnt: Floats
    together: Mask
    lengths: Ints

    @classmethod
    def of(cls, plans: Sequence[Plan], features: tuple[Feature, ...]) -> Self:
        """Put plans into arrays that are as wide as the longest."""
        lengths = np.array([len(plan.actions) for plan in plans], dtype=np.int64)
        n, most = len(plans), int(lengths.max())
        bounds = np.empty((n, most, len(features), 2), dtype=bounds_type(features))
        bounds[:] = lows_and_highs(features)[0][:, None]
        made = cls(
            bounds,
            np.zeros((n, most), dtype=np.int32),
            np.zeros((n, most, COLUMNS)),
            np.zeros((n, most), dtype=np.bool_),
            lengths,
        )
        for i, plan in enumerate(plans):
            columns: Any = zip(made[:4], plan, strict=True)
            for whole, own in columns:
                whole[i, : lengths[i]] = own
        return made

    @property
    def batch(self) -> RuleBatch:
        """The plans as a batch, which writes what they learn to `learnt`."""
        return RuleBatch(STRONGEST, self.bounds, self.actions, self.learnt, self.lengths)


def separated(arrays: Arrays | Population) -> list[Plan]:
    """Return the plans of arrays one by one; of a population, the one handed out last."""
    columns: tuple[NDArray[Any], ...] = (
        arrays.bounds.astype(np.float64),
        arrays.actions,
        arrays.learnt,
        arrays.together,
    )
    rows = enumerate(arrays.lengths.tolist())
    return [Plan._make(column[i, :rules].copy() for column in columns) for i, rules in rows]


class Payoffs(NamedTuple):
    """The range of payoffs so far; statistics of rules are on its scale from 0 to 1."""

    low: float = np.inf
    high: float = -np.inf

    @property
    def scale(self) -> float:
        """The inverse of the range; 0 where it is empty."""
        return 1.0 / (self.high - self.low) if self.high > self.low else 0.0

    def scaled(self, payoffs: Floats) -> Floats:
        """Return payoffs on the scale."""
        return (payoffs - self.low) * self.scale if self.scale else np.full_like(payoffs, MIDDLE)

    def with_seen(self, payoffs: Floats) -> Payoffs:
        """Return the range with further payoffs."""
        if not payoffs.size:
            return self
        return Payoffs(min(self.low, float(payoffs.min())), max(self.high, float(payoffs.max())))

    def rescale(self, wider: Payoffs, learnt: Floats, caution: float) -> None:
        """Bring statistics `(…, 5)` from this scale to that of a wider range; nothing else changes."""
        if wider == self or not self.scale:
            return
        factor = wider.scale / self.scale
        learnt[..., MEAN] = learnt[..., MEAN] * factor + (self.low - wider.low) * wider.scale
        learnt[..., VARIANCE] *= factor * factor
        put_strengths(learnt, caution)


def put_strengths(learnt: Floats, caution: float) -> None:
    """Write the strengths that follow from means and variances."""
    learnt[..., STRENGTH] = learnt[..., MEAN] - caution * np.sqrt(learnt[..., VARIANCE])


def first_plan(task: Task, grid: Grid, mean: float, start: RuleSet | None) -> Plan:
    """Return the plan to begin with: rules that match everything, one per action, after those of `start`.

    The rules of a decision list begin with means that give them its order. Their cyclic intervals are widened
    to steps, because operators count the steps between an interval's ends and a reading in it.
    """
    lows, highs = lows_and_highs(task.features)
    whole = np.stack([lows, highs], axis=1).astype(np.float64)
    bounds = np.repeat(whole[None], task.n_actions, axis=0)
    actions, means = np.arange(task.n_actions, dtype=np.int32), np.full(task.n_actions, mean)
    if start is not None:
        own = 1.0 - np.arange(len(start)) / (UPPER_HALF * len(start))
        bounds = np.concatenate([grid.rounded_outwards(start.bounds.astype(np.float64)), bounds])
        actions, means = np.concatenate([start.actions, actions]), np.concatenate([own, means])
    known = np.zeros((len(actions), COLUMNS))
    known[:, MEAN], known[:, STRENGTH] = means, means
    return Plan(bounds, actions.astype(np.int32), known, np.zeros(len(actions), dtype=np.bool_))


def uniforms(key: np.uint64, n: int) -> Floats:
    """Return the first n numbers in [0, 1) of a stream."""
    return np.array([uniform(key, position) for position in range(n)])
