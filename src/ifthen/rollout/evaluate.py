"""One entry point to measure a policy: sampled on z with common random numbers, or exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ifthen.checks import one_of
from ifthen.errors import TaskError
from ifthen.rollout.score import Score, described, score
from ifthen.rollout.tabular import play
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask
from ifthen.tasks.solve import exact_performances, value_iteration
from ifthen.tasks.tabular import Method, Noise, TabularTask


@dataclass(frozen=True)
class Evaluation:
    """How well a policy does in a task.

    Args:
        method: "sampled" or "exact".
        noise: how z used its random numbers; None for exact.
        performance: mean discounted return over z, or mean of V^π over S_I.
        optimum: the same for an optimal policy (OTP where sampled).
        fraction: performance as a fraction of the optimum; NaN where returns can be negative.
        episodes: episodes played; 0 for exact.
        steps: steps played; 0 for exact.
        truncated_share: share of episodes that reached t_max; 0 for exact.
        uncovered: feature vectors of the decision states with no matching rule.
        failed: whether a state with no rule can be met, which makes the performance the task's floor.
    """

    method: Method
    noise: Noise | None
    performance: float
    optimum: float
    fraction: float
    episodes: int
    steps: int
    truncated_share: float
    uncovered: tuple[tuple[int, ...], ...]
    failed: bool


@overload
def evaluate(
    policy: Any,
    task: TabularTask,
    method: Method = ...,
    noise: Noise = ...,
    threads: int = ...,
    seeds: None = ...,
) -> Evaluation: ...


@overload
def evaluate(
    policy: Any,
    task: EnvTask,
    method: Method = ...,
    noise: Noise = ...,
    threads: int = ...,
    seeds: ArrayLike | None = ...,
) -> Score: ...


def evaluate(
    policy: Any,
    task: TabularTask | EnvTask,
    method: Method = "sampled",
    noise: Noise = "aligned",
    threads: int = 1,
    seeds: ArrayLike | None = None,
) -> Evaluation | Score:
    """Measure a policy in a task.

    Args:
        policy: a RuleSet, a trained system, or, in tabular tasks, the action in every state as an array
            `(S,)`.
        task: the task; in one that is an environment the answer is a Score.
        method: "sampled", on z with the task's common random numbers; "exact", by policy evaluation.
        noise: "aligned" (a number fixed per episode and step) or "stream" (the paper's: one stream
            through all episodes); used where `method` is "sampled".
        threads: how many threads to use; results do not depend on it.
        seeds: reset seeds to play from in an environment, such as `task.unseen(100)`; z where None.
    """
    one_of("method", method, get_args(Method))
    one_of("noise", noise, get_args(Noise))
    if isinstance(task, EnvTask):
        if method == "exact":
            raise TaskError(f"{task.name} has no table of states: it can only be measured by playing.")
        return score(policy, task, seeds, threads)
    if not isinstance(task, TabularTask):
        raise TaskError(f"task must be a task, such as ifthen.frozen_lake(4), not {task!r}.")
    if seeds is not None:
        raise TaskError(f"{task.name} is played on its own z: reset seeds are for environments.")
    table = policy_table(policy, task)
    uncovered = task.dynamics.states[table < 0]
    optimum = optimal_performance(task, method, noise)
    if method == "exact":
        value = float(exact_performances(task, table[None], threads)[0])
        failed, performance = bool(np.isnan(value)), task.floor if np.isnan(value) else value
        episodes = steps = truncated = 0
    else:
        result = play(task, table[None], noise, threads)
        failed, performance = bool(result.failed[0]), float(result.performance[0])
        episodes, steps = len(task.z), int(result.steps[0])
        truncated = int(result.truncated[0])
    return Evaluation(
        method=method,
        noise=None if method == "exact" else noise,
        performance=performance,
        optimum=optimum,
        fraction=performance / optimum if optimum > 0 and task.floor == 0 else math.nan,
        episodes=episodes,
        steps=steps,
        truncated_share=truncated / episodes if episodes else 0.0,
        uncovered=tuple(tuple(state) for state in uncovered.tolist()),
        failed=failed,
    )


def policy_table(policy: Any, task: TabularTask) -> NDArray[np.int16]:
    """Return a policy's action in every decision state of a task, `(D,)`, −1 for none."""
    ruleset = getattr(policy, "ruleset", policy)
    if isinstance(ruleset, RuleSet):
        if ruleset.features != task.features or ruleset.action_names != task.action_names:
            raise TaskError(
                f"the ruleset speaks of {described(ruleset)}, but task {task.name} has {described(task)}."
            )
        return np.asarray(ruleset.predict(task.dynamics.points), dtype=np.int16)
    table = np.asarray(ruleset)
    if table.dtype.kind not in "iu" or table.shape != (task.n_states,):
        raise TaskError(
            f"a policy must be a RuleSet, a trained system, or one whole-number action for each of the "
            f"{task.n_states} states, not {policy!r}."
        )
    if table.min() < -1 or table.max() >= task.n_actions:
        raise TaskError(f"the actions of a policy must be -1 (none) to {task.n_actions - 1}.")
    return table[task.decision_states].astype(np.int16)


def optimal_performance(task: TabularTask, method: Method = "exact", noise: Noise = "aligned") -> float:
    """Return the performance of value iteration's policy, exact or sampled on z (OTP)."""
    one_of("method", method, get_args(Method))
    one_of("noise", noise, get_args(Noise))
    solution = value_iteration(task)
    if method == "exact":
        return float(solution.values[task.initial_states].mean())
    table = solution.policy[task.decision_states].astype(np.int16)
    return float(play(task, table[None], noise).performance[0])
