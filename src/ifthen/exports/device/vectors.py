"""Unit tests of a policy on a device: inputs at, just below and just above every threshold, with the action.

The expected action is the policy's in double precision. Inputs at which a sum lies so near its threshold that
the device may act differently (`deviation`) are left out.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ifthen.exports.device.deviation import term_errors, thresholds
from ifthen.exports.device.numbers import Code, Device
from ifthen.rules.boxes.list_analysis import first_match
from ifthen.rules.ruleset import NULL_ACTION, RuleSet

MOST = 2_000
"""Vectors that are written."""
BUDGET = 2_000_000
"""Looks for a point at which each rule decides."""
Codes = tuple[Code, ...]


class Vector(NamedTuple):
    """One input as the device keeps it, and the action that must come out; −1 for none."""

    codes: Codes
    action: int


def test_vectors(ruleset: RuleSet, device: Device) -> list[Vector]:
    """Return inputs at the edges of every rule and of every range, with the actions of the policy."""
    inputs: dict[Codes, None] = {}
    bases = [_codes(ruleset, device, point) for point in _points(ruleset)]
    for rule, base in enumerate(bases):
        inputs[base] = None
        for d, feature in enumerate(ruleset.features):
            low, high = ruleset.bounds[rule, d].tolist()
            ends = [(low, True)] * (low > feature.low or low > high)
            ends += [(high, False)] * (high < feature.high or low > high)
            neighbours = _near_sum if feature.is_term else _near
            inputs |= dict.fromkeys(
                code for end in ends for code in neighbours(ruleset, device, base, d, *end)
            )
    for d, feature in enumerate(ruleset.observed_features):
        for end in ((float(feature.low), True), (float(feature.high), False)):
            inputs |= dict.fromkeys(_near(ruleset, device, bases[0], d, *end))
    finite = [codes for codes in inputs if np.isfinite(codes).all()][: 4 * MOST]
    points = np.array([[device.features[d].value(c) for d, c in enumerate(codes)] for codes in finite])
    actions, sure = _actions(ruleset, points), _sure(ruleset, device, points)
    return [Vector(c, a) for c, a, s in zip(finite, actions, sure, strict=True) if s][:MOST]


test_vectors.__test__ = False  # type: ignore[attr-defined]  # pytest would take it for a test


def _points(ruleset: RuleSet) -> list[list[float]]:
    """Return a point for each rule: one at which it decides, where one is known."""
    observed = len(ruleset.observed_features)
    boxes = ruleset.bounds[:, :observed].astype(np.float64)
    middles = [[(low + high) / 2 if low <= high else low for low, high in box.tolist()] for box in boxes]
    if not ruleset.ordered:
        return middles
    reaches = first_match(ruleset, budget=BUDGET)
    return [
        middle if reach.witness is None else list(map(float, reach.witness))
        for middle, reach in zip(middles, reaches, strict=True)
    ]


def _codes(ruleset: RuleSet, device: Device, point: list[float]) -> Codes:
    """Return the codes near a point, inside the ranges."""
    codes = []
    for feature, encoding, value in zip(ruleset.observed_features, device.features, point, strict=True):
        target = round(value) if feature.is_integer else value
        codes.append(max(encoding.at_most(target), encoding.at_least(feature.low)))
    return tuple(codes)


def _near(ruleset: RuleSet, device: Device, base: Codes, d: int, end: float, is_low: bool) -> list[Codes]:
    """Return inputs with feature d at a threshold, just below it and just above it."""
    encoding = device.features[d]
    edge = encoding.at_least(end) if is_low else encoding.at_most(end)
    return [(*base[:d], code, *base[d + 1 :]) for code in (encoding.before(edge), edge, encoding.after(edge))]


def _near_sum(ruleset: RuleSet, device: Device, base: Codes, d: int, end: float, is_low: bool) -> list[Codes]:
    """Return inputs with a term at its threshold, and on both sides as near as the device must be right."""
    term = ruleset.features[d]
    names = [feature.name for feature in ruleset.observed_features]
    values = {
        name: encoding.value(code) for name, encoding, code in zip(names, device.features, base, strict=True)
    }
    coefficients = dict(term.of)
    name = max(
        coefficients, key=lambda n: (not ruleset.features[names.index(n)].is_integer, abs(coefficients[n]))
    )
    index, encoding = names.index(name), device.features[names.index(name)]
    other_addends = sum(c * values[n] for n, c in coefficients.items() if n != name)
    error = float(term_errors(ruleset, device)[d - len(names)][0])
    inputs = []
    for aim in (end - error, end, end + error):
        centre = encoding.at_most((aim - other_addends) / coefficients[name])
        codes = (
            encoding.before(encoding.before(centre)),
            encoding.before(centre),
            centre,
            encoding.after(centre),
            encoding.after(encoding.after(centre)),
        )
        inputs += [(*base[:index], code, *base[index + 1 :]) for code in codes]
    feature = ruleset.features[index]
    inside = (encoding.at_least(feature.low), encoding.at_most(feature.high))
    return [codes for codes in inputs if inside[0] <= codes[index] <= inside[1]]


def _actions(ruleset: RuleSet, points: np.ndarray) -> list[int]:
    """Return the policy's actions; −1 where no rule matches or a value is refused."""
    observed = ruleset.observed_features
    refused = [
        any(not f.clips and not f.low <= v <= f.high for f, v in zip(observed, point, strict=True))
        for point in points.tolist()
    ]
    inside = np.clip(points, [float(f.low) for f in observed], [float(f.high) for f in observed])
    chosen = ruleset.choose(inside)[0].tolist()
    return [
        NULL_ACTION if is_refused else int(action) for is_refused, action in zip(refused, chosen, strict=True)
    ]


def _sure(ruleset: RuleSet, device: Device, points: np.ndarray) -> list[bool]:
    """Return at which points no sum is so near a threshold that the device may act differently."""
    observed = ruleset.observed_features
    inside = np.clip(points, [float(f.low) for f in observed], [float(f.high) for f in observed])
    values, sure = ruleset.with_terms(inside), np.ones(len(points), dtype=np.bool_)
    for t, (error, _) in enumerate(term_errors(ruleset, device)):
        for end, _ in thresholds(ruleset, len(observed) + t) if error else ():
            sums = values[:, len(observed) + t].tolist()
            sure &= [abs(Fraction(value) - Fraction(end)) > error for value in sums]
    return [bool(certain) for certain in sure]
