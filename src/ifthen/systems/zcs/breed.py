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
def put_interval(key: np.uint64, at: int, r: int, d: int, value: float, own: Learning) -> None:
    """Ask in rule r for an interval of feature d around a value; draws positions at and at + 1."""
    below_it, above_it = uniform(key, at) * own.reach[d], uniform(key, at + 1) * own.reach[d]
    if not own.real[d]:  # every whole number up to the reach is as likely
        below_it = float(below(key, at, int(own.reach[d]) + 1))
        above_it = float(below(key, at + 1, int(own.reach[d]) + 1))
    own.bounds[r, d, 0] = max(value - below_it, own.lows[d])
    own.bounds[r, d, 1] = min(value + above_it, own.highs[d])


@lean_kernel
def random_value(u: float, d: int, own: Learning) -> float:
    """Return the value of feature d that a number u in [0, 1) stands for."""
    if own.real[d]:
        return float(own.lows[d] + u * (own.highs[d] - own.lows[d]))
    return float(own.lows[d] + math.floor(u * (own.highs[d] - own.lows[d] + 1.0)))


@lean_kernel
def new_rule(key: np.uint64, r: int, covers: bool, strength: float, own: Learning) -> None:
    """Make rule r one with a random action that covers what is seen, or any rule."""
    features = own.bounds.shape[1]
    for d in range(features):
        own.bounds[r, d, 0], own.bounds[r, d, 1] = own.lows[d], own.highs[d]
        if uniform(key, DRAWS * d) >= own.settings.p_any:
            value = random_value(uniform(key, DRAWS * d + 1), d, own)
            if covers:
                value = own.seen[0, d]
            put_interval(key, DRAWS * d + 2, r, d, value, own)
    own.action[r] = below(key, DRAWS * features, own.settings.actions)
    own.strength[r] = strength


@lean_kernel
def fill_population(key: np.uint64, own: Learning) -> None:
    """Make all rules random ones; they keep the strength they have."""
    for r in range(own.settings.rules):
        new_rule(fold(key, r), r, False, own.strength[r], own)


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
def weak_rule(u: float, spared: int, own: Learning) -> int:
    """Return a rule drawn by inverse strength, but not the one that is spared (−1 for none)."""
    for r in range(own.settings.rules):
        own.wheel[r] = 0.0 if r == spared else 1.0 / own.strength[r]
    return spin(u, own.settings.rules, own.wheel)


@lean_kernel
def copy_rule(source: int, target: int, own: Learning) -> None:
    """Copy a rule with its strength; a rule that takes another's place is in no action set."""
    for d in range(own.bounds.shape[1]):
        own.bounds[target, d, 0] = own.bounds[source, d, 0]
        own.bounds[target, d, 1] = own.bounds[source, d, 1]
    own.action[target] = own.action[source]
    own.strength[target] = own.strength[source]
    if target < own.settings.rules:
        own.held[target] = False


@lean_kernel
def cover(key: np.uint64, mean: float, own: Learning) -> None:
    """Put a rule of mean strength that matches what is seen in the place of a weak one."""
    child = own.settings.rules
    new_rule(fold(key, 0), child, True, mean, own)
    copy_rule(child, weak_rule(uniform(key, 0), -1, own), own)
    own.clock[COVERINGS] += 1


@lean_kernel
def mutate_rule(key: np.uint64, r: int, own: Learning) -> None:
    """Change the condition of each feature, and the action, with probability μ.

    An open condition becomes an interval. Any other becomes open, or another interval, as likely as not.
    """
    features = own.bounds.shape[1]
    for d in range(features):
        at = (DRAWS + 1) * d
        if uniform(key, at) >= own.settings.mu:
            continue
        low, high = own.bounds[r, d, 0], own.bounds[r, d, 1]
        if (low > own.lows[d] or high < own.highs[d]) and uniform(key, at + 1) < 0.5:
            own.bounds[r, d, 0], own.bounds[r, d, 1] = own.lows[d], own.highs[d]
            continue
        value = random_value(uniform(key, at + 2), d, own)
        if not own.real[d] and own.highs[d] - own.lows[d] == 1.0 and low == high:
            value = own.lows[d] + own.highs[d] - low  # of two values the other one
        put_interval(key, at + 3, r, d, value, own)
    action = mutate_action(key, (DRAWS + 1) * features, own.settings.mu, own.action[r], own.settings.actions)
    own.action[r] = action


@lean_kernel
def breed(key: np.uint64, own: Learning) -> None:
    """Let two rules have two children, which take the places of two weak rules.

    Parents are drawn by strength and give half of it to their child. Crossover cuts the features, with the
    action behind them, at one point and averages the children's strengths.
    """
    n, features = own.settings.rules, own.bounds.shape[1]
    for r in range(n):
        own.wheel[r] = own.strength[r]
    one, other = n, n + 1
    mother, father = spin(uniform(key, 0), n, own.wheel), spin(uniform(key, 1), n, own.wheel)
    for parent, child in ((mother, one), (father, other)):
        own.strength[parent] = max(own.strength[parent] / 2.0, LEAST)
        copy_rule(parent, child, own)
    if uniform(key, 2) < own.settings.chi:
        for d in range(1 + below(key, 3, features), features):
            for end in range(2):
                kept = own.bounds[one, d, end]
                own.bounds[one, d, end] = own.bounds[other, d, end]
                own.bounds[other, d, end] = kept
        own.action[one], own.action[other] = own.action[other], own.action[one]
        own.strength[one] = own.strength[other] = (own.strength[one] + own.strength[other]) / 2.0
    mutate_rule(fold(key, 0), one, own)
    mutate_rule(fold(key, 1), other, own)
    place = weak_rule(uniform(key, 4), -1, own)
    copy_rule(one, place, own)
    copy_rule(other, weak_rule(uniform(key, 5), place, own), own)
    own.clock[GA_INVOCATIONS] += 1
