"""Compaction of populations after a run: of XCSF, and of ZCS.

A population of XCSF predicts the payoff of every action in every state, which takes far more rules than
choosing an action. "greedy" drops rules as long as the action in every state of the task stays the same.
"gnmc" is greedy niche mass compaction (Bishop and Gallagher, "Optimality-based analysis of XCSF compaction in
discrete reinforcement learning", PPSN 2020): in each niche, that is state and action, it keeps the fittest
rules until they hold a share 1 − ρ of the niche's fitness; predictions change little.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.checks import real_number
from ifthen.errors import RuleError, TaskError
from ifthen.jit import kernel
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.prediction_array import PredictionArrayRules
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.table_simulator import policy_table
from ifthen.tasks.tabular_task import TabularTask

Compaction = Literal["greedy", "gnmc"]
MOST_MATCHES = 10_000_000
"""The largest number of points times rules that is looked at together."""
MOST_ADDED = 500
"""The largest number of points with a changed action that are added per round."""


def compact(
    ruleset: RuleSet, task: TabularTask, method: Compaction = "greedy", rho: float = 0.1
) -> PredictionArrayRules:
    """Return a smaller ruleset, its rules as they were and in the same order.

    Args:
        ruleset: the rules of an XCSF.
        task: the task whose states are looked at.
        method: "greedy", the same action in every state; "gnmc", nearly the same predictions.
        rho: ρ, the share of each niche's fitness that "gnmc" may drop.
    """
    rho = real_number("rho", rho, 0, 1)
    rules = _votes(ruleset)
    if (policy_table(rules, task) < 0).all():
        raise TaskError(f"no rule of {ruleset!r} matches any state of {task.name}: there is nothing to keep.")
    if method == "greedy":
        return compact_at(rules, task.dynamics.points)
    return rules.subset(np.flatnonzero(niche_mass(rules, rules.matches(task.dynamics.points), rho)))


def _votes(ruleset: RuleSet) -> PredictionArrayRules:
    """Return rules that vote, or raise."""
    if not isinstance(ruleset, PredictionArrayRules):
        raise RuleError(f"only rulesets of XCSF and ZCS can be compacted, not {ruleset!r}.")
    return ruleset


def compact_at(rules: RuleSet, points: Floats) -> PredictionArrayRules:
    """Return a smaller ruleset that chooses the same at all points; the same one where none matches.

    Of many points, rules are first dropped as long as nothing changes at some, evenly spread over them.
    Points at which an action has changed are then added, until there are none.

    Args:
        rules: the rules of an XCSF.
        points: `(n, features)`, inside the features' ranges.
    """
    ruleset = _votes(rules)
    points = np.unique(points, axis=0)
    actions = ruleset.best_actions(points)
    n_sampled = max(1, MOST_MATCHES // len(ruleset))
    watched = np.unique(np.linspace(0, len(points) - 1, min(n_sampled, len(points))).astype(np.int64))
    while True:
        sample = points[watched]
        kept = needed_rules(ruleset, sample, ruleset.matches(sample), actions[watched])
        smaller = ruleset.subset(np.flatnonzero(kept)) if kept.any() else ruleset
        changed = np.flatnonzero(smaller.best_actions(points) != actions)
        if not len(changed):
            return smaller
        watched = np.union1d(watched, changed[:: len(changed) // MOST_ADDED + 1])


def niche_mass(ruleset: PredictionArrayRules, matching: Mask, rho: float) -> Mask:
    """Return which rules are among the fittest that hold a share 1 − ρ of some niche's fitness."""
    kept = np.zeros(len(ruleset), dtype=np.bool_)
    for in_state in matching:
        for action in range(len(ruleset.action_names)):
            niche = np.flatnonzero(in_state & (ruleset.actions == action))
            fittest = niche[np.argsort(-ruleset.fitness[niche], kind="stable")]
            mass = np.cumsum(ruleset.fitness[fittest])
            share = (1 - rho) * mass[-1] if rho and len(mass) else np.inf
            kept[fittest[: int(np.searchsorted(mass, share)) + 1]] = True
    return kept


def needed_rules(ruleset: PredictionArrayRules, points: Floats, matching: Mask, policy: Ints) -> Mask:
    """Return which rules are left when one after the other was dropped, as long as that changed no action.

    First go those that never speak for the action taken, then the narrowest, the least fit among equals;
    then all over again, until none can go.
    """
    speaks = (matching & (ruleset.actions == policy[:, None])).sum(axis=0)
    order = np.lexsort((ruleset.fitness, speaks))
    kept = np.ones(len(ruleset), dtype=np.bool_)
    ends, members = matching.sum(axis=1).cumsum(), np.nonzero(matching)[1]
    predicted = ruleset.predictions(points)
    votes = Votes(ends, members, predicted, ruleset.actions, ruleset.fitness, ruleset.adds)
    while drop_rules(order, matching, votes, policy, kept):
        order = order[kept[order]]
    return kept


class Votes(NamedTuple):
    """What the rules of an XCSF say in many states."""

    ends: Ints
    """`(states,)`: where the rules that match each state end in `members`."""
    members: Ints
    """The rules that match, state by state."""
    predictions: Floats
    """`(states, rules)`."""
    actions: NDArray[np.int32]
    """`(rules,)`."""
    fitness: Floats
    """`(rules,)`."""
    adds: bool = False
    """Whether votes are added up rather than averaged."""


@kernel
def best_of_kept(s: int, votes: Votes, kept: Mask, weighted: Floats, totals: Floats) -> int:
    """Return the best action of state s by the kept rules, −1 for none; the last two are scratch `(A,)`."""
    weighted[:] = 0.0
    totals[:] = 0.0
    for i in range(votes.ends[s - 1] if s > 0 else 0, votes.ends[s]):
        r = votes.members[i]
        if kept[r]:
            weighted[votes.actions[r]] += votes.fitness[r] * votes.predictions[s, r]
            totals[votes.actions[r]] += votes.fitness[r]
    best, top = -1, -np.inf
    for a in range(len(totals)):
        if totals[a] > 0:
            value = weighted[a] if votes.adds else weighted[a] / totals[a]
            if best < 0 or value > top:
                best, top = a, value
    return best


@kernel
def drop_rules(order: Ints, matching: Mask, votes: Votes, policy: Ints, kept: Mask) -> int:
    """Drop rules in the given order from `kept` where no state's best action changes; return how many."""
    n_actions = votes.actions.max() + 1
    weighted, totals = np.empty(n_actions), np.empty(n_actions)
    dropped = len(order)
    for r in order:
        kept[r] = False
        for s in range(len(policy)):
            if matching[s, r] and best_of_kept(s, votes, kept, weighted, totals) != policy[s]:
                kept[r] = True
                dropped -= 1
                break
    return dropped
