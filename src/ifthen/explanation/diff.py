"""Diff: where two policies choose different actions, which is better there, and what it costs.

P(b) − P(a), the difference of two performances, is the sum over states of d_b(s) · (Q_a(s, b(s)) − V_a(s)):
how often b visits a state times the gain of b's action there when a goes on (Kakade and Langford,
"Approximately optimal approximate reinforcement learning", 2002). Only states in which the two differ have a
part in it, so that each carries some of the difference.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ifthen.environments.make import TaskLike
from ifthen.environments.rebind import named_as_in
from ifthen.errors import RuleError
from ifthen.explanation.measures import visits
from ifthen.explanation.policy_diff import Deed, DifferentState, PolicyDiff
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.boxes.feasible import by_rounding
from ifthen.rules.boxes.list_analysis import compare, over_the_same_terms
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.ruleset import PolicyOrActions, RuleSet
from ifthen.simulate.evaluate import evaluate, with_task
from ifthen.simulate.scope import (
    all_vectors,
    choose_at,
    ruleset_of,
    tabular,
    values_by_name,
    visited_states,
    where_in_words,
)
from ifthen.simulate.simulator import checked_ruleset
from ifthen.simulate.table_simulator import policy_table
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.solve import TIE, table_values, value_iteration
from ifthen.tasks.tabular_task import TabularTask

Table = Ints
Shares = tuple[Floats, Floats]
Differing = tuple[bool | None, Floats, int | None, str]
SHOWN = 8
"""About this many visited states are shown."""
DIGITS = (2, 3, 4, 6)
"""Significant digits that are tried for numbers to show."""


def diff(
    a: PolicyOrActions, b: PolicyOrActions, task: TaskLike | None = None, names: tuple[str, str] = ("a", "b")
) -> PolicyDiff:
    """Compare two policies.

    Args:
        a: a RuleSet or a trained system; in a table also the action in every state, `(S,)`.
        b: another one.
        task: a task, its name, or a Gymnasium environment; that of a trained system where None. In a table
            the policies are compared in all decision states and measured exactly. In an environment both are
            played; if only their names differ, features and actions are compared in their order. Without a
            task they are compared in the whole space, which needs two decision lists, or integer features
            whose vectors can be listed.
        names: of the two.
    """
    task = task if task is not None else getattr(a, "task", None) or getattr(b, "task", None)
    a, task = (a, None) if task is None else with_task(a, task)
    if isinstance(task, EnvTask):
        return _in_environment(
            checked_ruleset(a, task), checked_ruleset(named_as_in(task, b), task), task, names
        )
    if task is not None:
        return _on_table(a, b, tabular(task, "a diff"), names)
    rules_a, rules_b = ruleset_of(a), ruleset_of(b)
    if rules_a.observed_features != rules_b.observed_features or rules_a.action_names != rules_b.action_names:
        raise RuleError(
            "rulesets can be compared only over the same features and actions, "
            f"not {rules_a!r} and {rules_b!r}."
        )
    return _everywhere(rules_a, rules_b, names, "the whole space", None, {})


def _in_environment(a: RuleSet, b: RuleSet, task: EnvTask, names: tuple[str, str]) -> PolicyDiff:
    """Return how two rulesets differ in an environment, where both are played."""
    visited = [visited_states(rules, task).points for rules in (a, b)]
    differ = [choose_at(a, points)[0] != choose_at(b, points)[0] for points in visited]
    differing_points = np.concatenate([points[mask] for points, mask in zip(visited, differ, strict=True)])
    tested = [evaluate(rules, task) for rules in (a, b)]
    trained = [evaluate(rules, task, seeds="training") for rules in (a, b)]
    failed = [training.failed or test.failed for training, test in zip(trained, tested, strict=True)]
    measured = {
        "performances": (tested[0].performance, tested[1].performance),
        "failed": (failed[0], failed[1]),
        "episodes": tested[0].episodes,
        "visited": (len(visited[0]), len(visited[1])),
        "differ": (int(differ[0].sum()), int(differ[1].sum())),
        "training_episodes": len(task.z),
        "training_performances": (trained[0].performance, trained[1].performance),
    }
    return _everywhere(a, b, names, where_in_words(a, task), np.unique(differing_points, axis=0), measured)


def _everywhere(
    a: RuleSet,
    b: RuleSet,
    names: tuple[str, str],
    where: str,
    visited: Floats | None,
    measured: dict[str, Any],
) -> PolicyDiff:
    """Return how two rulesets differ over their whole space, with what was `measured` of them."""
    equal, points, listed, note = differing(a, b, visited)
    deeds = [deeds_of(rules, *choose_at(rules, points), rules.action_names) for rules in (a, b)]
    states = tuple(
        DifferentState(values_by_name(a.observed_features, point), None, deed_a, deed_b, "", None, None)
        for point, deed_a, deed_b in zip(points.tolist(), *deeds, strict=True)
    )
    where = where if listed is None else f"the {listed:,} states"
    rules = compared_rules(a, b)
    rules["tested"] = tuple(dict.fromkeys([*a.tested, *b.tested]))
    return PolicyDiff(names, where, equal, states, listed is not None, **rules, note=note, **measured)


def differing(a: RuleSet, b: RuleSet, visited: Floats | None) -> Differing:
    """Find where two rulesets over the same features and actions differ: in all vectors, or box by box.

    Args:
        a: a ruleset.
        b: another one.
        visited: visited states in which they differ, `(n, features)`; None where nothing was played.

    Returns:
        Whether they choose the same everywhere, None where it is not known; points at which they differ,
        `(n, features)`; how many points there are where all were listed, None where the points are examples;
        why it is not known, "" where it is.
    """
    vectors = all_vectors(a.observed_features)
    if vectors is not None:
        points = vectors[choose_at(a, vectors)[0] != choose_at(b, vectors)[0]]
        return not len(points), points, len(vectors), ""
    states = np.empty((0, len(a.observed_features))) if visited is None else visited
    examples, known_different = shorter(a, b, states[:: len(states) // SHOWN + 1]), len(states) > 0
    lists = [rules for rules in (a, b) if isinstance(rules, DecisionList)]
    if len(lists) == 2:
        comparison = compare(*lists)
        witness = (
            np.empty_like(examples[:0]) if comparison.witness is None else np.array([comparison.witness])
        )
        equal = False if known_different else comparison.equal
        reason = by_rounding(comparison.unsure) or f"the search gave up after {comparison.nodes:,} cells"
        note = reason if equal is None else ""
        return equal, examples if known_different else witness, None, note
    if visited is None:
        raise RuleError(
            "without a task only decision lists can be compared, or rules over integer features with few "
            "enough values: give the task."
        )
    note = "only decision lists can be compared everywhere, and no visited state tells them apart"
    return False if known_different else None, examples, None, "" if known_different else note


def shorter(a: RuleSet, b: RuleSet, points: Floats) -> Floats:
    """Return points `(n, features)` in as few digits as keep what both rulesets do there."""
    shortened = points.copy()
    if not len(points):
        return shortened
    unsettled = np.ones(len(points), dtype=np.bool_)
    exact_choices = [rules.choose(points) for rules in (a, b)]
    for digits in DIGITS:
        rounded = np.array(
            [[float(f"{value:.{digits}g}") + 0.0 for value in point] for point in points.tolist()]
        )
        unchanged = unsettled.copy()
        for exact_choice, rules in zip(exact_choices, (a, b), strict=True):
            rounded_choice = rules.choose(rounded)
            unchanged &= (exact_choice[0] == rounded_choice[0]) & (exact_choice[1] == rounded_choice[1])
        shortened[unchanged], unsettled = rounded[unchanged], unsettled & ~unchanged
    return shortened


def _on_table(
    a: PolicyOrActions, b: PolicyOrActions, task: TabularTask, names: tuple[str, str]
) -> PolicyDiff:
    """Return how two policies differ in the decision states of a table, and what each state carries."""
    policies: list[Any] = [getattr(policy, "ruleset", policy) for policy in (a, b)]
    tables = [policy_table(policy, task).astype(np.int64) for policy in (a, b)]
    shares, note = carried(task, *tables)
    differ = np.flatnonzero(tables[0] != tables[1])
    if shares is not None:
        differ = differ[np.argsort(-np.abs(shares[1][differ]), kind="stable")]
    deeds, optimal_values = [], value_iteration(task).action_values[task.decision_states[differ]]
    for policy, table in zip(policies, tables, strict=True):
        ruleset, no_rule = policy if isinstance(policy, RuleSet) else None, np.full(len(differ), -1)
        deciders = no_rule if ruleset is None else choose_at(ruleset, task.dynamics.points[differ])[1]
        values = optimal_values[np.arange(len(differ)), table[differ]]
        deeds.append(deeds_of(ruleset, table[differ], deciders, task.action_names, values))
    points = task.dynamics.states
    states = tuple(
        DifferentState(
            features=values_by_name(task.features, points[s].tolist()),
            state=int(task.decision_states[s]),
            a=deed_a,
            b=deed_b,
            better=better_of(deed_a, deed_b, names),
            visits=None if shares is None else float(shares[0][s]),
            carries=None if shares is None else float(shares[1][s]),
        )
        for s, deed_a, deed_b in zip(differ.tolist(), *deeds, strict=True)
    )
    result_a, result_b = (evaluate(policy, task, "exact") for policy in (a, b))
    return PolicyDiff(
        names,
        where_in_words(policies[0], task),
        not states,
        states,
        True,
        **compared_rules(*policies),
        performances=(result_a.performance, result_b.performance),
        failed=(result_a.failed, result_b.failed),
        optimum=result_a.optimum,
        note=note if states else "",
    )


def compared_rules(a: PolicyOrActions, b: PolicyOrActions) -> dict[str, Any]:
    """Return the rules that only one of two policies has, and why the text does not list them, by field."""
    if not isinstance(a, RuleSet) or not isinstance(b, RuleSet):
        return {"only_a": (), "only_b": ()}
    only_a, only_b = rules_missing_from(a, b), rules_missing_from(b, a)
    note = "They share no rule." if len(only_a) == len(a) else ""
    if type(a) is not type(b):
        note = f"Their rules are of different kinds, {a.kind} and {b.kind}, and are not compared one by one."
    return {"only_a": only_a, "only_b": only_b, "rules_note": note}


def rules_missing_from(rules: RuleSet, other: RuleSet) -> tuple[str, ...]:
    """Return in words, numbered from 1, the rules whose condition and action no rule of the others has."""
    boxes, other_boxes = (
        (ruleset.bounds for ruleset in over_the_same_terms(rules, other))
        if rules.ordered and other.ordered
        else (rules.bounds, other.bounds)
    )
    remaining = Counter((box.tobytes(), int(a)) for box, a in zip(other_boxes, other.actions, strict=True))
    missing = []
    for r, (box, action) in enumerate(zip(boxes, rules.actions, strict=True)):
        key = box.tobytes(), int(action)
        if remaining[key]:
            remaining[key] -= 1
        else:
            missing.append(f"{r + 1}. {rules.rule_in_words(r)}")
    return tuple(missing)


def carried(task: TabularTask, a: Table, b: Table) -> tuple[Shares | None, str]:
    """Return b's visits and what each state carries of P(b) − P(a), each `(D,)`; None and why otherwise.

    Args:
        task: the task.
        a: the first policy's action in every decision state, `(D,)`, −1 for none.
        b: the second policy's.
    """
    if task.gamma == 1:
        return None, "what a state carries is left out: with γ = 1 it depends on the steps that are left"
    model, values, expected_visits = task.dynamics, table_values(task, a), visits(task, b)
    if (b[expected_visits > 0] < 0).any() or np.isnan(values[expected_visits > 0]).any():
        return None, "what a state carries is left out: states in which no rule matches can be reached"
    next_values = np.where(model.next_state >= 0, values[model.next_state], 0.0)
    action_values = (model.reward + task.gamma * next_values) @ model.probability
    gains = action_values[np.arange(len(b)), b] - values
    # Where nothing differs nothing is gained; rounding would leave crumbs.
    return (expected_visits, np.where((a == b) | (expected_visits == 0), 0.0, expected_visits * gains)), ""


def deeds_of(
    rules: RuleSet | None, actions: Ints, deciders: Ints, names: tuple[str, ...], values: Floats | None = None
) -> list[Deed]:
    """Return what a policy does at n points.

    Args:
        rules: its rules; None for a policy without rules.
        actions: `(n,)`, −1 where no rule matches.
        deciders: the rules that decide, `(n,)`, −1 for none.
        names: of the actions.
        values: Q* of the actions, `(n,)`; None where it is not known.
    """
    worth = [None] * len(actions) if values is None else values.tolist()
    return [
        Deed(
            action=names[action] if action >= 0 else None,
            rule=rule if rule >= 0 else None,
            words=rules.rule_in_words(rule) if rules is not None and rule >= 0 else "",
            value=value if action >= 0 else None,
        )
        for action, rule, value in zip(actions.tolist(), deciders.tolist(), worth, strict=True)
    ]


def better_of(a: Deed, b: Deed, names: tuple[str, str]) -> str:
    """Return the name of the policy whose action has the higher Q*; "" where they are equal or not known."""
    if a.value is None or b.value is None or abs(a.value - b.value) <= TIE * max(abs(a.value), abs(b.value)):
        return ""
    return names[0] if a.value > b.value else names[1]
