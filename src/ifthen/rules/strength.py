"""Strength inference: the strongest matching rule gives the action (paper, section "PPL-ST").

x = (x0, s) is the state with a constant x0 put before it; a rule predicts w·x, and its strength
is w·x − sqrt(var). Each action in the match set is advocated by its strongest rule, and the
action with the highest advocated strength wins; ties go to the lowest action index. Taking the
strongest rule over the whole match set, lowest action first, is the same choice in one pass.

In a population, what rules have learnt is one array `(n, rules, features + 2)`: w, then var.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ifthen.errors import RuleError
from ifthen.jit import kernel, lean_kernel
from ifthen.rules.arrays import Floats, Ints, Mask, real_numbers
from ifthen.rules.box import centres
from ifthen.rules.comparison import Comparison, Lost, Scoring, distinct_texts
from ifthen.rules.feature import Feature
from ifthen.rules.ruleset import NULL_ACTION, RuleSet


class StrengthRules(RuleSet):
    """Overlapping rules without order; the strongest one that matches decides.

    Args, besides those of `RuleSet`:
        weights: w of each rule, `(rules, features + 1)`, the weight of x0 first.
        variances: var of each rule, `(rules,)`, not negative.
        x0: the constant put before the state.
    """

    kind = "strength"
    how = (
        "Of the rules that match, the strongest decides: the one whose predicted payoff, less its deviation, "
        "is highest."
    )
    wins = "is at least as strong and wins"
    overlap = "Overlaps are normal where the strongest rule decides."
    notes_title = "Payoff ± deviation at the centre of its box"
    weight_name = "strength"
    own_columns: ClassVar[Mapping[str, str]] = {"weights": "weights", "variance": "variances"}
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
        self.weights = real_numbers(weights, "weights", (len(self), len(self.features) + 1))
        self.variances = real_numbers(variances, "variances", (len(self),))
        if (self.variances < 0).any():
            raise RuleError("variances must not be negative.")
        self.x0 = float(real_numbers(x0, "x0", ()))

    def decide(self, matching: Mask, observations: Floats) -> tuple[Ints, Ints]:
        """Return the action and the number of the strongest matching rule, −1 where none matches."""
        strengths = np.where(matching, self.strengths(observations), -math.inf)
        winners = matching & (strengths == strengths.max(axis=1, keepdims=True))
        actions = np.where(winners, self.actions, len(self.action_names)).min(axis=1)
        deciders = (winners & (self.actions == actions[:, None])).argmax(axis=1)
        nothing = ~matching.any(axis=1)
        return np.where(nothing, NULL_ACTION, actions), np.where(nothing, -1, deciders)

    def strengths(self, observations: Floats) -> Floats:
        """Return every rule's strength `(n, rules)` at observations `(n, features)`, matching or not."""
        out = np.empty((len(observations), len(self)))
        learnt = np.column_stack([self.weights, self.variances])
        strengths_at(learnt, self.x0, observations, tuple(range(len(self.features))), out)
        return out

    @property
    def scoring(self) -> Scoring:
        """Strengths: w·x less the deviation."""
        return Scoring.of(self.weights, self.x0, np.sqrt(self.variances))

    def beats(self, rule: int, matching: Mask, observations: Floats) -> Mask:
        """Return which matching rules are stronger, or as strong with a lower action or number."""
        strengths, actions = self.strengths(observations), self.actions
        earlier = (actions == actions[rule]) & (np.arange(len(self)) < rule)
        rule_strength = strengths[:, [rule]]
        tied = (strengths == rule_strength) & ((actions < actions[rule]) | earlier)
        beating: Mask = matching & ((strengths > rule_strength) | tied)
        return beating

    def _compared(self, matching: Ints, winner: int, point: Floats) -> Comparison:
        """Say how strong the matching rules are: the strongest decides, of equals the lowest action."""
        strengths, actions = self.strengths(point)[0], self.actions
        ranking = matching[np.lexsort((matching, actions[matching], -strengths[matching]))].tolist()
        best, others, scores = float(strengths[winner]), [], dict[str, float]()
        for r in ranking:
            score = float(strengths[r])
            scores.setdefault(self.action_of(r), score)
            if r == winner:
                continue
            lower, higher = distinct_texts(score, best)
            why = f"weaker: {lower} < {higher}" if score < best else f"equal strength ({higher})"
            if actions[r] == actions[winner]:
                why += ", and speaks for the same action"
            elif score == best:
                why += ", the lower action index wins"
            others.append(Lost(r, score, why, self))
        return Comparison(winner, self._reason(winner, best, others), tuple(others), scores)

    def _reason(self, winner: int, best: float, others: list[Lost]) -> str:
        """Return why the strongest rule decides, given the others in order."""
        if not others:
            return f"rule {winner + 1} is the only one that matches"
        winner_action = self.action_of(winner)
        tied = [lost for lost in others if lost.score == best]
        rival = next((lost for lost in tied if lost.action != winner_action), others[0])
        own_score, other_score = distinct_texts(best, rival.score or 0.0)
        if not tied:
            following = f"next is rule {rival.rule + 1} with {other_score}"
            return f"rule {winner + 1} is the strongest: {own_score}, {following}"
        tie = f"rules {winner + 1} and {rival.rule + 1} have equal strength, {own_score}"
        if rival.action == winner_action:
            return f"{tie}, and speak for the same action"
        return (
            f"{tie}: with equal strength, the lower action index wins, {winner_action} before {rival.action}"
        )

    def rule_weights(self) -> Floats:
        """Return each rule's strength at the centre of its box, `(rules,)`."""
        return np.diagonal(self.strengths(centres(self.bounds, self.features)))

    def rule_notes(self, rule: int) -> str:
        """Return the payoff that rule number `rule` (from 0) predicts at its centre, ± its deviation."""
        (centre,) = centres(self.bounds[[rule]], self.features)
        payoff = self.weights[rule, 0] * self.x0 + self.weights[rule, 1:] @ centre
        return f"{payoff:.2f} ± {math.sqrt(float(self.variances[rule])):.2f}"


@lean_kernel
def prediction(learnt: Floats, r: int, x0: float, points: Floats, s: int, axes: tuple[int, ...]) -> float:
    """Return w·x for rule r at state s; `learnt` is that of one individual, as in all that follows."""
    total: float = learnt[r, 0] * x0
    for d in range(len(axes)):
        total += learnt[r, d + 1] * points[s, d]
    return total


@kernel
def strengths_at(learnt: Floats, x0: float, points: Floats, axes: tuple[int, ...], out: Floats) -> None:
    """Write the strength of every rule at every point: `(points, rules)`."""
    for s in range(points.shape[0]):
        for r in range(learnt.shape[0]):
            out[s, r] = prediction(learnt, r, x0, points, s, axes) - math.sqrt(learnt[r, -1])
