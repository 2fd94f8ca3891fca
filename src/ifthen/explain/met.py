"""What a policy meets in an environment: the states that its episodes went through, found quickly.

An environment's states cannot be listed. Those that were met can: two policies that choose the same in all
states that the one met play the same episodes, from the same reset seeds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.visited import visited
from ifthen.inference.prediction_array import PredictionArrayRules
from ifthen.rollout.players import play_policy
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.twins import twin_of


class Met(NamedTuple):
    """States that episodes went through."""

    points: NDArray[np.float64]
    """`(n, features)`, clipped to the features' ranges; as often as they were met."""
    episodes: int
    """Episodes that were played."""

    def in_words(self) -> str:
        """Return "the 60,000 states met in 120 episodes"."""
        states = "states" if len(self.points) > 1 else "state"
        episodes = "episodes" if self.episodes > 1 else "episode"
        return f"the {len(self.points):,} {states} met in {self.episodes:,} {episodes}"


def states_met(ruleset: RuleSet, task: EnvTask, seeds: NDArray[np.int64]) -> Met:
    """Return every state in which a ruleset is asked for an action when it is played from reset seeds.

    A state in which none of its rules matches ends an episode and is the last of it.
    """
    if twin_of(task) is None:
        return Met(visited(ruleset, task, seeds).points, len(seeds))
    seen: list[NDArray[np.float64]] = []

    def choose(points: NDArray[np.float64]) -> NDArray[np.int64]:
        seen.append(points)
        return actions_at(ruleset, points)

    play_policy(task, choose, seeds)
    return Met(np.concatenate(seen), len(seeds))


def actions_at(ruleset: RuleSet, points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the actions `(n,)` of a ruleset at points `(n, features)` inside the ranges, −1 for none."""
    if isinstance(ruleset, PredictionArrayRules):
        return ruleset.best_actions(points)
    return ruleset.choose(points)[0]
