"""Bounds with fewer digits: "pole angle ≤ 0.03" rather than 0.0287, where rules play as well with it."""

from __future__ import annotations

import math

import numpy as np

from ifthen.explain.fewer.contest import Contest
from ifthen.rules.features import Feature, lows_and_highs, number_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.twins import twin_of

MOST_DIGITS, FEW_DIGITS = 17, 4
"""Decimals that are tried for a bound; few where playing is dear, without a twin."""


def rounded_bounds(rules: RuleSet, contest: Contest) -> RuleSet:
    """Return the rules with every bound inside a real feature's range rounded as far as the contest allows.

    Bounds are taken one after the other; of each, all roundings are played at once.
    """
    lows, highs = lows_and_highs(rules.features)
    for r in range(len(rules)):
        for d, feature in enumerate(rules.features):
            for end in (0, 1):
                value = float(rules.bounds[r, d, end])
                if feature.is_integer or value in (lows[d], highs[d]):
                    continue
                rules = _rounded(rules, r, d, end, contest)
    return rules


def _rounded(rules: RuleSet, r: int, d: int, end: int, contest: Contest) -> RuleSet:
    """Return the rules with one bound rounded to the fewest decimals that do."""
    candidates: list[RuleSet] = []
    most = FEW_DIGITS if twin_of(contest.task) is None else MOST_DIGITS
    for value in roundings(rules.features[d], float(rules.bounds[r, d, end]), most):
        bounds = rules.bounds.copy()
        bounds[r, d, end] = value
        if bounds[r, d, 0] <= bounds[r, d, 1]:
            candidates.append(rules.with_bounds(bounds))
    if not candidates:
        return rules
    enough = [contest.is_enough(found) for found in contest.performances(candidates)]
    return candidates[int(np.argmax(enough))] if any(enough) else rules


def roundings(feature: Feature, value: float, most: int = MOST_DIGITS) -> list[float]:
    """Return the value rounded to more and more decimals, inside the feature's range and shorter than it.

    The coarsest step is a tenth to the whole of the range; at most so many steps are tried, each a tenth of
    the one before.
    """
    width = float(feature.high) - float(feature.low)
    first = math.ceil(-math.log10(width))
    found: list[float] = []
    for decimals in range(first, first + most):
        number = round(value, decimals) + 0.0
        if number == value:
            break
        shorter = len(number_in_words(number)) < len(number_in_words(value))
        if feature.low < number < feature.high and number not in found and shorter:
            found.append(number)
    return found
