"""Prediction-array inference: matching rules vote, weighted by fitness (paper, section "XCS").

x = (x0, s) is the state with a constant x0 put before it, and a rule predicts the payoff w·x of its action.
The prediction array holds for every action the mean prediction of the matching rules that advocate it,
weighted by their fitness; the action with the highest one wins, the lowest index among equals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.errors import RuleError
from ifthen.jit import kernel
from ifthen.rules.arrays import Floats, Ints, Mask, real_numbers
from ifthen.rules.box import rule_matches, without_wraps
from ifthen.rules.comparison import Comparison, Lost, Scoring, distinct_texts
from ifthen.rules.feature import Feature
from ifthen.rules.ruleset import NULL_ACTION, RuleSet
from ifthen.rules.strength import prediction, strengths_at


class PredictionArrayRules(RuleSet):
    """Overlapping rules without order that predict payoffs; the action predicted to pay most is taken.

    Args, besides those of `RuleSet`:
        weights: w of each rule, `(rules, features + 1)`, the weight of x0 first.
        fitness: the weight of each rule's vote, `(rules,)`, positive.
        errors: mean error of each rule's predictions, `(rules,)`, not negative.
        numerosity: microclassifiers that each rule stands for, `(rules,)`, from 1.
        experience: updates that each rule has had, `(rules,)`.
        x0: the constant put before the state.
    """

    kind = "prediction-array"
    how = (
        "Of the rules that match, those with the same action average the payoffs they predict, weighted by "
        "fitness; the action with the highest average is taken, and its fittest rule counts as the one that "
        "decides."
    )
    votes = True
    adds: ClassVar[bool] = False
    """Whether votes are added up rather than averaged."""
    wins = "speaks for an action that is predicted to pay at least as much"
    overlap = "Overlaps are normal where rules vote."
    notes_title = "Least and largest payoff that it predicts, and its mean error"
    weight_name = "fitness"
    own_columns: ClassVar[Mapping[str, str]] = {
        "weights": "weights",
        "fitness": "fitness",
        "error": "errors",
        "numerosity": "numerosity",
        "experience": "experience",
    }
    own_settings: ClassVar[tuple[str, ...]] = ("x0",)

    def __init__(
        self,
        bounds: ArrayLike,
        actions: ArrayLike,
        features: Sequence[Feature],
        action_names: Sequence[str],
        weights: ArrayLike,
        fitness: ArrayLike,
        errors: ArrayLike,
        numerosity: ArrayLike,
        experience: ArrayLike,
        x0: float = 10.0,
    ) -> None:
        super().__init__(bounds, actions, features, action_names)
        self.weights = real_numbers(weights, "weights", (len(self), len(self.features) + 1))
        self.fitness = real_numbers(fitness, "fitness", (len(self),))
        if (self.fitness <= 0).any():
            raise RuleError("fitness must be positive.")
        self.errors = real_numbers(errors, "errors", (len(self),), least=0)
        self.numerosity = real_numbers(numerosity, "numerosity", (len(self),), least=1)
        self.experience = real_numbers(experience, "experience", (len(self),), least=0)
        self.x0 = float(real_numbers(x0, "x0", ()))

    def decide(self, matching: Mask, observations: Floats) -> tuple[Ints, Ints]:
        """Return the best action and the fittest rule that advocates it, both −1 where no rule matches."""
        arrays = self._arrays(matching, observations)
        nothing = np.isnan(arrays).all(axis=1)
        actions = np.where(np.isnan(arrays), -np.inf, arrays).argmax(axis=1)
        advocates = matching & (self.actions == actions[:, None])
        deciders = np.where(advocates, self.fitness, -1.0).argmax(axis=1)
        return np.where(nothing, NULL_ACTION, actions), np.where(nothing, -1, deciders)

    def best_actions(self, points: Floats) -> Ints:
        """Return what `choose` would, but without the rules that decide, in one compiled call.

        Args:
            points: `(n, features)`, inside the features' ranges; not checked.
        """
        out = np.empty(len(points), dtype=np.int64)
        sums = np.empty((2, len(self.action_names)))
        arrays = self.bounds, self.actions, self.fitness, self.weights, self.x0
        best_actions(*arrays, np.ascontiguousarray(points), sums, out, self.adds)
        return out

    def prediction_array(self, observation: ArrayLike) -> Floats:
        """Return the predicted payoff of every action, NaN where no rule advocates it.

        Args:
            observation: one `(features,)`, for `(A,)` numbers, or a batch `(n, features)`, for `(n, A)`.
        """
        batch = self.checked_observations(observation)
        arrays = self._arrays(self.matches(batch), batch)
        return arrays if np.ndim(observation) == 2 else arrays[0]

    def _arrays(self, matching: Mask, observations: Floats) -> Floats:
        out = np.empty((len(observations), len(self.action_names)))
        axes = tuple(range(len(self.features)))
        columns = self.actions, self.fitness, self.weights, self.x0
        prediction_arrays(matching, *columns, observations, axes, out, self.adds)
        return out

    def predictions(self, observations: Floats) -> Floats:
        """Return every rule's prediction `(n, rules)` at observations `(n, features)`, matching or not."""
        out = np.empty((len(observations), len(self)))
        no_variance = np.column_stack([self.weights, np.zeros(len(self))])
        strengths_at(no_variance, self.x0, observations, tuple(range(len(self.features))), out)
        return out

    @property
    def scoring(self) -> Scoring:
        """Predicted payoffs, averaged by fitness or added up."""
        return Scoring.of(self.weights, self.x0, np.zeros(len(self)), self.fitness, self.adds)

    def beats(self, rule: int, matching: Mask, observations: Floats) -> Mask:
        """Return which matching rules speak for a better action than `rule`, or are fitter for the same."""
        actions, action = self.actions, int(self.actions[rule])
        arrays = self._arrays(matching, observations)
        payoffs, rule_payoff = arrays[:, actions], arrays[:, [action]]
        better = (payoffs > rule_payoff) | ((payoffs == rule_payoff) & (actions < action))
        tied = (self.fitness == self.fitness[rule]) & (np.arange(len(self)) < rule)
        fitter = (actions == action) & ((self.fitness > self.fitness[rule]) | tied)
        beating: Mask = matching & (better | fitter)
        return beating

    def _compared(self, matching: Ints, winner: int, point: Floats) -> Comparison:
        """Say what the matching rules predict: the action predicted to pay most is taken."""
        names, winner_action, actions = self.action_names, int(self.actions[winner]), self.actions
        array, predicted = self.prediction_array(point)[0], self.predictions(point)[0]
        advocated = [a for a in np.argsort(-array, kind="stable").tolist() if not np.isnan(array[a])]
        action_ranks = np.argsort(advocated + [a for a in range(len(names)) if a not in advocated])
        keys = (matching, -self.fitness[matching], action_ranks[actions[matching]])
        ranking = matching[np.lexsort(keys)].tolist()
        reasons = {a: _vote_lost(names[a], float(array[a]), float(array[winner_action])) for a in advocated}
        reasons[winner_action] = ""
        others = tuple(
            Lost(r, float(predicted[r]), reasons[int(actions[r])] or self._less_fit(r, winner), self)
            for r in ranking
            if r != winner
        )
        reason = _vote_reason(names, array, advocated)
        speakers = int((actions[matching] == winner_action).sum())
        if speakers > 1:
            reason += (
                f"; rule {winner + 1} is the fittest of the {speakers} that speak for {names[winner_action]}"
            )
        return Comparison(winner, reason, others, {names[a]: float(array[a]) for a in advocated})

    def _less_fit(self, rule: int, winner: int) -> str:
        """Return why a rule for the same action does not count as the one that decides."""
        lower, higher = distinct_texts(float(self.fitness[rule]), float(self.fitness[winner]))
        fit = f"less fit: {lower} < {higher}" if lower != higher else f"equally fit ({higher})"
        return f"speaks for the same action, {fit}"

    def rule_weights(self) -> Floats:
        """Return each rule's fitness, `(rules,)`."""
        return self.fitness

    def rule_notes(self, rule: int) -> str:
        """Return the least and the largest payoff that rule number `rule` predicts, and its mean error."""
        pieces, _ = without_wraps(self.bounds[[rule]], self.features)
        ends = self.weights[rule, 1:, None] * pieces
        constant = self.weights[rule, 0] * self.x0
        low, high = (
            constant + ends.min(axis=2).sum(axis=1).min(),
            constant + ends.max(axis=2).sum(axis=1).max(),
        )
        return f"{low:.2f}…{high:.2f} ± {self.errors[rule]:.2f}"


def _vote_reason(names: tuple[str, ...], array: Floats, advocated: list[int]) -> str:
    """Return why the action is taken; `advocated` are the actions with votes, the best first."""
    best, *others = advocated
    if not others:
        (payoff,) = distinct_texts(float(array[best]))
        return f"{names[best]} is predicted to pay {payoff}, and no matching rule speaks for another action"
    best_payoff, next_payoff = distinct_texts(float(array[best]), float(array[others[0]]))
    if array[best] == array[others[0]]:
        tie = f"{names[best]} and {names[others[0]]} are predicted to pay the same, {best_payoff}"
        return f"{tie}: of equals, the lower action index wins"
    return f"{names[best]} is predicted to pay {best_payoff}, next {names[others[0]]} {next_payoff}"


def _vote_lost(name: str, payoff: float, best: float) -> str:
    """Return why a rule for another action than the one taken lost."""
    lower, higher = distinct_texts(payoff, best)
    if payoff == best:
        return f"{name} is predicted to pay as much, {higher}: of equals, the lower action index wins"
    return f"{name} is predicted to pay less: {lower} < {higher}"


@kernel
def prediction_arrays(
    matching: Mask,
    actions: NDArray[np.int32],
    fitness: Floats,
    weights: Floats,
    x0: float,
    points: Floats,
    axes: tuple[int, ...],
    out: Floats,
    adds: bool = False,
) -> None:
    """Write the prediction array of every point, `(points, A)`, NaN where no rule advocates an action.

    Where votes add up, it holds the sums rather than the means.
    """
    totals = np.empty(out.shape[1])
    for s in range(points.shape[0]):
        out[s] = 0.0
        totals[:] = 0.0
        for r in range(matching.shape[1]):
            if matching[s, r]:
                out[s, actions[r]] += fitness[r] * prediction(weights, r, x0, points, s, axes)
                totals[actions[r]] += fitness[r]
        for action in range(out.shape[1]):
            if not totals[action] > 0:
                out[s, action] = np.nan
            elif not adds:
                out[s, action] /= totals[action]


@kernel
def best_actions(
    bounds: NDArray[Any],
    actions: NDArray[np.int32],
    fitness: Floats,
    weights: Floats,
    x0: float,
    points: Floats,
    sums: Floats,
    out: Ints,
    adds: bool = False,
) -> None:
    """Write the best action at every point `(n,)`, −1 where no rule matches; `sums` is scratch of `(2, A)`.

    Numbers are added up in the order of `prediction_arrays`, so that both see the same best one.
    """
    for s in range(points.shape[0]):
        axes = points[s]  # its length is all that a prediction asks for
        sums[:] = 0.0
        for r in range(bounds.shape[0]):
            if rule_matches(bounds, r, points, s):
                sums[0, actions[r]] += fitness[r] * prediction(weights, r, x0, points, s, axes)
                sums[1, actions[r]] += fitness[r]
        out[s], top = NULL_ACTION, -np.inf
        for a in range(sums.shape[1]):
            if sums[1, a] > 0:
                value = sums[0, a] if adds else sums[0, a] / sums[1, a]
                if out[s] < 0 or value > top:
                    out[s], top = a, value
