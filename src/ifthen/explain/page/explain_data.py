"""What the explain page shows, as plain data: a task, policies on it, and why each does what it does.

States are numbered as *places*: the decision states of the task first, in its order, then the states in which
no action is asked for. Which rules match where is not stored: the page has the bounds, and works it out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.best_actions import best_action_map
from ifthen.explain.measures import advantages, usage, visits
from ifthen.explain.page.explain_cells import cells_data
from ifthen.explain.pictures.grid import has_grid
from ifthen.explain.trace import trace
from ifthen.explain.why import Explanation, explain_all
from ifthen.explain.why.values import changed_value
from ifthen.rollout.evaluate import policy_table
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.solve import policy_values, value_iteration
from ifthen.tasks.tabular import TabularTask

MOST_OTHERS = 8
"""How many of the rules that lost are listed for a state; the rest are counted."""
MOST_TEXTS = 12_000
"""How many of them are stored in all."""
MOST_EPISODES = 3
"""How many episodes are stored for an initial state."""
MOST_STEPS = 60_000
"""How many steps of episodes are stored for a policy."""
ACROSS_AND_DOWN: dict[tuple[str, ...], tuple[int, ...]] = {("row", "column"): (1, 0)}
"""Which features make columns and rows where these are not the first and the second."""
HOW = {
    "decision-list": "The first rule that matches decides.",
    "strength": "Of the rules that match, the strongest decides: the one whose predicted payoff, less its "
    "deviation, is highest in the state. Beside a rule stands its payoff ± deviation at the centre of its "
    "box.",
    "prediction-array": "Every rule predicts the payoff of its action. Of the rules that match, those with "
    "the same action are averaged, weighted by fitness, and the action with the highest average is taken; "
    "its fittest rule counts as the one that decides. Beside a rule stand the least and the largest payoff "
    "that it predicts in its box, and its mean error.",
}
ENDINGS = {
    "goal": "It has reached the goal.",
    "hole": "It has fallen into a hole.",
    "ended": "The episode is over.",
    "truncated": "The episode is cut here: it has reached the largest number of steps.",
    "stopped": "The episode goes on.",
    "no rule": "No rule matches: nothing can be done.",
}
NOTED = {
    "strength": "Payoff ± deviation at the centre of its box:",
    "prediction-array": "Least and largest payoff that it predicts, and its mean error:",
}


class Places:
    """The states of a task in the page's order, and their numbers.

    Args:
        task: the task.
    """

    def __init__(self, task: TabularTask) -> None:
        asked = np.zeros(task.n_states, dtype=np.bool_)
        asked[task.decision_states] = True
        self.states = np.concatenate([task.decision_states, np.flatnonzero(~asked)])
        self.numbers = np.argsort(self.states)
        """`(S,)`: the place of each state."""
        self.points: list[list[int]] = task.state_features[self.states].tolist()

    def of_vector(self, vector: Iterable[float]) -> int | None:
        """Return the place of a feature vector, None where no state has it."""
        wanted = [float(value) for value in vector]
        return next((i for i, point in enumerate(self.points) if point == wanted), None)


def task_data(task: TabularTask, places: Places) -> dict[str, Any]:
    """Return what the page needs to know of a task."""
    names = tuple(feature.name for feature in task.features)
    axes = ACROSS_AND_DOWN.get(names[:2], tuple(range(min(2, len(names)))))
    return {
        "name": task.name,
        "features": [{"name": f.name, "low": f.low, "high": f.high, "unit": f.unit} for f in task.features],
        "actions": list(task.action_names),
        "gamma": task.gamma,
        "grid": has_grid(task),
        "slip": "it slipped" if task.layout else "an unlikely thing happened",
        "axes": list(axes),
        "points": places.points,
        "decisions": len(task.decision_states),
        **cells_data(task, places.points),
        "starts": _unique(places.numbers[task.initial_states].tolist()),
        "best": numbers(value_iteration(task).values[task.decision_states]),
    }


def policy_data(ruleset: RuleSet, task: TabularTask, places: Places, name: str, seed: int) -> dict[str, Any]:
    """Return what the page shows of a policy: its rules, what it does in every decision state, and why."""
    table, states = policy_table(ruleset, task).astype(np.int64), task.decision_states
    everywhere = np.full(task.n_states, -1, dtype=np.int64)
    everywhere[states] = table
    _, deciders = ruleset.choose(task.dynamics.points)
    optimal = value_iteration(task).optimal_actions[states, table] & (table >= 0)
    return {
        "name": name,
        "kind": ruleset.kind,
        "how": HOW[ruleset.kind],
        "noted": NOTED.get(ruleset.kind, ""),
        "rules": rules_data(ruleset, task),
        "bounds": ruleset.bounds.tolist(),
        "action": table.tolist(),
        "decider": deciders.tolist(),
        "optimal": optimal.astype(int).tolist(),
        "value": numbers(policy_values(task, everywhere)[states]),
        "cost": numbers(0.0 - advantages(task, table)),
        "density": best_action_map(ruleset, task).density.tolist(),
        "visits": numbers(visits(task, table, discounted=False)),
        "why": why_data(ruleset, task),
        "episodes": episodes_data(everywhere, task, places, seed),
    }


def rules_data(ruleset: RuleSet, task: TabularTask) -> list[dict[str, Any]]:
    """Return every rule in words, the number of states that it decides, and its share of the steps."""
    used = usage(ruleset, task)
    counts = np.rint(used.states * len(task.decision_states)).astype(int)
    return [
        {
            "words": ruleset.rule_in_words(r),
            "notes": ruleset.rule_notes(r),
            "states": int(counts[r]),
            "steps": number(used.steps[r]),
        }
        for r in range(len(ruleset))
    ]


def why_data(ruleset: RuleSet, task: TabularTask) -> list[dict[str, Any]]:
    """Return for every decision state why its rule decides, which rules lost, and what would change it."""
    most = max(1, min(MOST_OTHERS, MOST_TEXTS // len(task.decision_states)))
    return [
        {
            "reason": why.reason,
            "others": [[lost.rule, lost.why] for lost in why.others[:most]],
            "more": max(0, len(why.others) - most),
            "change": change_in_words(why),
        }
        for why in explain_all(ruleset, task.dynamics.points, task)
    ]


def change_in_words(why: Explanation) -> str:
    """Return the nearest change that leads to another action: "If y were 3: Right, by rule 4."."""
    there = why.counterfactual
    if there is None:
        return f"What would change it: {why.counterfactual_note}."
    changes = " and ".join(
        f"{f.name} were {changed_value(f, *there.changes[f.name])}"
        for f in why.features
        if f.name in there.changes
    )
    then = "no rule would match" if there.rule is None else f"{there.action}, by rule {there.rule + 1}"
    return f"If {changes}: {then}."


def episodes_data(
    actions: NDArray[np.int64], task: TabularTask, places: Places, seed: int
) -> list[dict[str, Any]]:
    """Return episodes of z as evaluations play them, from every initial state while there is room.

    Args:
        actions: the action in every state, `(S,)`.
        task: the task.
        places: the page's numbers of its states.
        seed: which enumeration of S_I comes first.
    """
    found: list[dict[str, Any]] = []
    steps = 0
    for episode in episode_numbers(task, seed):
        played = episode_data(actions, task, places, episode)
        steps += len(played["path"])
        if found and steps > MOST_STEPS:
            break
        found.append(played)
    return found


def episode_data(
    actions: NDArray[np.int64], task: TabularTask, places: Places, episode: int
) -> dict[str, Any]:
    """Return one episode: its number in z from 1, the places on its way, slips, rewards, its ending.

    Args:
        actions: the action in every state, `(S,)`.
        task: the task.
        places: the page's numbers of its states.
        episode: the episode's number in z, from 0.
    """
    played = trace(actions, task, episode=episode)
    rewards = Counter(step.reward for step in played.steps)
    usual = rewards.most_common(1)[0][0] if rewards else 0.0
    path = [int(task.z[episode]), *(step.next_state for step in played.steps)]
    return {
        "number": episode + 1,
        "path": places.numbers[path].tolist(),
        "slips": [step.step for step in played.steps if step.slipped],
        "usual": usual,
        "rewards": {str(step.step): step.reward for step in played.steps if step.reward != usual},
        "ended": ENDINGS[played.ending],
    }


def episode_numbers(task: TabularTask, seed: int) -> Iterator[int]:
    """Yield the numbers of episodes of z: a whole enumeration of S_I at a time, from number `seed` on."""
    size = len(task.initial_states)
    for k in range(min(MOST_EPISODES, task.enumerations)):
        first = (seed + k) % task.enumerations * size
        yield from range(first, first + size)


def numbers(values: Iterable[float]) -> list[float | None]:
    """Return numbers as JSON can hold them: six digits, None for NaN."""
    return [number(value) for value in values]


def number(value: float) -> float | None:
    """Return a number with six digits, None for NaN."""
    return None if math.isnan(value) else float(f"{value:.6g}") + 0.0


def _unique(values: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(values))
