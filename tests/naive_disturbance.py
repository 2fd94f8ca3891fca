"""Disturbances in plain Python: what a policy reads, and what its environment is told, from whole lists."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tests.naive import normal, uniform

Strengths = Mapping[str, float]


def told(strengths: Strengths, chosen: Sequence[int]) -> list[int]:
    """Return the actions that the environment gets, given those that the policy chose."""
    held, late = int(strengths.get("action_repeat", 1)), int(strengths.get("action_delay", 0))
    commands = [chosen[t - t % held] for t in range(len(chosen))]
    return [commands[max(t - late, 0)] for t in range(len(chosen))]


def measured(
    strengths: Strengths,
    key: int,
    t: int,
    shown: Sequence[float],
    widths: Sequence[float],
    whole: Sequence[bool],
) -> list[float]:
    """Return what the sensor measures at step t."""
    d, found = len(shown), []
    for f, value in enumerate(shown):
        sign = 1 if uniform(key, f) < 0.5 else -1
        at = d + t * (2 * d + 1) + 1 + 2 * f
        error = sign * strengths.get("bias", 0.0) * widths[f]
        error += strengths.get("noise", 0.0) * normal(key, at) * widths[f]
        found.append(math.floor(value + error + 0.5) if whole[f] else value + error)
    return found


def read(
    strengths: Strengths,
    key: int,
    shown: Sequence[Sequence[float]],
    widths: Sequence[float],
    whole: Sequence[bool],
) -> list[list[float]]:
    """Return what the policy reads in every step, given what the environment shows."""
    d, late = len(widths), int(strengths.get("delay", 0))
    readings = [measured(strengths, key, t, row, widths, whole) for t, row in enumerate(shown)]
    found: list[list[float]] = []
    for t in range(len(shown)):
        lost = t > 0 and uniform(key, d + t * (2 * d + 1)) < strengths.get("drop", 0.0)
        found.append(found[-1] if lost else readings[max(t - late, 0)])
    return found
