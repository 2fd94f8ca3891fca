"""Where a claim holds: the decision states of a task or, without one, all that the features can be.

A task that is an environment has no states to list: claims about it are about all that the features can be,
which is all that rules can be shown, as values beyond a range count as its ends.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import RuleError, TaskError
from ifthen.rollout.evaluate import policy_table
from ifthen.rollout.score import checked_ruleset
from ifthen.rules.features import Feature
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.tabular import TabularTask

AnyTask = TabularTask | EnvTask
MOST_VECTORS = 1_000_000


def ruleset_of(policy: Any) -> RuleSet:
    """Return a ruleset that is given itself, or as a trained system."""
    ruleset = getattr(policy, "ruleset", policy)
    if not isinstance(ruleset, RuleSet):
        raise RuleError(f"a policy must be a RuleSet or a trained system, not {policy!r}.")
    return ruleset


def table_of(ruleset: RuleSet, task: AnyTask | None) -> TabularTask | None:
    """Return the task where it has a table of states; None for an environment, and without a task.

    Raises where it is no task, or where the rules speak of other features or actions.
    """
    if task is None:
        return None
    if isinstance(task, EnvTask):
        checked_ruleset(ruleset, task)
        return None
    if not isinstance(task, TabularTask):
        raise TaskError(
            f"task must be a TabularTask, such as ifthen.frozen_lake(4), or an EnvTask, not {task!r}."
        )
    policy_table(ruleset, task)
    return task


def tabular(task: Any, what: str, instead: str = "") -> TabularTask:
    """Return a task that has a table of states, or raise saying what needs one, and what to do instead."""
    if isinstance(task, EnvTask):
        raise TaskError(
            f"{what} needs a table of states, which {task.name}, an environment, has not{instead}."
        )
    if not isinstance(task, TabularTask):
        raise TaskError(f"task must be a TabularTask, such as ifthen.frozen_lake(4), not {task!r}.")
    return task


def points_of(ruleset: RuleSet, task: AnyTask | None = None) -> NDArray[np.float64] | None:
    """Return every point that matters, `(n, features)`; None where they cannot be listed.

    Args:
        ruleset: the rules.
        task: the task whose decision states matter; without one, or in an environment, all vectors of whole
            numbers do, and these can be listed while there are no more than `MOST_VECTORS` and no feature is
            real.
    """
    table = table_of(ruleset, task)
    return all_vectors(ruleset.features) if table is None else table.dynamics.points


def all_vectors(features: Sequence[Feature], most: int = MOST_VECTORS) -> NDArray[np.float64] | None:
    """Return all vectors of integer features, `(n, features)`, the last fastest; None for too many."""
    if not all(feature.is_integer for feature in features):
        return None
    if math.prod(feature.width for feature in features) > most:
        return None
    values = (range(feature.low, feature.high + 1) for feature in features)
    return np.array(list(itertools.product(*values)), dtype=np.float64)


def where_in_words(ruleset: RuleSet, task: AnyTask | None = None) -> str:
    """Return what a claim is about: "the 53 decision states of FrozenLake-8-0.3"."""
    if isinstance(task, EnvTask):
        return f"every observation of {task.name}"
    if task is not None:
        return f"the {len(task.decision_states)} decision states of {task.name}"
    ranges = ", ".join(f"{f.name} from {f.low} to {f.high}" for f in ruleset.features)
    return f"every observation with {ranges}"
