"""Scope: the points that a claim about rules rests on.

A claim about a tabular task rests on its decision states. A claim without a task rests on every observation
that the features allow; these can be listed where all features are integers and there are not too many. In an
environment a claim rests either on every observation, or on the visited states: those in which a policy is
asked for an action. Two policies that choose the same in all states that one of them visits play the same
episodes from the same seeds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ifthen.digits import plural, worth_showing
from ifthen.environments.make import TaskLike
from ifthen.errors import RuleError, TaskError
from ifthen.rules.arrays import Floats, Ints, Mask
from ifthen.rules.feature import Feature
from ifthen.rules.ruleset import PolicyLike, PolicyOrActions, RuleSet
from ifthen.simulate.evaluate import shared_simulator, with_task
from ifthen.simulate.simulator import checked_ruleset
from ifthen.simulate.trajectories import Trajectory
from ifthen.tasks.gym_task import EnvTask
from ifthen.tasks.tabular_task import TabularTask
from ifthen.tasks.task import Task

Number = int | float
MOST_VECTORS = 1_000_000
"""The largest number of feature vectors that is listed."""
BLOCK = 4_000_000
"""Rules times points that are matched at a time: a thousand rules can be asked at a million points."""


@dataclass(frozen=True, eq=False)
class Scope:
    """The points that a claim about a ruleset rests on.

    Args:
        ruleset: the rules.
        points: `(n, features)`, inside the features' ranges. A state that was visited twice is there twice.
        words: what the points are, such as "the 53 decision states of FrozenLake-8-0.3".
        unit: what one point is: "decision state", "feature vector" or "visited state".
        complete: whether these are all points at which the rules can be asked in the task.
        episodes: how many episodes visited the points; None where they are listed.
    """

    ruleset: RuleSet
    points: Floats
    words: str
    unit: str
    complete: bool = True
    episodes: int | None = None

    def __len__(self) -> int:
        return len(self.points)

    @cached_property
    def matching(self) -> Mask:
        """Which rules match, `(n, rules)`."""
        return self.ruleset.matches(self.points)

    @cached_property
    def choice(self) -> tuple[Ints, Ints]:
        """Actions and deciding rules, each `(n,)`, −1 where no rule matches."""
        return choose_at(self.ruleset, self.points)

    @property
    def actions(self) -> Ints:
        """The action at each point, `(n,)`, −1 where no rule matches."""
        return self.choice[0]

    @property
    def deciders(self) -> Ints:
        """The rule that decides at each point, `(n,)`, −1 where no rule matches."""
        return self.choice[1]

    @cached_property
    def counts(self) -> Ints:
        """How many points each rule decides, `(rules,)`."""
        return np.bincount(self.deciders[self.deciders >= 0], minlength=len(self.ruleset))

    @property
    def shares(self) -> Floats:
        """The share of the points that each rule decides, `(rules,)`."""
        shares: Floats = self.counts / len(self.points)
        return shares

    def vector(self, point: int) -> dict[str, Number]:
        """Return a point as values by feature name."""
        return values_by_name(self.ruleset.observed_features, self.points[point].tolist())


def ruleset_of(policy: object) -> RuleSet:
    """Return the ruleset of a policy: a RuleSet itself, or that of a trained system."""
    ruleset = getattr(policy, "ruleset", policy)
    if not isinstance(ruleset, RuleSet):
        raise RuleError(f"a policy must be a RuleSet or a trained system, not {policy!r}.")
    return ruleset


def policy_and_task(policy: PolicyLike, task: TaskLike | None = None) -> tuple[RuleSet, Task | None]:
    """Return the rules of a policy, and the task to look at them in; None where there is none.

    Args:
        policy: a RuleSet or a trained system.
        task: a task, its name, or a Gymnasium environment; a trained system's own where None.
    """
    ruleset = ruleset_of(policy)
    if task is None and getattr(policy, "task", None) is None:
        return ruleset, None
    fitted, chosen_task = with_task(policy, task)
    return ruleset_of(fitted), chosen_task


def check_fits(ruleset: RuleSet, task: Task | None) -> None:
    """Raise where a task is no task, or where the rules speak of other features or actions."""
    if task is None:
        return
    if not isinstance(task, Task):
        raise TaskError(f"task must be a Task, such as ifthen.frozen_lake(4), not {task!r}.")
    checked_ruleset(ruleset, task)


def table_of(ruleset: RuleSet, task: Task | None) -> TabularTask | None:
    """Return the task if it has a table of states; None for an environment, and without a task.

    Raises where rules and task do not fit; see `check_fits`.
    """
    check_fits(ruleset, task)
    return task if isinstance(task, TabularTask) else None


def tabular(task: object, label: str, advice: str = "") -> TabularTask:
    """Return a task that has a table of states, or raise and say what needs one and what to do instead."""
    if isinstance(task, TabularTask):
        return task
    if isinstance(task, Task):
        raise TaskError(
            f"{label} needs a table of states, which {task.name}, an environment, does not have{advice}."
        )
    raise TaskError(f"task must be a TabularTask, such as ifthen.frozen_lake(4), not {task!r}.")


def environment(task: object, label: str) -> EnvTask:
    """Return a task that is played from reset seeds, or raise and say what needs one."""
    if isinstance(task, EnvTask):
        return task
    name = task.name if isinstance(task, Task) else repr(task)
    raise TaskError(f"{label} plays from reset seeds, which {name} does not have: give an environment.")


def listed(ruleset: RuleSet, task: Task | None = None, max_vectors: int = MOST_VECTORS) -> Scope | None:
    """Return every point that matters as a scope; None where the points cannot be listed.

    Args:
        ruleset: the rules.
        task: its decision states matter. Without a task, and in an environment, all feature vectors matter.
        max_vectors: the largest number of feature vectors to list.
    """
    states = decision_states(ruleset, task)
    if states is not None:
        return states
    vectors, words = all_vectors(ruleset.observed_features, max_vectors), where_in_words(ruleset, task)
    return None if vectors is None else Scope(ruleset, vectors, words, "feature vector")


def decision_states(ruleset: RuleSet, task: Task | None) -> Scope | None:
    """Return the decision states of a task as a scope; None where a task does not list any."""
    table = table_of(ruleset, task)
    if table is None:
        return None
    return Scope(ruleset, table.dynamics.points, where_in_words(ruleset, task), "decision state")


def all_vectors(features: Sequence[Feature], max_vectors: int = MOST_VECTORS) -> Floats | None:
    """Return all vectors of integer features, `(n, features)`, the last fastest; None for too many."""
    if not all(feature.is_integer for feature in features):
        return None
    if math.prod(feature.width for feature in features) > max_vectors:
        return None
    values = (range(feature.low, feature.high + 1) for feature in features)
    return np.array(list(itertools.product(*values)), dtype=np.float64)


def where_in_words(ruleset: RuleSet, task: Task | None = None) -> str:
    """Return where a claim holds, such as "the 53 decision states of FrozenLake-8-0.3"."""
    if isinstance(task, TabularTask):
        n = len(task.decision_states)
        return f"the {f'{n:,} decision states' if n > 1 else 'only decision state'} of {task.name}"
    if task is not None:
        return f"every observation of {task.name}"
    features = {f.name: f"{f.name} from {f.low} to {f.high}" for f in ruleset.observed_features}
    shown = worth_showing(features, ruleset.tested)
    n_others = len(features) - len(shown)
    ending = f" and {plural(n_others, 'other feature')} in their ranges" if n_others else ""
    return f"every observation with {', '.join(features[name] for name in shown)}{ending}"


def choose_at(ruleset: RuleSet, points: Floats) -> tuple[Ints, Ints]:
    """Return what `ruleset.choose` does for any number of points `(n, features)`, in little memory."""
    actions, deciders = np.empty(len(points), dtype=np.int64), np.empty(len(points), dtype=np.int64)
    size = max(1, BLOCK // len(ruleset))
    for start in range(0, len(points), size):
        block = slice(start, start + size)
        actions[block], deciders[block] = ruleset.choose(points[block])
    return actions, deciders


def values_by_name(features: Sequence[Feature], point: Sequence[float]) -> dict[str, Number]:
    """Return a point as plain data: whole numbers for integer features."""
    pairs = zip(features, point, strict=True)
    return {feature.name: int(value) if feature.is_integer else float(value) for feature, value in pairs}


def column_of(feature: str, taken_names: Container[str]) -> str:
    """Return the name of a feature's column in a table whose other columns have the names `taken_names`."""
    return f"feature_{feature}" if feature in taken_names else feature


def recorded_episodes(
    policy: PolicyOrActions, task: Task, seeds: ArrayLike | None = None
) -> Sequence[Trajectory]:
    """Return the episodes of a policy from reset seeds, step by step; see `visited_states` for arguments."""
    return shared_simulator(task).episodes(policy, seeds)


def visited_states(policy: PolicyLike, task: EnvTask, seeds: ArrayLike | None = None) -> Scope:
    """Play a policy and return every state in which it was asked for an action.

    States are in the order of episodes and steps, as often as they were visited. A state in which no rule
    matches ends an episode and is the last of it.

    Args:
        policy: a RuleSet, or a trained system.
        task: the environment.
        seeds: the reset seeds to play from; the training seeds z where None.
    """
    ruleset, episodes = checked_ruleset(policy, task), recorded_episodes(policy, task, seeds)
    points = np.clip(np.concatenate([episode.asked for episode in episodes]), *task.ranges)
    states, count = "states" if len(points) > 1 else "state", len(episodes)
    words = f"the {len(points):,} visited {states} of {count:,} episode{'' if count == 1 else 's'}"
    return Scope(ruleset, points, words, "visited state", complete=False, episodes=count)


def scope_of(policy: PolicyLike, task: Task | None = None, seeds: ArrayLike | None = None) -> Scope | None:
    """Return the states that shares are counted in; None without a task where the points cannot be listed.

    In an environment these are the states visited from reset seeds, elsewhere those of `listed`.

    Args:
        policy: a RuleSet or a trained system.
        task: the task.
        seeds: the reset seeds in an environment; the training seeds where None.
    """
    if isinstance(task, EnvTask):
        return visited_states(policy, task, seeds)
    return listed(ruleset_of(policy), task)


def median_point(points: Floats) -> Floats:
    """Return the lower median of every feature, `(features,)`: a value that occurs, not the mean of two."""
    median: Floats = np.sort(points, axis=0)[(len(points) - 1) // 2]
    return median
