"""A plan as a decision list: what it does when the highest bid always wins.

A rule's strength does not depend on the state, so the strongest of the rules that match is the first one in
the order of strengths. Partial matches follow: where no rule matches all F conditions, the strongest of those
with F − 1 decides, and so on. In the list these are the same rules again with one condition left out, each in
turn; then with two. The last one is the strongest rule without any condition. A plan whose rules match every
point needs none of this.

The list is exact. Only where it would get longer than `MOST_LISTED` are the remaining partial matches left to
the plan's strongest rule. What is handed out, measured and shown is the list.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.arrays import Floats
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.feature import bounds_type, whole_box
from ifthen.systems.samuel.plans import Plan
from ifthen.tasks.task import Task

MOST_LISTED = 2000
"""Partial matches are written out as rules up to this length of the list."""


def list_of(plan: Plan, task: Task) -> DecisionList:
    """Return the list that acts as a plan does where the highest bid wins, of equals the lowest action."""
    n, features = plan.bounds.shape[:2]
    order = np.lexsort((np.arange(n), plan.actions, -plan.strengths))
    whole = whole_box(task.features).astype(np.float64)
    bounds, actions = plan.bounds[order], plan.actions[order]
    listed = shown_rules(bounds, actions, whole)
    for left_out in range(1, features + 1):
        if (listed[0][-1] == whole).all():
            break
        enough = len(listed[0]) + math.comb(features, left_out) * n <= MOST_LISTED
        boxes = widened(bounds, whole, left_out if enough else features)
        partial = boxes.reshape(-1, features, 2), np.repeat(actions, boxes.shape[1])
        boxes, chosen = np.concatenate([listed[0], partial[0]]), np.concatenate([listed[1], partial[1]])
        listed = shown_rules(boxes, chosen, whole)
    dtype = bounds_type(task.features)
    return DecisionList(listed[0].astype(dtype), listed[1], task.features, task.action_names)


def widened(bounds: Floats, whole: Floats, left_out: int) -> Floats:
    """Return each rule with every choice of `left_out` conditions opened: `(rules, choices, features, 2)`."""
    choices = [list(some) for some in itertools.combinations(range(len(whole)), left_out)]
    boxes = np.repeat(bounds[:, None], len(choices), axis=1)
    for number, some in enumerate(choices):
        boxes[:, number, some] = whole[some]
    return boxes


def shown_rules(
    bounds: Floats, actions: NDArray[np.int32], whole: Floats
) -> tuple[Floats, NDArray[np.int32]]:
    """Return the rules of a list without those that lie in an earlier one: they never decide."""
    inside = np.ones((len(bounds), len(bounds)), dtype=np.bool_)  # [i, j]: box j lies in box i
    for d, (low, high) in enumerate(whole):
        first, last = bounds[:, d, 0], bounds[:, d, 1]
        wraps, all_of_it = first > last, (first <= low) & (last >= high)
        begins, ends = first[:, None] <= first, last[:, None] >= last
        in_a_part = wraps[:, None] & ~wraps & (begins | ends)
        inside &= all_of_it[:, None] | (begins & ends & (wraps[:, None] | ~wraps)) | in_a_part
    hidden = np.triu(inside, 1).any(axis=0)
    return bounds[~hidden], actions[~hidden]
