"""Proofs about a ruleset: which properties hold, which do not, and a witness for each finding."""

from ifthen.verification.findings import Finding, Requirement
from ifthen.verification.properties import PROPERTIES, Property
from ifthen.verification.verification import Verification, verify

__all__ = ["PROPERTIES", "Finding", "Property", "Requirement", "Verification", "verify"]
