"""Summed strengths: the matching rules' strengths add up by action, and the largest sum wins (ZCS).

Wilson, "ZCS: A zeroth level classifier system", Evolutionary Computation 2(1), 1994. There the action is
drawn with a probability in proportion to its sum; a policy that can be read takes the one with the largest.
It is a prediction array in which every rule predicts 1 and votes with its strength, and votes add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ifthen.rules.feature import Feature
from ifthen.rules.prediction_array import PredictionArrayRules


class StrengthSumRules(PredictionArrayRules):
    """Overlapping rules without order whose strengths add up; the action with most strength is taken.

    Args, besides those of `RuleSet`:
        strength: of each rule, `(rules,)`, positive.
    """

    kind = "strength-sum"
    how = (
        "Of the rules that match, those with the same action add up their strengths; the action with the "
        "largest sum is taken, and its strongest rule counts as the one that decides."
    )
    adds = True
    wins = "speaks for an action that has at least as much strength"
    overlap = "Overlaps are normal where strengths add up."
    notes_title = "Its strength"
    weight_name = "strength"
    own_columns: ClassVar[Mapping[str, str]] = {"strength": "fitness"}
    own_settings = ()

    def __init__(
        self,
        bounds: ArrayLike,
        actions: ArrayLike,
        features: Sequence[Feature],
        action_names: Sequence[str],
        strength: ArrayLike,
    ) -> None:
        n = len(np.atleast_1d(np.asarray(actions)))
        ones = np.zeros((n, len(tuple(features)) + 1))
        ones[:, 0] = 1.0
        nothing = np.zeros(n)
        super().__init__(
            bounds, actions, features, action_names, ones, strength, nothing, np.ones(n), nothing, 1.0
        )

    def rule_notes(self, rule: int) -> str:
        """Return the strength of rule number `rule`."""
        return f"{self.fitness[rule]:.2f}"
