"""The case that is verified: a ruleset, the task that it is verified for, and its policy in that task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from ifthen.rules.arrays import Ints, Mask
from ifthen.rules.boxes.differences import BUDGET
from ifthen.rules.boxes.list_analysis import always_above, first_match
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import MOST_VECTORS, Scope, check_fits, environment, listed, tabular
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.task import Task
from ifthen.verification.graph import Model

Beaten = dict[int, tuple[int, ...]]
"""Rules that never decide, each with the rules that beat it; none where it matches nothing."""


def dead_at(scope: Scope) -> tuple[Beaten, Mask]:
    """Return the rules that never decide at the points of a scope, and which rules do, `(rules,)`."""
    ruleset = scope.ruleset
    alive = np.asarray(scope.matching.any(axis=0) if ruleset.votes else scope.counts > 0)
    dead = {}
    for r in np.flatnonzero(~alive).tolist():
        matched = np.flatnonzero(scope.matching[:, r])
        dead[r] = beating_set(ruleset.beats(r, scope.matching[matched], scope.points[matched]))
    return dead, alive


def beating_set(beaten: Mask) -> tuple[int, ...]:
    """Return a few rules (columns) of which one beats at every point (row); none can be left out."""
    remaining, chosen = beaten.any(axis=1), []
    while remaining.any():
        chosen.append(int(beaten[remaining].sum(axis=0).argmax()))
        remaining &= ~beaten[:, chosen[-1]]
    for q in list(chosen):
        fewer = [c for c in chosen if c != q]
        if (beaten[:, fewer].any(axis=1) == beaten.any(axis=1)).all():
            chosen = fewer
    return tuple(sorted(chosen))


def dead_everywhere(ruleset: RuleSet, budget: int) -> tuple[Beaten, Mask]:
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
    unwrapped, origins = ruleset.unwrapped()
    bounds = unwrapped.bounds.astype(np.float64)
    low, high = bounds[..., 0], bounds[..., 1]
    are_integer = np.array([feature.is_integer for feature in ruleset.features])
    middle = np.clip(low / 2 + high / 2, low, high)  # halves of the smallest numbers are 0
    points = np.concatenate([np.where(are_integer, np.floor(middle), middle), low, high])
    alive = np.zeros(len(ruleset), dtype=np.bool_)
    alive[np.unique(ruleset.choose(points)[1])] = True
    beaten: Beaten = {}
    for r in np.flatnonzero(~alive).tolist():
        above: set[int] = set()
        for piece in np.flatnonzero(origins == r).tolist():
            around = ((low <= low[piece]) & (high >= high[piece])).all(axis=1)
            rivals = (q for q in origins[around].tolist() if q != r)
            above.add(next((q for q in rivals if always_above(ruleset.scoring, q, r, bounds[piece])), r))
        if r not in above:
            beaten[r] = tuple(sorted(above))
    return beaten, alive


MOST_MATCHES = 30_000_000
"""The largest number of points times rules that is looked at point by point."""


Needs = Literal["rules", "task", "table", "environment"]
"""A check of the rules alone, of a task of any kind, of a task with a table, or of an environment."""
ANY_TASK: frozenset[Needs] = frozenset(get_args(Needs))
"""What checks can rest on where there is a task that is not known yet."""


def grounds(task: Task | None) -> set[Needs]:
    """Return what checks can rest on."""
    if task is None:
        return {"rules"}
    return {"rules", "task", "table" if task.has_states else "environment"}


@dataclass(frozen=True, eq=False)
class Case:
    """A ruleset, and where claims about it must hold.

    Args:
        ruleset: the rules.
        task: the task; None for every observation that the features allow.
        budget: looks at boxes before a search over a whole space gives up.
        episodes: how many test seeds to play in an environment.
        seeds: other reset seeds to play it from instead; None for test seeds.
    """

    ruleset: RuleSet
    task: Task | None = None
    budget: int = BUDGET
    episodes: int = 100
    seeds: Ints | None = None

    def __post_init__(self) -> None:
        check_fits(self.ruleset, self.task)

    @cached_property
    def grounds(self) -> set[Needs]:
        """What checks can rest on."""
        return grounds(self.task)

    @property
    def environment(self) -> EnvTask:
        """The task as an environment; only for tasks that have no table of states."""
        return environment(self.task, "this check")

    @property
    def played_seeds(self) -> Ints:
        """The reset seeds to play an environment from."""
        return self.environment.test_seeds(self.episodes) if self.seeds is None else self.seeds

    @cached_property
    def scope(self) -> Scope | None:
        """The points at which claims must hold; None where they cannot be listed."""
        return listed(self.ruleset, self.task, min(MOST_VECTORS, MOST_MATCHES // len(self.ruleset)))

    @cached_property
    def model(self) -> Model:
        """The policy in the table of the task; only for tasks that have one."""
        assert self.scope is not None
        return Model(tabular(self.task, "a model"), self.scope)

    @cached_property
    def dead(self) -> tuple[Beaten, Mask]:
        """The rules that never decide, and which rules are proven to decide, `(rules,)`."""
        return dead_everywhere(self.ruleset, self.budget) if self.scope is None else dead_at(self.scope)
