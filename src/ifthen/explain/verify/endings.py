"""Where does the policy lead: to the goal, or round and round?

An ending is an outcome that ends the episode. The best endings, those with the highest reward that any ending
of the task has, are called the goal; all others are bad endings. Chances are those of an episode that is
never cut off: t_max is not looked at. What is certain or impossible is found on the graph of transitions, not
from rounded numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.verify.findings import (
    Checked,
    Finding,
    Property,
    Severity,
    any_of,
    number,
    part,
    plural,
    some_of,
)
from ifthen.explain.verify.graph import sure_states
from ifthen.explain.verify.model import Model

LOOPS = 20
"""Most loops that are listed one by one."""
ENDLESS = Property(None, "no transition of the task ends an episode: there is no goal")


def check_endings(model: Model) -> Checked:
    """Return what is found about where a ruleset leads in a task."""
    checked = Checked()
    for check in (goal_reachable, goal_probability, loops, unvisited):
        checked.add(check(model))
    return checked


def goal_reachable(model: Model) -> Checked:
    """Look for states from which the policy cannot reach the goal."""
    if model.goal is None:
        return Checked(properties={"goal-reachable": ENDLESS})
    can, starts = model.can_reach_goal, model.graph.starts
    lost = starts[~can[starts]]
    some = f"can be reached from {part(len(starts) - len(lost), len(starts), 'initial state')}"
    if len(lost) == len(starts):
        some = f"cannot be reached from {any_of(len(starts), 'initial state')}"
    why = f"the goal (an ending with reward {number(model.goal)}) {some}"
    checked = Checked(properties={"goal-reachable": Property(not len(lost), why)})
    stuck = np.flatnonzero(~can)
    if not len(stuck):
        return checked
    met = stuck[model.reach.reached[stuck]]
    path = model.reach.path(model.reach.nearest(~can)) if len(met) else [int(stuck[0])]
    how = f" A shortest way there: {model.way(path)}." if len(path) > 1 else ""
    text = (
        f"From {part(len(stuck), len(can), 'decision state')} the policy cannot reach the goal"
        f"{model.visited_in_words(stuck)}: {model.some(met if len(met) else stuck)}.{how}"
    )
    data = {
        "states": model.numbers(stuck),
        "visited": model.numbers(met),
        "initial_states": model.numbers(lost),
        "path": model.path(path),
    }
    severity: Severity = "problem" if len(met) else "note"
    witness = model.domain.vector(path[-1])
    checked.findings.append(Finding("goal-unreachable", severity, text, witness=witness, data=data))
    return checked


def goal_probability(model: Model) -> Checked:
    """Compute the chance of the goal from every initial state."""
    if model.goal is None:
        return Checked(properties=dict.fromkeys(("goal-certain", "goal-probability"), ENDLESS))
    graph, can, starts = model.graph, model.can_reach_goal, model.graph.starts
    certain = ~graph.backward(~can | graph.bad_ending)
    chance = np.where(certain, 1.0, graph.chances(graph.goal_outcomes, can))[starts]
    worst, doubtful = int(starts[chance.argmin()]), starts[~certain[starts]]
    least = float(chance.min())
    where = f"the initial state ({model.state(worst)})" + (", the worst" if len(starts) > 1 else "")
    average = f"; {number(float(chance.mean()))} on average" if len(starts) > 1 else ""
    why = f"the goal is reached with probability {number(least)} from {where}"
    some = part(len(doubtful) or len(starts), len(starts), "initial state")
    certainly = f"from {some} the goal is reached with probability {'below ' if len(doubtful) else ''}1"
    others = doubtful[sure_states(model.task, model.goal)[doubtful]]
    finding = Finding(
        "goal-probability",
        "problem" if len(others) else "note",
        f"The{why[3:]}{average}.{_other_policies(doubtful, others)}",
        witness=model.domain.vector(worst),
        data={
            "worst": least,
            "mean": float(chance.mean()),
            "initial_states": model.numbers(starts),
            "probabilities": chance.tolist(),
            "other_policy_is_certain_from": model.numbers(others),
        },
    )
    found = {
        "goal-certain": Property(not len(doubtful), certainly),
        "goal-probability": Property(least, why),
    }
    return Checked([finding], found)


def _other_policies(doubtful: NDArray[np.int32], others: NDArray[np.int32]) -> str:
    """Return from how many initial states that are not certain to reach the goal another policy would be."""
    if not len(doubtful):
        return ""
    if not len(others):
        return " No policy is certain to reach it where this one is not."
    if len(doubtful) == 1:
        return " From there another policy is certain to reach it."
    some = "all" if len(others) == len(doubtful) else f"{len(others):,}"
    here = f" From {len(doubtful):,} initial states this policy is not certain to reach it"
    return f"{here}; from {some} of these another policy is."


def loops(model: Model) -> Checked:
    """Look for sets of states that the policy never leaves again; those that can be visited first."""
    reached, classes = model.reach.reached, model.graph.closed_classes()
    if not classes:
        return Checked()
    classes.sort(key=lambda states: (not reached[states[0]], -len(states), int(states[0])))
    met = sum(bool(reached[states[0]]) for states in classes)
    found = [_loop(model, states) for states in classes[:LOOPS]]
    visited = "" if met == len(classes) else f", {met:,} of which can be visited"
    texts = [f"{model.way(loop.pop('cycle_states'))}{loop.pop('begins')}" for loop in found]
    text = (
        f"The policy can go round for ever, without any ending, in {plural(len(classes), 'set')} of states"
        f"{visited}: {some_of(texts, len(classes))}."
    )
    severity: Severity = "problem" if met else "note"
    data = {"count": len(classes), "visited": met, "loops": found}
    return Checked([Finding("loop", severity, text, witness=found[0]["witness"], data=data)])


def _loop(model: Model, states: NDArray[np.int64]) -> dict[str, Any]:
    """Return what is to be said of a set of states that are never left."""
    entry = int(states[model.reach.distance[states].argmin()])
    path, cycle = model.reach.path(entry), model.graph.cycle(entry)
    visited = bool(model.reach.reached[entry])
    return {
        "states": model.numbers(states),
        "visited": visited,
        "witness": model.domain.vector(entry),
        "cycle": model.path(cycle),
        "path": model.path(path),
        "cycle_states": cycle,
        "begins": f" ({plural(len(path) - 1, 'step')} from an initial state)" if len(path) > 1 else "",
    }


def unvisited(model: Model) -> Checked:
    """Say which decision states the policy never visits."""
    reached = model.reach.reached
    never = np.flatnonzero(~reached)
    if not len(never):
        return Checked()
    text = (
        f"{int(reached.sum()):,} of {plural(len(reached), 'decision state')} can be visited; never visited: "
        f"{model.some(never)}."
    )
    data = {"visited": int(reached.sum()), "never": model.numbers(never)}
    return Checked(
        [Finding("unvisited", "note", text, witness=model.domain.vector(int(never[0])), data=data)]
    )
