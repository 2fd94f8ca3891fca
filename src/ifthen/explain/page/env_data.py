"""What the page of an environment task shows, as plain data: features, rules, states met, some episodes.

There are no states to list: the page has the rules and works out itself what they do at any point. What is
stored is bounded: few episodes, thinned where they are long, and some of the states met.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.page.explain_data import HOW, NOTED, number, numbers
from ifthen.explain.pictures.importance import ranked
from ifthen.explain.points import choose_at
from ifthen.explain.visited import met_shares, middle, played, visited
from ifthen.explain.words import rule_for_reading
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.inference.strength import StrengthRules
from ifthen.rollout.episodes import NULL, TERMINATED, TRUNCATED
from ifthen.rollout.trajectories import Trajectory
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask

MOST_EPISODES, MOST_STEPS, MOST_POINTS = 5, 1000, 1500
"""How many episodes are stored for a policy, how many steps of each, and how many of the states met;"""
MOST_NUMBERS = 60_000
"""fewer where these would be more numbers, for an episode or for the states met."""
DIGITS = 6
ENDED = {
    TERMINATED: "The environment has ended the episode.",
    TRUNCATED: "The episode is cut here: it has reached the largest number of steps.",
    NULL: "No rule matches: nothing can be done.",
}
OVER = {TERMINATED: "terminated", TRUNCATED: "truncated", NULL: ""}
"""Why no action is asked for in an episode's last state; where no rule matches, one was."""
CUT_EARLY = "The environment has cut the episode here."


def env_task_data(task: EnvTask) -> dict[str, Any]:
    """Return what the page needs to know of a task."""
    return {
        "name": task.name,
        "features": [
            {"name": f.name, "low": f.low, "high": f.high, "unit": f.unit, "whole": f.is_integer}
            for f in task.features
        ],
        "actions": list(task.action_names),
    }


def env_policy_data(ruleset: RuleSet, task: EnvTask, name: str) -> dict[str, Any]:
    """Return what the page shows of a policy: its rules, where they decide, and some episodes."""
    met, shares = visited(ruleset, task), met_shares(ruleset, task)
    order, most = ranked(ruleset, met), room(MOST_POINTS, task)
    return {
        "name": name,
        "kind": ruleset.kind,
        "how": HOW[ruleset.kind],
        "noted": NOTED.get(ruleset.kind, ""),
        "rules": [
            {
                "words": rule_for_reading(ruleset, r),
                "notes": ruleset.rule_notes(r),
                "share": number(shares[r]),
            }
            for r in range(len(ruleset))
        ],
        "bounds": ruleset.bounds.tolist(),
        "actions": ruleset.actions.tolist(),
        **learnt_data(ruleset),
        "axes": sorted(order[:2]),
        "order": order,
        "middle": rounded(middle(met.points)),
        "met": [rounded(point) for point in met.points[spread(len(met.points), most)]],
        "states": len(met.points),
        "uncovered": int((met.deciders < 0).sum()),
        "episodes": episodes_data(ruleset, task),
    }


def learnt_data(ruleset: RuleSet) -> dict[str, Any]:
    """Return what rules go by besides their conditions, all digits of it."""
    if isinstance(ruleset, StrengthRules):
        deviations = np.sqrt(ruleset.variances)
        return {"weights": ruleset.weights.tolist(), "deviations": deviations.tolist(), "x0": ruleset.x0}
    if isinstance(ruleset, PredictionArrayRules):
        return {"weights": ruleset.weights.tolist(), "fitness": ruleset.fitness.tolist(), "x0": ruleset.x0}
    return {}


def episodes_data(ruleset: RuleSet, task: EnvTask) -> list[dict[str, Any]]:
    """Return a few episodes of z: those with the least, a middling and the largest return, and the first."""
    found = played(ruleset, task)
    returns = np.array([discounted(episode.rewards, task.gamma)[-1:].sum() for episode in found])
    order = np.argsort(returns, kind="stable")
    marks = {
        int(order[-1]): "the best",
        int(order[len(order) // 2]): "a middling one",
        int(order[0]): "the worst",
    }
    if returns.min() == returns.max():
        marks = {}
    some = list(dict.fromkeys([*sorted(marks), *range(len(found))]))[:MOST_EPISODES]
    return [
        {
            "number": e + 1,
            "seed": int(task.z[e]),
            "mark": marks.get(e, ""),
            **episode_data(found[e], ruleset, task),
        }
        for e in sorted(some)
    ]


def episode_data(episode: Trajectory, ruleset: RuleSet, task: EnvTask) -> dict[str, Any]:
    """Return one episode; of a long one, steps the same distance apart, the first and the last among them."""
    n = len(episode.actions)
    kept = spread(n, room(MOST_STEPS, task))
    points = np.vstack([episode.points, episode.last])
    rules = choose_at(ruleset, episode.points)[1] if n else np.zeros(0, dtype=np.int64)
    returns = np.concatenate([[0.0], discounted(episode.rewards, task.gamma)])
    return {
        "length": n,
        "times": [*kept.tolist(), n],
        "points": [rounded(point) for point in points[[*kept, n]]],
        "rules": rules[kept].tolist(),
        "actions": episode.actions[kept].tolist(),
        "rewards": numbers(episode.rewards[kept]),
        "returns": numbers(returns[[*kept, n]]),
        "over": OVER[episode.ending],
        "ended": CUT_EARLY if episode.ending == TRUNCATED and n < task.t_max else ENDED[episode.ending],
    }


def room(most: int, task: EnvTask) -> int:
    """Return how many observations there is room for."""
    return max(2, min(most, MOST_NUMBERS // len(task.features)))


def discounted(rewards: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """Return the discounted return after each step, `(T,)`."""
    found: NDArray[np.float64] = np.cumsum(gamma ** np.arange(len(rewards)) * rewards)
    return found


def spread(n: int, most: int) -> NDArray[np.int64]:
    """Return at most so many of the numbers 0 to n − 1, spread evenly, both ends among them."""
    return (
        np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
        if n
        else np.zeros(0, np.int64)
    )


def rounded(point: NDArray[np.float64]) -> list[float]:
    """Return a point with six digits."""
    return [float(f"{value:.{DIGITS}g}") + 0.0 for value in point]
