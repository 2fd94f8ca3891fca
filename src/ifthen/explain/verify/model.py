"""A ruleset on a task: its policy, where that leads, and how states and ways are told."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.verify.domain import Domain
from ifthen.explain.verify.findings import (
    some_of,
    vector_in_words,
)
from ifthen.explain.verify.graph import PolicyGraph, Reach
from ifthen.tasks.tabular import TabularTask

LISTED = 1000
"""Most states that are listed one by one."""


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
    def graph(self) -> PolicyGraph:
        """The policy's transitions."""
        return PolicyGraph(self.task, self.table, self.goal)

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
        """Return a path in words, the middle of a long one left out."""
        names = [self.task.action_names[self.table[s]] if self.table[s] >= 0 else "no rule" for s in states]
        steps = [
            f"({', '.join(map(str, self.domain.vector(s).values()))}) {a}"
            for s, a in zip(states, names, strict=True)
        ]
        if len(steps) > 8:
            steps = [*steps[:4], f"… {len(steps) - 7} more …", *steps[-3:]]
        return " → ".join(steps)

    def some(self, states: NDArray[np.int64]) -> str:
        """Return the first of some states in words, and how many more there are."""
        return some_of([f"({self.state(int(s))})" for s in states[:LISTED]], len(states), ", ")

    def numbers(self, states: NDArray[np.integer]) -> list[int]:
        """Return decision states as the task's own state numbers."""
        return [int(s) for s in self.task.decision_states[states]]
