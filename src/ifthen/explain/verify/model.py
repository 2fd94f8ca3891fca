"""A ruleset on a task: its policy, where that leads, and how states and ways are told."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.points import values_by_name
from ifthen.explain.verify.domain import Domain
from ifthen.explain.verify.findings import Vector, some_of, vector_in_words
from ifthen.explain.verify.graph import PolicyGraph, Reach
from ifthen.tasks.tabular import TabularTask

LISTED = 1000
"""Most states that are listed one by one."""
ROUNDING = 1e-9  # probabilities that differ by less, relative to the larger, count as equal


@dataclass(frozen=True, eq=False)
class Model:
    """A policy on a task.

    Args:
        task: the task.
        domain: the ruleset on the task's decision states.
    """

    task: TabularTask
    domain: Domain

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """The action in every decision state, `(D,)`, −1 for none."""
        return self.domain.choice[0]

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
    def graph(self) -> PolicyGraph:
        """The policy's transitions."""
        return PolicyGraph(self.task, self.table, self.goal, self.costly)

    @cached_property
    def reach(self) -> Reach:
        """What the policy can reach from the initial states."""
        return self.graph.forward(self.graph.starts)

    @cached_property
    def can_reach_goal(self) -> NDArray[np.bool_]:
        """From which decision states the policy can reach the goal, `(D,)`."""
        return self.graph.backward(self.graph.goal_ending)

    def visited_in_words(self, states: NDArray[np.int64]) -> str:
        """Return how many of some states are visited; nothing where the policy can visit them all."""
        met = int(self.reach.reached[states].sum())
        if met == len(states):
            return ""
        if len(states) == 1:
            return ", which cannot be visited"
        return f", {met:,} of these can be visited" if met else ", none of these can be visited"

    def path(self, states: list[int]) -> list[dict[str, Any]]:
        """Return a path as plain data: the vector of each state, and the action taken in it."""
        names = self.task.action_names
        return [
            {**self.domain.vector(s), "action": names[self.table[s]] if self.table[s] >= 0 else None}
            for s in states
        ]

    def state(self, s: int) -> str:
        """Return a decision state in words."""
        return vector_in_words(self.domain.vector(s), self.task.features)

    def way(self, states: list[int]) -> str:
        """Return a path in words, the middle of a long one left out; features are named at its beginning."""
        names = [self.task.action_names[self.table[s]] if self.table[s] >= 0 else "no rule" for s in states]
        places = [f"({', '.join(map(str, self.domain.vector(s).values()))})" for s in states]
        places[0] = f"({self.state(states[0])})"
        steps = [f"{place} {name}" for place, name in zip(places, names, strict=True)]
        for i, after in enumerate(states[1:]):
            steps[i] += (
                ", slipping" if self.slips(states[i], self.graph.next_state[states[i]] == after) else ""
            )
        if len(steps) > 8:
            steps = [*steps[:4], f"… {len(steps) - 7} more …", *steps[-3:]]
        return " → ".join(steps)

    def likelihoods(self, s: int) -> NDArray[np.float64]:
        """Return how likely each outcome in a decision state is, those like it included, `(K,)`."""
        state, action = self.task.decision_states[s], self.table[s]
        arrays = (self.task.next_state, self.task.reward, self.task.done)
        alike = [array[state, action][:, None] == array[state, action] for array in arrays]
        likelihoods: NDArray[np.float64] = np.logical_and.reduce(alike) @ self.task.probability
        return likelihoods

    def slips(self, s: int, outcomes: NDArray[np.bool_]) -> bool:
        """Return whether in a decision state another outcome is likelier than any of some, `(K,)`."""
        likelihoods = self.likelihoods(s)
        return bool(likelihoods[outcomes].max() < likelihoods.max() * (1 - ROUNDING))

    def entered(self, s: int, outcomes: NDArray[np.bool_]) -> tuple[Vector, bool, str]:
        """Return the state that the likeliest of some outcomes `(K,)` of the action in a state leads to.

        Returns:
            Its vector, whether it is entered by a slip, and how it is entered, in words.
        """
        here, likelihoods = int(self.task.decision_states[s]), self.likelihoods(s)
        k = int(np.where(outcomes, likelihoods, -1.0).argmax())
        after, slip = int(self.task.next_state[here, self.table[s], k]), self.slips(s, outcomes)
        vector = values_by_name(self.task.features, self.task.state_features[after].tolist())
        by_chance = ", slipping " if slip else ", by chance " if likelihoods[k] < 1 - ROUNDING else ""
        if after == here:
            return vector, slip, f"{', slipping and' if slip else by_chance.rstrip() or ','} staying there"
        return vector, slip, f"{by_chance or ' '}to ({vector_in_words(vector, self.task.features)})"

    def some(self, states: NDArray[np.int64]) -> str:
        """Return the first of some states in words, and how many more there are."""
        return some_of([f"({self.state(int(s))})" for s in states[:LISTED]], len(states), ", ")

    def numbers(self, states: NDArray[np.integer]) -> list[int]:
        """Return decision states as the task's own state numbers."""
        return [int(s) for s in self.task.decision_states[states]]
