"""Rulesets on tasks, drawn, and what plain Python says of their rules at given points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ifthen import DecisionList, PredictionArrayRules, RuleSet, StrengthRules, TabularTask
from ifthen.simulate.table_simulator import policy_table
from ifthen.verification import PROPERTIES, Finding, Verification, verify
from tests import naive, naive_explain
from tests.rulesets import bounds_of, learnt_of, voting_rules
from tests.worlds import chain, over_all_states, random_task, small_lake


def two_endings(seed: int) -> TabularTask:
    """Return a random task with many endings that pay 0 or 1, so that the goal is often met."""
    rng, shape = np.random.default_rng(seed), (6, 3, 2)
    reward, done = rng.integers(0, 2, shape).astype(np.float64), rng.random(shape) < 0.25
    return random_task(seed, outcomes=2, reward=reward, done=done)


def costly_steps(seed: int, **options: Any) -> TabularTask:
    """Return a random task in which most steps cost 1, and some 5; endings pay 0, -1 or -5."""
    rng, shape = np.random.default_rng(seed), (6, 3, 2)
    reward = rng.choice([-1.0, 0.0, -5.0], size=shape, p=[0.75, 0.1, 0.15])
    done = rng.random(shape) < 0.15
    return random_task(seed, outcomes=2, **{"reward": reward, "done": done, **options})


TASKS = [
    chain(),
    small_lake(),
    small_lake(0.0),
    random_task(0),
    random_task(2, outcomes=1),
    two_endings(1),
    two_endings(2),
    two_endings(3),
    costly_steps(1),
    costly_steps(2),
]
Point = Sequence[float]
HOLDS = [name for name, entry in PROPERTIES.items() if not entry.is_number]


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
def cases(draw: st.DrawFn, tasks: Sequence[TabularTask] = TASKS) -> tuple[RuleSet, TabularTask]:
    """Draw a task and a ruleset for it."""
    task = draw(st.sampled_from(tasks))
    return draw(rulesets_on(task.features, task.action_names)), task


def prepared(case: Any) -> tuple[TabularTask, list[int], set[int], list[int], Verification]:
    """Return the task, the policy over all states, decision states, initial states and the report."""
    ruleset, task = case
    policy = over_all_states(task, policy_table(ruleset, task))
    starts = sorted({int(s) for s in task.initial_states})
    return task, policy, set(task.decision_states.tolist()), starts, verify(ruleset, task)


def check_path(task: TabularTask, policy: list[int], path: list[dict[str, Any]]) -> list[set[int]]:
    """Check that a path can be walked under the policy; return the states that each of its vectors can be."""
    vectors = task.state_features.tolist()
    possible = [
        {s for s in task.decision_states.tolist() if tuple(vectors[s]) == values(step)} for step in path
    ]
    names = [None if action < 0 else task.action_names[action] for action in policy]
    for i, step in enumerate(path):
        # Several states can look the same: of those, keep the ones that the step before leads to.
        possible[i] = {s for s in possible[i] if names[s] == step["action"]}
        if i:
            follows = {n for s in possible[i - 1] for n in naive_explain.follow(task, s, policy[s])[0]}
            possible[i] &= follows
        assert possible[i]
    return possible


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


def default_of(ruleset: RuleSet) -> int | None:
    """Return the last rule of a decision list if its box is the whole space and it is not alone."""
    last = len(ruleset) - 1
    whole = [[feature.low, feature.high] for feature in ruleset.features]
    stands_for_rest = isinstance(ruleset, DecisionList) and ruleset.bounds[last].tolist() == whole
    return last if last and stands_for_rest else None
