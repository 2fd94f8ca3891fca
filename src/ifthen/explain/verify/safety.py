"""Can anything bad be met? A bad ending, or a step that costs more than any other in the task.

A bad ending is one with a reward below that of the goal. A costly step is an outcome with the lowest reward
of the task, if that is negative and below the reward of an ordinary step: the reward of more than half of all
steps, every action in every decision state taken alike. Where a task has neither bad endings nor costly steps
there is nothing to be safe from, and `safe` is not decided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.verify.findings import Checked, Finding, Property, any_of, number, part
from ifthen.explain.verify.graph import harmless_states, sure_states
from ifthen.explain.verify.model import Model

NOTHING = (
    "nothing to check, as the task has neither a bad ending nor a costly step (its lowest reward, if that is "
    "negative and below the reward of more than half of all steps)"
)


class Harm(NamedTuple):
    """Something bad that a task holds.

    Args:
        kind: of the finding.
        name: in words.
        meaning: what is meant by it, with the task's own rewards.
        outcomes: which outcomes of the policy's actions are so, `(D, K)`.
    """

    kind: str
    name: str
    meaning: str
    outcomes: NDArray[np.bool_]

    @property
    def states(self) -> NDArray[np.bool_]:
        """In which decision states the policy's action can lead to it, `(D,)`."""
        return np.asarray(self.outcomes.any(axis=1))


def check_safety(model: Model) -> Checked:
    """Look for ways from an initial state to anything bad."""
    harms, starts = harms_of(model), model.graph.starts
    if not harms:
        return Checked(properties={"safe": Property(None, NOTHING)})
    findings, met = [], []
    for harm in harms:
        can = model.graph.backward(harm.states)
        unsafe = starts[can[starts]]
        if len(unsafe):
            findings.append(_finding(model, harm, can, unsafe))
            some = part(len(unsafe), len(starts), "initial state")
            met.append(f"a {harm.name} ({harm.meaning}) can be met from {some}")
    if met:
        return Checked(findings, {"safe": Property(False, "; ".join(met))})
    none = " and ".join(f"no {harm.name} ({harm.meaning})" for harm in harms)
    why = f"{none} can be met from {any_of(len(starts), 'initial state')}"
    return Checked(properties={"safe": Property(True, why)})


def harms_of(model: Model) -> list[Harm]:
    """Return what can go wrong in a task, whatever is done in it."""
    after, reward = model.task.dynamics.next_state, model.task.dynamics.reward
    bad = (after < 0) & (reward != model.goal)
    harms = []
    if model.goal is not None and bad.any():
        meaning = f"an ending with a reward below {number(model.goal)}"
        harms.append(Harm("bad-ending", "bad ending", meaning, model.graph.bad_outcomes))
    if model.costly is not None and model.ordinary is not None and ((reward == model.costly) & ~bad).any():
        most = f"most steps have {number(model.ordinary)}"
        meaning = f"reward {number(model.costly)}, the lowest of the task, where {most}"
        harms.append(Harm("costly-step", "costly step", meaning, model.graph.costly_outcomes))
    return harms


def _finding(model: Model, harm: Harm, can: NDArray[np.bool_], unsafe: NDArray[np.int32]) -> Finding:
    """Return a shortest way to something bad, how likely it is met, and whether another policy avoids it."""
    graph, starts = model.graph, model.graph.starts
    avoidable, better = _avoidable(model, unsafe)
    path = model.reach.path(model.reach.nearest(harm.states))
    vector, slip, entering = model.entered(path[-1], harm.outcomes[path[-1]])
    chance = graph.chances(harm.outcomes, can)[starts]
    worst = int(starts[chance.argmax()])
    average = f", the worst; {number(float(chance.mean()))} on average" if len(starts) > 1 else ""
    text = (
        f"A {harm.name} can be met from {part(int(can.sum()), len(can), 'decision state')}. A shortest way: "
        f"{model.way(path)}{entering}. It is met with probability {number(float(chance.max()))} from the "
        f"initial state ({model.state(worst)}){average}.{better}"
    )
    data = {
        "initial_states": model.numbers(unsafe),
        "states": model.numbers(np.flatnonzero(can)),
        "avoidable_from": model.numbers(avoidable),
        "path": model.path(path),
        "entered": vector,
        "slip": slip,
        "worst": float(chance.max()),
        "worst_initial_state": model.numbers(np.array([worst]))[0],
        "mean": float(chance.mean()),
    }
    witness = model.domain.vector(path[-1])
    return Finding(harm.kind, "problem" if len(avoidable) else "note", text, witness=witness, data=data)


def _avoidable(model: Model, unsafe: NDArray[np.int32]) -> tuple[NDArray[np.int32], str]:
    """Return from which of some initial states another policy is safe, and that in words.

    It must be certain of the goal too, if there is a goal that is not itself a costly step.
    """
    if model.goal is None or model.goal == model.costly:
        better, found = "safe", harmless_states(model.task, model.goal, model.costly)
    else:
        better = "safe and certain of the goal"
        found = sure_states(model.task, model.goal, model.costly)
    avoidable = unsafe[found[unsafe]]
    if not len(avoidable):
        return avoidable, ""
    if len(unsafe) == 1:
        return avoidable, f" From there another policy is {better}."
    some = "all" if len(avoidable) == len(unsafe) else f"{len(avoidable):,}"
    whence = f"{some} of the {len(unsafe):,} initial states from which one can be met"
    return avoidable, f" From {whence} another policy is {better}."
