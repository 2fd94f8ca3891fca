"""Diff: where two policies do different things, which is better there, and what it costs.

P(b) − P(a), the difference of two performances, is the sum over states of d_b(s) · (Q_a(s, b(s)) − V_a(s)):
how often b comes to a state times what is gained by doing there what b does and then going on as a (Kakade
and Langford, "Approximately optimal approximate reinforcement learning", 2002). Only states in which the two
differ have a part in it, so that each carries some of the difference.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import RuleError
from ifthen.explain.boxes import compare
from ifthen.explain.diff.differences import PolicyDiff
from ifthen.explain.diff.played import differing_points, play_both, states_at
from ifthen.explain.diff.states import Deed, DifferentState
from ifthen.explain.domain import AnyTask, all_vectors, ruleset_of, tabular, where_in_words
from ifthen.explain.measures import visits
from ifthen.explain.points import choose_at, values_by_name
from ifthen.explain.words import rule_for_reading
from ifthen.inference.decision_list import DecisionList
from ifthen.rollout.evaluate import evaluate, policy_table
from ifthen.rollout.score import checked_ruleset
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.solve import TIE, sweep_policies, value_iteration
from ifthen.tasks.tabular import TabularTask

__all__ = ["PolicyDiff", "diff"]

Table = NDArray[np.int64]
Shares = tuple[NDArray[np.float64], NDArray[np.float64]]


def diff(a: Any, b: Any, task: AnyTask | None = None, names: tuple[str, str] = ("a", "b")) -> PolicyDiff:
    """Compare two policies state by state.

    Args:
        a: a RuleSet or a trained system; with a task also the action in every state, `(S,)`.
        b: another one.
        task: compare in its decision states, and measure both there; without one, in the whole space, which
            must be that of two decision lists, or of integer features whose vectors can be listed. In an
            environment both are also played.
        names: what to call the two.
    """
    rules_a, rules_b = getattr(a, "ruleset", a), getattr(b, "ruleset", b)
    only_a, only_b = own_rules(rules_a, rules_b), own_rules(rules_b, rules_a)
    if task is None:
        return _diff_of_rules(ruleset_of(a), ruleset_of(b), names, only_a, only_b)
    if isinstance(task, EnvTask):
        return _diff_in_env(checked_ruleset(a, task), checked_ruleset(b, task), task, names)
    task = tabular(task, "a diff")
    table_a, table_b = (policy_table(policy, task).astype(np.int64) for policy in (a, b))
    shares, note = carried(task, table_a, table_b)
    differ = np.flatnonzero(table_a != table_b)
    if shares is not None:
        differ = differ[np.argsort(-np.abs(shares[1][differ]), kind="stable")]
    deeds_a, deeds_b = deeds(rules_a, table_a, task, differ), deeds(rules_b, table_b, task, differ)
    points = task.dynamics.states
    states = tuple(
        DifferentState(
            features=values_by_name(task.features, points[s].tolist()),
            state=int(task.decision_states[s]),
            a=first,
            b=second,
            better=better_of(first, second, names),
            visits=None if shares is None else float(shares[0][s]),
            carries=None if shares is None else float(shares[1][s]),
        )
        for s, first, second in zip(differ.tolist(), deeds_a, deeds_b, strict=True)
    )
    first, second = (evaluate(policy, task, "exact") for policy in (a, b))
    return PolicyDiff(
        names,
        where_in_words(rules_a, task),
        not states,
        states,
        True,
        (first.performance, second.performance),
        (first.failed, second.failed),
        first.optimum,
        note if states else "",
        only_a,
        only_b,
        rules_note(rules_a, rules_b, only_a),
    )


def own_rules(rules: Any, others: Any) -> tuple[str, ...]:
    """Return in words, numbered from 1, the rules whose condition and action no rule of the others has."""
    if not isinstance(rules, RuleSet) or not isinstance(others, RuleSet):
        return ()
    left = Counter((box.tobytes(), int(a)) for box, a in zip(others.bounds, others.actions, strict=True))
    own = []
    for r, (box, action) in enumerate(zip(rules.bounds, rules.actions, strict=True)):
        key = box.tobytes(), int(action)
        if left[key]:
            left[key] -= 1
        else:
            own.append(f"{r + 1}. {rule_for_reading(rules, r)}")
    return tuple(own)


def rules_note(a: Any, b: Any, only_a: tuple[str, ...]) -> str:
    """Return why it says nothing to list the rules that only one of two rulesets has; "" where it does.

    Args:
        a: a policy.
        b: another one.
        only_a: the rules that only the first has.
    """
    if not isinstance(a, RuleSet) or not isinstance(b, RuleSet):
        return ""
    if a.kind != b.kind:
        return f"Their rules are of different kinds, {a.kind} and {b.kind}, and are not compared one by one."
    return "They share no rule." if len(only_a) == len(a) else ""


def carried(task: TabularTask, a: Table, b: Table) -> tuple[Shares | None, str]:
    """Return b's visits and what each state carries of P(b) − P(a), each `(D,)`; nothing and why otherwise.

    Args:
        task: the task.
        a: the first policy's action in every decision state, `(D,)`, −1 for none.
        b: the second policy's.
    """
    if task.gamma == 1:
        return None, "what a state carries is left out: with γ = 1 it depends on the steps that are left"
    model, values = task.dynamics, np.empty((1, len(a)))
    sweep_policies(task, a[None].astype(np.int16), values, threads=1)
    met = visits(task, b)
    if (b[met > 0] < 0).any() or np.isnan(values[0, met > 0]).any():
        return None, "what a state carries is left out: states in which no rule matches can be met"
    follow = np.where(model.next_state >= 0, values[0][model.next_state], 0.0)
    action_values = (model.reward + task.gamma * follow) @ model.probability
    gains = action_values[np.arange(len(b)), b] - values[0]
    # Where nothing differs nothing is gained; rounding would leave crumbs.
    return (met, np.where((a == b) | (met == 0), 0.0, met * gains)), ""


def deeds(rules: Any, table: Table, task: TabularTask, states: NDArray[np.int64]) -> list[Deed]:
    """Return what a policy does in some decision states, given by number from 0."""
    best, deciders = value_iteration(task), np.full(len(table), -1)
    if isinstance(rules, RuleSet):
        deciders = rules.choose(task.dynamics.points)[1]
    return [
        Deed(
            action=task.action_names[table[s]] if table[s] >= 0 else None,
            rule=int(deciders[s]) if deciders[s] >= 0 else None,
            words=rule_for_reading(rules, int(deciders[s])) if deciders[s] >= 0 else "",
            value=float(best.action_values[task.decision_states[s], table[s]]) if table[s] >= 0 else None,
        )
        for s in states.tolist()
    ]


def better_of(a: Deed, b: Deed, names: tuple[str, str]) -> str:
    """Return the name of the policy whose action has the higher Q*; "" where they are equal or not known."""
    if a.value is None or b.value is None or abs(a.value - b.value) <= TIE * max(abs(a.value), abs(b.value)):
        return ""
    return names[0] if a.value > b.value else names[1]


def _diff_of_rules(
    a: RuleSet, b: RuleSet, names: tuple[str, str], only_a: tuple[str, ...], only_b: tuple[str, ...]
) -> PolicyDiff:
    """Return how two rulesets differ over their whole space."""
    if a.features != b.features or a.action_names != b.action_names:
        raise RuleError(
            f"rulesets can be compared only over the same features and actions, not {a!r} and {b!r}."
        )
    points, listed, note = all_vectors(a.features), True, ""
    where, equal = "the whole space", None
    if points is not None:
        where = f"the {len(points):,} states"
        points = points[choose_at(a, points)[0] != choose_at(b, points)[0]]
        equal = not len(points)
    elif isinstance(a, DecisionList) and isinstance(b, DecisionList):
        found = compare(a, b)
        equal, listed = found.equal, False
        points = np.array([found.witness] if found.witness is not None else [], dtype=np.float64)
        note = f"the search gave up after {found.nodes:,} cells" if equal is None else ""
    else:
        raise RuleError(
            "without a task only decision lists can be compared, or rules over integer features with few "
            "enough values: give the task."
        )
    states = states_at(a, b, points)
    said = rules_note(a, b, only_a)
    return PolicyDiff(
        names, where, equal, states, listed, None, (False, False), None, note, only_a, only_b, said
    )


def _diff_in_env(a: RuleSet, b: RuleSet, task: EnvTask, names: tuple[str, str]) -> PolicyDiff:
    """Return how two rulesets differ in an environment."""
    only_a, only_b = own_rules(a, b), own_rules(b, a)
    played, met = play_both(a, b, task)
    equal, points, listed, note = differing_points(a, b, met)
    where = where_in_words(a, task)
    if listed:
        where = f"the {math.prod(feature.width for feature in a.features):,} states"
    return PolicyDiff(
        names,
        where,
        equal,
        states_at(a, b, points),
        listed,
        None,
        played.failed,
        None,
        note,
        only_a,
        only_b,
        rules_note(a, b, only_a),
        played,
    )
