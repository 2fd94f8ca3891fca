"""Pruning at the end of a run: it gives the policy that people would use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ifthen.digits import plural
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.ruleset import RuleSet
from ifthen.runs.choice import meets
from ifthen.simplify.by_play import NothingToPruneError, fair_steps
from ifthen.simplify.prune import PruneResult, prune
from ifthen.simplify.shortening import Progress
from ifthen.simplify.unused import decisions, without_unused
from ifthen.simulate.evaluate import evaluate
from ifthen.simulate.scope import environment
from ifthen.systems.system import System


def pruned_policy(
    system: System, progress: Progress | None = None, require: Sequence[str] = ()
) -> PruneResult | None:
    """Return the pruned rules of a trained system; None where they are not to be used.

    On a table they choose the same everywhere. In an environment they play as well on the pruning seeds, with
    at most a quarter as many steps as training took. If they score clearly worse on the validation
    seeds, the learnt rules are kept: pruned rules must reach no state without a rule, and must not fall below
    the 95 % interval of the learnt ones. They satisfy the system's requirements, and those of `require` if
    the learnt rules do. Rules that reach a state without a rule are not pruned. Rules that were shortened by
    playing (`System.shortens`) lose only those without which every observation has the same action, and those
    that decide in no step of many episodes.
    """
    if system.shortens:
        return _used_rules(system, require)
    task = system.task
    steps = fair_steps(task, int(system.now.records[-1]["steps"]))
    try:
        found = prune(system, steps=steps, threads=system.threads, progress=progress)
    except NothingToPruneError:
        return None
    if meets(found.given, task, require) and not meets(found.ruleset, task, require):
        return None
    if steps is None:
        return found
    before, after = (
        evaluate(rules, task, seeds=task.validation, threads=system.threads)
        for rules in (found.given, found.ruleset)
    )
    worse = before.interval is not None and after.performance < before.interval[0]
    return None if worse or (after.failed and not before.failed) else found


def _used_rules(system: System, require: Sequence[str]) -> PruneResult | None:
    """Return the rules of a list that decide somewhere, and in some step of play; None where all do."""
    task = environment(system.task, "pruning by play")
    found = prune(system.ruleset, intervals="keep", require=system.require)
    rules = found.ruleset
    steps = fair_steps(task, int(system.now.records[-1]["steps"]))
    assert steps is not None
    played = decisions(rules, task, steps, system.threads)

    def keeps(fewer: RuleSet) -> bool:
        shielded = system.shields.put_on(cast(DecisionList, fewer))
        return shielded == fewer and (meets(fewer, task, require) or not meets(rules, task, require))

    left = without_unused(rules, played, system.shield_of(rules), keeps)
    if len(left) == len(rules):
        return found if len(rules) < len(found.given) else None
    needless = len(found.given) - len(rules)
    told = f"{plural(needless, 'rule')} changed no action anywhere, and " if needless else ""
    gone = len(rules) - len(left)
    seeds = task.pruning_seeds(played.episodes)[: played.episodes]
    words = (
        f"{plural(len(found.given), 'rule')} became {len(left)}: {told}{plural(gone, 'rule')} decided in "
        f"none of {played.steps:,} steps of {played.episodes:,} episodes from training and pruning seeds. "
        f"Without {'it' if gone == 1 else 'them'} these episodes are the same."
    )
    where = f"the {played.steps:,} visited states of {played.episodes:,} episodes"
    return PruneResult(left, found.given, where, words, needless + gone, 0, changed=0, seeds=seeds)
