"""Rulesets on tasks, drawn, and what plain Python says of their rules at given points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ifthen import DecisionList, PredictionArrayRules, RuleSet, StrengthRules, TabularTask
from ifthen.explain.verify import Finding, Verification
from tests import naive
from tests.rulesets import bounds_of, learnt_of, voting_rules
from tests.worlds import chain, random_task, small_lake


def two_endings(seed: int) -> TabularTask:
    """Return a random task with many endings that pay 0 or 1, so that the goal is often met."""
    rng, shape = np.random.default_rng(seed), (6, 3, 2)
    reward, done = rng.integers(0, 2, shape).astype(np.float64), rng.random(shape) < 0.25
    return random_task(seed, outcomes=2, reward=reward, done=done)


TASKS = [
    chain(),
    small_lake(),
    small_lake(0.0),
    random_task(0),
    random_task(2, outcomes=1),
    two_endings(1),
    two_endings(2),
    two_endings(3),
]
Point = Sequence[float]


@st.composite
def rulesets_on(draw: st.DrawFn, features: Any, action_names: Any, largest: int = 10) -> RuleSet:
    """Draw a ruleset of any kind over given features and actions."""
    kind = draw(st.sampled_from(["list", "strength", "votes"]))
    if kind == "votes":
        return draw(voting_rules(largest, features, action_names))
    n = draw(st.integers(1, largest))
    bounds = draw(bounds_of(n, features))
    actions = draw(st.lists(st.integers(0, len(action_names) - 1), min_size=n, max_size=n))
    if kind == "list":
        return DecisionList(bounds, actions, features, action_names)
    learnt = draw(learnt_of(n))
    weights = np.repeat(learnt[:, :1], len(features) + 1, axis=1)
    weights[:, : min(3, len(features) + 1)] = learnt[:, : min(3, len(features) + 1)]
    return StrengthRules(bounds, actions, features, action_names, weights, learnt[:, 3], 1.0)


@st.composite
def cases(draw: st.DrawFn) -> tuple[RuleSet, TabularTask]:
    """Draw a task and a ruleset for it."""
    task = draw(st.sampled_from(TASKS))
    return draw(rulesets_on(task.features, task.action_names)), task


def choose(ruleset: RuleSet, kept: Sequence[int], point: Point) -> int:
    """Return the action that some of the rules choose at a point, by plain Python."""
    conditions = [ruleset.bounds[r].tolist() for r in kept]
    actions = [int(ruleset.actions[r]) for r in kept]
    if isinstance(ruleset, DecisionList):
        return naive.first_match(conditions, actions, point)[0]
    weights = ruleset.extra_columns()["weights"]
    rows = [weights[r].tolist() for r in kept]
    if isinstance(ruleset, StrengthRules):
        learnt = [[*row, float(ruleset.variances[r])] for row, r in zip(rows, kept, strict=True)]
        return naive.strongest_action(conditions, actions, learnt, ruleset.x0, point)
    assert isinstance(ruleset, PredictionArrayRules)
    fitness = [float(ruleset.fitness[r]) for r in kept]
    array = naive.prediction_array(
        conditions,
        actions,
        fitness,
        rows,
        ruleset.x0,
        point,
        len(ruleset.action_names),
    )
    return naive.best_predicted(array)


def match_set(ruleset: RuleSet, point: Point) -> list[int]:
    """Return the rules that match a point."""
    return naive.match_set(ruleset.bounds.tolist(), point)


def key_at(ruleset: RuleSet, r: int, point: Point) -> tuple[float, ...]:
    """Return what a rule that matches is ordered by: the smallest decides."""
    if not isinstance(ruleset, StrengthRules):
        return (float(r),)
    learnt = [*ruleset.weights[r].tolist(), float(ruleset.variances[r])]
    strength = naive.strength(learnt, ruleset.x0, point)
    return (-strength, float(ruleset.actions[r]), float(r))


def of_kind(report: Verification, kind: str) -> list[Finding]:
    """Return the findings of one kind."""
    return [finding for finding in report.findings if finding.kind == kind]


def only(report: Verification, kind: str) -> Finding:
    """Return the only finding of a kind."""
    (finding,) = of_kind(report, kind)
    return finding


def values(vector: dict[str, Any]) -> tuple[float, ...]:
    """Return a witness as a tuple."""
    return tuple(value for name, value in vector.items() if name != "action")


def close(a: float, b: float) -> bool:
    """Return whether two chances or costs are the same up to rounding."""
    return math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-9)
