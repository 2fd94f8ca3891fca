"""Which rules overlap and propose different actions, and whose action is taken there?

In every kind of ruleset there is a way to settle it, so a conflict is no fault; but who reads one of the two
rules alone is misled where both match. The last rule of a decision list, if it matches everything, reads
OTHERWISE: it is a default that nobody takes for more, and is not counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.verify.domain import Domain
from ifthen.explain.verify.findings import (
    Checked,
    Finding,
    Property,
    Vector,
    share_in_words,
    vector_in_words,
)
from ifthen.explain.words.rules import rule_for_reading
from ifthen.inference.decision_list import DecisionList
from ifthen.inference.strength import StrengthRules
from ifthen.rules.ruleset import RuleSet

LISTED = 10_000
"""Most pairs that are listed one by one, those first that share most."""
ROUNDING = 1e-12  # a share below it is nothing
ROWS = 4096  # points multiplied at a time: bounds the memory that products of matrices take


def conflicts(domain: Domain) -> Checked:
    """Look for pairs of rules that match the same point and propose different actions."""
    shared, taken = products(domain, domain.weights)
    # Edges of a real space have no share of it, yet rules can meet there.
    meet = shared if (domain.weights > 0).all() else products(domain, np.ones(len(domain.weights)))[0]
    actions = domain.ruleset.actions
    clash = np.triu((meet > 0) & (actions[:, None] != actions), k=1)
    default = default_rule(domain.ruleset)
    if default is not None:
        clash[:, default] = False
    first, second = np.nonzero(clash)
    if not len(first):
        return no_conflicts(domain.ruleset)
    amounts = shared[first, second]
    order = np.lexsort((second, first, -amounts))[:LISTED]
    pairs: list[dict[str, Any]] = []
    for a, b in zip(first[order].tolist(), second[order].tolist(), strict=True):
        both = domain.matching[:, a] & domain.matching[:, b]
        pairs.append(
            {
                "rules": [a, b],
                "amount": domain.amount(shared[a, b]),
                "taken": [domain.amount(taken[a, b]), domain.amount(taken[b, a])],
                "witness": domain.vector(int(both.argmax())),
            }
        )
    biggest = pairs[0]
    taken_words = _taken_in_words(domain, biggest)
    words = (
        f"share {domain.in_words(biggest['amount'])}, such as "
        f"{vector_in_words(biggest['witness'], domain.ruleset.features)}"
        + (f": {taken_words}" if taken_words else "")
    )
    return conflicts_found(domain.ruleset, len(first), pairs, words)


def default_rule(ruleset: RuleSet) -> int | None:
    """Return the rule that only stands for the rest: the last of a decision list if it matches everything."""
    last = len(ruleset) - 1
    if last and isinstance(ruleset, DecisionList) and not ruleset.condition_in_words(last):
        return last
    return None


def no_conflicts(ruleset: RuleSet) -> Checked:
    """Return that no rules conflict."""
    aside = " (OTHERWISE, the last, is not counted)" if default_rule(ruleset) is not None else ""
    why = f"no two rules that overlap propose different actions{aside}"
    return Checked(properties={"no-conflicts": Property(True, why)})


def conflicts_found(ruleset: RuleSet, number: int, pairs: list[dict[str, Any]], biggest: str) -> Checked:
    """Return the finding of a number of conflicts, the biggest first in `pairs`, and in words."""
    a, b = pairs[0]["rules"]
    text = (
        f"{settled(ruleset)} The biggest with different actions: rules {a + 1} "
        f"({rule_for_reading(ruleset, a)}) and {b + 1} ({rule_for_reading(ruleset, b)}) {biggest}."
    )
    witness: Vector = pairs[0]["witness"]
    data = {"pairs": number, "listed": pairs}
    why = f"{number:,} pairs of rules overlap and propose different actions"
    if number == 1:
        why = "1 pair of rules overlaps and proposes different actions"
    finding = Finding("conflicts", "note", text, (a, b), witness, data)
    return Checked([finding], {"no-conflicts": Property(False, why)})


def settled(ruleset: RuleSet) -> str:
    """Return how this kind of ruleset settles conflicts."""
    if isinstance(ruleset, DecisionList):
        aside = " OTHERWISE, the last, is not counted." if default_rule(ruleset) is not None else ""
        return f"Overlaps are normal in a decision list: the earlier rule goes first.{aside}"
    if isinstance(ruleset, StrengthRules):
        return "Overlaps are normal where the strongest rule decides."
    return "Overlaps are normal where rules vote."


def _taken_in_words(domain: Domain, pair: dict[str, Any]) -> str:
    """Return whose action is taken where two rules overlap."""
    names = [domain.ruleset.action_names[domain.ruleset.actions[r]] for r in pair["rules"]]
    names, amounts = [*names, "another action"], [*pair["taken"], pair["amount"] - sum(pair["taken"])]
    return ", ".join(
        f"{name} is taken in {f'{amount:,.0f}' if domain.unit else share_in_words(amount)}"
        for name, amount in zip(names, amounts, strict=True)
        if amount > ROUNDING
    )


def products(domain: Domain, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return, `(rules, rules)`, the weight of points both match, and of those where a's action is taken."""
    ruleset, n = domain.ruleset, len(domain.ruleset)
    shared, taken = np.zeros((n, n)), np.zeros((n, n))
    for start in range(0, len(domain.points), ROWS):
        rows = slice(start, start + ROWS)
        matching = domain.matching[rows].astype(np.float64)
        weighted = matching * weights[rows, None]
        shared += weighted.T @ matching
        taken += (weighted * (ruleset.actions == domain.choice[0][rows, None])).T @ matching
    return shared, taken
