"""How good is a policy, exactly, and which of its actions are not optimal, at what cost?"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.verify.findings import (
    Checked,
    Finding,
    Property,
    every,
    number,
    part,
    plural,
    share_in_words,
    some_of,
)
from ifthen.explain.verify.model import Model
from ifthen.rollout.evaluate import evaluate
from ifthen.tasks.solve import TIE, policy_values, value_iteration


def check_worth(model: Model) -> Checked:
    """Return what is found about how good a ruleset is in a task."""
    checked = performance(model)
    checked.add(optimality(model))
    checked.add(alike(model))
    return checked


def alike(model: Model) -> Checked:
    """Look for states that no rule can tell apart: what is said of their features may be true of one only."""
    _, first, number_of, counts = np.unique(
        model.task.dynamics.states, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    shared = np.flatnonzero(counts[number_of.reshape(-1)] > 1)
    if not len(shared):
        return Checked()
    example = int(first[counts > 1][0])
    text = (
        f"{part(len(shared), len(number_of), 'decision state')} have the features of another, such as "
        f"({model.state(example)}): no rule can tell them apart, and what is said of such features may hold "
        "in one of the states only."
    )
    data = {"states": [int(s) for s in model.task.decision_states[shared]]}
    return Checked([Finding("alike", "note", text, witness=model.domain.vector(example), data=data)])


def performance(model: Model) -> Checked:
    """Measure the exact performance and compare it with the optimum."""
    found = evaluate(model.domain.ruleset, model.task, "exact")
    short = found.optimum - found.performance
    fraction = None if math.isnan(found.fraction) else found.fraction
    share = "the optimum is " if fraction is None else f"{share_in_words(fraction)} of the optimum, which is "
    failed = ": the worst possible, because a state without a rule can be met" if found.failed else ""
    hint = "" if fraction is None else f" ({share_in_words(fraction)} of the optimum)"
    why = f"the exact performance is {number(found.performance)}{failed}"
    text = f"{why[0].upper()}{why[1:]}; {share}{number(found.optimum)}."
    compared = (
        f"the performance is {number(fraction)} of the optimum"
        if fraction is not None
        else "no fraction of the optimum where returns can be negative or the optimum is not positive"
    )
    data = {
        "performance": found.performance,
        "optimum": found.optimum,
        "short_of_optimum": short,
        "fraction": fraction,
        "failed": found.failed,
    }
    finding = Finding("performance", "problem" if found.failed else "note", text, data=data)
    properties = {
        "performance": Property(found.performance, why + hint),
        "fraction": Property(fraction, compared),
    }
    return Checked([finding], properties)


def optimality(model: Model) -> Checked:
    """Look for states whose action is not optimal, and what it costs there."""
    if model.task.gamma == 1:
        return _worth_of_steps(model)
    task, table = model.task, model.table
    states, best = task.decision_states, value_iteration(task)
    acts = table >= 0
    optimal = acts & best.optimal_actions[states, table]
    worse = np.flatnonzero(acts & ~optimal)
    if optimal.all():
        why = f"the action in {every(len(states), 'decision state')} is optimal"
        return Checked(properties={"optimal": Property(True, why)})
    none = int((~acts).sum())
    why = f"the action is not optimal in {part(len(worse), len(states), 'decision state')}" + (
        f", and {none:,} {'has' if none == 1 else 'have'} none" if none else ""
    )
    checked = Checked(properties={"optimal": Property(False, why)})
    if len(worse):
        checked.findings.append(_costs(model, worse))
    return checked


def _worth_of_steps(model: Model) -> Checked:
    """Judge a policy where γ = 1 by its worth over all steps: which actions are best changes with time."""
    task, table = model.task, model.table
    policy = np.full(task.n_states, -1, dtype=np.int64)
    policy[task.decision_states] = table
    best = value_iteration(task).values[task.decision_states]
    behind = best - policy_values(task, policy)[task.decision_states]
    worse = np.flatnonzero(
        ~(behind <= TIE * np.maximum(1.0, np.abs(best)))
    )  # where a rule lacks, NaN is worse
    over = f"over {task.t_max:,} steps (γ = 1)"
    if not len(worse):
        why = f"from {every(len(table), 'decision state')} the policy is worth the optimum {over}"
        return Checked(properties={"optimal": Property(True, why)})
    states = part(len(worse), len(table), "decision state")
    why = f"the policy is worth less than the optimum {over} from {states}"
    first = int(worse[np.nan_to_num(behind[worse], nan=np.inf).argmax()])
    short = "it has no value, as a state without a rule can be met"
    short = short if np.isnan(behind[first]) else f"it is {number(float(behind[first]))} short"
    text = (
        f"{why[0].upper()}{why[1:]}; most from ({model.state(first)}), where {short}. The best policy may "
        "act otherwise as steps run out, so that no ruleset need reach it."
    )
    data = {"count": len(worse), "states": [int(s) for s in task.decision_states[worse]]}
    finding = Finding("not-optimal", "note", text, witness=model.domain.vector(first), data=data)
    return Checked([finding], {"optimal": Property(False, why)})


def _costs(model: Model, worse: NDArray[np.int64]) -> Finding:
    """Return the states whose action is not optimal, the most costly first."""
    task, table = model.task, model.table
    best, states = value_iteration(task), task.decision_states[worse]
    lost = best.values[states] - best.action_values[states, table[worse]]
    policy = np.full(task.n_states, -1, dtype=np.int64)
    policy[task.decision_states] = table
    behind = best.values[states] - policy_values(task, policy)[states]
    visited = model.reach.reached[worse]
    order = np.lexsort((worse, -lost))
    listed = [
        {
            "state": int(states[i]),
            "vector": model.domain.vector(int(worse[i])),
            "action": task.action_names[table[worse[i]]],
            "optimal_actions": [
                task.action_names[a] for a in np.flatnonzero(best.optimal_actions[states[i]])
            ],
            "cost": float(lost[i]),
            "behind_optimum": None if np.isnan(behind[i]) else float(behind[i]),
            "visited": bool(visited[i]),
        }
        for i in order
    ]
    words = [
        f"in ({model.state(int(worse[i]))}) {item['action']} costs {number(item['cost'])} "
        f"({' or '.join(item['optimal_actions'])} is best)"
        for i, item in zip(order[:10], listed[:10], strict=True)
    ]
    text = (
        f"{plural(len(worse), 'action')} {'is' if len(worse) == 1 else 'are'} not optimal"
        f"{model.visited_in_words(worse)}. The costliest: {some_of(words, len(worse))}."
    )
    witness = model.domain.vector(int(worse[order[0]]))
    return Finding("not-optimal", "note", text, witness=witness, data={"count": len(worse), "states": listed})
