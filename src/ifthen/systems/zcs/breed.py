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
def put_interval(key: np.uint64, at: int, r: int, d: int, value: float, pop: Learning) -> None:
    """Ask in rule r for an interval of feature d around a value; draws positions at and at + 1."""
    downwards, upwards = uniform(key, at) * pop.reach[d], uniform(key, at + 1) * pop.reach[d]
    if not pop.real[d]:  # every whole number up to the reach is as likely
        downwards = float(below(key, at, int(pop.reach[d]) + 1))
        upwards = float(below(key, at + 1, int(pop.reach[d]) + 1))
    pop.bounds[r, d, 0] = max(value - downwards, pop.lows[d])
    pop.bounds[r, d, 1] = min(value + upwards, pop.highs[d])


@lean_kernel
def random_value(u: float, d: int, pop: Learning) -> float:
    """Return the value of feature d that a number u in [0, 1) stands for."""
    if pop.real[d]:
        return float(pop.lows[d] + u * (pop.highs[d] - pop.lows[d]))
    return float(pop.lows[d] + math.floor(u * (pop.highs[d] - pop.lows[d] + 1.0)))


@lean_kernel
def new_rule(key: np.uint64, r: int, covers: bool, strength: float, pop: Learning) -> None:
    """Make rule r one with a random action that covers what is seen, or any rule."""
    n_features = pop.bounds.shape[1]
    for d in range(n_features):
        pop.bounds[r, d, 0], pop.bounds[r, d, 1] = pop.lows[d], pop.highs[d]
        if uniform(key, DRAWS * d) >= pop.settings.p_any:
            value = random_value(uniform(key, DRAWS * d + 1), d, pop)
            if covers:
                value = pop.observation[0, d]
            put_interval(key, DRAWS * d + 2, r, d, value, pop)
    pop.action[r] = below(key, DRAWS * n_features, pop.settings.actions)
    pop.strength[r] = strength


@lean_kernel
def fill_population(key: np.uint64, pop: Learning) -> None:
    """Make all rules random ones; they keep the strength they have."""
    for r in range(pop.settings.rules):
        new_rule(fold(key, r), r, False, pop.strength[r], pop)


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
def weak_rule(u: float, spared: int, pop: Learning) -> int:
    """Return a rule drawn by inverse strength, but not the one that is spared (−1 for none)."""
    for r in range(pop.settings.rules):
        pop.wheel[r] = 0.0 if r == spared else 1.0 / pop.strength[r]
    return spin(u, pop.settings.rules, pop.wheel)


@lean_kernel
def copy_rule(source: int, target: int, pop: Learning) -> None:
    """Copy a rule with its strength; a rule that takes another's place is in no action set."""
    for d in range(pop.bounds.shape[1]):
        pop.bounds[target, d, 0] = pop.bounds[source, d, 0]
        pop.bounds[target, d, 1] = pop.bounds[source, d, 1]
    pop.action[target] = pop.action[source]
    pop.strength[target] = pop.strength[source]
    if target < pop.settings.rules:
        pop.action_set[target] = False


@lean_kernel
def cover(key: np.uint64, mean_strength: float, pop: Learning) -> None:
    """Put a rule of mean strength that matches what is seen in the place of a weak one."""
    child = pop.settings.rules
    new_rule(fold(key, 0), child, True, mean_strength, pop)
    copy_rule(child, weak_rule(uniform(key, 0), -1, pop), pop)
    pop.clock[COVERINGS] += 1


@lean_kernel
def mutate_rule(key: np.uint64, r: int, pop: Learning) -> None:
    """Change the condition of each feature, and the action, with probability μ.

    An open condition becomes an interval. Any other becomes open, or another interval, as likely as not.
    """
    n_features = pop.bounds.shape[1]
    for d in range(n_features):
        at = (DRAWS + 1) * d
        if uniform(key, at) >= pop.settings.mu:
            continue
        low, high = pop.bounds[r, d, 0], pop.bounds[r, d, 1]
        if (low > pop.lows[d] or high < pop.highs[d]) and uniform(key, at + 1) < 0.5:
            pop.bounds[r, d, 0], pop.bounds[r, d, 1] = pop.lows[d], pop.highs[d]
            continue
        value = random_value(uniform(key, at + 2), d, pop)
        if not pop.real[d] and pop.highs[d] - pop.lows[d] == 1.0 and low == high:
            value = pop.lows[d] + pop.highs[d] - low  # of two values the other one
        put_interval(key, at + 3, r, d, value, pop)
    action = mutate_action(
        key, (DRAWS + 1) * n_features, pop.settings.mu, pop.action[r], pop.settings.actions
    )
    pop.action[r] = action


@lean_kernel
def breed(key: np.uint64, pop: Learning) -> None:
    """Let two rules have two children, which take the places of two weak rules.

    Parents are drawn by strength and give half of it to their child. Crossover cuts the features, with the
    action behind them, at one point and averages the children's strengths.
    """
    n_rules, n_features = pop.settings.rules, pop.bounds.shape[1]
    for r in range(n_rules):
        pop.wheel[r] = pop.strength[r]
    first_child, second_child = n_rules, n_rules + 1
    mother, father = spin(uniform(key, 0), n_rules, pop.wheel), spin(uniform(key, 1), n_rules, pop.wheel)
    for parent, child in ((mother, first_child), (father, second_child)):
        pop.strength[parent] = max(pop.strength[parent] / 2.0, LEAST)
        copy_rule(parent, child, pop)
    if uniform(key, 2) < pop.settings.chi:
        for d in range(1 + below(key, 3, n_features), n_features):
            for end in range(2):
                bound = pop.bounds[first_child, d, end]
                pop.bounds[first_child, d, end] = pop.bounds[second_child, d, end]
                pop.bounds[second_child, d, end] = bound
        pop.action[first_child], pop.action[second_child] = pop.action[second_child], pop.action[first_child]
        pop.strength[first_child] = pop.strength[second_child] = (
            pop.strength[first_child] + pop.strength[second_child]
        ) / 2.0
    mutate_rule(fold(key, 0), first_child, pop)
    mutate_rule(fold(key, 1), second_child, pop)
    first_slot = weak_rule(uniform(key, 4), -1, pop)
    copy_rule(first_child, first_slot, pop)
    second_slot = weak_rule(uniform(key, 5), first_slot, pop)
    copy_rule(second_child, second_slot, pop)
    pop.clock[GA_INVOCATIONS] += 1
