"""How rules choose an action: one file per kind of ruleset."""

from __future__ import annotations

from ifthen.inference.decision_list import DecisionList
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.inference.strength import StrengthRules

__all__ = ["DecisionList", "PredictionArrayRules", "StrengthRules"]
