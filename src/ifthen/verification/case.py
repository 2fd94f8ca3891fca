"""The case that is verified: a ruleset, the task that it is verified for, and its policy in that task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.boxes.lists import always_above, first_match
from ifthen.rules.boxes.search import BUDGET
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import MOST_VECTORS, AnyTask, Scope, listed, table_of, values_by_name
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.solve import policy_values
from ifthen.tasks.table import TabularTask
from ifthen.verification.findings import SHOWN, Finding, Vector, severity, some_of, vector_in_words
from ifthen.verification.graph import ROUNDING, PolicyGraph

Beaten = dict[int, tuple[int, ...]]
"""Rules that never decide, each with the rules that beat it; none where it matches nothing."""


def dead_at(scope: Scope) -> tuple[Beaten, NDArray[np.bool_]]:
    """Return the rules that never decide at the points of a scope, and which rules do, `(rules,)`."""
    ruleset = scope.ruleset
    alive = np.asarray(scope.matching.any(axis=0) if ruleset.votes else scope.counts > 0)
    dead = {}
    for r in np.flatnonzero(~alive).tolist():
        own = np.flatnonzero(scope.matching[:, r])
        dead[r] = beating_set(ruleset.beats(r, scope.matching[own], scope.points[own]))
    return dead, alive


def beating_set(beaten: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return a few rules (columns) of which one beats at every point (row); none can be left out."""
    left, chosen = beaten.any(axis=1), []
    while left.any():
        chosen.append(int(beaten[left].sum(axis=0).argmax()))
        left &= ~beaten[:, chosen[-1]]
    for q in list(chosen):
        others = [c for c in chosen if c != q]
        if (beaten[:, others].any(axis=1) == beaten.any(axis=1)).all():
            chosen = others
    return tuple(sorted(chosen))


def dead_everywhere(ruleset: RuleSet, budget: int) -> tuple[Beaten, NDArray[np.bool_]]:
    """Return the rules proven never to decide anywhere, and which rules are proven to decide, `(rules,)`.

    For a decision list this is decided exactly, up to the budget. Scores differ from point to point: that a
    rule decides is shown by a point, and that it never does only where one rule around it is always above.
    """
    if ruleset.ordered:
        reaches = first_match(ruleset, budget=budget)
        dead = {reach.rule: reach.shadowed_by for reach in reaches if reach.decides is False}
        return dead, np.array([reach.decides is True for reach in reaches])
    if ruleset.scoring is None or ruleset.votes:
        return {}, np.ones(len(ruleset), dtype=np.bool_)
    bounds = ruleset.bounds.astype(np.float64)
    low, high = bounds[..., 0], bounds[..., 1]
    whole = np.array([feature.is_integer for feature in ruleset.features])
    middle = np.clip(low / 2 + high / 2, low, high)  # halves of the smallest numbers are 0
    tried = np.concatenate([np.where(whole, np.floor(middle), middle), low, high])
    alive = np.zeros(len(ruleset), dtype=np.bool_)
    alive[np.unique(ruleset.choose(tried)[1])] = True
    beaten: Beaten = {}
    for r in np.flatnonzero(~alive).tolist():
        around = ((low <= low[r]) & (high >= high[r])).all(axis=1)
        for q in np.flatnonzero(around).tolist():
            if q != r and always_above(ruleset.scoring, q, r, bounds[r]):
                beaten[r] = (q,)
                break
    return beaten, alive


class Model(PolicyGraph):
    """A policy on a task, with states and paths in words.

    Args:
        task: the task.
        scope: the ruleset at the task's decision states.
    """

    def __init__(self, task: TabularTask, scope: Scope) -> None:
        super().__init__(task, scope.actions)
        self.scope = scope

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The policy's value in every decision state, `(D,)`; NaN where a state without a rule can be met."""
        policy = np.full(self.task.n_states, -1, dtype=np.int64)
        policy[self.task.decision_states] = self.table
        return policy_values(self.task, policy)[self.task.decision_states]

    def finding(
        self, kind: str, text: str, state: int, data: dict[str, Any], is_problem: bool = False
    ) -> Finding:
        """Return a finding that can be seen in a decision state."""
        return Finding(kind, severity(is_problem), text, witness=self.scope.vector(state), data=data)

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
        return [{**self.scope.vector(s), "action": self.action(s)} for s in states]

    def action(self, s: int) -> str | None:
        """Return the name of the action in a decision state, None where there is no rule."""
        return self.task.action_names[self.table[s]] if self.table[s] >= 0 else None

    def state(self, s: int) -> str:
        """Return a decision state in words."""
        return vector_in_words(self.scope.vector(s), self.task.features)

    def way(self, states: list[int]) -> str:
        """Return a path in words, the middle of a long one left out; features are named at its beginning."""
        places = [", ".join(map(str, self.scope.vector(s).values())) for s in states]
        places[0] = self.state(states[0])
        steps = [f"({place}) {self.action(s) or 'no rule'}" for place, s in zip(places, states, strict=True)]
        for i, after in enumerate(states[1:]):
            if self.slips(states[i], self.next_state[states[i]] == after):
                steps[i] += ", slipping"
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
        return some_of([f"({self.state(int(s))})" for s in states[:SHOWN]], len(states), ", ")

    def numbers(self, states: NDArray[np.integer]) -> list[int]:
        """Return decision states as the task's own state numbers."""
        return [int(s) for s in self.task.decision_states[states]]


MOST_MATCHES = 30_000_000
"""The largest number of points times rules that is looked at point by point."""


@dataclass(frozen=True, eq=False)
class Case:
    """A ruleset, and where claims about it must hold.

    Args:
        ruleset: the rules.
        task: the task; None for every observation that the features allow.
        budget: looks at boxes before a search over a whole space gives up.
    """

    ruleset: RuleSet
    task: AnyTask | None = None
    budget: int = BUDGET

    @cached_property
    def table(self) -> TabularTask | None:
        """The task if it has a table of states."""
        return table_of(self.ruleset, self.task)

    @property
    def environment(self) -> EnvTask:
        """The task as an environment; only for tasks that have no table of states."""
        return cast(EnvTask, self.task)

    @cached_property
    def scope(self) -> Scope | None:
        """The points at which claims must hold; None where they cannot be listed."""
        return listed(self.ruleset, self.task, min(MOST_VECTORS, MOST_MATCHES // len(self.ruleset)))

    @cached_property
    def model(self) -> Model:
        """The policy in the table of the task; only for tasks that have one."""
        assert self.table is not None
        assert self.scope is not None
        return Model(self.table, self.scope)

    @cached_property
    def dead(self) -> tuple[Beaten, NDArray[np.bool_]]:
        """The rules that never decide, and which rules are proven to decide, `(rules,)`."""
        return dead_everywhere(self.ruleset, self.budget) if self.scope is None else dead_at(self.scope)
