"""Where two policies do different things, and what it costs."""

from ifthen.explain.diff.differences import PolicyDiff
from ifthen.explain.diff.played import PlayedDiff
from ifthen.explain.diff.policies import diff
from ifthen.explain.diff.states import Deed, DifferentState

__all__ = ["Deed", "DifferentState", "PlayedDiff", "PolicyDiff", "diff"]
