"""Which rules could be left out, one at a time, without changing the action at any point?

Leaving out a rule of a decision list, or a strength rule, matters only where it decides: what the others
would do there is one more decision at every point. Where rules vote, it matters wherever the rule matches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.fewer.compact import best_of_kept
from ifthen.explain.verify.domain import Domain
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.jit import kernel

MOST_VOTES = 3_000_000_000
"""Most votes that are counted, some seconds' worth, before the search is not begun."""


def redundant_rules(domain: Domain) -> NDArray[np.bool_] | None:
    """Return which rules `(rules,)` could each be left out; None where finding out would take too long."""
    actions, deciders = domain.choice
    ruleset, matching = domain.ruleset, domain.matching
    if isinstance(ruleset, PredictionArrayRules):
        members = matching.sum(axis=1, dtype=np.float64)
        return None if (members**2).sum() > MOST_VOTES else _outvoted(domain, ruleset)
    decided = np.flatnonzero(deciders >= 0)
    others = matching[decided]
    others[np.arange(len(decided)), deciders[decided]] = False
    instead, _ = ruleset.decide(others, domain.points[decided])
    needed = np.zeros(len(ruleset), dtype=np.bool_)
    needed[deciders[decided][instead != actions[decided]]] = True
    return ~needed


def _outvoted(domain: Domain, ruleset: PredictionArrayRules) -> NDArray[np.bool_]:
    matching = domain.matching
    needed = np.zeros(len(ruleset), dtype=np.bool_)
    needed_votes(
        matching.sum(axis=1).cumsum(),
        np.nonzero(matching)[1],
        ruleset.actions,
        ruleset.fitness,
        ruleset.predictions(domain.points),
        domain.choice[0],
        needed,
    )
    return ~needed


@kernel
def needed_votes(
    ends: NDArray[np.int64],
    members: NDArray[np.int64],
    actions: NDArray[np.int32],
    fitness: NDArray[np.float64],
    predictions: NDArray[np.float64],
    policy: NDArray[np.int64],
    needed: NDArray[np.bool_],
) -> None:
    """Mark the rules without which, all others kept, the best action of some point would be another."""
    n_actions = actions.max() + 1
    weighted, totals = np.empty(n_actions), np.empty(n_actions)
    kept = np.ones(len(actions), dtype=np.bool_)
    for s in range(len(policy)):
        for at in range(ends[s - 1] if s > 0 else 0, ends[s]):
            r = members[at]
            if not needed[r]:
                kept[r] = False
                best = best_of_kept(s, ends, members, actions, fitness, predictions, kept, weighted, totals)
                needed[r] = best != policy[s]
                kept[r] = True
