"""Does the policy reach the goal, go round for ever, or meet a bad ending or a costly step?

An ending is an outcome that ends the episode. The goal is the best ending: one with the highest reward of any
ending of the task. All other endings are bad. Probabilities are those of an episode that is never cut off:
t_max is not used. Certain and impossible outcomes are found on the graph of transitions, not from rounded
numbers.

A costly step is an outcome with the lowest reward of the task, if that is negative and below the reward of an
ordinary step: the reward of more than half of all steps, every action in every decision state taken alike.
Where a task has neither bad endings nor costly steps there is nothing to be safe from, and `safe` is not
decided.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.digits import plural
from ifthen.rules.arrays import Ints, Mask
from ifthen.verification.case import Case
from ifthen.verification.findings import Finding, Result, all_of, number, part, sentence, severity, some_of
from ifthen.verification.graph import Model, safe_states

LOOPS = 20
"""The largest number of loops that are listed one by one."""
ENDLESS = "no transition of the task ends an episode: there is no goal"


def goal_reachable(case: Case) -> Result:
    """The goal can be reached from every initial state."""
    model = case.model
    if model.goal is None:
        return Result(None, ENDLESS, loops(model))
    reaches_goal, starts = model.can_reach_goal, model.starts
    lost_starts = starts[~reaches_goal[starts]]
    from_where = f"can be reached from {part(len(starts) - len(lost_starts), len(starts), 'initial state')}"
    if len(lost_starts) == len(starts):
        from_where = f"cannot be reached from {all_of(len(starts), 'initial state', 'any of')}"
    why = f"the goal (an ending with reward {number(model.goal)}) {from_where}"
    lost_states = np.flatnonzero(~reaches_goal)
    unreachable = _unreachable(model, lost_states, lost_starts) if len(lost_states) else ()
    return Result(not len(lost_starts), why, unreachable + loops(model))


def _unreachable(model: Model, lost_states: Ints, lost_starts: NDArray[np.int32]) -> tuple[Finding, ...]:
    """Return the states from which the goal cannot be reached, and a shortest path to one."""
    reaches_goal, reached = model.can_reach_goal, lost_states[model.reach.reached[lost_states]]
    path = model.reach.path(model.reach.nearest(~reaches_goal)) if len(reached) else [int(lost_states[0])]
    path_words = f" A shortest path there: {model.way(path)}." if len(path) > 1 else ""
    text = (
        f"From {part(len(lost_states), len(reaches_goal), 'decision state')} the policy cannot reach the goal"
        f"{model.visited_in_words(lost_states)}: {model.some(reached if len(reached) else lost_states)}."
        f"{path_words}"
    )
    data = {
        "states": model.numbers(lost_states),
        "visited": model.numbers(reached),
        "initial_states": model.numbers(lost_starts),
        "path": model.path(path),
    }
    return (model.finding("goal-unreachable", text, path[-1], data, len(reached) > 0),)


def goal_certain(case: Case) -> Result:
    """The goal is reached with probability 1 from every initial state."""
    model = case.model
    if model.goal is None:
        return Result(None, ENDLESS)
    starts = model.starts
    doubtful = starts[~model.certain[starts]]
    from_where = part(len(doubtful) or len(starts), len(starts), "initial state")
    below = "below " if len(doubtful) else ""
    return Result(not len(doubtful), f"from {from_where} the goal is reached with probability {below}1")


def goal_probability(case: Case) -> Result:
    """The probability of reaching the goal from the worst initial state."""
    model = case.model
    if model.goal is None:
        return Result(None, ENDLESS)
    starts, chances = model.starts, model.chances(model.goal_outcomes, model.can_reach_goal)
    chance = np.where(model.certain, 1.0, chances)[starts]
    worst, doubtful = int(starts[chance.argmin()]), starts[~model.certain[starts]]
    least = float(chance.min())
    worst_words = f"the initial state ({model.state(worst)})" + (", the worst" if len(starts) > 1 else "")
    average = f"; {number(float(chance.mean()))} on average" if len(starts) > 1 else ""
    why = f"the goal is reached with probability {number(least)} from {worst_words}"
    certain_elsewhere = doubtful[safe_states(model.task, model.goal, None, is_certain=True)[doubtful]]
    data = {
        "worst": least,
        "mean": float(chance.mean()),
        "initial_states": model.numbers(starts),
        "probabilities": chance.tolist(),
        "other_policy_is_certain_from": model.numbers(certain_elsewhere),
    }
    text = f"{sentence(why)}{average}.{_other_policies(doubtful, certain_elsewhere)}"
    finding = model.finding("goal-probability", text, worst, data, len(certain_elsewhere) > 0)
    return Result(least, why, (replace(finding, about=("goal-probability", "goal-certain")),))


def _other_policies(doubtful: NDArray[np.int32], certain_elsewhere: NDArray[np.int32]) -> str:
    """Return from how many of the doubtful initial states another policy is certain to reach the goal."""
    if not len(doubtful):
        return ""
    if not len(certain_elsewhere):
        return " No policy is certain to reach it where this one is not."
    if len(doubtful) == 1:
        return " From there another policy is certain to reach it."
    how_many = "all" if len(certain_elsewhere) == len(doubtful) else f"{len(certain_elsewhere):,}"
    opening = f" From {len(doubtful):,} initial states this policy is not certain to reach it"
    return f"{opening}; from {how_many} of these another policy is."


def loops(model: Model) -> tuple[Finding, ...]:
    """Return the sets of states that the policy never leaves again, those that can be visited first."""
    reached, classes = model.reach.reached, model.closed_classes()
    if not classes:
        return ()
    classes.sort(key=lambda states: (not reached[states[0]], -len(states), int(states[0])))
    n_visited = sum(bool(reached[states[0]]) for states in classes)
    described = [_loop(model, states) for states in classes[:LOOPS]]
    visited = "" if n_visited == len(classes) else f", {n_visited:,} of which can be visited"
    text = (
        f"The policy can go round for ever, without any ending, in {plural(len(classes), 'set')} of states"
        f"{visited}: {some_of([text for _, text in described], len(classes))}."
    )
    data = {"count": len(classes), "visited": n_visited, "loops": [loop for loop, _ in described]}
    witness = described[0][0]["witness"]
    return (Finding("loop", severity(n_visited > 0), text, witness=witness, data=data),)


def _loop(model: Model, states: Ints) -> tuple[dict[str, Any], str]:
    """Return a set of states that is never left as plain data, and in words."""
    entry_state = int(states[model.reach.distance[states].argmin()])
    path, cycle = model.reach.path(entry_state), model.cycle(entry_state)
    distance_words = f" ({plural(len(path) - 1, 'step')} from an initial state)" if len(path) > 1 else ""
    data = {
        "states": model.numbers(states),
        "visited": bool(model.reach.reached[entry_state]),
        "witness": model.scope.vector(entry_state),
        "cycle": model.path(cycle),
        "path": model.path(path),
    }
    return data, f"{model.way(cycle)}{distance_words}"


def unvisited(case: Case) -> tuple[Finding, ...]:
    """Return the decision states that the policy never visits."""
    model, reached = case.model, case.model.reach.reached
    never = np.flatnonzero(~reached)
    if not len(never):
        return ()
    text = (
        f"{int(reached.sum()):,} of {plural(len(reached), 'decision state')} can be visited; never visited: "
        f"{model.some(never)}."
    )
    data = {"visited": int(reached.sum()), "never": model.numbers(never)}
    return (model.finding("unvisited", text, int(never[0]), data),)


NOTHING = (
    "nothing to check, as the task has neither a bad ending nor a costly step (its lowest reward, if that is "
    "negative and below the reward of more than half of all steps)"
)


class Harm(NamedTuple):
    """A kind of harm in a task.

    Args:
        kind: of the finding.
        name: in words.
        meaning: its definition, with the task's own rewards.
        outcomes: which outcomes of the policy's actions do this harm, `(D, K)`.
    """

    kind: str
    name: str
    meaning: str
    outcomes: Mask


def safe(case: Case) -> Result:
    """No bad ending and no costly step can be met from any initial state."""
    model = case.model
    harms, starts = harms_of(model), model.starts
    if not harms:
        return Result(None, NOTHING)
    findings, harm_words = [], []
    for harm in harms:
        can_meet = model.backward(np.asarray(harm.outcomes.any(axis=1)))
        unsafe = starts[can_meet[starts]]
        if len(unsafe):
            findings.append(_harm(model, harm, can_meet, unsafe))
            from_where = part(len(unsafe), len(starts), "initial state")
            harm_words.append(f"a {harm.name} ({harm.meaning}) can be met from {from_where}")
    if harm_words:
        return Result(False, "; ".join(harm_words), tuple(findings))
    none = " and ".join(f"no {harm.name} ({harm.meaning})" for harm in harms)
    return Result(True, f"{none} can be met from {all_of(len(starts), 'initial state', 'any of')}")


def harms_of(model: Model) -> list[Harm]:
    """Return the kinds of harm that are possible in a task, under any policy."""
    next_state, reward = model.task.dynamics.next_state, model.task.dynamics.reward
    bad_endings = (next_state < 0) & (reward != model.goal)
    harms = []
    if model.goal is not None and bad_endings.any():
        meaning = f"an ending with a reward below {number(model.goal)}"
        harms.append(Harm("bad-ending", "bad ending", meaning, model.bad_outcomes))
    if (
        model.costly is not None
        and model.ordinary is not None
        and ((reward == model.costly) & ~bad_endings).any()
    ):
        usual_reward = f"most steps have {number(model.ordinary)}"
        meaning = f"reward {number(model.costly)}, the lowest of the task, where {usual_reward}"
        harms.append(Harm("costly-step", "costly step", meaning, model.costly_outcomes))
    return harms


def _harm(model: Model, harm: Harm, can_meet: Mask, unsafe: NDArray[np.int32]) -> Finding:
    """Return a shortest path to a harm, its probability, and whether another policy avoids it."""
    starts = model.starts
    avoidable, better = _avoidable(model, unsafe)
    path = model.reach.path(model.reach.nearest(np.asarray(harm.outcomes.any(axis=1))))
    vector, slip, entering = model.entered(path[-1], harm.outcomes[path[-1]])
    chance = model.chances(harm.outcomes, can_meet)[starts]
    worst = int(starts[chance.argmax()])
    average = f", the worst; {number(float(chance.mean()))} on average" if len(starts) > 1 else ""
    text = (
        f"A {harm.name} can be met from {part(int(can_meet.sum()), len(can_meet), 'decision state')}. "
        f"A shortest path: {model.way(path)}{entering}. "
        f"It is met with probability {number(float(chance.max()))} from the initial state "
        f"({model.state(worst)}){average}.{better}"
    )
    data = {
        "initial_states": model.numbers(unsafe),
        "states": model.numbers(np.flatnonzero(can_meet)),
        "avoidable_from": model.numbers(avoidable),
        "path": model.path(path),
        "entered": vector,
        "slip": slip,
        "worst": float(chance.max()),
        "worst_initial_state": model.numbers(np.array([worst]))[0],
        "mean": float(chance.mean()),
    }
    return model.finding(harm.kind, text, path[-1], data, len(avoidable) > 0)


def _avoidable(model: Model, unsafe: NDArray[np.int32]) -> tuple[NDArray[np.int32], str]:
    """Return the unsafe initial states from which another policy is safe, and how many in words.

    It must be certain of the goal too, if there is a goal that is not itself a costly step.
    """
    if model.goal is None or model.goal == model.costly:
        better, is_certain = "safe", False
    else:
        better, is_certain = "safe and certain of the goal", True
    avoidable = unsafe[safe_states(model.task, model.goal, model.costly, is_certain)[unsafe]]
    if not len(avoidable):
        return avoidable, ""
    if len(unsafe) == 1:
        return avoidable, f" From there another policy is {better}."
    how_many = "all" if len(avoidable) == len(unsafe) else f"{len(avoidable):,}"
    from_where = f"{how_many} of the {len(unsafe):,} initial states from which one can be met"
    return avoidable, f" From {from_where} another policy is {better}."
