"""Is a constraint on rules kept? "never heat when room ≥ 24": a point at which it is broken, or a proof."""

from __future__ import annotations

from typing import Any

import numpy as np

from ifthen.rules.boxes.feasible import by_rounding
from ifthen.rules.boxes.rank_space import Point
from ifthen.rules.constraint import Constraint, asks_for_nothing, breach, deciding_rules
from ifthen.rules.ruleset import RuleSet
from ifthen.simplify.lossless import list_by_score
from ifthen.simulate.scope import Scope, values_by_name
from ifthen.tasks.disturbance import in_words
from ifthen.verification.case import Case
from ifthen.verification.findings import Decided, decided, not_met, part, vector_in_words

PROVED = "proved"


def constraint_kept(constraint: Constraint, case: Case) -> Decided:
    """Decide whether rules keep a constraint: at every listed point, or by reasoning about boxes."""
    if case.scope is not None:
        return _at_points(constraint, case.scope)
    ruleset = case.ruleset if case.ruleset.ordered else list_by_score(case.ruleset)
    if ruleset is None:
        why = (
            "not known: these rules compare numbers that change from point to point, and their observations "
            "are too many to look at. 'ifthen prune --list' makes them a list where that is possible"
        )
        return decided(constraint.text, None, why, "")
    result = breach(ruleset, constraint, case.budget)
    if result.equal is None:
        reason = by_rounding(result.unsure) or "the search gave up"
        return decided(constraint.text, None, f"not known: no breach was found, but {reason}", "")
    if result.equal:
        disturbed = in_words(getattr(case.task, "disturbances", {}))
        kept_words = _kept(constraint, "reading" if disturbed else "observation")
        why = f"proved{_proof(ruleset, constraint)}: {kept_words}"
        why += f"; with {disturbed}, readings differ from the true state" if disturbed else ""
        if asks_for_nothing(constraint):
            why = "proved: no observation meets the condition, so that nothing is asked for"
        return decided(constraint.text, True, why, PROVED)
    assert result.witness is not None
    return _broken(constraint, case.ruleset, result.witness, "", {})


def _proof(ruleset: RuleSet, constraint: Constraint) -> str:
    """Return the proof in words, where rules at the top are enough, or how else it was proved."""
    top = deciding_rules(ruleset, constraint)
    if not top:
        return " by exact reasoning over all inputs"
    if top > 1:
        return f", as rules 1 to {top} come first, and none of them does otherwise"
    return f", as rule 1 comes first and says {ruleset.action_of(0)}"


def _at_points(constraint: Constraint, scope: Scope) -> Decided:
    """Decide it at every point of a scope."""
    inside = constraint.where.matches(scope.points).any(axis=1)
    obeys = scope.actions == constraint.action
    broken = np.flatnonzero(inside & (obeys if constraint.never else ~obeys))
    unit = scope.unit
    if not len(broken):
        some = f"{int(inside.sum()):,} of these" if inside.any() else "none of these"
        why = f"checked at {scope.words}: {_kept(constraint, unit)} ({some} meet the condition)"
        return decided(constraint.text, True, why, PROVED)
    how = f" in {part(len(broken), int(inside.sum()), unit)} that meet the condition"
    data = {"broken": len(broken), "points": int(inside.sum())}
    return _broken(constraint, scope.ruleset, tuple(scope.points[broken[0]].tolist()), how, data)


def _kept(constraint: Constraint, unit: str) -> str:
    """Return in words that a constraint is kept."""
    action, boxes = constraint.where.action_names[constraint.action], len(constraint.where)
    words = " or ".join(filter(None, map(constraint.where.condition_in_words, range(min(boxes, 3)))))
    words += " or …" if boxes > 3 else ""
    subject = f"{'no' if constraint.never else 'every'} {unit}{f' with {words}' if words else ''}"
    return f"{subject} gets {action}"


def _broken(
    constraint: Constraint, ruleset: RuleSet, point: Point, how: str, data: dict[str, Any]
) -> Decided:
    """Return that a constraint is broken, with a point, and the rule that decides there."""
    witness = values_by_name(ruleset.observed_features, point)
    actions, deciders = ruleset.choose([list(point)])
    rule = int(deciders[0])
    decider_words = f"rule {rule + 1} ({ruleset.rule_in_words(rule)}) decides"
    if ruleset.votes and rule >= 0:
        decider_words = f"{ruleset.action_names[int(actions[0])]} wins the vote"
    if rule < 0:
        decider_words = "no rule matches, which is not " + constraint.where.action_names[constraint.action]
    shown = vector_in_words(witness, ruleset.observed_features, (*ruleset.tested, *constraint.where.tested))
    why = f"broken{how}: at {shown} {decider_words}"
    return not_met(constraint.text, why, PROVED, witness, data, () if rule < 0 else (rule,))
