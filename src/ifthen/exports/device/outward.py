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

    original: RuleSet
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
    for constraint in constraints:
        if breach(rules, constraint).equal is not True:
            raise RuleError(
                f"the rules are not proved to keep {constraint.text!r} in double precision: 'ifthen verify' "
                "says where, and 'ifthen train --require' puts rules on top that keep it."
            )
    if not constraints or numbers == "float64":
        return ForDevice(rules, rules, device)
    n_leading = leading(rules, constraints)
    on_device = _moved_outward(rules, numbers, n_leading)
    if _keeps(on_device, constraints):
        return on_device
    full, added = with_shield(rules, constraints)
    on_device = _moved_outward(full, numbers, added + n_leading)._replace(added=added)
    if not _keeps(on_device, constraints):
        texts = " and ".join(repr(constraint.text) for constraint in constraints)
        raise RuleError(
            f"{texts} cannot be proved for readings that are rounded to {numbers}: requirements that meet at "
            f"a threshold need finer numbers. Use {'float64' if numbers == 'float32' else 'float32'}, or "
            "leave a gap between them."
        )
    return on_device


def _moved_outward(rules: RuleSet, numbers: str, n_leading: int) -> ForDevice:
    """Return a list whose first rules are moved outward."""
    device = device_of(rules, numbers)
    errors = [term_error[1] for term_error in term_errors(rules, device)]
    bounds = rules.bounds.astype(np.float64)
    for d, feature in enumerate(rules.features):
        encoding = device.encoding(d)
        low_end, high_end = float(feature.low), float(feature.high)
        for r in range(n_leading):
            low, high = bounds[r, d].tolist()
            if feature.is_term:
                error = errors[d - len(device.features)]
                below = encoding.value(encoding.at_least(_down(Fraction(low) - error)))
                above = encoding.value(encoding.at_most(-_down(-Fraction(high) - error)))
            else:
                below, above = encoding.value(encoding.nearest(low)), encoding.value(encoding.nearest(high))
            if low > low_end:
                bounds[r, d, 0] = max(min(low, below), low_end)
            if high < high_end:
                bounds[r, d, 1] = min(max(high, above), high_end)
            if low > high and bounds[r, d, 0] <= bounds[r, d, 1]:  # an interval that wraps has closed
                bounds[r, d] = low_end, high_end
    written = DecisionList(bounds, rules.actions, rules.features, rules.action_names)
    return ForDevice(rules, written, device, n_leading)


def _down(value: Fraction) -> float:
    """Return a float that is not above a number."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def _keeps(on_device: ForDevice, constraints: Sequence[Constraint]) -> bool:
    """Return whether it is proved that the device keeps constraints for every reading."""
    original, outward = on_device.original, on_device.outward
    inside, outside = original.bounds.astype(np.float64)[:outward], _may_match(on_device)
    for constraint in constraints:
        counts = (n for n in range(1, outward + 1) if _covered(original, inside[:n], constraint))
        n_enough = next(counts, None)
        if n_enough is None:
            return False
        breaks = (original.actions[:n_enough] == constraint.action) == constraint.never
        if not all(_apart(original, outside[r], constraint) for r in np.flatnonzero(breaks).tolist()):
            return False
    return True


def _may_match(on_device: ForDevice) -> Floats:
    """Return boxes that hold all readings which the first rules can match on the device."""
    rules, device = on_device.written, on_device.device
    errors = [term_error[1] for term_error in term_errors(rules, device)]
    bounds = rules.bounds.astype(np.float64)[: on_device.outward]
    for d, feature in enumerate(rules.features):
        for r, (low, high) in enumerate(bounds[:, d].tolist()):
            if feature.is_term:
                error = errors[d - len(device.features)]
                ends = _down(Fraction(low) - error), -_down(-Fraction(high) - error)
            else:
                encoding = device.encoding(d)
                ends = (
                    moved_threshold(feature, encoding, low, True),
                    moved_threshold(feature, encoding, high, False),
                )
            bounds[r, d, 0] = max(ends[0], feature.low) if low > feature.low else low
            bounds[r, d, 1] = min(ends[1], feature.high) if high < feature.high else high
    return bounds


def _covered(rules: RuleSet, boxes: Floats, constraint: Constraint) -> bool:
    """Return whether boxes are proved to hold the whole region of a constraint."""
    actions = np.full(len(boxes), constraint.action)
    covering = DecisionList(boxes, actions, rules.features, rules.action_names)
    return breach(covering, constraint._replace(never=False)).equal is True


def _apart(rules: RuleSet, box: Floats, constraint: Constraint) -> bool:
    """Return whether a box is proved to share no reading with the region of a constraint."""
    alone = DecisionList(box[None], [constraint.action], rules.features, rules.action_names)
    return breach(alone, constraint._replace(never=True)).equal is True
