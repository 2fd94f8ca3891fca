"""Which features matter: those that, given another value that is met too, would change what is done."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ifthen.explain.points import choose_at
from ifthen.explain.visited import Visited
from ifthen.rules.features import lows_and_highs
from ifthen.rules.ruleset import RuleSet

SWAPS = 4
SAMPLES, MATCHES = (20, 1000), 2e8
"""The least and the largest number of states looked at; between these, so many intervals are."""
FEW = 1e-3
"""Restrictions count so much beside changed actions: they tell apart what is equal otherwise."""


def importance(ruleset: RuleSet, met: Visited) -> NDArray[np.float64]:
    """Return how much each feature matters, `(features,)`.

    Among the states met, a feature's values are swapped between states, each in the same few ways; what
    counts is the share of states in which something else would be done, and a little the part of the
    feature's range that rules leave out, by the share of states that they decide.

    Args:
        ruleset: the rules.
        met: the states that they met.
    """
    sample = int(np.clip(MATCHES / (len(ruleset) * met.points.shape[1] ** 2), *SAMPLES))
    every = np.unique(np.linspace(0, len(met.points) - 1, sample).astype(np.int64))
    points, actions = met.points[every], met.actions[every]
    changed, moved, spoken_of = np.zeros(points.shape[1]), np.tile(points, (SWAPS, 1)), _spoken_of(ruleset)
    shifts = [swap * len(points) // (SWAPS + 1) for swap in range(1, SWAPS + 1)]
    for d in np.flatnonzero(spoken_of):
        moved[:, d] = np.concatenate([np.roll(points[:, d], shift) for shift in shifts])
        changed[d] = (choose_at(ruleset, moved)[0] != np.tile(actions, SWAPS)).mean()
        moved[:, d] = np.tile(points[:, d], SWAPS)
    return changed + FEW * restricted(ruleset, met.deciders)


def _spoken_of(ruleset: RuleSet) -> NDArray[np.bool_]:
    """Return the features that can change what is done, `(features,)`: all where payoffs are predicted."""
    lows, highs = lows_and_highs(ruleset.features)
    ends = (ruleset.bounds[..., 0] > lows) | (ruleset.bounds[..., 1] < highs)
    return np.asarray(ends.any(axis=0) | (ruleset.kind != "decision-list"))


def restricted(ruleset: RuleSet, deciders: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the part of each feature's range that rules leave out, `(features,)`, by what they decide."""
    lows, highs = (ends.astype(np.float64) for ends in lows_and_highs(ruleset.features))
    widths = np.where(highs > lows, highs - lows, 1.0)
    left_out = np.where(highs > lows, 1 - (ruleset.bounds[..., 1] - ruleset.bounds[..., 0]) / widths, 0.0)
    counts = np.bincount(deciders[deciders >= 0], minlength=len(ruleset)) / len(deciders)
    found: NDArray[np.float64] = (counts + FEW / len(ruleset)) @ left_out
    return found


def ranked(ruleset: RuleSet, met: Visited) -> list[int]:
    """Return the numbers of all features, the one that matters most first."""
    order: list[int] = np.argsort(-importance(ruleset, met), kind="stable").tolist()
    return order


def telling_pair(ruleset: RuleSet, met: Visited) -> tuple[int, ...]:
    """Return the two features that matter most, in their own order; the only one where there is one."""
    return tuple(sorted(ranked(ruleset, met)[:2]))
