"""Prediction-array inference: matching rules vote, weighted by fitness (paper, section "XCS").

x = (x0, s) is the state with a constant x0 put before it, and a rule predicts the payoff w·x of its action.
The prediction array holds for every action the mean prediction of the matching rules that advocate it,
weighted by their fitness; the action with the highest one wins, the lowest index among equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.errors import RuleError
from ifthen.inference.strength import prediction, strengths_at
from ifthen.jit import kernel
from ifthen.rules.arrays import finite_column
from ifthen.rules.features import Feature
from ifthen.rules.ruleset import NULL_ACTION, RuleSet


class PredictionArrayRules(RuleSet):
    """Overlapping rules without order that predict payoffs; the action predicted to pay most is taken.

    Args:
        bounds: the conditions, `(rules, features, 2)`; the two bounds in any order, both included.
        actions: the actions, `(rules,)`, as indices into `action_names`.
        features: name and range of each feature.
        action_names: one name per action of the task.
        weights: w of each rule, `(rules, features + 1)`, the weight of x0 first.
        fitness: the weight of each rule's vote, `(rules,)`, positive.
        errors: mean error of each rule's predictions, `(rules,)`, not negative.
        numerosity: microclassifiers that each rule stands for, `(rules,)`, from 1.
        experience: updates that each rule has had, `(rules,)`.
        x0: the constant put before the state.
    """

    kind = "prediction-array"
    own_columns = ("weights", "fitness", "error", "numerosity", "experience")
    own_settings = ("x0",)

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
        self.weights = finite_column(weights, (len(self), len(self.features) + 1), "weights")
        self.fitness = finite_column(fitness, (len(self),), "fitness")
        self.errors = finite_column(errors, (len(self),), "errors")
        self.numerosity = finite_column(numerosity, (len(self),), "numerosity")
        self.experience = finite_column(experience, (len(self),), "experience")
        self.x0 = float(finite_column(x0, (), "x0"))
        if (self.fitness <= 0).any():
            raise RuleError("fitness must be positive.")
        for name, column, least in (
            ("errors", self.errors, 0),
            ("numerosity", self.numerosity, 1),
            ("experience", self.experience, 0),
        ):
            if (column < least).any():
                raise RuleError(f"{name} must be at least {least}, not {column.min():g}.")

    def decide(
        self, matching: NDArray[np.bool_], observations: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the best action and the fittest rule that advocates it, both −1 where no rule matches."""
        arrays = self._arrays(matching, observations)
        nothing = np.isnan(arrays).all(axis=1)
        actions = np.where(np.isnan(arrays), -np.inf, arrays).argmax(axis=1)
        advocates = matching & (self.actions == actions[:, None])
        deciders = np.where(advocates, self.fitness, -1.0).argmax(axis=1)
        return np.where(nothing, NULL_ACTION, actions), np.where(nothing, -1, deciders)

    def best_actions(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return what `choose` would, but without the rules that decide, in one compiled call.

        Args:
            points: `(n, features)`, inside the features' ranges; not checked.
        """
        out = np.empty(len(points), dtype=np.int64)
        sums = np.empty((2, len(self.action_names)))
        best_actions(
            self.bounds,
            self.actions,
            self.fitness,
            self.weights,
            self.x0,
            np.ascontiguousarray(points),
            sums,
            out,
        )
        return out

    def prediction_array(self, observation: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted payoff of every action, NaN where no rule advocates it.

        Args:
            observation: one `(features,)`, for `(A,)` numbers, or a batch `(n, features)`, for `(n, A)`.
        """
        batch = self.checked_observations(observation)
        arrays = self._arrays(self.matches(batch), batch)
        return arrays if np.ndim(observation) == 2 else arrays[0]

    def _arrays(self, matching: NDArray[np.bool_], observations: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.empty((len(observations), len(self.action_names)))
        axes = tuple(range(len(self.features)))
        prediction_arrays(
            matching, self.actions, self.fitness, self.weights, self.x0, observations, axes, out
        )
        return out

    def predictions(self, observations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return every rule's prediction `(n, rules)` at observations `(n, features)`, matching or not."""
        out = np.empty((len(observations), len(self)))
        no_variance = np.column_stack([self.weights, np.zeros(len(self))])
        strengths_at(no_variance, self.x0, observations, tuple(range(len(self.features))), out)
        return out

    def extra_columns(self) -> dict[str, NDArray[np.float64]]:
        """Return what each rule has learnt."""
        return {
            "weights": self.weights,
            "fitness": self.fitness,
            "error": self.errors,
            "numerosity": self.numerosity,
            "experience": self.experience,
        }

    def settings(self) -> dict[str, Any]:
        """Return x0."""
        return {"x0": self.x0}

    def rule_notes(self, rule: int) -> str:
        """Return the least and the largest payoff that rule number `rule` predicts, and its mean error."""
        ends = self.weights[rule, 1:, None] * self.bounds[rule]
        first = self.weights[rule, 0] * self.x0
        low, high = first + ends.min(axis=1).sum(), first + ends.max(axis=1).sum()
        return f"{low:.2f}…{high:.2f} ± {self.errors[rule]:.2f}"


@kernel
def prediction_arrays(
    matching: NDArray[np.bool_],
    actions: NDArray[np.int32],
    fitness: NDArray[np.float64],
    weights: NDArray[np.float64],
    x0: float,
    points: NDArray[np.float64],
    axes: tuple[int, ...],
    out: NDArray[np.float64],
) -> None:
    """Write the prediction array of every point, `(points, A)`, NaN where no rule advocates an action."""
    totals = np.empty(out.shape[1])
    for s in range(points.shape[0]):
        out[s] = 0.0
        totals[:] = 0.0
        for r in range(matching.shape[1]):
            if matching[s, r]:
                out[s, actions[r]] += fitness[r] * prediction(weights, r, x0, points, s, axes)
                totals[actions[r]] += fitness[r]
        for action in range(out.shape[1]):
            out[s, action] = out[s, action] / totals[action] if totals[action] > 0 else np.nan


@kernel
def best_actions(
    bounds: NDArray[Any],
    actions: NDArray[np.int32],
    fitness: NDArray[np.float64],
    weights: NDArray[np.float64],
    x0: float,
    points: NDArray[np.float64],
    sums: NDArray[np.float64],
    out: NDArray[np.int64],
) -> None:
    """Write the best action at every point `(n,)`, −1 where no rule matches; `sums` is scratch of `(2, A)`.

    Numbers are added up in the order of `prediction_arrays`, so that both see the same best one.
    """
    for s in range(points.shape[0]):
        axes = points[s]  # its length is all that a prediction asks for
        sums[:] = 0.0
        for r in range(bounds.shape[0]):
            inside = True
            for d in range(bounds.shape[1]):
                if points[s, d] < bounds[r, d, 0] or points[s, d] > bounds[r, d, 1]:
                    inside = False
                    break
            if inside:
                sums[0, actions[r]] += fitness[r] * prediction(weights, r, x0, points, s, axes)
                sums[1, actions[r]] += fitness[r]
        out[s], top = NULL_ACTION, -np.inf
        for a in range(sums.shape[1]):
            if sums[1, a] > 0 and (out[s] < 0 or sums[0, a] / sums[1, a] > top):
                out[s], top = a, sums[0, a] / sums[1, a]
