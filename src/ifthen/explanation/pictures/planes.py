"""Planes through the space of features: which two features are drawn, and where the others are fixed.

Those features are drawn that matter: the action changes where they take another value that occurs too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError, nearest
from ifthen.rules.feature import lows_and_highs
from ifthen.rules.ruleset import RuleSet
from ifthen.simulate.scope import Scope, choose_at, median_point

DOWNWARDS = ("y", "row")
"""Features that count from above by custom."""
SWAPS = 4
"""How often the values of a feature are swapped between states."""
SAMPLES, MATCHES = (20, 1000), 2e8
"""The least and the largest number of states looked at; between these, about this many intervals are."""
FEW = 1e-3
"""The weight of restrictions beside changed actions: they only break ties."""


def fixed_values(
    ruleset: RuleSet, scope: Scope | None = None, at: Mapping[str, float] | None = None
) -> NDArray[np.float64]:
    """Return the values at which features are fixed, `(features,)`; see `slice_figure`."""
    if scope is None:
        middles = [f.low / 2 + f.high / 2 for f in ruleset.features]
        whole = [feature.is_integer for feature in ruleset.features]
        values = np.where(whole, np.floor(middles), middles)
    else:
        values = median_point(scope.points)
    for name, value in (at or {}).items():
        d = _number_of(ruleset, name)
        feature = ruleset.features[d]
        if not feature.low <= value <= feature.high or (feature.is_integer and value % 1):
            kind = "whole" if feature.is_integer else "real"
            raise ParameterError(
                f"{name} must be fixed at a {kind} number from {feature.low} to {feature.high}, not {value}."
            )
        values[d] = value
    return values


def _number_of(ruleset: RuleSet, name: str) -> int:
    """Return a feature's number, or raise."""
    names = [feature.name for feature in ruleset.features]
    if name not in names:
        raise ParameterError(f"unknown feature {name!r}.{nearest(str(name), names)}")
    return names.index(name)


def checked_axes(ruleset: RuleSet, axes: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the features to draw, or raise."""
    if isinstance(axes, str) or len(axes) not in (1, 2) or len(set(axes)) != len(axes):
        raise ParameterError(f"axes must be the names of one or two different features, not {axes!r}.")
    return _upright(ruleset, tuple(_number_of(ruleset, name) for name in axes))


def chosen_pairs(ruleset: RuleSet, scope: Scope | None, features: int) -> list[tuple[int, ...]]:
    """Return all pairs of the `features` features that matter most; one number where there is one feature."""
    if scope is None:
        restricted = (ruleset.bounds != np.stack(lows_and_highs(ruleset.features), axis=1)).any(axis=2)
        order = np.argsort(-restricted.sum(axis=0), kind="stable").tolist()
    else:
        order = ranked(ruleset, scope)
    most = sorted(order[:features])
    return [_upright(ruleset, pair) for pair in combinations(most, 2)] or [(most[0],)]


def _upright(ruleset: RuleSet, pair: tuple[int, ...]) -> tuple[int, ...]:
    """Return a pair with a feature that counts from above in its second place."""
    return pair[::-1] if ruleset.features[pair[0]].name in DOWNWARDS else pair


def ranked(ruleset: RuleSet, scope: Scope) -> list[int]:
    """Return the numbers of all features, the one that matters most first."""
    order: list[int] = np.argsort(-importance(ruleset, scope), kind="stable").tolist()
    return order


def importance(ruleset: RuleSet, scope: Scope) -> NDArray[np.float64]:
    """Return how much each feature matters, `(features,)`.

    Among the states, a feature's values are swapped between states in the same few ways. The share of states
    in which the action changes counts, and a little the part of the feature's range that rules leave out, by
    the share of states that they decide.

    Args:
        ruleset: the rules.
        scope: the states: visited states, or decision states.
    """
    sample = int(np.clip(MATCHES / (len(ruleset) * scope.points.shape[1] ** 2), *SAMPLES))
    every = np.unique(np.linspace(0, len(scope.points) - 1, sample).astype(np.int64))
    points, actions = scope.points[every], scope.actions[every]
    changed, moved = np.zeros(points.shape[1]), np.tile(points, (SWAPS, 1))
    shifts = [swap * len(points) // (SWAPS + 1) for swap in range(1, SWAPS + 1)]
    lows, highs = (ends.astype(np.float64) for ends in lows_and_highs(ruleset.features))
    least, most = ruleset.bounds[..., 0], ruleset.bounds[..., 1]
    # Payoffs are predicted from all features; elsewhere only those in a condition can change the action.
    spoken_of = ((least > lows) | (most < highs)).any(axis=0) | (not ruleset.ordered)
    for d in np.flatnonzero(spoken_of):
        moved[:, d] = np.concatenate([np.roll(points[:, d], shift) for shift in shifts])
        changed[d] = (choose_at(ruleset, moved)[0] != np.tile(actions, SWAPS)).mean()
        moved[:, d] = np.tile(points[:, d], SWAPS)
    widths = np.where(highs > lows, highs - lows, 1.0)
    left_out = np.where(highs > lows, 1 - (most - least) / widths, 0.0)
    found: NDArray[np.float64] = changed + FEW * ((scope.shares + FEW / len(ruleset)) @ left_out)
    return found
