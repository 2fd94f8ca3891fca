"""Proofs about a ruleset: what holds in every state, what does not, and a witness for each."""

from ifthen.explain.verify.check import verify
from ifthen.explain.verify.findings import Finding, Verification
from ifthen.explain.verify.requirements import HOLDS, MEASURES, Requirement

__all__ = ["HOLDS", "MEASURES", "Finding", "Requirement", "Verification", "verify"]
