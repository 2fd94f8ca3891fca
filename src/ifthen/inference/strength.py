"""Strength inference: the strongest matching rule gives the action (paper, section "PPL-ST").

x = (x0, s) is the state with a constant x0 put before it; a rule predicts w·x, and its strength
is w·x − sqrt(var). Each action in the match set is advocated by its strongest rule, and the
action with the highest advocated strength wins; ties go to the lowest action index. Taking the
strongest rule over the whole match set, lowest action first, is the same choice in one pass.

In a population, what rules have learnt is one array `(n, rules, features + 2)`: w, then var.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.errors import RuleError
from ifthen.jit import kernel
from ifthen.rules.arrays import finite_column
from ifthen.rules.box import ONE, WORD, ZERO, lowest_bit, match_masks, words_for
from ifthen.rules.features import Feature
from ifthen.rules.ruleset import NULL_ACTION, RuleSet


class StrengthRules(RuleSet):
    """Overlapping rules without order; the strongest one that matches decides.

    Args:
        bounds: the conditions, `(rules, features, 2)`; the two bounds in any order, both included.
        actions: the actions, `(rules,)`, as indices into `action_names`.
        features: name and range of each feature.
        action_names: one name per action of the task.
        weights: w of each rule, `(rules, features + 1)`, the weight of x0 first.
        variances: var of each rule, `(rules,)`, not negative.
        x0: the constant put before the state.
    """

    kind = "strength"
    own_columns = ("weights", "variance")
    own_settings = ("x0",)

    def __init__(
        self,
        bounds: ArrayLike,
        actions: ArrayLike,
        features: Sequence[Feature],
        action_names: Sequence[str],
        weights: ArrayLike,
        variances: ArrayLike,
        x0: float = 10.0,
    ) -> None:
        super().__init__(bounds, actions, features, action_names)
        self.weights = finite_column(weights, (len(self), len(self.features) + 1), "weights")
        self.variances = finite_column(variances, (len(self),), "variances")
        if (self.variances < 0).any():
            raise RuleError("variances must not be negative.")
        self.x0 = float(finite_column(x0, (), "x0"))

    def decide(
        self, matching: NDArray[np.bool_], observations: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the action and the number of the strongest matching rule, −1 where none matches."""
        strengths = np.where(matching, self.strengths(observations), -math.inf)
        winners = matching & (strengths == strengths.max(axis=1, keepdims=True))
        actions = np.where(winners, self.actions, len(self.action_names)).min(axis=1)
        deciders = (winners & (self.actions == actions[:, None])).argmax(axis=1)
        nothing = ~matching.any(axis=1)
        return np.where(nothing, NULL_ACTION, actions), np.where(nothing, -1, deciders)

    def strengths(self, observations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return every rule's strength `(n, rules)` at observations `(n, features)`, matching or not."""
        out = np.empty((len(observations), len(self)))
        learnt = np.column_stack([self.weights, self.variances])
        strengths_at(learnt, self.x0, observations, tuple(range(len(self.features))), out)
        return out

    def extra_columns(self) -> dict[str, NDArray[np.float64]]:
        """Return w and var of each rule."""
        return {"weights": self.weights, "variance": self.variances}

    def settings(self) -> dict[str, Any]:
        """Return x0."""
        return {"x0": self.x0}

    def rule_notes(self, rule: int) -> str:
        """Return the payoff that rule number `rule` (from 0) predicts at its centre, ± its deviation."""
        centre = self.bounds[rule].mean(axis=1)
        payoff = self.weights[rule, 0] * self.x0 + self.weights[rule, 1:] @ centre
        return f"{payoff:.2f} ± {math.sqrt(float(self.variances[rule])):.2f}"


@kernel
def prediction(
    learnt: NDArray[np.float64],
    r: int,
    x0: float,
    points: NDArray[np.float64],
    s: int,
    axes: tuple[int, ...],
) -> float:
    """Return w·x for rule r at state s; `learnt` is that of one individual, as in all that follows."""
    total: float = learnt[r, 0] * x0
    for d in range(len(axes)):
        total += learnt[r, d + 1] * points[s, d]
    return total


@kernel
def strengths_at(
    learnt: NDArray[np.float64],
    x0: float,
    points: NDArray[np.float64],
    axes: tuple[int, ...],
    out: NDArray[np.float64],
) -> None:
    """Write the strength of every rule at every point: `(points, rules)`."""
    for s in range(points.shape[0]):
        for r in range(learnt.shape[0]):
            out[s, r] = prediction(learnt, r, x0, points, s, axes) - math.sqrt(learnt[r, -1])


@kernel
def strongest_action(
    masks: NDArray[np.uint64],
    s: int,
    actions: NDArray[np.int32],
    learnt: NDArray[np.float64],
    deviations: NDArray[np.float64],
    x0: float,
    points: NDArray[np.float64],
    axes: tuple[int, ...],
) -> int:
    """Return the action that the match set (a bit mask) chooses in state s."""
    best = NULL_ACTION
    top = -math.inf
    for word in range(masks.shape[1]):
        mask = masks[s, word]
        while mask != ZERO:
            r = word * WORD + lowest_bit(mask)
            mask &= mask - ONE
            a, strength = actions[r], prediction(learnt, r, x0, points, s, axes) - deviations[r]
            # No short cuts: no processor can foresee which rule is stronger, and a wrong guess costs more.
            better = (strength > top) | (best < 0) | ((strength == top) & (a < best))
            best = a if better else best
            top = strength if better else top
    return best


@kernel
def strength_tables(
    first: int,
    last: int,
    bounds: NDArray[np.int32],
    actions: NDArray[np.int32],
    learnt: NDArray[np.float64],
    x0: float,
    states: NDArray[np.int32],
    points: NDArray[np.float64],
    lows: NDArray[np.int32],
    widest: int,
    axes: tuple[int, ...],
    out: NDArray[np.int16],
) -> None:
    """Write the policy tables `(n, states)` of the strength rulesets `first` to `last − 1`."""
    rules = bounds.shape[1]
    words = words_for(rules)
    value_masks = np.empty((states.shape[1], widest, words), dtype=np.uint64)
    masks = np.empty((states.shape[0], words), dtype=np.uint64)
    deviations = np.empty(rules)
    for i in range(first, last):
        own = learnt[i]
        match_masks(bounds, i, states, lows, value_masks, masks)
        for r in range(rules):
            deviations[r] = math.sqrt(own[r, -1])
        for s in range(states.shape[0]):
            out[i, s] = strongest_action(masks, s, actions[i], own, deviations, x0, points, axes)
