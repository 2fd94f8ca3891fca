"""Terms: features that a ruleset makes of those it observes, each a sum of a few with readable coefficients.

    tilt error = 0.5·x + x velocity − angle

A term is worked out from clipped values: c₁·v₁ + c₂·v₂ + …, in double precision, in the order of the observed
features, one product after the other. Rulesets, kernels and exported code keep to this order, so that all of
them find the same number to the last bit.

Products and sums are rounded, but never out of order: of two values the larger has the larger product. So the
same sums of the features' ends are the term's own ends, and no value ever lies beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ifthen.errors import RuleError, nearest, shown
from ifthen.jit import inlined_kernel
from ifthen.rules.arrays import Floats
from ifthen.rules.feature import REAL_LIMIT, Feature, lows_and_highs, number_in_words

MOST_TERMS = 100
"""A ruleset has at most this many terms."""
MOST_COEFFICIENTS = 4_000_000
"""The terms of a ruleset have at most this many coefficients."""


def term(name: str | None, of: Mapping[str, float], features: Sequence[Feature], unit: str = "") -> Feature:
    """Return a term: a named sum of features, for use in the conditions of a ruleset.

    Args:
        name: as it stands in rules; its formula where None, such as "x − 2·angle".
        of: the coefficient of each feature that it adds up, such as {"x": 1, "angle": -2}; 1 to 8 of them.
        features: the features that are observed, such as task.features.
        unit: what it is measured in.
    """
    label = "?" if name is None else name
    unfitted = Feature(label, -REAL_LIMIT, REAL_LIMIT, "real", unit, clips=True, of=tuple(of.items()))
    if not unfitted.of:
        raise RuleError("a term needs coefficients by feature, as in {'x': 0.5}, not none.")
    fitted = fitted_to((*observed_of(features), unfitted))[-1]
    return replace(fitted, name=formula(fitted)) if name is None else fitted


def observed_of(features: Sequence[Feature]) -> tuple[Feature, ...]:
    """Return the features that are observed: all but terms."""
    return tuple(feature for feature in features if not feature.is_term)


def fitted_to(features: Sequence[Feature]) -> tuple[Feature, ...]:
    """Return features with terms in the order of what they add up, and with the ranges that follow from it.

    Raises where a term comes before what is observed, or adds up something else.
    """
    observed = observed_of(features)
    terms = tuple(features[len(observed) :])
    if not all(feature.is_term for feature in terms):
        raise RuleError("terms come after all features that are observed.")
    if len(terms) > MOST_TERMS or len(terms) * len(observed) > MOST_COEFFICIENTS:
        raise RuleError(f"a ruleset has at most {MOST_TERMS} terms, not {len(terms):,}.")
    names = [feature.name for feature in observed]
    positions = {name: position for position, name in enumerate(names)}
    if terms and len(positions) < len(names):
        raise RuleError(f"feature names must differ from each other, not {shown(names)}.")
    for candidate in terms:
        for addend, _ in candidate.of:
            if addend not in positions:
                raise RuleError(
                    f"the term {candidate.name!r} adds up {addend!r}, which is not observed."
                    f"{nearest(addend, names)}"
                )
    ordered = [tuple(sorted(candidate.of, key=lambda pair: positions[pair[0]])) for candidate in terms]
    if not ordered:
        return observed
    with np.errstate(over="ignore", invalid="ignore"):  # numbers that are too large are refused by Feature
        lows, highs = ranges_of(_matrix(ordered, positions), *(e * 1.0 for e in lows_and_highs(observed)))
    ends = zip(terms, ordered, lows.tolist(), highs.tolist(), strict=True)
    return (*observed, *(replace(candidate, of=of, low=low, high=high) for candidate, of, low, high in ends))


def coefficients(features: Sequence[Feature]) -> Floats:
    """Return the coefficients of the terms among features, `(terms, observed features)`."""
    positions = {feature.name: position for position, feature in enumerate(observed_of(features))}
    return _matrix([feature.of for feature in features if feature.is_term], positions)


def _matrix(sums: Sequence[tuple[tuple[str, float], ...]], positions: Mapping[str, int]) -> Floats:
    matrix = np.zeros((len(sums), len(positions)))
    for row, of in zip(matrix, sums, strict=True):
        for name, coefficient in of:
            row[positions[name]] = coefficient
    return matrix


def ranges_of(terms: Floats, floors: Floats, ceilings: Floats) -> tuple[Floats, Floats]:
    """Return the smallest and the largest value of terms `(…, features)`, given those of the features."""
    lows, highs = np.zeros(terms.shape[:-1]), np.zeros(terms.shape[:-1])
    for d in np.flatnonzero(terms.reshape(-1, terms.shape[-1]).any(axis=0)):
        ends = terms[..., d] * floors[d], terms[..., d] * ceilings[d]
        lows, highs = lows + np.minimum(*ends), highs + np.maximum(*ends)
    return lows, highs


def with_terms(terms: Floats, points: Floats) -> Floats:
    """Return points `(n, features)` followed by the values of terms `(terms, features)` there."""
    if not len(terms):
        return points
    values = np.zeros((len(terms), len(points)))
    for t, d in np.argwhere(terms):  # term by term, in the order of the features, as everywhere
        values[t] += terms[t, d] * points[:, d]
    return np.concatenate([points, values.T], axis=1)


@inlined_kernel
def term_value(
    terms: Floats, i: int, t: int, floors: Floats, ceilings: Floats, points: Floats, lane: int
) -> float:
    """Return the value of term t of ruleset i, of terms `(n, terms, features)`, at a point to be clipped."""
    total = 0.0
    for d in range(len(floors)):
        total += terms[i, t, d] * min(max(points[lane, d], floors[d]), ceilings[d])
    return total


def formula(
    feature: Feature,
    times: str = "·",
    minus: str = "−",
    name: Callable[[str], str] = str,
    number: Callable[[float], str] = number_in_words,
) -> str:
    """Return what a term adds up, in words: "0.5·x + x velocity − angle".

    Args:
        feature: the term.
        times: the sign between a coefficient and its feature.
        minus: the sign of negative coefficients.
        name: turns the name of a feature into what is written.
        number: turns a coefficient into what is written.
    """
    words = ""
    for addend, coefficient in feature.of:
        sign = minus if coefficient < 0 else "+" if words else ""
        factor = "" if abs(coefficient) == 1 else f"{number(abs(coefficient))}{times}"
        gap = " " if words else ""
        words += f"{gap}{sign}{gap if sign else ''}{factor}{name(addend)}"
    return words


def sum_in_words(feature: Feature, values: Mapping[str, float]) -> str:
    """Return how a term's value comes about: "0.5·0.2 − (-0.1) = 0.2".

    Args:
        feature: the term.
        values: of the observed features, clipped, by name.
    """

    def shown(value: float) -> str:
        return number_in_words(float(f"{value:.4g}") + 0.0)

    def in_sum(addend: str) -> str:
        return f"({shown(values[addend])})" if values[addend] < 0 else shown(values[addend])

    total = 0.0
    for addend, coefficient in feature.of:
        total += coefficient * values[addend]
    unit = f" {feature.unit}" if feature.unit else ""
    return f"{formula(feature, name=in_sum)} = {shown(total)}{unit}"


def has_own_name(feature: Feature) -> bool:
    """Return whether a term is called something else than its formula."""
    return feature.is_term and feature.name != formula(feature)
