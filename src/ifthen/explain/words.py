"""Rules in words, with what each of them decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ifthen.explain.prune import compact
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.rollout.evaluate import policy_table
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular import TabularTask


@dataclass(frozen=True)
class RuleInWords:
    """One rule for reading.

    Args:
        number: from 1.
        words: IF … THEN …
        notes: what it carries beyond that, such as the payoff it predicts.
        decides: how many decision states of the task it decides.
        share: the same as a share of all decision states.
    """

    number: int
    words: str
    notes: str
    decides: int
    share: float


LONGEST_READING = 60


def readable(ruleset: RuleSet, task: TabularTask) -> RuleSet:
    """Return the ruleset, or where it is an XCSF's and long, those of its rules that choose the same."""
    if len(ruleset) <= LONGEST_READING or not isinstance(ruleset, PredictionArrayRules):
        return ruleset
    return compact(ruleset, task) if (policy_table(ruleset, task) >= 0).any() else ruleset


def rules_in_words(ruleset: RuleSet, task: TabularTask) -> list[RuleInWords]:
    """Return every rule in words with the number of states it decides."""
    points = task.dynamics.points
    _, deciders = ruleset.choose(points)
    counts = np.bincount(deciders[deciders >= 0], minlength=len(ruleset))
    return [
        RuleInWords(
            number=r + 1,
            words=ruleset.rule_in_words(r),
            notes=ruleset.rule_notes(r),
            decides=int(counts[r]),
            share=int(counts[r]) / len(points),
        )
        for r in range(len(ruleset))
    ]
