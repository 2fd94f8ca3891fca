"""Random drafts and points for the tests of PPL-X in environments."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from ifthen import env_task
from ifthen.rules.feature import Feature
from ifthen.systems.pplx.drafts import Draft
from ifthen.tasks.gym_task import EnvTask
from tests.envs import HAYSTACK, task_of

FEATURES, ACTIONS = 3, 3
LOW, HIGH = -5.0, 5.0


@functools.cache
def haystack() -> EnvTask:
    """Return an environment with 25 features of which few matter."""
    return env_task(HAYSTACK, episodes=20)


def some_points(seed: int, n: int = 60, whole: bool = False) -> Any:
    """Return points inside the ranges, some at their ends; the last feature is a whole number."""
    points = np.clip(4.0 * np.random.default_rng(seed).normal(size=(n, FEATURES)), LOW, HIGH)
    points = points.astype(np.float32).astype(np.float64)
    points[:, 2] = np.round(points[:, 2])
    return np.round(points) if whole else points


def some_draft(seed: int, rules: int = 4, terms: int = 0, last_resort: bool = True) -> Draft:
    """Return a random draft: open ends, ends beyond the ranges, intervals that hold nothing."""
    draws = np.random.default_rng(seed)
    weights = np.zeros((terms, FEATURES))
    for row in weights:
        i, j = np.sort(draws.choice(FEATURES, 2, replace=False))
        row[i], row[j] = 1.0, draws.choice([-2.0, -0.5, 0.1, 0.53217])
    shape = rules, FEATURES + terms
    ends = draws.uniform(LOW - 2, HIGH + 2, (*shape, 2))
    ordered = draws.random(shape) < 0.8
    ends[ordered] = np.sort(ends[ordered], axis=-1)
    lows = np.where(draws.random(shape) < 0.6, -np.inf, ends[..., 0])
    highs = np.where(draws.random(shape) < 0.6, np.inf, ends[..., 1])
    if last_resort:
        lows[-1], highs[-1] = -np.inf, np.inf
    return Draft(lows, highs, draws.integers(0, ACTIONS, rules).astype(np.int32), weights)


def some_costs(seed: int, n: int = 60) -> Any:
    """Return what actions give away at n points; 0 for the best."""
    costs = np.random.default_rng(seed).random((n, ACTIONS))
    return costs - costs.min(axis=1, keepdims=True)


def task() -> EnvTask:
    """Return a task with two real features and a whole one, in ranges that clip."""
    features = tuple(Feature(name, LOW, HIGH, "real", clips=True) for name in ("a", "b"))
    own = (*features, Feature("c", int(LOW), int(HIGH), "integer", clips=True))
    return dataclasses.replace(task_of(), features=own)
