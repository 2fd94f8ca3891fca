"""How well a policy does in an environment, over a list of reset seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.errors import TaskError
from ifthen.inference.decision_list import DecisionList
from ifthen.inference.rulebook import LIST, STRENGTH, Rulebook
from ifthen.inference.strength import StrengthRules
from ifthen.rollout.episodes import NULL, TRUNCATED, Episodes
from ifthen.rollout.players import play_policy, play_rules
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask


@dataclass(frozen=True, eq=False)
class Score:
    """How well a policy does in an environment.

    Args:
        performance: the mean return; the task's floor where a state without a rule was met.
        deviation: the sample standard deviation of returns; NaN for a single episode.
        least: the smallest return.
        most: the largest return.
        episodes: episodes played.
        steps: steps played.
        truncated_share: share of episodes that reached t_max.
        failed_share: share of episodes that met a state without a rule.
        failed: whether any did.
        returns: the return of each episode, up to where it ended, `(episodes,)`.
        seeds: the reset seed of each episode, `(episodes,)`.
    """

    performance: float
    deviation: float
    least: float
    most: float
    episodes: int
    steps: int
    truncated_share: float
    failed_share: float
    failed: bool
    returns: NDArray[np.float64] = field(repr=False)
    seeds: NDArray[np.int64] = field(repr=False)


def score(policy: Any, task: EnvTask, seeds: ArrayLike | None = None, threads: int = 1) -> Score:
    """Play a policy from reset seeds and say what it got.

    Args:
        policy: a RuleSet, or a trained system.
        task: the task.
        seeds: the reset seeds; z where None. `task.unseen(100)` are seeds that nothing was learnt on.
        threads: how many threads or worker processes to use; results do not depend on it.
    """
    chosen = task.z if seeds is None else checked_seeds(seeds)
    played = play_ruleset(checked_ruleset(policy, task), task, chosen, threads)
    returns, failed = played.returns[0], played.endings[0] == NULL
    return Score(
        performance=task.floor if failed.any() else float(returns.mean()),
        deviation=float(returns.std(ddof=1)) if len(returns) > 1 else math.nan,
        least=float(returns.min()),
        most=float(returns.max()),
        episodes=len(returns),
        steps=int(played.steps.sum()),
        truncated_share=float((played.endings[0] == TRUNCATED).mean()),
        failed_share=float(failed.mean()),
        failed=bool(failed.any()),
        returns=returns,
        seeds=chosen,
    )


def play_ruleset(ruleset: RuleSet, task: EnvTask, seeds: NDArray[np.int64], threads: int = 1) -> Episodes:
    """Play a ruleset of any kind from reset seeds; the arrays are `(1, k)`."""
    rules = rulebook_of(ruleset)
    if rules is not None:
        return play_rules(task, rules, seeds, threads)
    return play_policy(task, lambda points: ruleset.choose(np.clip(points, *task.ranges))[0], seeds)


def rulebook_of(ruleset: RuleSet) -> Rulebook | None:
    """Return a ruleset ready to play; None for kinds that only choose in Python."""
    bounds, actions = ruleset.bounds[None], ruleset.actions[None]
    if isinstance(ruleset, StrengthRules):
        learnt = np.column_stack([ruleset.weights, ruleset.variances])[None]
        return Rulebook.of(STRENGTH, bounds, actions, learnt, ruleset.features, ruleset.x0)
    if isinstance(ruleset, DecisionList):
        return Rulebook.of(LIST, bounds, actions, np.zeros((1, len(ruleset), 0)), ruleset.features)
    return None


def checked_ruleset(policy: Any, task: EnvTask) -> RuleSet:
    """Return the ruleset of a policy, or raise where it speaks of something else than the task."""
    ruleset = getattr(policy, "ruleset", policy)
    if not isinstance(ruleset, RuleSet):
        raise TaskError(f"a policy in {task.name} must be a RuleSet or a trained system, not {policy!r}.")
    if ruleset.features != task.features or ruleset.action_names != task.action_names:
        raise TaskError(
            f"the ruleset speaks of {described(ruleset)}, but task {task.name} has {described(task)}."
        )
    return ruleset


def checked_seeds(seeds: ArrayLike) -> NDArray[np.int64]:
    """Return reset seeds as an array, or raise where they are none."""
    array = np.asarray(seeds)
    whole = array.ndim == 1 and len(array) > 0 and array.dtype.kind in "iu"
    if not whole or array.min() < 0 or array.max() >= 2**63:
        raise TaskError(f"seeds must be a list of whole numbers from 0, such as range(100), not {seeds!r}.")
    return array.astype(np.int64)


def described(owner: RuleSet | TabularTask | EnvTask) -> str:
    """Return features and actions in short, for error messages."""
    features = ", ".join(f"{f.name} in [{f.low}, {f.high}]" for f in owner.features)
    return f"{features} and actions {', '.join(owner.action_names)}"
