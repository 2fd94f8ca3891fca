"""The page's part on a task whose states are listed: every state, its values, and why its rule decides.

States are numbered as *places*: the decision states of the task first, in its order, then the states in which
no action is asked for. Which rules match where is not stored: the page has the bounds, and works it out.

In a grid a cliff is where nobody ever stands: a step onto it leads elsewhere at once. That shows in the moves
of its neighbours, if actions are called after directions and all of these moves have the same outcome.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import TaskError
from ifthen.explanation.measures import advantages, best_action_map, usage, visits
from ifthen.explanation.pictures.policy_grid import (
    DIRECTIONS,
    first_place,
    grid_shape,
    letters,
    places,
)
from ifthen.explanation.trace import trace
from ifthen.explanation.why import Explanation, changed_value, explain_all
from ifthen.pages.explain_tables import ENDINGS, Column, number, numbers
from ifthen.rules.feature import number_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.evaluate import evaluate
from ifthen.simulate.table_simulator import optimal_performance, policy_table
from ifthen.tasks.solve import table_values, value_iteration
from ifthen.tasks.tabular_task import TabularTask

MOST_STATES = 5_000
"""A page lists at most this many states."""
MOST_OTHERS = 8
"""At most this many losing rules are listed for a state; the rest are counted."""
MOST_TEXTS = 12_000
"""At most this many losing rules are stored over all states."""
MOST_EPISODES = 3
"""At most this many episodes are stored for an initial state."""
MOST_STEPS = 60_000
"""At most this many steps are stored for a policy, but always one episode."""
ACROSS_AND_DOWN: dict[tuple[str, ...], tuple[int, ...]] = {("row", "column"): (1, 0)}
"""The features of columns and rows, where these are not the first and the second feature."""
NEVER = "never entered"


class StatePart:
    """What a task with a table of states offers to the page.

    Args:
        task: the task.
        seed: which enumeration of the initial states the episodes begin with.
    """

    def __init__(self, task: TabularTask, seed: int = 0) -> None:
        self.task, self.seed = task, seed
        self.grid = task.on_grid
        is_decision = np.zeros(task.n_states, dtype=np.bool_)
        is_decision[task.decision_states] = True
        self.states = np.concatenate([task.decision_states, np.flatnonzero(~is_decision)])
        self.places = np.argsort(self.states)
        """`(S,)`: the place of each state."""
        self.points: list[list[int]] = task.state_features[self.states].tolist()

    @property
    def fits(self) -> bool:
        """Whether the states are few enough for a page."""
        return self.task.n_states <= MOST_STATES

    def check(self, ruleset: RuleSet) -> None:
        """Raise where a page cannot be made."""
        if not self.fits:
            raise TaskError(
                f"{self.task.name} has {self.task.n_states:,} states; a page shows at most {MOST_STATES:,}. "
                "Verify the policy, or draw a picture of it, instead."
            )
        policy_table(ruleset, self.task)  # raises where the rules speak of other features or actions

    def facts(self, policies: list[RuleSet]) -> dict[str, Any]:
        """Return what the top of the page says: what the task is, how good policies are, where they differ.

        Nothing is `observed`: all values of all features are known beforehand.
        """
        task, starts, decisions = self.task, len(self.task.initial_states), len(self.task.decision_states)
        average = f", the mean over all {starts} initial states" if starts > 1 else " from the initial state"
        evaluations = [evaluate(policy, task, "exact") for policy in policies]
        deciders = [policy.choose(task.dynamics.points)[1] for policy in policies]
        tables = [policy_table(policy, task) for policy in policies]
        fractions = [evaluation.fraction for evaluation in evaluations]
        return {
            "lead": f"{task.name}: {decisions} states to decide in, actions {', '.join(task.action_names)}, "
            f"γ = {task.gamma:g}. Performance is the exact expected return{average}.",
            "columns": [
                Column(
                    "performance",
                    ".4f",
                    [evaluation.performance for evaluation in evaluations],
                    optimal_performance(task),
                ),
                *([] if None in fractions else [Column("of the optimum", ".1%", fractions, 1.0)]),
                Column("rules", "d", [len(policy) for policy in policies]),
                Column("that decide", "d", [len(np.unique(rules[rules >= 0])) for rules in deciders]),
                Column("states without a rule", "d", [int((rules < 0).sum()) for rules in deciders]),
            ],
            "warnings": [
                "can meet a state without a rule" if evaluation.failed else "" for evaluation in evaluations
            ],
            "differing": f"{int((tables[0] != tables[-1]).sum())} of {decisions} states",
            "observed": [],
        }

    def shares(self, ruleset: RuleSet) -> tuple[str, list[tuple[float, str]]]:
        """Return what shares are of, and for every rule its share, and what it matches and decides."""
        total, rule_usage = len(self.task.decision_states), usage(ruleset, self.task)
        match_counts = ruleset.matches(self.task.dynamics.points).sum(axis=0)
        sentences = [
            f"It matches {matches} of {total} state{'' if total == 1 else 's'} and decides "
            f"{round(states * total)}: {states:.0%} of the states, {steps:.0%} of the steps."
            for matches, states, steps in zip(match_counts, *rule_usage, strict=True)
        ]
        return f"Shares are of the {total} states.", list(
            zip(rule_usage.states.tolist(), sentences, strict=True)
        )

    def task_data(self) -> dict[str, Any]:
        """Return every state, and what the cells of the grid are."""
        task = self.task
        names = tuple(feature.name for feature in task.features)
        return {
            "gamma": task.gamma,
            "grid": self.grid,
            "slip": "it slips" if task.layout else "something unlikely happens",
            "axes": list(ACROSS_AND_DOWN.get(names[:2], tuple(range(min(2, len(names)))))),
            "points": self.points,
            "decisions": len(task.decision_states),
            **cells_data(task, self.points, self.states),
            "starts": list(dict.fromkeys(self.places[task.initial_states].tolist())),
            "best": numbers(value_iteration(task).values[task.decision_states]),
        }

    def policy_data(self, ruleset: RuleSet) -> dict[str, Any]:
        """Return what a policy does in every decision state, its values there, and why."""
        task, states = self.task, self.task.decision_states
        table = policy_table(ruleset, task).astype(np.int64)
        all_actions = np.full(task.n_states, -1, dtype=np.int64)
        all_actions[states] = table
        optimal = value_iteration(task).optimal_actions[states, table] & (table >= 0)
        n_listed = max(1, min(MOST_OTHERS, MOST_TEXTS // len(states)))
        return {
            "chosen": table.tolist(),
            "decider": ruleset.choose(task.dynamics.points)[1].tolist(),
            "optimal": optimal.astype(int).tolist(),
            "value": numbers(table_values(task, table)),
            "cost": numbers(0.0 - advantages(task, table)),
            "density": best_action_map(ruleset, task).density.tolist(),
            "visits": numbers(visits(task, table, discounted=False)),
            "why": [
                {
                    "reason": explanation.reason,
                    "others": [[lost.rule, lost.why] for lost in explanation.others[:n_listed]],
                    "more": max(0, len(explanation.others) - n_listed),
                    "change": change_in_words(explanation),
                }
                for explanation in explain_all(ruleset, task.dynamics.points, task)
            ],
            "episodes": self.episodes(all_actions),
        }

    def episodes(self, actions: NDArray[np.int64]) -> list[dict[str, Any]]:
        """Return training episodes as evaluations play them, from every initial state while there is room.

        Args:
            actions: the action in every state, `(S,)`.
        """
        stored: list[dict[str, Any]] = []
        steps, size = 0, len(self.task.initial_states)
        for k in range(size * min(MOST_EPISODES, self.task.enumerations)):  # whole enumerations, one by one
            record = self.episode(actions, (self.seed * size + k) % (self.task.enumerations * size))
            steps += len(record["path"])
            if stored and steps > MOST_STEPS:
                break
            stored.append(record)
        return stored

    def episode(self, actions: NDArray[np.int64], episode: int) -> dict[str, Any]:
        """Return one episode: the places on its way, its slips and rewards, and its ending."""
        recorded = trace(actions, self.task, episode=episode)
        rewards = Counter(step.reward for step in recorded.steps)
        usual_reward = rewards.most_common(1)[0][0] if rewards else 0.0
        path = [int(self.task.z[episode]), *(step.next_state or 0 for step in recorded.steps)]
        return {
            "number": episode + 1,
            "length": len(recorded.steps),
            "path": self.places[path].tolist(),
            "slips": [step.step for step in recorded.steps if step.slipped],
            "usual": usual_reward,
            "rewards": {
                str(step.step): step.reward for step in recorded.steps if step.reward != usual_reward
            },
            "total": number(recorded.total),
            "ended": ENDINGS[recorded.ending],
            "over": "" if recorded.ending == "no rule" else recorded.ending,
        }


def change_in_words(explanation: Explanation) -> str:
    """Return the nearest change that leads to another action: "If y were 3: Right, by rule 4."."""
    changed = explanation.counterfactual
    if changed is None:
        return f"What would change it: {explanation.counterfactual_note}."
    changes = " and ".join(
        f"{f.name} were {changed_value(f, *changed.changes[f.name])}"
        for f in explanation.ruleset.observed_features
        if f.name in changed.changes
    )
    outcome = (
        "no rule would match" if changed.rule is None else f"{changed.action}, by rule {changed.rule + 1}"
    )
    return f"If {changes}: {outcome}."


def cells_data(task: TabularTask, points: list[list[int]], states: NDArray[np.integer]) -> dict[str, Any]:
    """Return the letter of every place, what H means, and what is to be said of places never entered.

    Where the features are what is seen rather than x and y, there are the cells of places and the grid's
    rows and columns, too.

    Args:
        task: the task.
        points: the features of every place.
        states: the state of every place.
    """
    if not task.on_grid:
        return {"letters": [], "hole": "", "never": {}}
    grid = letters(task)
    if not task.sees_place:
        rows, columns = (indices.tolist() for indices in places(task, states))
        marks = [grid[r][c] for r, c in zip(rows, columns, strict=True)]
        cells = {"cells": list(zip(columns, rows, strict=True)), "shape": grid_shape(task)}
        return {"letters": marks, "hole": "hole", "never": {}, **cells}
    left, top = first_place(task)
    marks = [grid[y - top][x - left] for x, y in points]
    never = {str(i): never_in_words(task, points[i]) for i, mark in enumerate(marks) if mark == " "}
    return {"letters": marks, "hole": "hole" if task.layout else "another ending", "never": never}


def never_in_words(task: TabularTask, point: list[int]) -> str:
    """Return what becomes of a step onto a cell in which nobody ever is."""
    states, reached = task.decision_states, set()
    for action, name in enumerate(task.action_names):
        dx, dy, _ = DIRECTIONS.get(name, (0, 0, ""))
        neighbours = states[(task.state_features[states] == np.subtract(point, (dx, dy))).all(axis=1)]
        for state in neighbours:
            next_states, rewards = (
                task.next_state[state, action].tolist(),
                task.reward[state, action].tolist(),
            )
            reached |= set(zip(next_states, rewards, task.done[state, action].tolist(), strict=True))
    if len(reached) != 1 or any(done for _, _, done in reached):
        return NEVER
    ((target, reward, _),) = reached
    target_words = ", ".join(
        f"{feature.name} = {value}"
        for feature, value in zip(task.features, task.state_features[target].tolist(), strict=True)
    )
    gain = number_in_words(reward).replace("-", "−")
    return f"{NEVER}: a step onto it brings {gain} and leads to {target_words}"
