"""A second opinion on the fewest rules: an integer program, solved by HiGHS.

Is there a decision list of k rules? Binary x[p, b, a] says that the rule at place p has box b and action a,
and u[p, s] that state s is undecided behind place p. One rule stands at every place; a state is undecided
unless it was decided before or its box is taken now; and a rule may not decide a state wrongly:

    Σ x[p, ·, ·] = 1
    u[p, s] ≥ u[p−1, s] − Σ x[p, b ∋ s, ·]
    Σ x[p, b ∋ s, a not allowed] + u[p−1, s] ≤ 1

with u = 1 at first and u = 0 at last. It shares nothing with the search that it checks, is far slower, and is
meant for small tables.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats, Mask
from ifthen.simplify.shortest.bits import merged

SOLVED, INFEASIBLE = 0, 2  # scipy's status


def list_exists(states: NDArray[Any], allowed: Mask, rules: int) -> bool:
    """Return whether some decision list of `rules` rules gives an allowed action in every state.

    Args:
        states: the feature vectors, `(D, features)`.
        allowed: which actions may be taken in each state, `(D, A)`; where none may, no rule may match.
        rules: k, the number of rules.
    """
    from scipy.optimize import (  # type: ignore[import-untyped]  # SciPy ships no types
        Bounds,
        LinearConstraint,
        milp,
    )

    points, table, _ = merged(states, allowed)
    matrix, least, most, highest = _program(distinct_boxes(points), table, rules)
    found = milp(
        np.zeros(matrix.shape[1]),
        constraints=LinearConstraint(matrix, least, most),
        bounds=Bounds(0, highest),
        integrality=np.ones(matrix.shape[1]),
    )
    assert found.status in (SOLVED, INFEASIBLE)
    return bool(found.status == SOLVED)


def distinct_boxes(points: Floats) -> Mask:
    """Return every set of states that is all that some box holds, `(boxes, D)`, each once and none empty."""
    sides = []
    for column in points.T:
        values = np.unique(column)
        pairs = itertools.combinations_with_replacement(range(len(values)), 2)
        sides.append([(column >= values[low]) & (column <= values[high]) for low, high in pairs])
    boxes = np.array([np.logical_and.reduce(box) for box in itertools.product(*sides)])
    sets: Mask = np.unique(boxes[boxes.any(axis=1)], axis=0)
    return sets


def _program(inside: Mask, allowed: Mask, places: int) -> tuple[Any, Floats, Floats, Floats]:
    """Return the constraints: matrix, smallest and largest values, and the variables' largest values.

    Variables are those of each place in turn: x, box by box with all actions, then u of every state.
    """
    from scipy.sparse import eye_array, kron, vstack  # type: ignore[import-untyped]  # as above

    (boxes, states), n_actions = inside.shape, allowed.shape[1]
    taken = np.repeat(inside.T, n_actions, axis=1)
    wrong = (inside.T[:, :, None] & ~allowed[:, None, :]).reshape(states, -1)
    here, before = eye_array(places), eye_array(places, k=-1)
    undecided = kron(before, np.hstack([np.zeros_like(taken), np.eye(states)]))
    one = kron(here, np.repeat([[1.0, 0.0]], [boxes * n_actions, states], axis=1))
    decides = kron(here, np.hstack([taken, np.eye(states)])) - undecided
    rightly = kron(here, np.hstack([wrong, np.zeros((states, states))])) + undecided
    first = np.repeat(np.arange(places) == 0, states) * 1.0  # before the first place all are undecided
    least = np.concatenate([np.ones(places), first, np.full(len(first), -np.inf)])
    most = np.concatenate([np.ones(places), np.full(len(first), np.inf), 1.0 - first])
    highest = np.ones(places * (boxes * n_actions + states))
    highest[-states:] = ~allowed.any(axis=1)  # all that can be decided is decided at last
    return vstack([one, decides, rightly]).tocsr(), least, most, highest
