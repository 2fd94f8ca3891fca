"""Values of features in explanations: few digits, but none that a rule could tell from the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ifthen.rules.features import Feature, number_in_words
from ifthen.rules.ruleset import RuleSet

FEWEST_DIGITS = 4
LONG = 12  # characters of a number that is better said as a neighbour of a shorter one


def shown_values(ruleset: RuleSet, point: Sequence[float], given: Sequence[float]) -> dict[str, str]:
    """Return an observation as it is printed, with as few digits as no rule can tell from it.

    Args:
        ruleset: the rules.
        point: the observation as it counts, `(features,)`.
        given: the same before it was clipped to the features' ranges.
    """
    shown = {}
    for d, (feature, value, said) in enumerate(zip(ruleset.features, point, given, strict=True)):
        ends = np.append(np.unique(ruleset.bounds[:, d]), [feature.low, feature.high])
        text = short_number(said, ends)
        unit = f" {feature.unit}" if feature.unit else ""
        shown[feature.name] = text + unit
        if said != value:
            shown[feature.name] += f" (counts as {number_in_words(value)}{unit})"
    return shown


def short_number(value: float, ends: NDArray[Any]) -> str:
    """Return a number in so few digits, four at least, that it stays on the same side of all ends `(n,)`."""
    for digits in range(FEWEST_DIGITS, LONG):
        short = float(f"{value:.{digits}g}")
        if (np.sign(short - ends) == np.sign(value - ends)).all():
            return number_in_words(short + 0.0)
    return number_in_words(value)


def changed_value(feature: Feature, before: float, after: float) -> str:
    """Return the value after a change; "just above 0.3" where it is the next number after a short one."""
    neighbour = float(np.nextafter(after, before))
    if not feature.is_integer and len(number_in_words(after)) > LONG > len(number_in_words(neighbour)):
        return f"{'just above' if after > before else 'just below'} {_value(feature, neighbour)}"
    return _value(feature, after)


def _value(feature: Feature, value: float) -> str:
    return number_in_words(value) + (f" {feature.unit}" if feature.unit else "")
