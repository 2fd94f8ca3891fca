"""Mirror images of rules, for tasks that look the same from both sides.

A mirror is written as a list: `-x` for a feature that changes its sign, `left leg = right leg` for two
features that change places, `left engine = right engine` for two actions that do. All else stays as it is.
Where it is used, every second rule of a ruleset is the image of the rule before it: what is learnt for one
side holds for the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ifthen.errors import ParameterError, nearest
from ifthen.rules.feature import Feature


class Mirror(NamedTuple):
    """What becomes of features and actions in the mirror."""

    places: NDArray[np.int64]
    """`(features,)`: which feature stands at each place,"""
    turns: NDArray[np.bool_]
    """`(features,)`: whether it changes its sign there,"""
    actions: NDArray[np.int32]
    """`(actions,)`: and which action each becomes."""


def mirror_of(text: str, features: Sequence[Feature], action_names: Sequence[str]) -> Mirror:
    """Return the mirror that a text describes, or raise where it does not fit the features and actions."""
    names, acts = [feature.name for feature in features], list(action_names)
    places, turns, actions = np.arange(len(names)), np.zeros(len(names), dtype=bool), np.arange(len(acts))
    for item in (part.strip() for part in text.split(",")):
        sides = [side.strip() for side in item.split("=")]
        if item.startswith("-") and item[1:].strip() in names:
            d = names.index(item[1:].strip())
            reach = max(abs(features[d].low), abs(features[d].high))
            if features[d].low != -features[d].high:
                raise ParameterError(
                    f"mirror has {item!r}, but {names[d]} is from {features[d].low:g} to "
                    f"{features[d].high:g}: to change its sign, both sides must reach as far. Give the task "
                    f"ranges={{{names[d]!r}: ({-reach:g}, {reach:g})}}, say."
                )
            turns[d] = True
        elif len(sides) == 2 and set(sides) <= set(names):
            a, b = (names.index(side) for side in sides)
            ranges = [(f.low, f.high, f.is_integer) for f in (features[a], features[b])]
            if ranges[0] != ranges[1]:
                raise ParameterError(f"mirror has {item!r}, but these two features have different ranges.")
            places[[a, b]] = b, a
        elif len(sides) == 2 and set(sides) <= set(acts):
            a, b = (acts.index(side) for side in sides)
            actions[[a, b]] = b, a
        else:
            unknown = next((side for side in sides if side.lstrip("-") not in (*names, *acts)), item)
            raise ParameterError(
                f"mirror has {item!r}; expected '-FEATURE', 'FEATURE = FEATURE' or 'ACTION = ACTION', "
                f"separated by commas.{nearest(unknown.lstrip('-'), [*names, *acts])}"
            )
    twice = places[places], turns[places], actions[actions]
    once = np.arange(len(names)), turns, np.arange(len(acts))
    if not all(np.array_equal(a, b) for a, b in zip(twice, once, strict=True)):
        raise ParameterError(
            f"mirror {text!r} is none: mirrored twice, all must be as it was. Name each feature and each "
            "action once."
        )
    return Mirror(places, turns, actions.astype(np.int32))


def put_images(mirror: Mirror, bounds: NDArray[Any], actions: NDArray[np.int32]) -> None:
    """Make every second rule of each individual the image of the rule before it.

    Args:
        mirror: the mirror.
        bounds: the population's conditions, `(n, rules, features, 2)`, rules even in number,
        actions: and its actions, `(n, rules)`.
    """
    own = bounds[:, ::2][:, :, mirror.places]
    turned = 0 - own[..., ::-1]  # not −0.0, which other bytes stand for
    bounds[:, 1::2] = np.where(mirror.turns[:, None], turned, own)
    actions[:, 1::2] = mirror.actions[actions[:, ::2]]
