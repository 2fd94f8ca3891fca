"""Rules in words, ordered for reading, as text, tables and LaTeX."""

from ifthen.explain.words.reading import Reading, ShownRule
from ifthen.explain.words.rules import (
    LONGEST_READING,
    RuleInWords,
    read_rules,
    readable,
    rule_for_reading,
    rules_in_words,
)

__all__ = [
    "LONGEST_READING",
    "Reading",
    "RuleInWords",
    "ShownRule",
    "read_rules",
    "readable",
    "rule_for_reading",
    "rules_in_words",
]
