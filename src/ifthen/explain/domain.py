"""Where a claim holds: the decision states of a task or, without one, all that the features can be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import RuleError, TaskError
from ifthen.rollout.evaluate import policy_table
from ifthen.rules.features import Feature
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.tabular import TabularTask

MOST_VECTORS = 1_000_000


def ruleset_of(policy: Any) -> RuleSet:
    """Return a ruleset that is given itself, or as a trained system."""
    ruleset = getattr(policy, "ruleset", policy)
    if not isinstance(ruleset, RuleSet):
        raise RuleError(f"a policy must be a RuleSet or a trained system, not {policy!r}.")
    return ruleset


def points_of(ruleset: RuleSet, task: TabularTask | None = None) -> NDArray[np.float64] | None:
    """Return every point that matters, `(n, features)`; None where they cannot be listed.

    Args:
        ruleset: the rules.
        task: the task whose decision states matter; without one all vectors of whole numbers do, and these
            can be listed while there are no more than `MOST_VECTORS` and no feature is real.
    """
    if task is None:
        return all_vectors(ruleset.features)
    if not isinstance(task, TabularTask):
        raise TaskError(f"task must be a TabularTask, such as ifthen.frozen_lake(4), not {task!r}.")
    policy_table(ruleset, task)  # raises where the rules speak of other features or actions
    return task.dynamics.points


def all_vectors(features: Sequence[Feature], most: int = MOST_VECTORS) -> NDArray[np.float64] | None:
    """Return all vectors of integer features, `(n, features)`, the last fastest; None for too many."""
    if not all(feature.is_integer for feature in features):
        return None
    if math.prod(feature.width for feature in features) > most:
        return None
    values = (range(feature.low, feature.high + 1) for feature in features)
    return np.array(list(itertools.product(*values)), dtype=np.float64)


def where_in_words(ruleset: RuleSet, task: TabularTask | None = None) -> str:
    """Return what a claim is about: "the 53 decision states of FrozenLake-8-0.3"."""
    if task is not None:
        return f"the {len(task.decision_states)} decision states of {task.name}"
    ranges = ", ".join(f"{f.name} from {f.low} to {f.high}" for f in ruleset.features)
    return f"every observation with {ranges}"
