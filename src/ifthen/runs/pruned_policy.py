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
        result = prune(system, steps=steps, threads=system.threads, progress=progress)
    except NothingToPruneError:
        return None
    if meets(result.given, task, require) and not meets(result.ruleset, task, require):
        return None
    if steps is None:
        return result
    before, after = (
        evaluate(rules, task, seeds=task.validation, threads=system.threads)
        for rules in (result.given, result.ruleset)
    )
    worse = before.interval is not None and after.performance < before.interval[0]
    return None if worse or (after.failed and not before.failed) else result


def _used_rules(system: System, require: Sequence[str]) -> PruneResult | None:
    """Return the rules of a list that decide somewhere, and in some step of play; None where all do."""
    task = environment(system.task, "pruning by play")
    result = prune(system.ruleset, intervals="keep", require=system.require)
    rules = result.ruleset
    steps = fair_steps(task, int(system.now.records[-1]["steps"]))
    assert steps is not None
    played = decisions(rules, task, steps, system.threads)

    def keeps(fewer: RuleSet) -> bool:
        shielded = system.shields.put_on(cast(DecisionList, fewer))
        return shielded == fewer and (meets(fewer, task, require) or not meets(rules, task, require))

    used = without_unused(rules, played, system.shield_of(rules), keeps)
    if len(used) == len(rules):
        return result if len(rules) < len(result.given) else None
    needless = len(result.given) - len(rules)
    needless_note = f"{plural(needless, 'rule')} changed no action anywhere, and " if needless else ""
    n_unused = len(rules) - len(used)
    seeds = task.pruning_seeds(played.episodes)[: played.episodes]
    summary = (
        f"{plural(len(result.given), 'rule')} became {len(used)}: {needless_note}{plural(n_unused, 'rule')} "
        f"decided in none of {played.steps:,} steps of {played.episodes:,} episodes from training "
        f"and pruning seeds. Without {'it' if n_unused == 1 else 'them'} these episodes are the same."
    )
    scope = f"the {played.steps:,} visited states of {played.episodes:,} episodes"
    return PruneResult(used, result.given, scope, summary, needless + n_unused, 0, changed=0, seeds=seeds)
