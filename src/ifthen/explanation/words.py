"""Rules in words, with the share of states that each decides, in the order in which they are best read.

The order of a decision list is its meaning and is kept. Rules without order are grouped by action, the action
that decides most first, and in a group by the share of states that they decide, then by strength or fitness.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explanation.reading import Reading, ShownRule
from ifthen.rules.boxes.cover import coverage
from ifthen.rules.boxes.lists import first_match
from ifthen.rules.ruleset import RuleSet
from ifthen.simplify.compact import compact_at
from ifthen.simulate.scope import AnyTask, Scope, ruleset_of, scope_of, where_in_words

LONGEST_READING = 60
"""Of longer rulesets that vote, only the rules that make a difference are read."""


def readable(ruleset: RuleSet, task: AnyTask) -> RuleSet:
    """Return the ruleset or, where it is long and votes, those of its rules that choose the same.

    In an environment they choose the same in the states visited from the training seeds.
    """
    if len(ruleset) <= LONGEST_READING or not ruleset.votes:
        return ruleset
    scope = scope_of(ruleset, task)
    return ruleset if scope is None else compact_at(ruleset, scope.points)


def read_rules(policy: Any, task: AnyTask | None = None) -> Reading:
    """Return all rules of a policy in words, ordered for reading, with the share of states each decides.

    Args:
        policy: a RuleSet, or a trained system.
        task: shares are of its decision states or, in an environment, of the states visited from the training
            seeds; a system's own task where None. Without a task they are of the whole space; where its
            vectors cannot be listed, shares are known for decision lists only.
    """
    ruleset = ruleset_of(policy)
    task = getattr(policy, "task", None) if task is None else task
    scope = scope_of(ruleset, task)
    where = where_in_words(ruleset, task) if scope is None else scope.words
    if task is not None and scope is not None and not scope.complete:
        where = f"{where} of {task.name}"
    (shares, never, uncovered_share), weights = _decided(ruleset, scope), ruleset.rule_weights()
    order = reading_order(ruleset, scope, weights)
    groups = np.cumsum(np.diff(ruleset.actions[order], prepend=ruleset.actions[order[0]]) != 0)
    rules = tuple(
        ShownRule(
            rule=r,
            head=ruleset.head_in_words(r),
            action=ruleset.action_of(r),
            notes=ruleset.rule_notes(r),
            weight=None if weights is None else float(weights[r]),
            decides=None if scope is None else int(scope.counts[r]),
            share=shares[r],
            group=int(group),
            never=never[r],
        )
        for r, group in zip(order.tolist(), groups, strict=True)
    )
    total = None if scope is None else len(scope)
    uncovered = None if scope is None else len(scope) - int(scope.counts.sum())
    return Reading(ruleset, rules, total, uncovered, where, uncovered_share)


def _decided(ruleset: RuleSet, scope: Scope | None) -> tuple[list[float | None], list[bool], float | None]:
    """Return each rule's share of a scope or of the whole space, which never decide, and the uncovered share.

    States that were not visited, and spaces that cannot be listed, are reasoned about box by box where the
    first rule decides. What is not known is None, and a rule only never decides where that is proven.
    """
    shares: list[float | None] = [None] * len(ruleset)
    never, uncovered = [False] * len(ruleset), None
    if scope is not None:
        idle = scope.counts == 0
        shares, uncovered = scope.shares.tolist(), 1 - int(scope.counts.sum()) / len(scope)
        if scope.complete or not idle.any():
            return shares, idle.tolist(), uncovered
    if ruleset.ordered:
        found = first_match(ruleset)
        never = [rule.decides is False for rule in found]
        if scope is None:
            rest = coverage(ruleset.bounds, ruleset.features)
            shares = [rule.share for rule in found]
            uncovered = None if rest.gave_up else rest.uncovered_share
            if rest.complete is False and uncovered == 0:
                uncovered = sys.float_info.min  # a gap that is flat along a real feature has no share
    return shares, never, uncovered


def reading_order(
    ruleset: RuleSet, scope: Scope | None, weights: NDArray[np.float64] | None
) -> NDArray[np.int64]:
    """Return the rules' numbers: actions that decide most first, in each the rules that decide most first."""
    if ruleset.ordered:
        return np.arange(len(ruleset))
    counts = np.zeros(len(ruleset)) if scope is None else scope.counts
    of_action = np.bincount(ruleset.actions, counts, minlength=len(ruleset.action_names))
    worth = np.zeros(len(ruleset)) if weights is None else weights
    return np.lexsort((-worth, -counts, ruleset.actions, -of_action[ruleset.actions]))
