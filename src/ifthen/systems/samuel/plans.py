"""Plans: rules with the statistics that they learn, one by one for operators and as arrays for playing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ifthen.jit import kernel
from ifthen.randomness import uniform
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.batch import STRENGTH as STRONGEST
from ifthen.rules.batch import RuleBatch
from ifthen.rules.feature import Feature, bounds_type, lows_and_highs
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.bids import MEAN, MIDDLE, STRENGTH, VARIANCE
from ifthen.systems.samuel.granularity import Grid, round_outwards
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
        actions, learnt = np.zeros((n, most), dtype=np.int32), np.zeros((n, most, COLUMNS))
        together = np.zeros((n, most), dtype=np.bool_)
        for i, plan in enumerate(plans):
            n_rules = len(plan.actions)
            bounds[i, :n_rules], actions[i, :n_rules] = plan.bounds, plan.actions
            learnt[i, :n_rules], together[i, :n_rules] = plan.known, plan.together
        return cls(bounds, actions, learnt, together, lengths)

    @property
    def batch(self) -> RuleBatch:
        """The plans as a batch, which writes what they learn to `learnt`."""
        return RuleBatch(STRONGEST, self.bounds, self.actions, self.learnt, self.lengths)


def separated(arrays: Arrays | Population) -> list[Plan]:
    """Return the plans of arrays one by one; of a population, the one handed out last."""
    bounds = arrays.bounds.astype(np.float64)
    actions, learnt, together = arrays.actions, arrays.learnt, arrays.together
    return [
        Plan(bounds[i, :n].copy(), actions[i, :n].copy(), learnt[i, :n].copy(), together[i, :n].copy())
        for i, n in enumerate(arrays.lengths.tolist())
    ]


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
        first_means = 1.0 - np.arange(len(start)) / (UPPER_HALF * len(start))
        first_bounds = np.array(start.bounds, dtype=np.float64, order="C")
        round_outwards(grid, first_bounds)
        bounds = np.concatenate([first_bounds, bounds])
        actions, means = np.concatenate([start.actions, actions]), np.concatenate([first_means, means])
    known = np.zeros((len(actions), COLUMNS))
    known[:, MEAN], known[:, STRENGTH] = means, means
    return Plan(bounds, actions.astype(np.int32), known, np.zeros(len(actions), dtype=np.bool_))


@kernel
def uniforms(key: np.uint64, n: int) -> Floats:
    """Return the first n numbers in [0, 1) of a stream."""
    draws = np.empty(n)
    for position in range(n):
        draws[position] = uniform(key, position)
    return draws


@kernel
def empty_plan(n: int, features: int) -> Plan:
    """Return a plan with room for n rules."""
    return Plan(
        np.empty((n, features, 2)),
        np.empty(n, dtype=np.int32),
        np.empty((n, COLUMNS)),
        np.empty(n, dtype=np.bool_),
    )


@kernel
def copy_rule(source: Plan, rule: int, target: Plan, place: int) -> None:
    """Copy a rule of a plan to a place of another."""
    for d in range(source.bounds.shape[1]):
        target.bounds[place, d, 0], target.bounds[place, d, 1] = (
            source.bounds[rule, d, 0],
            source.bounds[rule, d, 1],
        )
    for column in range(COLUMNS):
        target.known[place, column] = source.known[rule, column]
    target.actions[place], target.together[place] = source.actions[rule], source.together[rule]


@kernel
def selected(first: Plan, keep_first: Mask, second: Plan, keep_second: Mask) -> Plan:
    """Return the rules to keep of a plan, `(rules,)`, and behind them those of a second one."""
    plan = empty_plan(keep_first.sum() + keep_second.sum(), first.bounds.shape[1])
    place = 0
    for rule in range(len(keep_first)):
        if keep_first[rule]:
            copy_rule(first, rule, plan, place)
            place += 1
    for rule in range(len(keep_second)):
        if keep_second[rule]:
            copy_rule(second, rule, plan, place)
            place += 1
    return plan


@kernel
def same_condition(bounds: Floats, others: Floats) -> bool:
    """Return whether two conditions `(features, 2)` are the same."""
    same = True
    for d in range(len(bounds)):
        same &= bounds[d, 0] == others[d, 0] and bounds[d, 1] == others[d, 1]
    return same


def shrunk(plan: Plan, most: int, key: np.uint64) -> Plan:
    """Return a plan with at most `most` rules; which ones stay is drawn at random."""
    n = len(plan.actions)
    return plan if n <= most else plan.take(np.sort(np.argsort(uniforms(key, n))[:most]))
