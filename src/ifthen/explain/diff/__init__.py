"""Where two policies do different things, and what it costs."""

from ifthen.explain.diff.differences import Deed, DifferentState, PolicyDiff
from ifthen.explain.diff.policies import diff

__all__ = ["Deed", "DifferentState", "PolicyDiff", "diff"]
