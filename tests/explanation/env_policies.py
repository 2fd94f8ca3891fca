"""Policies for environments, written by hand, and rules of all kinds drawn anyhow."""

from __future__ import annotations

from functools import cache

import numpy as np

from ifthen import DecisionList, PredictionArrayRules, RuleSet, StrengthRules, parse_rules
from ifthen.environments.make import env_task
from ifthen.tasks.gym_task import EnvTask

TEXTS = {
    "CartPole-v1": """
        IF cart position >= 1 AND pole angle >= -0.03 THEN push right
        IF pole angle >= 0.03 THEN push right
        IF pole angle <= -0.03 THEN push left
        IF pole velocity >= 0 THEN push right
        OTHERWISE push left""",
    "MountainCar-v0": """
        IF position <= -1 AND -0.01 <= velocity <= 0.01 THEN push right
        IF velocity >= 0.0003 THEN push right
        IF velocity <= -0.002 THEN push left
        OTHERWISE coast""",
    "Blackjack-v1": """
        IF own sum >= 17 AND usable ace = 0 THEN stick
        IF own sum >= 19 THEN stick
        IF own sum >= 13 AND dealer shows in [2, 6] AND usable ace = 0 THEN stick
        OTHERWISE hit""",
}
HOLEY = """
    IF pole angle >= 0.01 THEN push right
    IF pole angle <= -0.01 THEN push left
    IF pole velocity <= 0 THEN push left"""
KINDS = ("decision-list", "strength", "prediction-array")


@cache
def a_task(name: str, episodes: int = 4, t_max: int | None = None) -> EnvTask:
    """Return a small task."""
    return env_task(name, episodes=episodes, t_max=t_max)


@cache
def a_policy(name: str, episodes: int = 4, t_max: int | None = None) -> tuple[RuleSet, EnvTask]:
    """Return rules written by hand, with their task."""
    task = a_task(name, episodes, t_max)
    return parse_rules("\n".join(line.strip() for line in TEXTS[name].splitlines()), task=task), task


def holey() -> tuple[RuleSet, EnvTask]:
    """Return rules that leave some of CartPole out, with their task."""
    task = a_task("CartPole-v1")
    return parse_rules("\n".join(line.strip() for line in HOLEY.splitlines()), task=task), task


def some_rules(kind: str, task: EnvTask, n: int = 8, seed: int = 0) -> RuleSet:
    """Return n rules of a kind over a task, drawn anyhow; the last matches everything."""
    rng = np.random.default_rng(seed)
    lows, highs = task.ranges
    bounds = lows[:, None] + rng.random((n, len(lows), 2)) * (highs - lows)[:, None]
    whole = [feature.is_integer for feature in task.features]
    bounds[:, whole] = np.rint(bounds[:, whole])
    bounds[-1] = np.stack([lows, highs], axis=-1)
    if all(whole):
        bounds = bounds.astype(np.int32)
    chosen, learnt = rng.integers(0, task.n_actions, n), np.round(rng.normal(size=(n, len(lows) + 1)), 2)
    head = (bounds, chosen, task.features, task.action_names)
    if kind == "decision-list":
        return DecisionList(*head)
    if kind == "strength":
        return StrengthRules(*head, learnt, np.round(rng.random(n), 2), 1.0)
    ones = np.ones(n)
    return PredictionArrayRules(*head, learnt, rng.random(n) + 0.1, rng.random(n), ones, ones, 1.0)
