"""Where a policy on a device can act differently from the same policy in double precision, proved.

Tests of features are exact for every value that has a code (`numbers`). A reading that is rounded to a code
first can act differently only between a threshold and the place where rounding changes sides. The device's
policy is then again a decision list over readings, with thresholds moved there. Two lists are compared box by
box, so that the share of the space on which they differ is exact.

Sums differ by the rounding of coefficients, products and partial sums. Each is bounded by half the distance
of neighbouring floats at the largest size that the features' ranges allow; all bounds are added up in exact
fractions. So the action can differ only where the sum lies that close to its threshold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.exports.device.numbers import Device, Encoding, Floats, Steps, Sum, rounding
from ifthen.exports.parts import EXACT, ascii_line, title
from ifthen.rules.boxes.differences import BUDGET, differences
from ifthen.rules.boxes.rank_space import RankSpace
from ifthen.rules.feature import Feature, number_in_words
from ifthen.rules.ruleset import RuleSet
from ifthen.tasks.task import Task
from ifthen.text_table import TextTable

DIGITS = 2


@dataclass(frozen=True)
class Band:
    """The readings near one threshold at which a device can act differently.

    Args:
        test: the threshold in words, such as "pole angle ≥ 0.1 rad".
        of_codes: how near the threshold a value that the device holds exactly must be; 0 where it always acts
            the same. Sums are rounded, and rules of requirements are moved outward.
        of_readings: how near a reading must be that the device rounds first.
    """

    test: str
    of_codes: Fraction
    of_readings: Fraction


@dataclass(frozen=True)
class Deviation:
    """Where a device can act differently.

    Args:
        numbers: what the device computes with.
        bands: one for each threshold that rounding touches.
        steps: what one step of each feature stands for, in words; none for floats.
        share: the share of all readings in the features' ranges that get another action; None where it was
            not worked out.
    """

    numbers: str
    bands: tuple[Band, ...]
    steps: tuple[str, ...]
    share: float | None

    @property
    def exact(self) -> bool:
        """Whether every value that the device holds gets the same action as in double precision."""
        return not any(band.of_codes for band in self.bands)

    def in_words(self) -> list[str]:
        """Return sentences for the head of a file."""
        if self.numbers == "float64":
            return ["It acts as the policy in double precision, to the last bit."]
        exact_values = f"Values that {self.numbers} holds exactly"
        if self.exact:
            lines = [f"{exact_values} get the same action as in double precision."]
        else:
            lines = [
                f"{exact_values} get the same action as in double precision, except near these thresholds:",
                *(f"  {b.test}: within {upward(b.of_codes)}" for b in self.bands if b.of_codes),
            ]
        if not any(band.of_readings for band in self.bands):
            return lines
        lines += ["Readings that are rounded first get another action only near a threshold:"]
        lines += [f"  {b.test}: within {upward(b.of_readings)}" for b in self.bands if b.of_readings]
        return [*lines, self.share_in_words]

    @property
    def share_in_words(self) -> str:
        """How many of all readings that concerns."""
        if self.share is None:
            return "Proved by bounds on rounding. The share of such readings was not worked out."
        if not self.share:
            return "Proved by exact reasoning: of all readings in the ranges none gets another action."
        size = upward(Fraction(self.share))
        finding = f"of all readings in the ranges a share of {size} gets another action"
        return f"Proved by exact reasoning: {finding}."

    def to_table(self) -> TextTable:
        """Return the bands, for a terminal."""
        rows = tuple((b.test, near(b.of_codes), near(b.of_readings)) for b in self.bands)
        title = f"Where {self.numbers} can act differently from double precision"
        heads = ("threshold", "values it holds exactly", "readings that are rounded")
        notes = (self.share_in_words,) if any(b.of_readings for b in self.bands) else ()
        return TextTable(title, heads, rows, notes)


def near(distance: Fraction) -> str:
    """Return a band's distance in words."""
    return f"within {upward(distance)}" if distance else "never"


def upward(size: Fraction) -> str:
    """Return a number in few digits that is not smaller than it."""
    place = math.floor(math.log10(float(size))) if float(size) else -320
    unit = Fraction(10) ** (place - DIGITS + 1)
    return number_in_words(float(f"{float(math.ceil(size / unit) * unit):.{DIGITS}g}"))


def deviation_of(ruleset: RuleSet, device: Device, written: RuleSet | None = None) -> Deviation:
    """Return where a decision list can act differently on a device.

    Args:
        ruleset: a decision list; any rules in double precision, which are exact.
        device: its numbers there.
        written: the list as it is written, if rules of requirements were moved outward (`outward`).
    """
    if device.numbers == "float64":
        return Deviation(device.numbers, (), (), 0.0)
    errors = term_errors(ruleset, device)
    bands: dict[str, Band] = {}
    for d, feature in enumerate(ruleset.features):
        for value, is_low, written_value in _written_thresholds(ruleset, written or ruleset, d):
            sign = "≥" if is_low else "≤"
            unit = f" {feature.unit}" if feature.unit else ""
            test = f"{feature.name} {sign} {number_in_words(value)}{unit}"
            shift = abs(Fraction(written_value) - Fraction(value))
            if feature.is_term:
                codes, readings = (error + shift for error in errors[d - len(device.features)])
            else:
                moved = moved_threshold(feature, device.encoding(d), written_value, is_low)
                codes, readings = shift, abs(Fraction(moved) - Fraction(value))
            band = bands.get(test, Band(test, Fraction(0), Fraction(0)))
            bands[test] = Band(test, max(band.of_codes, codes), max(band.of_readings, readings))
    touched = tuple(band for band in bands.values() if band.of_codes or band.of_readings)
    steps = [
        f"{f.name}: a step is {number_in_words(2.0**-encoding.places)}{f' {f.unit}' if f.unit else ''}"
        for f, encoding in zip(ruleset.observed_features, device.features, strict=True)
        if isinstance(encoding, Steps) and not encoding.whole
    ]
    share = None if ruleset.terms else different_share(ruleset, device, written or ruleset)
    return Deviation(device.numbers, touched, tuple(steps), share)


def thresholds(ruleset: RuleSet, d: int) -> list[tuple[float, bool]]:
    """Return the ends that rules test of feature or term d, each with whether it is a lower end.

    The ends of a range are tested, too, where values beyond are refused.
    """
    feature = ruleset.features[d]
    ends = set()
    for low, high in ruleset.bounds[:, d].tolist():
        ends |= {(low, True)} if low > feature.low or low > high else set()
        ends |= {(high, False)} if high < feature.high or low > high else set()
    if not feature.clips:
        ends |= {(float(feature.low), True), (float(feature.high), False)}
    return sorted(ends)


def _written_thresholds(ruleset: RuleSet, written: RuleSet, d: int) -> list[tuple[float, bool, float]]:
    """Return the thresholds of feature d, each with the place at which one is written."""
    ends = {(value, is_low, value) for value, is_low in thresholds(ruleset, d)}
    for interval, written_interval in zip(
        ruleset.bounds[:, d].tolist(), written.bounds[:, d].tolist(), strict=True
    ):
        ends |= {
            (interval[end], end == 0, written_interval[end])
            for end in (0, 1)
            if interval[end] != written_interval[end]
        }
    return sorted(ends)


def moved_threshold(feature: Feature, encoding: Encoding, value: float, is_low: bool) -> float:
    """Return the first or last reading, as a double, that passes the device's test of a threshold."""
    cut = encoding.cut(encoding.before(encoding.at_least(value)) if is_low else encoding.at_most(value))
    if feature.is_integer:
        return math.floor(cut) + is_low
    return math.nextafter(cut, math.inf) if is_low else cut


def different_share(ruleset: RuleSet, device: Device, written: RuleSet) -> float | None:
    """Return the share of readings that get another action; None where the search gave up."""
    exact_rules, device_rules = ruleset.unwrapped()[0], written.unwrapped()[0]
    exact_boxes, device_boxes = exact_rules.bounds.astype(np.float64), _device_boxes(device_rules, device)
    non_empty = (device_boxes[..., 0] <= device_boxes[..., 1]).all(axis=1)
    bounds = np.concatenate([exact_boxes, device_boxes[non_empty]])
    actions = np.concatenate([exact_rules.actions, device_rules.actions[non_empty]])
    space = RankSpace(ruleset.features, bounds)
    result = differences(space, space.ranks(bounds), actions, len(exact_rules), BUDGET)
    return None if result.gave_up else result.different


def _device_boxes(ruleset: RuleSet, device: Device) -> NDArray[Any]:
    """Return the boxes of readings that the device's rules match; an empty one begins after its end."""
    bounds = ruleset.bounds.astype(np.float64)
    for d, feature in enumerate(ruleset.features):
        for r, (low, high) in enumerate(ruleset.bounds[:, d].tolist()):
            if low > feature.low or not feature.clips:
                bounds[r, d, 0] = moved_threshold(feature, device.encoding(d), low, True)
            if high < feature.high or not feature.clips:
                bounds[r, d, 1] = moved_threshold(feature, device.encoding(d), high, False)
    return bounds


def term_errors(ruleset: RuleSet, device: Device) -> list[tuple[Fraction, Fraction]]:
    """Return how much each term can differ from double precision: for codes, and for rounded readings."""
    by_name = {
        f.name: (f, encoding) for f, encoding in zip(ruleset.observed_features, device.features, strict=True)
    }
    return [
        _term_error(term, [by_name[name] for name, _ in term.of], device_sum)
        for term, device_sum in zip(ruleset.terms, device.sums, strict=True)
    ]


def _term_error(
    term: Feature, addends: list[tuple[Feature, Encoding]], device_sum: Sum
) -> tuple[Fraction, Fraction]:
    """Return the largest difference of one term; see `term_errors`."""
    if device_sum.encoding == Floats(64):
        return Fraction(0), Fraction(0)
    sizes = [max(abs(Fraction(f.low)), abs(Fraction(f.high))) for f, _ in addends]
    exact = [Fraction(c) for _, c in term.of]
    total = _sum_rounding(exact, sizes, 64)
    if isinstance(device_sum.encoding, Steps):
        scale = Fraction(2) ** device_sum.encoding.places
        used = [
            Fraction(c) * Fraction(2) ** encoding.places / scale
            if isinstance(encoding, Steps)
            else Fraction(c)
            for c, (_, encoding) in zip(device_sum.coefficients, addends, strict=True)
        ]
    else:
        used = [Fraction(c) for c in device_sum.coefficients]
        total += _sum_rounding(used, sizes, 32)
    total += sum((abs(u - c) * size for u, c, size in zip(used, exact, sizes, strict=True)), Fraction(0))
    at_ends = [_end_error(f, encoding) for f, encoding in addends]
    between = [
        max(end, encoding.half_step(float(size)))
        for end, size, (_, encoding) in zip(at_ends, sizes, addends, strict=True)
    ]
    return (
        total + sum((abs(c) * e for c, e in zip(exact, at_ends, strict=True)), Fraction(0)),
        total + sum((abs(c) * e for c, e in zip(exact, between, strict=True)), Fraction(0)),
    )


def _sum_rounding(coefficients: list[Fraction], sizes: list[Fraction], bits: int) -> Fraction:
    """Return the most that rounding products and partial sums to floats changes a sum."""
    error, reached = Fraction(0), Fraction(0)
    for place, (coefficient, size) in enumerate(zip(coefficients, sizes, strict=True)):
        product = abs(coefficient) * size
        lost = rounding(product, bits) if abs(coefficient) != 1 else Fraction(0)
        reached += product + lost
        error += lost
        if place:
            lost = rounding(reached, bits)
            reached, error = reached + lost, error + lost
    return error


def _end_error(feature: Feature, encoding: Encoding) -> Fraction:
    """Return how far the ends of a range are from the codes that values beyond are taken as."""
    if not feature.clips:
        return Fraction(0)
    ends = (encoding.value(encoding.at_least(feature.low)), encoding.value(encoding.at_most(feature.high)))
    return max(abs(Fraction(a) - Fraction(b)) for a, b in zip(ends, (feature.low, feature.high), strict=True))


def head_of(
    ruleset: RuleSet, task: Task | None, exact: str, deviation: Deviation, kept: Sequence[str] = ()
) -> list[str]:
    """Return the lines at the head of a file: what it is, and where it can act differently.

    Args:
        ruleset: the rules as they were given.
        task: their task.
        exact: what was written in their place.
        deviation: where it can act differently.
        kept: lines on requirements that hold on the device.
    """
    replacement = () if exact == EXACT else (exact,)
    lines = (
        title(ruleset, task),
        *replacement,
        f"numbers: {deviation.numbers}",
        *deviation.in_words(),
        *kept,
    )
    return [ascii_line(line) for line in lines]
