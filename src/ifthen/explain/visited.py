"""Where rules lead: the states that a policy meets in an environment, and which rule decides in each.

An environment has no table of states. What can be said of it is said of the states that are met when z, or
other reset seeds, are played.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.explain.points import choose_at
from ifthen.rollout.episodes import NULL
from ifthen.rollout.lanes import record_episodes
from ifthen.rollout.score import checked_ruleset, checked_seeds
from ifthen.rollout.trajectories import Trajectory
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask

KEPT = 4
"""So many plays of a task are remembered: words, pictures and page ask for the same ones."""
Play = tuple[RuleSet, bytes, tuple[Trajectory, ...]]
_plays: weakref.WeakKeyDictionary[EnvTask, list[Play]] = weakref.WeakKeyDictionary()


class Visited(NamedTuple):
    """The states in which an action was asked for, in the order of episodes and steps."""

    points: NDArray[np.float64]
    """`(n, features)`, inside the features' ranges."""
    deciders: NDArray[np.int64]
    """`(n,)`: the rule that decided, −1 where none matched."""
    actions: NDArray[np.int64]
    """`(n,)`: what was done, −1 where no rule matched."""


def visited(policy: Any, task: EnvTask, seeds: ArrayLike | None = None) -> Visited:
    """Play a policy and return every state that it met, as often as it met it.

    Args:
        policy: a RuleSet, or a trained system.
        task: the task.
        seeds: the reset seeds to play from; z where None.
    """
    ruleset = checked_ruleset(policy, task)
    points = np.concatenate([asked(episode) for episode in played(ruleset, task, seeds)])
    actions, deciders = choose_at(ruleset, points)
    return Visited(np.clip(points, *task.ranges), deciders, actions)


def asked(episode: Trajectory) -> NDArray[np.float64]:
    """Return the points at which an episode asked for an action, `(n, features)`, not clipped."""
    return np.vstack([episode.points, episode.last]) if episode.ending == NULL else episode.points


def middle(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of every feature, `(features,)`: not the mean of two, but a value that occurs."""
    found: NDArray[np.float64] = np.sort(points, axis=0)[(len(points) - 1) // 2]
    return found


def met_shares(policy: Any, task: EnvTask, seeds: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return the share of the states met that each rule decides, `(rules,)`; see `visited`."""
    ruleset = checked_ruleset(policy, task)
    deciders = visited(ruleset, task, seeds).deciders
    return np.bincount(deciders[deciders >= 0], minlength=len(ruleset)) / len(deciders)


def played(policy: Any, task: EnvTask, seeds: ArrayLike | None = None) -> tuple[Trajectory, ...]:
    """Return what happens from reset seeds, or from z, episode by episode; the last plays are remembered."""
    ruleset = checked_ruleset(policy, task)
    chosen = task.z if seeds is None else checked_seeds(seeds)
    plays, key = _plays.setdefault(task, []), chosen.tobytes()
    for known, own, episodes in plays:
        if own == key and known == ruleset:
            return episodes
    found = tuple(record_episodes(task, lambda points: choose_at(ruleset, points)[0], chosen))
    plays.append((ruleset, key, found))
    del plays[:-KEPT]
    return found
