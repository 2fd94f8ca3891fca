"""Requirements on a device: rules that come from them are rounded outward, to hold for every reading.

A device rounds a reading to a code before the rules see it. Other rules are rounded inward (`numbers`), so
that a reading just inside a required region could be rounded to a code outside it. A rule of a requirement is
therefore moved outward: to the code that its threshold itself is rounded to, as rounding keeps the order of
readings. A sum is moved by the bound of its rounding error. Some readings just outside a region then get the
action of the requirement, too.

The proof is by boxes. Every reading in the region of a requirement lies in the box of one of the first n
rules, so that one of them decides on the device. And no rule among these n whose action would break the
requirement can match a reading in its region.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ifthen.errors import RuleError
from ifthen.exports.device.deviation import moved_threshold, term_errors
from ifthen.exports.device.numbers import Device, device_of
from ifthen.rules.arrays import Floats
from ifthen.rules.constraint import Constraint, breach, leading, with_shield
from ifthen.rules.decision_list import DecisionList
from ifthen.rules.ruleset import RuleSet


class ForDevice(NamedTuple):
    """A list as it is given to a device, and as it is written there."""

    given: RuleSet
    """The list in double precision, perhaps with rules on top that change nothing there."""
    written: RuleSet
    """The same with rules of requirements moved outward."""
    device: Device
    outward: int = 0
    """How many rules at the top were moved outward."""
    added: int = 0
    """How many of them were put on top for the device."""


def for_device(rules: RuleSet, numbers: str, constraints: Sequence[Constraint]) -> ForDevice:
    """Return a list for a device that keeps constraints for every reading, or raise where none was found.

    Args:
        rules: a decision list; other rules have no constraints.
        numbers: what the device computes with.
        constraints: what the list must keep.
    """
    device = device_of(rules, numbers)
    for each in constraints:
        if breach(rules, each).equal is not True:
            raise RuleError(
                f"the rules are not proved to keep {each.text!r} in double precision: 'ifthen verify' says "
                "where, and 'ifthen train --require' puts rules on top that keep it."
            )
    if not constraints or numbers == "float64":
        return ForDevice(rules, rules, device)
    first = leading(rules, constraints)
    found = _moved_outward(rules, numbers, first)
    if _keeps(found, constraints):
        return found
    full, added = with_shield(rules, constraints)
    found = _moved_outward(full, numbers, added + first)._replace(added=added)
    if not _keeps(found, constraints):
        told = " and ".join(repr(each.text) for each in constraints)
        raise RuleError(
            f"{told} cannot be proved for readings that are rounded to {numbers}: requirements that meet at "
            f"a threshold need finer numbers. Use {'float64' if numbers == 'float32' else 'float32'}, or "
            "leave a gap between them."
        )
    return found


def _moved_outward(rules: RuleSet, numbers: str, first: int) -> ForDevice:
    """Return a list whose first rules are moved outward."""
    device = device_of(rules, numbers)
    errors = [own[1] for own in term_errors(rules, device)]
    bounds = rules.bounds.astype(np.float64)
    for d, feature in enumerate(rules.features):
        own = device.encoding(d)
        low_end, high_end = float(feature.low), float(feature.high)
        for r in range(first):
            low, high = bounds[r, d].tolist()
            if feature.is_term:
                error = errors[d - len(device.features)]
                below = own.value(own.at_least(_down(Fraction(low) - error)))
                above = own.value(own.at_most(-_down(-Fraction(high) - error)))
            else:
                below, above = own.value(own.nearest(low)), own.value(own.nearest(high))
            if low > low_end:
                bounds[r, d, 0] = max(min(low, below), low_end)
            if high < high_end:
                bounds[r, d, 1] = min(max(high, above), high_end)
            if low > high and bounds[r, d, 0] <= bounds[r, d, 1]:  # an interval that wraps has closed
                bounds[r, d] = low_end, high_end
    written = DecisionList(bounds, rules.actions, rules.features, rules.action_names)
    return ForDevice(rules, written, device, first)


def _down(value: Fraction) -> float:
    """Return a float that is not above a number."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def _keeps(found: ForDevice, constraints: Sequence[Constraint]) -> bool:
    """Return whether it is proved that the device keeps constraints for every reading."""
    given, outward = found.given, found.outward
    inside, outside = given.bounds.astype(np.float64)[:outward], _may_match(found)
    for each in constraints:
        enough = (n for n in range(1, outward + 1) if _covered(given, inside[:n], each))
        first = next(enough, None)
        if first is None:
            return False
        breaks = (given.actions[:first] == each.action) == each.never
        if not all(_apart(given, outside[r], each) for r in np.flatnonzero(breaks).tolist()):
            return False
    return True


def _may_match(found: ForDevice) -> Floats:
    """Return boxes that hold all readings which the first rules can match on the device."""
    rules, device = found.written, found.device
    errors = [own[1] for own in term_errors(rules, device)]
    bounds = rules.bounds.astype(np.float64)[: found.outward]
    for d, feature in enumerate(rules.features):
        for r, (low, high) in enumerate(bounds[:, d].tolist()):
            if feature.is_term:
                error = errors[d - len(device.features)]
                ends = _down(Fraction(low) - error), -_down(-Fraction(high) - error)
            else:
                own = device.encoding(d)
                ends = moved_threshold(feature, own, low, True), moved_threshold(feature, own, high, False)
            bounds[r, d, 0] = max(ends[0], feature.low) if low > feature.low else low
            bounds[r, d, 1] = min(ends[1], feature.high) if high < feature.high else high
    return bounds


def _covered(rules: RuleSet, boxes: Floats, constraint: Constraint) -> bool:
    """Return whether boxes are proved to hold the whole region of a constraint."""
    same = np.full(len(boxes), constraint.action)
    together = DecisionList(boxes, same, rules.features, rules.action_names)
    return breach(together, constraint._replace(never=False)).equal is True


def _apart(rules: RuleSet, box: Floats, constraint: Constraint) -> bool:
    """Return whether a box is proved to share no reading with the region of a constraint."""
    alone = DecisionList(box[None], [constraint.action], rules.features, rules.action_names)
    return breach(alone, constraint._replace(never=True)).equal is True
