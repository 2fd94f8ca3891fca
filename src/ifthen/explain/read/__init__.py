"""Rulesets from files and from text that people write."""

from ifthen.explain.read.files import parse_rules, read_ruleset

__all__ = ["parse_rules", "read_ruleset"]
