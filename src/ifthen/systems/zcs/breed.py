"""How rules come and go: random rules, covering, and the genetic algorithm over all rules."""

from __future__ import annotations

import math

import numpy as np

from ifthen.evolve.operators import mutate_action
from ifthen.jit import lean_kernel
from ifthen.randomness import below, fold, uniform
from ifthen.rules.arrays import Floats
from ifthen.systems.zcs.zcs_population import COVERINGS, GA_INVOCATIONS, LEAST, Learning

DRAWS = 4
"""A new rule draws this many random numbers for each feature."""


@lean_kernel
def put_interval(key: np.uint64, at: int, rule: int, feature: int, value: float, learning: Learning) -> None:
    """Ask in rule r for an interval of feature d around a value; draws positions at and at + 1."""
    downwards, upwards = (
        uniform(key, at) * learning.reach[feature],
        uniform(key, at + 1) * learning.reach[feature],
    )
    if not learning.real[feature]:  # every whole number up to the reach is as likely
        downwards = float(below(key, at, int(learning.reach[feature]) + 1))
        upwards = float(below(key, at + 1, int(learning.reach[feature]) + 1))
    learning.bounds[rule, feature, 0] = max(value - downwards, learning.lows[feature])
    learning.bounds[rule, feature, 1] = min(value + upwards, learning.highs[feature])


@lean_kernel
def random_value(u: float, feature: int, learning: Learning) -> float:
    """Return the value of feature d that a number u in [0, 1) stands for."""
    if learning.real[feature]:
        return float(learning.lows[feature] + u * (learning.highs[feature] - learning.lows[feature]))
    return float(
        learning.lows[feature] + math.floor(u * (learning.highs[feature] - learning.lows[feature] + 1.0))
    )


@lean_kernel
def new_rule(key: np.uint64, rule: int, covers: bool, strength: float, learning: Learning) -> None:
    """Make rule r one with a random action that covers what is seen, or any rule."""
    n_features = learning.bounds.shape[1]
    for d in range(n_features):
        learning.bounds[rule, d, 0], learning.bounds[rule, d, 1] = learning.lows[d], learning.highs[d]
        if uniform(key, DRAWS * d) >= learning.settings.p_any:
            value = random_value(uniform(key, DRAWS * d + 1), d, learning)
            if covers:
                value = learning.observation[0, d]
            put_interval(key, DRAWS * d + 2, rule, d, value, learning)
    learning.action[rule] = below(key, DRAWS * n_features, learning.settings.actions)
    learning.strength[rule] = strength


@lean_kernel
def fill_population(key: np.uint64, learning: Learning) -> None:
    """Make all rules random ones; they keep the strength they have."""
    for r in range(learning.settings.rules):
        new_rule(fold(key, r), r, False, learning.strength[r], learning)


@lean_kernel
def spin(u: float, n: int, wheel: Floats) -> int:
    """Return which of the first n shares of a wheel the number u in [0, 1) falls on."""
    total = 0.0
    for i in range(n):
        total += wheel[i]
    point, so_far, i = u * total, wheel[0], 0
    while i < n - 1 and so_far <= point:
        i += 1
        so_far += wheel[i]
    return i


@lean_kernel
def weak_rule(u: float, spared: int, learning: Learning) -> int:
    """Return a rule drawn by inverse strength, but not the one that is spared (−1 for none)."""
    for r in range(learning.settings.rules):
        learning.wheel[r] = 0.0 if r == spared else 1.0 / learning.strength[r]
    return spin(u, learning.settings.rules, learning.wheel)


@lean_kernel
def copy_rule(source: int, target: int, learning: Learning) -> None:
    """Copy a rule with its strength; a rule that takes another's place is in no action set."""
    for d in range(learning.bounds.shape[1]):
        learning.bounds[target, d, 0] = learning.bounds[source, d, 0]
        learning.bounds[target, d, 1] = learning.bounds[source, d, 1]
    learning.action[target] = learning.action[source]
    learning.strength[target] = learning.strength[source]
    if target < learning.settings.rules:
        learning.action_set[target] = False


@lean_kernel
def cover(key: np.uint64, mean_strength: float, learning: Learning) -> None:
    """Put a rule of mean strength that matches what is seen in the place of a weak one."""
    child = learning.settings.rules
    new_rule(fold(key, 0), child, True, mean_strength, learning)
    copy_rule(child, weak_rule(uniform(key, 0), -1, learning), learning)
    learning.clock[COVERINGS] += 1


@lean_kernel
def mutate_rule(key: np.uint64, rule: int, learning: Learning) -> None:
    """Change the condition of each feature, and the action, with probability μ.

    An open condition becomes an interval. Any other becomes open, or another interval, as likely as not.
    """
    n_features = learning.bounds.shape[1]
    for d in range(n_features):
        at = (DRAWS + 1) * d
        if uniform(key, at) >= learning.settings.mu:
            continue
        low, high = learning.bounds[rule, d, 0], learning.bounds[rule, d, 1]
        if (low > learning.lows[d] or high < learning.highs[d]) and uniform(key, at + 1) < 0.5:
            learning.bounds[rule, d, 0], learning.bounds[rule, d, 1] = learning.lows[d], learning.highs[d]
            continue
        value = random_value(uniform(key, at + 2), d, learning)
        if not learning.real[d] and learning.highs[d] - learning.lows[d] == 1.0 and low == high:
            value = learning.lows[d] + learning.highs[d] - low  # of two values the other one
        put_interval(key, at + 3, rule, d, value, learning)
    action = mutate_action(
        key, (DRAWS + 1) * n_features, learning.settings.mu, learning.action[rule], learning.settings.actions
    )
    learning.action[rule] = action


@lean_kernel
def breed(key: np.uint64, learning: Learning) -> None:
    """Let two rules have two children, which take the places of two weak rules.

    Parents are drawn by strength and give half of it to their child. Crossover cuts the features, with the
    action behind them, at one point and averages the children's strengths.
    """
    n_rules, n_features = learning.settings.rules, learning.bounds.shape[1]
    bounds, action, strength, wheel = learning.bounds, learning.action, learning.strength, learning.wheel
    for r in range(n_rules):
        wheel[r] = strength[r]
    first_child, second_child = n_rules, n_rules + 1
    mother, father = spin(uniform(key, 0), n_rules, wheel), spin(uniform(key, 1), n_rules, wheel)
    for parent, child in ((mother, first_child), (father, second_child)):
        strength[parent] = max(strength[parent] / 2.0, LEAST)
        copy_rule(parent, child, learning)
    if uniform(key, 2) < learning.settings.chi:
        for d in range(1 + below(key, 3, n_features), n_features):
            for end in range(2):
                bound = bounds[first_child, d, end]
                bounds[first_child, d, end] = bounds[second_child, d, end]
                bounds[second_child, d, end] = bound
        action[first_child], action[second_child] = action[second_child], action[first_child]
        strength[first_child] = strength[second_child] = (
            strength[first_child] + strength[second_child]
        ) / 2.0
    mutate_rule(fold(key, 0), first_child, learning)
    mutate_rule(fold(key, 1), second_child, learning)
    first_slot = weak_rule(uniform(key, 4), -1, learning)
    copy_rule(first_child, first_slot, learning)
    second_slot = weak_rule(uniform(key, 5), first_slot, learning)
    copy_rule(second_child, second_slot, learning)
    learning.clock[GA_INVOCATIONS] += 1
