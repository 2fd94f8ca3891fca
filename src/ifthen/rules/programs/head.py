"""What stands before the rules in exported code: a line for each feature, with its range."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ifthen.errors import RuleError
from ifthen.rules.feature import Feature
from ifthen.rules.text.scan import NUMBER

WRITTEN = "written by ifthen"
OTHERS = re.compile(r"and [\d,]+ other features? that no rule tests")
BEYOND = "; beyond, as at the nearer end"
LINE = re.compile(rf"(.*): ({NUMBER.pattern}) to ({NUMBER.pattern})(, real)?(?:, (.*))?")
LONGEST = 1_000
"""A line on a feature has at most this many characters."""
UNKNOWN = "the file does not say all features: give the task that it is for, as in --task CartPole-v1."


def feature_of(line: str, name: str | None = None) -> Feature | None:
    """Return the feature that a line describes, None where it describes none.

    Args:
        line: such as "speed: -0.07 to 0.07, real, m/s; beyond, as at the nearer end".
        name: what it is called, where that is known better.
    """
    clips = line.endswith(BEYOND)
    found = LINE.fullmatch(line.removesuffix(BEYOND)) if len(line) <= LONGEST else None
    if found is None:
        return None
    rest, cyclic = found[5] or "", False
    if rest == "cyclic" or rest.endswith(", cyclic"):
        rest, cyclic = rest.removesuffix("cyclic").removesuffix(", "), True
    if found[4]:
        return Feature(name or found[1], float(found[2]), float(found[3]), "real", rest, clips, cyclic=cyclic)
    low, high = float(found[2]), float(found[3])
    if low != int(low) or high != int(high):
        return None
    return Feature(name or found[1], int(low), int(high), "integer", rest, clips, cyclic=cyclic)


def known_features(
    told: Sequence[Feature | None], number: int, given: Sequence[Feature] | None
) -> tuple[Feature, ...]:
    """Return the features that a file describes, or those given where it does not describe all.

    Args:
        told: the features that lines describe.
        number: how many features there are.
        given: those of a task, if there is one.
    """
    found = [feature for feature in told if feature is not None]
    if len(found) == number:
        return tuple(found)
    if given is None:
        raise RuleError(UNKNOWN)
    if len(given) != number:
        raise RuleError(f"the file is for {number} features, and the task has {len(given)}.")
    return tuple(given)
