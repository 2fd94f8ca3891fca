"""Fewer rules for an environment: what is not needed to play as well goes.

An environment has no states to list, so that what may go is found by playing from fixed reset seeds. First go
rules and bounds without which nothing changes: anywhere, by reasoning about boxes, and then in any of the
states that were met. Then, one at a time, goes the rule, and after these the condition, without which the
rules play best, as long as their mean return does not fall below the given rules' by more than a given loss.
Bounds that are left are rounded to as few digits as that allows. The last rule of a decision list comes to
read OTHERWISE, so that the list has an answer everywhere.

What holds is said by the result: on the seeds that were played, nothing beyond. Measure it on others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.checks import real_number
from ifthen.errors import RuleError, TaskError
from ifthen.explain.fewer.by_strength import list_by_strength
from ifthen.explain.fewer.compact import compact_at
from ifthen.explain.fewer.contest import Contest, a_condition_less, a_rule_less, size_of, with_rest
from ifthen.explain.fewer.drafts import ListedDraft, rules_left
from ifthen.explain.fewer.rounding import rounded_bounds
from ifthen.explain.fewer.simplify import drop_needless, merge_rules, simplify, widen_intervals
from ifthen.explain.met import Met, actions_at, states_met
from ifthen.inference.decision_list import DecisionList
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.inference.strength import StrengthRules
from ifthen.rollout.score import checked_ruleset, checked_seeds, score
from ifthen.rules.features import lows_and_highs
from ifthen.rules.ruleset import RuleSet
from ifthen.systems.base import checked_threads
from ifthen.tasks.env_task import EnvTask

Progress = Callable[[RuleSet], None]


class NothingToPruneError(RuleError):
    """Rules that cannot be pruned: they meet a state in which none of them matches, and get the floor."""


@dataclass(frozen=True)
class Played:
    """Rules that were pruned by playing.

    Args:
        ruleset: the rules that are left.
        given: the rules before.
        performance: their mean return over the seeds.
        performance_given: that of the given rules; the task's floor where they met a state without a rule.
        failed_given: whether they did.
        seeds: the reset seeds that were played from, `(k,)`.
        states: how many states the given rules met there.
        changed: in how many of these another action is chosen now.
    """

    ruleset: RuleSet
    given: RuleSet
    performance: float
    performance_given: float
    failed_given: bool
    seeds: NDArray[np.int64]
    states: int
    changed: int

    def __str__(self) -> str:
        before, after = (f"{counted(rules)}" for rules in (self.given, self.ruleset))
        met = f"the {self.states:,} states met in {len(self.seeds):,} episodes"
        same = f"the same on {met}" if not self.changed else f"another action in {self.changed:,} of {met}"
        first = "a state without a rule" if self.failed_given else f"mean return {self.performance_given:.6g}"
        return (
            f"{before} became {after}: {first} before, mean return "
            f"{self.performance:.6g} now over {len(self.seeds):,} episodes; {same}. "
            "Of other states and other seeds nothing is guaranteed."
        )


def counted(rules: RuleSet) -> str:
    """Return "7 rules with 12 conditions"."""
    n, conditions, _ = size_of(rules)
    return f"{n:,} rule{'' if n == 1 else 's'} with {conditions:,} condition{'' if conditions == 1 else 's'}"


def prune_by_playing(
    policy: Any,
    task: EnvTask,
    *,
    loss: float = 0.0,
    seeds: ArrayLike | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Played:
    """Return fewer and shorter rules that play as well, or nearly so, in an environment.

    Strength rules become a decision list where that chooses the same everywhere; otherwise they stay what
    they are. Rules of an XCSF, which vote, only lose rules, and choose the same in all states met.

    Args:
        policy: a ruleset of any kind, or a trained system.
        task: the environment.
        loss: how much less the mean return over the seeds may be than that of the given rules; a number in
            the units of the return, not a share of it.
        seeds: the reset seeds to play from; where None z and 100 others, `task.pruning(100)`.
        threads: threads or worker processes; all cores where None. Results do not depend on it.
        progress: called with the rules after every step.
    """
    if not isinstance(task, EnvTask):
        raise TaskError(f"task must be an environment, such as task_by_name('CartPole-v1'), not {task!r}.")
    given = checked_ruleset(policy, task)
    loss = real_number("loss", loss, 0, 1e300)
    chosen = np.concatenate([task.z, task.pruning()]) if seeds is None else checked_seeds(seeds)
    used = checked_threads(threads)
    told = progress or (lambda _: None)
    if isinstance(given, PredictionArrayRules):
        met = states_met(given, task, chosen)
        rules: RuleSet = compact_at(given, met.points)
    else:
        rules, met = _pruned(given, task, chosen, used, loss, told)
    before, after = (score(each, task, chosen, used) for each in (given, rules))
    changed = int((actions_at(given, met.points) != actions_at(rules, met.points)).sum())
    means = after.performance, before.performance, before.failed
    return Played(rules, given, *means, chosen, len(met.points), changed)


def _pruned(
    given: RuleSet, task: EnvTask, seeds: NDArray[np.int64], threads: int, loss: float, told: Progress
) -> tuple[RuleSet, Met]:
    """Return the pruned rules of a ruleset that has a rulebook, and the states that the given one met."""
    contest = Contest(task, seeds, threads)
    rules = _completed(given, contest)
    met = states_met(given, task, seeds)
    contest.least = float(contest.performances([rules])[0]) - loss
    if isinstance(rules, StrengthRules):
        rules = list_by_strength(rules) or rules
    if isinstance(rules, DecisionList):
        rules = simplify(rules, intervals="keep").ruleset
    rules = without_needless(rules, states_met(rules, task, seeds))
    told(rules)
    size = None
    while size != size_of(rules):  # a condition less, or a rounder bound, can make a rule needless
        size = size_of(rules)
        for fewer in (a_rule_less, a_condition_less):
            rules = _down(rules, fewer, contest, told)
        rules = rounded_bounds(rules, contest)
        if isinstance(rules, DecisionList):
            rules = simplify(rules, intervals="keep").ruleset
        rules = without_needless(rules, states_met(rules, task, seeds))
        told(rules)
    return rules, met


def _completed(given: RuleSet, contest: Contest) -> RuleSet:
    """Return the rules or, where they meet a state without one, the list with the best rule for the rest."""
    if contest.performances([given])[0] > contest.task.floor:
        return given
    if not isinstance(given, DecisionList):
        raise NothingToPruneError(
            f"{given!r} meets states of {contest.task.name} in which no rule matches: its performance is the "
            "floor, and there is nothing to lose. Train it longer, or give other seeds."
        )
    everything = np.stack(lows_and_highs(given.features), axis=1)
    bounds = np.concatenate([given.bounds, everything[None]])
    names = given.features, given.action_names
    actions = range(len(given.action_names))
    lists = [DecisionList(bounds, np.append(given.actions, a), *names) for a in actions]
    best = contest.best(lists, given, states_met(given, contest.task, contest.seeds).points)
    assert best is not None  # with a rule for the rest none fails
    return best


def _down(
    rules: RuleSet, fewer: Callable[[RuleSet], Iterator[RuleSet]], contest: Contest, told: Progress
) -> RuleSet:
    """Return the rules after the least costly step was taken again and again, as long as they play well."""
    met = states_met(rules, contest.task, contest.seeds)
    while (best := contest.best(fewer(rules), rules, met.points)) is not None:
        met = states_met(best, contest.task, contest.seeds)
        rules = without_needless(best, met)
        told(rules)
    return rules


def without_needless(rules: RuleSet, met: Met) -> RuleSet:
    """Return the rules without what makes no difference in the states met, which they play through again."""
    draft = ListedDraft(rules, met.points)
    drop_needless(draft)
    while True:
        merged = merge_rules(draft)
        widen_intervals(draft)
        if not merged + drop_needless(draft):
            return with_rest(rules_left(draft))
