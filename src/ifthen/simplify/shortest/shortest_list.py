"""The shortest decision list for a table of allowed actions, and whether a shorter one exists.

A table says for each state which actions may be taken: those of an optimal policy, or the one that some
ruleset takes. Wanted is a decision list whose first matching rule gives an allowed action in every state;
vectors that are no state do not matter. Lists are found by `annealing`, and that none is shorter is proven
by a few states that alone need as many rules (`proof`). Work is counted, not timed: the same seed
gives the same list on every machine.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ifthen.checks import one_of
from ifthen.digits import plural
from ifthen.environments.make import TaskLike, as_task
from ifthen.errors import TaskError
from ifthen.notebook import Part, Shown
from ifthen.randomness import check_seed, stream
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import Feature
from ifthen.simplify.shortest.annealing import improved
from ifthen.simplify.shortest.bits import Bits, bits_of, greedy_list, merged, unpacked
from ifthen.simplify.shortest.proof import Bound, decided, lower_bound
from ifthen.simulate.scope import tabular
from ifthen.tasks.solve import value_iteration
from ifthen.tasks.tabular_task import TabularTask

Effort = Literal["quick", "normal", "thorough"]
Progress = Callable[[int, int], None]
"""Called after each round with the length of the shortest list so far, and the proven lower bound."""


class Work(NamedTuple):
    """How much is tried."""

    rounds: int
    """Runs of annealing, each from the best list so far."""
    moves: int
    """Moves in each run."""
    proof: int
    """Boxes and facts looked at to prove that no list is shorter."""


WORK: dict[str, Work] = {
    "quick": Work(2, 60_000, 20_000_000),
    "normal": Work(3, 2_000_000, 1_000_000_000),
    "thorough": Work(5, 40_000_000, 30_000_000_000),
}


@dataclass(frozen=True, repr=False)
class ShortestList(Shown):
    """A decision list and what is proven of its length.

    Args:
        rules: the list.
        lower_bound: no list for the same states has fewer rules.
        core: states, numbered as they were given, that alone need `lower_bound` rules; none where that is 1.
        states: how many states there are.
    """

    rules: DecisionList
    lower_bound: int
    core: tuple[int, ...]
    states: int

    @property
    def proven(self) -> bool:
        """Whether no list is shorter."""
        return self.lower_bound == len(self.rules)

    @property
    def how(self) -> str:
        """What is known of the length, in words."""
        length, least = plural(len(self.rules), "rule"), plural(self.lower_bound, "rule")
        reason = (
            f"{plural(len(self.core), 'state')} of {self.states} already need {least}"
            if self.core
            else "there must be one"
        )
        if self.proven:
            return f"{length}, and no decision list has fewer: {reason}."
        span = f"from {self.lower_bound} to {len(self.rules)}"
        return f"{length}, the fewest found; the least possible is {span}: {reason}."

    def __str__(self) -> str:
        return f"{self.rules}\n\n{self.how}"

    def shown_parts(self) -> list[Part]:
        """Return the rules, and what is known of their number."""
        return [*self.rules.shown_parts(), self.how]


def shortest_decision_list(
    task: TaskLike, effort: Effort = "normal", seed: int = 0, progress: Progress | None = None
) -> ShortestList:
    """Return the shortest decision list found whose action is optimal in every decision state of a task.

    Any optimal action will do where there are several. Tasks with γ = 1 are refused: there, which actions are
    optimal depends on the steps that are left.

    Args:
        task: a task with a table of states, its name, or a Gymnasium environment that has one.
        effort: "quick" takes a fraction of a second, "normal" seconds, "thorough" minutes.
        seed: of the search.
        progress: called after each round of the search.
    """
    one_of("effort", effort, get_args(Effort))
    table = tabular(as_task(task), "a list of optimal actions")
    return shortest_list(*optimal_table(table), table.features, table.action_names, effort, seed, progress)


def optimal_table(task: TabularTask) -> tuple[Floats, Mask]:
    """Return the decision states of a task, `(D, features)`, and the optimal actions in each, `(D, A)`."""
    if task.gamma == 1:
        raise TaskError(
            f"{task.name} has γ = 1, where optimal actions depend on the steps left: give it a discount, "
            "as by dataclasses.replace(task, gamma=0.99)."
        )
    allowed: Mask = value_iteration(task).optimal_actions[task.decision_states]
    return task.dynamics.points, allowed


def shortest_list(
    states: NDArray[Any],
    allowed: Mask,
    features: Sequence[Feature],
    action_names: Sequence[str],
    effort: Effort = "normal",
    seed: int = 0,
    progress: Progress | None = None,
) -> ShortestList:
    """Return the shortest decision list found that gives an allowed action in every state.

    Args:
        states: the feature vectors, `(D, features)`.
        allowed: which actions may be taken in each state, `(D, A)`; where none may, no rule will match.
        features: name and range of each feature.
        action_names: one name per action, A of them.
        effort: how much to try: "quick", "normal" or "thorough".
        seed: of the search.
        progress: called after each round of the search.
    """
    points, table, numbers = merged(states, allowed)
    bits, work = bits_of(points, table), WORK[effort]
    boxes, bound = _search(bits, work, check_seed(seed), progress)
    bounds, actions = readable_rules(bits, boxes)
    ends = np.empty(bounds.shape)  # at the values of states, or at the feature's edge
    for d, feature in enumerate(features):
        values = np.unique(points[:, d])
        ends[:, d] = values[bounds[:, d]]
        ends[bounds[:, d, 0] == 0, d, 0] = feature.low
        ends[bounds[:, d, 1] == len(values) - 1, d, 1] = feature.high
    rules = DecisionList(ends, actions, features, action_names)
    return ShortestList(rules, bound.rules, tuple(int(numbers[s]) for s in bound.core), len(points))


def _search(bits: Bits, work: Work, seed: int, progress: Progress | None) -> tuple[Ints, Bound]:
    """Return the boxes of the shortest list found, and the lower bound."""
    boxes, bound, n_unwritten = greedy_list(bits), Bound(1, ()), 0 if bits.open_ended else 1
    for number in range(work.rounds):
        shorter = improved(
            bits, boxes, stream(seed, "shortest", number), work.moves, bound.rules - n_unwritten
        )
        boxes = boxes if shorter is None else shorter
        if number == 0:
            bound = lower_bound(bits, len(boxes) + n_unwritten, work.proof, seed)
            boxes = boxes if bound.boxes is None else bound.boxes
        if progress is not None:
            progress(len(boxes) + n_unwritten, bound.rules)
        if len(boxes) + n_unwritten <= bound.rules:
            break
    return boxes, bound


def readable_rules(bits: Bits, boxes: Ints) -> tuple[Ints, Ints]:
    """Return the rules of a list, boxes and actions, with conditions that read as short as can be.

    Each box is trimmed to the states that it decides, then an interval is left open, or at one end, wherever
    the action is allowed in every state that is decided now and was left to later rules before.
    """
    allowed, full_box = unpacked(bits.allowed, len(bits.ranks)), bits.whole
    undecided, rules = np.ones(len(bits.ranks), dtype=np.bool_), []
    for box, action in zip(*decided(bits, boxes)[:2], strict=True):
        decided_ranks = bits.ranks[undecided & bits.held(box)]
        if not len(decided_ranks):
            continue
        trimmed = np.stack([decided_ranks.min(axis=0), decided_ranks.max(axis=0)], axis=-1)
        for ends, d in itertools.product(([0, 1], [0], [1]), range(len(full_box))):
            wider = trimmed.copy()
            wider[d, ends] = full_box[d, ends]
            if allowed[action, undecided & bits.held(wider)].all():
                trimmed = wider
        undecided &= ~bits.held(trimmed)
        rules.append((trimmed, action))
    return np.array([box for box, _ in rules]), np.array([action for _, action in rules])
