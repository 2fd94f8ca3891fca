"""Pruning at the end of a run: it gives the policy that people would use."""

from __future__ import annotations

from collections.abc import Sequence

from ifthen.runs.choice import meets
from ifthen.simplify.by_play import NothingToPruneError, fair_steps
from ifthen.simplify.prune import PruneResult, prune
from ifthen.simplify.shortening import Progress
from ifthen.simulate.evaluate import evaluate
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
    playing (`System.shortens`) lose only those without which every observation has the same action.
    """
    if system.shortens:
        found = prune(system.ruleset, intervals="keep", require=system.require)
        return found if len(found.ruleset) < len(found.given) else None
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
