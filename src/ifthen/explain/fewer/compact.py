"""Fewer rules: compaction of XCSF's populations after a run.

A population of XCSF predicts the payoff of every action in every state, which takes far more rules than
saying what to do. "greedy" drops rules as long as the action in every state of the task stays the same.
"gnmc" is greedy niche mass compaction (Bishop and Gallagher, "Optimality-based analysis of XCSF compaction in
discrete reinforcement learning", PPSN 2020): in each niche, that is state and action, it keeps the fittest
rules until they hold a share 1 − ρ of the niche's fitness; predictions stay near what they were.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ifthen.checks import one_of, real_number
from ifthen.errors import RuleError, TaskError
from ifthen.explain.domain import tabular
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.jit import kernel
from ifthen.rollout.evaluate import policy_table
from ifthen.tasks.tabular import TabularTask

Compaction = Literal["greedy", "gnmc"]
MOST_MATCHES = 10_000_000
"""Points × rules that are looked at together."""
MOST_ADDED = 500
"""Points at which an action has changed that are looked at in addition, per round."""


def compact(
    policy: Any, task: TabularTask, method: Compaction = "greedy", rho: float = 0.1
) -> PredictionArrayRules:
    """Return a smaller ruleset, its rules as they were and in the same order.

    Args:
        policy: a trained XCSF, or its ruleset.
        task: the task whose states are looked at.
        method: "greedy", the same action in every state; "gnmc", nearly the same predictions.
        rho: ρ, the share of each niche's fitness that "gnmc" may drop.
    """
    one_of("method", method, get_args(Compaction))
    rho = real_number("rho", rho, 0, 1)
    ruleset = getattr(policy, "ruleset", policy)
    if not isinstance(ruleset, PredictionArrayRules):
        raise RuleError(f"only rulesets of XCSF can be compacted, not {ruleset!r}.")
    task = tabular(task, "compact", ": use prune_by_playing")
    actions = policy_table(ruleset, task)
    if (actions < 0).all():
        raise TaskError(f"no rule of {ruleset!r} matches any state of {task.name}: there is nothing to keep.")
    matching = ruleset.matches(task.dynamics.points)
    kept = (
        niche_mass(ruleset, matching, rho)
        if method == "gnmc"
        else needed_rules(ruleset, task.dynamics.points, matching, actions.astype(np.int64))
    )
    return ruleset.subset(np.flatnonzero(kept))


def compact_at(ruleset: PredictionArrayRules, points: NDArray[np.float64]) -> PredictionArrayRules:
    """Return a smaller ruleset that chooses the same at all of many points.

    Rules are dropped as long as nothing changes at some of the points, evenly spread over them; those at
    which something has changed after all are then looked at too, until there are none.

    Args:
        ruleset: the rules of an XCSF.
        points: `(n, features)`, inside the features' ranges.
    """
    places = np.unique(points, axis=0)
    actions = ruleset.best_actions(places)
    some = max(1, MOST_MATCHES // len(ruleset))
    watched = np.unique(np.linspace(0, len(places) - 1, min(some, len(places))).astype(np.int64))
    while True:
        at = places[watched]
        kept = needed_rules(ruleset, at, ruleset.matches(at), actions[watched])
        found = ruleset.subset(np.flatnonzero(kept)) if kept.any() else ruleset
        changed = np.flatnonzero(found.best_actions(places) != actions)
        if not len(changed):
            return found
        watched = np.union1d(watched, changed[:: len(changed) // MOST_ADDED + 1])


def niche_mass(ruleset: PredictionArrayRules, matching: NDArray[np.bool_], rho: float) -> NDArray[np.bool_]:
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


def needed_rules(
    ruleset: PredictionArrayRules,
    points: NDArray[np.float64],
    matching: NDArray[np.bool_],
    policy: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return which rules are left when one after the other was dropped, as long as that changed no action.

    First go those that never speak for the action taken, then the narrowest, the least fit among equals;
    then all over again, until none can go.
    """
    speaks = (matching & (ruleset.actions == policy[:, None])).sum(axis=0)
    order = np.lexsort((ruleset.fitness, speaks))
    kept = np.ones(len(ruleset), dtype=np.bool_)
    predictions = ruleset.predictions(points)
    ends = matching.sum(axis=1).cumsum()
    members = np.nonzero(matching)[1]
    actions, fitness = ruleset.actions, ruleset.fitness
    while drop_rules(order, matching, ends, members, actions, fitness, predictions, policy, kept):
        order = order[kept[order]]
    return kept


@kernel
def best_of_kept(
    s: int,
    ends: NDArray[np.int64],
    members: NDArray[np.int64],
    actions: NDArray[np.int32],
    fitness: NDArray[np.float64],
    predictions: NDArray[np.float64],
    kept: NDArray[np.bool_],
    weighted: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> int:
    """Return the best action of state s by the kept rules, −1 where none matches.

    The rules that match s are `members` from `ends[s − 1]` to `ends[s]`; the last two are scratch `(A,)`.
    """
    weighted[:] = 0.0
    totals[:] = 0.0
    for at in range(ends[s - 1] if s > 0 else 0, ends[s]):
        r = members[at]
        if kept[r]:
            weighted[actions[r]] += fitness[r] * predictions[s, r]
            totals[actions[r]] += fitness[r]
    best = -1
    for a in range(len(totals)):
        if totals[a] > 0 and (best < 0 or weighted[a] / totals[a] > weighted[best] / totals[best]):
            best = a
    return best


@kernel
def drop_rules(
    order: NDArray[np.int64],
    matching: NDArray[np.bool_],
    ends: NDArray[np.int64],
    members: NDArray[np.int64],
    actions: NDArray[np.int32],
    fitness: NDArray[np.float64],
    predictions: NDArray[np.float64],
    policy: NDArray[np.int64],
    kept: NDArray[np.bool_],
) -> int:
    """Drop rules in the given order from `kept` where no state's best action changes; return how many."""
    n_actions = actions.max() + 1
    weighted, totals = np.empty(n_actions), np.empty(n_actions)
    dropped = len(order)
    for r in order:
        kept[r] = False
        for s in range(len(policy)):
            if matching[s, r]:
                best = best_of_kept(s, ends, members, actions, fitness, predictions, kept, weighted, totals)
                if best != policy[s]:
                    kept[r] = True
                    dropped -= 1
                    break
    return dropped
