"""How rules choose an action: one file per kind of ruleset."""

from __future__ import annotations

from ifthen.rules.decision_list import DecisionList
from ifthen.rules.prediction_array import PredictionArrayRules
from ifthen.rules.strength import StrengthRules
from ifthen.rules.strength_sum import StrengthSumRules

__all__ = ["DecisionList", "PredictionArrayRules", "StrengthRules", "StrengthSumRules"]
