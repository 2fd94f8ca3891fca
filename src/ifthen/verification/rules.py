"""Checks of rules against each other: rules that never decide, rules that could be left out, conflicts.

In a decision list the first matching rule decides, among strength rules the strongest. Where rules vote, all
that match have a say: a rule that matches somewhere is not dead, but one whose action is never taken where it
matches is never on the winning side. So leaving out a rule matters at the points that it decides or, where
rules vote, wherever it matches.

Every kind of ruleset settles overlaps, so a conflict is no fault; but a reader of only one of the two rules
is misled where both match. The last rule of a decision list, if it matches everything, reads OTHERWISE. It is
a default, and is not counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ifthen.digits import plural
from ifthen.rules.arrays import Floats
from ifthen.rules.boxes.list_analysis import compare, overlaps, point_of
from ifthen.rules.boxes.rank_space import box_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import Scope, values_by_name
from ifthen.verification.case import Case
from ifthen.verification.findings import (
    Finding,
    Result,
    all_of,
    part,
    share_in_words,
    some_of,
    vector_in_words,
)


def no_dead_rules(case: Case) -> Result:
    """Every rule decides somewhere."""
    ruleset, scope = case.ruleset, case.scope
    dead, alive = case.dead
    findings = _never_winning(scope) if scope is not None and ruleset.votes else ()
    findings += tuple(_dead(ruleset, scope, r, by) for r, by in sorted(dead.items()))
    undecided = len(ruleset) - len(dead) - int(alive.sum())
    remainder = f"; {plural(undecided, 'other')} could not be decided" if undecided else ""
    if dead:
        some = part(len(dead), len(ruleset), "rule")
        return Result(False, f"{some} {never_decide(ruleset, len(dead))}{remainder}", findings)
    if undecided:
        some = part(int(alive.sum()), len(ruleset), "rule")
        return Result(None, f"{some} {'decides' if alive.sum() == 1 else 'decide'} somewhere{remainder}")
    verb = "matches" if ruleset.votes else "decides"
    reason = f"{everywhere(scope)}{all_of(len(ruleset), 'rule', 'every one of the')} {verb} somewhere"
    return Result(True, reason, findings)


def everywhere(scope: Scope | None) -> str:
    """Return the words that say that all inputs count, visited or not; "" where points are listed."""
    return "over all inputs, " if scope is None else ""


def never_decide(ruleset: RuleSet, rules: int) -> str:
    """Return the verb for a number of rules that never decide or, where rules vote, never match."""
    if ruleset.votes:
        return "matches nothing" if rules == 1 else "match nothing"
    return "never decides" if rules == 1 else "never decide"


def _dead(ruleset: RuleSet, scope: Scope | None, number: int, beaten_by: tuple[int, ...]) -> Finding:
    """Return that rule r never decides, because it matches nothing or because other rules always beat it."""
    rule_words = f"Rule {number + 1} ({ruleset.rule_in_words(number)})"
    if not beaten_by:
        unit = "state of the task" if scope is not None and scope.unit == "decision state" else "point"
        nothing = {"reason": "matches-nothing", "beaten_by": list(beaten_by)}
        return Finding("dead-rule", "problem", f"{rule_words} matches no {unit}.", (number,), data=nothing)
    names = f"rule {beaten_by[0] + 1}"
    if len(beaten_by) > 1:
        names = f"one of rules {', '.join(str(q + 1) for q in beaten_by[:-1])} or {beaten_by[-1] + 1}"
    text = f"{rule_words} never decides: wherever it matches, {names} {ruleset.wins}."
    several = "shadowed" if ruleset.ordered else "never-strongest"
    data = {"reason": "subsumed" if len(beaten_by) == 1 else several, "beaten_by": list(beaten_by)}
    if scope is None:
        point = point_of(ruleset, number)
        witness = None if point is None else values_by_name(ruleset.observed_features, point)
    else:
        witness = scope.vector(int(scope.matching[:, number].argmax()))
    return Finding("dead-rule", "problem", text, (number, *beaten_by), witness, data)


def _never_winning(scope: Scope) -> tuple[Finding, ...]:
    """Return the voting rules that match but whose action is never taken where they do."""
    wins = (scope.matching & (scope.ruleset.actions == scope.actions[:, None])).any(axis=0)
    losing = np.flatnonzero(scope.matching.any(axis=0) & ~wins)
    if not len(losing):
        return ()
    some = f"Rules {some_of([str(r + 1) for r in losing], joint=', ')} are"
    text = "never on the winning side: they match, but their action is never taken there."
    votes = "Their votes still count."
    if len(losing) == 1:
        some, votes = f"Rule {losing[0] + 1} is", "Its vote still counts."
        text = "never on the winning side: it matches, but its action is never taken there."
    return (Finding("never-on-the-winning-side", "note", f"{some} {text} {votes}", tuple(losing.tolist())),)


MOST_VOTES = 3_000_000_000
"""The largest number of votes that are counted again, some seconds' worth."""


def no_redundant_rules(case: Case) -> Result:
    """No single rule can be left out without changing an action."""
    ruleset, scope = case.ruleset, case.scope
    if scope is not None and ruleset.votes and scope.matching.sum() * len(ruleset) > MOST_VOTES:
        return Result(None, "the ruleset is too large to leave out each rule in turn")
    dead, _ = case.dead
    rules, undecided = _redundant_everywhere(case, set(dead)) if scope is None else (_redundant_at(scope), 0)
    if not rules and undecided:
        return Result(None, f"whether {plural(undecided, 'rule')} could be left out is not decided")
    if not rules:
        return Result(True, f"{everywhere(scope)}leaving out any rule changes some action")
    numbers = some_of([str(r + 1) for r in rules], joint=", ")
    one_at_a_time = ", one at a time," if len(rules) > 1 else ""
    why = f"{part(len(rules), len(ruleset), 'rule')} could be left out{one_at_a_time} with no action changed"
    text = f"Without rule {numbers}" if len(rules) == 1 else f"Without any single one of rules {numbers}"
    never_words = f" ({len(dead):,} of them {never_decide(ruleset, len(dead))}.)"
    never_words = never_words if dead and len(dead) < len(rules) else ""
    text = f"{text} every action stays the same.{never_words}"
    return Result(False, why, (Finding("redundant", "note", text, tuple(rules)),))


def _redundant_at(scope: Scope) -> list[int]:
    """Return the rules without which every action at the points of a scope stays the same."""
    redundant, ruleset = [], scope.ruleset
    for r in range(len(ruleset)):
        decided = np.flatnonzero(scope.matching[:, r] if ruleset.votes else scope.deciders == r)
        without_rule = scope.matching[decided]
        without_rule[:, r] = False
        if (ruleset.decide(without_rule, scope.points[decided])[0] == scope.actions[decided]).all():
            redundant.append(r)
    return redundant


def _redundant_everywhere(case: Case, dead: set[int]) -> tuple[list[int], int]:
    """Return the rules proven redundant over the whole space, and how many are not decided."""
    ruleset = case.ruleset
    if not ruleset.ordered:
        return sorted(dead), len(ruleset) - len(dead)
    redundant, undecided = set(dead), 0
    for r in sorted(set(range(len(ruleset))) - dead):
        remaining = [q for q in range(len(ruleset)) if q != r]
        if remaining:
            equal = compare(
                ruleset, ruleset.subset(remaining), budget=max(1, case.budget // len(ruleset))
            ).equal
            undecided += equal is None
            redundant |= {r} if equal else set()
    return sorted(redundant), undecided


LISTED = 10_000
"""The largest number of pairs that are listed, the largest overlaps first."""
ROWS = 4096  # points multiplied at a time: bounds the memory that products of matrices take
Pairs = list[dict[str, Any]]


def no_conflicts(case: Case) -> Result:
    """No two rules that overlap propose different actions, a last OTHERWISE not counted."""
    ruleset, scope, last = case.ruleset, case.scope, len(case.ruleset) - 1
    # A last rule that matches everything, and is not the only one, is a default.
    has_default = bool(last and ruleset.ordered and not ruleset.condition_in_words(last))
    n_rules = last if has_default else len(ruleset)
    number, pairs, shared_words = (
        _conflicts_everywhere(ruleset, n_rules) if scope is None else _conflicts_at(scope, n_rules)
    )
    if not number:
        aside = " (OTHERWISE, the last, is not counted)" if has_default else ""
        if ruleset.terms and scope is None:
            aside += "; where boxes only touch, rounding decides, and that is not counted"
        return Result(True, f"no two rules that overlap propose different actions{aside}")
    why = f"{number:,} pairs of rules overlap and propose different actions"
    if number == 1:
        why = "1 pair of rules overlaps and proposes different actions"
    first, second = pairs[0]["rules"]
    aside = " OTHERWISE, the last, is not counted." if has_default else ""
    text = (
        f"{ruleset.overlap}{aside} The biggest with different actions: rules {first + 1} "
        f"({ruleset.rule_in_words(first)}) and {second + 1} ({ruleset.rule_in_words(second)}) share "
        f"{shared_words}."
    )
    data = {"pairs": number, "listed": pairs}
    return Result(
        False, why, (Finding("conflicts", "note", text, (first, second), pairs[0]["witness"], data),)
    )


def _conflicts_everywhere(ruleset: RuleSet, rules: int) -> tuple[int, Pairs, str]:
    """Return the number of conflicts of the first rules, the pairs, and what the biggest two share."""
    counted = [overlap for overlap in overlaps(ruleset).items() if overlap[0][1] < rules]
    ranked = sorted(counted, key=lambda overlap: (-overlap[1].share, overlap[0]))
    pairs: Pairs = [
        {
            "rules": list(pair),
            "share": region.share,
            "box": box_in_words(region.box, ruleset.features),
            "witness": values_by_name(ruleset.observed_features, region.witness),
        }
        for pair, region in ranked[:LISTED]
    ]
    if not pairs:
        return 0, [], ""
    share = share_in_words(pairs[0]["share"]) if pairs[0]["share"] else "an edge without volume"
    if ruleset.terms:
        share = f"about {share}" if pairs[0]["share"] else "a part too small to measure"
    example = vector_in_words(pairs[0]["witness"], ruleset.observed_features, ruleset.tested)
    return len(ranked), pairs, f"{share} of the space, such as {example}"


def _conflicts_at(scope: Scope, rules: int) -> tuple[int, Pairs, str]:
    """Return the same at the points of a scope."""
    shared, n_taken = products(scope)
    actions = scope.ruleset.actions
    clash = np.triu((shared > 0) & (actions[:, None] != actions), k=1)
    rule_a, rule_b = np.nonzero(clash[:, :rules])
    order = np.lexsort((rule_b, rule_a, -shared[rule_a, rule_b]))[:LISTED]
    pairs: Pairs = [
        {
            "rules": [a, b],
            "amount": int(shared[a, b]),
            "taken": [int(n_taken[a, b]), int(n_taken[b, a])],
            "witness": scope.vector(int((scope.matching[:, a] & scope.matching[:, b]).argmax())),
        }
        for a, b in zip(rule_a[order].tolist(), rule_b[order].tolist(), strict=True)
    ]
    if not pairs:
        return 0, [], ""
    biggest = pairs[0]
    names = [*(scope.ruleset.action_of(r) for r in biggest["rules"]), "another action"]
    amounts = [*biggest["taken"], biggest["amount"] - sum(biggest["taken"])]
    counted = zip(names, amounts, strict=True)
    outcomes = ", ".join(f"{name} is taken in {amount:,}" for name, amount in counted if amount)
    ruleset = scope.ruleset
    example = vector_in_words(biggest["witness"], ruleset.observed_features, ruleset.tested)
    shared_words = f"{plural(biggest['amount'], scope.unit)}, such as {example}" + (
        f": {outcomes}" if outcomes else ""
    )
    return len(rule_a), pairs, shared_words


def products(scope: Scope) -> tuple[Floats, Floats]:
    """Return `(rules, rules)` how many points both match, and at how many of these a's action is taken."""
    n = len(scope.ruleset)
    shared, n_taken = np.zeros((n, n)), np.zeros((n, n))
    for start in range(0, len(scope), ROWS):
        rows = slice(start, start + ROWS)
        matching = scope.matching[rows].astype(np.float64)
        shared += matching.T @ matching
        n_taken += (matching * (scope.ruleset.actions == scope.actions[rows, None])).T @ matching
    return shared, n_taken
