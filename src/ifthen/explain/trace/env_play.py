"""Traces of episodes in environments: played from a reset seed as evaluations play them."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from ifthen.checks import whole_number
from ifthen.errors import ParameterError
from ifthen.explain.points import choose_at, values_by_name
from ifthen.explain.trace.env_episode import EnvEnding, EnvStep, EnvTrace
from ifthen.explain.visited import played
from ifthen.explain.words import rule_for_reading
from ifthen.randomness import check_seed
from ifthen.rollout.episodes import NULL, TERMINATED, TRUNCATED
from ifthen.rollout.score import checked_ruleset
from ifthen.rollout.trajectories import Trajectory
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.env_task import EnvTask

ENDINGS: dict[int, EnvEnding] = {TERMINATED: "terminated", TRUNCATED: "truncated", NULL: "no rule"}


def env_trace(
    policy: Any,
    task: EnvTask,
    start: Any = None,
    seed: int = 0,
    episode: int | None = None,
    max_steps: int | None = None,
) -> EnvTrace:
    """Play one episode in an environment and record every step; see `trace`."""
    if start is not None:
        raise ParameterError(f"episodes of {task.name} start where a reset seed says: give seed or episode.")
    limit = task.t_max if max_steps is None else whole_number("max_steps", max_steps, 0, task.t_max)
    if episode is None:
        own = check_seed(seed)
    else:
        episode = whole_number("episode", episode, 0, len(task.z) - 1)
        own = int(task.z[episode])
    ruleset = checked_ruleset(policy, task)
    (found,) = played(ruleset, task, [own])
    return trace_of(found, ruleset, task, own, episode, limit)


def trace_of(
    found: Trajectory,
    ruleset: RuleSet,
    task: EnvTask,
    seed: int,
    episode: int | None,
    limit: int | None = None,
) -> EnvTrace:
    """Return an episode that was played as a trace of at most `limit` steps."""
    words = cache(partial(rule_for_reading, ruleset))
    n = min(len(found.actions), task.t_max if limit is None else limit)
    returns = np.cumsum(task.gamma ** np.arange(n) * found.rewards[:n])
    rules = choose_at(ruleset, found.points[:n])[1].tolist() if n else []
    seen = [values_by_name(task.features, point) for point in (*found.points[: n + 1], found.last)]
    steps = tuple(
        EnvStep(
            step=t,
            features=seen[t],
            rule=rule,
            words=words(rule),
            action=task.action_names[found.actions[t]],
            reward=float(found.rewards[t]),
            return_so_far=float(returns[t]),
        )
        for t, rule in enumerate(rules)
    )
    total = float(returns[-1]) if n else 0.0
    ending: EnvEnding = "stopped" if n < len(found.actions) else ENDINGS[found.ending]
    said = ending_in_words(ending, task, n, total)
    return EnvTrace(task.name, episode, seed, seen[0], steps, seen[n], ending, said, total)


def ending_in_words(ending: EnvEnding, task: EnvTask, steps: int, total: float) -> str:
    """Return how an episode ended as a sentence."""
    said = {
        "terminated": "the environment ended the episode",
        "truncated": (
            f"truncated, t_max = {task.t_max:,} is reached"
            if steps >= task.t_max
            else "truncated by the environment"
        ),
        "stopped": "stopped, the episode goes on",
        "no rule": "no rule matches, nothing can be done",
    }
    return f"After {steps:,} step{'' if steps == 1 else 's'}: {said[ending]}; return {total:.4g}."
