"""The transitions of a policy as a graph: which states can be reached, and with which probability.

Nodes are the D decision states. An edge is a transition of positive probability that goes on; transitions
that end the episode are kept apart as good and bad endings. A state without a rule has no edges: the episode
stops there.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explanation.pictures.policy_grid import cell_in_words
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.simulate.scope import Scope, values_by_name
from ifthen.tasks.solve import table_values
from ifthen.tasks.tabular_task import TabularTask
from ifthen.verification.findings import SHOWN, Finding, Vector, severity, some_of, vector_in_words

MOST_ELIMINATED = 1500  # states; more are solved as a sparse system, which is faster and rounds more
ROUNDING = 1e-9  # probabilities that differ by less, relative to the larger, count as equal


@dataclass(frozen=True, eq=False)
class Reach:
    """The states that can be reached from some states.

    Args:
        distance: the fewest steps to each state, `(D,)`, −1 where it cannot be reached.
        before: the state before each on a shortest path, `(D,)`, −1 at its beginning.
    """

    distance: Ints
    before: Ints

    @property
    def reached(self) -> Mask:
        """Which states can be reached, `(D,)`."""
        return self.distance >= 0

    def path(self, to: int) -> list[int]:
        """Return a shortest path of states that ends in `to`."""
        states = [to]
        while self.before[states[-1]] >= 0:
            states.append(int(self.before[states[-1]]))
        return states[::-1]

    def nearest(self, wanted: Mask) -> int:
        """Return the wanted state that is reached in the fewest steps, −1 where none can be."""
        steps = np.where(wanted & self.reached, self.distance, np.iinfo(np.int64).max)
        return int(steps.argmin()) if (wanted & self.reached).any() else -1


class Model:
    """The transitions of a policy, with states and paths in words.

    Args:
        task: the task.
        scope: the ruleset at the task's decision states.
    """

    def __init__(self, task: TabularTask, scope: Scope) -> None:
        self.task, self.scope, self.table, self.size = task, scope, scope.actions, len(scope)
        table = self.table
        model, states = task.dynamics, np.flatnonzero(table >= 0)
        self.starts, self.probability = np.unique(model.starts), model.probability
        self.next_state = np.full((self.size, len(model.probability)), -2, dtype=np.int64)
        self.next_state[states] = model.next_state[states, table[states]]
        reward = np.zeros(self.next_state.shape)
        reward[states] = model.reward[states, table[states]]
        ends = self.next_state == -1
        self.goal_outcomes, self.bad_outcomes = ends & (reward == self.goal), ends & (reward != self.goal)
        self.costly_outcomes = (reward == self.costly) & ~self.bad_outcomes

    @cached_property
    def goal(self) -> float | None:
        """The highest reward of an ending, None where episodes never end."""
        rewards = self.task.dynamics.reward[self.task.dynamics.next_state < 0]
        return float(rewards.max()) if len(rewards) else None

    @cached_property
    def ordinary(self) -> float | None:
        """The reward of more than half of all steps, every action in every decision state taken alike."""
        model = self.task.dynamics
        rewards, number = np.unique(model.reward, return_inverse=True)
        shares = np.zeros(len(rewards))
        np.add.at(shares, number.ravel(), np.broadcast_to(model.probability, model.reward.shape).ravel())
        share = shares.max() / shares.sum()
        return float(rewards[shares.argmax()]) if share > 0.5 * (1 + ROUNDING) else None

    @cached_property
    def costly(self) -> float | None:
        """The task's lowest reward, if it is negative and below the ordinary; None where it is not."""
        lowest = float(self.task.dynamics.reward.min())
        return lowest if self.ordinary is not None and lowest < min(0.0, self.ordinary) else None

    @cached_property
    def edges(self) -> tuple[Ints, Ints]:
        """From and to of every edge, each once, in order."""
        source, outcome = np.nonzero(self.next_state >= 0)
        pairs = np.unique(source * self.size + self.next_state[source, outcome])
        return pairs // self.size, pairs % self.size

    @cached_property
    def values(self) -> Floats:
        """The policy's value in every decision state, `(D,)`; NaN where a state without a rule can be met."""
        return table_values(self.task, self.table)

    @cached_property
    def reach(self) -> Reach:
        """The states that the policy can reach from the initial states."""
        return self.forward(self.starts)

    @cached_property
    def can_reach_goal(self) -> Mask:
        """From which decision states the policy can reach the goal, `(D,)`."""
        return self.backward(self.goal_outcomes.any(axis=1))

    @cached_property
    def certain(self) -> Mask:
        """From which decision states the policy reaches the goal with probability 1, `(D,)`."""
        return ~self.backward(~self.can_reach_goal | self.bad_outcomes.any(axis=1))

    def forward(self, states: NDArray[np.integer]) -> Reach:
        """Return the states that can be reached from states given by number."""
        source, target = self.edges
        distance, predecessor = _distances(self.size, source, target, states), np.full(self.size, -1)
        on_way = distance[target] == distance[source] + 1
        # Edges are in order, so that the first state that leads on is taken.
        targets, first_edges = np.unique(target[on_way], return_index=True)
        predecessor[targets] = np.where(distance[targets] > 0, source[on_way][first_edges], -1)
        return Reach(distance, predecessor)

    def backward(self, wanted: Mask) -> Mask:
        """Return the states from which a wanted one can be reached, the wanted ones included."""
        source, target = self.edges
        return _distances(self.size, target, source, np.flatnonzero(wanted)) >= 0

    def chances(self, outcomes: Mask, possible: Mask) -> Floats:
        """Return the probability of ever taking one of `outcomes` `(D, K)`, by state.

        Args:
            outcomes: outcomes of the states' actions.
            possible: the states from which that can happen, `(D,)`; elsewhere the probability is 0.
        """
        from scipy.sparse import csc_array, eye_array  # type: ignore[import-untyped]  # SciPy ships no types
        from scipy.sparse.linalg import spsolve  # type: ignore[import-untyped]  # SciPy ships no types

        chance, inside = np.zeros(self.size), np.flatnonzero(possible)
        if not len(inside):
            return chance
        row_of = np.full(self.size + 2, -1)  # the last two are what −1 and −2 point to
        row_of[inside] = np.arange(len(inside))
        next_row = np.where(outcomes[inside], -1, row_of[self.next_state[inside]])
        row, outcome = np.nonzero(next_row >= 0)
        wanted_chance = outcomes[inside] @ self.probability
        other_chance = (~outcomes[inside] & (next_row < 0)) @ self.probability
        shape = (len(inside), len(inside))
        entries = (self.probability[outcome], (row, next_row[row, outcome]))
        solved = None
        if len(inside) > MOST_ELIMINATED:
            system = eye_array(*shape, format="csc") - csc_array(entries, shape=shape)
            with warnings.catch_warnings(action="ignore"):  # not finite where rounding makes P seem closed
                solved = np.atleast_1d(spsolve(system, wanted_chance))
        if solved is None or not np.isfinite(solved).all():
            steps = np.zeros(shape)
            np.add.at(steps, entries[1], entries[0])
            solved = ending_chances(steps, wanted_chance, other_chance)
        chance[inside] = np.clip(solved, 0.0, 1.0)
        return chance

    def closed_classes(self) -> list[Ints]:
        """Return the sets of states that are never left again: no ending, no state without a rule."""
        from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]  # no types

        source, target = self.edges
        matrix = _matrix(self.size, source, target)
        number, label = connected_components(matrix, directed=True, connection="strong")
        closed = np.ones(number, dtype=np.bool_)
        closed[label[source[label[source] != label[target]]]] = False
        closed[label[(self.next_state < 0).any(axis=1)]] = False
        return [np.flatnonzero(label == c) for c in np.flatnonzero(closed)]

    def cycle(self, state: int) -> list[int]:
        """Return a shortest way from a state in a cycle back to itself: it begins and ends with it."""
        source, target = self.edges
        return [state, *self.forward(target[source == state]).path(state)]

    def finding(
        self, kind: str, text: str, state: int, data: dict[str, Any], is_problem: bool = False
    ) -> Finding:
        """Return a finding that can be seen in a decision state."""
        return Finding(kind, severity(is_problem), text, witness=self.scope.vector(state), data=data)

    def visited_in_words(self, states: Ints) -> str:
        """Return how many of some states are visited; nothing where the policy can visit them all."""
        n_visited = int(self.reach.reached[states].sum())
        if n_visited == len(states):
            return ""
        if len(states) == 1:
            return ", which cannot be visited"
        return f", {n_visited:,} of these can be visited" if n_visited else ", none of these can be visited"

    def path(self, states: list[int]) -> list[dict[str, Any]]:
        """Return a path as plain data: the vector of each state, and the action taken in it."""
        return [{**self.scope.vector(s), "action": self.action(s)} for s in states]

    def action(self, decision_state: int) -> str | None:
        """Return the name of the action in a decision state, None where there is no rule."""
        action = self.table[decision_state]
        return self.task.action_names[action] if action >= 0 else None

    def state(self, decision_state: int) -> str:
        """Return a decision state in words: its cell where the task has a map, else its features."""
        cell = cell_in_words(self.task, int(self.task.decision_states[decision_state]))
        return cell or vector_in_words(self.scope.vector(decision_state), self.task.features)

    def way(self, states: list[int]) -> str:
        """Return a path in words, the middle of a long one left out; features are named at its beginning."""
        cells = [cell_in_words(self.task, int(self.task.decision_states[s])) for s in states]
        vectors = [", ".join(map(str, self.scope.vector(s).values())) for s in states]
        places = [cell or vector for cell, vector in zip(cells, vectors, strict=True)]
        places[0] = self.state(states[0])
        steps = [f"({place}) {self.action(s) or 'no rule'}" for place, s in zip(places, states, strict=True)]
        for i, next_state in enumerate(states[1:]):
            if self.slips(states[i], self.next_state[states[i]] == next_state):
                steps[i] += ", slipping"
        if len(steps) > 8:
            steps = [*steps[:4], f"… {len(steps) - 7} more …", *steps[-3:]]
        return " → ".join(steps)

    def likelihoods(self, decision_state: int) -> Floats:
        """Return how likely each outcome in a decision state is, those like it included, `(K,)`."""
        state, action = self.task.decision_states[decision_state], self.table[decision_state]
        arrays = (self.task.next_state, self.task.reward, self.task.done)
        alike = [array[state, action][:, None] == array[state, action] for array in arrays]
        likelihoods: Floats = np.logical_and.reduce(alike) @ self.task.probability
        return likelihoods

    def slips(self, decision_state: int, outcomes: Mask) -> bool:
        """Return whether in a decision state another outcome is likelier than any of some, `(K,)`."""
        likelihoods = self.likelihoods(decision_state)
        return bool(likelihoods[outcomes].max() < likelihoods.max() * (1 - ROUNDING))

    def entered(self, decision_state: int, outcomes: Mask) -> tuple[Vector, bool, str]:
        """Return the state that the likeliest of some outcomes `(K,)` of the action in a state leads to.

        Returns:
            Its vector, whether it is entered by a slip, and how it is entered, in words.
        """
        state, likelihoods = int(self.task.decision_states[decision_state]), self.likelihoods(decision_state)
        outcome = int(np.where(outcomes, likelihoods, -1.0).argmax())
        next_state = int(self.task.next_state[state, self.table[decision_state], outcome])
        slip = self.slips(decision_state, outcomes)
        vector = values_by_name(self.task.features, self.task.state_features[next_state].tolist())
        by_chance = ", slipping " if slip else ", by chance " if likelihoods[outcome] < 1 - ROUNDING else ""
        if next_state == state:
            return vector, slip, f"{', slipping and' if slip else by_chance.rstrip() or ','} staying there"
        place_words = cell_in_words(self.task, next_state) or vector_in_words(vector, self.task.features)
        return vector, slip, f"{by_chance or ' '}to ({place_words})"

    def some(self, states: Ints) -> str:
        """Return the first of some states in words, and how many more there are."""
        return some_of([f"({self.state(int(s))})" for s in states[:SHOWN]], len(states), ", ")

    def numbers(self, states: NDArray[np.integer]) -> list[int]:
        """Return decision states as the task's own state numbers."""
        return [int(s) for s in self.task.decision_states[states]]


def _matrix(size: int, source: NDArray[np.integer], target: NDArray[np.integer]) -> Any:
    """Return edges as SciPy's graph."""
    from scipy.sparse import coo_array

    return coo_array((np.ones(len(source)), (source, target)), shape=(size, size)).tocsr()


def _distances(size: int, source: Ints, target: Ints, states: NDArray[np.integer]) -> Ints:
    """Return the fewest steps to each state from some states, `(size,)`, −1 where it cannot be reached."""
    from scipy.sparse.csgraph import dijkstra

    # One more node, from which one step leads to each of the states.
    outside = np.full(len(states), size)
    graph = _matrix(size + 1, np.concatenate([source, outside]), np.concatenate([target, states]))
    steps = dijkstra(graph, indices=size, unweighted=True)[:size] - 1
    return np.where(np.isfinite(steps), steps, -1).astype(np.int64)


def ending_chances(steps: Floats, wanted: Floats, other: Floats) -> Floats:
    """Return the probability that a random walk from each state ends in the wanted way, `(n,)`.

    States are eliminated one by one (Grassmann, Taksar and Heyman, "Regenerative analysis and steady state
    distributions for Markov chains", 1985). The probabilities of leaving a state are added up and never
    computed as 1 minus the probability of staying, so that even one of 1e-300 is not lost in rounding.

    Args:
        steps: probability of going from state to state, `(n, n)`; staying may be left in or out.
        wanted: of ending in the wanted way, `(n,)`.
        other: of ending in another, `(n,)`. From every state some end must be possible.
    """
    moves, to_wanted, to_other = steps.copy(), wanted.copy(), other.copy()
    np.fill_diagonal(moves, 0.0)
    leaving, chance = np.empty((2, len(moves)))
    for k in range(len(moves) - 1, -1, -1):
        leaving[k] = moves[k, :k].sum() + to_wanted[k] + to_other[k]
        share = moves[:k, k] / leaving[k]
        moves[:k, :k] += np.outer(share, moves[k, :k])
        to_wanted[:k] += share * to_wanted[k]
        to_other[:k] += share * to_other[k]
        np.fill_diagonal(moves, 0.0)
    for k in range(len(moves)):
        chance[k] = (to_wanted[k] + moves[k, :k] @ chance[:k]) / leaving[k]
    return chance


def safe_states(task: TabularTask, goal: float | None, costly: float | None, is_certain: bool) -> Mask:
    """Return the decision states from which some policy never meets a bad ending or a costly step.

    Args:
        task: the task.
        goal: the reward of the goal; all other endings are bad.
        costly: the reward of a costly step, None where there is none.
        is_certain: whether the policy must also reach the goal with probability 1.

    Returns:
        The largest set of states, `(D,)`, in which every state has a safe action: it meets no bad ending, has
        no costly step and stays in the set. With `is_certain`, safe actions also lead to the goal.
    """
    next_state, reward = task.dynamics.next_state, task.dynamics.reward
    ends = next_state < 0
    allowed = (reward != costly) & (~ends | (reward == goal))
    previous, safe = np.zeros(len(next_state), dtype=np.bool_), np.ones(len(next_state), dtype=np.bool_)
    while (previous != safe).any():
        previous = safe
        stays = np.all(allowed & (ends | previous[next_state]), axis=2)
        safe = np.any(stays & ends.any(axis=2), axis=1) if is_certain else np.any(stays, axis=1)
        nearer = ~safe
        while is_certain and (safe != nearer).any():
            nearer = safe
            safe = np.any(stays & np.any(ends | nearer[next_state], axis=2), axis=1)
    return safe
