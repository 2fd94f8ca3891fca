"""Rules in words, with what each of them decides, in the order in which they are best read.

The order of a decision list is its meaning and is kept; a rule that matches everything reads OTHERWISE. Rules
without order are grouped by action, the action that decides most first, and in a group by the share of states
that they decide, then by strength or fitness.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.boxes import coverage, first_match
from ifthen.explain.domain import AnyTask, points_of, ruleset_of, where_in_words
from ifthen.explain.fewer.compact import compact, compact_at
from ifthen.explain.met import Met
from ifthen.explain.points import choose_at
from ifthen.explain.visited import visited
from ifthen.explain.words.reading import Reading, ShownRule
from ifthen.inference.decision_list import DecisionList
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.inference.strength import StrengthRules
from ifthen.rollout.evaluate import policy_table
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask

LONGEST_READING = 60

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


@dataclass(frozen=True)
class RuleInWords:
    """One rule for reading.

    Args:
        number: from 1.
        words: IF … THEN …
        notes: what it carries beyond that, such as the payoff it predicts.
        decides: how many decision states of the task it decides; in an environment, of the states met on z.
        share: the same as a share of all of them.
    """

    number: int
    words: str
    notes: str
    decides: int
    share: float


def readable(ruleset: RuleSet, task: AnyTask) -> RuleSet:
    """Return the ruleset, or where it is an XCSF's and long, those of its rules that choose the same.

    In an environment they do so in the states met when z is played.
    """
    if len(ruleset) <= LONGEST_READING or not isinstance(ruleset, PredictionArrayRules):
        return ruleset
    if isinstance(task, EnvTask):
        return compact_at(ruleset, visited(ruleset, task).points)
    return compact(ruleset, task) if (policy_table(ruleset, task) >= 0).any() else ruleset


def rules_in_words(ruleset: RuleSet, task: AnyTask) -> list[RuleInWords]:
    """Return every rule in words with the number of states it decides; in an environment, of those met."""
    points = states_of(ruleset, task)
    assert points is not None
    _, deciders = ruleset.choose(points)
    counts = np.bincount(deciders[deciders >= 0], minlength=len(ruleset))
    return [
        RuleInWords(
            number=r + 1,
            words=rule_for_reading(ruleset, r),
            notes=ruleset.rule_notes(r),
            decides=int(counts[r]),
            share=int(counts[r]) / len(points),
        )
        for r in range(len(ruleset))
    ]


def states_of(ruleset: RuleSet, task: AnyTask | None) -> NDArray[np.float64] | None:
    """Return the states that shares are of, `(n, features)`: in an environment, those met on z."""
    if isinstance(task, EnvTask):
        return visited(ruleset, task).points
    return points_of(ruleset, task)


def read_rules(policy: Any, task: AnyTask | None = None) -> Reading:
    """Return all rules of a ruleset in words, ordered for reading, with the share of states each decides.

    Args:
        policy: a RuleSet, or a trained system.
        task: shares are of its decision states or, in an environment, of the states met when z is played;
            without one they are of the whole space. Where its vectors cannot be listed they are known for
            decision lists, exactly, and left out otherwise.
    """
    ruleset = ruleset_of(policy)
    points = states_of(ruleset, task)
    where = where_in_words(ruleset, task)
    if isinstance(task, EnvTask) and points is not None:
        where = f"{Met(points, len(task.z)).in_words()} of {task.name}"
    decided = known_shares(ruleset, points)
    if isinstance(task, EnvTask):
        decided = decided._replace(never=proven_idle(ruleset, decided))
    weights, order = weights_of(ruleset), np.arange(len(ruleset))
    if not isinstance(ruleset, DecisionList):
        counts = np.zeros(len(ruleset)) if decided.counts is None else decided.counts
        order = reading_order(ruleset, counts, weights)
    groups = np.cumsum(np.diff(ruleset.actions[order], prepend=ruleset.actions[order[0]]) != 0)
    rules = tuple(
        ShownRule(
            rule=r,
            head=_head(ruleset, r),
            action=ruleset.action_names[ruleset.actions[r]],
            payoff=ruleset.rule_notes(r),
            weight=None if weights is None else float(weights[r]),
            decides=None if decided.counts is None else int(decided.counts[r]),
            share=decided.shares[r],
            group=int(group),
            never=decided.never[r],
        )
        for r, group in zip(order.tolist(), groups, strict=True)
    )
    total = None if points is None else len(points)
    uncovered = None if total is None or decided.counts is None else total - int(decided.counts.sum())
    return Reading(ruleset, rules, total, uncovered, where, decided.uncovered)


class Decided(NamedTuple):
    """What each rule decides, as far as it is known."""

    counts: NDArray[np.int64] | None
    """`(rules,)`: how many states; None where they cannot be listed."""
    shares: list[float | None]
    """The share of the states, or of the space where they cannot be listed."""
    never: list[bool]
    """Whether the rule decides nowhere, as far as that is proven."""
    uncovered: float | None
    """The share in which no rule matches."""


def known_shares(ruleset: RuleSet, points: NDArray[np.float64] | None) -> Decided:
    """Return what each rule decides of the points `(n, features)` or, where these are None, of the space.

    Of spaces that cannot be listed decision lists only can be asked, box by box.
    """
    if points is not None:
        counts = decided_counts(ruleset, points)
        shares: list[float | None] = [count / len(points) for count in counts.tolist()]
        return Decided(counts, shares, (counts == 0).tolist(), 1 - int(counts.sum()) / len(points))
    if not isinstance(ruleset, DecisionList):
        return Decided(None, [None] * len(ruleset), [False] * len(ruleset), None)
    found, rest = first_match(ruleset), coverage(ruleset.bounds, ruleset.features)
    uncovered = None if rest.gave_up else rest.uncovered_share
    if rest.complete is False and uncovered == 0:
        uncovered = sys.float_info.min  # a hole that is flat along a real feature has no share, but is there
    return Decided(None, [rule.share for rule in found], [rule.decides is False for rule in found], uncovered)


def proven_idle(ruleset: RuleSet, decided: Decided) -> list[bool]:
    """Return for every rule whether it is proven that it decides nowhere: states not met may yet be.

    Of decision lists that can be asked, box by box.
    """
    if not isinstance(ruleset, DecisionList) or not any(decided.never):
        return [False] * len(ruleset)
    return [rule.decides is False for rule in first_match(ruleset)]


def decided_counts(ruleset: RuleSet, points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many of the points `(n, features)` each rule decides, `(rules,)`."""
    _, deciders = choose_at(ruleset, points)
    return np.bincount(deciders[deciders >= 0], minlength=len(ruleset))


def weights_of(ruleset: RuleSet) -> NDArray[np.float64] | None:
    """Return each rule's strength at the centre of its box, or its fitness, `(rules,)`; None for neither."""
    if isinstance(ruleset, PredictionArrayRules):
        return ruleset.fitness
    if isinstance(ruleset, StrengthRules):
        return np.diagonal(ruleset.strengths(ruleset.bounds.mean(axis=2)))
    return None


def reading_order(
    ruleset: RuleSet, counts: NDArray[Any], weights: NDArray[np.float64] | None
) -> NDArray[np.int64]:
    """Return the rules' numbers: actions that decide most first, in each the rules that decide most first."""
    of_action = np.bincount(ruleset.actions, counts, minlength=len(ruleset.action_names))
    worth = np.zeros(len(ruleset)) if weights is None else weights
    return np.lexsort((-worth, -counts, ruleset.actions, -of_action[ruleset.actions]))


def rule_for_reading(ruleset: RuleSet, rule: int) -> str:
    """Return a rule in words: IF … THEN …, OTHERWISE … for the rest of a decision list, or ALWAYS … ."""
    words = ruleset.rule_in_words(rule)
    head = _head(ruleset, rule)
    return words.replace("ALWAYS", head, 1) if head == "OTHERWISE" else words


def _head(ruleset: RuleSet, rule: int) -> str:
    condition = ruleset.condition_in_words(rule)
    if condition:
        return f"IF {condition}"
    return "OTHERWISE" if rule > 0 and isinstance(ruleset, DecisionList) else "ALWAYS"
