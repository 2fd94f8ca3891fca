"""Checks of rules on the points of a domain: is every point decided, and is every rule of use?

What "decides" means depends on the kind of ruleset. In a decision list it is the first rule that matches,
among strength rules the strongest. Where rules vote, all that match have a say: a rule that matches somewhere
is not dead, but one whose action is never taken where it matches is never on the winning side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.verify.conflicts import conflicts
from ifthen.explain.verify.domain import Domain
from ifthen.explain.verify.findings import (
    Checked,
    Finding,
    Property,
    every,
    part,
    some_of,
)
from ifthen.explain.verify.holes import uncovered
from ifthen.explain.verify.model import Model
from ifthen.explain.verify.redundant import redundant_rules
from ifthen.explain.words.rules import rule_for_reading
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.inference.strength import StrengthRules


def check_rules(domain: Domain, model: Model | None = None) -> Checked:
    """Return what is found about rules on the points of a domain, and of a task if there is a model."""
    checked = uncovered(domain, model)
    for check in (dead_rules, conflicts, redundant):
        checked.add(check(domain))
    return checked


def alive_rules(domain: Domain) -> NDArray[np.bool_]:
    """Return which rules decide somewhere or, where rules vote, match somewhere, `(rules,)`."""
    if isinstance(domain.ruleset, PredictionArrayRules):
        return np.asarray(domain.matching.any(axis=0))
    return np.bincount(domain.choice[1] + 1, minlength=len(domain.ruleset) + 1)[1:] > 0


def dead_rules(domain: Domain) -> Checked:
    """Look for rules that never decide anything, and say what beats them."""
    ruleset, votes = domain.ruleset, isinstance(domain.ruleset, PredictionArrayRules)
    dead = np.flatnonzero(~alive_rules(domain))
    findings = _never_winning(domain) if votes else []
    findings += [_dead_rule(domain, int(r)) for r in dead]
    why = f"{every(len(ruleset), 'rule')} {'matches' if votes else 'decides'} somewhere"
    if len(dead):
        why = f"{part(len(dead), len(ruleset), 'rule')} {never_decide(len(dead), votes)}"
    return Checked(findings, {"no-dead-rules": Property(not len(dead), why)})


def never_decide(rules: int, votes: bool = False) -> str:
    """Return the verb for rules that never decide or, where rules vote, never match."""
    if votes:
        return "matches nothing" if rules == 1 else "match nothing"
    return "never decides" if rules == 1 else "never decide"


def _dead_rule(domain: Domain, r: int) -> Finding:
    """Return why rule r never decides: it matches nothing, or one rule or several always beat it."""
    rule = f"Rule {r + 1} ({rule_for_reading(domain.ruleset, r)})"
    own = np.flatnonzero(domain.matching[:, r])
    if not len(own):
        where = "state of the task" if domain.task else "point"
        text = f"{rule} matches no {where}."
        return Finding(
            "dead-rule", "problem", text, (r,), data={"reason": "matches-nothing", "beaten_by": []}
        )
    beaten = beats(domain, r, own)
    strength = isinstance(domain.ruleset, StrengthRules)
    winners, wins = beating_set(beaten), "is at least as strong and wins" if strength else "comes first"
    if len(winners) == 1:
        reason = "subsumed"
        text = f"rule {winners[0] + 1} {wins}"
    else:
        reason = "never-strongest" if strength else "shadowed"
        numbers = ", ".join(str(q + 1) for q in winners[:-1]) + f" or {winners[-1] + 1}"
        text = f"one of rules {numbers} {wins}"
    return Finding(
        "dead-rule",
        "problem",
        f"{rule} never decides: wherever it matches, {text}.",
        (r, *winners),
        domain.vector(int(own[0])),
        {"reason": reason, "beaten_by": list(winners)},
    )


def beats(domain: Domain, r: int, own: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rules match and go before rule r at the points `own`, `(len(own), rules)`."""
    ruleset, matching = domain.ruleset, domain.matching[own]
    number = np.arange(len(ruleset))
    if not isinstance(ruleset, StrengthRules):
        return matching & (number < r)
    strengths = ruleset.strengths(domain.points[own])
    actions = ruleset.actions
    first = (actions < actions[r]) | ((actions == actions[r]) & (number < r))
    mine = strengths[:, [r]]
    ahead: NDArray[np.bool_] = (strengths > mine) | ((strengths == mine) & first)
    return matching & ahead


def beating_set(beaten: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return few rules of which at every point (row) one beats, none of which could be left out."""
    left, chosen = beaten.any(axis=1), []
    while left.any():
        chosen.append(int(beaten[left].sum(axis=0).argmax()))
        left &= ~beaten[:, chosen[-1]]
    for q in list(chosen):
        others = [c for c in chosen if c != q]
        if (beaten[:, others].any(axis=1) == beaten.any(axis=1)).all():
            chosen = others
    return tuple(sorted(chosen))


def _never_winning(domain: Domain) -> list[Finding]:
    """Return the voting rules that match but whose action is never taken where they do."""
    actions = domain.choice[0]
    wins = (domain.matching & (domain.ruleset.actions == actions[:, None])).any(axis=0)
    losing = np.flatnonzero(domain.matching.any(axis=0) & ~wins)
    if not len(losing):
        return []
    some = f"Rules {some_of([str(r + 1) for r in losing], joint=', ')} are"
    text = "never on the winning side: they match, but their action is never taken there."
    votes = "Their votes still count."
    if len(losing) == 1:
        some, votes = f"Rule {losing[0] + 1} is", "Its vote still counts."
        text = "never on the winning side: it matches, but its action is never taken there."
    text = f"{some} {text} {votes}"
    rules = tuple(losing.tolist())
    return [Finding("never-on-the-winning-side", "note", text, rules)]


def redundant(domain: Domain) -> Checked:
    """Look for rules each of which could be left out without changing an action."""
    found = redundant_rules(domain)
    name, ruleset = "no-redundant-rules", domain.ruleset
    if found is None:
        why = "the ruleset is too large to try each rule without changing anything"
        return Checked(properties={name: Property(None, why)})
    rules = tuple(np.flatnonzero(found).tolist())
    if not rules:
        return Checked(properties={name: Property(True, "leaving out any rule changes some action")})
    return redundant_found(rules, len(ruleset), int((~alive_rules(domain)).sum()))


def redundant_found(rules: tuple[int, ...], total: int, dead: int) -> Checked:
    """Return the finding that each of some rules, `dead` of which never decide, could be left out."""
    numbers = some_of([str(r + 1) for r in rules], joint=", ")
    each = ", one at a time," if len(rules) > 1 else ""
    why = f"{part(len(rules), total, 'rule')} could be left out{each} with no action changed"
    text = f"Without rule {numbers}" if len(rules) == 1 else f"Without any single one of rules {numbers}"
    known = f" ({dead:,} of them {never_decide(dead)}.)" if dead and dead < len(rules) else ""
    finding = Finding("redundant", "note", f"{text} every action stays the same.{known}", rules)
    return Checked([finding], {"no-redundant-rules": Property(False, why)})
