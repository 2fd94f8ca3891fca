"""What a policy does in a task, in numbers: where it goes, what its actions cost, which rules it uses.

All are exact: they are computed on the task's transitions, nothing is sampled. A policy is a table of
actions over the decision states, `(D,)`, −1 where no rule matches; an episode that meets such a state stops
there, so that the state is visited but no step is made from it.

The best action map (paper, appendix) has the rules that speak for the action that is taken, state by state:
the matching rules whose action is the one chosen. Together they are the part of a ruleset that one has to
read to know what it does; how many there are in a state is its density.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.ruleset import PolicyLike, RuleSet
from ifthen.simulate.scope import ruleset_of, tabular
from ifthen.simulate.table_simulator import policy_table
from ifthen.tasks.solve import value_iteration
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Task

if TYPE_CHECKING:
    from scipy.sparse import csc_array  # type: ignore[import-untyped]  # SciPy ships no types


class Usage(NamedTuple):
    """How much of what is done each rule decides; what is missing to 1 is decided by none."""

    states: Floats
    """`(rules,)`: its share of the decision states."""
    steps: Floats
    """`(rules,)`: its share of the visits expected in an episode, truncated after t_max steps."""


def visits(task: TabularTask, table: NDArray[np.integer], discounted: bool = True) -> Floats:
    """Return how often each decision state is expected to be visited in an episode, `(D,)`.

    Episodes start uniformly in S_I, which is ρ, and P is the policy's transition matrix.

    Args:
        task: the task.
        table: the action in every decision state, `(D,)`, −1 for none.
        discounted: a visit at step t counts γ^t and episodes are not truncated: d = ρ + γ Pᵀ d, so that the
            rewards weighted by d add up to the exact performance. Otherwise every visit in an episode of at
            most t_max steps counts 1, as it does with γ = 1, where the sum need not end.
    """
    transition_matrix = transitions(task, table)
    start = np.bincount(task.dynamics.starts, minlength=len(task.decision_states)) / len(task.dynamics.starts)
    if not discounted or task.gamma == 1:
        total, current = np.zeros_like(start), start
        for _ in range(task.t_max):
            total += current
            current = transition_matrix @ current
        return total
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import spsolve  # type: ignore[import-untyped]  # SciPy ships no types

    system = eye_array(len(start), format="csc") - task.gamma * transition_matrix
    expected: Floats = np.maximum(spsolve(system, start), 0.0)  # rounding can give −1e−20
    return expected


def transitions(task: TabularTask, table: NDArray[np.integer]) -> csc_array:
    """Return Pᵀ, `(D, D)`: how likely decision state s (column) is followed by decision state n (row)."""
    from scipy.sparse import csc_array

    model, states = task.dynamics, np.flatnonzero(table >= 0)
    next_states = model.next_state[states, table[states]]
    from_states = np.repeat(states, len(model.probability)).reshape(next_states.shape)
    probabilities = np.broadcast_to(model.probability, next_states.shape)
    goes_on = next_states >= 0
    return csc_array(
        (probabilities[goes_on], (next_states[goes_on], from_states[goes_on])), shape=(len(table), len(table))
    )


def advantages(task: TabularTask, table: NDArray[np.integer]) -> Floats:
    """Return Q*(s, π(s)) − V*(s) of every decision state, `(D,)`: what its action costs.

    All later actions are taken to be optimal. It is 0 where the action is optimal, negative elsewhere, and
    NaN where there is none.

    Args:
        task: the task.
        table: the action in every decision state, `(D,)`, −1 for none.
    """
    states, best = task.decision_states, value_iteration(task)
    cost = best.action_values[states, table] - best.values[states]
    cost = np.where(best.optimal_actions[states, table], 0.0, cost)
    return np.where(table >= 0, cost, np.nan)


def usage(ruleset: RuleSet, task: TabularTask) -> Usage:
    """Return which share of the decision states, and of the steps, each rule of a ruleset decides."""
    table = policy_table(ruleset, task)
    _, deciders = ruleset.choose(task.dynamics.points)
    weight = visits(task, table, discounted=False)
    decided = deciders >= 0
    states = np.bincount(deciders[decided], minlength=len(ruleset)) / len(deciders)
    steps = np.bincount(deciders[decided], weight[decided], minlength=len(ruleset)) / weight.sum()
    return Usage(states, steps)


@dataclass(frozen=True, eq=False)
class BestActionMap:
    """The rules that speak for what is done.

    Args:
        actions: the action chosen in each decision state, `(D,)`, −1 where no rule matches.
        sets: which rules match there and advocate it, `(D, rules)`.
    """

    actions: Ints
    sets: Mask

    @property
    def rules(self) -> Ints:
        """The numbers, from 0, of the rules in any of the sets."""
        return np.flatnonzero(self.sets.any(axis=0))

    @property
    def density(self) -> Ints:
        """How many rules there are in each state's set, `(D,)`."""
        sizes: Ints = self.sets.sum(axis=1)
        return sizes

    def __len__(self) -> int:
        return len(self.rules)


def best_action_map(policy: PolicyLike, task: Task) -> BestActionMap:
    """Return the best action map of a ruleset over the decision states of a task.

    Args:
        policy: a RuleSet, or a trained system.
        task: the task; its `decision_states` are what the map's rows stand for.
    """
    ruleset = ruleset_of(policy)
    table = tabular(task, "a best action map")
    actions = policy_table(ruleset, table).astype(np.int64)
    matching = ruleset.matches(table.dynamics.points)
    return BestActionMap(actions, matching & (ruleset.actions == actions[:, None]))
