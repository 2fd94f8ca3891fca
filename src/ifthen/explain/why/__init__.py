"""Why a policy does what it does at one observation, and what would change it."""

from ifthen.explain.why.counterfactual import Counterfactual
from ifthen.explain.why.explanation import Explanation, explain, explain_all
from ifthen.explain.why.reasons import Lost
from ifthen.explain.why.standing import Standing

__all__ = ["Counterfactual", "Explanation", "Lost", "Standing", "explain", "explain_all"]
