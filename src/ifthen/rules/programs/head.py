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
    match = LINE.fullmatch(line.removesuffix(BEYOND)) if len(line) <= LONGEST else None
    if match is None:
        return None
    unit, cyclic = match[5] or "", False
    if unit == "cyclic" or unit.endswith(", cyclic"):
        unit, cyclic = unit.removesuffix("cyclic").removesuffix(", "), True
    if match[4]:
        return Feature(name or match[1], float(match[2]), float(match[3]), "real", unit, clips, cyclic=cyclic)
    low, high = float(match[2]), float(match[3])
    if low != int(low) or high != int(high):
        return None
    return Feature(name or match[1], int(low), int(high), "integer", unit, clips, cyclic=cyclic)


def known_features(
    described: Sequence[Feature | None], n_features: int, task_features: Sequence[Feature] | None
) -> tuple[Feature, ...]:
    """Return the features that a file describes, or those given where it does not describe all.

    Args:
        described: the features that lines describe.
        n_features: how many features there are.
        task_features: those of a task, if there is one.
    """
    found_features = [feature for feature in described if feature is not None]
    if len(found_features) == n_features:
        return tuple(found_features)
    if task_features is None:
        raise RuleError(UNKNOWN)
    if len(task_features) != n_features:
        raise RuleError(f"the file is for {n_features} features, and the task has {len(task_features)}.")
    return tuple(task_features)
