"""Best action map: the rules that speak for the action that is taken, state by state (paper, appendix).

In every decision state these are the matching rules whose action is the one chosen. Together they are the
part of a ruleset that one has to read to know what it does; how many there are in a state is its density.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.domain import ruleset_of, tabular
from ifthen.rollout.evaluate import policy_table
from ifthen.tasks.tabular import TabularTask


@dataclass(frozen=True, eq=False)
class BestActionMap:
    """The rules that speak for what is done.

    Args:
        actions: the action chosen in each decision state, `(D,)`, −1 where no rule matches.
        sets: which rules match there and advocate it, `(D, rules)`.
    """

    actions: NDArray[np.int64]
    sets: NDArray[np.bool_]

    @property
    def rules(self) -> NDArray[np.int64]:
        """The numbers, from 0, of the rules in any of the sets."""
        return np.flatnonzero(self.sets.any(axis=0))

    @property
    def density(self) -> NDArray[np.int64]:
        """How many rules there are in each state's set, `(D,)`."""
        sizes: NDArray[np.int64] = self.sets.sum(axis=1)
        return sizes

    def __len__(self) -> int:
        return len(self.rules)


def best_action_map(policy: Any, task: TabularTask) -> BestActionMap:
    """Return the best action map of a ruleset over the decision states of a task.

    Args:
        policy: a RuleSet, or a trained system.
        task: the task; its `decision_states` are what the map's rows stand for.
    """
    ruleset = ruleset_of(policy)
    task = tabular(task, "a best action map")
    actions = policy_table(ruleset, task).astype(np.int64)
    matching = ruleset.matches(task.dynamics.points)
    return BestActionMap(actions, matching & (ruleset.actions == actions[:, None]))
