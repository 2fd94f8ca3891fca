"""Where an observation stands in a task: whether the policy is asked there, and what its action is worth.

Rules answer everywhere, in holes too. What they say matters only in decision states, and there an exact
solution of the task tells whether it is optimal.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ifthen.explanation.pictures.grid import has_grid, letters
from ifthen.tasks.solve import value_iteration
from ifthen.tasks.table import TabularTask

LETTERS = {"G": "a goal", "H": "a hole"}
Vector = tuple[float, ...]


@dataclass(frozen=True)
class Standing:
    """What a task says of an observation and of what is done there.

    Args:
        asked: whether the policy is ever asked there; taken as so without a task.
        place: what the observation is where it is not, such as "a hole of FrozenLake-8-0.3".
        best: the names of the optimal actions; nothing where they are not known, or differ between states
            that look the same.
        optimal: whether the action is one of them; None where it is not known.
        loss: how much less than an optimal action it is worth if all goes optimally afterwards.
        words: the same as a sentence; "" where there is nothing to say.
    """

    asked: bool = True
    place: str = ""
    best: tuple[str, ...] = ()
    optimal: bool | None = None
    loss: float | None = None
    words: str = ""


class Ground:
    """The states of a task by their features.

    Args:
        task: the task.
    """

    def __init__(self, task: TabularTask) -> None:
        self.task = task
        self.decision: dict[Vector, list[int]] = defaultdict(list)
        for state, vector in zip(task.decision_states.tolist(), task.dynamics.points.tolist(), strict=True):
            self.decision[tuple(vector)].append(state)

    def standing(self, point: Vector, action: int) -> Standing:
        """Return what the task says of a point `(features,)` and the action there, −1 for none."""
        states = self.decision.get(point, [])
        if not states:
            return Standing(asked=False, place=self.place(point))
        best = value_iteration(self.task)
        optimal = best.optimal_actions[states]
        shared = [self.task.action_names[a] for a in np.flatnonzero(optimal.all(axis=0)).tolist()]
        names = tuple(shared) if (optimal == optimal[0]).all() else ()
        if action < 0:
            words = f"Optimal would be {_either(names)}{self._left}." if names else ""
            return Standing(best=names, words=words)
        good = optimal[:, action]
        if len(states) > 1:  # they look the same, but their values can differ
            alike = f"{good.sum()} of the {len(states)} states that look like this"
            words = f"It is optimal in {alike}{self._left}."
            return Standing(best=names, optimal=bool(good.all()), words=words)
        if good[0]:
            return Standing(best=names, optimal=True, loss=0.0, words=f"It is optimal{self._left}.")
        (state,) = states
        loss = float(best.values[state] - best.action_values[state, action])
        words = f"It is not optimal: {_either(names)} would be worth {loss:.3g} more{self._left}."
        return Standing(best=names, optimal=False, loss=loss, words=words)

    @property
    def _left(self) -> str:
        """What values are of where they depend on the steps that are left."""
        return f" with all {self.task.t_max:,} steps left" if self.task.gamma == 1 else ""

    def place(self, point: Vector) -> str:
        """Return what a point is that is no decision state."""
        task, letter = self.task, ""
        states = np.flatnonzero((task.state_features == point).all(axis=1))
        if not len(states):
            return f"no state of {task.name}"
        if has_grid(task):
            x, y = (int(value - f.low) for value, f in zip(point, task.features, strict=True))
            letter = letters(task)[y][x]
        if letter == "G" or (letter == "H" and task.layout):
            return f"{LETTERS[letter]} of {task.name}"
        ends = task.next_state[task.decision_states][task.done[task.decision_states]]
        ending = np.isin(states, ends).any()
        return f"an ending of {task.name}" if ending else f"a state of {task.name} that is never reached"


def _either(names: tuple[str, ...]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
